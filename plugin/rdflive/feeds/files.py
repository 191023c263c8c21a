"""A feed in a file or a stream: it goes on where its cursor says, if what lies before is unchanged."""

from __future__ import annotations

import gzip
import io
import os
import re
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import BinaryIO, Final

from rdflive.errors import RdfliveError, ResyncNeeded
from rdflive.feeds.entries import Entry, read_entries
from rdflive.feeds.feed import Snapshot, Target
from rdflive.feeds.formats import FeedFormat
from rdflive.feeds.lines import STDIN, Line, open_bytes, to_lines

__all__ = ["FileFeed"]

_CURSOR: Final = re.compile(r"(\d+):(\d+):([0-9a-f]{8})")
_BLOCK: Final = 1 << 20


class FileFeed:
    """Decodes a file (its path, `-` for standard input) or an open binary stream to entries.

    A cursor is `byte:line:check`, with the CRC-32 of all bytes before it: a file that is shorter, or that
    holds something else there, is not the one that was read, and needs a resync, unless its format is
    replayable. A stream is read from where it stands, which is byte 0 for its cursors.

    With `follow` the end of a file is not the end of the feed: every so many seconds it is looked for more.
    A line counts when its end is there, and a file that is cut or replaced meanwhile needs a resync.
    """

    def __init__(
        self, source: str | os.PathLike[str] | BinaryIO, form: FeedFormat, *, follow: float | None = None
    ) -> None:
        self._given = os.fspath(source) if isinstance(source, str | os.PathLike) else source
        self._form = form
        self.source = _name(self._given)
        self.is_stream = not isinstance(self._given, str) or _is_pipe(self._given)
        """True where nothing says that the next reading is of the same feed."""
        if follow is not None and (self.is_stream or self.source.endswith(".gz")):
            raise ValueError(f"{self.source} cannot be followed: follow= is for files that grow")
        if follow is not None and follow <= 0:
            raise ValueError(f"follow must be a number of seconds above 0, got {follow!r}")
        self._follow = follow

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:  # noqa: ARG002 - a file asks nothing of it
        """Decode what is behind the cursor, up to the end."""
        begin = _read_cursor(cursor) if cursor else None
        with self._open() as stream:
            lines = self._skip(stream, begin) if begin else self._lines(stream, Line("", 0))
            if lines is not None:
                yield from read_entries(self._form, lines, self.source, kept=kept)
                return
        with self._open() as stream:
            lines = self._lines(stream, Line("", 0))
            yield from read_entries(self._form, lines, self.source, kept=kept)

    def snapshot(self, target: Target) -> Snapshot | None:  # noqa: ARG002 - there is none
        """Say that a file of changes has no whole state."""
        return None

    def _open(self) -> AbstractContextManager[BinaryIO]:
        return open_bytes(self._given) if isinstance(self._given, str) else nullcontext(self._given)

    def _lines(self, stream: BinaryIO, last: Line) -> Iterator[Line]:
        """Decode what comes behind a line."""
        content = stream if self._follow is None else self._growing(stream, self._follow)
        return to_lines(content, self.source, number=last.number, end=last.end, check=last.check)

    def _growing(self, stream: BinaryIO, every: float) -> Iterator[bytes]:
        line = b""
        while True:
            line += stream.readline()
            if line.endswith(b"\n"):
                yield line
                line = b""
                continue
            here, there = os.fstat(stream.fileno()), os.stat(self.source)
            if here.st_size < stream.tell():
                raise ResyncNeeded(self.source, "was cut while it was followed")
            if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
                raise ResyncNeeded(self.source, "was replaced while it was followed")
            time.sleep(every)

    def _skip(self, stream: BinaryIO, begin: Line) -> Iterator[Line] | None:
        """Pass over what was read before; None where it is gone and the format can do without."""
        start = stream.tell() if stream.seekable() else None
        left, check = begin.end, 0
        try:
            while left and (block := stream.read(min(left, _BLOCK))):
                left -= len(block)
                check = zlib.crc32(block, check)
        except (EOFError, zlib.error, gzip.BadGzipFile):  # a compressed file that was cut or changed
            check = ~begin.check
        if not left and check == begin.check:
            return self._lines(stream, begin)
        if self._form.replayable and not self.is_stream:
            return None
        fault = f"ends before byte {begin.end}" if left else f"has changed before byte {begin.end}"
        reason = f"{fault}, up to where it was read the last time"
        if self.is_stream:
            if start is None:
                raise RdfliveError(
                    f"{self.source}: {reason}, and a stream cannot be read again: give it from its beginning "
                    'with cursor=""'
                )
            stream.seek(start)
        raise ResyncNeeded(self.source, reason)


def _read_cursor(cursor: str) -> Line:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise RdfliveError(
            f"{cursor!r} is no cursor of a file: it would be byte:line:check, as mirror gives it"
        )
    return Line("", int(match[2]), end=int(match[1]), check=int(match[3], 16))


def _is_pipe(path: str) -> bool:
    return path == STDIN or (os.path.exists(path) and not os.path.isfile(path))


def _name(given: str | BinaryIO) -> str:
    if isinstance(given, str):
        return "standard input" if given == STDIN else given
    if isinstance(given, io.TextIOBase):
        raise TypeError(f"{given!r} holds text; open it as binary")
    name = getattr(given, "name", None)
    return name if isinstance(name, str) else "the stream"
