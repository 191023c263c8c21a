"""The live graph of a CONSTRUCT query."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rdflib import Graph

from rdflive.model import Delta
from rdflive.plugins import manager

__all__ = ["ConstructedGraph"]

log = logging.getLogger("rdflive")


class ConstructedGraph:
    """An rdflib graph that follows the deltas of a CONSTRUCT query, one commit for each."""

    def __init__(self, now: Delta, convert: Callable[[Any], Any] | None = None) -> None:
        """Start with the full answer `now`, which includes the deltas up to its sequence number.

        `convert` turns terms of deltas into rdflib's; None if they are rdflib's.
        """
        self.graph = Graph()
        self._since = now.sequence
        self._convert = convert
        for triple in self._triples(now.added):
            self.graph.add(triple)

    def take(self, delta: Delta) -> None:
        """Apply a delta; an initial one replaces everything."""
        # the answer at the start includes it
        if delta.sequence < self._since or (delta.sequence == self._since and not delta.initial):
            return
        # so that a subscription to this graph gets one delta per delta
        with manager.batch(self.graph.store):
            if delta.initial:
                wanted = set(self._triples(delta.added))
                for triple in set(self.graph) - wanted:
                    self.graph.remove(triple)
            for triple in self._triples(delta.removed):
                self.graph.remove(triple)
            for triple in self._triples(delta.added):
                self.graph.add(triple)

    def _triples(self, triples: Iterable[Any]) -> Iterator[Any]:
        """Turn the user's terms into rdflib's; triples with a term that rdflib cannot hold are left out."""
        for triple in triples:
            try:
                yield triple if self._convert is None else tuple(map(self._convert, triple))
            except ValueError:
                log.warning("the graph of a CONSTRUCT query leaves out %r: rdflib has no such term", triple)
