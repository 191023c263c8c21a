"""The functions that Spark calls: each stage over Arrow batches, for the present micro-batch."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from rdflive_stores.spark.dataflow import counting, entailing, finishing, matching, walking, windowing
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.first_format import runs_after
from rdflive_stores.spark.dataflow.identity import (
    ANEW,
    FIRST,
    FORMAT,
    PLAN,
    check,
    describe,
    generation_of,
)
from rdflive_stores.spark.dataflow.packing import Mark, mark, unmark
from rdflive_stores.spark.dataflow.query_plan import JointPlan
from rdflive_stores.spark.dataflow.runs import Layout
from rdflive_stores.spark.dataflow.state import Bucket, Held, Home, Moment, StateError, merged, moment
from rdflive_stores.spark.dataflow.types import TEXT, ColumnTypes, typed
from rdflive_stores.spark.workers import spare_collections

__all__ = [
    "FORMAT",
    "MEASURES",
    "PLAN",
    "REACHED",
    "StateError",
    "check",
    "check_part",
    "claim",
    "compact",
    "count",
    "finish",
    "is_done",
    "is_past_first",
    "live_quads",
    "match",
    "walk",
    "windowed",
]

MEASURES: Final = (*(f"state {name}" for name in Held._fields), "late rows")
"""The columns of how much state there is, and of what was dropped. No variable has a space in its name."""
REACHED: Final = "reached"
"""The folder that tells which micro-batch each part of the state has reached."""


def match(
    plan: JointPlan, home: Home, buckets: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `matching.match`, or with entailment `entailing.entail`. As the first task of a micro-batch it
    checks that the state is the right one.
    """
    spare_collections()
    now, part = moment(home), _part()
    if home.snapshot is None:
        # the first micro-batch makes the state; later ones, and one behind a snapshot, must find it
        if not now.batch and home.generation == FIRST:
            claim(plan, now.folder, buckets)
        try:
            check(now.folder, describe(plan, buckets))
        except StateError:
            _check_generation(home, now)
            raise
        check_part(now.folder, _kept(plan), part, now.batch)
    if plan.window is None:
        stage = matching.match if plan.entailment is None else entailing.entail
        yield from stage(plan.matching, now, buckets, batches)
        yield mark(part, Mark(now.batch))
    else:
        task = windowing.Elements(plan.window, now, [part], is_snapshot=home.snapshot is not None)
        timed = task.timed(batches)
        yield from task.clock(matching.match(plan.matching, now, buckets, timed, task.changes))
        yield mark(part, Mark(now.batch, task.late))


def count(
    plan: JointPlan, home: Home, buckets: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `counting.count`."""
    spare_collections()
    now, marks = moment(home), dict[int, Mark]()
    yield from counting.count(plan.matching, now, buckets, _unmarked(now, batches, marks))
    yield from itertools.starmap(mark, marks.items())


def walk(
    plan: JointPlan, home: Home, buckets: int, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run `walking.walk`."""
    spare_collections()
    now, marks = moment(home), dict[int, Mark]()
    marked = _unmarked(now, batches, marks)
    if plan.window is not None and number == 0:
        marked = windowing.keep_clock(now, marked)
    yield from walking.walk(plan.matching, now, buckets, number, marked)
    yield from itertools.starmap(mark, marks.items())


def finish(
    plan: JointPlan,
    home: Home,
    buckets: int,
    number: int,
    types: ColumnTypes,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Run `finishing.finish`. The last stage of a micro-batch notes which parts are done.

    It gives a row more for each of them, without a weight: how much the part holds.
    """
    spare_collections()
    now = moment(home)
    parts: dict[int, Mark] = {}
    is_first = home.snapshot is not None or (now.batch == 0 and home.generation == FIRST)
    marked = _unmarked(now, batches, parts)
    if plan.window is not None and number == plan.matching.rounds == 0:
        marked = windowing.keep_clock(now, marked)
    rows = finishing.finish(plan, now, buckets, number, marked, parts if is_first else {})
    if number < plan.stages - 1:
        yield from rows
        yield from itertools.starmap(mark, parts.items())
    else:
        for batch in rows:
            columns = [typed(name, batch.column(name), types) for name in batch.schema.names]
            columns += [pa.nulls(len(batch), pa.int64())] * len(MEASURES)
            yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names, *MEASURES])
        for part, told in parts.items():
            _note(now, part)
            yield _measured(plan, now, part, types, told.late)


def _unmarked(
    now: Moment, batches: Iterable[pa.RecordBatch], marks: dict[int, Mark]
) -> Iterator[pa.RecordBatch]:
    """Take the marks out; refuses rows of another micro-batch, which are not the changes of this one.

    Nothing is written before all batches have been read.
    """
    yield from unmark(batches, marks)
    for told in marks.values():
        if told.batch != now.batch:
            raise StateError(
                f"the deltas of micro-batch {told.batch} are read again in micro-batch {now.batch}: keep "
                "their rows, as by collect() or cache(), not the DataFrame"
            )


def _measured(plan: JointPlan, now: Moment, part: int, types: ColumnTypes, late: int) -> pa.RecordBatch:
    """Say how much a part of the state holds behind the micro-batch, in all folders together, and how many
    rows came too late.
    """
    held = [Bucket.of(now, name, part, layout).held(now.batch + 1) for name, layout in _kept(plan).items()]
    sums = [pa.array([n], pa.int64()) for n in (*map(sum, zip(*held, strict=True)), late)]
    nulls = [pa.nulls(1, types.get(name, TEXT).arrow) for name in plan.columns]
    columns = [*nulls, pa.nulls(1, pa.int64()), *sums]
    return pa.RecordBatch.from_arrays(columns, [*plan.columns, "weight", *MEASURES])


def is_done(now: Moment, buckets: int) -> bool:
    """Tell whether all parts of a micro-batch have run; a sink that reads only some rows leaves parts out."""
    return all(_noted(now.folder, part) == now.batch for part in range(buckets))


def compact(plan: JointPlan, now: Moment, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge the files of some buckets of a query that is not running; gives the buckets back.

    `now` is the last micro-batch that Spark committed.
    """
    for batch in batches:
        for bucket in batch.column(0).to_pylist():
            for name, layout in _kept(plan).items():
                Bucket.of(now, name, bucket, layout).compact(now.batch)
        yield batch.rename_columns(["bucket"])


def live_quads(now: Moment, format_: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give the live quads of some buckets of a query that is not running, as changes that insert them.

    `now` is the last micro-batch that Spark committed.
    """
    for batch in batches:
        for bucket in batch.column(0).to_pylist():
            check_part(now.folder, (matching.LIVE,), bucket, now.batch + 1)
            live = Bucket.of(now, matching.LIVE, bucket, matching.LAYOUT)
            runs = live.before(now.batch + 1) if format_ > 1 else runs_after(live.folder, now.batch)
            for rows in merged(runs, live.layout):
                terms = (rows[name] for name in live.layout.text_names)
                columns = [pa.array(["A"] * len(rows), pa.string()), *terms]
                yield from pa.Table.from_arrays(columns, ["op", "s", "p", "o", "g"]).to_batches()


def windowed(now: Moment, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give what a window holds and will hold in some buckets of a query that is not running, as elements.

    `now` is the last micro-batch that Spark committed.
    """
    for batch in batches:
        for bucket in batch.column(0).to_pylist():
            check_part(now.folder, (windowing.WINDOW,), bucket, now.batch + 1)
            yield from windowing.elements(now, bucket).to_batches()


def claim(plan: JointPlan, folder: Folder, buckets: int) -> None:
    """Make the folders of a new query, and note that they are its own."""
    if (folder / PLAN).is_there():
        return
    (folder / REACHED).make()
    if plan.window is not None:
        (folder / windowing.CLOCK).make()
    for name in _kept(plan):
        for bucket in range(buckets):
            (folder / name / str(bucket)).make()
    folder.write_text(PLAN, json.dumps(describe(plan, buckets), ensure_ascii=False, indent=1))


def check_part(folder: Folder, names: Iterable[str], part: int, batch: int) -> None:
    """Refuse a part of the state that is neither just before nor just after a micro-batch, or lacks one of
    its folders.
    """
    for name in names:
        if not (folder / name / str(part)).is_there():
            raise StateError(f"{folder} has lost its folder {name}/{part}; {ANEW}")
    reached = _noted(folder, part)
    # the micro-batch itself where Spark runs again what was done but not committed
    if reached not in (batch - 1, batch) and (batch or reached is not None):
        stands = "has run no micro-batch" if reached is None else f"stands at micro-batch {reached}"
        raise StateError(
            f"part {part} of the state in {folder} {stands}, and Spark is at {batch}: files were "
            "lost or put back, or a function of foreachBatch did not read the deltas to the end (start() "
            f"does); {ANEW}"
        )


def _check_generation(home: Home, now: Moment) -> None:
    """Refuse to go on with state that was made anew since the subscription was started."""
    present = generation_of(now.folder.parent)
    if present != home.generation and (now.folder.parent / present / PLAN).is_there():
        raise StateError(
            f"the state in {now.folder.parent} was made anew while the query ran, by rebuild or "
            "repartition: subscribe again, to go on with it"
        )


def _kept(plan: JointPlan) -> dict[str, Layout]:
    """Give the layout of each folder of the state."""
    entailed = {entailing.SCHEMA: entailing.FACTS, counting.COUNTED: matching.LAYOUT}
    return {
        **({windowing.WINDOW: windowing.LAYOUT} if plan.window is not None else {}),
        matching.LIVE: matching.LAYOUT if plan.entailment is None else entailing.FACTS,
        **({} if plan.entailment is None else entailed),
        walking.ARRANGED: walking.layout(plan.matching),
        **finishing.folders(plan),
    }


def _part() -> int:
    from pyspark import TaskContext  # the stages themselves run without PySpark

    context = TaskContext.get()
    if context is None:
        raise RuntimeError("only tasks of Spark have a part")
    return context.partitionId()


def _note(now: Moment, part: int) -> None:
    """Note which micro-batch a part of the state has reached."""
    (now.folder / REACHED).write_text(str(part), str(now.batch))


def is_past_first(folder: Folder) -> bool:
    """Tell whether some part of the state has reached a micro-batch behind the first."""
    parts = (part for part in (folder / REACHED).names() if part.isdigit())  # no drafts of killed tasks
    return any((_noted(folder, int(part)) or 0) > 0 for part in parts)


def _noted(folder: Folder, part: int) -> int | None:
    try:
        return int((folder / REACHED).text(str(part)))
    except FileNotFoundError:
        return None
