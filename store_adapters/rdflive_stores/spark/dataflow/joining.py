"""Join, OPTIONAL, MINUS and EXISTS: rows of two sides meet by shared columns that are bound in every row.

The state holds both sides, by the hash of the compared columns. For OPTIONAL, MINUS and EXISTS it also counts
the partners of each left row, so that its first and its last one are recognised without a search.

Example: the row (T101) of `{ ?t a :Train OPTIONAL { ?t :delay ?m } }` has two partners, the delays 4 and 9,
so its count is 2. When both are gone the count is 0, and the row appears again without a delay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rdflive.query import planning
from rdflive_stores.spark.dataflow.runs import Layout, Numbers, Run, equal, expand, sort_rows, sum_rows
from rdflive_stores.spark.dataflow.sets import Pass, test_rows
from rdflive_stores.spark.dataflow.solutions import TextTerms, hash_rows, net, pick, solutions, width
from rdflive_stores.spark.dataflow.staging import Side, StageOperation, exact
from rdflive_stores.spark.dataflow.state import Bucket

__all__ = ["Joins", "PartnerCounts"]

Mask: TypeAlias = npt.NDArray[np.bool_]
_LEFT: Final = 0
_RIGHT: Final = 1
_COUNTS: Final = 2
"""The numbers of the stored tables: both sides, and the left rows with the partners of each."""
_MOST_PAIRS: Final = 1 << 18
"""Number of pairs that are made at a time, unless a single row has more partners."""


@dataclass(frozen=True, slots=True)
class _JoinPlaces:
    """The columns that two sides share, as pairs of positions, and the columns of merged rows."""

    keys: tuple[tuple[int, int], ...]
    """Columns that are compared exactly."""
    maybe: tuple[tuple[int, int], ...]
    """Columns that may be unbound, and are compared where they are bound on both sides."""
    columns: tuple[tuple[int | None, int | None], ...]
    """Per column of merged rows, its positions on the left and the right."""
    overlapping: bool = False
    """True if some `maybe` column must be bound on both sides."""

    @classmethod
    def of(cls, head: StageOperation, sides: Sequence[Side]) -> _JoinPlaces:
        """Read them from an operator and its inputs."""
        node: Any = head.node
        left, right = (side.columns for side in sides)
        both = [v for v in node.shared if v in left and v in right]
        keys = exact(node, (left, right))
        merged = tuple((_place(left, v), _place(right, v)) for v in head.columns)
        # MINUS removes a row only if the two share a bound variable; the graph of GRAPH ?g does not count
        overlapping = isinstance(node, planning.Minus) and set(keys) <= set(node.context)
        pairs = [(left.index(v), right.index(v)) for v in both]
        exactly = [(left.index(v), right.index(v)) for v in keys]
        return cls(tuple(exactly), tuple(p for p in pairs if p not in exactly), merged, overlapping)

    def fit(self, left: pa.Table, right: pa.Table) -> Mask:
        """Return a mask of the rows, paired one by one, that are compatible."""
        held = np.ones(len(left), np.bool_)
        for mine, theirs in self.keys:
            held &= _same(left[f"v{mine}"], right[f"v{theirs}"])
        overlap = np.full(len(left), not self.overlapping)
        for mine, theirs in self.maybe:
            one, other = left[f"v{mine}"], right[f"v{theirs}"]
            agrees = equal(one, other)
            held &= agrees | _is_null(one) | _is_null(other)
            overlap |= agrees
        fits: Mask = held & overlap
        return fits

    def merge(self, weight: Numbers, left: pa.Table, right: pa.Table) -> pa.Table:
        """Merge compatible rows."""
        columns = []
        for mine, theirs in self.columns:
            if mine is None or theirs is None:
                columns.append(right[f"v{theirs}"] if mine is None else left[f"v{mine}"])
            else:
                columns.append(pc.coalesce(left[f"v{mine}"], right[f"v{theirs}"]))
        return solutions(weight, columns)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Compatible rows of both sides, one by one."""

    weight: Numbers
    left: pa.Table
    right: pa.Table


class Joins:
    """Join: Δ(L ⋈ R) = ΔL ⋈ R + (L + ΔL) ⋈ ΔR, weights multiplied."""

    def __init__(self, head: StageOperation, sides: Sequence[Side], terms: TextTerms) -> None:  # noqa: ARG002
        self._places = _JoinPlaces.of(head, sides)
        self.layout = Layout(max(len(side.columns) for side in sides))

    def update(self, state: Bucket, sides: Sequence[pa.Table]) -> pa.Table:
        """Apply the changes of both sides; return those of the pairs."""
        before = state.before()
        rows = [_KeptSide(_LEFT, sides[0], [p[0] for p in self._places.keys], self.layout)]
        rows += [_KeptSide(_RIGHT, sides[1], [p[1] for p in self._places.keys], self.layout)]
        merged = [
            self._places.merge(pairs.weight, pairs.left, pairs.right)
            for pairs in _changed_pairs(self._places, rows[0], rows[1], before, before)
        ]
        state.add(pa.concat_tables([each.table for each in rows]))
        return net(pa.concat_tables([_empty(len(self._places.columns)), *merged]))


class PartnerCounts:
    """OPTIONAL, MINUS and EXISTS: the result of a left row depends on its number of partners.

    The count of a left row is its own weight times that of its partners, so that it adds up like any weight.
    MINUS and EXISTS only need the existence of a partner: right rows are reduced to the compared columns, and
    each reduced row counts once.
    """

    def __init__(self, head: StageOperation, sides: Sequence[Side], terms: TextTerms) -> None:
        self._node = node = cast(Any, head.node)
        self._is_optional = isinstance(node, planning.LeftJoin)
        self._places = places = _JoinPlaces.of(head, sides)
        condition = None if isinstance(node, planning.Minus) else node.condition
        merged = head.columns
        self._compared = [theirs for _, theirs in (*places.keys, *places.maybe)]
        if not self._is_optional:
            # reduced rows have the compared columns, in this order, and the others that the condition reads
            lefts = [mine for mine, _ in (*places.keys, *places.maybe)]
            pairs = tuple((mine, place) for place, mine in enumerate(lefts))
            at = len(places.keys)
            left, right = (side.columns for side in sides)
            read = planning.reads(condition, right)
            others = (place for place, v in enumerate(right) if v in read and v not in left)
            self._compared = list(dict.fromkeys([*self._compared, *others]))
            reduced = tuple(right[place] for place in self._compared)
            merged = tuple(
                dict.fromkeys(v for v in (*left, *reduced) if v in planning.reads(condition, (v,)))
            )
            columns = tuple((_place(left, v), _place(reduced, v)) for v in merged)
            self._places = _JoinPlaces(pairs[:at], pairs[at:], columns, places.overlapping)
        self._test: Pass | None = None if condition is None else test_rows(condition, merged, terms)
        widths = [len(sides[0].columns), len(sides[1].columns), len(self._compared)]
        self.layout = Layout(max(widths))
        self._marks = [terms.text(terms.intern(term)) for term in (planning.FALSE, planning.TRUE)]

    def update(self, state: Bucket, sides: Sequence[pa.Table]) -> pa.Table:
        """Apply the changes of both sides; return those of the left rows that come out, alone or merged."""
        before = state.before()
        places, layout = self._places, self.layout
        left = _KeptSide(_LEFT, sides[0], [p[0] for p in places.keys], layout)
        given = sides[1] if self._is_optional else net(pick(sides[1], self._compared))
        keys = [p[1] for p in places.keys]
        right = kept = _KeptSide(_RIGHT, given, keys, layout)
        present = before
        if not self._is_optional:
            # a partner counts once, so it is new if there was none of its kind, and gone with the last
            held = kept.weights(before)
            turns = (held + kept.weight > 0).astype(np.int64) - (held > 0)
            right = _KeptSide(_RIGHT, _weighed(given, turns).filter(pa.array(turns != 0)), keys, layout)
            present = _present(before, left, layout)
        merged, counts = [_empty(len(places.columns))], [_empty(left.width)]
        for pairs in _changed_pairs(places, left, right, before, present):
            if self._is_optional or self._test is not None:
                rows = places.merge(pairs.weight, pairs.left, pairs.right)
                if self._test is not None:
                    numbered = rows.append_column("at", [np.arange(len(rows))])
                    chosen = self._test(numbered)["at"].combine_chunks()
                    rows, pairs = rows.take(chosen), _taken(pairs, chosen)
                merged.append(rows)
            counts.append(_weighed(pairs.left, pairs.weight))
        counted = _KeptSide(_COUNTS, net(pa.concat_tables(counts)), [p[0] for p in places.keys], layout)
        rows = self._turned(left, counted, before)
        state.add(pa.concat_tables([left.table, kept.table, counted.table]))
        return net(pa.concat_tables([*merged, rows])) if self._is_optional else net(rows)

    def _turned(self, left: _KeptSide, counted: _KeptSide, before: Sequence[Run]) -> pa.Table:
        """Return the changes of the left rows that come out unchanged or marked."""
        # each row whose weight or count changes, once, with both changes
        zero = np.zeros(len(counted.weight), np.int64)
        changes = pa.concat_tables(
            [
                left.rows.append_column("count", [np.zeros(len(left.weight), np.int64)]),
                _weighed(counted.rows, zero).append_column("count", [counted.weight]),
            ]
        )
        names = [f"v{place}" for place in range(left.width)]
        summed = changes.group_by(names, use_threads=False).aggregate([("weight", "sum"), ("count", "sum")])
        if not len(left.weight) and not len(counted.weight):
            summed = summed.slice(0, 0)
        rows = solutions(summed["weight_sum"], (summed[name] for name in names))
        touched = _KeptSide(_LEFT, rows, [p[0] for p in self._places.keys], self.layout)
        weight, count = touched.weights(before), touched.weights(before, _COUNTS)
        new_weight = weight + touched.weight
        new_count = count + _numbers(summed["count_sum"])
        parts = []
        for sign, weights, counts in ((-1, weight, count), (1, new_weight, new_count)):
            for has_partner in (False, True):
                shown = sign * np.where((counts != 0) == has_partner, weights, 0)
                parts.append(self._shown(rows, shown, has_partner=has_partner))
        return pa.concat_tables([part for part in parts if part is not None])

    def _shown(self, rows: pa.Table, weight: Numbers, *, has_partner: bool) -> pa.Table | None:
        """Return left rows as they come out; None if those with a partner, or without, do not."""
        rows = _weighed(rows, weight)
        if self._is_optional:
            unbound = pa.nulls(len(rows), pa.string())
            columns = (unbound if mine is None else rows[f"v{mine}"] for mine, _ in self._places.columns)
            return None if has_partner else solutions(weight, columns)
        negated = isinstance(self._node, planning.Minus) or self._node.negated
        if getattr(self._node, "mark", None) is not None:
            mark = self._marks[has_partner != negated]
            return rows.append_column(f"v{width(rows)}", pa.array([mark] * len(rows), pa.string()))
        return rows if has_partner != negated else None


class _KeptSide:
    """Changed rows in stored form: by the hash of the compared columns, then by that of the whole row."""

    def __init__(self, index: int, rows: pa.Table, keys: Sequence[int], layout: Layout) -> None:
        self.index, self.layout = index, layout
        self.rows = rows.combine_chunks()
        self.width = width(rows)
        self.weight = _numbers(rows["weight"])
        self.keys = hash_rows(rows, keys)
        self.rest = hash_rows(rows, range(self.width))

    @property
    def table(self) -> pa.Table:
        """The rows with the stored columns."""
        count = len(self.weight)
        columns = {
            "index": np.full(count, self.index),
            "key": self.keys,
            "rest": self.rest,
            "weight": self.weight,
        }
        known = {f"v{place}" for place in range(self.width)}
        texts = {
            n: self.rows[n] if n in known else pa.nulls(count, pa.string()) for n in self.layout.text_names
        }
        return pa.table(columns | texts).select(self.layout.schema.names).cast(self.layout.schema)

    def runs(self) -> list[Run]:
        """Return the changes themselves as runs, for look-ups."""
        return [Run(sort_rows(self.table))] if len(self.weight) else []

    def weights(self, runs: Sequence[Run], index: int | None = None) -> Numbers:
        """Return the weight of each row itself; 0 if it is absent."""
        found = np.zeros(len(self.weight), np.int64)
        for run in runs:
            mine, theirs = expand(*run.find(self.index if index is None else index, self.keys, self.rest))
            same = np.ones(len(mine), np.bool_)
            for place in range(self.width):
                name = f"v{place}"
                same &= _same(self.rows[name].take(pa.array(mine)), run.texts(name, theirs))
            np.add.at(found, mine[same], run.numbers("weight", theirs[same]))
        return found


def _changed_pairs(
    places: _JoinPlaces, left: _KeptSide, right: _KeptSide, before: Sequence[Run], present: Sequence[Run]
) -> Iterator[_Pairs]:
    """Pair changed left rows with the earlier right rows, `present`, and changed right rows with the present
    left rows, so that a pair of two new rows counts once.
    """
    for mine, others in _partners(left, _RIGHT, present, right.width):
        weight, mine = left.weight[mine], left.rows.take(pa.array(mine))
        yield from _fitting(places, weight * _numbers(others["weight"]), mine, others)
    for mine, others in _partners(right, _LEFT, [*before, *left.runs()], left.width):
        weight, mine = right.weight[mine], right.rows.take(pa.array(mine))
        yield from _fitting(places, weight * _numbers(others["weight"]), others, mine)


def _partners(
    rows: _KeptSide, index: int, runs: Sequence[Run], columns: int
) -> Iterator[tuple[Numbers, pa.Table]]:
    """Yield rows of the other side with the same key, a bounded number of pairs at a time."""
    names = ["weight", *(f"v{place}" for place in range(columns))]
    for run in runs:
        begin, end = run.find(index, rows.keys)
        turns = np.floor_divide(np.cumsum(end - begin), _MOST_PAIRS)
        for turn in np.unique(turns[end > begin]):
            places = np.nonzero((turns == turn) & (end > begin))[0]
            mine, theirs = expand(begin[places], end[places])
            yield places[mine], run.rows(theirs, names)


def _fitting(places: _JoinPlaces, weight: Numbers, left: pa.Table, right: pa.Table) -> Iterator[_Pairs]:
    held = places.fit(left, right) & (weight != 0)
    if held.any():
        pairs = _Pairs(weight, left, right)
        yield pairs if held.all() else _taken(pairs, pa.array(np.nonzero(held)[0]))


def _taken(pairs: _Pairs, at: pa.Array) -> _Pairs:
    return _Pairs(pairs.weight[at.to_numpy()], pairs.left.take(at), pairs.right.take(at))


def _present(runs: Sequence[Run], left: _KeptSide, layout: Layout) -> list[Run]:
    """Return the earlier right rows that may fit changed left rows, each once."""
    keys = np.unique(left.keys)
    found = [run.rows(expand(*run.find(_RIGHT, keys))[1]) for run in runs]
    if not found:
        return []
    held = sum_rows(found, layout)
    there = held.set_column(held.column_names.index("weight"), "weight", [np.ones(len(held), np.int64)])
    return [Run(there.combine_chunks())] if len(there) else []


def _weighed(rows: pa.Table, weight: Numbers) -> pa.Table:
    """Return rows with other weights."""
    return rows.set_column(0, "weight", [weight])


def _empty(columns: int) -> pa.Table:
    return solutions(pa.array([], pa.int64()), [pa.array([], pa.string())] * columns)


def _place(columns: planning.Columns, variable: planning.Variable) -> int | None:
    return columns.index(variable) if variable in columns else None


def _numbers(column: Any) -> Numbers:
    numbers: Numbers = column.to_numpy()
    return numbers


def _is_null(column: Any) -> Mask:
    nulls: Mask = np.asarray(pc.is_null(column).to_numpy(zero_copy_only=False), np.bool_)
    return nulls


def _same(one: Any, other: Any) -> Mask:
    """Compare texts position by position; unbound is the same as unbound."""
    return equal(one, other) | (_is_null(one) & _is_null(other))
