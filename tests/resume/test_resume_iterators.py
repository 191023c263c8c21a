"""Iterators of resumed subscriptions: numbered, acknowledged by asking for the next, one at a time."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest
import rdflib

import rdflive
from rdflive.delivery.resume.journal import Journal, ResumeError
from support.garbage import only_new_garbage
from support.resume import QUERY, Ledger, add, names, resumed
from support.waiting import waiting


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


@only_new_garbage()
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


def test_closing_an_iterator_ends_the_wait_of_its_thread(graph: rdflib.Graph, path: Path) -> None:
    """A thread that waits comes to the end, and what comes later is the next iterator's, without a gap."""
    numbers = []
    with rdflive.subscribe(graph, QUERY, name="n", resume=path) as subscription:
        for train in ("ic2", "ic3"):
            deltas = subscription.deltas()
            numbers.append(next(deltas).sequence)
            with waiting(deltas) as told:
                deltas.close()
            assert told == []
            add(graph, train)
        last = next(subscription.deltas(timeout=5))
    assert (numbers, last.sequence, names(last.added)) == ([1, 2], 3, ["ic3"])


def test_an_iterator_closed_while_it_numbers_leaves_the_delta(
    graph: rdflib.Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed from another thread between taking and handing out, it hands out nothing; the next one does."""
    write = Journal.write
    with rdflive.subscribe(graph, QUERY, name="n", resume=path) as subscription:
        first = subscription.deltas(timeout=5)
        following: list[rdflive.Delta] = []

        def follow() -> None:
            deltas = subscription.deltas(timeout=5)
            following.extend(next(deltas) for _ in range(2))

        def interrupted(journal: Journal, *args: Any, **options: Any) -> int:
            monkeypatch.setattr(Journal, "write", write)
            first.close()
            follower.start()
            add(graph, "ic2")
            return write(journal, *args, **options)

        follower = threading.Thread(target=follow)
        monkeypatch.setattr(Journal, "write", interrupted)
        assert list(first) == []
        follower.join(10)
        assert not subscription.closed
    assert [(delta.sequence, names(delta.added)) for delta in following] == [(1, ["ic1"]), (2, ["ic2"])]


def test_an_iterator_acknowledges_after_close_too(graph: rdflib.Graph, path: Path) -> None:
    """A loop that closes the subscription in its body is done with that delta when it ends."""
    subscription = rdflive.subscribe(graph, QUERY, name="n", resume=path)
    deltas = subscription.deltas()
    add(graph, "ic2")
    assert [d.sequence for d in deltas if (add(graph, "ic3"), subscription.close())] == [1]
    with rdflive.subscribe(graph, QUERY, name="n", resume=path) as subscription:
        missed = next(subscription.deltas(timeout=5))
    assert (missed.sequence, names(missed.added)) == (2, ["ic3"])


def test_there_is_one_consumer(graph: rdflib.Graph, path: Path) -> None:
    """A second iterator, or one beside a callback, is refused."""
    with rdflive.subscribe(graph, QUERY, name="n", resume=path) as subscription:
        first = subscription.deltas()
        with pytest.raises(ResumeError, match="has a consumer already"):
            subscription.deltas()
        first.close()
    with rdflive.batch(graph):
        subscription = resumed(graph, path, Ledger())
        with pytest.raises(ResumeError, match="its callback"):  # also before the first delivery
            aiter(subscription)
    subscription.close()
    with pytest.raises(rdflive.ClosedError):
        subscription.deltas()
