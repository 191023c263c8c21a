"""The functions that Spark calls: each stage over Arrow batches, for the present micro-batch."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext

from rdflive_stores.spark.dataflow import finishing, matching, walking
from rdflive_stores.spark.dataflow.packing import mark, unmark
from rdflive_stores.spark.dataflow.query_plan import QueryPlan
from rdflive_stores.spark.dataflow.runs import Layout, sum_rows
from rdflive_stores.spark.dataflow.state import Bucket, Merge, Moment, StateError, moment

__all__ = ["PLAN", "StateError", "check", "compact", "finish", "is_done", "match", "signature", "walk"]

PLAN: Final = "plan.json"
"""The file that tells which query and partitions the state belongs to."""
_FORMAT: Final = 1
"""The version of how state is written, increased with each change; the states of groups are pickled."""
_ANEW: Final = "start anew with another checkpoint"
_REACHED: Final = "reached"
"""The folder that tells which micro-batch each part of the state has reached."""


def match(
    plan: QueryPlan, root: str, buckets: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `matching.match`. As the first task of a micro-batch it checks that the state is the right one."""
    now, part = moment(root), _part()
    # the first micro-batch makes the state; later ones must find it
    if not now.batch:
        _claim(plan, now.folder, buckets)
    check(now.folder, signature(plan, buckets))
    _check_part(plan, now, part)
    yield mark(part)
    yield from matching.match(plan.matching, now, buckets, batches)


def walk(
    plan: QueryPlan, root: str, buckets: int, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `walking.walk`."""
    parts: list[int] = []
    yield from walking.walk(plan.matching, moment(root), buckets, number, unmark(batches, parts))
    yield from map(mark, parts)


def finish(
    plan: QueryPlan, root: str, buckets: int, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `finishing.finish`. The last stage of a micro-batch notes which parts are done."""
    now = moment(root)
    parts: list[int] = []
    yield from finishing.finish(plan, now, buckets, number, unmark(batches, parts))
    if number < len(plan.stages) - 1:
        yield from map(mark, parts)
    else:
        for part in parts:
            _note(now, part)


def is_done(now: Moment, buckets: int) -> bool:
    """Tell whether all parts of a micro-batch have run; a sink that reads only some rows leaves parts out."""
    return all(_noted(now.folder, part) == now.batch for part in range(buckets))


def compact(plan: QueryPlan, now: Moment, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge the files of some buckets of a query that is not running; gives the buckets back.

    `now` is the last micro-batch that Spark committed.
    """
    for batch in batches:
        for bucket in batch.column(0).to_pylist():
            for name, (layout, merge) in _kept(plan).items():
                Bucket.of(now, name, bucket, layout, merge).compact(now.batch)
        yield batch.rename_columns(["bucket"])


def signature(plan: QueryPlan, buckets: int) -> dict[str, Any]:
    """Describe what state depends on: two plans with one signature can read each other's state."""
    matching_ = plan.matching
    patterns = [[*map(str, p.places), *(c.text for c in p.filters)] for p in matching_.patterns]
    above = [e.text for step in plan.plan.steps for e in step.node.expressions]
    return {
        "format": _FORMAT,
        "query": plan.plan.query.text,
        "partitions": buckets,
        "patterns": patterns,
        "arrangements": [[*shape.match, shape.key] for shape in matching_.arrangements],
        # the query's text does not tell them: by other prefixes of initNs it means something else
        "expressions": _telling(above),
    }


def _telling(expressions: Iterable[str]) -> list[str]:
    """Leave out variables alone: they mean the same by all prefixes, and versions differ in noting them."""
    return [text for text in expressions if not re.fullmatch(r"\?\w+", text)]


def check(folder: str, mine: dict[str, Any]) -> None:
    """Check that the state in a folder belongs to this query; raises `StateError`, also if there is none."""
    try:
        with open(os.path.join(folder, PLAN), encoding="utf-8") as file:
            theirs = json.load(file)
    except FileNotFoundError as error:
        raise StateError(
            f"the state of the query should be in {folder}, and is not: it was removed, its first "
            f"micro-batch was never read, or the checkpoint is that of another program; {_ANEW}"
        ) from error
    if theirs.get("format") != mine["format"]:
        raise StateError(
            f"the state in {folder} is of format {theirs.get('format')!r}, and this rdflive knows "
            f"{mine['format']}: use the version that made it, or {_ANEW}"
        )
    theirs["expressions"] = _telling(theirs.get("expressions", ()))
    for name, value in mine.items():
        if theirs.get(name) != value:
            raise StateError(
                f"the state in {folder} was made with {name} {theirs.get(name)!r}, and this subscription has "
                f"{value!r}; take that again, or {_ANEW}"
            )


def _claim(plan: QueryPlan, folder: str, buckets: int) -> None:
    """Make the folders of a new query, and note that they are its own."""
    path = os.path.join(folder, PLAN)
    if os.path.exists(path):
        return
    for name in (_REACHED, *_kept(plan)):
        for bucket in range(buckets):
            os.makedirs(os.path.join(folder, name, "" if name == _REACHED else str(bucket)), exist_ok=True)
    _write(path, json.dumps(signature(plan, buckets), ensure_ascii=False, indent=1))


def _check_part(plan: QueryPlan, now: Moment, part: int) -> None:
    """Refuse a part of the state that is neither just before nor just after the micro-batch."""
    for name in _kept(plan):
        if not os.path.isdir(os.path.join(now.folder, name, str(part))):
            raise StateError(f"{now.folder} has lost its folder {name}/{part}; {_ANEW}")
    reached = _noted(now.folder, part)
    # `now.batch` itself where Spark runs again what was done but not committed
    if reached not in ((now.batch - 1, now.batch) if now.batch else (None, 0)):
        stands = "has run no micro-batch" if reached is None else f"stands at micro-batch {reached}"
        raise StateError(
            f"part {part} of the state in {now.folder} {stands}, and Spark is at {now.batch}: files were "
            "lost or put back, or a function of foreachBatch did not read the deltas to the end (start() "
            f"does); {_ANEW}"
        )


def _kept(plan: QueryPlan) -> dict[str, tuple[Layout, Merge]]:
    """Describe what is kept: per folder name, its layout and how its files are merged."""
    return {
        matching.LIVE: (matching.LAYOUT, sum_rows),
        walking.ARRANGED: (walking.layout(plan.matching), sum_rows),
        **finishing.folders(plan),
    }


def _part() -> int:
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("only tasks of Spark have a part")
    return context.partitionId()


def _note(now: Moment, part: int) -> None:
    """Note which micro-batch a part of the state has reached."""
    _write(os.path.join(now.folder, _REACHED, str(part)), str(now.batch))


def _noted(folder: str, part: int) -> int | None:
    try:
        with open(os.path.join(folder, _REACHED, str(part)), encoding="utf-8") as file:
            return int(file.read())
    except FileNotFoundError:
        return None


def _write(path: str, text: str) -> None:
    """Write a file in one step; other tasks that write it write the same content."""
    draft = f"{path}.{uuid4().hex}"
    with open(draft, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(draft, path)
