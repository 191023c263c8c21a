"""Filter: the rows of which a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rdflive.engine.multiset import Row, Weights

__all__ = ["FilterOperator"]


class FilterOperator:
    """Lets rows through that pass a test, which must depend on nothing but the row.

    >>> Filter(all).update({(7, 8): 2, (7, 0): 1})
    {(7, 8): 2}
    """

    __slots__ = ("function",)

    def __init__(self, test: Callable[[Row], bool]) -> None:
        self.function = test

    def update(self, *deltas: Weights) -> Weights:
        """Test every row."""
        (delta,) = deltas
        test = self.function
        return {row: weight for row, weight in delta.items() if test(row)}

    def clear(self) -> None:
        """Nothing is kept."""

    def containers(self) -> list[Any]:
        """Nothing is kept."""
        return []
