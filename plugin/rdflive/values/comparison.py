"""Equality, order and truth of terms by their values (SPARQL 1.2, Sections 17.2.2 and 17.3).

None stands for a type error throughout.

Ordered indexes sort terms by a key. Most values compare as their keys do. Two kinds do not. An xsd:float
equals every decimal that rounds to it: it equals 0.1 although its exact value is a little more than 0.1. A
moment without a time zone may be up to 14 hours before or after its UTC instant. These kinds have spaces of
their own, and `near` lists the key range in each space whose terms must be compared one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final

from rdflib import XSD, BNode, URIRef
from rdflib.term import Literal, Node

from rdflive.model import TripleTerm
from rdflive.values.datatypes import DATATYPES, Value, value_of
from rdflive.values.moments import MOMENTS, Moment, duration_order, moment_order
from rdflive.values.numbers import Single, number_order, to_double

__all__ = [
    "UNORDERED",
    "compare",
    "compare_values",
    "effective_boolean",
    "equal",
    "near",
    "order_key",
    "text",
    "value_key",
    "value_order",
]


def text(term: Node) -> str | None:
    """Return the characters of a simple literal or xsd:string; None for other terms."""
    if not isinstance(term, Literal) or term.language or term.datatype not in (None, XSD.string):
        return None
    return str(term)


def effective_boolean(term: Node) -> bool | None:
    """Return the effective boolean value (Section 17.2.2).

    It is False for ill-formed numbers, as in SPARQL 1.1. Strings with a language and ill-formed booleans are
    errors, as in SPARQL 1.2.
    """
    if not isinstance(term, Literal) or term.language:
        return None
    if term.datatype is None:
        return len(term) > 0
    known = DATATYPES.get(str(term.datatype))
    if known is None or known.space not in ("number", "boolean", "string"):
        return None
    value = value_of(term)
    if value is None:
        return False if known.space == "number" else None
    return bool(value[1]) and value[1] == value[1]  # only NaN differs from itself


def equal(one: Node, other: Node) -> bool | None:
    """Compare by `=`: by value if both have one, else by term, which may be an error for literals.

    Triple terms are equal if their parts are equal (SPARQL 1.2).
    """
    if isinstance(one, TripleTerm) and isinstance(other, TripleTerm):
        return one.parts[:2] == other.parts[:2] and equal(one.parts[2], other.parts[2])
    if not isinstance(one, Literal) or not isinstance(other, Literal) or one.language or other.language:
        return one == other
    left, right = value_of(one), value_of(other)
    if left is None or right is None:
        return True if one == other else None
    return compare_values("=", left, right)


def compare(operator: str, one: Node, other: Node) -> bool | None:
    """Compare by one of `=`, `!=`, `<`, `>`, `<=`, `>=`."""
    if operator in ("=", "!="):
        same = equal(one, other)
        return None if same is None else same is (operator == "=")
    while isinstance(one, TripleTerm) and isinstance(other, TripleTerm):  # by the objects, as Oxigraph does
        if one.parts[:2] != other.parts[:2]:
            return None
        one, other = one.parts[2], other.parts[2]
    if not isinstance(one, Literal) or not isinstance(other, Literal):
        return None
    left, right = value_of(one), value_of(other)
    return None if left is None or right is None else compare_values(operator, left, right)


def compare_values(operator: str, one: Value, other: Value) -> bool | None:
    """Compare two values as `compare` does; strings of different languages are in different spaces."""
    space, left = one
    if space != other[0]:
        # the string "1" is not the number 1
        return {"=": False, "!=": True}.get(operator)
    right = other[1]
    if type(left) is int and type(right) is int:  # the most frequent case
        return bool(_HOLDS[operator](left, right))
    sign = value_order(one, other)
    if sign is not None:
        return bool(_HOLDS[operator](sign, 0))
    if operator in ("=", "!="):
        # W3C's date-2; other moments with and without a time zone are unequal
        return None if space == "date" else operator == "!="
    # NaN has no order: a comparison with it is false and no error (IEEE 754)
    return False if space == "number" else None


def value_order(one: Value, other: Value) -> int | None:
    """Return the sign of the difference of two values of one space; None if they have no order."""
    return _ORDERS.get(one[0], _plain_order)(one[1], other[1])


def _plain_order(one: Any, other: Any) -> int:
    return bool(one > other) - bool(one < other)


_HOLDS: Final[dict[str, Callable[[int, int], Any]]] = {
    "=": eq, "!=": ne, "<": lt, ">": gt, "<=": le, ">=": ge,
}  # fmt: skip
_ORDERS: Final[dict[str, Callable[[Any, Any], int | None]]] = {
    "number": number_order,
    "duration": duration_order,
    **dict.fromkeys(MOMENTS, moment_order),
}


UNORDERED: Final = ""
"""The space of terms without an order; they must be compared one by one."""

_SINGLE: Final = "float"
_NUMBER: Final = "number"
_LOCAL: Final = " without zone"
_FIFTEEN_HOURS: Final = 54_000.0
"""More seconds than a moment without a time zone can be away from its UTC instant."""
_GREATEST_SINGLE: Final = 3.4028234e38
_GREATEST: Final = 1e308


def order_key(term: Any) -> tuple[str, Any]:
    """Return the space of a term and its key there; within a space, a lesser value never has a greater key.

    Keys of numbers and moments are doubles, so different values may share a key. IRIs, literals without a
    value, and NaN have no order and equal only themselves; their space is "term".

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
    """Return the `order_key` of a value; None for NaN.

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
    """Return the spaces comparable with a key, each with the least and greatest key that may equal it.

    A value with a key below that range is less, and a value with a key above it is greater.

    >>> near("number", 2.0)[0], near("string", "b")
    (('number', 2.0, 2.0), (('string', 'b', 'b'),))
    """
    if space == _NUMBER:
        return (space, key, key), (_SINGLE, *_around(key))
    if space == _SINGLE:
        return (space, key, key), (_NUMBER, *_around(key))
    if isinstance(key, float):
        other = space.removesuffix(_LOCAL) if space.endswith(_LOCAL) else space + _LOCAL
        if abs(key) == inf:  # beyond the range of doubles, all large keys may be equal
            return (space, key, key), (other, min(key, _GREATEST), max(key, -_GREATEST))
        # after billions of years, adjacent doubles are more than 15 hours apart
        width = _FIFTEEN_HOURS + abs(key) * 2**-51
        return (space, key, key), (other, key - width, key + width)
    return ((space, key, key),)


def _around(key: float) -> tuple[float, float]:
    """Return bounds of the numbers that may round to the same single as `key`."""
    if abs(key) >= _GREATEST_SINGLE:  # infinite in single precision
        return (_GREATEST_SINGLE, inf) if key > 0 else (-inf, -_GREATEST_SINGLE)
    width = abs(key) * 2**-22 + 2**-148
    return key - width, key + width
