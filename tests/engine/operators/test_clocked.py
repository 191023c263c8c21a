"""Clocked: what it lets through as the present moves, and what it keeps."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.engine.operators import ClockedOperator
from rdflive.engine.present import Present
from support.effort import drawn_from, rounds


class Clockwork:
    """A clock that shows what it is told to, and counts how often it is woken."""

    shown = 0
    woken = 0

    def read(self) -> int:
        return self.shown

    def wake(self) -> None:
        self.woken += 1

    def catch_up(self) -> None:
        """Nothing commits here."""

    def stop(self) -> None:
        """There is no timer."""


def phases(row: tuple[int, ...]) -> Any:
    """True from 10 times the row's first id until an error 3 later, false another 4 later."""
    (begin, *_) = row
    return (False, ((10 * begin, True), (10 * begin + 3, None), (10 * begin + 7, False)))


@pytest.fixture
def present() -> Present:
    return Present(0, Clockwork())


@pytest.fixture
def dictionary() -> Dictionary:
    made = Dictionary()
    for number in range(1, 9):
        made.intern(f"term {number}")
    return made


def test_rows_pass_while_it_is_true(present: Present, dictionary: Dictionary) -> None:
    """A row comes with the instant of its phase, and goes with the next, with its weight."""
    clocked = ClockedOperator(dictionary, phases, present)
    assert clocked.update({(1,): 2, (2,): 1}) == {}
    assert clocked.due == 10
    present.now = 10
    assert clocked.update({}) == {(1,): 2}
    present.now = 12
    assert clocked.update({(1,): -1}) == {(1,): -1}
    present.now = 13
    assert clocked.update({}) == {(1,): -1}
    present.now = 40  # all that (2,) was meanwhile is not told
    assert clocked.update({}) == {}
    assert (clocked.due, clocked.containers()) == (None, [])


def test_marks_are_false_true_and_unbound(present: Present, dictionary: Dictionary) -> None:
    """Every row is there, and its mark changes with time."""
    clocked = ClockedOperator(dictionary, phases, present, (7, 8))
    assert clocked.update({(1,): 1}) == {(1, 7): 1}
    for now, mark, before in ((10, 8, 7), (13, UNBOUND, 8), (17, 7, UNBOUND)):
        present.now = now
        assert clocked.update({}) == {(1, before): -1, (1, mark): 1}
    assert clocked.update({(1,): -1}) == {(1, 7): -1}
    clocked.clear()


def test_a_row_may_go_as_its_time_comes(present: Present, dictionary: Dictionary) -> None:
    """What time and a write change in one step is told as what it comes to."""
    clocked = ClockedOperator(dictionary, phases, present)
    clocked.update({(1,): 1, (2,): 1})
    present.now = 10
    assert clocked.update({(1,): -1}) == {}
    assert clocked.due == 20
    present.now = 20
    assert clocked.update({(2,): 1}) == {(2,): 2}


def test_rows_of_one_instant_are_told_apart(present: Present, dictionary: Dictionary) -> None:
    """Of several that change at once each may go by itself; the last leaves nothing."""
    clocked = ClockedOperator(dictionary, phases, present)
    rows = [(1, 3), (1, 4), (1, 5)]
    clocked.update(dict.fromkeys(rows, 1))
    assert sum(map(len, clocked.containers())) == 4
    for row in rows[:2]:
        clocked.update({row: -1})
    present.now = 10
    assert clocked.update({}) == {(1, 5): 1}
    clocked.update({(1, 5): -1})
    assert (clocked.due, clocked.containers()) == (None, [])


def test_it_adds_up_to_what_each_row_is(dictionary: Dictionary) -> None:
    """Whatever comes, goes and passes, the output is that of the rows at the present; at the end empty."""
    random = drawn_from("clocked")
    for _ in range(rounds(200)):
        present = Present(0, Clockwork())
        clocked = ClockedOperator(dictionary, phases, present, random.choice([None, (7, 8)]))
        held: Counter[Any] = Counter()
        told: Counter[Any] = Counter()
        for _ in range(30):
            present.now += random.choice([0, 0, 1, 4, 12])
            row = (random.randrange(1, 6), random.randrange(1, 3))
            weight = random.choice([1, 2, -held[row]]) if held[row] else 1
            change = {row: weight} if random.random() < 0.7 else {}
            held.update(change)
            told.update(clocked.update(change))
            assert +told == expected(held, present.now, clocked)
            assert min(told.values(), default=0) >= 0
        told.update(clocked.update({row: -weight for row, weight in held.items() if weight}))
        assert (+told, clocked.due) == ({}, None)
        clocked.clear()
    dictionary.sweep()
    assert len(dictionary) == 0


def expected(held: Counter[Any], now: int, clocked: ClockedOperator) -> Counter[Any]:
    """Give the output for some rows at an instant."""
    rows: Counter[Any] = Counter()
    for row, weight in held.items():
        truth, later = phases(row)
        truth = [truth, *(then for at, then in later if at <= now)][-1]
        if clocked._marks:
            rows[*row, UNBOUND if truth is None else (7, 8)[truth]] += weight
        elif truth:
            rows[row] += weight
    return +rows


def test_the_present_knows_the_first_change_of_all() -> None:
    """It wakes its clock where a change comes sooner, moves to what the clock shows, and never back."""
    clockwork = Clockwork()
    present = Present(0, clockwork)
    for query, due in (("a", 20), ("b", 10), ("b", 30), ("c", 40), ("c", None)):
        present.note(query, due)
    assert (present.due, clockwork.woken) == (20, 2)
    clockwork.shown = 5
    assert (present.is_behind(), present.now) == (False, 5)
    clockwork.shown = 35
    assert (present.is_behind(), present.now) == (True, 5)
    assert (present.move(), present.now) == (["a", "b"], 35)
    clockwork.shown = 1
    present.note("a", None)
    present.note("b", None)
    assert (present.is_behind(), present.now) == (False, 35)
    assert (present.move(), present.now) == ([], 35)
