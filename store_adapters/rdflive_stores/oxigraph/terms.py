"""Terms for Oxigraph: rdflib's to pyoxigraph's and back, and any lexical form to the one that the
store keeps.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

import rdflib.term
from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, Quad, Store, Triple

from rdflive.model import DirectionalString, TripleTerm, exact_literal

__all__ = ["OxigraphTerm", "canonical", "is_possible", "to_native", "to_parts", "to_rdflib", "to_value"]

OxigraphTerm: TypeAlias = NamedNode | BlankNode | Literal | Triple

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_STRING: Final = NamedNode(_XSD + "string")
_BINARY: Final = frozenset({NamedNode(_XSD + "double"), NamedNode(_XSD + "float")})
_SPECIAL: Final = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}
"""How rdflib writes special numbers that it computes, and how XML Schema does."""
_PLAIN: Final = frozenset({_STRING, NamedNode(_XSD + "anyURI")})


# Spellings that Oxigraph gives back unchanged: the canonical ones, and some invalid ones, which it keeps
# as they are. They only save a round trip: what does not match makes one. Doubles of up to 15 digits:
# beyond, several spellings may be shortest, and Oxigraph and Python choose differently.
_ZONE: Final = r"(?:Z|[+-](?!00:00)\d\d:\d\d)?"
_DATE: Final = r"(?!0000)\d{4}-\d\d-\d\d"
_UNCHANGED: Final[dict[NamedNode, Callable[[str], object]]] = {
    NamedNode(_XSD + name): re.compile(shape, re.ASCII).fullmatch
    for name, shape in {
        "integer": r"0|-?[1-9]\d{0,16}",
        "boolean": r"true|false",
        "decimal": r"0|-?[1-9]\d{0,8}|-?(?:0|[1-9]\d{0,8})\.\d{0,6}[1-9]",
        "double": r"0|-?[1-9]\d{0,8}|-?(?:0|[1-9]\d{0,7})\.\d{0,6}[1-9]",
        "date": _DATE + _ZONE,
        "dateTime": rf"{_DATE}T(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{{0,8}}[1-9])?{_ZONE}",
    }.items()
}


def canonical(term: Any) -> Any:
    """Spell a term as the store gives it back: `"01"^^xsd:integer` is `"1"^^xsd:integer` there.

    >>> str(canonical(Literal("01", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#byte"))))
    '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    """
    if type(term) is Literal:
        datatype = term.datatype
        if datatype in _PLAIN:
            return term
        is_unchanged = _UNCHANGED.get(datatype)
        if is_unchanged is not None:
            return term if is_unchanged(term.value) else _stored(term)
        return _stored(term) if datatype.value.startswith(_XSD) else term
    return _stored(term) if type(term) is Triple else term


@lru_cache(4096)
def _stored(term: Literal | Triple) -> Any:
    """Put a term into a store and read it back: only the store knows which form it keeps."""
    store = Store()
    store.add(Quad(_ANY, _ANY, term))
    return next(store.quads_for_pattern(None, None, None, None)).object


_ANY: Final = NamedNode("urn:x-rdflive:any")


def to_native(term: Any) -> Any:
    """Turn a term of rdflib or pyoxigraph, or one that `to_value` gave, into the store's canonical term.

    A term that no Oxigraph store can hold, such as a variable or a relative IRI, raises ValueError.

    >>> str(to_native(rdflib.term.Literal(True)))
    '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'
    """
    if isinstance(term, rdflib.term.URIRef):  # first, for most terms are IRIs
        return NamedNode(term)
    if isinstance(term, (NamedNode, BlankNode, Literal, Triple)):
        return canonical(term)
    if isinstance(term, rdflib.term.BNode):
        return BlankNode(term)
    if isinstance(term, DirectionalString):
        return Literal(term, language=term.language, direction=BaseDirection(term.direction))
    if isinstance(term, TripleTerm):
        return canonical(Triple(*map(to_native, term.parts)))
    if isinstance(term, rdflib.term.Literal):
        datatype = NamedNode(term.datatype) if term.datatype else None
        spelling = _SPECIAL.get(term, term) if datatype in _BINARY else term
        return canonical(Literal(spelling, datatype=datatype, language=term.language))
    raise ValueError(
        f"{term!r} is no term of a triple in Oxigraph; give an IRI, a blank node or a literal, "
        "of rdflib or of pyoxigraph"
    )


def to_rdflib(term: Any) -> Any:
    """Turn a store's term into rdflib's, in the same spelling whatever `rdflib.NORMALIZE_LITERALS` says.

    A plain string has no datatype in rdflib's functions, some of which refuse xsd:string. A triple, and
    a string with a direction, are more than rdflib can hold: they raise ValueError.

    >>> to_rdflib(Literal("01", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#byte"))).n3()
    '"01"^^<http://www.w3.org/2001/XMLSchema#byte>'
    """
    if isinstance(term, NamedNode):
        return rdflib.term.URIRef(term.value)
    if isinstance(term, BlankNode):
        return rdflib.term.BNode(term.value)
    if not isinstance(term, Literal) or term.direction is not None:
        raise ValueError(
            f"{term!r} is no term of rdflib, which knows IRIs, blank nodes and literals without direction"
        )
    if term.language is not None:
        return rdflib.term.Literal(term.value, lang=term.language)
    if term.datatype == _STRING:
        return rdflib.term.Literal(term.value)
    return exact_literal(term.value, datatype=term.datatype.value)


def to_value(term: Any) -> Any:
    """Turn a store's term into one that expressions compute with: one of rdflib, or one that it lacks.

    >>> to_value(Literal("hi", language="en", direction=BaseDirection.LTR)).n3()
    '"hi"@en--ltr'
    """
    try:
        return to_rdflib(term)
    except ValueError:
        if isinstance(term, Triple):
            return TripleTerm(*map(to_value, (term.subject, term.predicate, term.object)))
        if isinstance(term, Literal) and term.direction is not None and term.language is not None:
            return DirectionalString(term.value, term.language, term.direction.value)
        raise


def to_parts(term: Any) -> tuple[str, str] | None:
    """Give the datatype's IRI and the lexical form of a literal; None for other terms.

    >>> to_parts(Literal(7)), to_parts(NamedNode("urn:seven"))
    (('http://www.w3.org/2001/XMLSchema#integer', '7'), None)
    """
    # one with a language has a datatype of RDF, which has no values of its own
    return (term.datatype.value, term.value) if type(term) is Literal else None


def is_possible(s: Any, p: Any, o: Any) -> bool:
    """True when a triple can match the pattern: no literal as subject, only an IRI as predicate.

    None stands for anything.
    """
    return (
        (s is None or isinstance(s, (NamedNode, BlankNode)))
        and (p is None or isinstance(p, NamedNode))
        and (o is None or isinstance(o, (NamedNode, BlankNode, Literal, Triple)))
    )
