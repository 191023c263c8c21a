"""Interrupted writes and deliveries, and the operations that repair their state."""

from __future__ import annotations

import gc
import io
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import URIRef

import rdflive
from interrupts.lines import drawn, lines_of, raising_at
from interrupts.worlds import Follower
from rdflive.engine.view import View
from rdflive.store import Capture

QUERY = "SELECT ?s { ?s <urn:p> ?o }"


def triple(name: str) -> Any:
    return URIRef(f"urn:{name}"), URIRef("urn:p"), URIRef("urn:o")


def once(raised: type[BaseException], function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that raises at its first call."""
    left = [raised]

    def called(*arguments: Any, **options: Any) -> Any:
        if left:
            raise left.pop()
        return function(*arguments, **options)

    return called


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_a_write_that_was_interrupted_inside_a_batch_is_mended_at_its_end(
    raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the batch catches the interrupt and continues, its end reads the store again."""
    graph, deltas = rdflib.Graph(), list[rdflive.Delta]()
    rdflive.subscribe(graph, QUERY, deltas.append)
    monkeypatch.setattr(Capture, "record", once(raised, Capture.record))
    with rdflive.batch(graph):
        with pytest.raises(raised):
            graph.add(triple("a"))
        graph.add(triple("b"))
    assert deltas[-1].initial
    assert {solution.s for solution in deltas[-1].added} == {URIRef("urn:a"), URIRef("urn:b")}


@pytest.mark.parametrize("way", ["write", "answers", "iterator", "close"])
def test_a_write_that_was_interrupted_is_mended_by_whoever_comes_next(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write without a change, a read of the answer, an iterator, or another close repairs the state."""
    graph, deltas = rdflib.Graph(), list[rdflive.Delta]()
    followed, other = rdflive.subscribe(graph, QUERY, deltas.append), rdflive.subscribe(graph, "ASK {}")
    monkeypatch.setattr(View, "apply", once(KeyboardInterrupt, View.apply))
    with pytest.raises(KeyboardInterrupt):
        graph.add(triple("a"))
    assert len(deltas) == 1
    if way == "write":
        graph.remove(triple("nothing"))
    elif way == "answers":
        assert len(followed.answers()) == 1
    elif way == "iterator":
        assert len(next(followed.deltas(5.0)).added) == 1
    else:
        other.close()
    assert [(delta.initial, len(delta.added)) for delta in deltas[1:]] == [(True, 1)]


def test_a_callback_that_was_interrupted_is_told_the_whole_answer_next() -> None:
    """It may have taken any part of its delta; after an error of its own it gets the next delta."""
    graph, told = rdflib.Graph(), list[tuple[bool, int]]()
    raised: list[BaseException] = []

    def take(delta: rdflive.Delta) -> None:
        told.append((delta.initial, len(delta.added)))
        if raised:
            raise raised.pop()

    rdflive.subscribe(graph, QUERY, take, on_error="ignore")
    raised.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        graph.add(triple("a"))
    graph.add(triple("b"))
    raised.append(MemoryError())
    graph.add(triple("c"))
    graph.add(triple("d"))
    raised.append(KeyError())
    graph.add(triple("e"))
    graph.add(triple("f"))
    assert told == [
        (True, 0), (False, 1), (True, 1), (False, 1), (False, 1), (True, 3), (False, 1), (False, 1),
        (False, 1),
    ]  # fmt: skip


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Disable garbage collection, which would hide a cycle of references."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Later(Executor):
    """An executor that runs its jobs when `run` is called."""

    def __init__(self) -> None:
        self.jobs: list[Callable[[], Any]] = []

    def submit(self, job: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        """Keep a job."""
        self.jobs.append(lambda: job(*arguments))
        return Future()

    def run(self) -> None:
        """Run all jobs, and those that they add."""
        while self.jobs:
            self.jobs.pop(0)()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError])
def test_a_delivery_to_an_executor_may_be_interrupted_anywhere(error: type[BaseException]) -> None:
    """After the next commit the callback has the answer, and no delta was delivered twice."""

    def opened() -> tuple[rdflib.Graph, Follower, Later, Any]:
        graph, follower, later = rdflib.Graph(), Follower(), Later()
        subscription = rdflive.subscribe(
            graph, QUERY, follower.told.append, executor=later, on_error="ignore"
        )
        later.run()
        return graph, follower, later, subscription

    first = opened()
    places = lines_of(lambda: first[0].add(triple("a")))
    for place in drawn(places, 60, "executor", error.__name__):
        graph, follower, later, subscription = opened()
        raising_at(place, error, lambda graph=graph: graph.add(triple("a")))
        graph.add(triple("b"))
        later.run()
        graph.add(triple("c"))
        later.run()
        assert follower.answer == Counter(subscription.answers()), place


def test_a_step_that_raises_again_and_again_keeps_nobody_else_from_its_deltas() -> None:
    """A plugin raises SystemExit at every delta of one subscription: others get their deltas at once."""
    graph, told = rdflib.Graph(), list[int]()

    class Plugin:
        @staticmethod
        @rdflive.hookimpl
        def rdflive_delta(subscription: Any, delta: rdflive.Delta) -> None:
            if subscription.name == "bad":
                raise SystemExit

    rdflive.register_plugin(Plugin)
    try:
        bad = rdflive.subscribe(graph, QUERY, lambda delta: None, name="bad", initial=False)
        rdflive.subscribe(graph, QUERY, lambda delta: told.append(len(delta.added)), initial=False)
        for number, name in enumerate("abc", 1):
            with pytest.raises(SystemExit):
                graph.add(triple(name))
            assert sum(told) >= number
    finally:
        rdflive.unregister_plugin(Plugin)
    bad.close()


@pytest.mark.parametrize("resumes", [False, True])
def test_a_close_that_was_interrupted_anywhere_is_done_by_the_next(resumes: bool, tmp_path: Path) -> None:
    """Its iterators end, its name is free, and the store has no listener."""

    path = tmp_path / "journal" if resumes else None

    def opened(name: str) -> tuple[rdflib.Graph, Any]:
        graph = rdflib.Graph()
        return graph, rdflive.subscribe(graph, QUERY, name=name, resume=path)

    places = lines_of(opened("board")[1].close)
    for number, place in enumerate(drawn(places, 25, "close", resumes)):
        graph, subscription = opened(str(number))
        deltas = subscription.deltas(5.0)
        next(deltas)
        raising_at(place, KeyboardInterrupt, subscription.close)
        subscription.close()
        assert list(deltas) == [], place
        assert "Live" not in type(graph.store).__name__, place
        opened(str(number))[1].close()


def test_the_first_subscription_of_a_store_may_be_interrupted_anywhere() -> None:
    """Writes and subscriptions work afterwards, and the next subscription is right."""

    def subscribe(graph: rdflib.Graph) -> Any:
        return rdflive.subscribe(graph, QUERY, lambda delta: None)

    places = lines_of(lambda: subscribe(rdflib.Graph()).close())
    for place in drawn(places, 60, "first subscription"):
        graph, told = rdflib.Graph(), list[rdflive.Delta]()
        raising_at(place, KeyboardInterrupt, lambda graph=graph: subscribe(graph).close())
        graph.add(triple("a"))
        with rdflive.subscribe(graph, QUERY, told.append) as subscription:
            graph.add(triple("b"))
            assert len(subscription.answers()) == 2, place
        assert sum(len(delta.added) for delta in told) == 2, place


@pytest.mark.parametrize(
    "window",
    [rdflive.Tumbling("10s"), rdflive.Sliding("10s"), rdflive.Sliding("10s", step="5s"), rdflive.Count(2)],
)
@pytest.mark.parametrize("until", [pytest.param(25, id="no report"), pytest.param(31, id="a report")])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_stream_may_be_interrupted_anywhere(error: type[BaseException], window: Any, until: int) -> None:
    """The interrupted operation can be repeated, and the next use of the store delivers the right answer."""

    def play(act: Callable[[rdflive.Stream], object]) -> list[Any]:
        graph, told = rdflib.Graph(), Counter[Any]()
        stream = rdflive.Stream(graph)

        def take(delta: rdflive.Delta) -> None:
            if delta.initial:
                told.clear()
            told.update({row.s: weight for row, weight in delta.weights().items()})

        with rdflive.subscribe(stream, QUERY, take, window=window) as subscription:
            for number in range(5):
                stream.add(triple(f"t{number}"), at=number * 3)
            act(stream)
            graph.add((URIRef("urn:x"), URIRef("urn:other"), URIRef("urn:y")))
            answers = Counter(row.s for row in subscription.answers())
            assert +told == answers
            stream.advance_to(60)
            assert +told == Counter(row.s for row in subscription.answers())
        return sorted(answers)

    def act(stream: rdflive.Stream) -> None:
        stream.add(triple("late"), at=21)
        stream.advance_to(until)

    expected = play(act), play(lambda stream: stream.advance_to(until))  # the element was taken or not
    places: list[Any] = []
    play(lambda stream: places.extend(lines_of(lambda: act(stream))))
    for place in drawn(places, 50, "stream", error.__name__, repr(window), until):

        def interrupted(stream: rdflive.Stream, place: Any = place) -> None:
            raising_at(place, error, lambda: act(stream))
            stream.advance_to(until)

        assert play(interrupted) in expected, place


def test_a_mirror_may_be_interrupted_anywhere(uncollected: None) -> None:
    """Afterwards the store is unwatched after its last subscription, without garbage collection."""

    def follow(graph: rdflib.Graph) -> None:
        feed = b"A <urn:s> <urn:p> <urn:o> .\nTX .\nA <urn:t> <urn:p> <urn:o> .\nTC .\n"
        rdflive.mirror(graph, io.BytesIO(feed), "rdf-patch", name="log")

    places = lines_of(lambda: follow(rdflib.Graph()))
    for place in drawn(places, 80, "mirror"):
        graph = rdflib.Graph()
        raising_at(place, KeyboardInterrupt, lambda graph=graph: follow(graph))
        with rdflive.subscribe(graph, QUERY) as subscription:
            graph.add(triple("a"))
            assert len(subscription.answers()) == len(graph), place
        assert "Live" not in type(graph.store).__name__, place
