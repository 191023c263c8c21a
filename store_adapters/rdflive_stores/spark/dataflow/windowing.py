"""A window over a stream, before set semantics: elements wait, enter, and leave when time has passed.

Each element waits until the window reports past its time, so only a micro-batch with a later watermark has
changes. Then the last operation on a quad counts, by time. An element that adds a quad keeps it in the window
while the element's time is within the window; an element that removes it takes it out. The result is changes
of quads, as a stream without times has them.

The state of a bucket has three indexes: present elements by quad, to renew or remove them; the same by time,
to find those that have passed without reading the others; and waiting elements by time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rdflive_stores.spark.dataflow.event_time import Bounds, EventWindow
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.identity import BEGIN_AGAIN
from rdflive_stores.spark.dataflow.matching import PLACES, SIGNS, ChangeError, last_of_each, present
from rdflive_stores.spark.dataflow.packing import clock, unclock
from rdflive_stores.spark.dataflow.runs import Layout, Numbers, Run, sum_rows
from rdflive_stores.spark.dataflow.state import Bucket, StateError, TaskMoment

__all__ = ["CLOCK", "LAYOUT", "WINDOW", "Elements", "carry", "elements", "keep_clock"]

WINDOW: Final = "window"
"""The folder of the elements that a window holds or will hold."""
CLOCK: Final = "clock"
"""The folder with the progress of the stream before each micro-batch."""
LAYOUT: Final = Layout(6, 4)
"""The quad, its time, for waiting elements their operation and micro-batch, and the hashes of its terms."""
_HELD, _HELD_BY_TIME, _WAITING = range(3)
_HASHES: Final = tuple(f"h{name}" for name in PLACES)


class Clock(NamedTuple):
    """The largest times of a stream before a micro-batch, in microseconds; None before any element."""

    latest: int | None
    """Of all earlier micro-batches."""
    earlier: int | None
    """Of all micro-batches before the previous one."""

    @classmethod
    def read(cls, now: TaskMoment) -> Clock:
        """Read the progress of the stream."""
        if now.batch == 0:
            return cls(None, None)
        try:
            return cls(*json.loads((now.folder / CLOCK).text(str(now.batch))))
        except (FileNotFoundError, ValueError, TypeError) as error:
            place = now.folder / CLOCK / str(now.batch)
            raise StateError(f"{place} is lost or damaged; {BEGIN_AGAIN}") from error

    def write(self, folder: Folder, batch: int) -> None:
        """Write the progress for a micro-batch, and remove an entry that no retry reads."""
        (folder / CLOCK).write_text(str(batch), json.dumps(self))
        (folder / CLOCK).remove(str(batch - 3))


class Elements:
    """The elements in the buckets of a task, in one micro-batch."""

    def __init__(
        self, window: EventWindow, now: TaskMoment, buckets: Iterable[int], *, is_snapshot: bool = False
    ) -> None:
        self._now = now
        self._clock = Clock.read(now)
        self._bounds, self._before = map(window.bounds, self._clock)
        self._buckets = buckets
        self._is_snapshot = is_snapshot
        self._latest = self._clock.latest
        self.late = 0
        """Number of elements that were dropped because they arrived late."""

    def timed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Record the times of all elements, and pass on those that a pattern may match: `is_wanted`."""
        for batch in batches:
            times = batch["time"]
            if times.null_count:
                raise ChangeError("the time of an element is NULL")
            known = [pc.max(times).as_py(), self._latest]
            self._latest = max((time for time in known if time is not None), default=None)
            yield batch.filter(batch["is_wanted"])

    def clock(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass packets on, then send the largest time to the next stage."""
        yield from batches
        if not self._is_snapshot:
            yield clock(self._latest)

    def changes(self, arrived: Iterable[tuple[int, pa.Table]]) -> Iterator[tuple[int, pa.Table]]:
        """Turn the elements of each bucket into changes of the window's content."""
        arriving = dict(arrived)
        for bucket in self._buckets:
            changes = self._pass(bucket, arriving.get(bucket))
            if changes.num_rows:
                yield bucket, changes

    def _pass(self, bucket: int, arrived: pa.Table | None) -> pa.Table:
        state = Bucket.of(self._now, WINDOW, bucket, LAYOUT)
        runs, bounds, before = state.before(), self._bounds, self._before
        passed = _between(runs, _HELD_BY_TIME, before.begin, bounds.begin)
        ready = _between(runs, _WAITING, before.last + 1, bounds.last + 1)
        due = [_changes(passed, "D"), _changes(ready)]
        rows = [ready.set_column(3, "weight", pc.negate(ready["weight"]))]
        if arrived is not None:
            arrived = self._punctual(arrived)
            is_due = pc.less_equal(arrived["time"], bounds.last)
            due.append(_due(arrived.filter(is_due)))
            rows.append(self._waiting(arrived.filter(pc.invert(is_due))))
        changes = pa.concat_tables(due).combine_chunks()
        if changes.num_rows:
            changes, held = _turn(runs, last_of_each(changes), bounds)
            rows.append(held)
        new = pa.concat_tables(rows)
        if new.num_rows:
            state.add(new)
        return changes

    def _punctual(self, arrived: pa.Table) -> pa.Table:
        """Drop and count late elements, and of the operations on a quad at one time all but the last."""
        if not self._is_snapshot:
            # the elements of a snapshot were in time when they arrived
            punctual = arrived.filter(pc.greater_equal(arrived["time"], self._bounds.watermark))
            self.late += len(arrived) - len(punctual)
            arrived = punctual.combine_chunks()
        return last_of_each(arrived, ("time",)) if arrived.num_rows else arrived

    def _waiting(self, arrived: pa.Table) -> pa.Table:
        """Return the rows of waiting elements; at one time, a later micro-batch's operation counts."""
        signs = pc.if_else(pc.is_in(arrived["op"], pa.array(SIGNS)), "A", "D")
        notes = pc.binary_join_element_wise(signs, str(self._now.batch), "")
        return _rows(_WAITING, arrived, arrived["time"], notes)


def keep_clock(now: TaskMoment, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Remove the times of tasks from packets, and store the largest one for the next micro-batch."""
    found: list[int | None] = []
    yield from unclock(batches, found)
    if found:
        latest = max((time for time in found if time is not None), default=None)
        Clock(latest, Clock.read(now).latest).write(now.folder, now.batch + 1)


def carry(old: TaskMoment, new: Folder) -> None:
    """Copy the progress of an old state, after its micro-batch, into a new one."""
    for batch in (old.batch, old.batch + 1):
        Clock.read(replace(old, batch=batch)).write(new, batch)


def elements(now: TaskMoment, bucket: int) -> pa.Table:
    """Return all present and waiting elements of a bucket, with the columns of a stream."""
    state = Bucket.of(now, WINDOW, bucket, LAYOUT)
    runs = state.before()
    least, most = -(1 << 63), (1 << 63) - 1
    held, waiting = (_between(runs, index, least, most) for index in (_HELD_BY_TIME, _WAITING))
    found = pa.concat_tables([_changes(held, "A"), _changes(waiting)])
    times = found["offset"].cast(pa.timestamp("us", "UTC"))
    return pa.table(
        {name: found[name] for name in ("op", *PLACES)} | {"time": times, "offset": found["part"]}
    )


def _between(runs: Sequence[Run], index: int, begin: int, end: int) -> pa.Table:
    """Return the rows of an index whose times are at or after `begin` and before `end`."""
    found = []
    for run in runs:
        first, last = run.find(index, np.array([begin, end]))[0].tolist()
        if first < last:
            found.append(run.slice(first, last))
    return sum_rows(found, LAYOUT) if found else LAYOUT.schema.empty_table()


def _changes(rows: pa.Table, op: str | None = None) -> pa.Table:
    """Return stored rows as changes, in the order of their times and micro-batches.

    Waiting rows have an operation and a micro-batch; present rows count as earlier.
    """
    notes = rows["v5"]
    nothing = pa.array(np.full(len(rows), -1))
    batches = nothing if op else pc.utf8_slice_codeunits(notes, 1).cast(pa.int64())
    ops = pa.array([op] * len(rows), pa.string()) if op else pc.utf8_slice_codeunits(notes, 0, 1)
    quads = {name: rows[f"v{place}"] for place, name in enumerate(PLACES)}
    hashes = {name: rows[f"h{place}"] for place, name in enumerate(_HASHES)}
    return _ordered({"op": ops} | quads | hashes | {"hash": rows["rest"]}, rows["key"], batches)


def _due(arrived: pa.Table) -> pa.Table:
    names = ("op", *PLACES, *_HASHES, "hash")
    return _ordered({name: arrived[name] for name in names}, arrived["time"], arrived["offset"])


def _ordered(columns: dict[str, pa.ChunkedArray], times: pa.ChunkedArray, parts: pa.Array) -> pa.Table:
    streams = pa.array([""] * len(times), pa.string())
    places = {"stream": streams, "offset": times, "part": parts}
    return pa.table(columns | places | {"is_apart": np.zeros(len(times), np.bool_)})


def _turn(runs: Sequence[Run], changes: pa.Table, bounds: Bounds) -> tuple[pa.Table, pa.Table]:
    """Return the changes that alter the window's content, and the rows that they add to the state."""
    weight, last = present(runs, _HELD, changes)
    times = changes["offset"].to_numpy()
    is_added = pc.is_in(changes["op"], pa.array(SIGNS)).to_numpy()
    is_held = is_added & (times >= bounds.begin)
    gone, come = pa.array(weight > 0), pa.array(is_held)
    rows = [
        *_held(changes.filter(gone), last[weight > 0], -1),
        *_held(changes.filter(come), times[is_held], 1),
    ]
    # an element that has already passed removes the one that it would have renewed
    changes = changes.set_column(0, "op", pc.if_else(come, "A", "D"))
    return changes.filter(pa.array(is_held != (weight > 0))).combine_chunks(), pa.concat_tables(rows)


def _held(quads: pa.Table, times: Numbers, sign: int) -> Iterator[pa.Table]:
    nothing = pa.array([""] * len(quads), pa.string())
    for index in (_HELD, _HELD_BY_TIME):
        yield _rows(index, quads, pa.array(times), nothing, sign)


def _rows(index: int, quads: pa.Table, times: pa.Array, notes: pa.Array, sign: int = 1) -> pa.Table:
    """Return rows of state."""
    key, rest = (quads["hash"], times) if index == _HELD else (times, quads["hash"])
    columns = {
        "index": np.full(len(quads), index),
        "key": key,
        "rest": rest,
        "weight": np.full(len(quads), sign),
        **{f"v{place}": quads[name] for place, name in enumerate(PLACES)},
        "v4": times.cast(pa.string()),
        "v5": notes,
        **{f"h{place}": quads[name] for place, name in enumerate(_HASHES)},
    }
    return pa.table({name: columns[name] for name in LAYOUT.schema.names}).cast(LAYOUT.schema)
