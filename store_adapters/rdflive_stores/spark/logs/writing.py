"""The format `rdf_patch` as a sink: each micro-batch, or each write of a DataFrame, is a file of a log.

The file of a micro-batch has its number as its name, such as 000000000007.rdfp. A batch write comes after all
existing files, and before the next micro-batch: 000000000008-000.rdfp.

Each task writes its rows to a hidden file. After all tasks, these become one file with one transaction, under
its final name in one step, so readers of the folder see all of a micro-batch or nothing. The next micro-batch
removes the files of killed and late attempts at tasks.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StringType, StructType

from rdflive.errors import RdfliveError
from rdflive.feeds.terms import RowError, RowReader
from rdflive_stores.spark.dataflow.state import BATCH

__all__ = ["PatchStreamWriter", "PatchWriter"]

_FILE: Final = re.compile(r"(\d+)(-\d+)?\.rdfp")
_HIDDEN: Final = re.compile(r"_(\d+)-[^-]*")
"""Hidden files of a streaming query start with the number of their micro-batch."""
_PLACES: Final = ("s", "p", "o", "g")
_SIGNS: Final = {"A": "A", "+": "A", "D": "D", "-": "D"}


@dataclass(frozen=True, slots=True)
class _Piece(WriterCommitMessage):
    """The output of a task."""

    path: str
    rows: int


class _Pieces:
    """Writes pieces of files, and joins them."""

    def __init__(self, folder: str, schema: StructType) -> None:
        kinds = {field.name: field.dataType for field in schema.fields}
        lacking = [name for name in ("s", "p", "o") if not isinstance(kinds.get(name), StringType)]
        if lacking or not {"op", "weight"} & kinds.keys():
            raise RdfliveError(
                "format 'rdf_patch' writes changes: the columns s, p, o and optionally g, in N-Triples, "
                f"and op (A or D) or weight (above 0 to add); got {schema.simpleString()}"
            )
        self._folder = os.path.abspath(folder)
        self._names = [name for name in _PLACES if name in kinds]
        self._by_weight = "op" not in kinds
        os.makedirs(self._folder, exist_ok=True)

    def write(self, batches: Iterable[pa.RecordBatch]) -> _Piece:
        context = TaskContext.get()
        number = context.getLocalProperty(BATCH) if context is not None else None
        path = os.path.join(self._folder, f"_{number or ''}-{uuid4().hex}.tmp")
        rows = 0
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            for batch in batches:
                rows += batch.num_rows
                file.writelines(self._lines(batch))
        return _Piece(path, rows)

    def join(self, pieces: Sequence[_Piece], name: str) -> None:
        """Make one file of pieces; do nothing if they are empty, or an earlier attempt has made it.

        Raises `RdfliveError` if a file of the name has other content.
        """
        draft = os.path.join(self._folder, f"_{name.partition('.')[0]}-{uuid4().hex}.tmp")
        path = os.path.join(self._folder, name)
        is_there = os.path.exists(path)
        if is_there and not self._is_same(path, pieces):
            self.drop(pieces)
            raise RdfliveError(
                f"{path} has other changes than this micro-batch, so another query wrote it, or another "
                "checkpoint: give each a folder of its own"
            )
        if any(piece.rows for piece in pieces) and not is_there:
            with open(draft, "wb") as file:
                file.write(b"TX .\n")
                for piece in pieces:
                    with open(piece.path, "rb") as part:
                        shutil.copyfileobj(part, file)
                file.write(b"TC .\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        self.drop(pieces)

    def drop(self, pieces: Iterable[_Piece | None]) -> None:
        """Remove pieces."""
        for piece in pieces:
            if piece is not None:  # a task that failed has none
                with suppress(FileNotFoundError):
                    os.remove(piece.path)

    def drop_hidden(self, batch: int) -> None:
        """Remove the hidden files of killed and late attempts, up to a micro-batch."""
        for name in os.listdir(self._folder):
            if (match := _HIDDEN.fullmatch(name)) is not None and int(match[1]) <= batch:
                with suppress(FileNotFoundError):
                    os.remove(os.path.join(self._folder, name))

    def next_name(self) -> str:
        """Return the name of a file after all existing ones, and before the next micro-batch."""
        found = [match for name in os.listdir(self._folder) if (match := _FILE.fullmatch(name)) is not None]
        number = max((int(match[1]) + (match[2] is None) for match in found), default=0)
        others = sum(int(match[1]) == number for match in found)
        return f"{number:012}-{others:03}.rdfp"

    def _is_same(self, path: str, pieces: Sequence[_Piece]) -> bool:
        """True if a file has the rows of pieces, in any order."""
        mine = sorted(line for piece in pieces for line in Path(piece.path).read_bytes().splitlines())
        return sorted(Path(path).read_bytes().splitlines()) == sorted([b"TX .", *mine, b"TC ."])

    def _lines(self, batch: pa.RecordBatch) -> Iterator[str]:
        if self._by_weight:
            if pc.any(pc.greater(pc.abs(batch.column("weight")), 1)).as_py():
                raise RdfliveError("a solution counts twice, but a graph has a triple once: SELECT DISTINCT")
            signs = pc.if_else(pc.greater(batch.column("weight"), 0), "A", "D").to_pylist()
        else:
            signs = batch.column("op").to_pylist()
        columns = [batch.column(name).to_pylist() for name in self._names]
        for sign, *terms in zip(signs, *columns, strict=True):
            yield _checked(sign, terms)


def _checked(sign: str | None, terms: Sequence[str | None]) -> str:
    """Return a row as a line of the log; raise `RdfliveError` for a row that a reader would refuse."""
    text = " ".join([*(term for term in terms if term is not None), "."])
    try:
        if sign not in _SIGNS or None in terms[:3]:
            raise RowError("op must be A or D, and s, p and o must not be NULL")
        RowReader(text).quad()
    except RowError as error:
        raise RdfliveError(f"{(sign, *terms)!r} is not a change: {error}") from error
    return f"{_SIGNS[sign]} {text}\n"


class PatchStreamWriter(DataSourceStreamArrowWriter):
    """Writes the files of a streaming query: one for each micro-batch that changes something."""

    def __init__(self, folder: str, schema: StructType) -> None:
        self._pieces = _Pieces(folder, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> _Piece:
        """Write the rows of a task."""
        return self._pieces.write(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Join the outputs of a micro-batch's tasks."""
        self._pieces.join([piece for piece in messages if isinstance(piece, _Piece)], f"{batchId:012}.rdfp")
        self._pieces.drop_hidden(batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, ARG002
        """Remove the outputs of tasks."""
        self._pieces.drop([piece for piece in messages if isinstance(piece, _Piece)])


class PatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame as another file of a log."""

    def __init__(self, folder: str, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise RdfliveError("format 'rdf_patch' only adds to a log: use mode('append')")
        self._pieces = _Pieces(folder, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> _Piece:
        """Write the rows of a task."""
        return self._pieces.write(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Join the outputs of the tasks."""
        pieces = [piece for piece in messages if isinstance(piece, _Piece)]
        self._pieces.join(pieces, self._pieces.next_name())

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove the outputs of tasks."""
        self._pieces.drop([piece for piece in messages if isinstance(piece, _Piece)])
