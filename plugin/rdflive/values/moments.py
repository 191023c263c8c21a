"""Points in time and durations: the value spaces of XSD 1.1 (appendix E), with years and seconds of any size.

An instant is a number of seconds since 1970-01-01T00:00:00Z, an int or an exact Decimal. A moment without a
time zone has its UTC instant.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from rdflive.values.calendar import civil, day_number, days_in_month, months_later, year_text
from rdflive.values.numbers import EXACT, MOST_DIGITS

__all__ = [
    "FOURTEEN_HOURS", "MOMENTS", "REFERENCES", "Duration", "Moment", "Seconds", "add", "difference",
    "duration_order", "fields_of", "in_units", "moment_order", "opposite", "read_duration", "total",
    "write_duration", "write_moment", "zone_text",
]  # fmt: skip

Seconds: TypeAlias = int | Decimal
"""An exact number of seconds; an int if whole."""

_DAY: Final = 86_400
FOURTEEN_HOURS: Final = 14 * 3_600
"""Maximum seconds between a moment without a time zone and its UTC instant."""


class Moment(NamedTuple):
    """A value of xsd:dateTime, date, time, gYear, gYearMonth, gMonthDay, gMonth or gDay."""

    instant: Seconds
    """Midnight of a date, a time on 1972-12-31, a gDay in 1972-12, and so on."""
    zone: int | None
    """Minutes from UTC; None without a time zone."""

    @property
    def local(self) -> Seconds:
        """The seconds since 1970-01-01T00:00:00 in its own time zone."""
        return _plus(self.instant, 60 * (self.zone or 0))


class Duration(NamedTuple):
    """A value of xsd:duration; both parts have the same sign."""

    months: int
    seconds: Seconds


class Fields(NamedTuple):
    """The calendar and clock fields of a moment."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: Seconds


def _plus(one: Seconds, other: Seconds) -> Seconds:
    if type(one) is int and type(other) is int:
        return one + other
    return _whole(EXACT.add(one, other))


def _whole(seconds: Decimal) -> Seconds:
    """Return a whole number as an int, so that equal numbers have one type."""
    return int(seconds) if seconds == seconds.to_integral_value() else seconds


def in_units(seconds: Seconds, unit: int) -> int | None:
    """Return seconds in units of 1/`unit` second; None if the result is not whole.

    >>> in_units(Decimal("0.25"), 1000), in_units(Decimal("0.25"), 10)
    (250, None)
    """
    if isinstance(seconds, int):
        return seconds * unit
    count = _whole(EXACT.multiply(seconds, unit))
    return count if isinstance(count, int) else None


def _floor(seconds: Seconds) -> int:
    return int(seconds if isinstance(seconds, int) else seconds.to_integral_value("ROUND_FLOOR"))


def fields_of(moment: Moment) -> Fields:
    """Return year, month, day, hour, minute and second.

    >>> fields_of(MOMENTS["dateTime"]("2024-02-29T24:00:00+02:00"))
    Fields(year=2024, month=3, day=1, hour=0, minute=0, second=0)
    """
    local = moment.local
    whole = _floor(local)
    days, clock = divmod(whole, _DAY)
    year, month, day = civil(days)
    second: Seconds = clock % 60
    if type(local) is not int:
        second = EXACT.add(second, EXACT.subtract(local, whole))
    return Fields(year, month, day, clock // 3_600, clock // 60 % 60, second)


# reading

_YEAR: Final = r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))"
_MONTH: Final = r"(0[1-9]|1[0-2])"
_MONTH_DAY: Final = r"(0[1-9]|[12][0-9]|3[01])"
_FRACTION: Final = rf"\.[0-9]{{1,{MOST_DIGITS}}}"
_CLOCK: Final = rf"(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])({_FRACTION})?|24:00:00(?:\.0+)?)"
_ZONE: Final = r"(Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"


def _zone(text: str | None) -> int | None:
    if text is None:
        return None
    if text == "Z":
        return 0
    minutes = 60 * int(text[1:3]) + int(text[4:])
    return -minutes if text[0] == "-" else minutes


def _clock(hour: str | None, minute: str, second: str, fraction: str | None) -> Seconds:
    if hour is None:  # 24:00:00
        return _DAY
    whole = (60 * int(hour) + int(minute)) * 60 + int(second)
    rest = fraction and fraction.rstrip("0")
    return whole if not rest or rest == "." else Decimal(f"{whole}{rest}")


def _reader(
    pattern: str, parts: Callable[..., tuple[int, int, int, Seconds]]
) -> Callable[[str], Moment | None]:
    """Return a reader of lexical forms; `parts` converts the groups to year, month, day and clock."""
    fullmatch = re.compile(pattern + _ZONE).fullmatch

    def read(form: str) -> Moment | None:
        match = fullmatch(form)
        if match is None:
            return None
        *groups, zone = match.groups()
        year, month, day, clock = parts(*groups)
        if day > 28 and day > days_in_month(year, month):
            return None
        offset = _zone(zone)
        return Moment(_plus(day_number(year, month, day) * _DAY - 60 * (offset or 0), clock), offset)

    return read


_read_any_date_time: Final = _reader(
    f"{_YEAR}-{_MONTH}-{_MONTH_DAY}T{_CLOCK}",
    lambda year, month, day, *clock: (int(year), int(month), int(day), _clock(*clock)),
)
_PLAIN: Final = re.compile(
    f"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}{_ZONE}"
).fullmatch
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH: Final = datetime(1970, 1, 1)


def _read_date_time(form: str) -> Moment | None:
    """Read whole seconds of the years 1 to 9999 with Python's datetime, which is three times as fast."""
    if _PLAIN(form) is None:
        return _read_any_date_time(form)
    try:
        moment = datetime.fromisoformat(form)
    except ValueError:  # such as 24:00:00
        return _read_any_date_time(form)
    offset = moment.utcoffset()
    if offset is None:
        since = moment - _LOCAL_EPOCH
        return Moment(since.days * _DAY + since.seconds, None)
    since = moment - _EPOCH
    return Moment(since.days * _DAY + since.seconds, offset.days * 1_440 + offset.seconds // 60)


# fields that a form lacks are those of 1972-12-31, in a leap year as in XSD 1.1
MOMENTS: Final[dict[str, Callable[[str], Moment | None]]] = {
    "dateTime": _read_date_time,
    "date": _reader(
        f"{_YEAR}-{_MONTH}-{_MONTH_DAY}", lambda year, month, day: (int(year), int(month), int(day), 0)
    ),
    "time": _reader(_CLOCK, lambda hour, *clock: (1972, 12, 31, 0 if hour is None else _clock(hour, *clock))),
    "gYear": _reader(_YEAR, lambda year: (int(year), 1, 1, 0)),
    "gYearMonth": _reader(f"{_YEAR}-{_MONTH}", lambda year, month: (int(year), int(month), 1, 0)),
    "gMonthDay": _reader(f"--{_MONTH}-{_MONTH_DAY}", lambda month, day: (1972, int(month), int(day), 0)),
    "gMonth": _reader(f"--{_MONTH}", lambda month: (1972, int(month), 1, 0)),
    "gDay": _reader(f"---{_MONTH_DAY}", lambda day: (1972, 12, int(day), 0)),
}
"""The reader of each kind of moment; it returns None for an invalid lexical form.

>>> MOMENTS["dateTime"]("1970-01-01T01:00:00.50+01:00"), MOMENTS["gYear"]("1970"), MOMENTS["date"]("x")
(Moment(instant=Decimal('0.5'), zone=60), Moment(instant=0, zone=None), None)
"""

_DURATION: Final = re.compile(
    r"(-?)P(?=.)(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)D)?"
    rf"(?:T(?=.)(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]{{1,{MOST_DIGITS}}}(?:{_FRACTION})?)S)?)?"
)


def read_duration(form: str) -> Duration | None:
    """Return the value of a lexical form of xsd:duration; None if it is invalid.

    >>> read_duration("-P1Y2M"), read_duration("P1DT0.5S"), read_duration("P")
    (Duration(months=-14, seconds=0), Duration(months=0, seconds=Decimal('86400.5')), None)
    """
    match = _DURATION.fullmatch(form)
    if match is None:
        return None
    sign, years, months, days, hours, minutes, seconds = match.groups()
    total = 12 * int(years or 0) + int(months or 0)
    whole = 60 * (60 * (24 * int(days or 0) + int(hours or 0)) + int(minutes or 0))
    rest = _plus(whole, _whole(Decimal(seconds or 0)))
    return Duration(-total, _negative(rest)) if sign else Duration(total, rest)


def _negative(seconds: Seconds) -> Seconds:
    return -seconds if isinstance(seconds, int) else seconds.copy_negate()


# order


def moment_order(one: Moment, other: Moment) -> int | None:
    """Return the sign of the difference of two moments of one kind; None if they have no order.

    A moment without a time zone may be up to 14 hours earlier or later (XSD 1.1, 3.3.7).
    """
    if (one.zone is None) == (other.zone is None):
        return (one.instant > other.instant) - (one.instant < other.instant)
    distance = EXACT.subtract(one.instant, other.instant)
    return None if -FOURTEEN_HOURS <= distance <= FOURTEEN_HOURS else 1 if distance > 0 else -1


REFERENCES: Final = tuple(
    day_number(year, month, 1) for year, month in ((1696, 9), (1697, 2), (1903, 3), (1903, 7))
)
"""The days since 1970-01-01 to which durations are added to compare them (XSD 1.1, 3.3.6)."""


def duration_order(one: Duration, other: Duration) -> int | None:
    """Return the sign of the difference of two durations; None if it depends on the month.

    >>> month, day = Duration(1, 0), 86_400
    >>> [duration_order(month, Duration(0, days * day)) for days in (27, 30, 32)]
    [1, None, -1]
    """
    if one.months == other.months:
        return (one.seconds > other.seconds) - (one.seconds < other.seconds)
    orders = set()
    for day in REFERENCES:
        begin, end = (_shifted(day, duration) for duration in (one, other))
        orders.add((begin > end) - (begin < end))
    return orders.pop() if len(orders) == 1 else None


def _shifted(day: int, duration: Duration) -> Seconds:
    return _plus(months_later(day, duration.months) * _DAY, duration.seconds)


# arithmetic


def opposite(duration: Duration) -> Duration:
    """Return a duration with the opposite sign."""
    return Duration(-duration.months, _negative(duration.seconds))


def total(one: Duration, other: Duration) -> Duration | None:
    """Add two durations; None if months and seconds would have different signs (XSD 1.1, 3.3.6)."""
    months, seconds = one.months + other.months, _plus(one.seconds, other.seconds)
    return None if (months < 0 < seconds) or (seconds < 0 < months) else Duration(months, seconds)


_WITH_ARITHMETIC: Final = frozenset({"dateTime", "date", "time"})


def difference(kind: str, one: Moment, other: Moment) -> Duration | None:
    """Subtract two dateTimes, dates or times; None for other kinds, or if only one has a time zone."""
    if kind not in _WITH_ARITHMETIC or (one.zone is None) != (other.zone is None):
        return None
    return Duration(0, _plus(one.instant, _negative(other.instant)))


def add(kind: str, moment: Moment, duration: Duration) -> Moment | None:
    """Add a duration to a dateTime, a date or a time; None for other kinds, or for months added to a time.

    A day beyond the end of the month becomes its last day (XSD 1.1, E.3.3).

    >>> write_moment("date", add("date", MOMENTS["date"]("2024-01-31"), Duration(1, 0)))
    '2024-02-29'
    """
    if kind not in _WITH_ARITHMETIC or (kind == "time" and duration.months):
        return None
    local = moment.local
    if duration.months:
        day = _floor(local) // _DAY
        local = _plus(local, (months_later(day, duration.months) - day) * _DAY)
    local = _plus(local, duration.seconds)
    if kind != "dateTime":
        whole = _floor(local)
        if kind == "date":
            local = whole - whole % _DAY
        else:
            day = day_number(1972, 12, 31)
            local = _plus(local, (day - whole // _DAY) * _DAY)
    return Moment(_plus(local, -60 * (moment.zone or 0)), moment.zone)


# writing


def zone_text(zone: int | None) -> str:
    """Return the text of a time zone.

    >>> zone_text(0), zone_text(-90), zone_text(None)
    ('Z', '-01:30', '')
    """
    if not zone:
        return "" if zone is None else "Z"
    hours, minutes = divmod(abs(zone), 60)
    return f"{'-' if zone < 0 else '+'}{hours:02}:{minutes:02}"


def _second_text(second: Seconds) -> str:
    if type(second) is int:
        return f"{second:02}"
    whole, _, fraction = f"{second:f}".rstrip("0").partition(".")
    return f"{whole:0>2}.{fraction}"


_WRITERS: Final[dict[str, Callable[[Fields], str]]] = {
    "dateTime": lambda at: f"{_WRITERS['date'](at)}T{_WRITERS['time'](at)}",
    "date": lambda at: f"{year_text(at.year)}-{at.month:02}-{at.day:02}",
    "time": lambda at: f"{at.hour:02}:{at.minute:02}:{_second_text(at.second)}",
    "gYear": lambda at: year_text(at.year),
    "gYearMonth": lambda at: f"{year_text(at.year)}-{at.month:02}",
    "gMonthDay": lambda at: f"--{at.month:02}-{at.day:02}",
    "gMonth": lambda at: f"--{at.month:02}",
    "gDay": lambda at: f"---{at.day:02}",
}


def write_moment(kind: str, moment: Moment) -> str:
    """Return the canonical form of a moment (XSD 1.1, E.3.6), in its own time zone.

    >>> write_moment("dateTime", MOMENTS["dateTime"]("-0216-08-02T12:00:00.500-00:00"))
    '-0216-08-02T12:00:00.5Z'
    """
    return _WRITERS[kind](fields_of(moment)) + zone_text(moment.zone)


def write_duration(duration: Duration) -> str:
    """Return the canonical form of a duration (XSD 1.1, E.2.2); zero is PT0S.

    >>> write_duration(Duration(-14, 0)), write_duration(Duration(0, Decimal("90061.5")))
    ('-P1Y2M', 'P1DT1H1M1.5S')
    """
    months, seconds = abs(duration.months), duration.seconds
    sign = "-" if duration.months < 0 or seconds < 0 else ""
    if seconds < 0:
        seconds = _negative(seconds)
    years, months = divmod(months, 12)
    whole = int(seconds)
    second = seconds % 60 if type(seconds) is int else EXACT.add(whole % 60, EXACT.subtract(seconds, whole))
    minutes, hours, days = whole // 60 % 60, whole // 3_600 % 24, whole // _DAY
    date = f"{years}Y" * bool(years) + f"{months}M" * bool(months) + f"{days}D" * bool(days)
    last = f"{second:f}".rstrip("0") if type(second) is not int else str(second)
    clock = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes) + f"{last}S" * bool(second)
    return f"{sign}P{date}{'T' * bool(clock)}{clock}" if date or clock else "PT0S"
