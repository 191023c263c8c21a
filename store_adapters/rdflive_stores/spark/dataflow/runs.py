"""Runs: sorted, immutable tables of rows with weights, and vectorised look-ups in them.

A run is sorted by index number, key and rest, and cut into consecutive segments. Key and rest are hashes, so
a look-up returns ranges of candidates. The caller compares their texts, so that no answer depends on a hash.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Layout", "Numbers", "Run", "RunPlace", "equal", "expand", "sort_rows", "sum_rows"]

Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of runs: `index`, `key`, `rest`, `weight`, texts `v0`…, and hashes `h0`… of some texts."""

    texts: int
    hashes: int = 0
    held: bool = False
    """True if rows also carry bytes, in the column `held`. Then `rest` is the version of the bytes, and
    distinguishes rows as the texts do. A row that removes a version has NULL for its bytes."""

    @property
    def text_names(self) -> list[str]:
        """The names of the columns that identify a row."""
        return [f"v{i}" for i in range(self.texts)]

    @property
    def hash_names(self) -> list[str]:
        """The names of the hashes of the first texts."""
        return [f"h{i}" for i in range(self.hashes)]

    @property
    def schema(self) -> pa.Schema:
        """The columns with their types."""
        return pa.schema(
            [("index", pa.int16()), ("key", pa.int64()), ("rest", pa.int64()), ("weight", pa.int64())]
            + [(name, pa.string()) for name in self.text_names]
            + [(name, pa.int64()) for name in self.hash_names]
            + ([("held", pa.large_binary())] if self.held else [])
        )


class RunPlace(NamedTuple):
    """The sort key of a run's rows."""

    number: int
    """The index of the row."""
    key: int
    rest: int


class _Places(NamedTuple):
    """The places of some rows, in order."""

    number: Numbers
    key: Numbers
    rest: Numbers

    def below(self, index: int, keys: Numbers, rests: Numbers | None, *, right: bool) -> Numbers:
        """Count the rows before each wanted place; with `right`, also those at it."""
        first, last = (int(n) for n in np.searchsorted(self.number, [index, index + 1]))
        within = self.key[first:last]
        if rests is None:
            return np.searchsorted(within, keys, "right" if right else "left") + first
        begin = np.searchsorted(within, keys, "left") + first
        end = np.searchsorted(within, keys, "right") + first
        return _bisect(self.rest, begin, end, rests, right=right)


class Run:
    """A sorted table that is not empty, in segments; a row's position counts all segments before it.

    Each column of a segment is contiguous, so that the segment can be a memory-mapped file.
    """

    __slots__ = ("_begins", "_lasts", "_places", "_segments")

    def __init__(self, *segments: pa.Table) -> None:
        self._segments = segments
        self._begins = np.cumsum([0, *(segment.num_rows for segment in segments)])
        self._places = [
            _Places(*(_numbers(segment, name) for name in ("index", "key", "rest"))) for segment in segments
        ]
        self._lasts = _Places(
            *(np.array([column[-1] for column in columns]) for columns in zip(*self._places, strict=True))
        )

    def __len__(self) -> int:
        return int(self._begins[-1])

    def find(self, index: int, keys: Numbers, rests: Numbers | None = None) -> tuple[Numbers, Numbers]:
        """Return, per key or per key and rest, the begin and the end of its rows."""
        return self._below(index, keys, rests, right=False), self._below(index, keys, rests, right=True)

    def up_to(self, place: RunPlace) -> int:
        """Count the rows up to and including a place."""
        return int(self._below(place.number, np.array([place.key]), np.array([place.rest]), right=True)[0])

    def place(self, position: int) -> RunPlace:
        """Return the place of a row."""
        segment = int(np.searchsorted(self._begins, position, "right")) - 1
        return RunPlace(*(int(column[position - self._begins[segment]]) for column in self._places[segment]))

    @property
    def table(self) -> pa.Table:
        """All rows, in order."""
        return pa.concat_tables(self._segments)

    def slice(self, begin: int, end: int) -> pa.Table:
        """Return the rows from one position up to another, in order."""
        starts = self._begins.tolist()
        parts = [
            segment.slice(max(begin - start, 0), min(end - start, len(segment)) - max(begin - start, 0))
            for segment, start in zip(self._segments, starts, strict=False)
            if start < end and start + len(segment) > begin
        ]
        return pa.concat_tables(parts or [self._segments[0].slice(0, 0)])

    def numbers(self, name: str, positions: Numbers) -> Numbers:
        """Return the numbers of a column at some positions."""
        found = np.empty(len(positions), np.int64)
        for segment, mine in _parted(self._segments_of(positions)):
            rows = positions[mine] - self._begins[segment]
            found[mine] = _numbers(self._segments[segment], name)[rows]
        return found

    def texts(self, name: str, positions: Numbers) -> pa.Array:
        """Return the texts of a column at some positions."""
        column = self.rows(positions, [name]).column(0)
        return column.chunk(0) if len(column) else pa.array([], pa.string())

    def rows(self, positions: Numbers, names: Sequence[str] | None = None) -> pa.Table:
        """Return the rows at some positions, with all or some of their columns."""
        parts, order = [], []
        for segment, mine in _parted(self._segments_of(positions)):
            table = self._segments[segment]
            table = table if names is None else table.select(names)
            parts.append(table.take(pa.array(positions[mine] - self._begins[segment])))
            order.append(mine)
        if len(parts) == 1:
            return parts[0].combine_chunks()
        if not parts:
            return self._segments[0].slice(0, 0).select(names or self._segments[0].column_names)
        back = np.empty(len(positions), np.int64)
        back[np.concatenate(order)] = np.arange(len(positions))
        return pa.concat_tables(parts).combine_chunks().take(pa.array(back)).combine_chunks()

    def _below(self, index: int, keys: Numbers, rests: Numbers | None, *, right: bool) -> Numbers:
        if len(self._segments) == 1:
            return self._places[0].below(index, keys, rests, right=right)
        # the first segment whose last row is after the wanted place; without one, all rows are before it
        segments = self._lasts.below(index, keys, rests, right=right)
        found = np.full(len(keys), len(self), np.int64)
        for segment, mine in _parted(segments):
            if segment < len(self._segments):
                rest = None if rests is None else rests[mine]
                below = self._places[segment].below(index, keys[mine], rest, right=right)
                found[mine] = below + self._begins[segment]
        return found

    def _segments_of(self, positions: Numbers) -> Numbers:
        if len(self._segments) == 1:
            return np.zeros(len(positions), np.int64)
        return np.searchsorted(self._begins, positions, "right") - 1


def _parted(segments: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Yield each segment with the places in the list that name it."""
    if not len(segments):
        return
    order = np.argsort(segments, kind="stable")
    found, begins = np.unique(segments[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, begins[1:]), strict=True)


def _numbers(table: pa.Table, name: str) -> Any:
    """Return a column of numbers without copying it."""
    return table.column(name).chunk(0).to_numpy()


def expand(begin: Numbers, end: Numbers) -> tuple[Numbers, Numbers]:
    """Pair the number of each range with each position in it.

    >>> [list(map(int, numbers)) for numbers in expand(np.array([5, 9, 2]), np.array([7, 9, 3]))]
    [[0, 0, 2], [5, 6, 2]]
    """
    counts = end - begin
    total = int(counts.sum())
    shift = begin - (np.cumsum(counts) - counts)
    return np.repeat(np.arange(len(begin)), counts), np.repeat(shift, counts) + np.arange(total)


def equal(left: Any, right: Any) -> npt.NDArray[np.bool_]:
    """Compare texts position by position; the right side may be one text for all."""
    same: npt.NDArray[np.bool_] = np.asarray(pc.equal(left, right).to_numpy(zero_copy_only=False), np.bool_)
    return same


def sort_rows(table: pa.Table) -> pa.Table:
    """Sort a table in the order of a run."""
    # `lexsort` sorts by its last key first
    keys = [table.column(name).to_numpy() for name in ("rest", "key", "index")]
    return table.take(pa.array(np.lexsort(keys))).combine_chunks()


def sum_rows(tables: Sequence[pa.Table], layout: Layout) -> pa.Table:
    """Add the weights of equal rows, drop those with sum 0, and sort."""
    names = ["index", *(["rest"] if layout.held else []), *layout.text_names]
    # the other columns are hashes of the texts, so equal rows agree in them; the bytes of a version are in
    # one row, and the others have NULL
    others = [name for name in layout.schema.names if name not in {"weight", *names}]
    grouped = pa.concat_tables(tables).group_by(names, use_threads=False)
    summed = grouped.aggregate([("weight", "sum"), *((name, "max") for name in others)])
    summed = summed.filter(pc.not_equal(summed["weight_sum"], 0))
    columns = {"weight": summed["weight_sum"]}
    columns |= {name: summed[name] for name in names} | {name: summed[f"{name}_max"] for name in others}
    return sort_rows(pa.table({name: columns[name] for name in layout.schema.names}, schema=layout.schema))


def _bisect(values: Numbers, begin: Numbers, end: Numbers, wanted: Numbers, *, right: bool) -> Numbers:
    """Find each wanted value within its own range, all ranges at once."""
    low, high = begin.copy(), end.copy()
    while True:
        is_open = low < high
        if not is_open.any():
            return low
        middle = (low + high) >> 1
        # a finished range may lie after the last value
        found = values[np.where(is_open, middle, 0)]
        below = found <= wanted if right else found < wanted
        low = np.where(is_open & below, middle + 1, low)
        high = np.where(is_open & ~below, middle, high)
