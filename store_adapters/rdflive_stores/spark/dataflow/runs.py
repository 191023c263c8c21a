"""Runs: sorted, immutable tables of rows with weights, and vectorised look-ups in them.

A run is sorted by index number, key and rest. Key and rest are hashes, so a look-up gives ranges of
candidates. The caller compares their texts, so that no answer depends on a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Layout", "Numbers", "Run", "equal", "expand", "sort_rows", "sum_rows"]

Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of runs: `index`, `key`, `rest`, `weight`, texts `v0`…, and hashes `h0`… of some of
    these.
    """

    texts: int
    hashes: int = 0
    held: bool = False
    """Whether each row also carries bytes, in the column `held`."""

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


class Run:
    """One sorted table; each of its columns is contiguous."""

    __slots__ = ("_index", "_key", "_rest", "table", "weight")

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._index = self.numbers("index")
        self._key = self.numbers("key")
        self._rest = self.numbers("rest")
        self.weight: Numbers = self.numbers("weight")

    def __len__(self) -> int:
        return len(self.weight)

    def numbers(self, name: str) -> Any:
        """Give a column of numbers without copying it."""
        column = self.table.column(name)
        if not len(column):
            return np.empty(0, np.int64)
        return column.chunk(0).to_numpy()

    def texts(self, name: str, places: pa.Array) -> pa.Array:
        """Give the texts of a column at some positions."""
        column = self.table.column(name)
        return column.chunk(0).take(places) if len(column) else pa.array([], pa.string())

    def find(self, index: int, keys: Numbers, rests: Numbers | None = None) -> tuple[Numbers, Numbers]:
        """Give, per key or per key and rest, where its rows begin and end."""
        first, last = (int(n) for n in np.searchsorted(self._index, [index, index + 1]))
        within = self._key[first:last]
        begin = np.searchsorted(within, keys, "left") + first
        end = np.searchsorted(within, keys, "right") + first
        if rests is None:
            return begin, end
        begin = _bisect(self._rest, begin, end, rests, right=False)
        return begin, _bisect(self._rest, begin, end, rests, right=True)


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
    """Sort a table as a run is sorted."""
    # to `lexsort` the last key is the first
    keys = [table.column(name).to_numpy() for name in ("rest", "key", "index")]
    return table.take(pa.array(np.lexsort(keys))).combine_chunks()


def sum_rows(tables: Sequence[pa.Table], layout: Layout) -> pa.Table:
    """Add the weights of equal rows, drop those with sum 0, and sort."""
    names = ["index", *layout.text_names]
    others = ["key", "rest", *layout.hash_names]
    grouped = pa.concat_tables(tables).group_by(names, use_threads=False)
    # the other columns are hashes of the texts, so they are the same in equal rows
    summed = grouped.aggregate([("weight", "sum"), *((name, "min") for name in others)])
    summed = summed.filter(pc.not_equal(summed["weight_sum"], 0))
    columns = {"weight": summed["weight_sum"]}
    columns |= {name: summed[name] for name in names} | {name: summed[f"{name}_min"] for name in others}
    return sort_rows(pa.table({name: columns[name] for name in layout.schema.names}, schema=layout.schema))


def _bisect(values: Numbers, begin: Numbers, end: Numbers, wanted: Numbers, *, right: bool) -> Numbers:
    """Find each wanted value within its own range, all ranges at once."""
    low, high = begin.copy(), end.copy()
    while True:
        is_open = low < high
        if not is_open.any():
            return low
        middle = (low + high) >> 1
        # a range that is done may lie behind the last value
        found = values[np.where(is_open, middle, 0)]
        below = found <= wanted if right else found < wanted
        low = np.where(is_open & below, middle + 1, low)
        high = np.where(is_open & ~below, middle, high)
