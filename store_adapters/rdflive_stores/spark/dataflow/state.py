"""State: per bucket some runs in immutable files, and per micro-batch a manifest of those that count.

Manifest n is the state before micro-batch n. The micro-batch reads it, writes its own changes as a new run,
goes on with merges, and then writes manifest n + 1. Run again after a failure, it reads the same and writes
the same bytes under the same names, so Spark's recovery is all that is needed, and two attempts at a task
cannot disturb each other. Files that a manifest names no more are removed two micro-batches later, when no
retry can read them; an attempt that is still at work then finds them missing, and ends without a trace.

Which manifest a bucket stands at is not found by listing files: a listing may lag, and may show what a late
attempt has written. The last stage of a micro-batch notes it, the next micro-batch reads the note with the
number of the one before, and in between it travels from stage to stage (`Mark`).

Runs are merged in levels, as in a log-structured merge tree: eight of a size become one of the next, and all
become one when the others have half the size of the largest. So a row is written about seven times, however
much there is. A merge goes on for as many micro-batches as it takes, each of which writes one more segment
of the result, in proportion to what it brought; so none of them waits for a large merge.

Example: manifest 9, which micro-batch 8 has written, names the runs 1-0 (800 MB), 3-1, 5-0 (3 MB each) and
9-0 (100 kB), and a merge of 3-1 and 5-0 with 9-1 as the first segment of the result. The two are in use until
it is done.
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
"""The folder of the notes of where each part of the state stands behind each micro-batch."""
_KEPT_NOTES: Final = 3
"""So many micro-batches back a note is kept: for a micro-batch that runs again, and the one before it."""
_WRITTEN: Final = re.compile(r"(?:state-)?(\d+)")
"""How the files of a bucket begin: with the number of the manifest for which they were written."""
_FANOUT_BITS: Final = 3
_FANOUT: Final = 1 << _FANOUT_BITS
"""So many runs of one level become one of the next."""
_UNIT: Final = 1 << 16
"""A run of fewer bytes is on the lowest level."""
_LEAST_BYTES: Final = 1 << 18
"""Below this size, merging everything by share would happen with nearly every micro-batch."""
_STEP: Final = 1 << 20
"""A merge goes on by this many bytes at least, so that its result is not in too many segments."""
_MOST_SEGMENTS: Final = 64
_MOST_BYTES: Final = 1 << 28
"""The size of a segment at most: a column of Arrow's strings holds 2 GiB."""
_QUERY: Final = "sql.streaming.queryId"
BATCH: Final = "streaming.sql.batchId"
"""The property by which Spark tells a task its micro-batch."""


class StateError(RdfliveError, ValueError):
    """State is missing, damaged, or belongs to another query or micro-batch."""


@dataclass(slots=True)
class Mark:
    """Where a part of the state stands in a micro-batch; each stage tells it to the next one."""

    batch: int
    """The number of the micro-batch."""
    before: dict[str, int] = field(default_factory=dict)
    """Per folder, the manifest that is the state before the micro-batch; none where the bucket is empty."""
    written: list[str] = field(default_factory=list)
    """The folders for which the micro-batch has written its own manifest."""
    late: int = 0
    """How many of its elements came too late."""

    def to_text(self) -> str:
        """Write it as a packet has it: the same for equal marks."""
        return json.dumps([self.batch, self.before, sorted(self.written), self.late], sort_keys=True)

    @classmethod
    def from_text(cls, text: str | bytes) -> Mark:
        """Read what `to_text` wrote."""
        return cls(*json.loads(text))

    @property
    def behind(self) -> dict[str, int]:
        """Give the manifests that are the state behind the micro-batch."""
        return self.before | dict.fromkeys(self.written, self.batch + 1)


@dataclass(frozen=True, slots=True)
class TaskMoment:
    """The micro-batch of the streaming query that a task works for."""

    folder: Folder
    """The folder of the query's state."""
    batch: int
    marks: dict[int, Mark] = field(default_factory=dict)
    """Where the parts stand that the task has to do with."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where the tasks of a subscription find its state."""

    root: Folder
    """The folder of all queries; each has one of its own, so that two over one DataFrame share nothing."""
    generation: str
    snapshot: TaskMoment | None = None
    """Of a job that makes state from a snapshot: the micro-batch for which it stands."""


def moment(home: Home) -> TaskMoment:
    """Ask Spark for the query and the micro-batch of the calling task."""
    if home.snapshot is not None:
        return home.snapshot
    from pyspark import TaskContext  # the stages themselves run without PySpark

    context = TaskContext.get()
    query = context.getLocalProperty(_QUERY) if context is not None else None
    batch = context.getLocalProperty(BATCH) if context is not None else None
    if query is None or batch is None:
        raise StateError(
            "the deltas of a subscription exist in a streaming query only, and there in the thread that "
            "Spark calls: use writeStream, and pyspark.InheritableThread for a thread of your own"
        )
    return TaskMoment(home.root / query / home.generation, int(batch))


def note(now: TaskMoment, part: int) -> None:
    """Note where a part of the state stands behind a micro-batch.

    A note is found by the number of its micro-batch, and one that a late attempt writes again is the same.
    """
    folder = now.folder / REACHED
    folder.write_text(_note_name(part, now.batch), json.dumps(now.marks[part].behind, sort_keys=True))
    folder.remove(_note_name(part, now.batch - _KEPT_NOTES))


def noted(folder: Folder, part: int, batch: int) -> bool:
    """Tell whether a part of the state has run a micro-batch."""
    return (folder / REACHED / _note_name(part, batch)).is_there()


def standing(folder: Folder, part: int, batch: int) -> Mark:
    """Read where a part of the state stands before a micro-batch; raises FileNotFoundError without a note."""
    name = _note_name(part, batch - 1)
    try:
        return Mark(batch, dict(json.loads((folder / REACHED).text(name))))
    except (ValueError, TypeError) as error:
        raise _damaged(folder / REACHED, name, error) from error


def _note_name(part: int, batch: int) -> str:
    return f"{part}-{batch}"


class RunFile(NamedTuple):
    """A file with a part of a run."""

    name: str
    bytes: int
    rows: int


class Held(NamedTuple):
    """How much a bucket holds."""

    rows: int
    """Rows in all runs; those that cancel out count until their runs are merged."""
    bytes: int
    runs: int
    merging: int
    """The runs that are being merged."""
    written: int
    """The bytes that the micro-batch in front has written, merges included."""


class _Merge(NamedTuple):
    """A merge under way: how far it has come in each of its runs, and the segments that it has made."""

    runs: list[str]
    at: list[int]
    made: list[RunFile]


@dataclass
class _Manifest:
    """Which files are the state before a micro-batch. A run is known by the name of its first segment."""

    number: int = -1
    """The micro-batch; -1 where there is no state."""
    runs: dict[str, list[RunFile]] = field(default_factory=dict)
    merges: list[_Merge] = field(default_factory=list)
    added: str | None = None
    """The run with the changes of the micro-batch before, which wrote this."""
    written: int = 0
    """The bytes of the files that were written together with this."""
    stale: list[tuple[int, str]] = field(default_factory=list)
    """Files that are not named any more, each with the first manifest that does without it."""

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
        """Do without some runs from here on."""
        for run in runs:
            self.stale += [(self.number, segment.name) for segment in self.runs.pop(run)]

    def named(self) -> set[str]:
        """Give the files that it needs, its own among them."""
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
        """Open a bucket of a query, of which `now` knows where it stands; it may be empty."""
        return cls(now.folder / name / str(bucket), layout, name, now.marks[bucket])

    @property
    def batch(self) -> int:
        """The micro-batch."""
        return self._mark.batch

    def before(self) -> list[Run]:
        """Read the state before the micro-batch."""
        return [self._open(segments) for segments in self._manifest().runs.values()]

    def added(self) -> Run | None:
        """Read the changes that an earlier stage of the micro-batch has written; None if there are none."""
        if self._name not in self._mark.written:
            return None
        manifest = _Manifest.read(self.folder, self.batch + 1)
        return None if manifest.added is None else Run(self._table(manifest.added))

    def add(self, rows: pa.Table) -> Run | None:
        """Write the changes of the micro-batch, and go on with merges; None if there are no changes."""
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
        """Measure the state behind the micro-batch as far as it has come, by its manifest."""
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
        """Begin the merges that are due, and let each write its next segments."""
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
        """Read the manifest before the micro-batch, or another that the mark tells of."""
        number = (self._mark.before if manifests is None else manifests).get(self._name)
        return _Manifest() if number is None else _Manifest.read(self.folder, number)

    def _clear(self, manifest: _Manifest) -> None:
        """Remove what no retry can read, with what killed and late attempts have left.

        Spark may run the micro-batch before this one again, which reads the manifest before that.
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
    """Tell for which manifest a file was written."""
    written = _WRITTEN.match(name)
    return int(written[1]) if written is not None else -1


def _damaged(folder: Folder, name: str, error: Exception) -> StateError:
    if isinstance(error, FileNotFoundError):
        how = "is missing: it was removed, or this attempt at its micro-batch comes too late"
    else:
        how = f"is damaged: {error}"
    return StateError(f"{folder / name} {how}; begin again with another checkpoint")


def _due(sizes: Mapping[str, int], busy: set[str]) -> Iterator[_Merge]:
    """Choose the runs that should be merged now; each is in one merge at most."""
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
    """Merge runs into tables of a bounded size that follow one another: all, or about so many bytes of them.

    `at` is how far the merge has come in each run; it is moved on.
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
    """Find up to where each run is merged next, so that rows of one place are merged at once."""
    longest = int(np.argmax(left))
    sample = runs[longest].slice(at[longest], at[longest] + min(left[longest], 1000))
    share = wanted / max(sample.nbytes / sample.num_rows * sum(left), 1)
    if share >= 1:
        return [len(run) for run in runs]
    place = runs[longest].place(at[longest] + max(int(share * left[longest]) - 1, 0))
    return [run.up_to(place) for run in runs]
