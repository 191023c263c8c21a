"""The last stages: rows meet in one bucket by the columns that operators above the patterns compare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from rdflive.feeds.terms import write_term
from rdflive.query import planning
from rdflive_stores.spark.dataflow.groups import Groups
from rdflive_stores.spark.dataflow.joining import Joins, PartnerCounts
from rdflive_stores.spark.dataflow.packing import bucket_of, pack, unpack
from rdflive_stores.spark.dataflow.query_plan import JointPlan
from rdflive_stores.spark.dataflow.runs import Layout
from rdflive_stores.spark.dataflow.sets import Distincts, TemplateTriples, compile_passes
from rdflive_stores.spark.dataflow.slices import SlicedRows
from rdflive_stores.spark.dataflow.solutions import TextTerms, hash_rows, net, pick, solutions
from rdflive_stores.spark.dataflow.staging import Constants, PatternRows, Side, Stage, StageOperation
from rdflive_stores.spark.dataflow.state import Bucket, TaskMoment
from rdflive_stores.spark.dataflow.walking import arriving, keep

__all__ = ["finish", "folders"]


class ComparingOperator(Protocol):
    """An operator that compares rows, with state."""

    layout: Layout
    """The columns of its state."""

    def update(self, state: Bucket, sides: Sequence[pa.Table]) -> pa.Table:
        """Apply the net changes of each input; return those of its own rows."""


_HEADS: Final[Mapping[type[planning.Node], Any]] = {
    planning.Construct: TemplateTriples,
    planning.Distinct: Distincts,
    planning.Exists: PartnerCounts,
    planning.Group: Groups,
    planning.Join: Joins,
    planning.LeftJoin: PartnerCounts,
    planning.Minus: PartnerCounts,
    planning.Slice: SlicedRows,
}


def finish(
    plan: JointPlan,
    now: TaskMoment,
    buckets: int,
    number: int,
    batches: Iterable[pa.RecordBatch],
    begun: Collection[int] = (),
) -> Iterator[pa.RecordBatch]:
    """Run the stages of one round on the rows that meet here.

    The last round yields solutions, each at most once: the name of its query if there are several, a text
    column per variable, NULL if unbound, and `weight`, which is never 0. The other rounds send packets of
    rows on.

    After the batches are read, `begun` lists the buckets of this task in their first micro-batch, in which
    constants appear.
    """
    due = [
        _Due(plan, query, stage, now, buckets)
        for query, one in enumerate(plan.queries)
        for stage in range(len(one.stages))
        if plan.round(query, stage) == number
    ]
    # rows for later rounds wait in their bucket
    later = {
        arriving(number_of_port)
        for number_of_port, port in enumerate(plan.ports)
        if plan.round(port.query, port.stage) > number
    }
    found = dict(unpack(batches))
    for bucket in begun:
        found.setdefault(bucket, {})
    for bucket, kinds in found.items():
        for kind in later.intersection(kinds):
            yield from keep(kinds[kind], kind, bucket)
        for one in due:
            yield from one.run(bucket, kinds, is_begun=bucket in begun)


def folders(plan: JointPlan) -> dict[str, Layout]:
    """Return the layout of each folder of the stages' state."""
    return {
        _folder(plan, query, number): _head(stage.head, stage, TextTerms()).layout
        for query, one in enumerate(plan.queries)
        for number, stage in enumerate(one.stages)
        if stage.head is not None
    }


def _folder(plan: JointPlan, query: int, stage: int) -> str:
    return f"query-{query}-stage-{stage}" if plan.labels else f"stage-{stage}"


def _head(operation: StageOperation, stage: Stage, terms: TextTerms) -> ComparingOperator:
    head: ComparingOperator = _HEADS[type(operation.node)](operation, stage.sides, terms)
    return head


class _Due:
    """A stage of a query, compiled for one task."""

    def __init__(self, plan: JointPlan, query: int, number: int, now: TaskMoment, buckets: int) -> None:
        self._plan, self._query, self._number = plan, query, number
        self._now, self._buckets = now, buckets
        one = plan.queries[query]
        self._stage = stage = one.stages[number]
        terms = TextTerms()
        self._head = None if stage.head is None else _head(stage.head, stage, terms)
        self._ports = {
            (port.side, port.arm): arriving(place)
            for place, port in enumerate(plan.ports)
            if (port.query, port.stage) == (query, number)
        }
        self._on_the_way = {
            (side, arm): compile_passes(way.operations, terms)
            for side, one_side in enumerate(stage.sides)
            for arm, way in enumerate(one_side.arms)
        }
        self._is_last = number == len(one.stages) - 1
        self._closing = compile_passes(one.closing if self._is_last else (), terms)
        self._round = plan.round(query, number)
        self._behind = [
            (port, compile_passes(arm.operations, terms), side.key)
            for port, arm, side in plan.behind(query, number)
        ]

    def run(self, bucket: int, kinds: dict[int, pa.Table], *, is_begun: bool) -> Iterator[pa.RecordBatch]:
        """Run the stage on the rows of a bucket, by kind; add rows for later stages of this round."""
        sides = [
            self._rows(place, side, bucket, kinds, is_begun=is_begun)
            for place, side in enumerate(self._stage.sides)
        ]
        if not any(map(len, sides)):
            return
        rows = sides[0]
        if self._head is not None:
            folder = _folder(self._plan, self._query, self._number)
            state = Bucket.of(self._now, folder, bucket, self._head.layout)
            rows = self._head.update(state, sides)
        if not len(rows):
            return
        for port, passes, key in self._behind:
            sent = passes(rows)
            if self._plan.round(self._query, self._plan.ports[port].stage) == self._round:
                kinds[arriving(port)] = sent
            else:
                yield from pack(sent, arriving(port), bucket_of(hash_rows(sent, key), self._buckets))
        if self._is_last:
            yield from _show(self._plan, self._query, self._closing(rows))

    def _rows(
        self, place: int, side: Side, bucket: int, kinds: Mapping[int, pa.Table], *, is_begun: bool
    ) -> pa.Table:
        """Sum the rows that have arrived at a side."""
        unbound = [pa.array([], pa.string())] * len(side.columns)
        parts = [solutions(pa.array([], pa.int64()), unbound)]
        for number, arm in enumerate(side.arms):
            passes = self._on_the_way[place, number]
            if isinstance(arm.origin, Constants):
                if is_begun:
                    rows = passes(_constants(arm.origin.node))
                    mine = bucket_of(hash_rows(rows, side.key), self._buckets) == bucket
                    parts.append(rows.filter(pa.array(mine)))
                continue
            rows = kinds.get(self._ports[place, number])
            if rows is not None:
                parts.append(passes(net(rows)) if isinstance(arm.origin, PatternRows) else rows)
        return net(pa.concat_tables(parts))


def _constants(node: planning.Values) -> pa.Table:
    """Return the rows of VALUES."""
    texts = [[None if term is None else write_term(term) for term in row] for row in node.rows]
    columns = [pa.array([row[place] for row in texts], pa.string()) for place in range(len(node.columns))]
    return solutions(np.ones(len(node.rows), np.int64), columns)


def _show(plan: JointPlan, query: int, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield the solutions of rows."""
    one = plan.queries[query]
    picked = pick(rows, one.places)
    if not len(picked):
        return
    shown, weight = dict(zip(one.names, picked.columns[1:], strict=True)), picked["weight"]
    unbound = pa.nulls(len(weight), pa.string())
    columns = [shown.get(name, unbound) for name in plan.names]
    if plan.labels:
        columns.insert(0, pa.array([plan.labels[query]] * len(weight), pa.string()))
    table = pa.Table.from_arrays([*columns, weight], [*plan.columns, "weight"])
    yield from table.combine_chunks().to_batches()
