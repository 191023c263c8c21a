"""A total order over RDF terms that refines SPARQL's ORDER BY."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import total_ordering
from typing import Any, Final

from rdflib import XSD, BNode, Literal, URIRef
from rdflib.term import Node
from rdflib.xsd_datetime import Duration

from rdflive.model import DirectionalString, TripleTerm
from rdflive.query.expressions.numbers import DECIMALS, NUMERIC, number, to_float
from rdflive.query.expressions.values import known, moment

__all__ = ["Descending", "descending", "near", "order_key", "term_key"]

_NUMBERS: Final = str(XSD.integer)  # numbers of all types sort where xsd:integer does
_STRING: Final = str(XSD.string)
_EPOCH: Final = datetime(1, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_DATE_ZONE: Final = re.compile(r"[+-][0-9]{2}:[0-9]{2}$")
_MONTH: Final = timedelta(days=30, hours=10, minutes=29, seconds=6)
"""A twelfth of the mean Gregorian year. xsd:duration has a partial order only; sorting needs a total one."""


def term_key(term: Node | None) -> Any:
    """Give the sort key of a term: equal for equal terms only, comparable with every other key.

    Unbound < blank nodes < IRIs < literals < triples (SPARQL 1.2, 15.1), and `<` where SPARQL defines it:
    numbers exactly and across types, NaN after them; strings; booleans; dates and times, without
    a timezone as if in UTC. Literals that `<` cannot compare sort by datatype IRI as in rdflib
    (ill-typed after well-typed), then by language, lexical form and
    datatype or direction. Triples sort by subject, predicate and object.

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
    """A key whose order is that of the wrapped key, reversed."""

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
    if iri in NUMERIC:
        found = number(literal)
        if found is not None:
            is_nan = found != found  # NaN alone differs from itself
            # 1, 1.0 and 01 are equal numbers and different terms, so type and spelling follow
            return (3, _NUMBERS, 0, is_nan, 0 if is_nan else found, iri, lexical)
    elif iri in _VALUE_KEYS:
        value = moment(literal)
        if value is not None:
            return (3, iri, 0, _VALUE_KEYS[iri](literal, value), lexical)
    return (3, iri, 1, lexical)


def _boolean_key(_: Literal, value: Any) -> Any:
    return bool(value)


def _date_time_key(_: Literal, value: datetime) -> Any:
    # a difference and not a datetime in UTC, which could fall outside the years 1 to 9999
    instant = value.replace(tzinfo=UTC) - _EPOCH - (value.utcoffset() or timedelta())
    return (instant, value.tzinfo is not None)


def _date_key(literal: Literal, value: date) -> Any:
    instant = timedelta(days=value.toordinal() - _EPOCH_DAY)
    # rdflib's date knows no timezone; the lexical form keeps it unless it was normalised
    zone = _DATE_ZONE.search(literal)
    if zone is None:
        return (instant, literal.endswith("Z"))
    hours, minutes = zone[0][1:].split(":")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return (instant + offset if zone[0][0] == "-" else instant - offset, True)


def _time_key(_: Literal, value: time) -> Any:
    clock = timedelta(
        hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
    )
    return (clock - (value.utcoffset() or timedelta()), value.tzinfo is not None)


def _duration_key(_: Literal, value: timedelta | Duration) -> Any:
    if isinstance(value, Duration):
        # months may be a Decimal; microseconds keep the sum exact
        months = int(DECIMALS.fma(value.years, 12, value.months))
        return _microseconds(value.tdelta) + months * _microseconds(_MONTH)
    return _microseconds(value)


def _microseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


_VALUE_KEYS: Final[dict[str, Callable[[Literal, Any], Any]]] = {
    str(XSD.boolean): _boolean_key,
    str(XSD.dateTime): _date_time_key,
    str(XSD.date): _date_key,
    str(XSD.time): _time_key,
    str(XSD.duration): _duration_key,
    str(XSD.dayTimeDuration): _duration_key,
    str(XSD.yearMonthDuration): _duration_key,
}


def order_key(term: Any) -> tuple[str, Any]:
    """Give the space of a term and its key there: in one space a lesser value never has the greater key.

    Terms that only equal themselves are of the space "term"; those of no known order share an empty one. A
    moment without a time zone has a space of its own, because it may lie 14 hours from where it seems to be.

    >>> order_key(Literal(2)), order_key(Literal("1970-01-02T00:00:00", datatype=XSD.dateTime))
    (('number', 2.0), ('dateTime without zone', 86400.0))
    """
    value = known(term) if isinstance(term, Literal) else None
    if value is not None:
        space, read = value
        if isinstance(read, str | bool):
            return space, read
        # on the day on which `values.compare` puts times too
        if isinstance(read, time):
            read = datetime.combine(date(1972, 12, 31), read)
        if isinstance(read, datetime):
            if read.tzinfo:
                return space, read.timestamp()
            return space + _LOCAL, read.replace(tzinfo=UTC).timestamp()
        # as doubles, because a decimal is compared with a double as one
        if space == "number":
            key = to_float(read)
            return (space, key) if key == key else ("term", term)  # NaN
        return "", 0
    # of no order, or not even of a known datatype
    return ("term", term) if isinstance(term, URIRef | BNode | Literal) else ("", 0)


def near(space: str, key: Any) -> tuple[tuple[str, Any, Any], ...]:
    """List the spaces that a place is compared with, each with the least and greatest key that may equal it.

    Values with a lesser key are less, and those with a greater key are greater.
    """
    if space in _MOMENTS:
        other = space.removesuffix(_LOCAL) if space.endswith(_LOCAL) else space + _LOCAL
        return (space, key, key), (other, key - _FIFTEEN_HOURS, key + _FIFTEEN_HOURS)
    return ((space, key, key),)


_LOCAL: Final = " without zone"
_MOMENTS: Final = frozenset(kind + zone for kind in ("dateTime", "date", "time") for zone in ("", _LOCAL))
_FIFTEEN_HOURS: Final = 54_000.0
"""More seconds than a moment without a time zone can be from where it seems to be."""
