"""GROUP BY: one row per group, from set functions whose state is kept between micro-batches."""

from __future__ import annotations

import copyreg
import io
import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from rdflib.term import Literal

from rdflive.model import exact_literal
from rdflive.query import planning
from rdflive.query.planning import Accumulator, make_accumulator
from rdflive_stores.spark.dataflow.runs import Layout, Numbers, Run, expand, sum_rows
from rdflive_stores.spark.dataflow.solutions import (
    Cells,
    Texts,
    TextTerms,
    hash_rows,
    solutions,
    texts_of,
    width,
)
from rdflive_stores.spark.dataflow.staging import Side, StageOperation
from rdflive_stores.spark.dataflow.state import Bucket

__all__ = ["Groups"]

_ANY: Final[Any] = "row"
"""A value for COUNT(*), which counts rows; any value that is not an error."""


def _layout(node: planning.Group) -> Layout:
    """Return the stored columns: the keys and the state of each group; its version is the micro-batch."""
    return Layout(len(node.keys), held=True)


class _KeptGroups(NamedTuple):
    """A stored row: a new state, or the removal of one."""

    key: Texts
    hash: int
    version: int
    weight: int
    state: bytes | None


class _Aggregate(NamedTuple):
    value: Callable[[tuple[int, ...]], Any] | None
    """Returns the value of a row; None for COUNT(*)."""
    make: Callable[[], Accumulator]
    is_of_rows: bool
    """True for COUNT(DISTINCT *)."""


@dataclass(slots=True)
class _Group:
    hash: int
    accumulators: list[Accumulator]
    rows: int = 0
    seeds: int = 0
    """Number of seeds, each of which keeps the group without rows."""
    seen: dict[Texts, int] = field(default_factory=dict)
    """The rows of the group with their counts, if COUNT(DISTINCT *) needs them."""
    shown: Texts | None = None
    """The results before the micro-batch; None if the group did not exist."""
    version: int | None = None
    """The micro-batch that wrote the state; None if there is none yet."""


class Groups:
    """Group and AggregateJoin (SPARQL 1.1, 18.5.1): one row per group, of its keys and results.

    A micro-batch reads and writes the whole state of each group that it changes. COUNT, SUM and AVG keep a
    few numbers; other functions and DISTINCT keep the group's values. A group without rows exists while it
    has a seed, with COUNT 0. Without GROUP BY the one group has a seed from the first micro-batch on.
    """

    __slots__ = ("_aggregates", "_cells", "_keeps_rows", "_keys", "_terms", "layout")

    def __init__(self, head: StageOperation, sides: Sequence[Side], terms: TextTerms) -> None:
        node: Any = head.node
        self._terms = terms
        self.layout = _layout(node)
        self._keys = list(sides[0].key)
        self._cells = Cells(sides[0].columns, node.expressions, terms)
        self._aggregates = [self._compile(aggregate, node) for aggregate in node.aggregates]
        self._keeps_rows = any(aggregate.is_of_rows for aggregate in self._aggregates)

    def update(self, state: Bucket, sides: Sequence[pa.Table]) -> pa.Table:
        """Apply changes of rows to their groups; return the groups' rows that appear and disappear."""
        groups = self._touch(state.before(), *sides)
        changes: list[tuple[Texts, int]] = []
        kept: list[_KeptGroups] = []
        for key, group in groups.items():
            is_there = group.rows > 0 or group.seeds > 0
            results = self._results(group) if is_there else None
            if results != group.shown:
                found = ((group.shown, -1), (results, 1))
                changes += [((*key, *texts), sign) for texts, sign in found if texts is not None]
            if group.version is not None:
                kept.append(_KeptGroups(key, group.hash, group.version, -1, None))
            if is_there:
                kept.append(_KeptGroups(key, group.hash, state.batch, 1, _dump(group)))
        state.add(_table(state.layout, kept))
        return _solutions(changes, len(self._keys) + len(self._aggregates))

    def _compile(self, aggregate: planning.Aggregate, node: Any) -> _Aggregate:
        expression = node.argument(aggregate)
        is_of_rows = aggregate.distinct and expression is None
        distinct = aggregate.distinct and not is_of_rows
        make = make_accumulator(aggregate.name, distinct=distinct, separator=aggregate.separator)
        value = None if expression is None else cache(expression.term(self._cells.places, self._terms))
        return _Aggregate(value, make, is_of_rows)

    def _touch(
        self, runs: Sequence[Run], rows: pa.Table, seeds: pa.Table | None = None
    ) -> dict[Texts, _Group]:
        """Open the groups of rows and seeds, and add each to its own."""
        seeds = rows.slice(0, 0).select(["weight"]) if seeds is None else seeds
        hashes, seeded = hash_rows(rows, self._keys), hash_rows(seeds, range(width(seeds)))
        held = _held(runs, self.layout, np.unique(np.concatenate([hashes, seeded])))
        groups: dict[Texts, _Group] = {}

        def open_(key: Texts, number: int) -> _Group:
            group = groups.get(key)
            if group is None:
                group = groups[key] = self._open(held.get(key), number)
            return group

        # COUNT(DISTINCT *) counts whole rows
        whole: Iterable[Texts] = texts_of(rows, range(width(rows))) if self._keeps_rows else repeat(())
        weights, keys = rows["weight"].to_pylist(), texts_of(rows, self._keys)
        # not strict, because `whole` may have no end
        for key, number, weight, row, texts in zip(
            keys, hashes.tolist(), weights, self._cells.rows(rows), whole, strict=False
        ):
            self._add(open_(key, number), row, texts, weight)
        weights, keys = seeds["weight"].to_pylist(), texts_of(seeds, range(width(seeds)))
        for key, number, weight in zip(keys, seeded.tolist(), weights, strict=False):
            open_(key, number).seeds += weight
        return groups

    def _open(self, held: tuple[int, bytes] | None, number: int) -> _Group:
        if held is None:
            return _Group(number, [aggregate.make() for aggregate in self._aggregates])
        version, state = held
        rows, seeds, accumulators, seen = pickle.loads(state)  # noqa: S301 - written by `_dump` into our own folder
        group = _Group(number, accumulators, rows, seeds, seen, version=version)
        group.shown = self._results(group)
        return group

    def _add(self, group: _Group, row: tuple[int, ...], texts: Texts, change: int) -> None:
        group.rows += change
        turn = _turn(group.seen, texts, change) if self._keeps_rows else 0
        for aggregate, accumulator in zip(self._aggregates, group.accumulators, strict=True):
            if aggregate.value is not None:
                accumulator.add(aggregate.value(row), change)
            elif not aggregate.is_of_rows:
                accumulator.add(_ANY, change)
            elif turn:
                accumulator.add(_ANY, turn)

    def _results(self, group: _Group) -> Texts:
        results = (accumulator.result() for accumulator in group.accumulators)
        terms = self._terms
        return tuple(None if term is None else terms.text(terms.intern(term)) for term in results)


def _turn(seen: dict[Texts, int], row: Texts, change: int) -> int:
    """Count a row; return 1 if it is new, -1 if it is gone, else 0."""
    before = seen.get(row, 0)
    after = before + change
    if after:
        seen[row] = after
    else:
        del seen[row]
    return (after > 0) - (before > 0)


def _held(runs: Sequence[Run], layout: Layout, hashes: Numbers) -> dict[Texts, tuple[int, bytes]]:
    """Read the states of the groups with some hashes, with versions; equal hashes may add other groups."""
    if not runs:
        return {}
    # removals by later micro-batches are in runs of their own until they are merged
    found = sum_rows([run.rows(expand(*run.find(0, hashes))[1]) for run in runs], layout)
    columns = (found[name].to_pylist() for name in ("rest", "held"))
    keys = texts_of(found, range(layout.texts))
    return {key: (version, state) for key, version, state in zip(keys, *columns, strict=False)}


def _table(layout: Layout, kept: Sequence[_KeptGroups]) -> pa.Table:
    if not kept:  # a group that only this micro-batch had
        return layout.schema.empty_table()
    keys, hashes, versions, weights, states = zip(*kept, strict=True)
    columns = {"index": [0] * len(kept), "key": hashes, "rest": versions, "weight": weights}
    texts = dict(zip(layout.text_names, zip(*keys, strict=True), strict=True))
    held = {"held": pa.array(states, pa.large_binary())}
    return pa.table(columns | texts | held).select(layout.schema.names).cast(layout.schema)


def _solutions(changes: Sequence[tuple[Texts, int]], columns: int) -> pa.Table:
    # without a row `zip` would give no columns
    texts = zip(*(row for row, _ in changes), strict=True) if changes else [()] * columns
    weights = pa.array([sign for _, sign in changes], pa.int64())
    return solutions(weights, [pa.array(column, pa.string()) for column in texts])


def _dump(group: _Group) -> bytes:
    """Pickle a group's state, with the literals' lexical forms: rdflib's pickling turns "01" into 1."""
    sink = io.BytesIO()
    pickler = pickle.Pickler(sink, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = copyreg.dispatch_table | {Literal: _reduce_literal}
    pickler.dump((group.rows, group.seeds, group.accumulators, group.seen))
    return sink.getvalue()


def _reduce_literal(literal: Literal) -> tuple[Any, ...]:
    # pickle writes an object once, so equal strings should be one object
    datatype = None if literal.datatype is None else sys.intern(str(literal.datatype))
    return _literal, (str(literal), literal.language, datatype)


@lru_cache(1 << 16)
def _literal(lexical: str, language: str | None, datatype: str | None) -> Literal:
    """Return a literal, one object for equal ones: groups share values."""
    return exact_literal(lexical, language, datatype)
