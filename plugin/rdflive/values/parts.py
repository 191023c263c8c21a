"""SPARQL's functions on dates and times (Section 17.4.5), for all XML Schema moments with the part."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final

from rdflib.namespace import XSD
from rdflib.term import Literal, Node

from rdflive.values import Duration, Moment, duration_literal, number_literal, value_of
from rdflive.values.moments import fields_of, zone_text

__all__ = ["MOMENT_FUNCTIONS"]


def _moment(term: Node) -> tuple[str, Moment] | None:
    """Return the kind and the value of a moment; None for other terms."""
    value = value_of(term) if isinstance(term, Literal) else None
    return value if value is not None and isinstance(value[1], Moment) else None


def _part(name: str, kinds: tuple[str, ...]) -> Callable[[Node], Node | None]:
    """Return the function for a part that the given kinds of moments have."""

    def part(term: Node) -> Node | None:
        found = _moment(term)
        if found is None or found[0] not in kinds:
            return None
        value = getattr(fields_of(found[1]), name)
        return number_literal(Decimal(value) if name == "second" else value)

    return part


def tz(term: Node) -> Node | None:
    """Return the time zone as text, empty without one (TZ)."""
    found = _moment(term)
    return None if found is None else Literal(zone_text(found[1].zone))


def timezone(term: Node) -> Node | None:
    """Return the time zone as xsd:dayTimeDuration, PT0S for UTC; an error without one (TIMEZONE)."""
    found = _moment(term)
    if found is None or found[1].zone is None:
        return None
    return duration_literal(str(XSD.dayTimeDuration), Duration(0, 60 * found[1].zone))


_DATES: Final = ("dateTime", "date")
_CLOCKS: Final = ("dateTime", "time")
MOMENT_FUNCTIONS: Final[dict[str, Callable[[Node], Node | None]]] = {
    "Builtin_YEAR": _part("year", (*_DATES, "gYear", "gYearMonth")),
    "Builtin_MONTH": _part("month", (*_DATES, "gYearMonth", "gMonthDay", "gMonth")),
    "Builtin_DAY": _part("day", (*_DATES, "gMonthDay", "gDay")),
    "Builtin_HOURS": _part("hour", _CLOCKS),
    "Builtin_MINUTES": _part("minute", _CLOCKS),
    "Builtin_SECONDS": _part("second", _CLOCKS),
    "Builtin_TZ": tz,
    "Builtin_TIMEZONE": timezone,
}
