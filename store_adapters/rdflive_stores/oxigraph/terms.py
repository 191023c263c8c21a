"""Conversions between terms of rdflib and pyoxigraph, and to the lexical forms that Oxigraph stores."""

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
"""rdflib's spelling of special numbers that it computes → that of XML Schema."""
_PLAIN: Final = frozenset({_STRING, NamedNode(_XSD + "anyURI")})


# Lexical forms that Oxigraph returns unchanged: canonical forms, and some invalid forms. A match saves a
# round trip through a store. Doubles have up to 15 digits here, because longer ones may have several shortest
# forms.
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
    """Return a term in the form that the store returns: `"1"^^xsd:integer` for `"01"^^xsd:integer`.

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
    """Return the form of a term after a round trip through a store."""
    store = Store()
    store.add(Quad(_ANY, _ANY, term))
    return next(store.quads_for_pattern(None, None, None, None)).object


_ANY: Final = NamedNode("urn:x-rdflive:any")


def to_native(term: Any) -> Any:
    """Turn a term of rdflib or pyoxigraph, or a result of `to_value`, into the store's canonical term.

    Raises ValueError for a term that Oxigraph cannot hold, such as a variable or a relative IRI.

    >>> str(to_native(rdflib.term.Literal(True)))
    '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'
    """
    if isinstance(term, rdflib.term.URIRef):  # first, because most terms are IRIs
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
        f"{term!r} is not a term of a triple in Oxigraph; give an IRI, a blank node or a literal, "
        "of rdflib or of pyoxigraph"
    )


def to_rdflib(term: Any) -> Any:
    """Turn a store's term into rdflib's, with the same lexical form regardless of
    `rdflib.NORMALIZE_LITERALS`.

    A plain string gets no datatype, because some functions of rdflib refuse xsd:string. Raises ValueError for
    a triple and for a string with a direction, which rdflib cannot hold.

    >>> to_rdflib(Literal("01", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#byte"))).n3()
    '"01"^^<http://www.w3.org/2001/XMLSchema#byte>'
    """
    if isinstance(term, NamedNode):
        return rdflib.term.URIRef(term.value)
    if isinstance(term, BlankNode):
        return rdflib.term.BNode(term.value)
    if not isinstance(term, Literal) or term.direction is not None:
        raise ValueError(
            f"rdflib cannot hold {term!r}: it has IRIs, blank nodes and literals without direction"
        )
    if term.language is not None:
        return rdflib.term.Literal(term.value, lang=term.language)
    if term.datatype == _STRING:
        return rdflib.term.Literal(term.value)
    return exact_literal(term.value, datatype=term.datatype.value)


def to_value(term: Any) -> Any:
    """Turn a store's term into a value of expressions: a term of rdflib, or one of RDF 1.2 that rdflib lacks.

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
    """Return the datatype's IRI and the lexical form of a literal; None for other terms.

    >>> to_parts(Literal(7)), to_parts(NamedNode("urn:seven"))
    (('http://www.w3.org/2001/XMLSchema#integer', '7'), None)
    """
    # a literal with a language has a datatype of RDF, which expressions do not interpret
    return (term.datatype.value, term.value) if type(term) is Literal else None


def is_possible(s: Any, p: Any, o: Any) -> bool:
    """True if a triple can match the pattern: the subject is no literal, and the predicate is an IRI.

    None matches anything.
    """
    return (
        (s is None or isinstance(s, (NamedNode, BlankNode)))
        and (p is None or isinstance(p, NamedNode))
        and (o is None or isinstance(o, (NamedNode, BlankNode, Literal, Triple)))
    )
