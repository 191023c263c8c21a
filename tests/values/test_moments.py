"""Dates, times and durations of any size against Python's own, and against exact sums where it has none."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rdflib import XSD, Literal

from rdflive.model import exact_literal
from rdflive.values import Duration, Moment, compare, value_of
from rdflive.values.calendar import civil, day_number, days_in_month
from rdflive.values.moments import (
    MOMENTS,
    add,
    difference,
    duration_order,
    fields_of,
    moment_order,
    read_duration,
    total,
    write_duration,
    write_moment,
)
from support.effort import drawn_from, rounds
from values.test_numbers import check_places

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = st.none() | st.integers(-14 * 60, 14 * 60)
SECONDS = st.integers(-(10**12), 10**12) | st.decimals(
    min_value=-(10**12), max_value=10**12, places=9
).filter(lambda value: value != int(value))
MOMENT = st.builds(Moment, SECONDS, ZONES)
DURATION = st.builds(
    lambda sign, months, seconds: Duration(sign * months, -seconds if sign < 0 else seconds),
    st.sampled_from([1, -1]),
    st.integers(0, 2000),
    SECONDS.map(abs),
)


def typed(lexical: str, kind: str) -> Literal:
    return exact_literal(lexical, datatype=str(XSD[kind]))


@given(st.integers(-(10**9), 10**9))
def test_days_have_a_date_and_the_next_day_the_next(number: int) -> None:
    """The calendar goes both ways, and each day follows the one before."""
    year, month, day = civil(number)
    assert day_number(year, month, day) == number
    following = (year, month, day + 1) if day < days_in_month(year, month) else (year, month + 1, 1)
    assert civil(number + 1) == (following if following[1] <= 12 else (year + 1, 1, 1))


@given(st.dates(), st.integers(-(10**6), 10**6))
def test_calendar_is_the_one_of_python_and_repeats(day: date, cycles: int) -> None:
    """In Python's years the days are the same; the calendar repeats each 400 years, or 146,097 days."""
    number = day_number(day.year, day.month, day.day)
    assert number == (day - date(1970, 1, 1)).days
    assert civil(number + 146_097 * cycles) == (day.year + 400 * cycles, day.month, day.day)


@given(
    st.datetimes(timezones=st.none() | st.integers(-839, 839).map(lambda m: timezone(timedelta(minutes=m))))
)
def test_instants_are_those_of_python(moment: datetime) -> None:
    """The instant, the fields and the text of what Python has too."""
    read = MOMENTS["dateTime"](moment.isoformat())
    assert read is not None
    there = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    assert Fraction(read.instant) == Fraction((there - EPOCH) // timedelta(microseconds=1), 10**6)
    second = moment.second + Fraction(moment.microsecond, 10**6)
    assert fields_of(read) == (moment.year, moment.month, moment.day, moment.hour, moment.minute, second)
    assert MOMENTS["dateTime"](write_moment("dateTime", read)) == read


@given(st.sampled_from([*MOMENTS]), MOMENT)
def test_a_moment_that_is_written_is_read(kind: str, moment: Moment) -> None:
    """With its time zone and all digits; twice makes no difference."""
    lexical = write_moment(kind, moment)
    read = MOMENTS[kind](lexical)
    assert read is not None
    assert write_moment(kind, read) == lexical
    assert read.zone == moment.zone
    if kind == "dateTime":
        assert read == moment


@given(DURATION)
def test_a_duration_that_is_written_is_read(duration: Duration) -> None:
    """With its sign and all digits."""
    assert read_duration(write_duration(duration)) == duration


FORMS = """dateTime 2024-02-30T00:00:00 2024-05-01T24:00:01 2024-05-01T10:00 02024-05-01T10:00:00 2024-05-01
dateTime 2024-05-01T10:00:00+14:01 2024-05-01T10:00:00-15:00 +2024-05-01T10:00:00 2024-5-1T10:00:00
dateTime 2024-05-01T10:00:60 2024-05-01T10:00:00z 2024-05-01t10:00:00 1900-02-29T00:00:00
dateTimeStamp 2024-05-01T10:00:00
date 2024-05-01T00:00:00 2023-02-29 2024-13-01 2024-00-01 24-01-01
time 24:00:01 7:00:00 10:00 25:00:00 10:60:00
gYear 24 024 +2024 02024
gYearMonth 2024-13 2024
gMonthDay --02-30 --13-01 -02-29
gMonth --13 -12 --1
gDay ---32 ---00 --01
duration P PT P1 1D P1S PT1D P1DT P-1D P1.5D PT1.S PT.5S +P1D
yearMonthDuration P1D P1Y1D PT0S
dayTimeDuration P1Y P1M P1YT1S""".splitlines()


@pytest.mark.parametrize("line", FORMS)
def test_forms_of_no_value(line: str) -> None:
    """They are no moment and no duration."""
    kind, *lexicals = line.split()
    assert [lexical for lexical in lexicals if value_of(typed(lexical, kind)) is not None] == []


VALUES = {
    "dateTime": [
        ("2024-02-29T24:00:00Z", "2024-03-01T00:00:00Z"),
        ("2024-05-01T10:00:00.120Z", "2024-05-01T10:00:00.12+00:00"),
        ("-0001-12-31T24:00:00", "0000-01-01T00:00:00"),
        ("123456789012-01-01T00:00:00+02:00", "123456789011-12-31T22:00:00Z"),
    ],
    "date": [("2024-05-01Z", "2024-05-01+00:00"), ("2024-05-01+14:00", "2024-04-30-10:00")],
    "time": [("24:00:00", "00:00:00"), ("10:00:00.0Z", "11:00:00+01:00")],
    "duration": [("P1Y", "P12M"), ("PT36H", "P1DT12H"), ("-PT0S", "P0M")],
}


@pytest.mark.parametrize("kind", VALUES)
def test_forms_of_one_value(kind: str) -> None:
    """They are equal, and neither is less."""
    for pair in VALUES[kind]:
        one, other = (typed(lexical, kind) for lexical in pair)
        assert compare("=", one, other) is True, pair
        assert compare("<", one, other) is False


@example(Moment(0, None), Moment(14 * 3600, 0))
@example(Moment(0, None), Moment(14 * 3600 + 1, 0))
@example(Moment(0, None), Moment(Decimal("-50400.000000001"), 0))
@given(MOMENT, MOMENT)
def test_moments_without_a_time_zone_may_lie_14_hours_off(one: Moment, other: Moment) -> None:
    """Such a moment is before another one if it is so in every time zone, from +14:00 to -14:00."""
    hours = [None] if (one.zone is None) == (other.zone is None) else range(-14, 15)

    def instants(moment: Moment) -> list[Fraction]:
        exact = Fraction(moment.instant)
        return [exact if hour is None or moment.zone is not None else exact + 3600 * hour for hour in hours]

    signs = {(a > b) - (a < b) for a in instants(one) for b in instants(other)}
    assert moment_order(one, other) == (signs.pop() if len(signs) == 1 else None)
    assert moment_order(other, one) == (
        None if moment_order(one, other) is None else -moment_order(one, other)
    )  # type: ignore[operator]


def test_a_second_has_4300_digits_behind_the_point_at_most() -> None:
    """Exact arithmetic takes time by the square of their number."""
    digits = "1" * 4300
    for kind, form in (
        ("dateTime", "2024-01-01T00:00:00.{}Z"),
        ("time", "00:00:00.{}"),
        ("duration", "PT0.{}S"),
    ):
        assert value_of(typed(form.format(digits), kind)) is not None
        assert value_of(typed(form.format(digits + "1"), kind)) is None
    assert value_of(typed(f"PT{digits}.5S", "duration")) is not None
    assert value_of(typed(f"PT1{digits}.5S", "duration")) is None


def test_places_tell_the_order_of_moments() -> None:
    """In years of any size, where a double is hours or ages off, and with and without a time zone."""
    random = drawn_from("places of moments")
    for _ in range(rounds(4000)):
        begin = random.choice([1, -1]) * random.choice([0, 6 * 10**20, 6 * 10**20, 10**400])
        begin += random.randrange(2**18)
        end = begin + 3600 * random.randint(-16, 16)
        moments = [Moment(at, random.choice([None, 0])) for at in (begin, end)]
        check_places(*(typed(write_moment("dateTime", moment), "dateTime") for moment in moments))


@example(Duration(1, 0), Duration(0, 30 * 86_400))
@example(Duration(1, 0), Duration(0, 27 * 86_400))
@example(Duration(1, 0), Duration(0, 32 * 86_400))
@given(DURATION, DURATION)
def test_durations_have_the_order_of_four_months(one: Duration, other: Duration) -> None:
    """One is longer if it ends later from each of the moments that XML Schema names."""
    begins = ("1696-09-01T00:00:00Z", "1697-02-01T00:00:00Z", "1903-03-01T00:00:00Z", "1903-07-01T00:00:00Z")
    signs = set()
    for begin in begins:
        moment = MOMENTS["dateTime"](begin)
        assert moment is not None
        ends = [add("dateTime", moment, duration) for duration in (one, other)]
        assert ends[0] is not None
        assert ends[1] is not None
        signs.add(moment_order(ends[0], ends[1]))
    assert duration_order(one, other) == (signs.pop() if len(signs) == 1 else None)


@given(MOMENT, MOMENT)
def test_a_difference_leads_back(one: Moment, other: Moment) -> None:
    """What lies between two moments, added to the one, is the other."""
    span = difference("dateTime", one, other)
    if span is None:
        assert (one.zone is None) != (other.zone is None)
        return
    back = add("dateTime", other, span)
    assert back is not None
    assert back.instant == one.instant


@given(st.datetimes(), st.timedeltas(min_value=timedelta(-(10**5)), max_value=timedelta(10**5)))
def test_sums_are_those_of_python(moment: datetime, span: timedelta) -> None:
    """Seconds are added as Python does; a date forgets the time, and a time the days."""
    try:
        expected = moment + span
    except OverflowError:
        return
    seconds = Decimal(span // timedelta(microseconds=1)).scaleb(-6)
    duration = Duration(0, int(seconds) if seconds == int(seconds) else seconds)
    texts = {"dateTime": moment.isoformat(), "time": moment.time().isoformat()}
    for kind, text in texts.items():
        read = MOMENTS[kind](text)
        assert read is not None
        found = add(kind, read, duration)
        wanted = MOMENTS[kind]({"dateTime": expected.isoformat(), "time": expected.time().isoformat()}[kind])
        assert found == wanted


@pytest.mark.parametrize(
    ("kind", "begin", "duration", "end"),
    [
        ("date", "2024-01-31", "P1M", "2024-02-29"),
        ("date", "2023-01-31", "P1M", "2023-02-28"),
        ("date", "2024-03-31", "-P1M", "2024-02-29"),
        ("date", "2024-05-01", "PT23H", "2024-05-01"),
        ("date", "2024-05-01", "-PT1H", "2024-04-30"),
        ("dateTime", "-0001-12-31T23:00:00Z", "PT2H", "0000-01-01T01:00:00Z"),
        ("dateTime", "9999-12-31T23:59:59.999999999Z", "PT0.000000001S", "10000-01-01T00:00:00Z"),
        ("time", "23:00:00+01:00", "PT2H", "01:00:00+01:00"),
    ],
)
def test_sums_of_examples(kind: str, begin: str, duration: str, end: str) -> None:
    """Months keep the day where the month has it, and the time zone stays."""
    moment, span = MOMENTS[kind](begin), read_duration(duration)
    assert moment is not None
    assert span is not None
    found = add(kind, moment, span)
    assert found is not None
    assert (found, write_moment(kind, found)) == (MOMENTS[kind](end), end)


@given(DURATION, DURATION)
def test_durations_that_are_added_have_one_sign(one: Duration, other: Duration) -> None:
    """A sum of months and seconds of different signs is no duration."""
    found = total(one, other)
    months, seconds = one.months + other.months, Fraction(one.seconds) + Fraction(other.seconds)
    if months * seconds < 0:
        assert found is None
    else:
        assert found is not None
        assert (found.months, Fraction(found.seconds)) == (months, seconds)
