"""A faulty adapter does not pass the contract suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.plugins.stores.memory import Memory

from rdflive.store import Capture, Transaction
from rdflive.store.rdflib_graphs import ADAPTER, default_graph
from rdflive.testing import AdapterContract, check_fuzz, check_operation
from rdflive.testing.operations import DATASET_OPERATIONS, GRAPH_OPERATIONS, NAMES
from rdflive_stores.rdflib.live_memory import live_memory
from rdflive_stores.rdflib.memory import MemoryAdapter


def add_again(self: Any, triple: Any, context: Any, quoted: bool = False) -> None:
    """Record an add of what is there."""
    Memory.add(self, triple, context, quoted)
    vars(self)[ADAPTER].capture.record(1, *triple, context.identifier)


RECORD = Capture.record
CALLS = count(1)


def lose_some(self: Capture, *arguments: Any) -> None:
    """Lose one change in fifty."""
    if next(CALLS) % 50:
        RECORD(self, *arguments)


def misplace(self: Capture, sign: Any, s: Any, p: Any, o: Any, graph: Any) -> None:
    """Record a change of the second graph in a third one."""
    RECORD(self, sign, s, p, o, NAMES[0] + "x" if graph == NAMES[1] else graph)


QUADS, WRITE = MemoryAdapter.quads, MemoryAdapter.write


def keep_first(adapter: Any, graph: Any, entry: Transaction) -> None:
    """Remember the cursor before the entry is applied, not with it."""
    WRITE(adapter, graph, replace(entry, changes={}, updates=()))
    WRITE(adapter, graph, replace(entry, keep={}))


def in_two_commits(adapter: Any, graph: Any, entry: Transaction) -> None:
    """Commit the updates before the changes."""
    WRITE(adapter, graph, replace(entry, changes={}))
    capture = adapter.capture
    capture._net, net = {}, capture._net
    if net:
        capture._commit(net)
    WRITE(adapter, graph, replace(entry, updates=()))


def changes_first(adapter: Any, graph: Any, entry: Transaction) -> None:
    """Run the updates behind the changes."""
    with adapter.capture.batch():
        WRITE(adapter, graph, replace(entry, updates=(), name="", keep={}))
        WRITE(adapter, graph, replace(entry, changes={}))


class TestsOfMemory(AdapterContract):
    """The suite for Memory, called by hand."""

    __test__ = False

    def make_store(self) -> Any:
        return Memory()


def fuzz(sequences: int) -> Callable[[Any], Any]:
    return lambda suite: check_fuzz(suite.make_store, sequences=sequences)


def operation(name: str) -> Callable[[Any], Any]:
    (found,) = (each for each in GRAPH_OPERATIONS + DATASET_OPERATIONS if each.name == name)
    return lambda suite: check_operation(suite.make_store, found)


Suite = TestsOfMemory
LIVE = live_memory(Memory)


@pytest.mark.parametrize(
    ("where", "name", "fault", "check", "says"),
    [
        (LIVE, "remove", Memory.remove, fuzz(2), ""),
        (LIVE, "remove", Memory.remove, operation("remove what is there"), ""),
        (LIVE, "remove", Memory.remove, operation("update DELETE WHERE {?s :q ?o}"), ""),
        (LIVE, "add", add_again, fuzz(5), ""),
        (LIVE, "addN", Memory.addN, operation("addN"), ""),
        (Capture, "record", lose_some, fuzz(10), ""),
        (Capture, "record", misplace, fuzz(2), ""),
        (Capture, "pending_quads", lambda _: {}, Suite.test_an_open_batch_can_be_taken_back, "the quads of"),
        (MemoryAdapter, "quads", lambda *given: (q for q in QUADS(*given) if q[3] in NAMES),
         Suite.test_quads_are_those_of_the_graphs, "quads for"),
        (MemoryAdapter, "quads", lambda *given: [*QUADS(*given)] * 2,
         Suite.test_quads_are_those_of_the_graphs, "quads for"),
        (MemoryAdapter, "default_graph", lambda _, graph: default_graph(graph) and NAMES[0],
         Suite.test_named_graphs_are_those_of_a_query, r"GRAPH \?g"),
        (MemoryAdapter, "default_graph", lambda *_: DATASET_DEFAULT_GRAPH_ID,
         Suite.test_named_graphs_are_those_of_a_query, "is no dataset"),
        (MemoryAdapter, "_undo", lambda *_: None, Suite.test_an_entry_that_fails_leaves_nothing, ""),
        (MemoryAdapter, "write", keep_first, Suite.test_an_entry_that_fails_leaves_nothing, ""),
        (MemoryAdapter, "write", in_two_commits, Suite.test_entries_of_a_feed_are_exact, ""),
        (MemoryAdapter, "write", changes_first, Suite.test_entries_of_a_feed_are_exact, ""),
        (MemoryAdapter, "kept", lambda *_: {}, Suite.test_what_is_kept_is_not_seen, ""),
        (MemoryAdapter, "kept", lambda *_: {"cursor": "0"}, Suite.test_feeds_write_at_once, ""),
        (MemoryAdapter, "kept", lambda *_: {}, Suite.test_entries_join_batches_and_come_from_callbacks, ""),
    ],
)  # fmt: skip
def test_a_fault_is_caught(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, fault: Any, check: Callable[[Any], Any], says: str
) -> None:
    """An adapter that loses, misplaces, repeats or splits changes, or forgets what it keeps, fails."""
    monkeypatch.setattr(where, name, fault)
    with pytest.raises((AssertionError, KeyError), match=says or None):
        check(TestsOfMemory())


def test_the_suite_needs_a_store() -> None:
    """A subclass without make_store is told what to write."""
    with pytest.raises(NotImplementedError, match="empty store"):
        AdapterContract().test_random_sequences()
