"""Rounds in which clients are told: at once where that is cheap, else no more than a part of the time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from rdflive.sinks.events.follower import DeliveryPace


class Clock:
    """An event loop with a clock of its own: `spend` passes time inside a callback, `run` between them."""

    def __init__(self) -> None:
        self.now = 100.0
        self._calls: list[tuple[float, int, Callable[..., Any], tuple[Any, ...]]] = []
        self._count = 0

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[..., Any], *arguments: Any) -> None:
        self._count += 1
        self._calls.append((max(when, self.now), self._count, call, arguments))

    def call_soon(self, call: Callable[..., Any], *arguments: Any) -> None:
        self.call_at(self.now, call, *arguments)

    def spend(self, seconds: float) -> None:
        self.now += seconds

    def run(self) -> None:
        """Go on until nothing is planned."""
        while self._calls:
            call = min(self._calls, key=lambda planned: planned[:2])
            self._calls.remove(call)
            self.now = max(self.now, call[0])
            call[2](*call[3])


def rounds(clock: Clock, pace: DeliveryPace, cost: float, count: int) -> list[float]:
    """Ask again in each round, and give when the rounds began."""
    begun: list[float] = []

    def wake() -> None:
        begun.append(clock.now)
        clock.spend(cost)
        if len(begun) < count:
            pace.ask(wake)

    pace.ask(wake)
    clock.run()
    return begun


@pytest.mark.parametrize(("cost", "between"), [(0.0, 0.0), (0.1, 0.4), (0.2, 0.8), (2.0, 3.0)])
def test_rounds_take_a_quarter_of_the_time(cost: float, between: float) -> None:
    """The next round comes three times as long after the last as that took, and at most a second."""
    clock: Any = Clock()
    begun = rounds(clock, DeliveryPace(clock), cost, 4)
    assert [later - earlier for earlier, later in pairwise(begun)] == pytest.approx([between] * 3)


def test_a_function_is_called_once_in_a_round() -> None:
    """Asking twice before the round is asking once; asking in the round is asking for the next."""
    clock: Any = Clock()
    pace = DeliveryPace(clock)
    called: list[str] = []

    def again() -> None:
        called.append("again")
        if called.count("again") == 1:
            pace.ask(again)

    def once() -> None:
        called.append("once")

    for wake in (again, once, again, once):
        pace.ask(wake)
    clock.run()
    assert called == ["again", "once", "again"]


def test_the_first_round_after_a_pause_comes_at_once() -> None:
    """No round waits for the share of long-past rounds."""
    clock: Any = Clock()
    pace = DeliveryPace(clock)
    rounds(clock, pace, 0.3, 1)
    clock.spend(10.0)
    asked = clock.now
    assert rounds(clock, pace, 0.0, 1) == [asked]
