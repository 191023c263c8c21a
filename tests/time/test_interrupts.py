"""Ctrl-C at any line of the windows while an element is taken, and deltas that cannot be made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from rdflib import Namespace

import rdflive
from support.effort import HUNT
from support.failing import QUICK_STEPS, fail_at, file_of, lines

EX = Namespace("urn:example:")
QUERY = f"SELECT * {{ ?x <{EX.p}> ?y }}"
STEP = 23
"""Every so many lines one is interrupted."""
PLACES = ("/rdflive/time/", "/rdflive/engine/store_state.py")
WINDOWS = (rdflive.Sliding(8), rdflive.Sliding(6, 2), rdflive.Count(5), rdflive.Count(6, of="triples"))


def inside(frame: Any) -> bool:
    """Tell whether a frame is of the windows, or of what hands their changes on."""
    file = file_of(frame)
    return any(place in file for place in PLACES)


def triple(x: str, y: str) -> tuple[Any, Any, Any]:
    return EX[x], EX.p, EX[y]


class Followed:
    """A subscription as a consumer follows it, for whom an initial delta replaces everything."""

    def __init__(self, stream: rdflive.Stream, window: Any) -> None:
        self.total: Counter[Any] = Counter()
        self.deltas: list[rdflive.Delta] = []
        self.subscription = rdflive.subscribe(stream, QUERY, self._take, window=window)

    def _take(self, delta: rdflive.Delta) -> None:
        self.deltas.append(delta)
        if delta.initial:
            self.total.clear()
        for solution, weight in delta.weights().items():
            self.total[solution] += weight

    def state(self) -> frozenset[tuple[str, str]]:
        found = frozenset(solution for solution, weight in self.total.items() if weight)
        assert found == set(self.subscription.answers())
        return frozenset((s.x.removeprefix(EX), s.y.removeprefix(EX)) for s in found)


def run(act: str, number: int | None) -> tuple[list[Any], bool]:
    """Play a course in which one act is interrupted, or left out with 0; give the states that follow it."""
    stream = rdflive.Stream(lateness=2)
    followed = [Followed(stream, window) for window in WINDOWS]
    for at, (x, y) in enumerate(("ab", "cd", "ef", "gh")):
        stream.add(triple(x, y), at=at)
    acts: dict[str, Callable[[], object]] = {
        "add": lambda: stream.add([triple("a", "b"), triple("i", "j")], at=9),
        "remove": lambda: stream.remove([triple("c", "d"), triple("g", "h")], at=4),
    }
    failed = fail_at(number, acts[act], KeyboardInterrupt, within=inside) if number else number is not None
    if number is None:
        acts[act]()
    states = []
    for at in (9, 10, 12, 15, 17, 30):
        stream.add(triple("k", str(at)), at=at)
        stream.advance_to(at)
        states.append([each.state() for each in followed])
    for each in followed:
        each.subscription.close()
    assert stream.timeline.groups == {}
    return states, failed


@pytest.mark.parametrize("act", ["add", "remove"])
def test_interrupted_elements_are_in_or_not(act: str) -> None:
    """After the next report all windows are as with the element, counted once, or all as without it."""
    taken, left_out = run(act, None)[0], run(act, 0)[0]
    assert taken != left_out
    outcomes = []
    for number in lines(STEP, act):
        states, failed = run(act, number)
        if not failed:
            break
        assert states[1:] in (taken[1:], left_out[1:]), number
        outcomes.append(states == taken)
    assert sum(outcomes) > (20 if HUNT else 20 // QUICK_STEPS - 2)


def test_deltas_that_cannot_be_made_harm_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """The element is taken, others get their deltas, and who missed one gets an initial delta."""
    stream = rdflive.Stream()
    bad, good = (Followed(stream, rdflive.Sliding(size)) for size in (10, 8))
    stream.add(triple("a", "b"), at=1)

    def fail(*_: Any, **__: Any) -> Any:
        raise MemoryError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bad.subscription._maker, "make", fail)
        stream.add(triple("c", "d"), at=2)
    assert "could not be made" in caplog.text
    assert len(good.state()) == 2
    stream.add(triple("e", "f"), at=3)
    assert bad.deltas[-2].initial
    assert not good.deltas[-1].initial
    assert len(bad.state()) == len(good.state()) == 3
    bad.subscription.close()
    good.subscription.close()
