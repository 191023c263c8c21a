"""Extend (BIND): one more column, computed from the row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rdflive.engine.multiset import Row, Weights

__all__ = ["ExtendOperator"]


class ExtendOperator:
    """Appends `value(row)`, an id, or UNBOUND where the expression fails.

    The value must depend on nothing but the row: a delete computes it again.

    >>> Extend(sum).update({(7, 8): 2})
    {(7, 8, 15): 2}
    """

    __slots__ = ("function",)

    def __init__(self, value: Callable[[Row], int]) -> None:
        self.function = value

    def update(self, *deltas: Weights) -> Weights:
        """Extend every row."""
        (delta,) = deltas
        value = self.function
        return {(*row, value(row)): weight for row, weight in delta.items()}

    def clear(self) -> None:
        """Nothing is kept."""

    def containers(self) -> list[Any]:
        """Nothing is kept."""
        return []
