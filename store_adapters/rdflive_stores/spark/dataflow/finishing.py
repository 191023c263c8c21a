"""The last stages: equal rows meet in one bucket, and their net changes pass the operators above the
pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, singledispatch
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from rdflive.query import planning
from rdflive_stores.spark.dataflow import groups
from rdflive_stores.spark.dataflow.packing import bucket_of, pack, unpack
from rdflive_stores.spark.dataflow.query_plan import JointPlan, Operation, QueryPlan
from rdflive_stores.spark.dataflow.runs import Layout, Numbers, Run, expand
from rdflive_stores.spark.dataflow.solutions import Cells, hash_rows, net, pick, solutions, width
from rdflive_stores.spark.dataflow.state import Bucket, Moment
from rdflive_stores.spark.dataflow.terms import TextTerms
from rdflive_stores.spark.dataflow.walking import keep, solved

__all__ = ["finish", "folders"]

_Pass: TypeAlias = Callable[[pa.Table, int], pa.Table]
"""Takes rows and their bucket, and gives rows."""


def finish(
    plan: JointPlan,
    now: Moment,
    buckets: int,
    number: int,
    batches: Iterable[pa.RecordBatch],
    begun: Collection[int] = (),
) -> Iterator[pa.RecordBatch]:
    """Net the rows that meet here and run the operations of stage `number` on them.

    The last stage gives solutions, each at most once: the name of its query where there are several, a text
    column per variable, NULL where unbound, and `weight`, which is never 0. The other stages send packets of
    rows on.

    `begun` lists the buckets of this task of which this is the first micro-batch, once the batches have been
    read. Where nothing is grouped by, the one group is there from then on, with or without rows.
    """
    steps = [_steps(plan, query, number, now) for query in range(len(plan.queries))]
    found = dict(unpack(batches))
    for bucket in begun:
        found.setdefault(bucket, {})
    for bucket, kinds in found.items():
        for query, one in enumerate(plan.queries):
            rows, place = kinds.get(solved(query)), number - plan.first_stage(query)
            is_begun = bucket in begun and _has_one_group(one, place, bucket)
            if rows is None and is_begun:
                unbound = [pa.array([], pa.string())] * len(one.stages[place].inputs)
                rows = solutions(pa.array([], pa.int64()), unbound)
            if rows is None:
                continue
            if place < 0:
                yield from keep(rows, solved(query), bucket)
                continue
            rows = net(rows)
            for step in steps[query]:
                if rows.num_rows or is_begun:
                    rows = step(rows, bucket)
                is_begun = False
            if not rows.num_rows:
                continue
            if place + 1 < len(one.stages):
                key = hash_rows(rows, one.stages[place + 1].key)
                yield from pack(rows, solved(query), bucket_of(key, buckets))
            else:
                yield from _show(plan, query, rows)


def _has_one_group(query: QueryPlan, place: int, bucket: int) -> bool:
    """Tell whether a stage begins with a group that is always there, in a bucket."""
    operations = query.stages[place].operations if place >= 0 else ()
    # rows without a key go to the bucket of the hash 0
    return bucket == 0 and bool(operations) and getattr(operations[0].node, "seeds", None) is not None


def folders(plan: JointPlan) -> dict[str, Layout]:
    """Describe what the stages keep: the layout of each folder."""
    kept: dict[str, Layout] = {}
    for query, one in enumerate(plan.queries):
        for place, stage in enumerate(one.stages):
            first = stage.operations[0] if stage.operations else None
            if first is not None and isinstance(first.node, planning.Group):
                kept[_folder(plan, query, place)] = groups.layout(first.node)
            elif first is not None and isinstance(first.node, planning.Distinct):
                kept[_folder(plan, query, place)] = Layout(len(first.inputs))
    return kept


def _folder(plan: JointPlan, query: int, place: int) -> str:
    return f"query-{query}-stage-{place}" if plan.labels else f"stage-{place}"


def _steps(plan: JointPlan, query: int, number: int, now: Moment) -> list[_Pass]:
    """Compile what a stage does for a query; nothing where the query has not begun."""
    place = number - plan.first_stage(query)
    if place < 0:
        return []
    task = _Task(now, _folder(plan, query, place), TextTerms())
    operations = plan.queries[query].stages[place].operations
    return [_compile(operation.node, operation, task) for operation in operations]


def _show(plan: JointPlan, query: int, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Give the solutions of rows."""
    one = plan.queries[query]
    picked = pick(rows, one.places)
    shown, weight = dict(zip(one.names, picked.columns[1:], strict=True)), picked["weight"]
    unbound = pa.nulls(len(weight), pa.string())
    columns = [shown.get(name, unbound) for name in plan.names]
    if plan.labels:
        columns.insert(0, pa.array([plan.labels[query]] * len(weight), pa.string()))
    table = pa.Table.from_arrays([*columns, weight], [*plan.columns, "weight"])
    yield from table.combine_chunks().to_batches()


class _Task(NamedTuple):
    """What the operations of one task share."""

    now: Moment
    folder: str
    terms: TextTerms

    def state(self, bucket: int, layout: Layout) -> Bucket:
        return Bucket.of(self.now, self.folder, bucket, layout)


@singledispatch
def _compile(node: planning.Node, operation: Operation, task: _Task) -> _Pass:
    raise NotImplementedError(type(node).__name__)


@_compile.register
def _filter(node: planning.Filter, operation: Operation, task: _Task) -> _Pass:
    cells = Cells(operation.inputs, node.expressions, task.terms)
    test = node.condition.condition(cells.places, task.terms)

    def step(rows: pa.Table, _: int) -> pa.Table:
        # what the condition reads repeats, and is tested once
        return rows.filter(pa.array(np.fromiter(map(cache(test), cells.rows(rows)), np.bool_, rows.num_rows)))

    return step


@_compile.register
def _extend(node: planning.Extend, operation: Operation, task: _Task) -> _Pass:
    cells = Cells(operation.inputs, node.expressions, task.terms)
    value, text = node.expression.value(cells.places, task.terms), task.terms.text

    def step(rows: pa.Table, _: int) -> pa.Table:
        texts = [text(number) for number in map(cache(value), cells.rows(rows))]
        return rows.append_column(f"v{width(rows)}", pa.array(texts, pa.string()))

    return step


@_compile.register
def _project(node: planning.Project, operation: Operation, task: _Task) -> _Pass:  # noqa: ARG001
    sources = operation.sources
    return lambda rows, _: pick(rows, sources)


@_compile.register
def _distinct(node: planning.Distinct, operation: Operation, task: _Task) -> _Pass:  # noqa: ARG001
    layout = Layout(len(operation.inputs))

    def step(rows: pa.Table, bucket: int) -> pa.Table:
        return _turns(task.state(bucket, layout), task.now.batch, rows)

    return step


@_compile.register
def _group(node: planning.Group, operation: Operation, task: _Task) -> _Pass:
    compiled, layout = groups.Groups(operation, task.terms), groups.layout(node)

    def step(rows: pa.Table, bucket: int) -> pa.Table:
        return compiled.update(task.state(bucket, layout), task.now.batch, rows)

    return step


def _turns(state: Bucket, batch: int, rows: pa.Table) -> pa.Table:
    """Count net rows; give those that are new (1) or gone (-1)."""
    names = state.layout.text_names
    hashes = hash_rows(rows, range(len(names)))
    nothing = np.zeros(len(hashes), np.int64)
    known = [_known(run, names, np.unique(hashes)) for run in state.before(batch)]
    state.add(
        batch,
        rows.append_column("index", [nothing])
        .append_column("key", [hashes])
        .append_column("rest", [nothing]),
    )
    arriving = solutions(nothing, (rows[name] for name in names)).append_column("change", rows["weight"])
    # By text: a row that only shares a hash with one that comes has change 0, and gives nothing.
    sums = [("weight", "sum"), ("change", "sum")]
    counts = pa.concat_tables([arriving, *known]).group_by(names, use_threads=False).aggregate(sums)
    before, change = counts["weight_sum"].to_numpy(), counts["change_sum"].to_numpy()
    signs = (before + change > 0).astype(np.int64) - (before > 0)
    turns = solutions(signs, (counts[name] for name in names))
    return turns.filter(pa.array(signs != 0))


def _known(run: Run, names: list[str], hashes: Numbers) -> pa.Table:
    """Give the counted rows with some hashes."""
    places = expand(*run.find(0, hashes))[1]
    found = solutions(run.numbers("weight", places), (run.texts(name, places) for name in names))
    return found.append_column("change", [np.zeros(len(places), np.int64)])
