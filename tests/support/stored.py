"""Datasets on disk with a change log, as `rdflive serve` opens them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rdflib

from rdflive.plugins import manager
from rdflive.server.durable import writing_ahead
from rdflive.store import History, StoredLog
from rdflive.store.stored_log import session_of

__all__ = ["Stored", "stored"]


@dataclass(frozen=True)
class Stored:
    """An open store on disk."""

    dataset: rdflib.Dataset
    log: StoredLog
    history: History

    def quads(self) -> frozenset[Any]:
        """Return the content in the terms of the store."""
        with manager.locked(manager.store_of(self.dataset)) as adapter:
            return frozenset(adapter.quads((None, None, None)))

    def before(self, number: int) -> frozenset[Any]:
        """Return the content after the commit with a number, by undoing the later commits."""
        quads = set(self.quads())
        with manager.locked(manager.store_of(self.dataset)) as locked:
            adapter: Any = locked
            for _, content in reversed(list(self.log.since(number, self.history.number))):
                for quad, sign in adapter.read_changes(content).items():
                    assert (quad in quads) is (sign > 0), f"no real change: {sign} {quad}"
                    (quads.remove if sign > 0 else quads.add)(quad)
        return frozenset(quads)


@contextmanager
def stored(folder: Path, **bounds: Any) -> Iterator[Stored]:
    """Open the store in a folder, or make it; bounds are those of its log."""
    path = folder / "store"
    before = session_of(path)
    dataset = rdflib.Dataset("Oxigraph")
    dataset.open(str(path))
    try:
        log = StoredLog(folder / "store.rdflive-log", path, **bounds)
        log.open(before)
        with writing_ahead(dataset, log) as history:
            yield Stored(dataset, log, history)
    finally:
        dataset.close()
