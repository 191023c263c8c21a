"""What Spark calls: the stages as functions of Arrow batches, each for the micro-batch that is under way."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext

from rdflive.errors import RdfliveError
from rdflive_stores.spark.dataflow import finishing, matching, walking
from rdflive_stores.spark.dataflow.query_plan import QueryPlan
from rdflive_stores.spark.dataflow.runs import sum_rows
from rdflive_stores.spark.dataflow.state import Bucket, Moment, moment

__all__ = ["PLAN", "StateError", "check", "compact", "finish", "is_done", "match", "signature", "walk"]

PLAN: Final = "plan.json"
"""The file that says what the state of a query is for."""
_FORMAT: Final = 1
"""Counts what changes how state is written; the states of groups are pickled."""
_REACHED: Final = "reached"
"""The folder that says up to where each part of the state is."""


class StateError(RdfliveError, ValueError):
    """The state in a checkpoint belongs to another query."""


def match(
    plan: QueryPlan, root: str, buckets: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `matching.match`; the first task of a micro-batch, so it looks whose state this is."""
    now = moment(root)
    _claim(now, signature(plan, buckets))
    yield from matching.match(plan.matching, now, buckets, batches)


def walk(
    plan: QueryPlan, root: str, buckets: int, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `walking.walk`."""
    yield from walking.walk(plan.matching, moment(root), buckets, number, batches)


def finish(
    plan: QueryPlan, root: str, buckets: int, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `finishing.finish`; the last task of a micro-batch, so it says that its part is done."""
    now = moment(root)
    yield from finishing.finish(plan, now, buckets, number, batches)
    if number == len(plan.stages) - 1:
        _note(now)


def is_done(now: Moment, buckets: int) -> bool:
    """Tell whether all parts of a micro-batch have run, which a sink that reads it in part leaves undone."""
    return all(_noted(now.folder, part) == now.batch for part in range(buckets))


def compact(plan: QueryPlan, now: Moment, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge the files of some buckets of a query that does not run; gives the buckets back.

    `now` is the last micro-batch that Spark committed.
    """
    folders = {
        matching.LIVE: (matching.LAYOUT, sum_rows),
        walking.ARRANGED: (walking.layout(plan.matching), sum_rows),
        **finishing.folders(plan),
    }
    for batch in batches:
        for bucket in batch.column(0).to_pylist():
            for name, (layout, merge) in folders.items():
                Bucket.of(now, name, bucket, layout, merge).compact(now.batch)
        yield batch.rename_columns(["bucket"])


def signature(plan: QueryPlan, buckets: int) -> dict[str, Any]:
    """Say what state depends on: two plans of one signature read each other's."""
    arranged = [[*shape.match, shape.key] for shape in plan.matching.arrangements]
    return {"query": plan.plan.query.text, "partitions": buckets, "arrangements": arranged}


def check(folder: str, mine: dict[str, Any]) -> None:
    """Look whose the state in a folder is; raises `StateError`, and `FileNotFoundError` if there is none."""
    with open(os.path.join(folder, PLAN), encoding="utf-8") as file:
        theirs = json.load(file)
    for name, value in mine.items():
        if theirs.get(name) != value:
            raise StateError(
                f"the state in {folder} was made with {name} {theirs.get(name)!r}, and this subscription has "
                f"{value!r}; take that again, or start anew with another checkpoint"
            )


def _claim(now: Moment, mine: dict[str, Any]) -> None:
    """Write down whose the state is, or compare."""
    path = os.path.join(now.folder, PLAN)
    if not os.path.exists(path):
        os.makedirs(now.folder, exist_ok=True)
        draft = f"{path}.{uuid4().hex}"
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(mine, file, ensure_ascii=False, indent=1)
        os.replace(draft, path)  # another task of the query would write the same
    check(now.folder, mine)


def _note(now: Moment) -> None:
    """Write down which micro-batch this task's part of the state has reached."""
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("only tasks of Spark have a part")
    folder = os.path.join(now.folder, _REACHED)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, str(context.partitionId())), "w", encoding="ascii") as file:
        file.write(str(now.batch))


def _noted(folder: str, part: int) -> int | None:
    try:
        with open(os.path.join(folder, _REACHED, str(part)), encoding="ascii") as file:
            return int(file.read())
    except (FileNotFoundError, ValueError):  # none yet, or the writer was killed
        return None
