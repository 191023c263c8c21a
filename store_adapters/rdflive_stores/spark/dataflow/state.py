"""State: per bucket a base and the changes of later micro-batches, in immutable files.

A micro-batch reads what came before it and writes one file of its own, named by its number. Run again after a
failure, it reads the same and writes the same, so Spark's recovery is all that is needed. Files are merged
when the changes outgrow a share of the base, so a bucket is at most about half as large again as its live
rows. Files that a merge replaced are removed two micro-batches later, when no retry can read them any more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext

from rdflive.errors import RdfliveError
from rdflive_stores.spark.dataflow.runs import Layout, Run, sort_rows, sum_rows

__all__ = ["Bucket", "Merge", "Moment", "StateError", "moment"]

Merge: TypeAlias = Callable[[Sequence[pa.Table], Layout], pa.Table]

_FILE: Final = re.compile(r"(base|delta)-(\d+)\.arrow")
_DRAFT: Final = re.compile(r"\w+-(\d+)\.arrow\.[0-9a-f]+")
_MOST_FILES: Final = 8
_LEAST_BYTES: Final = 1 << 18
"""Below this size, merging by share would happen with nearly every micro-batch."""
_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"


class StateError(RdfliveError, ValueError):
    """State is missing, damaged, or belongs to another query or micro-batch."""


class Moment(NamedTuple):
    """The micro-batch of the streaming query that a task works for."""

    folder: str
    """The folder of the query's state."""
    batch: int


def moment(root: str) -> Moment:
    """Ask Spark for the query and the micro-batch of the calling task.

    Each query has a folder of its own, so that two queries over one DataFrame do not share state.
    """
    context = TaskContext.get()
    query = context.getLocalProperty(_QUERY) if context is not None else None
    batch = context.getLocalProperty(_BATCH) if context is not None else None
    if query is None or batch is None:
        raise StateError(
            "the deltas of a subscription exist in a streaming query only, and there in the thread that "
            "Spark calls: use writeStream, and pyspark.InheritableThread for a thread of your own"
        )
    return Moment(os.path.join(root, query), int(batch))


class _File(NamedTuple):
    batch: int
    is_delta: bool
    name: str


@dataclass(frozen=True, slots=True)
class Bucket:
    """The state of one bucket, in a folder of its own."""

    folder: str
    layout: Layout
    merge: Merge = sum_rows

    @classmethod
    def of(cls, now: Moment, name: str, bucket: int, layout: Layout, merge: Merge = sum_rows) -> Bucket:
        """Open a bucket of a query; it may be empty."""
        folder = os.path.join(now.folder, name, str(bucket))
        os.makedirs(folder, exist_ok=True)
        return cls(folder, layout, merge)

    def before(self, batch: int) -> list[Run]:
        """Read the state before a micro-batch, oldest file first."""
        # not what an earlier attempt at the micro-batch itself has written
        return [Run(self._read(file.name)) for file in _in_force(self._files(), batch - 1)]

    def settle(self, batch: int) -> list[Run]:
        """Read the state before a micro-batch, merging files first if that is due."""
        runs = self.before(batch)
        sizes = [run.table.nbytes for run in runs]
        if len(runs) > 1 and (len(runs) > _MOST_FILES or sum(sizes[1:]) > max(sizes[0] // 2, _LEAST_BYTES)):
            merged = self.merge([run.table for run in runs], self.layout)
            self._write(f"base-{batch - 1}.arrow", merged)
            runs = [Run(merged)]
        # Spark may run the micro-batch before this one again, which reads the state before that.
        self._clean(batch - 2)
        return runs

    def compact(self, batch: int) -> None:
        """Merge the state after a micro-batch into one file; nobody else may work on the bucket.

        The micro-batch must be the last that Spark committed. One that was stopped half-way runs again and
        needs the state before it.
        """
        runs = self.before(batch + 1)
        if len(runs) > 1:
            self._write(f"base-{batch}.arrow", self.merge([run.table for run in runs], self.layout))
        self._clean(batch)

    def add(self, batch: int, rows: pa.Table) -> Run | None:
        """Write the changes of a micro-batch; None if there are none."""
        if not rows.num_rows:
            with suppress(
                FileNotFoundError
            ):  # left by an earlier attempt at this micro-batch, which had rows
                os.remove(os.path.join(self.folder, f"delta-{batch}.arrow"))
            return None
        table = sort_rows(rows.select(self.layout.schema.names).cast(self.layout.schema))
        self._write(f"delta-{batch}.arrow", table)
        return Run(table)

    def added(self, batch: int) -> Run | None:
        """Read the changes of a micro-batch; None if there were none here."""
        name = f"delta-{batch}.arrow"
        return Run(self._read(name)) if os.path.exists(os.path.join(self.folder, name)) else None

    def _files(self) -> list[_File]:
        found = (_FILE.fullmatch(name) for name in os.listdir(self.folder))
        return sorted(_File(int(m[2]), m[1] == "delta", m[0]) for m in found if m is not None)

    def _read(self, name: str) -> pa.Table:
        path = os.path.join(self.folder, name)
        try:
            with pa.memory_map(path) as source:
                return pa.ipc.open_file(source).read_all().combine_chunks()
        except pa.ArrowInvalid as error:
            raise StateError(f"{path} is damaged: {error}; start anew with another checkpoint") from error

    def _write(self, name: str, table: pa.Table) -> None:
        """Write a file in one step, so that a killed task leaves nothing under the name."""
        path = os.path.join(self.folder, name)
        draft = f"{path}.{uuid4().hex}"  # a process of the same number on another machine may write too
        with pa.OSFile(draft, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        os.replace(draft, path)

    def _clean(self, batch: int) -> None:
        """Remove what the last base up to a micro-batch replaced, and drafts of killed tasks."""
        files = self._files()
        base = _last_base(files, batch)
        old = [file.name for file in files if file.batch < base or (file.batch == base and file.is_delta)]
        drafts = (_DRAFT.fullmatch(name) for name in os.listdir(self.folder))
        old += [draft[0] for draft in drafts if draft is not None and int(draft[1]) <= batch]
        for name in old:
            with suppress(FileNotFoundError):  # another attempt at the task has removed it
                os.remove(os.path.join(self.folder, name))


def _last_base(files: Sequence[_File], batch: int) -> int:
    return max((file.batch for file in files if not file.is_delta and file.batch <= batch), default=-1)


def _in_force(files: Sequence[_File], batch: int) -> Iterator[_File]:
    """Choose the files that together are the state after a micro-batch."""
    base = _last_base(files, batch)
    for file in files:
        if (file.batch == base and not file.is_delta) or (file.is_delta and base < file.batch <= batch):
            yield file
