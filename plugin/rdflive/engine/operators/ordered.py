"""An index of one side of a join by keys, and by a value that is compared with the other side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.operator import key_at
from rdflive.engine.ranges import Place, Ranges, is_sure
from rdflive.query.budget import Meter

__all__ = ["Order", "Ordered", "PlaceOf", "Search"]

PlaceOf: TypeAlias = Callable[[Row], Place | None]
"""Returns the place of a row in an order; None if no comparison holds for it."""

Search: TypeAlias = Callable[[Row], Iterable[Iterable[tuple[Row, int]]]]
"""Finds the rows that may fit a row of the other side, with their weights, as a sequence of pieces."""


@dataclass(frozen=True, slots=True)
class Order:
    """An inequality between the rows of two sides: left place, `operator`, right place."""

    left: PlaceOf
    operator: str
    right: PlaceOf

    def is_sure(self, left: Row, right: Row) -> bool:
        """Return True if the places alone decide that the inequality holds for two rows."""
        one, other = self.left(left), self.right(right)
        return one is not None and other is not None and is_sure(one, self.operator, other)


class Ordered:
    """Rows indexed for a join whose keys must be equal and whose rows are compared by one inequality.

    A search returns the rows in order, so that the caller may stop early. Each distinct row holds its ids in
    the dictionary.
    """

    __slots__ = ("_dictionary", "_key", "_ranges", "weights")

    def __init__(self, dictionary: Dictionary, keys: Sequence[int], place: PlaceOf) -> None:
        self._dictionary = dictionary
        self._key = key_at(keys)
        self._ranges = Ranges(place)
        self.weights: Weights = {}
        """Every row with its weight."""

    def update(self, row: Row, change: int) -> int:
        """Change the weight of a row and return the new one."""
        weight = self.weights.get(row, 0) + change
        if not weight:
            self._ranges.remove(self._key(row), row)
            del self.weights[row]
            self._dictionary.drop(row)
            return weight
        self.weights[row] = weight
        if weight == change:
            self._ranges.add(self._key(row), row)
            self._dictionary.hold(row)
        return weight

    def searcher(
        self, keys: Sequence[int], operator: str, place: PlaceOf, *, farthest: bool = False
    ) -> Search:
        """Make the function that finds the rows for which the inequality with a row of the other side may
        hold.

        `keys` are the positions of the key in that row, and `place` returns its place. In each piece, which
        is one space, the nearest rows come first, or with `farthest` the farthest.
        """
        key_of, ranges, weights, meter = key_at(keys), self._ranges, self.weights, self._dictionary.meter

        def search(row: Row) -> Iterator[Iterable[tuple[Row, int]]]:
            key = key_of(row)
            # a place takes longer to compute than a check for an empty key
            at = place(row) if key in ranges else None
            if at is not None:
                for rows in ranges.spans(key, operator, at, farthest=farthest):
                    yield ((found, weights[found]) for found in rows)

        return search if meter is None else _metered(search, meter)

    def clear(self) -> None:
        """Discard every row."""
        for row in self.weights:
            self._dictionary.drop(row)
        self.weights.clear()
        self._ranges.clear()

    def containers(self) -> list[Any]:
        """List the containers of the state."""
        return [self.weights, *self._ranges.containers()]


def _metered(search: Search, meter: Meter) -> Search:
    """Count a search, and each row before the caller reads it."""

    def counted(rows: Iterable[tuple[Row, int]]) -> Iterator[tuple[Row, int]]:
        for found in rows:
            meter.spend(1)
            yield found

    def metered(row: Row) -> Iterator[Iterable[tuple[Row, int]]]:
        meter.spend(1)
        yield from map(counted, search(row))

    return metered
