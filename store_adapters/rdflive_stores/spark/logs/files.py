"""The files of a log: their names and order, and checks that they are still those that were read."""

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
"""The last line of a log whose recording stopped. It is not RDF Patch, so every reader fails at it."""
_CHECKED: Final = 4096
_OFFERED: Final = " and ".join(
    f"{name} ({' '.join(form.feed.endings)})" for name, form in LOG_FORMATS.items()
)


class FilePlace(TypedDict):
    """The position in a file, in the form of an offset of the stream."""

    end: int
    """Number of bytes read."""
    check: int
    """The checksum of the last bytes that were read."""
    path: str
    """The absolute path of the file."""


@dataclass(frozen=True, slots=True)
class LogFiles:
    """A log: one file, or a folder of files, ordered by their names.

    In a folder, hidden files, subfolders, and files named `_…` or `….tmp` are ignored.
    """

    folder: str
    only: str | None
    """The name of the one file; None for a folder."""
    feed: str | None
    """The format of all files; None if their endings determine it."""

    @classmethod
    def at(cls, path: str, feed: str | None) -> LogFiles:
        """Return the log at a path; raise `RdfliveError` if there is none."""
        if "://" in path:
            raise RdfliveError(f"{path}: logs are read as files, so give a path that every executor can open")
        if feed is not None and feed not in LOG_FORMATS:
            raise FeedFormatError(f"feed={feed!r} cannot be read in pieces; supported are {_OFFERED}")
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
        """Return the path of a file."""
        return os.path.join(self.folder, name)

    def form(self, name: str) -> LogFormat:
        """Return the format of a file; raise `FeedFormatError` for an unknown ending."""
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
    """Open a file of a log, decompressed; raise `RdfliveError` if it does not exist."""
    try:
        with open_bytes(path) as stream:
            yield stream
    except FileNotFoundError as error:
        raise RdfliveError(
            f"{path}: does not exist; the driver and every executor must reach a log under one path"
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
    """Raise `ResyncNeeded` unless a file is the one that was read up to a position."""
    fault = fault_before(stream, place["end"], place["check"])
    if fault is not None:
        raise resync(path, f"{fault} byte {place['end']}, where the last reading ended")


def resync(path: str, reason: str) -> ResyncNeeded:
    """Return the error that explains how to restart reading a log through Spark."""
    error = ResyncNeeded(path, reason)
    # replaces the advice to give a snapshot, which `spark.mirror` does not take
    error.args = (
        f"{path}: {reason}; resync: read the log from its beginning with a new checkpoint; a mirror also "
        "needs another name and an empty graph",
    )
    return error


def fault_before(stream: BinaryIO, end: int, check: int) -> str | None:
    """Return the fault before a byte; None if the file is as it was read."""
    if stream.seek(0, os.SEEK_END) < end:
        return "ends before"
    return None if checksum(stream, end) == check else "has changed before"


def is_stopped(stream: BinaryIO, size: int) -> bool:
    """True if `STOPPED` is the last line before a byte."""
    start = max(0, size - len(STOPPED) - 1)
    stream.seek(start)
    return stream.read(size - start) in (STOPPED, b"\n" + STOPPED)


def refuse_line(path: str, offset: int, error: Exception) -> NoReturn:
    """Raise a `FeedError` for the line at a byte; only this counts lines, because that reads the file."""
    with open_log(path) as stream:
        number, before = 1, b""
        for block in blocks(stream.read, offset):
            # a CRLF across two blocks ends one line
            number += len(LINE_END.findall(block)) - (before == b"\r" and block.startswith(b"\n"))
            before = block[-1:]
    raise FeedError(path, number, str(error), offset=offset) from error
