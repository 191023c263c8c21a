"""Randomly interrupted callbacks: the next call has the full answer, also if other deltas wait."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import Graph, Namespace
from rdflib.plugins.sparql import prepareQuery

import rdflive
from support.effort import drawn_from, rounds

EX = Namespace("http://example.org/")
PREFIX = f"PREFIX : <{EX}> "
PATIENCE = 20.0
QUERIES = {
    "pattern": "SELECT ?x ?y { ?x :p ?y }",
    "join": "SELECT ?x ?z { ?x :p ?y . ?y :q ?z }",
    "optional": "SELECT ?x ?z { ?x :p ?y OPTIONAL { ?y :q ?z } }",
    "count": "SELECT ?x (COUNT(?y) AS ?n) { ?x :p ?y } GROUP BY ?x",
    "slice": "SELECT ?x ?y { ?x :p ?y } ORDER BY ?y ?x LIMIT 3",
    "path": "SELECT ?y { :a :p+ ?y }",
    "of a": "SELECT ?y { :a :p ?y }",
    "of b": "SELECT ?y { :b :p ?y }",
    "ask": "ASK { ?x :p ?y . ?y :q ?z }",
    "construct": "CONSTRUCT { ?x :r ?z } WHERE { ?x :p ?y . ?y :q ?z }",
}
SHAPES = f"""@prefix : <{EX}> . @prefix sh: <http://www.w3.org/ns/shacl#> .
:A sh:targetSubjectsOf :p ; sh:property [ sh:path :q ; sh:minCount 1 ] .
:B sh:targetObjectsOf :q ; sh:property [ sh:path :p ; sh:maxCount 1 ] ."""
RAISED = (KeyboardInterrupt, KeyboardInterrupt, SystemExit, MemoryError, RecursionError)

Answer = Counter[tuple[Any, ...]]


class Follower:
    """Maintains an answer from its deltas, and raises in some calls, before or after a part of a delta."""

    def __init__(self, random: Random, raised: tuple[type[BaseException], ...] = RAISED) -> None:
        self.random, self.raised = random, raised
        self.share = 0.0
        """Share of calls that raise."""
        self.state: Answer = Counter()
        self.calls = self.interruptions = 0
        self.is_doubted = False
        self.wrong: list[str] = []
        self.check: Callable[[], object] = lambda: None

    def __call__(self, delta: rdflive.Delta) -> None:
        self.calls += 1
        state = self.state.copy()  # another thread may compare the present one
        if self.is_doubted and not delta.initial:
            self.wrong.append(f"call {self.calls} behind an interruption is a difference")
        if self.random.random() < self.share:
            self.is_doubted, self.interruptions = True, self.interruptions + 1
            if self.random.random() < 0.5:  # it has used a part of the delta
                state.update(map(tuple, delta.added))
                self.state = state
            raise self.random.choice(self.raised)
        self.is_doubted = False
        took_in(state, delta)
        self.state = state
        self.check()

    async def task(self, delta: rdflive.Delta) -> None:
        """Take a delta as an asynchronous callback."""
        await asyncio.sleep(0)
        self(delta)


def took_in(state: Answer, delta: rdflive.Delta) -> None:
    """Apply a delta to an answer."""
    if delta.initial:
        state.clear()
    if delta.form == "ASK":
        state[()] = int(bool(delta.answer))
    else:
        state.update(map(tuple, delta.added))
        state.subtract(map(tuple, delta.removed))
    for row in [row for row, count in state.items() if not count]:
        del state[row]


prepared = lru_cache(prepareQuery)


def shown(delta: rdflive.Delta) -> Any:
    return delta.time, tuple(sorted(delta.added)), tuple(sorted(delta.removed))


def recomputed(graph: Graph, text: str) -> Answer:
    """Answer a query with rdflib."""
    result = graph.query(prepared(text))
    return Counter([()] * bool(result.askAnswer) if result.type == "ASK" else map(tuple, result))


class World:
    """A graph with its history, and followers whose answers must be those of commits, in order."""

    def __init__(self, *seed: object) -> None:
        self.random = drawn_from("callbacks", *seed)
        self.graph = Graph()
        self.followers: list[tuple[Any, str, Follower]] = []
        self._answers: dict[str, list[Answer]] = {}
        self._places: dict[Follower, int] = {}

    def follow(self, name: str, *, task: bool = False, checks: bool = True, **options: Any) -> Any:
        """Subscribe with a follower that raises after the first call."""
        text = PREFIX + QUERIES[name]
        raised = (asyncio.CancelledError, MemoryError) if task else RAISED
        follower = Follower(Random(self.random.random()), raised)
        if checks:
            self._answers.setdefault(text, []).append(recomputed(self.graph, text))
            follower.check = lambda: self._check(follower, text)
        callback = follower.task if task else follower
        made = rdflive.subscribe(self.graph, text, callback, on_error="ignore", **options)
        follower.share = 0.3
        self.followers.append((made, text, follower))
        return made

    def _check(self, follower: Follower, text: str) -> None:
        known = [*self._answers[text], recomputed(self.graph, text)]
        first = self._places.get(follower, 0)
        found = next((place for place in range(first, len(known)) if known[place] == follower.state), None)
        if found is None:
            follower.wrong.append(f"call {follower.calls} leads to the answer of no commit")
        else:
            self._places[follower] = found

    def write(self) -> None:
        """Make one commit, and record the answers of the queries."""
        random = self.random
        with going_on():
            if random.random() < 0.3:
                with rdflive.batch(self.graph):
                    for _ in range(random.randrange(4)):
                        self._write_one()
            else:
                self._write_one()
        for text, known in self._answers.items():
            known.append(recomputed(self.graph, text))

    def _write_one(self) -> None:
        random = self.random
        triple = EX[random.choice("abcd")], EX[random.choice("ppq")], EX[random.choice("abcd")]
        (self.graph.add if random.random() < 0.6 else self.graph.remove)(triple)

    def settle(self) -> None:
        """Stop the exceptions, and use the graph so that it delivers pending full answers."""
        for _, _, follower in self.followers:
            follower.share = 0.0
        for _ in range(3):
            with going_on():
                self.graph.add((EX.x, EX.none, rdflib.BNode()))

    @property
    def is_known(self) -> bool:
        """True if every follower has the current answer."""
        return all(follower.state == recomputed(self.graph, text) for _, text, follower in self.followers)

    def close(self) -> int:
        """Compare the answers, close the subscriptions, and return the number of interrupted calls."""
        for made, text, follower in self.followers:
            assert follower.wrong == [], text
            assert follower.state == recomputed(self.graph, text), text
            made.close()
        return sum(follower.interruptions for _, _, follower in self.followers)


@contextmanager
def going_on() -> Iterator[None]:
    """Suppress an interrupt of the block, like a program that catches Ctrl-C."""
    with suppress(KeyboardInterrupt, SystemExit):
        yield


def test_the_next_call_is_the_whole_answer() -> None:
    """This holds if other deltas wait, of this subscriber or of others."""
    interruptions = 0
    for number in range(rounds(40)):
        world = World(number)
        for name in [*QUERIES, *world.random.choices(list(QUERIES), k=3)]:
            world.follow(name)
        for _ in range(40):
            world.write()
        world.settle()
        interruptions += world.close()
    assert interruptions


def test_what_waits_behind_an_interrupted_whole_answer_is_left_out() -> None:
    """Each call after Ctrl-C has the full answer, although a difference waits."""
    graph, told = Graph(), []

    def take(delta: rdflive.Delta) -> None:
        told.append((delta.initial, len(delta.added)))
        if len(told) in (2, 3):
            raise KeyboardInterrupt

    with rdflive.subscribe(graph, "SELECT ?s { ?s ?p ?o }", take):
        for number in range(4):
            with going_on():
                graph.add((EX[f"s{number}"], EX.p, EX.o))
    assert told == [(True, 0), (False, 1), (True, 1), (True, 2), (False, 1), (False, 1)]


def test_an_iterator_beside_an_interrupted_callback_loses_nothing() -> None:
    """Its deltas add up to the answer, and so does the graph of a CONSTRUCT query."""
    interruptions = 0
    for number in range(rounds(24)):
        world = World("beside", number)
        made = [world.follow(name) for name in ("pattern", "construct", "slice")]
        constructed = made[1].graph
        states: list[Answer] = [Counter() for _ in made]
        readers = [each.deltas(timeout=0) for each in made]
        for _ in range(30):
            world.write()
        world.settle()
        for state, reader in zip(states, readers, strict=True):
            with suppress(TimeoutError):
                for delta in reader:
                    took_in(state, delta)
        assert states == [recomputed(world.graph, text) for _, text, _ in world.followers]
        assert Counter(constructed) == states[1]
        interruptions += world.close()
    assert interruptions


@pytest.mark.parametrize("options", [{}, {"throttle": 0.001}, {"throttle": 0.001, "executor": None}])
def test_a_callback_elsewhere_is_told_the_whole_answer(options: dict[str, Any]) -> None:
    """This holds in threads, too, with further writes during a call."""
    interruptions = 0
    for number in range(rounds(24)):
        with ThreadPoolExecutor(2) as pool:
            world = World("elsewhere", *options, number)
            for name in QUERIES:
                world.follow(name, checks=False, **{"executor": pool, **options})
            for _ in range(40):
                world.write()
                if world.random.random() < 0.2:
                    time.sleep(0.001)
            ended = time.monotonic() + PATIENCE
            world.settle()
            while not world.is_known and time.monotonic() < ended:
                time.sleep(0.01)
                world.settle()
            interruptions += world.close()
    assert interruptions


def test_a_task_is_told_the_whole_answer() -> None:
    """An awaited callback is cancelled while its own thread or another one writes."""
    interruptions = 0

    async def program(number: int) -> int:
        world = World("tasks", number)
        for name in QUERIES:
            world.follow(name, task=True, checks=False)
        for _ in range(40):
            await asyncio.to_thread(world.write) if number % 2 else world.write()
            await asyncio.sleep(0)
        ended = time.monotonic() + PATIENCE
        world.settle()
        while not world.is_known and time.monotonic() < ended:
            await asyncio.sleep(0.01)
            world.settle()
        return world.close()

    for number in range(rounds(24)):
        interruptions += asyncio.run(program(number))
    assert interruptions


def test_threads_that_write_are_interrupted() -> None:
    """In any thread the callback receives its deltas in the order of commits."""
    interruptions = 0
    for number in range(rounds(24)):
        world = World("threads", number)
        for name in QUERIES:
            world.follow(name, checks=False)

        def write(seed: float, graph: Graph = world.graph) -> None:
            random = Random(seed)
            for _ in range(30):
                triple = EX[random.choice("abcd")], EX[random.choice("ppq")], EX[random.choice("abcd")]
                with going_on():
                    (graph.add if random.random() < 0.6 else graph.remove)(triple)

        threads = [threading.Thread(target=write, args=[world.random.random()]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        world.settle()
        interruptions += world.close()
    assert interruptions


def test_a_validation_is_told_whole() -> None:
    """The callback's deltas add up to the results of the shapes."""
    interruptions = 0
    shapes = Graph().parse(data=SHAPES)
    for number in range(rounds(24)):
        world = World("validation", number)
        follower = Follower(world.random)
        with rdflive.validate(world.graph, shapes, follower, on_error="ignore") as validation:
            follower.share = 0.3
            for _ in range(40):
                world.write()
            follower.share = 0.0
            for _ in range(3):
                with going_on():
                    world.graph.add((EX.x, EX.none, rdflib.BNode()))
            assert follower.wrong == []
            assert follower.state == Counter(map(tuple, validation.answers()))
        interruptions += follower.interruptions
    assert interruptions


@pytest.mark.parametrize("elsewhere", [False, True])
def test_with_a_journal_an_interrupted_delta_comes_again(tmp_path: Path, elsewhere: bool) -> None:
    """It has the same number and rows after any interrupt, and comes before the next delta."""
    interruptions = 0
    for number in range(rounds(40)):
        random = drawn_from("journal", elsewhere, number)
        graph, state, last = Graph(), Counter(), [0, ()]
        follower = Follower(random)

        def take(delta: rdflive.Delta, state: Any = state, last: Any = last, one: Any = follower) -> None:
            told = tuple(sorted(delta.added)), tuple(sorted(delta.removed))
            if one.is_doubted and (delta.sequence, told) != tuple(last):
                one.wrong.append(f"{delta.sequence} {told} comes behind {last}")
            elif not one.is_doubted and delta.sequence != last[0] + 1:
                one.wrong.append(f"{delta.sequence} comes behind {last[0]}")
            last[:] = delta.sequence, told
            one.is_doubted = one.random.random() < one.share
            if one.is_doubted:
                one.interruptions += 1
                raise one.random.choice(RAISED)
            took_in(state, delta)

        with ThreadPoolExecutor(1) as pool:
            made = rdflive.subscribe(
                graph, PREFIX + QUERIES["pattern"], take, name="one", resume=tmp_path / f"{number}",
                on_error="ignore", executor=pool if elsewhere else None,
            )  # fmt: skip
            follower.share = 0.3
            for _ in range(30):
                triple = EX[random.choice("abcd")], EX.p, EX[random.choice("abcd")]
                with going_on():
                    (graph.add if random.random() < 0.6 else graph.remove)(triple)
                time.sleep(0.002 if elsewhere else 0)
            follower.share = 0.0
            ended = time.monotonic() + PATIENCE
            while state != Counter(map(tuple, made.answers())) and time.monotonic() < ended:
                with going_on():
                    graph.add((EX[f"x{len(graph)}"], EX.p, EX.x))
                time.sleep(0.01 if elsewhere else 0)
            assert follower.wrong == []
            assert state == Counter(map(tuple, made.answers()))
            made.close()
        interruptions += follower.interruptions
    assert interruptions


@pytest.mark.parametrize("window", [rdflive.Sliding(4), rdflive.Sliding(4, 2), rdflive.Count(3)], ids=str)
@pytest.mark.parametrize("output", ["delta", "istream", "dstream", "rstream"])
def test_windows_are_told_whole(window: rdflive.Window, output: Any) -> None:
    """The answers are right after interrupts, and a dstream delivers every removal."""
    interruptions = 0
    for number in range(rounds(24)):
        random = drawn_from("windows", window, output, number)
        stream = rdflive.Stream(Graph())
        follower, all_told, told = Follower(random), [], []
        text = f"{PREFIX}SELECT ?x ?y {{ ?x :p ?y }}"

        def take(delta: rdflive.Delta, follower: Follower = follower, told: list[Any] = told) -> None:
            told.append(shown(delta))
            follower(delta)

        known = rdflive.subscribe(stream, text, window=window)
        twin = rdflive.subscribe(
            stream, text, lambda delta, told=all_told: told.append(shown(delta)),
            window=window, output=output,
        )  # fmt: skip
        made = rdflive.subscribe(stream, text, take, window=window, output=output, on_error="ignore")
        follower.share = 0.3
        at = 0
        for _ in range(40):
            at += random.choice((0, 1, 1, 2, 5))
            with going_on():
                stream.add((EX[random.choice("abcd")], EX.p, EX[random.choice("abcd")]), at=at)
        follower.share = 0.0
        for _ in range(3):
            at += 1
            with going_on():
                stream.add((EX.x, EX.p, EX[f"y{at}"]), at=at)
        if output == "dstream":
            assert told == all_told
        else:
            assert follower.wrong == []
        if output == "rstream":  # each report is delivered, and full answers beside them
            assert Counter(all_told) <= Counter(told)
        if output in ("delta", "rstream"):
            assert follower.state == Counter(map(tuple, known.answers()))
        interruptions += follower.interruptions
        for each in (known, twin, made):
            each.close()
    assert interruptions
