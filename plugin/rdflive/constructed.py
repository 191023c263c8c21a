"""The live graph of a CONSTRUCT query."""

from __future__ import annotations

from typing import Any

from rdflib import Graph

from rdflive import manager
from rdflive.model import Delta
from rdflive.store import Adapter

__all__ = ["ConstructedGraph"]


class ConstructedGraph:
    """An rdflib graph that follows the deltas of a CONSTRUCT query, one commit for each."""

    def __init__(self, adapter: Adapter, now: Delta) -> None:
        """Begin with the whole answer; deltas up to its sequence are in it already."""
        self.graph = Graph()
        self._since = now.sequence
        self._convert = adapter.to_rdflib() if adapter.from_native() is None else None
        for triple in now.added:
            self.graph.add(self._terms(triple))

    def take(self, delta: Delta) -> None:
        """Apply a delta; an initial one replaces everything."""
        if delta.sequence < self._since or (delta.sequence == self._since and not delta.initial):
            return
        with manager.batch(self.graph.store):
            if delta.initial:
                wanted = set(map(self._terms, delta.added))
                for triple in set(self.graph) - wanted:
                    self.graph.remove(triple)
            for triple in delta.removed:
                self.graph.remove(self._terms(triple))
            for triple in delta.added:
                self.graph.add(self._terms(triple))

    def _terms(self, triple: Any) -> Any:
        """Turn the user's terms into rdflib's."""
        return triple if self._convert is None else tuple(map(self._convert, triple))
