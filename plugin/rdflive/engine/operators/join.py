"""Join: left rows merged with the right rows that are compatible."""

from __future__ import annotations

from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Weights
from rdflive.engine.operators.operator import gather
from rdflive.engine.operators.places import Pairs
from rdflive.engine.operators.sides import Sides

__all__ = ["JoinOperator"]


class JoinOperator:
    """Join of two inputs: Δ(L ⋈ R) = ΔL ⋈ R + (L + ΔL) ⋈ ΔR, weights multiplied; positions as in `Sides`."""

    __slots__ = ("_sides",)

    def __init__(self, dictionary: Dictionary, keys: Pairs, maybe: Pairs, columns: Pairs) -> None:
        self._sides = Sides(dictionary, keys, maybe, columns)

    def update(self, *deltas: Weights) -> Weights:
        """Join what changed on either side with what is on the other."""
        left, right = deltas
        sides = self._sides
        delta: Weights = {}
        for row, change in left.items():
            for entries in sides.probe_right(row):
                for other, weight in entries:
                    gather(delta, sides.merge(row, other), change * weight)
        for row, change in left.items():
            sides.left.update(row, change)
        # The left index has its changes by now, so that a pair of which both rows are new counts once.
        for row, change in right.items():
            for entries in sides.probe_left(row):
                for other, weight in entries:
                    gather(delta, sides.merge(other, row), change * weight)
        for row, change in right.items():
            sides.right.update(row, change)
        return delta

    def clear(self) -> None:
        """Forget both sides."""
        self._sides.clear()

    def containers(self) -> list[Any]:
        """List the indexes of both sides."""
        return self._sides.containers()
