"""LIMIT and OFFSET: the rows at some positions of an order, in each partition.

The state keeps the first rows of a partition apart, and more of them than wanted, so that a change is
compared only with these. The stage reads the whole partition only after deletes have left too few of them.

Example: for `LIMIT 2` the first 68 rows are kept apart. A row that sorts after all of them changes nothing; a
delete of the first one lets the third one in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from rdflive.query import planning
from rdflive_stores.spark.dataflow.runs import Layout, Numbers, Run, expand, sum_rows
from rdflive_stores.spark.dataflow.solutions import (
    Texts,
    TextTerms,
    hash_rows,
    net,
    solutions,
    texts_of,
    width,
)
from rdflive_stores.spark.dataflow.staging import Side, StageOperation
from rdflive_stores.spark.dataflow.state import Bucket

__all__ = ["SlicedRows"]

_Weights: TypeAlias = dict[Texts, int]
_ROWS: Final = 0
_FIRST: Final = 1
_MORE: Final = 2
"""The numbers of the stored tables: all rows, the first rows, and a row per partition that has more rows."""
_SPARE: Final = 64
"""Number of rows that are kept apart beyond twice the wanted rows."""


class SlicedRows:
    """ORDER BY with OFFSET and LIMIT, per partition; a row of weight 2 takes two positions.

    All terms of a row break ties, so that its position does not depend on the order of arrival.
    """

    def __init__(self, head: StageOperation, sides: Sequence[Side], terms: TextTerms) -> None:
        node: Any = head.node
        columns = sides[0].columns
        self._partition = list(sides[0].key)
        self._offset, self._limit = node.offset, node.limit
        self._key = _sorter(node, columns, terms)
        self._wanted = node.offset + (node.limit or 0)
        self.layout = Layout(len(columns))

    def update(self, state: Bucket, sides: Sequence[pa.Table]) -> pa.Table:
        """Apply changes of rows; return the rows that enter and leave the slices."""
        (rows,) = sides
        before, columns = state.before(), width(rows)
        keys = np.unique(hash_rows(rows, self._partition))
        first, more = (self._read(before, index, keys) for index in (_FIRST, _MORE))
        found: list[tuple[Texts, int]] = []
        kept: dict[int, list[tuple[Texts, int]]] = {_FIRST: [], _MORE: []}
        for partition, change in self._parted(rows).items():
            old, had_more = first.get(partition, {}), partition in more
            new, has_more = self._changed(old, change, had_more=had_more)
            # look for at least one row, so that LIMIT 0 also notices the end of a partition
            if has_more and sum(new.values()) < max(self._wanted, 1):
                key = hash_rows(_table([(next(iter(change)), 1)], columns), self._partition)
                everything = self._read(before, _ROWS, key).get(partition, {})
                new, has_more = self._cut(_added(everything, change), 2 * self._wanted + _SPARE)
            kept[_FIRST] += _difference(new, old)
            if has_more != had_more:
                texts: list[str | None] = [None] * columns
                for place, text in zip(self._partition, partition, strict=True):
                    texts[place] = text
                kept[_MORE].append((tuple(texts), 1 if has_more else -1))
            found += self._moved(old, new, change)
        tables = [self._stored(_ROWS, rows)]
        tables += [self._stored(index, _table(each, columns)) for index, each in kept.items() if each]
        state.add(pa.concat_tables(tables))
        return net(_table(found, columns))

    def _changed(self, old: _Weights, change: _Weights, *, had_more: bool) -> tuple[_Weights, bool]:
        """Apply changes to the first rows; return them, and True if the partition has more rows."""
        if not had_more:
            return self._cut(_added(old, change), 4 * self._wanted + 2 * _SPARE)
        last = max(map(self._key, old), default=None)
        # the rows after the last one are unknown here
        near = {row: n for row, n in change.items() if last is not None and self._key(row) <= last}
        return self._cut(_added(old, near), 4 * self._wanted + 2 * _SPARE)[0], True

    def _cut(self, rows: _Weights, most: int) -> tuple[_Weights, bool]:
        """Keep the first rows if there are more than `most`; return them, and True if rows are left out."""
        if sum(rows.values()) <= most:
            return rows, False
        kept: _Weights = {}
        count = 0
        for row in sorted(rows, key=self._key):
            if count >= 2 * self._wanted + _SPARE:
                return kept, True
            kept[row] = rows[row]
            count += rows[row]
        return kept, False

    def _moved(self, old: _Weights, new: _Weights, change: _Weights) -> list[tuple[Texts, int]]:
        """Return the rows that enter and leave the slice."""
        begin = self._offset
        if self._limit is None:
            # the slice is all that follows the first rows
            gone = _difference(self._between(new, 0, begin), self._between(old, 0, begin))
            return [*change.items(), *((row, -n) for row, n in gone)]
        end = begin + self._limit
        return _difference(self._between(new, begin, end), self._between(old, begin, end))

    def _between(self, rows: _Weights, begin: int, end: int) -> _Weights:
        """Return the rows at some positions of the order, each with the number of positions it takes."""
        found: _Weights = {}
        position = 0
        for row in sorted(rows, key=self._key):
            taken = min(position + rows[row], end) - max(position, begin)
            if taken > 0:
                found[row] = taken
            position += rows[row]
            if position >= end:
                break
        return found

    def _parted(self, rows: pa.Table) -> dict[Texts, _Weights]:
        """Return the rows with their weights, by partition."""
        parts: dict[Texts, _Weights] = {}
        whole = texts_of(rows, range(width(rows)))
        for partition, row, weight in zip(
            texts_of(rows, self._partition), whole, rows["weight"].to_pylist(), strict=False
        ):
            parts.setdefault(partition, {})[row] = weight
        return parts

    def _read(self, runs: Sequence[Run], index: int, keys: Numbers) -> dict[Texts, _Weights]:
        """Read the stored rows of some partitions; equal hashes may add other partitions."""
        found = [run.rows(expand(*run.find(index, keys))[1]) for run in runs]
        if not found:
            return {}
        held = sum_rows(found, self.layout)
        return self._parted(held.select(["weight", *self.layout.text_names]))

    def _stored(self, index: int, rows: pa.Table) -> pa.Table:
        numbers = {
            "index": np.full(len(rows), index),
            "key": hash_rows(rows, self._partition),
            "rest": np.zeros(len(rows), np.int64),
        }
        columns = numbers | {name: rows[name] for name in rows.column_names}
        return pa.table(columns).select(self.layout.schema.names).cast(self.layout.schema)


def _sorter(node: Any, columns: planning.Columns, terms: TextTerms) -> Callable[[Texts], Any]:
    """Return the sort key of a row: the conditions of ORDER BY, then all its terms."""
    places = {v.name: place for place, v in enumerate(columns) if v.readable}
    parts = [(o.expression.term(places, terms), o.descending) for o in node.order]
    shown = [place for place, v in enumerate(columns) if v.distinguished]

    @cache
    def key(row: Texts) -> Any:
        ids = tuple(map(terms.id, row))
        keys = [planning.term_key(part(ids)) for part, _ in parts]
        sorts = [planning.descending(k) if down else k for k, (_, down) in zip(keys, parts, strict=True)]
        return (*sorts, *[planning.term_key(terms.value(ids[place])) for place in shown])

    return key


def _added(rows: _Weights, changes: _Weights) -> _Weights:
    added = dict(rows)
    for row, change in changes.items():
        added[row] = added.get(row, 0) + change
    return {row: weight for row, weight in added.items() if weight}


def _difference(new: _Weights, old: _Weights) -> list[tuple[Texts, int]]:
    return list(_added(new, {row: -weight for row, weight in old.items()}).items())


def _table(rows: Sequence[tuple[Texts, int]], columns: int) -> pa.Table:
    # without a row `zip` would give no columns
    texts = zip(*(row for row, _ in rows), strict=True) if rows else [()] * columns
    return solutions(
        pa.array([n for _, n in rows], pa.int64()), [pa.array(each, pa.string()) for each in texts]
    )
