"""Stores that can be guarded, and all that a refused write must leave as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.plugins.stores.auditable import AuditableStore
from rdflib.plugins.stores.memory import Memory, SimpleMemory

import rdflive
from rdflive.plugins import manager
from rdflive.testing.operations import World

__all__ = ["STORES", "Guarded", "guarded", "make_store"]


def _oxigraph() -> Any:
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    return rdflib.plugin.get("Oxigraph", rdflib.store.Store)()


def _on_disk(folder: Path) -> Any:
    store = _oxigraph()
    store.open(str(folder / "store"))
    return store


STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda _: Memory(),
    "simple memory": lambda _: SimpleMemory(),
    "auditable": lambda _: AuditableStore(Memory()),
    "oxigraph": lambda _: _oxigraph(),
    "oxigraph on disk": _on_disk,
    "auditable oxigraph": lambda _: AuditableStore(_oxigraph()),
}


@contextmanager
def make_store(kind: str, folder: Path) -> Iterator[Any]:
    """Make an empty store; one on disk is closed afterwards, for its folder is locked until then."""
    store = STORES[kind](folder)
    yield store
    if "disk" in kind:
        store.close()


class Guarded:
    """A filled world with subscriptions to all that is in it, one of which keeps a journal."""

    def __init__(self, store: Any, folder: Path, seed: object) -> None:
        self._seed = f"{seed}"
        self.world = World(store)
        self.world.prepare()
        self.begin_anew()
        self.views = self.world.views()
        self.told: list[rdflive.Delta] = []
        self._journal = folder / "journal"
        self.subscriptions = [
            rdflive.subscribe(view, "SELECT ?s ?p ?o { ?s ?p ?o }", self.told.append, initial=False)
            for view in self.views
        ]
        self.subscriptions.append(
            rdflive.subscribe(
                self.world.graph, "SELECT ?s (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s", self.told.append,
                initial=False, name="one", resume=self._journal,
            )
        )  # fmt: skip
        with manager.locked(store) as self.adapter:
            pass

    def begin_anew(self) -> None:
        """Have random writes be those of the beginning."""
        self.world.choice = Random(self._seed)

    def content(self) -> list[set[Any]]:
        """List what each graph holds."""
        return [set(view.triples((None, None, None))) for view in self.views]

    def names(self) -> set[Any]:
        """List the names of graphs, also of empty ones, without that of the default graph."""
        store = self.world.store
        found = store.contexts() if self.world.graph_aware else ()
        return {getattr(each, "identifier", each) for each in found} - {DATASET_DEFAULT_GRAPH_ID, None}

    def state(self) -> dict[str, object]:
        """Give all that a refused write leaves as it was."""
        kept: Any = self.adapter
        return {
            "content": self.content(),
            "names": self.names(),
            "sequence": self.adapter.capture.sequence,
            "told": len(self.told),
            "answers": [{*map(tuple, each.answers())} for each in self.subscriptions],
            "entries": [each.stats for each in self.subscriptions],
            "journal": self._journal.read_bytes(),
            "kept": kept.kept("a feed"),
            # what an `AuditableStore` would undo
            "rollback": list(getattr(self.world.store, "reverseOps", ())),
        }

    def refuse_everything(self) -> list[rdflive.Guard]:
        """Have every change of any graph refused, whether something comes or goes."""
        return [
            rdflive.guard(view, text)
            for view in self.views
            for text in ("SELECT ?s ?p ?o { ?s ?p ?o }", _of_what_is_gone(view))
            if text
        ]

    def close(self) -> None:
        """End the subscriptions."""
        for each in self.subscriptions:
            each.close()


def _of_what_is_gone(view: rdflib.Graph) -> str:
    """Ask for the triples that there are now and will not be."""
    held = set(view.triples((None, None, None)))
    rows = " ".join(f"({' '.join(term.n3() for term in triple)})" for triple in held)
    return rows and f"SELECT ?s ?p ?o {{ VALUES (?s ?p ?o) {{ {rows} }} FILTER NOT EXISTS {{ ?s ?p ?o }} }}"


@contextmanager
def guarded(kind: str, folder: Path, seed: object) -> Iterator[Guarded]:
    """Make a filled world over a new store."""
    with ExitStack() as stack:
        made = Guarded(stack.enter_context(make_store(kind, folder)), folder, seed)
        stack.callback(made.close)
        yield made
