"""Distinct: every row once, however often it occurs."""

from __future__ import annotations

from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Multiset, Row, Weights

__all__ = ["DistinctOperator"]


class DistinctOperator:
    """Counts its rows. A row is added with its first occurrence and removed with its last."""

    __slots__ = ("_multiset",)

    def __init__(self, dictionary: Dictionary) -> None:
        self._multiset = Multiset(dictionary)

    def update(self, *deltas: Weights) -> Weights:
        """Return the rows that are new or gone."""
        (delta,) = deltas
        return self._multiset.update(delta)

    def one(self, row: Row, change: int) -> int:
        """Apply one row, and return 1 if it is new, -1 if it is gone, and otherwise 0."""
        return self._multiset.one(row, change)

    def rows(self) -> Weights:
        """Return the current output."""
        return dict.fromkeys(self._multiset.weights, 1)

    def clear(self) -> None:
        """Discard every row."""
        self._multiset.clear()

    def containers(self) -> list[Any]:
        """List the counts."""
        return [self._multiset.weights]
