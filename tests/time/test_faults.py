"""A failure anywhere in the windows, at any line of them, while they report."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import rdflib
from rdflib import Namespace

import rdflive
from support.effort import HUNT
from support.failing import QUICK_STEPS, fail_at, file_of, lines

EX = Namespace("urn:example:")
STEP = 37
"""Every so many lines one is made to fail."""
RULE = f"{{ ?x <{EX.isIn}> ?y . ?y <{EX.isIn}> ?z }} => {{ ?x <{EX.isIn}> ?z }} ."
COMMIT = ("flush", "expire")
"""What of a view runs inside a commit; a failure before it is that of whoever adds or writes."""


class PlantedError(MemoryError):
    """The failure."""


def commits(frame: Any) -> bool:
    """Tell whether a frame is of the windows or their entailment, and part of a commit of a view."""
    if not any(f"/rdflive/{package}/" in file_of(frame) for package in ("time", "entail")):
        return False
    while frame is not None:
        if frame.f_code.co_name in COMMIT and file_of(frame).endswith("/rdflive/time/view.py"):
            return True
        frame = frame.f_back
    return False


def edge(start: str, end: str) -> tuple[Any, Any, Any]:
    return EX[start], EX.isIn, EX[end]


class Followed:
    """A subscription as a consumer follows it, for whom an initial delta replaces everything."""

    def __init__(self, stream: rdflive.Stream, window: Any, **options: Any) -> None:
        self.total: Counter[Any] = Counter()
        self.subscription = rdflive.subscribe(
            stream, f"SELECT * {{ ?x <{EX.isIn}> ?y }}", self._take, window=window, **options
        )

    def _take(self, delta: rdflive.Delta) -> None:
        if delta.initial:
            self.total.clear()
        for solution, weight in delta.weights().items():
            self.total[solution.x.removeprefix(EX), solution.y.removeprefix(EX)] += weight

    def state(self) -> set[Any]:
        found = {row for row, n in self.total.items() if n}
        assert found == {(s.x.removeprefix(EX), s.y.removeprefix(EX)) for s in self.subscription.answers()}
        return found


def run(options: dict[str, Any], window: Any, number: int | None) -> tuple[list[set[Any]], bool]:
    """Play a course with a failure at a line of the reports of one element; give what followed it."""
    graph = rdflib.Graph()
    graph.add(edge("e", "f"))
    stream = rdflive.Stream(graph)
    followed = [Followed(stream, window, **options), Followed(stream, rdflive.Sliding(6))]
    for at, (start, end) in enumerate(("ab", "bc", "cd")):
        stream.add(edge(start, end), at=at)

    def tick() -> None:
        stream.add([edge("d", "e"), edge("a", "c")], at=7)
        stream.remove(edge("b", "c"), at=8)
        graph.remove(edge("e", "f"))
        stream.advance_to(12)

    failed = True
    if number is None:
        tick()
    else:
        failed = fail_at(number, tick, PlantedError, within=commits)
    states: list[set[Any]] = []
    for at in (13, 15, 18, 60):
        if at < 60:
            stream.add(edge("c", "d"), at=at)
        stream.advance_to(at)
        states += [each.state() for each in followed]
    for each in followed:
        each.subscription.close()
    assert stream.timeline.groups == {}
    return states, failed


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keep what is logged, which is a lot, to itself."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    "window", [rdflive.Sliding(10), rdflive.Sliding(10, 3), rdflive.Tumbling(5)], ids=str
)
@pytest.mark.parametrize(
    "options",
    [{}, *({"rules": RULE, "expiry": e} for e in ("labels", "keep-all", "dred", "recompute"))],
    ids=lambda options: options.get("expiry", "plain"),
)
def test_failure_at_any_line_is_mended(options: dict[str, Any], window: Any) -> None:
    """The element stands, all have the right answers after the next report, and nothing stays behind."""
    expected, _ = run(options, window, None)
    assert expected[0]
    tried = 0
    step = STEP * (8 if options.get("expiry") == "recompute" else 1)
    for number in lines(step, options.get("expiry"), window):
        states, failed = run(options, window, number)
        if not failed:
            break
        tried += 1
        assert states == expected, number
    assert tried > (5 if HUNT else 5 // QUICK_STEPS - 1)
