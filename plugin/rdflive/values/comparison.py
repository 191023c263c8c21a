"""Equality, order and truth of terms by their values (SPARQL 1.2, Sections 17.2.2 and 17.3).

None stands for a type error throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final

from rdflib import XSD
from rdflib.term import Literal, Node

from rdflive.model import TripleTerm
from rdflive.values.datatypes import DATATYPES, Value, value_of
from rdflive.values.moments import MOMENTS, duration_order, moment_order
from rdflive.values.numbers import number_order

__all__ = ["compare", "compare_values", "effective_boolean", "equal", "text", "value_order"]


def text(term: Node) -> str | None:
    """Give the characters of a simple literal or xsd:string."""
    if not isinstance(term, Literal) or term.language or term.datatype not in (None, XSD.string):
        return None
    return str(term)


def effective_boolean(term: Node) -> bool | None:
    """Give the effective boolean value (Section 17.2.2).

    Of an ill-formed number it is false, as the Recommendation of SPARQL 1.1 says. Strings with a language
    and ill-formed booleans are errors as in SPARQL 1.2.
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
    return bool(value[1]) and value[1] == value[1]  # NaN alone differs from itself


def equal(one: Node, other: Node) -> bool | None:
    """Compare by `=`: values where both are known, else terms, of which only literals may be an error.

    Triples are equal where their parts are (SPARQL 1.2).
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
    while isinstance(one, TripleTerm) and isinstance(other, TripleTerm):  # as Oxigraph, by the objects
        if one.parts[:2] != other.parts[:2]:
            return None
        one, other = one.parts[2], other.parts[2]
    if not isinstance(one, Literal) or not isinstance(other, Literal):
        return None
    left, right = value_of(one), value_of(other)
    return None if left is None or right is None else compare_values(operator, left, right)


def compare_values(operator: str, one: Value, other: Value) -> bool | None:
    """Compare values as `compare` does terms; equal strings in two languages are values of two spaces."""
    space, left = one
    if space != other[0]:
        # "1" is a string, and so not 1
        return {"=": False, "!=": True}.get(operator)
    right = other[1]
    if type(left) is int and type(right) is int:  # as most numbers are
        return bool(_HOLDS[operator](left, right))
    sign = value_order(one, other)
    if sign is not None:
        return bool(_HOLDS[operator](sign, 0))
    if operator in ("=", "!="):
        # W3C's date-2; moments with and without a time zone are unequal for want of one
        return None if space == "date" else operator == "!="
    # NaN is in no order, and that is no error: a comparison with it is false (IEEE 754)
    return False if space == "number" else None


def value_order(one: Value, other: Value) -> int | None:
    """Give the sign of the difference of two values of one space; None where they have no order."""
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
