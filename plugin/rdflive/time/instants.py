"""Instants and durations: conversion between user input and whole nanoseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeAlias

from rdflib import Literal

from rdflive.values import Moment, value_of
from rdflive.values.moments import MOMENTS, Seconds, in_units, read_duration, write_moment
from rdflive.values.numbers import EXACT

__all__ = [
    "DurationLike",
    "Instant",
    "InstantLike",
    "dated",
    "numbered",
    "shown",
    "to_delay",
    "to_duration",
    "to_instant",
]

Instant: TypeAlias = int
"""Nanoseconds since 1970 (UTC), or since the origin of a stream's numbers."""
InstantLike: TypeAlias = "int | float | Fraction | Decimal | datetime | str | Literal"
DurationLike: TypeAlias = "int | float | Fraction | Decimal | timedelta | str"

SECOND: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_UNITS: Final = {
    "ms": SECOND // 1000,
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), SECOND),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60 * SECOND),
    **dict.fromkeys(("h", "hour", "hours"), 3600 * SECOND),
    **dict.fromkeys(("d", "day", "days"), 86400 * SECOND),
}
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)


def to_instant(value: Any) -> Instant:
    """Return an instant in nanoseconds, from a number of seconds, a time with a time zone, or its text.

    A text is an xsd:dateTime, of any year, or any other ISO 8601 form that Python reads. A literal has a
    number or an xsd:dateTime. Numbers are rounded; a text or a literal with fractions of a nanosecond raises
    ValueError.

    >>> to_instant(1.5), to_instant("1970-01-01T00:00:02Z")
    (1500000000, 2000000000)
    """
    if type(value) is int:  # the common case
        return value * SECOND
    if isinstance(value, Literal):
        space, content = value_of(value) or ("", None)
        if space not in ("number", "dateTime"):
            raise ValueError(f"{value.n3()} is not an instant: give a number or an xsd:dateTime")
        value = content
    elif isinstance(value, str):
        value = MOMENTS["dateTime"](value) or _iso_time(value)
    if isinstance(value, Moment):
        if value.zone is None:
            raise ValueError(
                f"{write_moment('dateTime', value)} has no time zone; write Z at its end for UTC"
            )
        return _exactly(value.instant)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; give it one, as in datetime.now(timezone.utc)")
        # Integer arithmetic: `timestamp()` is a float, which cannot hold nanoseconds since 1970.
        return (value - _EPOCH) // _MICROSECOND * 1000
    return _nanoseconds(value, "an instant: give seconds, or a datetime with a time zone")


def to_duration(value: Any) -> int:
    """Return a positive duration in nanoseconds.

    It is a number of seconds, a timedelta, or a text such as "10s", "500 ms", "1.5h" or "PT10S".

    >>> to_duration("1.5m"), to_duration("PT1S")
    (90000000000, 1000000000)
    """
    nanoseconds = _length(value)
    if nanoseconds <= 0:
        raise ValueError(f"the duration {value!r} must be greater than zero")
    return nanoseconds


def to_delay(value: Any) -> int:
    """Return a duration as `to_duration` does, or 0 for None, 0, "0s" and the like.

    >>> to_delay(None), to_delay("0s"), to_delay(2)
    (0, 0, 2000000000)
    """
    nanoseconds = 0 if value is None else _length(value)
    if nanoseconds < 0:
        raise ValueError(f"the duration {value!r} must not be negative")
    return nanoseconds


def _length(value: Any) -> int:
    if isinstance(value, timedelta):
        return value // _MICROSECOND * 1000
    if isinstance(value, str):
        return _parse(value)
    return _nanoseconds(value, "a duration: give seconds, a timedelta, or a text such as '10s'")


def numbered(instant: Instant) -> int | float:
    """Return an instant or a duration in seconds, whole numbers as int.

    >>> numbered(3_000_000_000), numbered(500_000_000)
    (3, 0.5)
    """
    whole, rest = divmod(instant, SECOND)
    return instant / SECOND if rest else whole


def dated(instant: Instant) -> datetime | str:
    """Return an instant as a datetime in UTC; as an xsd:dateTime text if datetime cannot represent it.

    A datetime has whole microseconds in the years 1 to 9999.

    >>> dated(10**21), dated(1)
    ('33658-09-27T01:46:40Z', '1970-01-01T00:00:00.000000001Z')
    """
    microseconds, rest = divmod(instant, 1000)
    if not rest:
        try:
            return _EPOCH + microseconds * _MICROSECOND
        except OverflowError:
            pass
    return write_moment("dateTime", Moment(EXACT.scaleb(Decimal(instant), -9), 0))


def shown(instant: Instant) -> str:
    """Write an instant as a time in UTC."""
    found = dated(instant)
    return found if isinstance(found, str) else found.isoformat()


def _iso_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not an instant: give seconds or an ISO 8601 date and time") from error


def _exactly(seconds: Seconds) -> int:
    """Return seconds as nanoseconds. Raises ValueError unless these are a whole number."""
    nanoseconds = in_units(seconds, SECOND)
    if nanoseconds is None:
        raise ValueError(f"{seconds} s is finer than the nanoseconds that streams count")
    return nanoseconds


def _parse(text: str) -> int:
    if text.lstrip().upper().startswith("P"):
        duration = read_duration(text.strip().upper())
        if duration is None:
            raise ValueError(f"{text!r} is not a duration: write '10s', or ISO 8601 as 'PT10S'")
        if duration.months:
            raise ValueError(f"the duration {text!r} has years or months, whose lengths vary")
        return _exactly(duration.seconds)
    found = _AMOUNT.fullmatch(text.strip())
    unit = None if found is None else _UNITS.get(found[2].lower())
    if found is None or unit is None:
        raise ValueError(f"{text!r} is not a duration: write a number and one of ms, s, m, h, d, or 'PT10S'")
    # exact, because `int` would truncate a float slightly below a whole number
    return int(Fraction(found[1]) * unit)


def _nanoseconds(value: Any, wanted: str) -> int:
    # True is an int in Python, but not a time
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal):
        raise TypeError(f"{value!r} is not {wanted}")
    try:
        # Fraction and Decimal stay exact until they are rounded.
        return round(value * SECOND)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{value!r} is not {wanted}") from error
