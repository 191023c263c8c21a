"""The background graph of windows, asked for single triples."""

from __future__ import annotations

from typing import Any

from rdflive.engine.view import Lister
from rdflive.model import Triple

__all__ = ["BackgroundGraph"]


class BackgroundGraph:
    """The background graph as of the last commit; remembers predicates that it does not have.

    Every triple of a stream is looked up here, and the predicates of a stream are mostly not in the graph. So
    most look-ups end at a set.
    """

    def __init__(self, triples: Lister) -> None:
        self.triples = triples
        """Lists the triples of the graph that match a pattern, as of the last commit."""
        self._absent: set[Any] = set()

    def holds(self, triple: Triple) -> bool:
        """Tell whether the graph holds a triple."""
        predicate = triple[1]
        if predicate in self._absent:
            return False
        if next(iter(self.triples(triple)), None) is not None:
            return True
        # Asked only after a miss: a predicate that the graph has needs no second look-up when it hits.
        self.knows(predicate)
        return False

    def knows(self, predicate: Any) -> bool:
        """Tell whether the graph has a triple with a predicate."""
        if predicate in self._absent:
            return False
        if next(iter(self.triples((None, predicate, None))), None) is not None:
            return True
        self._absent.add(predicate)
        return False

    def touch(self, change: Triple) -> None:
        """Take note of a change of the graph; every change must be told."""
        self._absent.discard(change[1])

    def reload(self) -> None:
        """Forget what is remembered, because the graph may have changed unseen."""
        self._absent.clear()
