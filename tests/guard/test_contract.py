"""The contract of adapters on stores whose guard looks at every change and refuses none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import rdflib

import rdflive
from guard.worlds import STORES, make_store
from rdflive.testing import AdapterContract
from support.effort import rounds

NEVER = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } FILTER(?o = <urn:never>) }"
KINDS = [kind for kind in STORES if kind != "auditable oxigraph"]
NEVER_HERE = "SELECT * { ?s ?p ?o FILTER(?o = <urn:never>) }"


@pytest.mark.sampled(8)
class TestGuarded(AdapterContract):
    """Writes are what they are without a guard."""

    sequences = rounds(20)

    @pytest.fixture(params=KINDS, autouse=True)
    def _kind(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
        with ExitStack() as self._stack:
            self._name = request.param
            self._folders = (tmp_path / str(number) for number in range(10_000))
            yield

    def make_store(self) -> Any:
        """Make a guarded store."""
        folder = next(self._folders)
        folder.mkdir()
        store = self._stack.enter_context(make_store(self._name, folder))
        graph = rdflib.Dataset(store, default_union=True) if store.graph_aware else rdflib.Graph(store)
        self._stack.enter_context(rdflive.guard(graph, NEVER if store.graph_aware else NEVER_HERE))
        return store

    def test_closing_leaves_no_trace(self) -> None:
        """What a guard leaves is looked at elsewhere."""
