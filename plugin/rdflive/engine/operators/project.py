"""Project: some columns of the rows, in another order, renamed or repeated."""

from __future__ import annotations

from typing import Any

from rdflive.engine.multiset import Weights
from rdflive.engine.operators.operator import gather
from rdflive.engine.operators.places import row_at

__all__ = ["ProjectOperator"]


class ProjectOperator:
    """Gives the columns at some places of rows with so many, -1 for UNBOUND; rows that become equal add
    their weights.

    >>> Project((1, -1), 2).update({(7, 8): 1, (9, 8): 2})
    {(8, 0): 3}
    """

    __slots__ = ("_keeps", "_renames", "_row")

    def __init__(self, places: tuple[int, ...], width: int) -> None:
        self._row = row_at(places)
        self._renames = places == tuple(range(width))
        self._keeps = set(places).issuperset(range(width))

    def update(self, *deltas: Weights) -> Weights:
        """Project every row."""
        (delta,) = deltas
        if self._renames:
            return delta
        take = self._row
        # without a column less, different rows stay different
        if self._keeps:
            return {take(row): weight for row, weight in delta.items()}
        projected: Weights = {}
        for row, weight in delta.items():
            gather(projected, take(row), weight)
        return projected

    def clear(self) -> None:
        """Nothing is kept."""

    def containers(self) -> list[Any]:
        """Nothing is kept."""
        return []
