"""Slice (ORDER BY with OFFSET and LIMIT): the rows at some positions of an order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any, TypeAlias

from sortedcontainers import SortedKeyList

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.operator import gather, key_at

__all__ = ["SliceOperator"]

Change: TypeAlias = tuple[Any, Row, int, int]
"""The sort key of a row, the row, its weight before and after."""

Order: TypeAlias = "SortedKeyList[tuple[Any, Row], Any]"
"""The distinct rows by their keys."""


class SliceOperator:
    """The rows at positions `offset` to `offset + limit`, per partition; a row of weight 2 has two positions.

    `key` orders the rows and is equal for equal rows only. `partition` are the context columns: each of their
    values has positions of its own.

    The slice is the first `offset + limit` rows without the first `offset` rows. Each of the two is a
    `_SliceHead`, which records its last row. So an update costs O(log n) per changed row, plus the rows that
    move over the two ends. Example: LIMIT 2 over the rows a, c, d: inserting b adds b to the slice and
    removes c.
    """

    __slots__ = ("_dictionary", "_ends", "_key", "_partition", "_parts")

    def __init__(
        self,
        dictionary: Dictionary,
        key: Callable[[Row], Any],
        offset: int,
        limit: int | None,
        partition: tuple[int, ...] = (),
    ) -> None:
        self._dictionary = dictionary
        self._key = key
        self._partition = key_at(partition)
        self._ends = offset, None if limit is None else offset + limit
        self._parts: dict[Any, _Part] = {}

    def update(self, *deltas: Weights) -> Weights:
        """Return the rows that entered and left the slice."""
        (delta,) = deltas
        changes: dict[Any, Weights] = {}
        for row, change in delta.items():
            changes.setdefault(self._partition(row), {})[row] = change
        moved: Weights = {}
        for value, rows in changes.items():
            part = self._parts.get(value)
            if part is None:
                part = self._parts[value] = _Part(*self._ends)
            part.update(self._keep(part, rows), moved)
            if not part.weights:
                del self._parts[value]
        return moved

    def _keep(self, part: _Part, rows: Weights) -> list[Change]:
        """Change the weights of a partition's rows."""
        weights = part.weights
        changes = []
        for row, change in rows.items():
            key = self._key(row)  # before any change, because reading a term may raise
            before = weights.get(row, 0)
            after = weights[row] = before + change
            changes.append((key, row, before, after))
            if not before:
                self._dictionary.hold(row)
            elif not after:
                del weights[row]
                self._dictionary.drop(row)
        return changes

    def rows(self) -> Weights:
        """Return the current slice, each partition in its order."""
        return {row: weight for part in self._parts.values() for row, weight in part.rows()}

    def clear(self) -> None:
        """Discard every row."""
        for part in self._parts.values():
            for row in part.weights:
                self._dictionary.drop(row)
        self._parts.clear()

    def containers(self) -> list[Any]:
        """List the rows and their order, per partition."""
        return [self._parts, *(kept for part in self._parts.values() for kept in (part.weights, part.order))]


class _Part:
    """One partition: its rows in order, and the heads whose difference is the slice."""

    __slots__ = ("_first", "_heads", "_last", "order", "weights")

    def __init__(self, first: int, last: int | None) -> None:
        self.weights: Weights = {}
        self.order: Order = SortedKeyList(key=itemgetter(0))
        self._first, self._last = first, last
        self._heads: list[tuple[int, _SliceHead]] = []
        # without LIMIT all rows after the offset are in the slice, and no head ends it
        if last is not None:
            self._heads.append((1, _SliceHead(last)))
        if first:
            self._heads.append((-1, _SliceHead(first)))

    def update(self, changes: list[Change], moved: Weights) -> None:
        """Sort in changed rows, whose weights are new already, and move the ends of the slice."""
        self.order.update([(key, row) for key, row, before, _ in changes if not before])
        for key, row, _, after in changes:
            if not after:
                self.order.remove((key, row))
        if self._last is None:
            _collect(moved, ((row, after - before) for _, row, before, after in changes), 1)
        for sign, head in self._heads:
            # a row inside both heads cancels out: it is before the offset
            head.change(changes, self.weights, self.order)
            _collect(moved, head.moved, sign)
            head.moved.clear()

    def rows(self) -> Iterator[tuple[Row, int]]:
        """Iterate over the slice."""
        position = 0
        for _, row in self.order:
            start = max(position, self._first)
            position += self.weights[row]
            end = position if self._last is None else min(position, self._last)
            if start < end:
                yield row, end - start
            if self._last is not None and position >= self._last:
                return


class _SliceHead:
    """The first `size` rows of an order.

    `_edge` is the key of the last row inside, and `_taken` the number of its copies inside. The key is kept
    after its row is removed, since it still separates rows before and after it. While there are fewer rows
    than `size`, `_edge` is None and all rows are inside.
    """

    __slots__ = ("_count", "_edge", "_size", "_taken", "moved")

    def __init__(self, size: int) -> None:
        self._size = size
        self._count = 0
        self._edge: tuple[Any] | None = None
        self._taken = 0
        self.moved: list[tuple[Row, int]] = []
        """The rows that entered and left; the reader clears it."""

    def change(self, changes: Iterable[Change], weights: Weights, order: Order) -> None:
        """Follow changes that the weights and the order already contain."""
        for key, row, before, after in changes:
            if self._edge is None or key < self._edge[0]:
                self._move(row, after - before)
            elif key == self._edge[0]:
                taken = min(self._taken, after)
                self._move(row, taken - self._taken)
                self._taken = taken
        if self._count > self._size:
            self._shrink(weights, order)
        elif self._count < self._size and self._edge is not None:
            self._grow(self._edge[0], weights, order)

    def _move(self, row: Row, weight: int) -> None:
        if weight:
            self._count += weight
            self.moved.append((row, weight))

    def _shrink(self, weights: Weights, order: Order) -> None:
        """Remove rows, from the edge backwards, until the size is right."""
        edge = self._edge
        for key, row in order.irange_key(max_key=edge[0] if edge else None, reverse=True):
            inside = self._taken if edge and key == edge[0] else weights[row]
            gone = min(inside, self._count - self._size)
            self._move(row, -gone)
            if self._count == self._size:
                self._edge, self._taken = (key,), inside - gone
                return

    def _grow(self, edge: Any, weights: Weights, order: Order) -> None:
        """Add rows, from the edge onwards, until the size is right or no row is left."""
        for key, row in order.irange_key(min_key=edge):
            inside = self._taken if key == edge else 0
            come = min(weights[row] - inside, self._size - self._count)
            self._move(row, come)
            if self._count == self._size:
                self._edge, self._taken = (key,), inside + come
                return
        self._edge, self._taken = None, 0


def _collect(moved: Weights, weights: Iterable[tuple[Row, int]], sign: int) -> None:
    for row, weight in weights:
        gather(moved, row, sign * weight)
