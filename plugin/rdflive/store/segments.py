"""Files of numbered entries that only grow at their end, with a checksum for each entry."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

__all__ = ["FRAME", "LogEntry", "LogFile", "framed", "read_entries"]

FRAME: Final = struct.Struct(">IIQd")
"""The head of an entry: checksum of all that follows it, bytes of the content, number, and time (UNIX)."""
_CHECKED: Final = 4
"""Bytes of the checksum itself."""


class LogEntry(NamedTuple):
    """One entry of a segment."""

    number: int
    time: float
    content: bytes
    end: int
    """The offset after the entry."""


@dataclass(slots=True)
class LogFile:
    """One file, whose name is the number before its first entry."""

    path: Path
    start: int
    """The number before the first entry."""
    last: int
    """The number of the last entry; `start` if there is none."""
    size: int
    begun: float
    """The time of the first entry; that of the last one while there is none."""
    time: float
    """The time of the last entry."""

    @classmethod
    def read(cls, path: Path) -> LogFile:
        """Read a file up to its first damaged entry; raise `OSError` and ValueError for another file."""
        start = int(path.stem)
        segment = cls(path, start, start, 0, 0.0, 0.0)
        for entry in read_entries(path):
            if entry.number != segment.last + 1:
                break
            segment.begun = segment.begun or entry.time
            segment.last, segment.size, segment.time = entry.number, entry.end, entry.time
        return segment


def framed(number: int, time: float, content: bytes) -> bytes:
    """Return an entry as bytes."""
    head = FRAME.pack(0, len(content), number, time)[_CHECKED:]
    checksum = zlib.crc32(content, zlib.crc32(head))
    return checksum.to_bytes(_CHECKED, "big") + head + content


def read_entries(path: Path) -> Iterator[LogEntry]:
    """Yield the entries of a file up to the first damaged or incomplete one."""
    with open(path, "rb") as file:
        yield from _read(file, os.fstat(file.fileno()).st_size)


def _read(file: BinaryIO, end: int) -> Iterator[LogEntry]:
    while len(head := file.read(FRAME.size)) == FRAME.size:
        checksum, length, number, time = FRAME.unpack(head)
        if length > end - file.tell():
            return
        content = file.read(length)
        if zlib.crc32(content, zlib.crc32(head[_CHECKED:])) != checksum:
            return
        yield LogEntry(number, time, content, file.tell())
