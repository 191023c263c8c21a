"""Values: rows written in the query, which come with the first update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights, add_rows

__all__ = ["ValuesOperator"]


class ValuesOperator:
    """An operator without inputs: its first update gives all its rows, later ones give nothing.

    The ids of its rows are held from the start until `clear`, after which it has no rows.
    """

    __slots__ = ("_dictionary", "_fresh", "_weights")

    def __init__(self, rows: Sequence[Row], dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._weights: Weights = {}
        add_rows(self._weights, rows, 1)
        for row in self._weights:
            dictionary.hold(row)
        self._fresh = True

    def update(self, *deltas: Weights) -> Weights:
        """Give the rows, once."""
        if deltas:
            raise ValueError(f"Values has no inputs, {len(deltas)} deltas were given")
        # Later updates bring deltas of other inputs; these rows never change.
        fresh, self._fresh = self._fresh, False
        return dict(self._weights) if fresh else {}

    def clear(self) -> None:
        """Forget the rows."""
        for row in self._weights:
            self._dictionary.drop(row)
        self._weights.clear()

    def containers(self) -> list[Any]:
        """List the rows."""
        return [self._weights]
