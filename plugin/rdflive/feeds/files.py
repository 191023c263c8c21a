"""A feed in a file or a stream; it resumes at its cursor if the bytes before it are unchanged."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import BinaryIO

from rdflive.errors import RdfliveError, ResyncNeeded
from rdflive.feeds.entries import Entry, read_cursor, read_entries
from rdflive.feeds.feed import Snapshot, Target
from rdflive.feeds.formats import FeedFormat
from rdflive.feeds.lines import STDIN, Line, open_bytes, to_lines, to_pieces, unreadable
from rdflive.feeds.rotation import RotatedLog, passes

__all__ = ["FileFeed"]


class _Closed(Exception):  # noqa: N818 - never leaves the feed
    """The feed was closed while it waited for input."""


class FileFeed:
    """Decodes a file (its path, `-` for standard input) or an open binary stream to entries.

    A cursor is `form:byte:line:check`, with the CRC-32 of all bytes before it. A file that is shorter or has
    other bytes before the cursor needs a resync, unless its format is replayable. For a stream, byte 0 is its
    position when the feed is made.

    With `follow`, the feed does not end at the end of the file. Every `follow` seconds it checks for more
    input, and for the next file of a rotated log (`RotatedLog`). A line counts once its line end is written.
    """

    def __init__(
        self, source: str | os.PathLike[str] | BinaryIO, form: FeedFormat, *, follow: float | None = None
    ) -> None:
        is_stdin = source is getattr(sys.stdin, "buffer", STDIN)
        given = STDIN if is_stdin else source
        self._given = os.fspath(given) if isinstance(given, str | os.PathLike) else given
        self._form = form
        self.source = _name(self._given)
        self.is_stream = not isinstance(self._given, str) or _is_pipe(self._given)
        """True for standard input, a pipe or an open stream: the next one may be another feed."""
        if follow is not None and (self.is_stream or self.source.endswith(".gz")):
            raise ValueError(f"{self.source} cannot be followed: follow= is for files that grow")
        if follow is not None and not 0 < follow <= threading.TIMEOUT_MAX:
            raise ValueError(f"follow must be a number of seconds above 0, got {follow!r}")
        self._follow = follow
        self._closed = threading.Event()
        self._log: RotatedLog | None = None
        self._end: float | None = None
        self._seen_until: float | None = None

    @property
    def seen_until(self) -> float | None:
        """See `Feed`; without `follow`, the time at which the last reading reached the end."""
        return self._seen_until if self._log is None else self._log.seen_until

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:  # noqa: ARG002 - unused for files
        """Decode the lines after the cursor, up to the end or until the feed is closed."""
        if self._closed.is_set():
            return
        try:
            for entry in self._entries(cursor, kept):
                if self._closed.is_set():  # while it was read
                    return
                yield entry
            self._seen_until = self._end
        except _Closed:
            return

    def close(self) -> None:
        """End `entries` from any thread: at once, or when a blocked read of a stream returns."""
        self._closed.set()

    def _entries(self, cursor: str | None, kept: Mapping[str, str]) -> Iterator[Entry]:
        begin = read_cursor(cursor) if cursor else None
        if self._follow is not None:
            # the file may have been rotated since, so the position may be in another file
            log = RotatedLog(self.source, self._follow, self._wait, replayable=self._form.replayable)
            self._log = log
            yield from read_entries(self._form, log.lines(begin), self.source, kept=kept)
            return
        with self._open() as stream:
            lines = self._skip(stream, begin) if begin else self._lines(stream, Line("", 0))
            if lines is not None:
                yield from read_entries(self._form, lines, self.source, kept=kept)
                return
        # start again: the decoder skips the records that it has applied
        with self._open() as stream:
            lines = self._lines(stream, Line("", 0))
            yield from read_entries(self._form, lines, self.source, kept=kept)

    def snapshot(self, target: Target) -> Snapshot | None:  # noqa: ARG002 - unused
        """Return None: a file of changes has no full state."""
        return None

    def _wait(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise _Closed

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        with ExitStack() as opened:
            if not isinstance(self._given, str):
                stream = self._given
            else:
                try:
                    stream = opened.enter_context(open_bytes(self._given))
                except OSError as error:
                    raise unreadable(self.source, error) from error
            yield stream

    def _lines(self, stream: BinaryIO, last: Line) -> Iterator[Line]:
        """Yield the lines after a line."""
        pieces = chain(to_pieces(stream), self._at_end())
        return to_lines(pieces, self.source, number=last.number, end=last.end, check=last.check)

    def _at_end(self) -> Iterator[bytes]:
        """Note the time at which the end is reached; yield nothing."""
        self._end = time.monotonic()
        yield from ()

    def _skip(self, stream: BinaryIO, begin: Line) -> Iterator[Line] | None:
        """Yield the lines after `begin`; return None if its bytes are gone and the format is replayable."""
        start = stream.tell() if stream.seekable() else None
        reason = passes(stream, begin)
        if reason is None:
            return self._lines(stream, begin)
        if self._form.replayable and not self.is_stream:
            return None
        if self.is_stream:
            if start is None:
                raise RdfliveError(
                    f"{self.source}: {reason}, and a stream cannot be read again: pass the stream from its "
                    'beginning with cursor=""'
                )
            # a caller that starts again with a snapshot reads from the same position
            stream.seek(start)
        raise ResyncNeeded(self.source, reason)


def _is_pipe(path: str) -> bool:
    return path == STDIN or (os.path.exists(path) and not os.path.isfile(path))


def _name(given: str | BinaryIO) -> str:
    if isinstance(given, str):
        return "standard input" if given == STDIN else given
    if isinstance(given, io.TextIOBase):
        raise TypeError(f"{given!r} holds text; open it as binary")
    name = getattr(given, "name", None)
    return name if isinstance(name, str) else "the stream"
