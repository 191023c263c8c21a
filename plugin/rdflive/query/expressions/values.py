"""The values that literals stand for: equality, order and truth (SPARQL 1.1, Sections 17.2.2 and 17.3).

None stands for a type error throughout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Final, TypeAlias

from rdflib.namespace import XSD
from rdflib.term import Literal, Node, URIRef
from rdflib.xsd_datetime import Duration

__all__ = [
    "FLOATS",
    "NUMERIC",
    "Number",
    "compare",
    "effective_boolean",
    "equal",
    "known",
    "number",
    "text",
    "to_float",
]

Number: TypeAlias = int | float | Decimal
Known: TypeAlias = tuple[str, Any]
"""A value space and a value of it."""

_DERIVED = """nonPositiveInteger negativeInteger long int short byte nonNegativeInteger unsignedLong
unsignedInt unsignedShort unsignedByte positiveInteger"""
INTEGERS: Final = frozenset({XSD.integer, *(XSD[name] for name in _DERIVED.split())})
FLOATS: Final = frozenset({XSD.float, XSD.double})
NUMERIC: Final = INTEGERS | FLOATS | {XSD.decimal}
_ZONE: Final = re.compile(r"(?:Z|([+-])(\d\d):(\d\d))$")
_FOURTEEN: Final = timedelta(hours=14)


def number(term: Node) -> Number | None:
    """Give the number a literal stands for; None for other terms and for ill-formed ones."""
    if not isinstance(term, Literal) or term.datatype not in NUMERIC or term.ill_typed:
        return None
    value = term.value
    if not isinstance(value, int | float | Decimal) or _is_odd(value):
        return None
    # rdflib lets a value be of another type than its datatype, as in Literal(2, datatype=XSD.decimal)
    if term.datatype in FLOATS:
        return to_float(value)
    return Decimal(value) if term.datatype == XSD.decimal else value


def _is_odd(value: Any) -> bool:
    """Tell a decimal that Python has and XML Schema has not: NaN, or an infinity."""
    return type(value) is Decimal and not value.is_finite()


def text(term: Node) -> str | None:
    """Give the characters of a simple literal or xsd:string."""
    if not isinstance(term, Literal) or term.language or term.datatype not in (None, XSD.string):
        return None
    return str(term)


def effective_boolean(term: Node) -> bool | None:
    """Give the effective boolean value (Section 17.2.2).

    An ill-formed boolean is false, as the section says; an ill-formed number is an error, as in all engines.
    """
    if not isinstance(term, Literal):
        return None
    datatype = term.datatype
    if datatype == XSD.boolean:
        return term.value is True and not term.ill_typed
    if datatype in NUMERIC:
        value = number(term)
        return None if value is None else bool(value) and value == value
    return len(term) > 0 if datatype is None or datatype == XSD.string else None


def equal(one: Node, other: Node) -> bool | None:
    """Compare by `=`: values where both are known, else terms, of which only literals may be an error."""
    if not isinstance(one, Literal) or not isinstance(other, Literal) or one.language or other.language:
        return one == other
    left, right = known(one), known(other)
    if left is None or right is None:
        return True if one == other else None
    if left[0] != right[0]:
        return False
    order = _order(left, right)
    if order is None and left[0] == "date":
        return None  # W3C's date-2; moments with and without a time zone are unequal for want of one
    return order == 0


def compare(operator: str, one: Node, other: Node) -> bool | None:
    """Compare by one of `=`, `!=`, `<`, `>`, `<=`, `>=`."""
    if operator in ("=", "!="):
        same = equal(one, other)
        return None if same is None else same is (operator == "=")
    if not isinstance(one, Literal) or not isinstance(other, Literal):
        return None
    left, right = known(one), known(other)
    if left is None or right is None or left[0] != right[0]:
        return None
    order = _order(left, right)
    return None if order is None else _ORDERS[operator](order)


def _order(one: Known, other: Known) -> float | None:
    """Give the sign of the difference of two values of one space; NaN or None without an order."""
    order: Callable[[Any, Any], float | None] = _SPACES.get(one[0], _plain_order)
    return order(one[1], other[1])


_ORDERS: Final[dict[str, Callable[[float], bool]]] = {
    "<": lambda order: order < 0,
    ">": lambda order: order > 0,
    "<=": lambda order: order <= 0,
    ">=": lambda order: order >= 0,
}


def known(literal: Literal) -> Known | None:
    """Give the value of a literal and its space; None for unknown datatypes and ill-formed literals."""
    datatype = literal.datatype
    if datatype is None:
        return ("lang " + literal.language.lower() if literal.language else "string", str(literal))
    space = _SPACE_OF.get(datatype)
    if space == "string":
        return space, str(literal)
    value = literal.value
    if value is None and space == "dateTime":
        value = _end_of_day(literal)
    elif literal.ill_typed:
        return None
    if space is None or value is None or _is_odd(value):
        return None
    if space == "date":
        value = _midnight(literal, value)
    return None if value is None else (space, value)


def _end_of_day(literal: Literal) -> datetime | None:
    """Give the moment 24:00:00, the first of the next day, which rdflib does not know."""
    day, midnight, zone = str(literal).partition("T24:00:00")
    if not midnight:
        return None
    try:
        return datetime.fromisoformat(f"{day}T00:00:00{zone}") + timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _midnight(literal: Literal, value: Any) -> datetime | None:
    """Give the first moment of a date in its time zone, which rdflib's value does not have."""
    if not isinstance(value, date):
        return None
    zone = _ZONE.search(literal)
    if zone is None:
        return datetime(value.year, value.month, value.day)
    sign, hours, minutes = zone.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    return datetime(value.year, value.month, value.day, tzinfo=timezone(-offset if sign == "-" else offset))


def _plain_order(one: Any, other: Any) -> int:
    return bool(one > other) - bool(one < other)


def _number_order(one: Number, other: Number) -> float:
    """Order numbers after XPath's promotion, a double where one is; NaN is in no order."""
    if isinstance(one, float) or isinstance(other, float):
        one, other = to_float(one), to_float(other)
        if math.isnan(one) or math.isnan(other):
            return math.nan
    return (one > other) - (one < other)


def to_float(value: Number) -> float:
    """Promote a number to a double; what is too large is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _time_order(one: datetime, other: datetime) -> float | None:
    """Order two moments; one without a time zone may lie 14 hours off (XML Schema 1.1, D.3.3)."""
    if (one.tzinfo is None) == (other.tzinfo is None):
        return (one > other) - (one < other)
    zoned, local, sign = (one, other, 1) if other.tzinfo is None else (other, one, -1)
    distance = zoned - local.replace(tzinfo=UTC)
    if abs(distance) <= _FOURTEEN:
        return None
    return sign if distance > timedelta(0) else -sign


def _clock_order(one: time, other: time) -> float | None:
    day = date(1972, 12, 31)
    return _time_order(datetime.combine(day, one), datetime.combine(day, other))


def _duration_order(one: timedelta | Duration, other: timedelta | Duration) -> float | None:
    """Order durations by months and by seconds; None where the two disagree."""
    left, right = _months_and_rest(one), _months_and_rest(other)
    months, rest = _plain_order(left[0], right[0]), _plain_order(left[1], right[1])
    if not months or not rest:
        return months or rest
    return months if months == rest else None


def _months_and_rest(value: timedelta | Duration) -> tuple[Any, timedelta]:
    if isinstance(value, Duration):
        return value.years * 12 + value.months, value.tdelta
    return 0, value


_SPACES: Final[dict[str, Callable[[Any, Any], float | None]]] = {
    "number": _number_order,
    "string": _plain_order,
    "boolean": _plain_order,
    "dateTime": _time_order,
    "date": _time_order,
    "time": _clock_order,
    "duration": _duration_order,
}
_SPACE_OF: Final[dict[URIRef, str]] = {
    **dict.fromkeys(NUMERIC, "number"),
    XSD.string: "string",
    XSD.boolean: "boolean",
    XSD.dateTime: "dateTime",
    XSD.date: "date",
    XSD.time: "time",
    XSD.duration: "duration",
    XSD.dayTimeDuration: "duration",
    XSD.yearMonthDuration: "duration",
}
