"""Join: left rows merged with the compatible right rows; each side is indexed for the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.index import Index
from rdflive.engine.operators.operator import Pairs, gather, merger
from rdflive.engine.operators.ordered import Order, Ordered, Search
from rdflive.query.expressions import TURNED

__all__ = ["JoinOperator", "Sides"]


class Sides:
    """Left and right rows. `keys` and `maybe` pair the columns that must be equal, always or if both are
    bound.

    `columns` has, per column of the merged row, its positions in the left and the right row, -1 for none. The
    left value is used if it is bound. With an `order`, which excludes `maybe` columns, probes find only the
    rows for which its inequality may hold.
    """

    __slots__ = ("_columns", "_keys", "left", "merge", "probe_left", "probe_right", "right")

    def __init__(
        self,
        dictionary: Dictionary,
        keys: Pairs,
        maybe: Pairs,
        columns: Pairs,
        order: Order | None = None,
        *,
        farthest: bool = False,
    ) -> None:
        self._keys, self._columns = keys, columns
        left, right = [pair[0] for pair in keys], [pair[1] for pair in keys]
        left_maybe, right_maybe = [pair[0] for pair in maybe], [pair[1] for pair in maybe]
        self.left: Index | Ordered
        self.right: Index | Ordered
        self.probe_left: Search
        self.probe_right: Search
        if order is None:
            self.left = Index(dictionary, left, left_maybe)
            self.right = Index(dictionary, right, right_maybe)
            self.probe_left = self.left.prober(right, right_maybe)
            self.probe_right = self.right.prober(left, left_maybe)
        else:
            self.left = Ordered(dictionary, left, order.left)
            self.right = Ordered(dictionary, right, order.right)
            self.probe_left = self.left.searcher(right, order.operator, order.right)
            turned = TURNED[order.operator]
            self.probe_right = self.right.searcher(left, turned, order.left, farthest=farthest)
        self.merge: Callable[[Row, Row], Row] = self._merge_first
        """Merges a left and a right row that fit."""

    def _merge_first(self, left: Row, right: Row) -> Row:
        """Compile the merge on first use, since it needs the length of a left row."""
        self.merge = merger(self._columns, self._keys, len(left))
        return self.merge(left, right)

    def clear(self) -> None:
        """Discard both sides."""
        self.left.clear()
        self.right.clear()

    def containers(self) -> list[Any]:
        """List the indexes of both sides."""
        return [*self.left.containers(), *self.right.containers()]


class JoinOperator:
    """Join of two inputs: Δ(L ⋈ R) = ΔL ⋈ R + (L + ΔL) ⋈ ΔR, weights multiplied; positions as in `Sides`."""

    __slots__ = ("_sides",)

    def __init__(self, dictionary: Dictionary, keys: Pairs, maybe: Pairs, columns: Pairs) -> None:
        self._sides = Sides(dictionary, keys, maybe, columns)

    def update(self, *deltas: Weights) -> Weights:
        """Join the changes of either side with the rows of the other."""
        left, right = deltas
        sides = self._sides
        delta: Weights = {}
        for row, change in left.items():
            for entries in sides.probe_right(row):
                for other, weight in entries:
                    gather(delta, sides.merge(row, other), change * weight)
        for row, change in left.items():
            sides.left.update(row, change)
        # the left index has its changes by now, so that a pair of two new rows counts once
        for row, change in right.items():
            for entries in sides.probe_left(row):
                for other, weight in entries:
                    gather(delta, sides.merge(other, row), change * weight)
        for row, change in right.items():
            sides.right.update(row, change)
        return delta

    def clear(self) -> None:
        """Discard both sides."""
        self._sides.clear()

    def containers(self) -> list[Any]:
        """List the indexes of both sides."""
        return self._sides.containers()
