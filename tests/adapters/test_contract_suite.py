"""A faulty adapter does not pass the contract suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.plugins.stores.memory import Memory

from rdflive.store import Capture, Transaction
from rdflive.store.rdflib_graphs import ADAPTER, default_graph
from rdflive.testing import AdapterContract, check_fuzz, check_operation
from rdflive.testing.operations import DATASET_OPERATIONS, GRAPH_OPERATIONS, NAMES
from rdflive_stores.rdflib_memory import MemoryAdapter
from rdflive_stores.rdflib_memory_live import live_memory


def failures() -> Iterator[str]:
    """The operations whose check fails."""
    for operation in GRAPH_OPERATIONS + DATASET_OPERATIONS:
        try:
            check_operation(Memory, operation)
        except AssertionError:
            yield operation.name


def skip_every(number: int) -> Any:
    """A record that loses one change in `number`."""
    calls = iter(range(10**9))
    record = Capture.record

    def faulty(self: Capture, *arguments: Any) -> None:
        if next(calls) % number:
            record(self, *arguments)

    return faulty


def test_a_skipped_remove_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter that does not record removals fails wherever something is removed."""
    monkeypatch.setattr(live_memory(Memory), "remove", Memory.remove)
    failed = set(failures())
    assert {
        "remove what is there",
        "remove by subject",
        "remove everything",
        "update DELETE WHERE {?s :q ?o}",
    } <= failed
    with pytest.raises(AssertionError):
        check_fuzz(Memory, sequences=2)


def test_a_duplicate_add_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter that records an add of what is there fails."""

    def add(self: Any, triple: Any, context: Any, quoted: bool = False) -> None:
        Memory.add(self, triple, context, quoted)
        vars(self)[ADAPTER].capture.record(1, *triple, context.identifier)

    monkeypatch.setattr(live_memory(Memory), "add", add)
    with pytest.raises((AssertionError, KeyError)):
        check_fuzz(Memory, sequences=5)


def test_a_rare_loss_is_caught_by_the_fuzz(monkeypatch: pytest.MonkeyPatch) -> None:
    """One lost change in fifty is found by a few random sequences."""
    monkeypatch.setattr(Capture, "record", skip_every(50))
    with pytest.raises((AssertionError, KeyError)):
        check_fuzz(Memory, sequences=10)


def test_split_commits_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter that makes several commits of one addN fails."""
    monkeypatch.setattr(live_memory(Memory), "addN", Memory.addN)
    assert "addN" in set(failures())


class TestsOfMemory(AdapterContract):
    """The suite for Memory, called by hand."""

    __test__ = False

    def make_store(self) -> Any:
        return Memory()


def test_lost_quads_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter whose quads leave out the default graph, or come twice, fails."""
    quads = MemoryAdapter.quads
    faults: tuple[Callable[[Any], Any], ...] = (
        lambda found: (quad for quad in found if quad[3] != DATASET_DEFAULT_GRAPH_ID),
        lambda found: (quad for quad in found for _ in range(2)),
    )
    for fault in faults:
        monkeypatch.setattr(MemoryAdapter, "quads", lambda self, pattern, f=fault: f(quads(self, pattern)))
        with pytest.raises(AssertionError, match="quads for"):
            TestsOfMemory().test_quads_are_those_of_the_graphs()


def test_a_wrong_default_graph_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter that takes a named graph for the default one, or accepts a single graph, fails."""
    monkeypatch.setattr(MemoryAdapter, "default_graph", lambda self, graph: default_graph(graph) and NAMES[0])
    with pytest.raises(AssertionError, match=r"GRAPH \?g"):
        TestsOfMemory().test_named_graphs_are_those_of_a_query()
    monkeypatch.setattr(MemoryAdapter, "default_graph", lambda self, graph: DATASET_DEFAULT_GRAPH_ID)
    with pytest.raises(AssertionError, match="is no dataset"):
        TestsOfMemory().test_named_graphs_are_those_of_a_query()


def test_a_change_recorded_under_another_graph_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter that records a change of the second graph in a third one fails."""
    record = Capture.record

    def faulty(self: Capture, sign: Any, s: Any, p: Any, o: Any, graph: Any) -> None:
        record(self, sign, s, p, o, NAMES[0] + "x" if graph == NAMES[1] else graph)

    monkeypatch.setattr(Capture, "record", faulty)
    with pytest.raises(AssertionError):
        check_fuzz(Memory, sequences=2)


def test_pending_changes_that_are_forgotten_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An open batch whose changes cannot be taken back fails."""
    monkeypatch.setattr(Capture, "pending_quads", lambda self: {})
    with pytest.raises(AssertionError, match="the quads of the last commit"):
        TestsOfMemory().test_an_open_batch_can_be_taken_back()


def test_the_suite_needs_a_store() -> None:
    """A subclass without make_store is told what to write."""
    with pytest.raises(NotImplementedError, match="empty store"):
        AdapterContract().test_random_sequences()


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


WRITE = MemoryAdapter.write


@pytest.mark.parametrize(
    ("name", "fault", "test"),
    [
        ("_undo", lambda *_: None, TestsOfMemory.test_an_entry_that_fails_leaves_nothing),
        ("write", keep_first, TestsOfMemory.test_an_entry_that_fails_leaves_nothing),
        ("write", in_two_commits, TestsOfMemory.test_entries_of_a_feed_are_exact),
        ("write", changes_first, TestsOfMemory.test_entries_of_a_feed_are_exact),
        ("kept", lambda *_: {}, TestsOfMemory.test_what_is_kept_is_not_seen),
        ("kept", lambda *_: {"cursor": "0"}, TestsOfMemory.test_feeds_write_at_once),
        ("kept", lambda *_: {}, TestsOfMemory.test_entries_join_batches_and_come_from_callbacks),
    ],
)
def test_a_fault_in_writing_is_caught(
    monkeypatch: pytest.MonkeyPatch, name: str, fault: Any, test: Callable[[Any], None]
) -> None:
    """An adapter that writes an entry in pieces or out of order, or forgets what it keeps, fails."""
    monkeypatch.setattr(MemoryAdapter, name, fault)
    with pytest.raises((AssertionError, KeyError)):
        test(TestsOfMemory())
