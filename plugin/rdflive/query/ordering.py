"""A total order over RDF terms that refines SPARQL's ORDER BY."""

from __future__ import annotations

from decimal import Decimal
from functools import total_ordering
from typing import Any, Final

from rdflib import XSD, BNode, Literal, URIRef
from rdflib.term import Node

from rdflive.model import DirectionalString, TripleTerm
from rdflive.values import DATATYPES, Duration, Moment, value_of
from rdflive.values.numbers import EXACT

__all__ = ["Descending", "descending", "term_key"]

_NUMBERS: Final = str(XSD.integer)  # numbers of all types sort where xsd:integer does
_STRING: Final = str(XSD.string)
_IRIS: Final = {space: str(XSD[space]) for space, _ in DATATYPES.values() if space != "number"}
"""Dates, times and so on sort at the datatype from which theirs is derived."""
_MONTH: Final = 2_629_746
"""Seconds in a twelfth of the mean Gregorian year. xsd:duration has only a partial order; sorting needs a
total one.
"""


def term_key(term: Node | None) -> Any:
    """Return the sort key of a term: equal for equal terms only, comparable with every other key.

    Unbound < blank nodes < IRIs < literals < triples (SPARQL 1.2, 15.1), and `<` as SPARQL defines it:
    numbers exactly and across types, NaN after them; strings; booleans; dates and times, without a time zone
    as if in UTC; durations, with months of 30.436875 days. Equal values, and literals that `<` cannot
    compare, sort by datatype IRI as in rdflib (ill-typed after well-typed), then by language, lexical form
    and datatype or direction. Triples sort by subject, predicate and object.

    >>> sorted([Literal("a"), Literal(2.5), URIRef("urn:x"), Literal(2), None], key=term_key)[:3]
    [None, rdflib.term.URIRef('urn:x'), rdflib.term.Literal('2', datatype=\
rdflib.term.URIRef('http://www.w3.org/2001/XMLSchema#integer'))]
    """
    if isinstance(term, Literal):
        return _literal_key(term)
    if isinstance(term, URIRef):
        return (2, str(term))
    if isinstance(term, BNode):
        return (1, str(term))
    if term is None:
        return (0,)
    if isinstance(term, TripleTerm):
        return (4, *map(term_key, term.parts))
    # a term that only the store knows, see `Foreign`
    return (5, type(term).__name__, str(term))


@total_ordering
class Descending:
    """A key with the reversed order of the wrapped key."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: Descending) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and bool(self.key == other.key)

    def __hash__(self) -> int:
        return hash((Descending, self.key))

    def __repr__(self) -> str:
        return f"Descending({self.key!r})"


def descending(key: Any) -> Descending:
    """Reverse the order of a key, for ORDER BY DESC.

    >>> descending(term_key(Literal(2))) < descending(term_key(Literal(1)))
    True
    """
    return Descending(key)


def _literal_key(literal: Literal) -> tuple[Any, ...]:
    datatype = literal.datatype
    if datatype is None:
        direction = literal.direction if isinstance(literal, DirectionalString) else ""
        # to rdflib "a" and "a"^^xsd:string are two terms, so the sixth part differs
        return (3, _STRING, 0, (literal.language or "").lower(), str(literal), 0, direction)
    iri = str(datatype)
    lexical = str(literal)
    if iri == _STRING:
        return (3, _STRING, 0, "", lexical, 1)
    value = value_of(literal)
    if value is None:
        return (3, iri, 1, lexical)
    space, content = value
    # 1, 1.0 and 01 are equal numbers and different terms, so type and spelling follow
    if space == "number":
        is_nan = content != content  # NaN alone differs from itself
        if isinstance(content, float) and not is_nan:
            # a thread's decimal context may forbid comparing a Decimal with a float
            content = Decimal.from_float(content)
        return (3, _NUMBERS, 0, is_nan, 0 if is_nan else content, iri, lexical)
    if isinstance(content, Moment):
        content = content.instant, content.zone is not None
    elif isinstance(content, Duration):
        content = EXACT.fma(content.months, _MONTH, content.seconds)
    return (3, _IRIS[space], 0, content, iri, lexical)
