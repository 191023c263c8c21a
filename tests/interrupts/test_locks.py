"""Threads that use several stores never deadlock."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import URIRef

import rdflive
from rdflive.errors import WaitError
from rdflive.store import Capture
from support.effort import HUNT, drawn_from, rounds

QUERY = "SELECT ?s ?o { ?s <urn:p> ?o }"


def triple(*names: object) -> Any:
    s, o = names
    return URIRef(f"urn:{s}"), URIRef("urn:p"), URIRef(f"urn:{o}")


def test_a_batch_is_left_by_its_own_thread() -> None:
    """Another thread gets an error, and the batch stays open until its own thread leaves it."""
    graph, deltas = rdflib.Graph(), list[rdflive.Delta]()
    rdflive.subscribe(graph, QUERY, deltas.append, initial=False)
    batch = rdflive.batch(graph)
    batch.__enter__()
    graph.add(triple("a", "b"))
    with ThreadPoolExecutor(1) as other:
        with pytest.raises(RuntimeError, match="the thread that entered it"):
            other.submit(batch.__exit__, None, None, None).result(20)
        assert deltas == []
        batch.__exit__(None, None, None)
        assert [len(delta.added) for delta in deltas] == [1]
        other.submit(graph.add, triple("b", "c")).result(20)


def refused(
    stores: Sequence[Any], first: Callable[[int], object], second: Callable[[int], object]
) -> list[int]:
    """Open a batch of one store in each of two threads, and return the threads refused by the other store."""
    both_are_open = threading.Barrier(2, timeout=20)
    losers: list[int] = []

    def write(number: int) -> None:
        with rdflive.batch(stores[number]):
            first(number)
            both_are_open.wait()
            try:
                second(number)
            except WaitError:
                losers.append(number)

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return losers


def test_one_of_two_batches_that_wait_for_each_other_is_refused() -> None:
    """The thread that would close the cycle gets an error before it changes the other graph."""
    graphs = rdflib.Graph(), rdflib.Graph()
    subscriptions = [rdflive.subscribe(graph, QUERY) for graph in graphs]
    (loser,) = refused(
        graphs,
        lambda number: graphs[number].add(triple("own", number)),
        lambda number: graphs[1 - number].add(triple("other", number)),
    )
    assert len(graphs[loser]) == 2
    assert len(graphs[1 - loser]) == 1
    assert [len(subscription.answers()) for subscription in subscriptions] == list(map(len, graphs))


@pytest.mark.parametrize("operation", ["add", "bulk_extend", "load", "update", "clear"])
def test_one_of_two_batches_of_native_stores_is_refused(operation: str) -> None:
    """Any operation that would close the cycle is refused."""
    pyoxigraph = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    node = pyoxigraph.NamedNode("urn:a")
    quad, form = pyoxigraph.Quad(node, node, node), pyoxigraph.RdfFormat.N_TRIPLES
    arguments = {
        "add": (quad,), "bulk_extend": ([quad],), "load": (b"", form), "update": ("CLEAR ALL",), "clear": (),
    }[operation]  # fmt: skip
    stores = [rdflive.LiveStore(pyoxigraph.Store()) for _ in range(2)]
    losers = refused(
        stores, lambda number: None, lambda number: getattr(stores[1 - number], operation)(*arguments)
    )
    assert len(losers) == 1


class Stores:
    """Watched graphs, and random actions of threads on two of them."""

    def __init__(self, count: int) -> None:
        self.graphs = [rdflib.Graph() for _ in range(count)]
        self.told: list[Counter[Any]] = [Counter() for _ in range(count)]
        self.subscriptions = [
            rdflive.subscribe(graph, QUERY, self._follower(number))
            for number, graph in enumerate(self.graphs)
        ]

    def _follower(self, number: int) -> Callable[[rdflive.Delta], None]:
        def take(delta: rdflive.Delta) -> None:
            if delta.initial:
                self.told[number].clear()
            for solution, weight in delta.weights().items():
                self.told[number][solution.s, solution.o] += weight
            for solution in delta.added:
                if "w" in solution.o and "/" not in solution.s:  # each is written once to the next store
                    other = self.graphs[(number + 1) % len(self.graphs)]
                    other.add(triple(f"{solution.s}/{number}", "x"))

        return take

    def act(self, draw: Random, name: str) -> None:
        """Use a random store, and sometimes another one inside of its batch."""
        first, second = draw.choice(self.graphs), draw.choice(self.graphs)
        number = self.graphs.index(first)
        kind = draw.randrange(6)
        if kind == 0:
            with rdflive.batch(first):
                first.add(triple(name, "a"))
                with suppress(WaitError):
                    second.add(triple(name, "w"))
                first.remove(triple(name, "a"))
        elif kind == 1:
            first.add(triple(name, "w"))
        elif kind == 2:
            first.remove((None, None, URIRef(f"urn:{draw.choice('wx')}")))
        elif kind == 3:
            with rdflive.subscribe(first, QUERY) as subscription:
                next(subscription.deltas(20.0))
        elif kind == 4:
            with rdflive.batch(second), suppress(WaitError), rdflive.batch(first):
                first.add(triple(name, "b"))
                second.add(triple(name, "c"))
        else:
            self.subscriptions[number].answers()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", [2, 3])
def test_no_schedule_of_threads_ends_in_a_deadlock(count: int) -> None:
    """Batches, writes, subscriptions and writing callbacks end in any order of stores."""
    for number in range(5000 if HUNT else 100):
        stores = Stores(count)
        failures: list[Exception] = []

        def work(thread: int, number: int = number, stores: Stores = stores, told: Any = failures) -> None:
            draw = drawn_from("schedule", count, number, thread)
            try:
                for step in range(6):
                    stores.act(draw, f"{thread}-{step}")
            except Exception as error:  # noqa: BLE001 - the test raises it
                told.append(error)

        threads = [threading.Thread(target=work, args=(thread,), daemon=True) for thread in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), f"schedule {number}"
        assert failures == []
        for graph, told, subscription in zip(stores.graphs, stores.told, stores.subscriptions, strict=True):
            graph.add(triple("end", "e"))
            held = Counter((s, o) for s, _, o in graph)
            assert Counter({row: n for row, n in told.items() if n}) == held
            assert len(subscription.answers()) == len(held)
            subscription.close()


@pytest.mark.posix("forks")
@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
def test_a_fork_beside_a_writing_thread_can_write() -> None:
    """After a fork at any moment of the thread, the child can write, and its subscription is right."""
    graph, told = rdflib.Graph(), Counter[Any]()

    def take(delta: rdflive.Delta) -> None:
        if delta.initial:
            told.clear()
        for solution, weight in delta.weights().items():
            told[solution] += weight

    subscription = rdflive.subscribe(graph, QUERY, take)
    ended = threading.Event()

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            graph.add(triple(number % 50, number % 7))
            graph.remove((URIRef(f"urn:{(number + 25) % 50}"), None, None))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(rounds(200)):
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(60)
                graph.add(triple("child", "b"))
                graph.add(triple("child", "c"))
                is_right = sum(told.values()) == len(subscription.answers())
                os._exit(0 if is_right else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        ended.set()
        writer.join()


@pytest.mark.posix("forks")
@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
def test_a_fork_keeps_what_a_batch_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next use of the store commits a batch whose commit was interrupted, in the child too."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    graph, told = rdflib.Graph(), list[int]()
    subscription = rdflive.subscribe(graph, QUERY, lambda delta: told.append(len(delta.added)), initial=False)
    batch = rdflive.batch(graph)
    batch.__enter__()
    graph.add(triple("a", "b"))
    with monkeypatch.context() as patch:
        patch.setattr(Capture, "settle", interrupt)
        with pytest.raises(KeyboardInterrupt):
            batch.__exit__(None, None, None)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if len(subscription.answers()) == 1 and told == [1] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(subscription.answers()) == 1
    assert told == [1]
