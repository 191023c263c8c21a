"""The last stages: equal rows meet in one bucket, and their net changes pass the operators above the
pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, singledispatch
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from rdflive.query import planning
from rdflive_stores.spark.dataflow import groups
from rdflive_stores.spark.dataflow.packing import bucket_of, pack, unpack
from rdflive_stores.spark.dataflow.query_plan import Operation, QueryPlan, Stage
from rdflive_stores.spark.dataflow.runs import Layout, Numbers, Run, expand, sum_rows
from rdflive_stores.spark.dataflow.solutions import Cells, hash_rows, net, pick, solutions, width
from rdflive_stores.spark.dataflow.state import Bucket, Merge, Moment
from rdflive_stores.spark.dataflow.terms import TextTerms
from rdflive_stores.spark.dataflow.walking import DONE

__all__ = ["finish", "folders"]

_Pass: TypeAlias = Callable[[pa.Table, int], pa.Table]
"""Takes rows and their bucket, and gives rows."""


def finish(
    plan: QueryPlan, now: Moment, buckets: int, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Net the rows that meet here and run the operations of stage `number` on them.

    The last stage gives solutions, each at most once: a text column per variable, NULL where unbound, and
    `weight`, which is never 0. The other stages send packets of rows on. The one group of an aggregate
    without GROUP BY appears with the first micro-batch that brings rows to its bucket.
    """
    stage = plan.stages[number]
    task = _Task(now, _folder(number), TextTerms())
    steps = [_compile(operation.node, operation, task) for operation in stage.operations]
    for bucket, kinds in unpack(batches):
        rows = net(kinds[DONE])
        for step in steps:
            if rows.num_rows:
                rows = step(rows, bucket)
        if not rows.num_rows:
            continue
        if number + 1 < len(plan.stages):
            yield from _send(plan.stages[number + 1], rows, buckets)
        else:
            yield from _show(plan, rows)


def folders(plan: QueryPlan) -> dict[str, tuple[Layout, Merge]]:
    """Describe what the stages keep: per folder name, its layout and how its files are merged."""
    kept: dict[str, tuple[Layout, Merge]] = {}
    for number, stage in enumerate(plan.stages):
        first = stage.operations[0] if stage.operations else None
        if first is not None and isinstance(first.node, planning.Group):
            kept[_folder(number)] = groups.layout(first.node), groups.newest_rows
        elif first is not None and isinstance(first.node, planning.Distinct):
            kept[_folder(number)] = Layout(len(first.inputs)), sum_rows
    return kept


def _folder(number: int) -> str:
    return f"stage-{number}"


def _send(stage: Stage, rows: pa.Table, buckets: int) -> Iterator[pa.RecordBatch]:
    """Send rows to the buckets where the next stage compares them."""
    yield from pack(rows, DONE, bucket_of(hash_rows(rows, stage.key), buckets))


def _show(plan: QueryPlan, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Give the solutions of rows."""
    shown = pick(rows, plan.places)
    columns = [*shown.columns[1:], shown["weight"]]
    yield from pa.Table.from_arrays(columns, [*plan.names, "weight"]).combine_chunks().to_batches()


class _Task(NamedTuple):
    """What the operations of one task share."""

    now: Moment
    folder: str
    terms: TextTerms

    def state(self, bucket: int, layout: Layout, merge: Merge = sum_rows) -> Bucket:
        return Bucket.of(self.now, self.folder, bucket, layout, merge)


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
        state = task.state(bucket, layout, groups.newest_rows)
        return compiled.update(state, task.now.batch, rows)

    return step


def _turns(state: Bucket, batch: int, rows: pa.Table) -> pa.Table:
    """Count net rows; give those that are new (1) or gone (-1)."""
    names = state.layout.text_names
    hashes = hash_rows(rows, range(len(names)))
    nothing = np.zeros(len(hashes), np.int64)
    known = [_known(run, names, np.unique(hashes)) for run in state.settle(batch)]
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
    places = pa.array(expand(*run.find(0, hashes))[1])
    found = solutions(run.table["weight"].take(places), (run.texts(name, places) for name in names))
    return found.append_column("change", [np.zeros(len(places), np.int64)])
