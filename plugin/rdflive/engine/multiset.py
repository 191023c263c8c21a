"""Multisets: sums of rows and of solutions, and one that keeps rows for DISTINCT."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, TypeVar

from rdflive.engine.dictionary import Dictionary
from rdflive.model import Terms

__all__ = ["Multiset", "Row", "TermWeights", "Weights", "add_rows", "add_up", "add_weights", "common_losses"]

Row: TypeAlias = tuple[int, ...]
Weights: TypeAlias = dict[Row, int]
"""Rows and their weights, none of them zero."""
TermWeights: TypeAlias = dict[Terms, int]
"""Solutions and their weights, none of them zero."""
Key = TypeVar("Key")


def add_rows(weights: Weights, rows: Iterable[Row], sign: int) -> None:
    """Add `sign` to the weight of every row; remove weights of zero."""
    for row in rows:
        weight = weights.get(row, 0) + sign
        if weight:
            weights[row] = weight
        else:
            del weights[row]


def add_weights(weights: dict[Key, int], changes: Iterable[tuple[Key, int]]) -> None:
    """Add the weights of equal rows; remove weights of zero."""
    for row, change in changes:
        weight = weights.get(row, 0) + change
        if weight:
            weights[row] = weight
        else:
            del weights[row]


def add_up(listed: Iterable[tuple[Terms, int]]) -> TermWeights:
    """Add the weights of equal solutions; remove weights of zero."""
    weights: TermWeights = {}
    add_weights(weights, listed)
    return weights


def common_losses(net: TermWeights, passed: TermWeights) -> TermWeights:
    """Count the solutions that expired because time passed.

    A commit has two parts: its writes, then `passed`, the changes by time; `net` is their sum. A solution
    that a write added in the same commit and time removed did not expire.
    """
    lost = ((solution, weight) for solution, weight in passed.items() if weight < 0)
    losses = {solution: min(-weight, -net.get(solution, 0)) for solution, weight in lost}
    return {solution: count for solution, count in losses.items() if count > 0}


class Multiset:
    """Rows of ids with counts, for DISTINCT: finds which rows are new or gone.

    Each distinct row holds its ids in the dictionary, once.
    """

    __slots__ = ("_dictionary", "weights")

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self.weights: Weights = {}

    def update(self, delta: Weights) -> Weights:
        """Add a delta and return the rows that are new (+1) or gone (-1): the delta of DISTINCT."""
        one = self.one
        return {row: turned for row, change in delta.items() if (turned := one(row, change))}

    def one(self, row: Row, change: int) -> int:
        """Add to the count of one row, and return 1 if it is new, -1 if it is gone, and otherwise 0."""
        weights = self.weights
        before = weights.get(row, 0)
        after = before + change
        if after:
            weights[row] = after
            if before:
                return 0
            self._dictionary.hold(row)
            return 1
        del weights[row]
        self._dictionary.drop(row)
        return -1

    def clear(self) -> None:
        """Discard every row."""
        self.update({row: -weight for row, weight in self.weights.items()})
