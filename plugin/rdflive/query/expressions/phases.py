"""The phases of the truth of comparisons with NOW().

The truth of `?t > NOW() - "P1D"^^xsd:dayTimeDuration` for one row is a step function of the clock: true while
NOW() is before ?t + 1 day, then false. These steps are the *phases* of the row. So a filter is tested again
only at the steps.

Instants are whole nanoseconds since 1970 (UTC), as clocks return them, or fractions of one, as literals may
have.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor
from typing import Final, NamedTuple, TypeAlias

from rdflib.namespace import XSD
from rdflib.term import Literal, Node

from rdflive.query.expressions.expression import TURNED
from rdflive.values import Seconds, compare, value_of
from rdflive.values.calendar import months_later
from rdflive.values.moments import FOURTEEN_HOURS, REFERENCES

__all__ = ["UNTIL", "Move", "Phases", "Shift", "Timestamp", "phases_of", "to_move"]

UNTIL: Final = "until"
"""The sign of a time from which NOW() is subtracted."""

Truth: TypeAlias = bool | None
"""None is an error."""
Phases: TypeAlias = tuple[Truth, tuple[tuple[int, Truth], ...]]
"""The first truth, and the instants at which it changes, in order, each with the new truth."""
Instant: TypeAlias = int | Fraction

_ORDERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
_SECOND: Final = 10**9
_DAY: Final = 86_400 * _SECOND
_OPEN: Final = FOURTEEN_HOURS * _SECOND
_NEAR: Final = 5
"""Most days by which a shift by months may differ from another: three for short months, and one on either
side.
"""
_REFERENCES: Final = tuple(day * _DAY for day in REFERENCES)
"""The instants to which durations are added to compare them."""
_SOME_TIME: Final = Literal("2000-01-01T00:00:00Z", datatype=XSD.dateTime)
_SOME_DURATION: Final = Literal("P1D", datatype=XSD.dayTimeDuration)
_SOME_LOCAL_TIME: Final = Literal("2000-01-01T00:00:00", datatype=XSD.dateTime)
_UNDETERMINED: Final = {op: compare(op, _SOME_LOCAL_TIME, _SOME_TIME) for op in _ORDERS}
"""The result of a comparison if the order is indeterminate, as for two times of which one lacks a zone."""


class Timestamp(NamedTuple):
    """An xsd:dateTime: its instant, or that of its fields in UTC if it has no time zone."""

    instant: Instant
    is_zoned: bool


class Until(NamedTuple):
    """A time from which NOW() is subtracted."""

    moment: Timestamp


class Shift(NamedTuple):
    """A duration that is added to an instant: calendar months first, then a length of time."""

    months: int
    length: Instant


def to_timestamp(term: Node) -> Timestamp | None:
    """Read an xsd:dateTime; None for any other term."""
    value = value_of(term) if isinstance(term, Literal) else None
    if value is None or value[0] != "dateTime":
        return None
    return Timestamp(_nanoseconds(value[1].instant), value[1].zone is not None)


def _nanoseconds(seconds: Seconds) -> Instant:
    if isinstance(seconds, int):
        return seconds * _SECOND
    exact = Fraction(seconds) * _SECOND
    return exact if exact.denominator > 1 else exact.numerator


def to_shift(sign: str, term: Node | None) -> Shift | None:
    """Read a duration that is added or subtracted; None for any other term."""
    value = value_of(term) if isinstance(term, Literal) else None
    if value is None or value[0] != "duration":
        return None
    months, length = value[1].months, _nanoseconds(value[1].seconds)
    return Shift(months, length) if sign == "+" else Shift(-months, -length)


Move: TypeAlias = "Shift | Timestamp | Until | None"
"""A duration added to NOW(), a time subtracted from it, or a time minus NOW(); None for other terms."""


def to_move(sign: str, term: Node | None) -> Move:
    """Read a term that is added to NOW() or subtracted from it."""
    if term is None:
        return None
    if sign == UNTIL:
        end = to_timestamp(term)
        return None if end is None else Until(end)
    shift = to_shift(sign, term)
    # two times have no sum
    return to_timestamp(term) if shift is None and sign == "-" else shift


def phases_of(op: str, value: Node, moves: Sequence[Move]) -> Phases:
    """Return the phases of the comparison of a value with NOW() after some moves."""
    holds, undetermined = _ORDERS[op], _UNDETERMINED[op]
    shifts: list[Shift] = []
    for place, move in enumerate(moves):
        if isinstance(move, Timestamp):
            return _phases_of_age(op, value, shifts, move, moves[place + 1 :])
        if isinstance(move, Until):
            return _phases_of_age(op, value, [], move.moment, (), is_left=True)
        if move is None:
            return None, ()
        shifts.append(move)
    moment = to_timestamp(value)
    if moment is None:  # not a time, so any time has the same result
        return compare(op, value, _SOME_TIME), ()
    instant, is_zoned = moment

    def truth(now: Instant) -> Truth:
        distance = instant - now
        if not is_zoned and -_OPEN <= distance <= _OPEN:
            return undetermined
        return holds((distance > 0) - (distance < 0), 0)

    edges = {instant} if is_zoned else {instant - _OPEN, instant + _OPEN}
    return _stepped(truth, edges, shifts)


def _phases_of_age(
    op: str,
    value: Node,
    shifts: Sequence[Shift],
    since: Timestamp,
    more: Sequence[Move],
    *,
    is_left: bool = False,
) -> Phases:
    """Return the phases of comparing a duration with NOW() - since, plus durations; or, with `is_left`, with
    since - NOW().
    """
    added = [move for move in more if isinstance(move, Shift)]
    if not since.is_zoned or len(added) < len(more):
        return None, ()
    # the remaining time is the negative age, and so is its order
    wanted = to_shift("-" if is_left else "+", value)
    if wanted is None:
        return compare(op, value, _SOME_DURATION), ()
    holds, undetermined = _ORDERS[TURNED[op] if is_left else op], _UNDETERMINED[op]
    sums = list(accumulate(added, _sum, initial=Shift(0, -since.instant)))
    months, length = sums[-1]
    # with equal months, the longer rest is longer from any start
    references = _REFERENCES if months != wanted.months else _REFERENCES[:1]
    begins = [_add(begin, wanted) for begin in references]

    def truth(now: Instant) -> Truth:
        # an age of months and a rest with different signs is no duration
        if any(part.months * (part.length + now) < 0 for part in sums):
            return None
        ends = [_add(begin, Shift(months, length + now)) for begin in references]
        orders = {(begin > end) - (begin < end) for begin, end in zip(begins, ends, strict=True)}
        return holds(orders.pop(), 0) if len(orders) == 1 else undetermined

    edges = {-part.length for part in sums if part.months}
    edges |= {
        begin - _add(reference, Shift(months, length))
        for begin, reference in zip(begins, references, strict=True)
    }
    return _stepped(truth, edges, shifts)


def _sum(one: Shift, other: Shift) -> Shift:
    return Shift(one.months + other.months, one.length + other.length)


def _stepped(truth: Callable[[Instant], Truth], edges: set[Instant], shifts: Sequence[Shift]) -> Phases:
    """Return the phases of a function of shifted NOW() that changes at some edges."""

    def shifted(now: int) -> Truth:
        moved: Instant = now
        for shift in shifts:
            moved = _add(moved, shift)
        return truth(moved)

    for shift in reversed(shifts):
        edges = {before for edge in edges for before in _before(edge, shift)}
    # the first nanosecond that is not before an edge, and the first after it
    steps = sorted({step for edge in edges for step in (ceil(edge), floor(edge) + 1)})
    first = last = shifted(steps[0] - 1)
    found = []
    for step in steps:
        now = shifted(step)
        if now is not last:
            found.append((step, now))
            last = now
    return first, tuple(found)


def _before(edge: Instant, shift: Shift) -> Iterator[Instant]:
    """List the instants that a shift moves to another one, and those at which it jumps near there.

    A shift by months moves all days from 28 to 31 March to 28 February, so it jumps back at each midnight.
    """
    edge -= shift.length
    if not shift.months:
        yield edge
        return
    day, rest = _in_days(_add(edge, Shift(-shift.months, 0)))
    for near in range(day - _NEAR, day + _NEAR + 1):
        yield near * _DAY
        yield near * _DAY + rest


def _add(instant: Instant, shift: Shift) -> Instant:
    if not shift.months:
        return instant + shift.length
    day, rest = _in_days(instant)
    return months_later(day, shift.months) * _DAY + rest + shift.length


def _in_days(instant: Instant) -> tuple[int, Instant]:
    """Divide an instant into whole days and the rest."""
    day = floor(Fraction(instant) / _DAY)
    return day, instant - day * _DAY
