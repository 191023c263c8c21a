"""Union: the rows of all inputs, brought to the same columns."""

from __future__ import annotations

from typing import Any

from rdflive.engine.multiset import Weights
from rdflive.engine.operators.operator import gather
from rdflive.engine.operators.places import row_at

__all__ = ["UnionOperator"]


class UnionOperator:
    """Adds its inputs; `columns` has per input the place of each output column, -1 for UNBOUND.

    >>> Union(((0, -1), (-1, 0))).update({(7,): 1}, {(8,): 2})
    {(7, 0): 1, (0, 8): 2}
    """

    __slots__ = ("_rows",)

    def __init__(self, columns: tuple[tuple[int, ...], ...]) -> None:
        self._rows = tuple(row_at(places) for places in columns)

    def update(self, *deltas: Weights) -> Weights:
        """Add the deltas up."""
        added: Weights = {}
        for to_row, delta in zip(self._rows, deltas, strict=True):
            for row, weight in delta.items():
                gather(added, to_row(row), weight)
        return added

    def clear(self) -> None:
        """Nothing is kept."""

    def containers(self) -> list[Any]:
        """Nothing is kept."""
        return []
