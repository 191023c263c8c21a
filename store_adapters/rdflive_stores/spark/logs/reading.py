"""Reading a log in pieces, as a batch and as a stream."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import BinaryIO, Final, TypeAlias

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    SupportsTriggerAvailableNow,
)

from rdflive.errors import RdfliveError
from rdflive.feeds import RowError
from rdflive_stores.spark.logs.files import (
    STOPPED,
    FilePlace,
    LogFiles,
    check_read,
    checksum,
    fault_before,
    is_stopped,
    open_log,
    refuse_line,
    resync,
)
from rdflive_stores.spark.logs.log_rows import BadLineError, read_rows
from rdflive_stores.spark.logs.scan import LogScan, Piece, UnendedError

__all__ = ["LogReader", "LogSettings", "LogStreamReader", "read_log"]

Offset: TypeAlias = dict[str, FilePlace]
"""Per file name, the position up to which it was read."""
_STOPPED: Final = (
    "the recording has stopped here, so later changes are unknown; a new ChangeLog of the graph on this file "
    "continues it, and then so does a reader"
)


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The files to read, and the sizes of portions."""

    files: LogFiles
    partition_bytes: int
    max_bytes: int | None
    """Most bytes of a micro-batch; None for no limit."""

    def scan(self, name: str, start: int) -> LogScan:
        """Return a scan of a file from the beginning of a unit."""
        transactions = self.files.form(name).transactions
        return LogScan(start, block=self.partition_bytes, transactions=transactions)


class LogPartition(InputPartition):
    """Consecutive pieces of files."""

    def __init__(self, pieces: list[tuple[str, Piece]]) -> None:
        self.pieces = pieces
        """Each with the name of its file."""


class LogReader(DataSourceReader):
    """Reads the logs as they are when a query is planned."""

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings

    def partitions(self) -> list[InputPartition]:
        """Cut every file into pieces, up to its end."""
        settings = self._settings
        plan: list[tuple[str, list[Piece]]] = []
        for name in settings.files.names():
            with _opened(settings.files.path(name)) as stream:
                scan = settings.scan(name, 0)
                scan.advance(stream, sys.maxsize, until=sys.maxsize, final=True)
            plan.append((name, scan.pieces(0, scan.complete)))
        return list(_packed(plan, settings.partition_bytes))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read some pieces."""
        return read_log(self._settings.files, partition)


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the logs: Spark requests their latest offset, then the partitions up to it.

    The scan for the first request is kept for the second one and for the next trigger. After a restart the
    reader scans again.
    """

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings
        self._files = settings.files
        self._scans: dict[str, tuple[LogScan, int]] = {}
        """Per file, its scan, and the checksum before the position of the scan."""
        self._targets: dict[str, int] | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Start before the first file."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the limit of the options."""
        limit = self._settings.max_bytes
        return ReadAllAvailable() if limit is None else ReadMaxBytes(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Read no further than the present ends of the files."""
        self._targets = self._sizes()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        """Return the end of the last unit, or of the unit in which the limit is reached.

        The end is before a line `STOPPED`, because a continued recording removes that line. If nothing new
        comes before the line, raises `FeedError`.
        """
        sizes, offset = self._followed(start, self._sizes() if self._targets is None else self._targets)
        reading = max(start, default="")
        if reading and reading not in sizes:
            raise resync(self._files.path(reading), "is gone, and may have had unread rows")
        self._scans = {name: kept for name, kept in self._scans.items() if name >= reading}
        allowed = left = limit.max_bytes if isinstance(limit, ReadMaxBytes) else sys.maxsize
        last = max((name for name, size in sizes.items() if size), default="")
        for name, size in sorted(sizes.items()):
            place = self._place(start, name)
            if name < reading and size > place["end"]:
                raise resync(
                    self._files.path(name),
                    f"has grown since {reading}, which follows it by name, was started",
                )
            if name >= reading and left > 0 and (size or place["end"]):
                begun = place["end"]
                place, stopped = self._advance(name, place, size, left, final=name < last)
                left -= place["end"] - begun
                if stopped and left == allowed:
                    refuse_line(place["path"], size - len(STOPPED), RowError(_STOPPED))
                left *= not stopped  # nothing after the line is read while it is there
            if place["end"]:
                offset[name] = place
        return offset

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Cut the bytes between two offsets into partitions."""
        plan: list[tuple[str, list[Piece]]] = []
        for name, place in sorted(end.items()):
            begun, stop = self._place(start, name), place["end"]
            if begun["end"] != stop:
                if not os.path.exists(self._files.path(name)):
                    raise resync(self._files.path(name), "is gone")
                plan.append((name, self._covering(name, begun, place).pieces(begun["end"], stop)))
        return list(_packed(plan, self._settings.partition_bytes))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read some pieces."""
        return read_log(self._files, partition)

    def _sizes(self) -> dict[str, int]:
        """Return the sizes of the files.

        They are listed first, so that a file followed by another one is surely complete.
        """
        sizes = {}
        for name in self._files.names():
            try:
                sizes[name] = os.stat(self._files.path(name)).st_size
            except FileNotFoundError:  # gone since the list was made
                continue
        return sizes

    def _followed(self, start: Offset, sizes: dict[str, int]) -> tuple[dict[str, int], Offset]:
        """Drop compressed files, and return the positions of files that were read before being compressed.

        These stay in the offset, which identifies them the next time.
        """
        reading, kept = max(start, default=""), Offset()
        for name in (name for name in sizes if name.endswith(".gz")):
            read = name.removesuffix(".gz")
            if read not in start or read == reading:
                raise RdfliveError(
                    f"{self._files.path(name)}: a compressed file cannot be followed: read it with "
                    "spark.read, or decompress it"
                )
            kept[read] = self._place(start, read)
        return {name: size for name, size in sizes.items() if not name.endswith(".gz")}, kept

    def _place(self, start: Offset, name: str) -> FilePlace:
        """Return the position up to which a file was read; the folder may have been moved since."""
        path = self._files.path(name)
        return {**start[name], "path": path} if name in start else {"end": 0, "check": 0, "path": path}

    def _advance(
        self, name: str, place: FilePlace, size: int, left: int, *, final: bool
    ) -> tuple[FilePlace, bool]:
        """Scan more of a file; return the end of its readable part, and True if its recording stopped."""
        path, begin = self._files.path(name), place["end"]
        with _opened(path) as stream:
            check_read(stream, path, place)
            stopped = is_stopped(stream, size)
            size -= stopped * len(STOPPED)
            scan, check = self._scans.get(name, (None, 0))
            # the scan beyond `begin` counts only if the file is still the one that was scanned
            if scan is None or scan.complete != begin or checksum(stream, scan.known) != check:
                scan = self._settings.scan(name, begin)
            scan.forget(begin)
            scan.advance(stream, size, until=min(size, begin + left), final=final)
            self._scans[name] = scan, checksum(stream, scan.known)
            end = scan.complete
            if end != begin:
                place = {"end": end, "check": checksum(stream, end), "path": path}
            return place, stopped

    def _covering(self, name: str, begun: FilePlace, place: FilePlace) -> LogScan:
        """Return a scan of the bytes between two positions."""
        path, begin, stop = self._files.path(name), begun["end"], place["end"]
        with _opened(path) as stream:
            check_read(stream, path, begun)
            if fault_before(stream, stop, place["check"]) is not None:
                raise RdfliveError(
                    f"{path}: has changed between byte {begin}, the end of its applied part, and byte "
                    f"{stop}, the end of the micro-batch; a mirror continues with a new checkpoint and the "
                    "same name"
                )
            scan, _ = self._scans.get(name, (None, 0))
            if scan is None or scan.start > begin or scan.complete < stop:
                scan = self._settings.scan(name, begin)
                scan.advance(stream, stop, until=stop, final=True)
            return scan


def read_log(files: LogFiles, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Yield the pieces of a partition, each as one batch of rows; runs on an executor."""
    pieces = partition.pieces if isinstance(partition, LogPartition) else ()  # Spark makes an empty one
    for name, run in groupby(pieces, itemgetter(0)):
        path, form = files.path(name), files.form(name)
        with _opened(path) as stream:
            for _, piece in run:
                stream.seek(piece.start)
                content = stream.read(piece.end - piece.start)
                if len(content) < piece.end - piece.start:
                    raise resync(
                        path, f"ends before byte {piece.end}, which it had when the query was planned"
                    )
                yield read_rows(content, piece, name, form)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """Open a file; a faulty line inside becomes a `FeedError` with its place."""
    try:
        with open_log(path) as stream:
            yield stream
    except UnendedError as error:
        refuse_line(path, error.begun, error)
    except BadLineError as error:
        refuse_line(path, error.offset, error)


def _packed(plan: list[tuple[str, list[Piece]]], size: int) -> Iterator[LogPartition]:
    """Pack pieces into partitions, in order; small pieces share one, and so do those of a compressed file."""
    pack: list[tuple[str, Piece]] = []
    packed = 0
    for name, pieces in plan:
        whole = name.endswith(".gz")
        for i, piece in enumerate(pieces):
            length = piece.end - piece.start
            # a compressed file is read from its beginning, which another partition would read again
            if pack and packed + length > size and not (whole and i):
                yield LogPartition(pack)
                pack, packed = [], 0
            pack.append((name, piece))
            packed += length
    if pack:
        yield LogPartition(pack)
