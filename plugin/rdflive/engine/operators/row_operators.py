"""Filter, Extend, Project, Union and Values: operators that handle each row by itself and keep no state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights, add_rows
from rdflive.engine.operators.operator import gather, row_at

__all__ = ["ExtendOperator", "FilterOperator", "ProjectOperator", "UnionOperator", "ValuesOperator"]


class FilterOperator:
    """Outputs the rows that pass a test, which must depend only on the row.

    >>> FilterOperator(all).update({(7, 8): 2, (7, 0): 1})
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
        """Do nothing: there is no state."""

    def containers(self) -> list[Any]:
        """Return an empty list: there is no state."""
        return []


class ExtendOperator:
    """Appends `value(row)`, an id, or UNBOUND if the expression fails.

    The value must depend only on the row: a delete computes it again.

    >>> ExtendOperator(sum).update({(7, 8): 2})
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
        """Do nothing: there is no state."""

    def containers(self) -> list[Any]:
        """Return an empty list: there is no state."""
        return []


class ProjectOperator:
    """Projects rows of a given width to the columns at some places, -1 for UNBOUND; equal rows add their
    weights.

    >>> ProjectOperator((1, -1), 2).update({(7, 8): 1, (9, 8): 2})
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
        # if no column is dropped, different rows stay different
        if self._keeps:
            return {take(row): weight for row, weight in delta.items()}
        projected: Weights = {}
        for row, weight in delta.items():
            gather(projected, take(row), weight)
        return projected

    def clear(self) -> None:
        """Do nothing: there is no state."""

    def containers(self) -> list[Any]:
        """Return an empty list: there is no state."""
        return []


class UnionOperator:
    """Adds its inputs; `columns` has per input the place of each output column, -1 for UNBOUND.

    >>> UnionOperator(((0, -1), (-1, 0))).update({(7,): 1}, {(8,): 2})
    {(7, 0): 1, (0, 8): 2}
    """

    __slots__ = ("_rows",)

    def __init__(self, columns: tuple[tuple[int, ...], ...]) -> None:
        self._rows = tuple(row_at(places) for places in columns)

    def update(self, *deltas: Weights) -> Weights:
        """Add the deltas."""
        added: Weights = {}
        for to_row, delta in zip(self._rows, deltas, strict=True):
            for row, weight in delta.items():
                gather(added, to_row(row), weight)
        return added

    def clear(self) -> None:
        """Do nothing: there is no state."""

    def containers(self) -> list[Any]:
        """Return an empty list: there is no state."""
        return []


class ValuesOperator:
    """An operator without inputs: its first update returns all its rows, later ones nothing.

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
        """Return the rows, once."""
        if deltas:
            raise ValueError(f"Values has no inputs, {len(deltas)} deltas were given")
        # later updates carry deltas of other inputs; these rows never change
        fresh, self._fresh = self._fresh, False
        return dict(self._weights) if fresh else {}

    def clear(self) -> None:
        """Discard the rows."""
        for row in self._weights:
            self._dictionary.drop(row)
        self._weights.clear()

    def containers(self) -> list[Any]:
        """List the rows."""
        return [self._weights]
