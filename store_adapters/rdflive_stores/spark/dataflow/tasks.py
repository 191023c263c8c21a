"""The functions that Spark calls: each stage over Arrow batches, for the current micro-batch."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import pyarrow as pa

from rdflive_stores.spark.dataflow import entailing, finishing, matching, walking, windowing
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.identity import (
    BEGIN_AGAIN,
    PLAN,
    check,
    describe,
    generation_of,
    is_unmade,
)
from rdflive_stores.spark.dataflow.packing import mark, spare_collections, unmark
from rdflive_stores.spark.dataflow.query_plan import JointPlan
from rdflive_stores.spark.dataflow.runs import Layout
from rdflive_stores.spark.dataflow.state import (
    REACHED,
    Bucket,
    Held,
    Home,
    Mark,
    StateError,
    TaskMoment,
    merged,
    moment,
    note,
    noted,
    standing,
)
from rdflive_stores.spark.dataflow.types import TEXT, ColumnTypes, typed

__all__ = [
    "MEASURES",
    "begin_part",
    "claim",
    "compact",
    "count",
    "finish",
    "is_done",
    "is_past_first",
    "live_quads",
    "match",
    "part_behind",
    "walk",
    "windowed",
]

MEASURES: Final = (*(f"state {name}" for name in Held._fields), "late rows")
"""The columns with the size of the state and the dropped rows. No variable has a space in its name."""
_NOTE: Final = re.compile(r"(\d+)-(-?\d+)")
"""The name of a note: the number of the part and the micro-batch."""


def match(
    plan: JointPlan, home: Home, buckets: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Check that the state belongs to the plan, then run `matching.match` or, with entailment,
    `entailing.entail`.
    """
    spare_collections()
    now, part = moment(home), _part()
    # the first micro-batch creates the state; later ones, and one after a snapshot, must find it
    is_first = home.snapshot is not None or (now.batch == 0 and is_unmade(home.generation))
    if home.snapshot is None:
        if is_first:
            _check_generation(home, now)
            claim(plan, now.folder, buckets)
        try:
            check(now.folder, describe(plan, buckets))
        except StateError:
            _check_generation(home, now)
            raise
    now.marks[part] = begin_part(now, part, is_first=is_first)
    if plan.window is None:
        stage = matching.match if plan.entailment is None else entailing.entail
        yield from stage(plan.matching, now, buckets, batches)
    else:
        task = windowing.Elements(plan.window, now, [part], is_snapshot=home.snapshot is not None)
        timed = task.timed(batches)
        yield from task.clock(matching.match(plan.matching, now, buckets, timed, task.changes))
        now.marks[part].late = task.late
    yield mark(part, now.marks[part])


def count(
    plan: JointPlan, home: Home, buckets: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `entailing.count`."""
    spare_collections()
    now = moment(home)
    yield from entailing.count(plan.matching, now, buckets, _unmarked(now, batches))
    yield from itertools.starmap(mark, now.marks.items())


def walk(
    plan: JointPlan, home: Home, buckets: int, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `walking.walk`."""
    spare_collections()
    now = moment(home)
    marked = _unmarked(now, batches)
    if plan.window is not None and number == 0:
        marked = windowing.keep_clock(now, marked)
    yield from walking.walk(plan.matching, now, buckets, number, marked)
    yield from itertools.starmap(mark, now.marks.items())


def finish(
    plan: JointPlan,
    home: Home,
    buckets: int,
    number: int,
    types: ColumnTypes,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Run `finishing.finish`; the last stage of a micro-batch records which parts are done.

    It adds a row for each of these parts, without a weight: the size of the part.
    """
    spare_collections()
    now = moment(home)
    is_first = home.snapshot is not None or (now.batch == 0 and is_unmade(home.generation))
    marked = _unmarked(now, batches)
    if plan.window is not None and number == plan.matching.rounds == 0:
        marked = windowing.keep_clock(now, marked)
    rows = finishing.finish(plan, now, buckets, number, marked, now.marks if is_first else {})
    if number < plan.stages - 1:
        yield from rows
        yield from itertools.starmap(mark, now.marks.items())
    else:
        for batch in rows:
            columns = [typed(name, batch.column(name), types) for name in batch.schema.names]
            columns += [pa.nulls(len(batch), pa.int64())] * len(MEASURES)
            yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names, *MEASURES])
        for part in now.marks:
            note(now, part)
            yield _measured(plan, now, part, types)


def _unmarked(now: TaskMoment, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Remove the marks; raise `StateError` for rows of another micro-batch.

    Nothing is written before all batches are read.
    """
    yield from unmark(batches, now.marks)
    for reached in now.marks.values():
        if reached.batch != now.batch:
            raise StateError(
                f"the deltas of micro-batch {reached.batch} are read again in micro-batch {now.batch}: keep "
                "their rows, as by collect() or cache(), not the DataFrame"
            )


def _measured(plan: JointPlan, now: TaskMoment, part: int, types: ColumnTypes) -> pa.RecordBatch:
    """Return the size of a part after the micro-batch, over all folders, and the number of late rows."""
    held = [Bucket.of(now, name, part, layout).held() for name, layout in _kept(plan).items()]
    late = now.marks[part].late
    sums = [pa.array([n], pa.int64()) for n in (*map(sum, zip(*held, strict=True)), late)]
    nulls = [pa.nulls(1, types.get(name, TEXT).arrow) for name in plan.columns]
    columns = [*nulls, pa.nulls(1, pa.int64()), *sums]
    return pa.RecordBatch.from_arrays(columns, [*plan.columns, "weight", *MEASURES])


def is_done(now: TaskMoment, buckets: int) -> bool:
    """True if all parts of a micro-batch have run; a sink that reads only some rows leaves parts out."""
    return all(noted(now.folder, part, now.batch) for part in range(buckets))


def compact(
    plan: JointPlan, old: TaskMoment, new: TaskMoment, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Merge some buckets of a stopped query into another folder, and yield their numbers.

    Both moments are of the last micro-batch that Spark committed.
    """
    for batch in batches:
        for bucket in batch.column(0).to_pylist():
            part_behind(old, bucket)
            new.marks[bucket] = Mark(new.batch)
            for name, layout in _kept(plan).items():
                Bucket.of(old, name, bucket, layout).copy(Bucket.of(new, name, bucket, layout))
            note(new, bucket)
        yield batch.rename_columns(["bucket"])


def live_quads(now: TaskMoment, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the live quads of some buckets of a stopped query, as changes that insert them.

    `now` is the last micro-batch that Spark committed.
    """
    for batch in batches:
        for bucket in batch.column(0).to_pylist():
            part_behind(now, bucket)
            live = Bucket.of(now, matching.LIVE, bucket, matching.LAYOUT)
            for rows in merged(live.before(), live.layout):
                terms = (rows[name] for name in live.layout.text_names)
                columns = [pa.array(["A"] * len(rows), pa.string()), *terms]
                yield from pa.Table.from_arrays(columns, ["op", "s", "p", "o", "g"]).to_batches()


def windowed(now: TaskMoment, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the elements that a window holds, or will hold, in some buckets of a stopped query.

    `now` is the last micro-batch that Spark committed.
    """
    for batch in batches:
        for bucket in batch.column(0).to_pylist():
            part_behind(now, bucket)
            yield from windowing.elements(now, bucket).to_batches()


def claim(plan: JointPlan, folder: Folder, buckets: int) -> None:
    """Record the plan in the folder of a new query."""
    if not (folder / PLAN).is_there():
        folder.write_text(PLAN, json.dumps(describe(plan, buckets), ensure_ascii=False, indent=1))


def begin_part(now: TaskMoment, part: int, *, is_first: bool) -> Mark:
    """Return the position of a part of the state before a micro-batch; the first one creates it.

    Raises `StateError` if the part has not run the previous micro-batch, or has run the next one.
    """
    if is_first:
        stands = _last_noted(now.folder, part)
        if stands in (None, now.batch):
            return Mark(now.batch)
    else:
        with suppress(FileNotFoundError):
            found = standing(now.folder, part, now.batch)
            if not noted(now.folder, part, now.batch + 1):
                return found
        stands = _last_noted(now.folder, part)
    place = "has run no micro-batch" if stands is None else f"is at micro-batch {stands}"
    raise StateError(
        f"part {part} of the state in {now.folder} {place}, but Spark is at {now.batch}: files were "
        "lost or restored, or a function of foreachBatch did not read the deltas to the end (start() "
        f"does); {BEGIN_AGAIN}"
    )


def part_behind(now: TaskMoment, part: int) -> None:
    """Set the position of a part after the last micro-batch of a stopped query."""
    found = begin_part(TaskMoment(now.folder, now.batch + 1), part, is_first=False)
    now.marks[part] = Mark(now.batch, found.before)


def _check_generation(home: Home, now: TaskMoment) -> None:
    """Raise `StateError` if the state was replaced after the subscription was made."""
    present = generation_of(now.folder.parent)
    is_first = now.batch == 0 and is_unmade(home.generation)
    if present != home.generation and (is_first or (now.folder.parent / present / PLAN).is_there()):
        raise StateError(
            f"the state in {now.folder.parent} was replaced by another start, rebuild, repartition or "
            "compact: subscribe again to continue with it"
        )


def _kept(plan: JointPlan) -> dict[str, Layout]:
    """Return the layout of each folder of the state."""
    entailed = {entailing.SCHEMA: entailing.FACTS, entailing.COUNTED: matching.LAYOUT}
    return {
        **({windowing.WINDOW: windowing.LAYOUT} if plan.window is not None else {}),
        matching.LIVE: matching.LAYOUT if plan.entailment is None else entailing.FACTS,
        **({} if plan.entailment is None else entailed),
        walking.ARRANGED: walking.layout(plan.matching),
        **finishing.folders(plan),
    }


def _part() -> int:
    from pyspark import TaskContext  # stages also run without PySpark

    context = TaskContext.get()
    if context is None:
        raise RuntimeError("only Spark tasks have a part")
    part: int = context.partitionId()
    return part


def is_past_first(folder: Folder) -> bool:
    """True if some part of the state has reached a micro-batch after the first."""
    return any(int(found[2]) > 0 for found in _notes(folder))


def _last_noted(folder: Folder, part: int) -> int | None:
    """Return the last micro-batch in a part's listed notes: for messages, and to refuse a first micro-batch
    that others have followed.
    """
    return max((int(found[2]) for found in _notes(folder) if int(found[1]) == part), default=None)


def _notes(folder: Folder) -> Iterator[re.Match[str]]:
    names = (folder / REACHED).names()  # with the drafts of killed tasks
    return (found for name in names if (found := _NOTE.fullmatch(name)) is not None)
