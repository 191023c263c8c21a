"""The graph beside windows, asked whether it holds single triples."""

from __future__ import annotations

from typing import Any

from rdflive.engine.view import Lister
from rdflive.model import Triple

__all__ = ["Beside"]


class Beside:
    """Remembers which predicates the graph does not have: those of streams are mostly not in it."""

    def __init__(self, triples: Lister) -> None:
        self.triples = triples
        """Lists what the graph holds and matches a pattern, as of the last commit."""
        self._absent: set[Any] = set()

    def holds(self, triple: Triple) -> bool:
        """Tell whether the graph holds a triple."""
        predicate = triple[1]
        if predicate in self._absent:
            return False
        if next(iter(self.triples(triple)), None) is not None:
            return True
        if next(iter(self.triples((None, predicate, None))), None) is None:
            self._absent.add(predicate)
        return False

    def touch(self, change: Triple) -> None:
        """Be told of every change of the graph."""
        self._absent.discard(change[1])

    def reload(self) -> None:
        """Forget what is remembered: the graph may have changed unseen."""
        self._absent.clear()
