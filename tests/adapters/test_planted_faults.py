"""A faulty adapter does not pass the contract suite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rdflib.plugins.stores.memory import Memory

from rdflive.store import Capture
from rdflive.testing import AdapterContract, check_fuzz, check_operation
from rdflive.testing_operations import DATASET_OPERATIONS, GRAPH_OPERATIONS
from rdflive_stores.rdflib_graphs import ADAPTER
from rdflive_stores.rdflib_memory import live_memory


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


def test_the_suite_needs_a_store() -> None:
    """A subclass without make_store is told what to write."""
    with pytest.raises(NotImplementedError, match="empty store"):
        AdapterContract().test_random_sequences()
