"""State of a bucket: runs in immutable files, and per micro-batch a manifest that names the current files.

Manifest n is the state before micro-batch n. The micro-batch reads it, writes its own changes as a new run,
continues the merges, and then writes manifest n + 1. After a failure it reads the same files again, and
writes the same bytes under the same names. So Spark's recovery is sufficient, and two attempts at a task
cannot disturb each other. Files that a manifest no longer names are removed two micro-batches later, when no
retry can read them. A late attempt then finds them missing, and ends without effect.

A listing of files does not show the current manifest of a bucket: it may lag, and may show files of a late
attempt. Instead, the last stage of a micro-batch writes a note with the manifest's number, and the next
micro-batch reads the note of its predecessor. Within a micro-batch the number travels from stage to stage
(`Mark`).

Runs are merged in levels, as in a log-structured merge tree: eight of a size become one of the next, and all
become one when the others have half the size of the largest. So a row is written about seven times, whatever
the size of the state. A merge may take several micro-batches. Each of them writes one more segment of the
result, in proportion to its own changes, so that none waits for a large merge.

Example: manifest 9, written by micro-batch 8, names the runs 1-0 (800 MB), 3-1, 5-0 (3 MB each) and 9-0
(100 kB), and a merge of 3-1 and 5-0 with 9-1 as the first segment of the result. 3-1 and 5-0 stay in use
until the merge is done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from rdflive.errors import RdfliveError
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.runs import Layout, Run, sort_rows, sum_rows

__all__ = [
    "BATCH",
    "REACHED",
    "Bucket",
    "Held",
    "Home",
    "Mark",
    "RunFile",
    "StateError",
    "TaskMoment",
    "merged",
    "moment",
    "note",
    "noted",
    "standing",
]

REACHED: Final = "reached"
"""The folder of the notes, which hold the position of each part of the state after each micro-batch."""
_KEPT_NOTES: Final = 3
"""Number of micro-batches that keep their notes: for a repeated micro-batch, and the one before it."""
_WRITTEN: Final = re.compile(r"(?:state-)?(\d+)")
"""The start of a bucket's file names: the number of the manifest for which the file was written."""
_FANOUT_BITS: Final = 3
_FANOUT: Final = 1 << _FANOUT_BITS
"""Number of runs of one level that become one of the next."""
_UNIT: Final = 1 << 16
"""A run of fewer bytes is on the lowest level."""
_LEAST_BYTES: Final = 1 << 18
"""Below this size, merging all runs by share would happen in nearly every micro-batch."""
_STEP: Final = 1 << 20
"""Least bytes per step of a merge, which limits the number of segments of its result."""
_MOST_SEGMENTS: Final = 64
_MOST_BYTES: Final = 1 << 28
"""Largest size of a segment: a column of Arrow's strings holds 2 GiB."""
_QUERY: Final = "sql.streaming.queryId"
BATCH: Final = "streaming.sql.batchId"
"""The Spark property with the micro-batch of a task."""


class StateError(RdfliveError, ValueError):
    """State is missing, damaged, or belongs to another query or micro-batch."""


@dataclass(slots=True)
class Mark:
    """The position of a part of the state in a micro-batch; each stage sends it to the next one."""

    batch: int
    """The number of the micro-batch."""
    before: dict[str, int] = field(default_factory=dict)
    """Per folder, the manifest of the state before the micro-batch; empty buckets have none."""
    written: list[str] = field(default_factory=list)
    """The folders for which the micro-batch has already written its manifest."""
    late: int = 0
    """Number of its elements that arrived late."""

    def to_text(self) -> str:
        """Return the text for a packet; equal marks have equal texts."""
        return json.dumps([self.batch, self.before, sorted(self.written), self.late], sort_keys=True)

    @classmethod
    def from_text(cls, text: str | bytes) -> Mark:
        """Read a text of `to_text`."""
        return cls(*json.loads(text))

    @property
    def behind(self) -> dict[str, int]:
        """The manifests of the state after the micro-batch."""
        return self.before | dict.fromkeys(self.written, self.batch + 1)


@dataclass(frozen=True, slots=True)
class TaskMoment:
    """The micro-batch of the streaming query in which a task runs."""

    folder: Folder
    """The folder of the query's state."""
    batch: int
    marks: dict[int, Mark] = field(default_factory=dict)
    """The positions of the parts that the task uses."""


@dataclass(frozen=True, slots=True)
class Home:
    """The location of a subscription's state, for its tasks."""

    root: Folder
    """The folder of all queries. Each has its own inside, so that two over one DataFrame share nothing."""
    generation: str
    snapshot: TaskMoment | None = None
    """In a job that builds state from a snapshot: the micro-batch that the snapshot represents."""


def moment(home: Home) -> TaskMoment:
    """Return the query and the micro-batch of the calling Spark task."""
    if home.snapshot is not None:
        return home.snapshot
    from pyspark import TaskContext  # stages also run without PySpark

    context = TaskContext.get()
    query = context.getLocalProperty(_QUERY) if context is not None else None
    batch = context.getLocalProperty(BATCH) if context is not None else None
    if query is None or batch is None:
        raise StateError(
            "the deltas of a subscription exist only in a streaming query, and there only in the thread that "
            "Spark calls: use writeStream, and pyspark.InheritableThread for a thread of your own"
        )
    return TaskMoment(home.root / query / home.generation, int(batch))


def note(now: TaskMoment, part: int) -> None:
    """Record the position of a part of the state after a micro-batch.

    The name of the note has the number of the micro-batch; a late attempt writes an equal note again.
    """
    folder = now.folder / REACHED
    folder.write_text(_note_name(part, now.batch), json.dumps(now.marks[part].behind, sort_keys=True))
    folder.remove(_note_name(part, now.batch - _KEPT_NOTES))


def noted(folder: Folder, part: int, batch: int) -> bool:
    """True if a part of the state has run a micro-batch."""
    return (folder / REACHED / _note_name(part, batch)).is_there()


def standing(folder: Folder, part: int, batch: int) -> Mark:
    """Read the position of a part before a micro-batch; raise FileNotFoundError without a note."""
    name = _note_name(part, batch - 1)
    try:
        return Mark(batch, dict(json.loads((folder / REACHED).text(name))))
    except (ValueError, TypeError) as error:
        raise _damaged(folder / REACHED, name, error) from error


def _note_name(part: int, batch: int) -> str:
    return f"{part}-{batch}"


class RunFile(NamedTuple):
    """A file with a segment of a run."""

    name: str
    bytes: int
    rows: int


class Held(NamedTuple):
    """The size of a bucket."""

    rows: int
    """Rows in all runs; rows that cancel out count until their runs are merged."""
    bytes: int
    runs: int
    merging: int
    """Number of runs that are being merged."""
    written: int
    """The bytes that the last micro-batch has written, merges included."""


class _Merge(NamedTuple):
    """An unfinished merge: its position in each of its runs, and the segments of its result so far."""

    runs: list[str]
    at: list[int]
    made: list[RunFile]


@dataclass
class _Manifest:
    """The files of the state before a micro-batch. A run has the name of its first segment."""

    number: int = -1
    """The micro-batch; -1 if there is no state."""
    runs: dict[str, list[RunFile]] = field(default_factory=dict)
    merges: list[_Merge] = field(default_factory=list)
    added: str | None = None
    """The run with the changes of the micro-batch that wrote this."""
    written: int = 0
    """The bytes of the files that this micro-batch wrote."""
    stale: list[tuple[int, str]] = field(default_factory=list)
    """Files that are no longer named, each with the first manifest without it."""

    @classmethod
    def read(cls, folder: Folder, number: int) -> _Manifest:
        try:
            held = json.loads(folder.text(_name(number)))
            return cls(
                number,
                {run: [RunFile(*each) for each in segments] for run, segments in held["runs"].items()},
                [_Merge(m["runs"], m["at"], [RunFile(*each) for each in m["made"]]) for m in held["merges"]],
                held["added"],
                held["written"],
                [(batch, name) for batch, name in held["stale"]],
            )
        except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
            raise _damaged(folder, _name(number), error) from error

    def write(self, folder: Folder) -> None:
        held = {
            "runs": self.runs,
            "merges": [merge._asdict() for merge in self.merges],
            "added": self.added,
            "written": self.written,
            "stale": self.stale,
        }
        folder.write_text(_name(self.number), json.dumps(held))

    def size(self, run: str) -> int:
        return sum(segment.bytes for segment in self.runs[run])

    def drop(self, runs: Sequence[str]) -> None:
        """Remove some runs from this manifest."""
        for run in runs:
            self.stale += [(self.number, segment.name) for segment in self.runs.pop(run)]

    def named(self) -> set[str]:
        """Return the files that it needs, including its own."""
        needed = {segment.name for segments in self.runs.values() for segment in segments}
        needed.update(segment.name for merge in self.merges for segment in merge.made)
        return needed | {_name(self.number)}


class Bucket:
    """The state of one bucket in one folder, in a micro-batch."""

    def __init__(self, folder: Folder, layout: Layout, name: str, mark: Mark) -> None:
        self.folder = folder
        self.layout = layout
        self._name, self._mark = name, mark
        self._tables: dict[str, pa.Table] = {}
        self._written = 0

    @classmethod
    def of(cls, now: TaskMoment, name: str, bucket: int, layout: Layout) -> Bucket:
        """Open a bucket of a query, which may be empty, at its position in `now`."""
        return cls(now.folder / name / str(bucket), layout, name, now.marks[bucket])

    @property
    def batch(self) -> int:
        """The micro-batch."""
        return self._mark.batch

    def before(self) -> list[Run]:
        """Read the state before the micro-batch."""
        return [self._open(segments) for segments in self._manifest().runs.values()]

    def added(self) -> Run | None:
        """Read the changes that an earlier stage of the micro-batch wrote; None if there are none."""
        if self._name not in self._mark.written:
            return None
        manifest = _Manifest.read(self.folder, self.batch + 1)
        return None if manifest.added is None else Run(self._table(manifest.added))

    def add(self, rows: pa.Table) -> Run | None:
        """Write the changes of the micro-batch, and continue merges; None if there are no changes."""
        manifest, number = self._manifest(), self.batch + 1
        self._clear(manifest)
        if manifest.number >= 0:
            manifest.stale.append((number, _name(manifest.number)))
        manifest.number, manifest.added = number, None
        names = (f"{number}-{place}.arrow" for place in count())
        run = None
        if rows.num_rows:
            table = sort_rows(rows.select(self.layout.schema.names).cast(self.layout.schema))
            segment = self._write(next(names), table)
            manifest.runs[segment.name] = [segment]
            manifest.added = segment.name
            run = Run(table)
        self._advance(manifest, names)
        manifest.written = self._written
        manifest.write(self.folder)
        self._mark.written.append(self._name)
        return run

    def held(self) -> Held:
        """Return the size of the state after the micro-batch so far, according to its manifest."""
        manifest = self._manifest(self._mark.behind)
        segments = [segment for segments in manifest.runs.values() for segment in segments]
        merging = sum(len(merge.runs) for merge in manifest.merges)
        rows, size = sum(s.rows for s in segments), sum(s.bytes for s in segments)
        written = manifest.written if manifest.number == self.batch + 1 else 0
        return Held(rows, size, len(manifest.runs), merging, written)

    def copy(self, to: Bucket) -> None:
        """Write the state before the micro-batch into another, empty bucket, merged into one run."""
        manifest = _Manifest(to.batch + 1)
        names = (f"{manifest.number}-{place}.arrow" for place in count())
        made = [to._write(next(names), table) for table in merged(self.before(), self.layout)]
        if made:
            manifest.runs[made[0].name] = made
            manifest.write(to.folder)
            to._mark.written.append(to._name)

    def _advance(self, manifest: _Manifest, names: Iterator[str]) -> None:
        """Start the merges that are due, and write the next segments of each merge."""
        manifest.merges += _due(
            {run: manifest.size(run) for run in manifest.runs},
            {run for merge in manifest.merges for run in merge.runs},
        )
        brought = sum(manifest.size(run) for run in manifest.runs if run == manifest.added)
        going = []
        for merge in manifest.merges:
            runs = [self._open(manifest.runs[run]) for run in merge.runs]
            total = sum(map(manifest.size, merge.runs))
            left = max(_STEP, _FANOUT * brought, total // _MOST_SEGMENTS)
            for table in merged(runs, self.layout, left, merge.at):
                merge.made.append(self._write(next(names), table))
            if merge.at != [len(run) for run in runs]:
                going.append(merge)
                continue
            manifest.drop(merge.runs)
            if merge.made:
                manifest.runs[merge.made[0].name] = merge.made
        manifest.merges = going

    def _manifest(self, manifests: Mapping[str, int] | None = None) -> _Manifest:
        """Read the manifest before the micro-batch, or another one of the mark."""
        number = (self._mark.before if manifests is None else manifests).get(self._name)
        return _Manifest() if number is None else _Manifest.read(self.folder, number)

    def _clear(self, manifest: _Manifest) -> None:
        """Remove files that no retry can read, and files of killed and late attempts.

        Spark may run the previous micro-batch again, which reads the manifest before that.
        """
        gone = {name for since, name in manifest.stale if since < self.batch}
        manifest.stale = [(since, name) for since, name in manifest.stale if since >= self.batch]
        needed = manifest.named() | {name for _, name in manifest.stale}
        listed = self.folder.names() if self.folder.has_drafts else []
        gone.update(name for name in listed if name not in needed and _number_of(name) < self.batch)
        for name in gone:
            self.folder.remove(name)

    def _open(self, segments: Sequence[RunFile]) -> Run:
        return Run(*(self._table(segment.name) for segment in segments))

    def _table(self, name: str) -> pa.Table:
        table = self._tables.get(name)
        if table is None:
            try:
                table = self._tables[name] = self.folder.table(name)
            except (pa.ArrowInvalid, FileNotFoundError) as error:
                raise _damaged(self.folder, name, error) from error
        return table

    def _write(self, name: str, table: pa.Table) -> RunFile:
        self._tables[name] = table
        segment = RunFile(name, self.folder.write_table(name, table), table.num_rows)
        self._written += segment.bytes
        return segment


def _name(number: int) -> str:
    return f"state-{number}.json"


def _number_of(name: str) -> int:
    """Return the number of the manifest for which a file was written."""
    written = _WRITTEN.match(name)
    return int(written[1]) if written is not None else -1


def _damaged(folder: Folder, name: str, error: Exception) -> StateError:
    if isinstance(error, FileNotFoundError):
        how = "is missing: it was removed, or this attempt at its micro-batch comes too late"
    else:
        how = f"is damaged: {error}"
    return StateError(f"{folder / name} {how}; begin again with another checkpoint")


def _due(sizes: Mapping[str, int], busy: set[str]) -> Iterator[_Merge]:
    """Choose the runs to merge now; each is in at most one merge."""
    free = [run for run in sizes if run not in busy]
    largest = max(sizes, key=sizes.__getitem__, default=None)
    if largest in free:
        others = sum(sizes[run] for run in free) - sizes[largest]
        if others > max(sizes[largest] // 2, _LEAST_BYTES):
            yield _Merge(free, [0] * len(free), [])
            return
    levels: dict[int, list[str]] = {}
    for run in free:
        levels.setdefault((sizes[run] // _UNIT).bit_length() // _FANOUT_BITS, []).append(run)
    for runs in levels.values():
        if len(runs) >= _FANOUT:
            yield _Merge(runs, [0] * len(runs), [])


def merged(
    runs: Sequence[Run], layout: Layout, wanted: float = inf, at: list[int] | None = None
) -> Iterator[pa.Table]:
    """Merge runs into consecutive tables of a bounded size: completely, or about `wanted` bytes of them.

    `at` is the position of the merge in each run; this function advances it.
    """
    at = [0] * len(runs) if at is None else at
    while (
        wanted > 0 and (left := [len(run) - begin for run, begin in zip(runs, at, strict=True)]) and any(left)
    ):
        to = _cut(runs, at, left, min(wanted, _MOST_BYTES))
        parts = [run.slice(begin, end) for run, begin, end in zip(runs, at, to, strict=True)]
        at[:] = to
        wanted -= _MOST_BYTES
        table = sum_rows(parts, layout)
        if table.num_rows:
            yield table


def _cut(runs: Sequence[Run], at: Sequence[int], left: Sequence[int], wanted: float) -> list[int]:
    """Return the end of the next merge step in each run; rows of one place are merged in one step."""
    longest = int(np.argmax(left))
    sample = runs[longest].slice(at[longest], at[longest] + min(left[longest], 1000))
    share = wanted / max(sample.nbytes / sample.num_rows * sum(left), 1)
    if share >= 1:
        return [len(run) for run in runs]
    place = runs[longest].place(at[longest] + max(int(share * left[longest]) - 1, 0))
    return [run.up_to(place) for run in runs]
