"""Iterators of resumed subscriptions: numbered, acknowledged by asking for the next, one at a time."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path

import pytest
import rdflib

import rdflive
from rdflive.journal import ResumeError
from support.resume import QUERY, Ledger, add, names, resumed


@pytest.fixture
def graph() -> rdflib.Graph:
    graph = rdflib.Graph()
    add(graph, "ic1")
    return graph


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trains.db"


def test_without_initial_an_iterator_gets_what_came_before_it(graph: rdflib.Graph, path: Path) -> None:
    """With initial=False and no callback, what changes before the first deltas() waits as a change."""
    with rdflive.subscribe(graph, QUERY, name="board", resume=path, initial=False) as subscription:
        add(graph, "ic2")
        first = next(subscription.deltas(timeout=5))
    assert (first.sequence, first.initial, names(first.added)) == (1, False, ["ic2"])


def test_an_iterator_acknowledges_when_it_asks_for_the_next(graph: rdflib.Graph, path: Path) -> None:
    """What an iterator took last comes again after a restart; what it went on from does not."""
    with rdflive.subscribe(graph, QUERY, name="n", resume=path) as subscription:
        deltas = subscription.deltas(timeout=5)
        assert next(deltas).initial
        add(graph, "ic2")
        add(graph, "ic3")
        merged = next(deltas)
        assert (merged.sequence, merged.first_sequence, names(merged.added)) == (2, 2, ["ic2", "ic3"])
    with rdflive.subscribe(graph, QUERY, name="n", resume=path) as subscription:
        deltas = subscription.deltas(timeout=0)
        assert next(deltas) == merged
        with pytest.raises(TimeoutError):
            next(deltas)
        assert subscription.stats.deltas == 1
    with (
        rdflive.subscribe(graph, QUERY, name="n", resume=path) as subscription,
        pytest.raises(TimeoutError),
    ):
        next(subscription.deltas(timeout=0))


def test_a_closed_iterator_leaves_its_delta_to_the_next_one(graph: rdflib.Graph, path: Path) -> None:
    """Closing or dropping an iterator acknowledges nothing: the next one begins with the same delta."""
    with rdflive.subscribe(graph, QUERY, name="n", resume=path) as subscription:
        first = subscription.deltas(timeout=5)
        taken = next(first)
        first.close()
        assert list(first) == []
        second = subscription.deltas(timeout=5)
        assert next(second) == taken
        first.close()  # does nothing to the second
        add(graph, "ic2")
        del second
        gc.collect()
        third = subscription.deltas(timeout=5)
        assert [next(third).sequence, next(third).sequence] == [1, 2]


def test_an_iterator_acknowledges_after_close_too(graph: rdflib.Graph, path: Path) -> None:
    """A loop that closes the subscription in its body is done with that delta when it ends."""
    subscription = rdflive.subscribe(graph, QUERY, name="n", resume=path)
    deltas = subscription.deltas()
    add(graph, "ic2")
    assert [d.sequence for d in deltas if (add(graph, "ic3"), subscription.close())] == [1]
    with rdflive.subscribe(graph, QUERY, name="n", resume=path) as subscription:
        missed = next(subscription.deltas(timeout=5))
    assert (missed.sequence, names(missed.added)) == (2, ["ic3"])


def test_an_old_iterator_leaves_a_new_subscription_alone(graph: rdflib.Graph, path: Path) -> None:
    """What an iterator of a closed subscription had is the next subscription's to hand out."""
    old = rdflive.subscribe(graph, QUERY, name="n", resume=path)
    deltas = old.deltas()
    first = next(deltas)
    old.close()
    with rdflive.subscribe(graph, QUERY, name="n", resume=path):
        assert list(deltas) == []
    with rdflive.subscribe(graph, QUERY, name="n", resume=path) as new:
        assert next(new.deltas(timeout=5)) == first


def test_async_iteration_is_resumed(graph: rdflib.Graph, path: Path) -> None:
    """`async for` is numbered and acknowledged like any iterator."""

    async def consume() -> list[tuple[int, list[str]]]:
        seen = []
        subscription = rdflive.subscribe(graph, QUERY, name="n", resume=path)
        writer = threading.Timer(0.02, lambda: add(graph, f"ic{len(graph) + 1}"))
        writer.start()
        async for delta in subscription:
            seen.append((delta.sequence, names(delta.added)))
            if not delta.initial:
                subscription.close()
        writer.join()
        return seen

    runs = [asyncio.run(asyncio.wait_for(consume(), 10)) for _ in range(2)]
    assert runs == [[(1, ["ic1"]), (2, ["ic2"])], [(3, ["ic3"])]]


def test_there_is_one_consumer(graph: rdflib.Graph, path: Path) -> None:
    """A second iterator, or one beside a callback, is refused."""
    with rdflive.subscribe(graph, QUERY, name="n", resume=path) as subscription:
        first = subscription.deltas()
        with pytest.raises(ResumeError, match="one iterator"):
            subscription.deltas()
        first.close()
    with rdflive.batch(graph):
        subscription = resumed(graph, path, Ledger())
        with pytest.raises(ResumeError, match="its callback"):  # also before the first delivery
            aiter(subscription)
    subscription.close()
    with pytest.raises(rdflive.ClosedError):
        subscription.deltas()
