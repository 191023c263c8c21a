"""A log that grows and is rotated: its files are read one after the other, each to its end.

What is compared at every look is the file that is open, by the bytes in front of the place reached, and the
file at the path, by its number in the file system. A file that was renamed or deleted stays open until
its successor has something in it: whoever writes a log writes to one file at a time.
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
"""So many bytes at the beginning and in front of the place reached are compared at every look."""
_LOOKS: Final = 20
_PATIENCE: Final = 10.0
"""What is doubtful may be the middle of a rotation: for so many looks, and so many seconds of looking."""
_NUMBER: Final = r"[._-](\d[\d._T:-]*?)"
_COUNTED: Final = 5
"""A number of more digits is a time."""

_FileId: TypeAlias = tuple[int, int]
"""The device and the number of a file, which no other file has while it is open."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def passes(stream: _Readable, begin: Line) -> str | None:
    """Read up to a place, and compare what lies before it with what was read there, by its checksum.

    Gives None where it is the same, else what is wrong.
    """
    left, check = begin.end, 0
    try:
        for block in blocks(stream.read, begin.end):
            left -= len(block)
            check = zlib.crc32(block, check)
    except (EOFError, zlib.error, gzip.BadGzipFile):  # a compressed file that was cut or changed
        # anything that is not equal
        check = ~begin.check
    if not left and check == begin.check:
        return None
    fault = "ends" if left else "has changed"
    return f"{fault} before byte {begin.end}, up to where it was read the last time"


class _Found(NamedTuple):
    """A file as the file system has it."""

    path: str
    place: _FileId
    size: int
    changed: int
    """When it was written to last, in nanoseconds."""
    number: int = 0
    """Of `log.2` and `log.2.gz` 2: the highest is the oldest."""
    time: str = ""
    """Of `log-20261123` and `log-20261123.rdfp` what tells the time."""

    @property
    def order(self) -> tuple[int, str]:
        """What is older comes first."""
        return -self.number, self.time


class _File:
    """An open file of the log."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.source = source
        self.is_packed = path.endswith(".gz")
        # unbuffered: a buffer would compare what was read with itself
        stream = gzip.open(path) if self.is_packed else open(path, "rb", buffering=0)  # noqa: SIM115 - closed by its reader
        self.stream = cast(BinaryIO, stream)
        found = os.fstat(self.stream.fileno())
        self.place: _FileId = (found.st_dev, found.st_ino)
        self.reached = Line("", 0)
        """The place that was read up to."""
        self.successor: _File | None = None
        self._first = self._last = b""

    def read(self, size: int = _BLOCK, /) -> bytes:
        """Read on; raises `ResyncNeeded` where what was read before is not there any more."""
        block = self.stream.read(size)
        if not self.is_packed:
            self._compare()  # behind reading, or what is cut in between would be taken for its continuation
        check = zlib.crc32(block, self.reached.check)
        self.reached = Line("", 0, end=self.reached.end + len(block), check=check)
        self._first = (self._first + block[:_ENDS])[:_ENDS]
        self._last = (self._last + block[-_ENDS:])[-_ENDS:]
        return block

    def _compare(self) -> None:
        here, end = self.stream.tell(), self.reached.end
        if os.fstat(self.stream.fileno()).st_size < end:
            raise self._resync("was cut")
        for start, known in ((0, self._first), (end - len(self._last), self._last)):
            self.stream.seek(start)
            if self.stream.read(len(known)) != known:
                raise self._resync(f"has changed before byte {end}")
        self.stream.seek(here)

    def _resync(self, what: str) -> ResyncNeeded:
        return ResyncNeeded(
            self.source,
            f"{what} while it was followed, and what came behind byte {self.reached.end} is not known; "
            "rotate the log by renaming it, and nothing is lost",
        )


class RotatedLog:
    """Follows the log at a path: it is looked at every so many seconds, until `wait` raises."""

    def __init__(self, path: str, every: float, wait: Callable[[float], object], *, replayable: bool) -> None:
        self._path = path
        self._every = every
        self._wait = wait
        self.seen_until: float | None = None
        """See `Feed`."""
        self._has_later = False
        """True while a later file has something in it, and this one cannot be left yet."""
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
        """Give the lines behind a place, or all of them; raises `ResyncNeeded` and `FeedError`."""
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
        """Open the file that a place is in."""
        fault: str | None = "is not there, nor is a file that it was renamed to"
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
        # its decoder passes over the records that it has applied
        if self._replayable and os.path.exists(self._path):
            return self._opened(self._path)
        raise ResyncNeeded(self._path, fault or "")

    def _pieces(self, file: _File) -> Iterator[bytes]:
        """Read a file to its end, which is there when its successor has begun."""
        while True:
            look = time.monotonic()
            # looked for before the last reading: what was written until it had begun is read then
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
        """Open the file behind one, when there is something in it or in a later one."""
        self._has_later = False
        new = _find(self._path)
        if new is not None and new.place == file.place:
            return None
        former = self._former()
        has_begun = new is not None and new.size > 0
        between, doubt = self._between(file, former, has_begun=has_begun)
        # an empty one is passed over, for it could not be known again
        found = next((other for other in between if other.size), new if has_begun else None)
        if found is None:
            return None
        self._has_later = True
        if self._former() != former or _find(found.path) is None:
            return None  # it is being rotated at this moment
        if doubt:
            self._doubts += 1
            if self._doubts > max(_LOOKS, _PATIENCE / self._every):
                raise ResyncNeeded(self._path, f"was rotated while it was followed, and {doubt}")
            return None
        self._doubts = 0
        return self._opened_as(found)

    def _between(self, file: _File, former: list[_Found], *, has_begun: bool) -> tuple[list[_Found], str]:
        """List the former files behind one, and say what may be missing among them."""
        here = next((other for other in former if other.place == file.place), None)
        if here is None and has_begun:
            here = self._same(file.reached, former)  # it was compressed, or copied and deleted
        if here is None:
            written = os.fstat(file.stream.fileno()).st_mtime_ns
            newer = [other.path for other in former if other.changed > written]
            return [], f"{newer[-1]} came when the file that was read had gone" if newer else ""
        # counts and times are two ways to rotate, whose orders do not compare
        between = [
            other for other in former if bool(other.time) is bool(here.time) and other.order > here.order
        ]
        missing = set() if here.time else _gaps({other.number for other in between}, here.number)
        return between, f"its file number {max(missing)} is gone" if missing else ""

    def _opened_as(self, found: _Found) -> _File | None:
        """Open a file that was found, unless another one has its name meanwhile."""
        try:
            file = self._opened(found.path)
        except FileNotFoundError:
            return None
        if file.place == found.place:
            return file
        self._close(file)
        return None

    def _found(self, place: Line) -> _File | None:
        """Open the former file that has what was read up to a place, and pass over it."""
        while True:
            former = self._former()
            found = self._same(place, former)
            if found is not None and (file := self._opened_as(found)) is not None:
                if passes(file, place) is None:
                    return file
                self._close(file)
            # else files were renamed meanwhile, and the one that is looked for may have been missed
            elif self._former() == former:
                return None

    def _same(self, place: Line, former: list[_Found]) -> _Found | None:
        """Find the former file that begins with what was read up to a place.

        None where nothing was read: any of them could be that file.
        """
        for other in reversed(former if place.end else []):
            if other.size >= place.end or other.path.endswith(".gz"):
                with suppress(FileNotFoundError), open_bytes(other.path) as stream:
                    if passes(stream, place) is None:
                        return other
        return None

    def _former(self) -> list[_Found]:
        """List the files that the log was rotated to, oldest first."""
        found: dict[tuple[int, str], _Found] = {}
        for name in sorted(
            os.listdir(self._folder), reverse=True
        ):  # log.1 behind log.1.gz, which it replaces
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
    """Tell which numbers below the last are missing; they begin at 1, or at 0 where that is there.

    With `log.1` and `log.3` beside `log.4`, the last one that was read, 2 is missing.
    """
    return set(range(min(1, *numbers, 1), last)) - numbers
