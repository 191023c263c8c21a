"""When comparisons with NOW() change: at which instants, and to what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from rdflib import XSD, Literal
from rdflib.term import Node

from rdflive.query.expressions import ClockComparison, Expression, clock_parts, read_comparison
from rdflive.values import compare
from support.effort import drawn_from, rounds
from support.expressions import Numbers, node, row

HOUR = 3600 * 10**9
DAY = 24 * HOUR
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def comparison(text: str) -> ClockComparison:
    """Read the one comparison with NOW() in an expression."""
    (part,) = clock_parts(node(text))
    value, operator, shifts = read_comparison(part)
    return ClockComparison(Expression(value), operator, tuple((sign, Expression(s)) for sign, s in shifts))


def phases(text: str, **bindings: Node | None) -> Any:
    """Give the phases of a row of these bindings."""
    terms = Numbers()
    columns, ids = row(terms, bindings)
    return comparison(text).phases(columns, terms)(ids)


def at(text: str) -> Literal:
    return Literal(text, datatype=XSD.dateTime)


BOUNDS = [
    ("?t > NOW()", (True, ((DAY, False),))),
    ("?t >= NOW()", (True, ((DAY + 1, False),))),
    ("?t < NOW()", (False, ((DAY + 1, True),))),
    ("?t <= NOW()", (False, ((DAY, True),))),
    ("?t = NOW()", (False, ((DAY, True), (DAY + 1, False)))),
    ("?t != NOW()", (True, ((DAY, False), (DAY + 1, True)))),
    ("NOW() < ?t", (True, ((DAY, False),))),
    ("NOW() >= ?t", (False, ((DAY, True),))),
    ('?t > NOW() - "PT1H"^^xsd:dayTimeDuration', (True, ((DAY + HOUR, False),))),
    ('?t > NOW() + "PT1H"^^xsd:dayTimeDuration', (True, ((DAY - HOUR, False),))),
    ('?t + "PT1H"^^xsd:dayTimeDuration > NOW()', (True, ((DAY + HOUR, False),))),
    ('?t > NOW() - "P1D"^^xsd:dayTimeDuration + "PT23H"^^xsd:duration', (True, ((DAY + HOUR, False),))),
    ("?t > NOW() - ?d", (True, ((DAY + 2 * HOUR, False),))),
    ('?t < NOW() - "P1M"^^xsd:yearMonthDuration', (False, ((32 * DAY + 1, True),))),
    ("NOW() - ?t > ?d", (False, ((DAY + 2 * HOUR + 1, True),))),
    ('NOW() - ?t + "PT1H"^^xsd:dayTimeDuration >= ?d', (False, ((DAY + HOUR, True),))),
    (
        'NOW() - "PT1H"^^xsd:dayTimeDuration - ?t = ?d',
        (False, ((DAY + 3 * HOUR, True), (DAY + 3 * HOUR + 1, False))),
    ),
    ("?t - NOW() < ?d", (False, ((DAY - 2 * HOUR + 1, True),))),
    ('?t + "PT1H"^^xsd:dayTimeDuration - NOW() >= ?d', (True, ((DAY - HOUR + 1, False),))),
    ("?d = ?t - NOW()", (False, ((DAY - 2 * HOUR, True), (DAY - 2 * HOUR + 1, False)))),
    # a month has 28 to 31 days: between them the order is open
    (
        'NOW() - ?t < "P1MT2H"^^xsd:duration',
        (True, ((29 * DAY + 2 * HOUR, None), (32 * DAY + 2 * HOUR + 1, False))),
    ),
    ('NOW() - ?t = "P1MT2H"^^xsd:duration', (False, ())),
    # a month and a negative rest are no duration
    (
        'NOW() - ?t + "P1M"^^xsd:yearMonthDuration <= "P1MT2H"^^xsd:duration',
        (None, ((DAY, True), (DAY + 2 * HOUR + 1, False))),
    ),
    ('NOW() - ?t < "long"', (None, ())),
]


@pytest.mark.parametrize(("text", "expected"), BOUNDS, ids=[text for text, _ in BOUNDS])
def test_bounds_are_exact(text: str, expected: Any) -> None:
    """The truth changes at the instant itself, or a nanosecond after it, as the operator says."""
    assert (
        phases(text, t=at("1970-01-02T00:00:00Z"), d=Literal("PT2H", datatype=XSD.dayTimeDuration))
        == expected
    )


def test_a_time_zone_is_heeded() -> None:
    """01:00 at +01:00 is midnight in UTC."""
    assert phases("?t > NOW()", t=at("1970-01-02T01:00:00+01:00")) == (True, ((DAY, False),))


def test_without_a_time_zone_the_order_is_open_for_28_hours() -> None:
    """It is an error from 14 hours before to 14 hours after, both included; equality is false there."""
    first, behind = DAY - 14 * HOUR, DAY + 14 * HOUR + 1
    local = at("1970-01-02T00:00:00")
    assert phases("?t > NOW()", t=local) == (True, ((first, None), (behind, False)))
    assert phases("?t <= NOW()", t=local) == (False, ((first, None), (behind, True)))
    assert phases("?t = NOW()", t=local) == (False, ())
    assert phases("?t != NOW()", t=local) == (True, ())


@pytest.mark.parametrize(
    ("text", "value", "truth"),
    [
        ("?t > NOW()", None, None),
        ("?t > NOW()", Literal("1970-01-02", datatype=XSD.date), None),
        ("?t = NOW()", Literal("1970-01-02", datatype=XSD.date), False),
        ("?t != NOW()", Literal(3), True),
        ("?t > NOW()", at("1970-02-30T00:00:00Z"), None),
        ("?t > NOW() - ?d", at("1970-01-02T00:00:00Z"), None),
        ("1 / 0 > NOW()", None, None),
    ],
)
def test_what_is_no_time_never_changes(text: str, value: Node | None, truth: bool | None) -> None:
    """No instant makes a difference to an error, or to a value of another kind."""
    assert phases(text, t=value, d=Literal("long")) == (truth, ())


def test_months_go_by_the_calendar() -> None:
    """The days from 28 to 31 March are a month after 28 February, so a time on that day changes often."""
    text = '?t > NOW() - "P1M"^^xsd:yearMonthDuration'
    first, later = phases(text, t=at("1970-02-28T12:00:00Z"))
    days = [(datetime(1970, 3, 28, 12, tzinfo=UTC) - EPOCH).days + n for n in range(4)]
    expected = [(days[0] * DAY + 12 * HOUR, False)]
    for day in days[1:]:
        expected += [(day * DAY, True), (day * DAY + 12 * HOUR, False)]
    assert (first, later) == (True, tuple(expected))


@pytest.mark.parametrize("years", [0, 400, -400, 4000])
def test_months_of_any_year(years: int) -> None:
    """The calendar repeats every 400 years."""
    from rdflive.query.expressions.phases import Shift, _add

    far = years // 400 * 146_097 * DAY
    start = (datetime(2024, 1, 31, tzinfo=UTC) - EPOCH).days * DAY
    end = (datetime(2024, 2, 29, tzinfo=UTC) - EPOCH).days * DAY
    assert _add(start + far, Shift(1, 5)) == end + far + 5


MOVES = [
    "",
    ' - "P1M"^^xsd:yearMonthDuration',
    ' + "P1M"^^xsd:yearMonthDuration',
    ' - "P11M"^^xsd:yearMonthDuration + "P1D"^^xsd:dayTimeDuration',
    ' + "P1M"^^xsd:yearMonthDuration - "P1M"^^xsd:yearMonthDuration',
    ' - "P1Y1M3DT4H"^^xsd:duration',
    ' - "2024-01-03T01:30:00Z"^^xsd:dateTime',
    ' - "2024-01-03T01:30:00"^^xsd:dateTime',
    ' - "P1D"^^xsd:dayTimeDuration - "2023-12-03T01:30:00+01:00"^^xsd:dateTime',
]


@pytest.mark.parametrize("move", MOVES)
def test_phases_are_what_evaluation_says(move: str) -> None:
    """At the changes, at other hours, and a microsecond off, a comparison is what its phase says."""
    random = drawn_from("phases", move)
    for _ in range(rounds(16)):
        operator = random.choice(["<", "<=", ">", ">=", "=", "!="])
        moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=random.randrange(24 * 366))
        zone = random.choice(["Z", "", "+05:00"])
        text, value = f"?t {operator} NOW(){move}", at(f"{moment:%Y-%m-%dT%H:%M:%S}{zone}")
        if "dateTime" in move:  # an age, which is a duration
            value = Literal(f"P{random.randrange(400)}DT1H", datatype=XSD.duration)
        truth, later = phases(text, t=value)
        steps = [(-(10**30), truth), *later]
        assert all(one[1] is not other[1] for one, other in pairwise(steps))
        terms = Numbers()
        columns, ids = row(terms, {})
        hours = [_near(moment, move) + timedelta(hours=random.randrange(-480, 480)) for _ in range(40)]
        changes = [EPOCH + timedelta(microseconds=step // 1000) for step, _ in later]
        for now in (near + timedelta(microseconds=off) for near in hours + changes for off in (-1, 0, 1)):
            moved = Expression(node(f'"{now.isoformat()}"^^xsd:dateTime{move}')).term(columns, terms)(ids)
            instant = (now - EPOCH) // timedelta(microseconds=1) * 1000
            expected = [truth for begin, truth in steps if begin <= instant][-1]
            assert (moved and compare(operator, value, moved)) is expected, (text, value, now)


def _near(moment: datetime, move: str) -> datetime:
    """Give the time that a move takes near a moment."""
    months = {"-": 1, "+": -1}[move[1]] if move else 0
    months *= 11 if "P11M" in move else 13 if "P1Y1M" in move else 0 if move.count("P1M") > 1 else 1
    return moment + timedelta(days=30 * months)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("?t > NOW() && !(NOW() < ?u)", ["?t > NOW()", "?u > NOW()"]),
        ("IF(?t < NOW() - ?d, 1, 2)", ["?t < NOW() - ?d"]),
        ("(?t > NOW()) = true", ["?t > NOW()"]),
        ("NOW() - ?t > ?d", ["?d < NOW() - ?t"]),
        ("?t - NOW() > ?d", ["?d < ?t - NOW()"]),
        ("?t - ?d - NOW() > ?e", ["?e < (?t - ?d) - NOW()"]),
        ("?t - NOW() - ?e > ?d", []),
        ("NOW() > NOW()", []),
        ("YEAR(NOW()) = 2026", []),
        ("?t IN (NOW())", []),
        ("?t > ?d + NOW()", []),
        ("EXISTS { ?s ?p ?o FILTER(?o > NOW()) }", []),
    ],
)
def test_comparisons_are_found_in_expressions(text: str, parts: list[str]) -> None:
    """A comparison is with NOW() alone or moved; NOW() anywhere else is none."""
    found = [read_comparison(part) for part in clock_parts(node(text))]
    texts = [
        ClockComparison(Expression(v), op, tuple((s, Expression(e)) for s, e in shifts)).text
        for v, op, shifts in found
    ]
    assert texts == parts
