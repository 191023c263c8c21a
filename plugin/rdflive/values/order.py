"""Places of terms in an order, for ordered indexes.

Most values have one place, and their comparisons go by it. Two kinds do not. An xsd:float equals every
decimal that is rounded to it: 0.1 too, though it is a little more than 0.1. And a moment without a time zone
may lie up to 14 hours to either side of where it seems to be. So these have spaces of their own, and `near`
tells in each space which terms have to be compared one by one.
"""

from __future__ import annotations

from math import inf
from typing import Any, Final

from rdflib import BNode, Literal, URIRef

from rdflive.values.datatypes import Value, value_of
from rdflive.values.moments import Moment
from rdflive.values.numbers import Single, to_double

__all__ = ["UNORDERED", "near", "order_key", "value_key"]

UNORDERED: Final = ""
"""The space of terms that no comparison orders: of two of them each has to be compared."""

_SINGLE: Final = "float"
_NUMBER: Final = "number"
_LOCAL: Final = " without zone"
_FIFTEEN_HOURS: Final = 54_000.0
"""More seconds than a moment without a time zone can be from where it seems to be."""
_GREATEST_SINGLE: Final = 3.4028234e38
_GREATEST: Final = 1e308


def order_key(term: Any) -> tuple[str, Any]:
    """Give the space of a term and its key there: in one space a lesser value never has the greater key.

    Keys of numbers and moments are doubles, so that different values may have one key. Terms that are in no
    order and equal nothing but themselves are of the space "term": IRIs, literals without a value, and NaN.

    >>> from rdflib import XSD
    >>> order_key(Literal(2)), order_key(Literal("1970-01-02T00:00:00", datatype=XSD.dateTime))
    (('number', 2.0), ('dateTime without zone', 86400.0))
    """
    if isinstance(term, URIRef | BNode):
        return "term", term
    if not isinstance(term, Literal):
        return UNORDERED, 0
    value = value_of(term)
    return (None if value is None else value_key(value)) or ("term", term)


def value_key(value: Value) -> tuple[str, Any] | None:
    """Give what `order_key` does of a term with a value; None of NaN.

    >>> value_key(("number", 2)), value_key(("number", float("nan")))
    (('number', 2.0), None)
    """
    space, content = value
    if isinstance(content, Moment):
        return (space if content.zone is not None else space + _LOCAL), to_double(content.instant)
    if space == _NUMBER:
        key = to_double(content)
        if key != key:  # NaN
            return None
        return (_SINGLE if type(content) is Single else space), key
    # P1M and P30D have no order, so durations cannot be sorted
    return (UNORDERED, 0) if space == "duration" else (space, content)


def near(space: str, key: Any) -> tuple[tuple[str, Any, Any], ...]:
    """List the spaces that a place is compared with, and the least and greatest key there that may equal it.

    A value with a lesser key than those is less, and one with a greater key is greater.

    >>> near("number", 2.0)[0], near("string", "b")
    (('number', 2.0, 2.0), (('string', 'b', 'b'),))
    """
    if space == _NUMBER:
        return (space, key, key), (_SINGLE, *_around(key))
    if space == _SINGLE:
        return (space, key, key), (_NUMBER, *_around(key))
    if isinstance(key, float):
        other = space.removesuffix(_LOCAL) if space.endswith(_LOCAL) else space + _LOCAL
        if abs(key) == inf:  # in years that no double holds, all beyond some number may be equal
            return (space, key, key), (other, min(key, _GREATEST), max(key, -_GREATEST))
        # in billions of years the next double is more than 15 hours away
        width = _FIFTEEN_HOURS + abs(key) * 2**-51
        return (space, key, key), (other, key - width, key + width)
    return ((space, key, key),)


def _around(key: float) -> tuple[float, float]:
    """Give bounds of the numbers that single precision may round to what it rounds a number to."""
    if abs(key) >= _GREATEST_SINGLE:  # an infinity, to single precision
        return (_GREATEST_SINGLE, inf) if key > 0 else (-inf, -_GREATEST_SINGLE)
    width = abs(key) * 2**-22 + 2**-148
    return key - width, key + width
