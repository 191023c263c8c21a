"""A failure at any line of the windows while they report, and Ctrl-C while they take an element."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest
import rdflib
from rdflib import Namespace

import rdflive
from support.effort import HUNT
from support.failing import QUICK_STEPS, fail_at, file_of, lines

EX = Namespace("urn:example:")
QUERY = f"SELECT * {{ ?x <{EX.isIn}> ?y }}"
RULE = f"{{ ?x <{EX.isIn}> ?y . ?y <{EX.isIn}> ?z }} => {{ ?x <{EX.isIn}> ?z }} ."
STEPS = {"reports": 37, "elements": 23}
"""Every so many lines one is made to fail."""
COMMIT = ("flush", "expire")
"""What of a view runs inside a commit; a failure before it is that of the caller who adds or writes."""
WINDOWS = (rdflive.Sliding(8), rdflive.Sliding(6, 2), rdflive.Count(5), rdflive.Count(6, of="triples"))
State = frozenset[tuple[str, str]]


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


def takes(frame: Any) -> bool:
    """Tell whether a frame is of the windows, or of what hands their changes on."""
    return any(place in file_of(frame) for place in ("/rdflive/time/", "/rdflive/engine/store_state.py"))


def edge(start: str, end: str) -> tuple[Any, Any, Any]:
    return EX[start], EX.isIn, EX[end]


class Followed:
    """A subscription as a consumer follows it, for whom an initial delta replaces everything."""

    def __init__(self, stream: rdflive.Stream, window: Any, **options: Any) -> None:
        self.total: Counter[Any] = Counter()
        self.deltas: list[rdflive.Delta] = []
        self.subscription = rdflive.subscribe(stream, QUERY, self._take, window=window, **options)

    def _take(self, delta: rdflive.Delta) -> None:
        self.deltas.append(delta)
        if delta.initial:
            self.total.clear()
        for solution, weight in delta.weights().items():
            self.total[solution] += weight

    def state(self) -> State:
        found = frozenset(solution for solution, weight in self.total.items() if weight)
        assert found == set(self.subscription.answers())
        return frozenset((s.x.removeprefix(EX), s.y.removeprefix(EX)) for s in found)


def finish(
    stream: rdflive.Stream, followed: Sequence[Followed], course: Iterable[tuple[int, Any]]
) -> list[list[State]]:
    """Go on with the elements of some instants; give the states at each, and find nothing left at last."""
    states = []
    for at, element in course:
        stream.add(element, at=at)
        stream.advance_to(at)
        states.append([each.state() for each in followed])
    for each in followed:
        each.subscription.close()
    assert stream.timeline.groups == {}
    return states


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep what is logged, which is a lot, to itself."""
    if "caplog" not in request.fixturenames:
        logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def report(options: dict[str, Any], window: Any, number: int | None) -> tuple[list[list[State]], bool]:
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
    return finish(stream, followed, [*((at, edge("c", "d")) for at in (13, 15, 18)), (60, [])]), failed


@pytest.mark.sampled(by="window")
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
    expected, _ = report(options, window, None)
    assert expected[0][0]
    tried = 0
    step = STEPS["reports"] * (8 if options.get("expiry") == "recompute" else 1)
    for number in lines(step, options.get("expiry"), window):
        states, failed = report(options, window, number)
        if not failed:
            break
        tried += 1
        assert states == expected, number
    assert tried > (5 if HUNT else 5 // QUICK_STEPS - 1)


def take(act: str, number: int | None) -> tuple[list[list[State]], bool]:
    """Play a course in which one act is interrupted, or left out with 0; give the states that follow it."""
    stream = rdflive.Stream(lateness=2)
    followed = [Followed(stream, window) for window in WINDOWS]
    for at, (x, y) in enumerate(("ab", "cd", "ef", "gh")):
        stream.add(edge(x, y), at=at)
    acts: dict[str, Callable[[], object]] = {
        "add": lambda: stream.add([edge("a", "b"), edge("i", "j")], at=9),
        "remove": lambda: stream.remove([edge("c", "d"), edge("g", "h")], at=4),
    }
    failed = fail_at(number, acts[act], KeyboardInterrupt, within=takes) if number else number is not None
    if number is None:
        acts[act]()
    return finish(stream, followed, [(at, edge("k", str(at))) for at in (9, 10, 12, 15, 17, 30)]), failed


@pytest.mark.parametrize("act", ["add", "remove"])
def test_interrupted_elements_are_in_or_not(act: str) -> None:
    """After the next report all windows are as with the element, counted once, or all as without it."""
    taken, left_out = take(act, None)[0], take(act, 0)[0]
    assert taken != left_out
    outcomes = []
    for number in lines(STEPS["elements"], act):
        states, failed = take(act, number)
        if not failed:
            break
        assert states[1:] in (taken[1:], left_out[1:]), number
        outcomes.append(states == taken)
    assert sum(outcomes) > (20 if HUNT else 20 // QUICK_STEPS - 2)


def test_deltas_that_cannot_be_made_harm_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """The element is taken, others get their deltas, and who missed one gets an initial delta."""
    stream = rdflive.Stream()
    bad, good = (Followed(stream, rdflive.Sliding(size)) for size in (10, 8))
    stream.add(edge("a", "b"), at=1)

    def fail(*_: Any, **__: Any) -> Any:
        raise MemoryError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bad.subscription._maker, "make", fail)
        stream.add(edge("c", "d"), at=2)
    assert "could not be made" in caplog.text
    assert len(good.state()) == 2
    stream.add(edge("e", "f"), at=3)
    assert bad.deltas[-2].initial
    assert not good.deltas[-1].initial
    assert len(bad.state()) == len(good.state()) == 3
    bad.subscription.close()
    good.subscription.close()
