"""Every built-in adapter passes the suite that it asks of others."""

from __future__ import annotations

from typing import Any

import pytest
import rdflib
from rdflib.plugins.stores.auditable import AuditableStore
from rdflib.plugins.stores.memory import Memory, SimpleMemory

import rdflive
from rdflive.testing import AdapterContract, check_fuzz, check_operation
from rdflive.testing.operations import GRAPH_OPERATIONS
from support.effort import drawn_from, rounds


def oxigraph() -> Any:
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    return rdflib.plugin.get("Oxigraph", rdflib.store.Store)()


class Contract(AdapterContract):
    """The suite with other random sequences in each run."""

    sequences = rounds(500, share=25)

    def test_random_sequences(self) -> None:
        """Random sequences of operations give exact deltas, and enough of them change something."""
        seed = drawn_from(type(self).__name__).getrandbits(32)
        assert check_fuzz(self.make_store, sequences=self.sequences, seed=seed) >= 0.3


class TestMemory(Contract):
    def make_store(self) -> Any:
        return Memory()


class TestSimpleMemory(Contract):
    sequences = rounds(40, share=10)

    def make_store(self) -> Any:
        return SimpleMemory()


class TestAuditableMemory(Contract):
    sequences = rounds(40, share=10)

    def make_store(self) -> Any:
        return AuditableStore(Memory())


class TestOxigraph(Contract):
    def make_store(self) -> Any:
        return oxigraph()


class TestAuditableOxigraph(Contract):
    sequences = rounds(40, share=10)

    def make_store(self) -> Any:
        return AuditableStore(oxigraph())


def test_a_subclass_with_writes_of_its_own_is_refused() -> None:
    """What a subclass does in its own add could not be followed exactly; one that only reads is watched."""

    class Reading(Memory):
        def size(self) -> int:
            return len(self)

    class Symmetric(Memory):
        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            s, p, o = triple
            super().add(triple, context, quoted)
            super().add((o, p, s), context, quoted)

    check_operation(Reading, GRAPH_OPERATIONS[0])
    with pytest.raises(rdflive.UnsupportedStoreError, match="overrides add"):
        rdflive.subscribe(rdflib.Graph(Symmetric()), "ASK { ?s ?p ?o }")
