"""LeftJoin (OPTIONAL): left rows merged with the right rows that fit, or alone if none does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.join import Sides
from rdflive.engine.operators.operator import Pairs, gather, row_at
from rdflive.engine.operators.ordered import Order

__all__ = ["LeftJoinOperator"]


class LeftJoinOperator:
    """The left rows of OPTIONAL with their matches. A left row without a match is output once, with unbound
    columns.

    A right row matches if it is compatible and the condition holds for the merged row, which has all output
    columns. `order` is an inequality of the condition between the two sides, if there is one. The number of
    matches is kept per left row, so that the first and the last match are recognized without a search.
    Positions are as in `Sides`.
    """

    __slots__ = ("_condition", "_matches", "_pad", "_sides")

    def __init__(
        self,
        dictionary: Dictionary,
        keys: Pairs,
        maybe: Pairs,
        columns: Pairs,
        condition: Callable[[Row], bool] | None = None,
        order: Order | None = None,
    ) -> None:
        self._sides = Sides(dictionary, keys, maybe, columns, order)
        self._condition = condition
        self._pad = row_at([left for left, _ in columns])
        self._matches: Weights = {}

    def update(self, *deltas: Weights) -> Weights:
        """Match changed left rows with the old right side, then changed right rows with the new left side."""
        left, right = deltas
        delta: Weights = {}
        for row, change in left.items():
            self._change_left(delta, row, change)
        for row, change in right.items():
            self._change_right(delta, row, change)
        return delta

    def _change_left(self, delta: Weights, row: Row, change: int) -> None:
        matches = 0
        for entries in self._sides.probe_right(row):
            for other, weight in entries:
                merged = self._sides.merge(row, other)
                if self._condition is None or self._condition(merged):
                    gather(delta, merged, change * weight)
                    matches += weight
        # OPTIONAL outputs a left row without a match too
        if not matches:
            gather(delta, self._pad(row), change)
        # the number of matches belongs to the distinct row, whatever its weight
        weight = self._sides.left.update(row, change)
        if not weight:
            self._matches.pop(row, None)
        elif matches:
            self._matches[row] = matches

    def _change_right(self, delta: Weights, row: Row, change: int) -> None:
        for entries in self._sides.probe_left(row):
            for other, weight in entries:
                merged = self._sides.merge(other, row)
                if self._condition is None or self._condition(merged):
                    gather(delta, merged, weight * change)
                    self._count(delta, other, weight, change)
        self._sides.right.update(row, change)

    def _count(self, delta: Weights, row: Row, weight: int, change: int) -> None:
        """Change the number of matches of a left row. The first match removes the padded row, the last
        restores it.
        """
        if row not in self._matches:
            gather(delta, self._pad(row), -weight)
        gather(self._matches, row, change)
        if row not in self._matches:
            gather(delta, self._pad(row), weight)

    def clear(self) -> None:
        """Discard both sides."""
        self._sides.clear()
        self._matches.clear()

    def containers(self) -> list[Any]:
        """List the indexes of both sides and the numbers of matches."""
        return [*self._sides.containers(), self._matches]
