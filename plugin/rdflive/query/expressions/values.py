"""The values that literals stand for: equality, order and truth (SPARQL 1.2, Sections 17.2.2 and 17.3).

None stands for a type error throughout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any, Final, TypeAlias, TypeVar

from rdflib.namespace import XSD
from rdflib.term import Literal, Node
from rdflib.xsd_datetime import Duration

from rdflive.errors import BudgetError
from rdflive.model import DirectionalString, TripleTerm
from rdflive.query.expressions.numbers import (
    DECIMALS,
    NUMERIC,
    Number,
    in_fixed_context,
    number,
    to_float,
)

__all__ = [
    "DATE_TIME",
    "compare",
    "effective_boolean",
    "equal",
    "known",
    "moment",
    "no_value",
    "read_again",
    "tag_of",
    "text",
]

_Otherwise = TypeVar("_Otherwise")
Known: TypeAlias = tuple[str, Any]
"""A value space and a value of it."""

_ZONE: Final = re.compile(r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))$")
_DATE = r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
_ANY_ZONE = r"(?:Z|[+-][0-9]{2}:[0-9]{2})?"
DATE_TIME: Final = re.compile(f"{_DATE}T{_TIME}{_ANY_ZONE}")
_FORMS: Final[dict[str, re.Pattern[str]]] = {
    str(XSD.dateTime): DATE_TIME,
    str(XSD.date): re.compile(_DATE + _ANY_ZONE),
    str(XSD.time): re.compile(_TIME + _ANY_ZONE),
}
# the furthest that a time zone may be from UTC
_FOURTEEN: Final = timedelta(hours=14)


def text(term: Node) -> str | None:
    """Give the characters of a simple literal or xsd:string."""
    if not isinstance(term, Literal) or term.language or term.datatype not in (None, XSD.string):
        return None
    return str(term)


def tag_of(literal: Literal) -> str:
    """Give the language in lower case, with the base direction where there is one; empty without any."""
    language = (literal.language or "").lower()
    return f"{language}--{literal.direction}" if isinstance(literal, DirectionalString) else language


def no_value(error: Exception, otherwise: _Otherwise) -> _Otherwise:
    """Make an exception an error of SPARQL, `otherwise`; raises what is none again.

    A lack of memory or of stack and a budget that is used up say nothing of the value: a subscription that
    took them for an error would go on with a wrong answer.
    """
    if isinstance(error, (MemoryError, RecursionError)) or type(error) is BudgetError:
        raise error
    return otherwise


def effective_boolean(term: Node) -> bool | None:
    """Give the effective boolean value (SPARQL 1.2, Section 17.2.2).

    Strings with a language and ill-formed booleans are errors, which SPARQL 1.1 takes for true and false.
    """
    if not isinstance(term, Literal) or term.language:
        return None
    datatype = term.datatype
    if datatype == XSD.boolean:
        truth: bool | None = moment(term)
        return truth
    if str(datatype) in NUMERIC:
        value = number(term)
        return None if value is None else bool(value) and value == value
    return len(term) > 0 if datatype is None or datatype == XSD.string else None


def equal(one: Node, other: Node) -> bool | None:
    """Compare by `=`: values where both are known, else terms, of which only literals may be an error.

    Triples are equal where their parts are (SPARQL 1.2).
    """
    if isinstance(one, TripleTerm) and isinstance(other, TripleTerm):
        return one.parts[:2] == other.parts[:2] and equal(one.parts[2], other.parts[2])
    if not isinstance(one, Literal) or not isinstance(other, Literal) or one.language or other.language:
        return one == other
    left, right = known(one), known(other)
    if left is None or right is None:
        return True if one == other else None
    # known values of two spaces differ: "1" is a string, and so not 1
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
    while isinstance(one, TripleTerm) and isinstance(other, TripleTerm):  # as Oxigraph, by the objects
        if one.parts[:2] != other.parts[:2]:
            return None
        one, other = one.parts[2], other.parts[2]
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
        # each language is a space of its own, so that `<` between two languages is an error
        return (f"lang {tag_of(literal)}" if literal.language else "string", str(literal))
    space = _SPACE_OF.get(str(datatype))
    if space is None:
        return None
    reader = _READERS.get(space)
    value = str(literal) if reader is None else reader(literal)
    return None if value is None else (space, value)


def moment(literal: Literal) -> Any:
    """Give rdflib's value of a moment, a duration or a boolean; None where it is ill-formed.

    Only the lexical form counts: rdflib takes forms that XML Schema does not know, such as a date
    for an xsd:dateTime.
    """
    iri = str(literal.datatype)
    form = _FORMS.get(iri)
    if form is not None and form.fullmatch(literal) is None:
        return None
    # one made of a Python object has not been read yet; durations must be read in our context of decimals
    if literal.ill_typed is None or _SPACE_OF.get(iri) == "duration":
        literal = read_again(literal)
    return None if literal.ill_typed else literal.value


@in_fixed_context
def read_again(literal: Literal) -> Literal:
    """Read a literal by its lexical form: rdflib calculates with decimals to make the value of a duration."""
    return Literal(str(literal), datatype=literal.datatype, normalize=False)


def _date_time(literal: Literal) -> datetime | None:
    value: datetime | None = moment(literal)
    return _end_of_day(literal) if value is None else value


def _end_of_day(literal: Literal) -> datetime | None:
    """Give the moment 24:00:00, the first of the next day, which rdflib does not know."""
    day, midnight, zone = str(literal).partition("T24:00:00")
    if not midnight:
        return None
    try:
        return datetime.fromisoformat(f"{day}T00:00:00{zone}") + timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _midnight(literal: Literal) -> datetime | None:
    """Give the first moment of a date in its time zone, which rdflib's value does not have."""
    value: date | None = moment(literal)
    if value is None:
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
    # XPath compares times on this day
    day = date(1972, 12, 31)
    return _time_order(datetime.combine(day, one), datetime.combine(day, other))


def _duration_order(one: timedelta | Duration, other: timedelta | Duration) -> float | None:
    """Order durations by months and by seconds; None where the two disagree."""
    left, right = _months_and_rest(one), _months_and_rest(other)
    months, rest = _plain_order(left[0], right[0]), _plain_order(left[1], right[1])
    # P1M and P31D disagree: more months, and less beside them
    if not months or not rest:
        return months or rest
    return months if months == rest else None


def _months_and_rest(value: timedelta | Duration) -> tuple[Any, timedelta]:
    if isinstance(value, Duration):
        return DECIMALS.fma(value.years, 12, value.months), value.tdelta
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
_SPACE_OF: Final[dict[str, str]] = {
    **dict.fromkeys(NUMERIC, "number"),
    str(XSD.string): "string",
    str(XSD.boolean): "boolean",
    str(XSD.dateTime): "dateTime",
    str(XSD.date): "date",
    str(XSD.time): "time",
    str(XSD.duration): "duration",
    str(XSD.dayTimeDuration): "duration",
    str(XSD.yearMonthDuration): "duration",
}
_READERS: Final[dict[str, Callable[[Literal], Any]]] = {
    "number": number,
    "boolean": moment,
    "dateTime": _date_time,
    "date": _midnight,
    "time": moment,
    "duration": moment,
}
