"""Callbacks of one store run one after the other, in commit order, whichever threads wrote."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import rdflib
from rdflib import URIRef

import rdflive
from rdflive.store.deliveries import Deliveries, Delivering
from support.effort import drawn_from, rounds

QUERY = "SELECT ?s { ?s <urn:p> ?o }"


def triple(name: object) -> Any:
    return URIRef(f"urn:{name}"), URIRef("urn:p"), URIRef("urn:o")


@pytest.fixture
def hasty() -> Iterator[None]:
    """Have threads take turns as often as Python can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def joined(threads: list[threading.Thread]) -> None:
    """Start threads, and wait until all have ended."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.parametrize("count", [2, 4])
def test_deltas_come_in_commit_order_across_threads(count: int, hasty: None) -> None:
    """No two callbacks at once, none left out; what a callback writes is told after it to all subscribers."""
    graph, told = rdflib.Graph(), list[int]()
    inside = threading.Lock()
    writes = rounds(150)

    def take(delta: rdflive.Delta) -> None:
        assert inside.acquire(blocking=False)
        told.append(delta.sequence)
        if delta.sequence % 7 == 0 and "again" not in delta.added[0].s:
            graph.add(triple(f"again {delta.sequence}"))
        inside.release()

    failures: list[BaseException] = []
    subscription = rdflive.subscribe(
        graph, QUERY, take, initial=False, on_error=lambda _, error: failures.append(error)
    )
    later = list[int]()
    rdflive.subscribe(graph, QUERY, lambda delta: later.append(delta.sequence), initial=False)

    def write(thread: int) -> None:
        draw = drawn_from("turns", count, thread)
        for number in range(writes):
            if draw.random() < 0.2:
                with rdflive.batch(graph):
                    graph.add(triple(f"{thread} {number}"))
                    graph.add(triple(f"{thread} {number} too"))
            else:
                graph.add(triple(f"{thread} {number}"))

    joined([threading.Thread(target=write, args=(thread,), daemon=True) for thread in range(count)])
    assert failures == []
    assert told == sorted(told) == later
    assert len(told) == subscription.stats.deltas > count * writes
    assert not subscription._capture.deliveries
    subscription.close()


@pytest.mark.parametrize("may_wait", [False, True])
def test_a_delivery_is_left_to_who_delivers(may_wait: bool) -> None:
    """A thread may not wait inside the batch of another store; a third may mend the store."""
    queue, told = Deliveries() if may_wait else Deliveries(lambda: False), list[str]()
    is_inside, may_go_on = threading.Event(), threading.Event()

    def first() -> None:
        told.append("first")
        is_inside.set()
        assert may_go_on.wait(20)
        told.append("first ends")

    def deliver_first() -> None:
        queue.put(Delivering(first))
        queue.run()

    def deliver_second() -> None:
        assert is_inside.wait(20)
        if may_wait:
            queue.give_away()
            threading.Timer(0.05, may_go_on.set).start()
        queue.put(Delivering(lambda: told.append("second")))
        queue.run()
        if not may_wait:
            told.append("second is left")
            may_go_on.set()

    joined([threading.Thread(target=act, daemon=True) for act in (deliver_first, deliver_second)])
    assert told == ["first", *["second is left"] * (not may_wait), "first ends", "second"]
    assert not queue


def test_a_thread_with_a_batch_open_waits_for_no_callback_of_another_store() -> None:
    """The callback may come to wait for the batch; so it is followed by what the thread has committed."""
    graph, other, told = rdflib.Graph(), rdflib.Graph(), list[str]()
    is_inside, may_go_on = threading.Event(), threading.Event()

    def take(delta: rdflive.Delta) -> None:
        told.append(str(delta.added[0].s))
        is_inside.set()
        told.extend(["late"] * (not may_go_on.wait(5)))

    def write_in_a_batch() -> None:
        assert is_inside.wait(20)
        with rdflive.batch(other):
            graph.add(triple("second"))
            may_go_on.set()

    rdflive.subscribe(graph, QUERY, take, initial=False)
    joined([
        threading.Thread(target=graph.add, args=(triple("first"),), daemon=True),
        threading.Thread(target=write_in_a_batch, daemon=True),
    ])  # fmt: skip
    assert told == ["urn:first", "urn:second"]


def test_what_an_interruption_left_behind_makes_nobody_take_what_is_not_theirs() -> None:
    """A delivery that has run and did not leave the queue goes, and the next one waits for its thread."""
    queue, told = Deliveries(lambda: False), list[str]()
    queue.append(Delivering(lambda: told.append("what has run")))
    queue[0].has_run = True
    has_committed, may_deliver = threading.Event(), threading.Event()

    def deliver() -> None:
        queue.put(Delivering(lambda: told.append("theirs")))
        has_committed.set()
        assert may_deliver.wait(20)
        queue.run()

    other = threading.Thread(target=deliver, daemon=True)
    other.start()
    assert has_committed.wait(20)
    queue.put(Delivering(lambda: told.append("ours")))
    queue.run()
    assert told == []
    may_deliver.set()
    other.join(20)
    assert told == ["theirs", "ours"]


def test_a_delivery_of_a_thread_that_is_gone_is_made_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread waits for one that has committed, and not for ever."""
    monkeypatch.setattr("rdflive.store.deliveries._PATIENCE", 0.05)
    queue, told = Deliveries(), list[str]()
    has_gone, ended = threading.Event(), threading.Event()

    def deliver() -> None:
        assert has_gone.wait(20)
        queue.put(Delivering(lambda: told.append("next")))
        queue.run()
        ended.set()

    threading.Thread(target=deliver, daemon=True).start()  # before the other ends: numbers are used again
    joined([threading.Thread(target=queue.put, args=(Delivering(lambda: told.append("gone")),))])
    has_gone.set()
    assert ended.wait(5)
    assert told == ["gone", "next"]
