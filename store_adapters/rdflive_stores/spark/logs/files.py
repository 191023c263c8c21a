"""The files of a log: which they are, in which order, and whether they are still those that were read."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Final, NoReturn, TypedDict

from rdflive.errors import FeedError, RdfliveError, ResyncNeeded
from rdflive.feeds import FeedFormatError, open_bytes
from rdflive.feeds.lines import blocks
from rdflive_stores.spark.logs.log_rows import LOG_FORMATS, LogFormat
from rdflive_stores.spark.logs.scan import LINE_END

__all__ = [
    "STOPPED",
    "FilePlace",
    "LogFiles",
    "check_read",
    "checksum",
    "fault_before",
    "is_stopped",
    "open_log",
    "refuse_line",
    "resync",
    "still_has",
]

STOPPED: Final = b"RECORDING-STOPPED\n"
"""The last line of a log whose recording could not go on. It is not RDF Patch, so no reader gets past it."""
_CHECKED: Final = 4096
_OFFERED: Final = " and ".join(
    f"{name} ({' '.join(form.feed.endings)})" for name, form in LOG_FORMATS.items()
)


class FilePlace(TypedDict):
    """How far a file was read, in the form of an offset of the stream."""

    end: int
    """The bytes read."""
    check: int
    """The checksum of the last bytes that were read."""
    path: str
    """The absolute path of the file."""


@dataclass(frozen=True, slots=True)
class LogFiles:
    """A log: one file, or a folder of files that follow each other in the order of their names.

    In a folder, hidden files, subfolders, and files named `_…` or `….tmp` are ignored.
    """

    folder: str
    only: str | None
    """The name of the one file; None for all."""
    feed: str | None
    """The format of all files; None if their endings tell it."""

    @classmethod
    def at(cls, path: str, feed: str | None) -> LogFiles:
        """Find the log at a path; raises `RdfliveError` where there is none."""
        if "://" in path:
            raise RdfliveError(f"{path}: logs are read as files, so give a path that every executor can open")
        if feed is not None and feed not in LOG_FORMATS:
            raise FeedFormatError(f"feed={feed!r} cannot be read in pieces; read are {_OFFERED}")
        path = os.path.abspath(path)
        if os.path.isdir(path):
            return cls(path, None, feed)
        if not os.path.exists(path):
            raise RdfliveError(
                f"{path}: there is no such file or folder; a relative path counts from {os.getcwd()}"
            )
        return cls(os.path.dirname(path), os.path.basename(path), feed)

    def names(self) -> list[str]:
        """List the names of the present files, in order."""
        if self.only is not None:
            return [self.only] if os.path.exists(self.path(self.only)) else []
        with os.scandir(self.folder) as found:
            return sorted(entry.name for entry in found if not _is_aside(entry.name) and entry.is_file())

    def path(self, name: str) -> str:
        """Give the path of a file."""
        return os.path.join(self.folder, name)

    def form(self, name: str) -> LogFormat:
        """Give the format of a file; raises `FeedFormatError` where its ending tells none."""
        if self.feed is not None:
            return LOG_FORMATS[self.feed]
        ending = os.path.splitext(name.removesuffix(".gz"))[1].lower()
        for form in LOG_FORMATS.values():
            if ending in form.feed.endings:
                return form
        raise FeedFormatError(
            f"{self.path(name)}: no log ends in {ending!r}; name the format with option feed, of {_OFFERED}, "
            "or move the file away"
        )


def _is_aside(name: str) -> bool:
    return name.startswith((".", "_")) or name.endswith(".tmp")


@contextmanager
def open_log(path: str) -> Iterator[BinaryIO]:
    """Open a file of a log, decompressed; raises `RdfliveError` where it is not there."""
    try:
        with open_bytes(path) as stream:
            yield stream
    except FileNotFoundError as error:
        raise RdfliveError(
            f"{path}: is not there; a log must lie where the driver and every executor find it under one path"
        ) from error


def checksum(stream: BinaryIO, end: int) -> int:
    """Compute the CRC-32 of the last bytes, up to 4096, before a position."""
    start = max(0, end - _CHECKED)
    stream.seek(start)
    return zlib.crc32(stream.read(end - start))


def still_has(path: str, end: int, check: int) -> bool:
    """True if a file has at least `end` bytes and `check` is the checksum before that position."""
    try:
        with open_log(path) as stream:
            return fault_before(stream, end, check) is None
    except (OSError, RdfliveError):
        return False


def check_read(stream: BinaryIO, path: str, place: FilePlace) -> None:
    """Check that a file is the one that was read up to a position; raises `ResyncNeeded`."""
    fault = fault_before(stream, place["end"], place["check"])
    if fault is not None:
        raise resync(path, f"{fault} byte {place['end']}, up to where it was read the last time")


def resync(path: str, reason: str) -> ResyncNeeded:
    """Make the error that explains how to start reading a log through Spark again."""
    error = ResyncNeeded(path, reason)
    # instead of the advice to give a snapshot, which `spark.mirror` does not take
    error.args = (
        f"{path}: {reason}; resync: with a new checkpoint read the log from its beginning; a mirror needs "
        "another name as well, and an empty graph",
    )
    return error


def fault_before(stream: BinaryIO, end: int, check: int) -> str | None:
    """Tell what is wrong before a byte; None if the file is as it was read."""
    if stream.seek(0, os.SEEK_END) < end:
        return "ends before"
    return None if checksum(stream, end) == check else "has changed before"


def is_stopped(stream: BinaryIO, size: int) -> bool:
    """True when `STOPPED` is the last line in front of a byte."""
    start = max(0, size - len(STOPPED) - 1)
    stream.seek(start)
    return stream.read(size - start) in (STOPPED, b"\n" + STOPPED)


def refuse_line(path: str, offset: int, error: Exception) -> NoReturn:
    """Raise a `FeedError` for the line that begins at a byte. Only now are lines counted, as that
    reads the file.
    """
    with open_log(path) as stream:
        number, before = 1, b""
        for block in blocks(stream.read, offset):
            # a CRLF that lies in two blocks ends one line
            number += len(LINE_END.findall(block)) - (before == b"\r" and block.startswith(b"\n"))
            before = block[-1:]
    raise FeedError(path, number, str(error), offset=offset) from error
