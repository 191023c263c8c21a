"""A growing log that is rotated: its files are read one after the other, each to its end.

Every look tests whether the open file still has the bytes that were read before, and, by the inode number,
whether the path leads to another file. A renamed or deleted file stays open until its successor has content:
the writer of a log writes to one file at a time.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO, Final, NamedTuple, Protocol, TypeAlias, cast

from rdflive.errors import ResyncNeeded
from rdflive.feeds.lines import Line, blocks, open_bytes, to_lines, unreadable

__all__ = ["RotatedLog", "passes"]

_BLOCK: Final = 1 << 20
_ENDS: Final = 1024
"""Number of bytes at the beginning and before the position reached that every look compares."""
_LOOKS: Final = 20
_PATIENCE: Final = 10.0
"""Looks and seconds after which a doubt is an error; until then it may be a rotation in progress."""
_NUMBER: Final = r"[._-](\d[\d._T:-]*?)"
_COUNTED: Final = 5
"""Maximum digits of a count; a longer number is a time."""

_FileId: TypeAlias = tuple[int, int]
"""The device and inode number of a file; no other file has both while it is open."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def passes(stream: _Readable, begin: Line) -> str | None:
    """Read up to a position and compare the checksum of its bytes with the earlier one.

    Returns None if they are equal, else the fault.
    """
    left, check = begin.end, 0
    try:
        for block in blocks(stream.read, begin.end):
            left -= len(block)
            check = zlib.crc32(block, check)
    except (EOFError, zlib.error, gzip.BadGzipFile):  # a compressed file was truncated or changed
        # any unequal value
        check = ~begin.check
    if not left and check == begin.check:
        return None
    fault = "ends" if left else "has changed"
    return f"{fault} before byte {begin.end}, the position of the last reading"


class _Found(NamedTuple):
    """The state of a file in the file system."""

    path: str
    place: _FileId
    size: int
    changed: int
    """Time of the last write, in nanoseconds."""
    number: int = 0
    """The count of a former file, 2 for `log.2` and `log.2.gz`; the highest is the oldest."""
    time: str = ""
    """The time in its name, `20261123` for `log-20261123` and `log-20261123.rdfp`."""

    @property
    def order(self) -> tuple[int, str]:
        """Sort key; older files come first."""
        return -self.number, self.time


class _File:
    """An open file of the log."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.source = source
        self.is_packed = path.endswith(".gz")
        # unbuffered: `_compare` must read the file and not a buffer
        stream = gzip.open(path) if self.is_packed else open(path, "rb", buffering=0)  # noqa: SIM115 - closed by its reader
        self.stream = cast(BinaryIO, stream)
        found = os.fstat(self.stream.fileno())
        self.place: _FileId = (found.st_dev, found.st_ino)
        self.reached = Line("", 0)
        """The position reached."""
        self.successor: _File | None = None
        self._first = self._last = b""

    def read(self, size: int = _BLOCK, /) -> bytes:
        """Read the next block; raises `ResyncNeeded` if the bytes read before have changed."""
        block = self.stream.read(size)
        if not self.is_packed:
            self._compare()  # after the read: a file truncated before it could look like a continuation
        check = zlib.crc32(block, self.reached.check)
        self.reached = Line("", 0, end=self.reached.end + len(block), check=check)
        self._first = (self._first + block[:_ENDS])[:_ENDS]
        self._last = (self._last + block[-_ENDS:])[-_ENDS:]
        return block

    def _compare(self) -> None:
        here, end = self.stream.tell(), self.reached.end
        if os.fstat(self.stream.fileno()).st_size < end:
            raise self._resync("was truncated")
        for start, known in ((0, self._first), (end - len(self._last), self._last)):
            self.stream.seek(start)
            if self.stream.read(len(known)) != known:
                raise self._resync(f"has changed before byte {end}")
        self.stream.seek(here)

    def _resync(self, what: str) -> ResyncNeeded:
        return ResyncNeeded(
            self.source,
            f"{what} while it was followed, so changes after byte {self.reached.end} may be lost; "
            "rotate the log by renaming it to prevent this",
        )


class RotatedLog:
    """Follows the log at a path; checks it every `every` seconds, until `wait` raises."""

    def __init__(self, path: str, every: float, wait: Callable[[float], object], *, replayable: bool) -> None:
        self._path = path
        self._every = every
        self._wait = wait
        self.seen_until: float | None = None
        """See `Feed`."""
        self._has_later = False
        """True while a later file has content but the current file is not finished."""
        self._replayable = replayable
        folder, self._base = os.path.split(path)
        self._folder = folder or os.curdir
        stem, ending = os.path.splitext(self._base)
        self._name = re.compile(
            rf"(?:{re.escape(self._base)}{_NUMBER}|{re.escape(stem)}{_NUMBER}{re.escape(ending)})(?:\.gz)?"
        )
        self._doubts = 0
        self._open: list[_File] = []

    def lines(self, begin: Line | None) -> Iterator[Line]:
        """Yield the lines after a position, or all lines; raises `ResyncNeeded` and `FeedError`."""
        try:
            yield from self._lines(begin)
        finally:
            for file in list(self._open):
                self._close(file)

    def _lines(self, begin: Line | None) -> Iterator[Line]:
        file: _File | None = self._begin(begin)
        last = begin if begin is not None and file is not None and file.reached.end else Line("", 0)
        while file is not None:
            pieces = self._pieces(file)
            yield from to_lines(pieces, self._path, number=last.number, end=last.end, check=last.check)
            self._close(file)
            file, last = file.successor, Line("", 0)

    def _begin(self, begin: Line | None) -> _File:
        """Open the file that contains a position."""
        fault: str | None = "does not exist, nor does a file that it was renamed to"
        try:
            file = self._opened(self._path)
        except OSError as error:
            if begin is None or not isinstance(error, FileNotFoundError):
                raise unreadable(self._path, error) from error
        else:
            fault = None if begin is None else passes(file, begin)
            if fault is None:
                return file
            self._close(file)
        if begin is not None and (found := self._found(begin)) is not None:
            return found
        # the decoder skips the records that it has applied
        if self._replayable and os.path.exists(self._path):
            return self._opened(self._path)
        raise ResyncNeeded(self._path, fault or "")

    def _pieces(self, file: _File) -> Iterator[bytes]:
        """Read a file to its end, which is final once its successor has content."""
        while True:
            look = time.monotonic()
            # found before the last read, which then covers all writes before the successor began
            successor = self._successor(file)
            while block := file.read():
                yield from io.BytesIO(block)
            if successor is not None:
                file.successor = successor
                return
            if not self._has_later:
                self.seen_until = look
            self._wait(self._every)

    def _successor(self, file: _File) -> _File | None:
        """Open the next file, once it or a later one has content."""
        self._has_later = False
        new = _find(self._path)
        if new is not None and new.place == file.place:
            return None
        former = self._former()
        has_begun = new is not None and new.size > 0
        between, doubt = self._between(file, former, has_begun=has_begun)
        # an empty file is skipped: it could not be recognized later
        found = next((other for other in between if other.size), new if has_begun else None)
        if found is None:
            return None
        self._has_later = True
        if self._former() != former or _find(found.path) is None:
            return None  # a rotation is in progress
        if doubt:
            self._doubts += 1
            if self._doubts > max(_LOOKS, _PATIENCE / self._every):
                raise ResyncNeeded(self._path, f"was rotated while it was followed, and {doubt}")
            return None
        self._doubts = 0
        return self._opened_as(found)

    def _between(self, file: _File, former: list[_Found], *, has_begun: bool) -> tuple[list[_Found], str]:
        """Return the former files after one, and the reason why some may be missing."""
        here = next((other for other in former if other.place == file.place), None)
        if here is None and has_begun:
            here = self._same(file.reached, former)  # it was compressed, or copied and deleted
        if here is None:
            written = os.fstat(file.stream.fileno()).st_mtime_ns
            newer = [other.path for other in former if other.changed > written]
            return [], f"{newer[-1]} appeared after the file being read was removed" if newer else ""
        # counted and timed names are two ways to rotate; their orders do not compare
        between = [
            other for other in former if bool(other.time) is bool(here.time) and other.order > here.order
        ]
        missing = set() if here.time else _gaps({other.number for other in between}, here.number)
        return between, f"its file number {max(missing)} is gone" if missing else ""

    def _opened_as(self, found: _Found) -> _File | None:
        """Open a file that was found; None if another file has taken its name."""
        try:
            file = self._opened(found.path)
        except FileNotFoundError:
            return None
        if file.place == found.place:
            return file
        self._close(file)
        return None

    def _found(self, place: Line) -> _File | None:
        """Open the former file that contains a position, and read up to the position."""
        while True:
            former = self._former()
            found = self._same(place, former)
            if found is not None and (file := self._opened_as(found)) is not None:
                if passes(file, place) is None:
                    return file
                self._close(file)
            # otherwise files were renamed during the search, which may have missed the file
            elif self._former() == former:
                return None

    def _same(self, place: Line, former: list[_Found]) -> _Found | None:
        """Return the former file whose beginning has the bytes up to a position.

        None for position 0, which fits any file.
        """
        for other in reversed(former if place.end else []):
            if other.size >= place.end or other.path.endswith(".gz"):
                with suppress(FileNotFoundError), open_bytes(other.path) as stream:
                    if passes(stream, place) is None:
                        return other
        return None

    def _former(self) -> list[_Found]:
        """List the rotated files, oldest first."""
        found: dict[tuple[int, str], _Found] = {}
        for name in sorted(
            os.listdir(self._folder), reverse=True
        ):  # log.1 comes after log.1.gz and replaces it
            match = self._name.fullmatch(name)
            if match is None:
                continue
            file = _find(os.path.join(self._folder, name))
            if file is not None:
                number = match[1] or match[2]
                is_count = number.isdecimal() and len(number) <= _COUNTED
                file = file._replace(number=int(number)) if is_count else file._replace(time=number)
                found[file.order] = file
        return [found[order] for order in sorted(found)]

    def _opened(self, path: str) -> _File:
        file = _File(path, self._path)
        self._open.append(file)
        return file

    def _close(self, file: _File) -> None:
        file.stream.close()
        self._open.remove(file)


def _find(path: str) -> _Found | None:
    with suppress(FileNotFoundError):
        found = os.stat(path)
        return _Found(path, (found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns)
    return None


def _gaps(numbers: set[int], last: int) -> set[int]:
    """Return the missing numbers below the last; numbers begin at 1, or at 0 if that is present.

    With `log.1`, `log.3` and `log.4`, the last one read, 2 is missing.
    """
    return set(range(min(1, *numbers, 1), last)) - numbers
