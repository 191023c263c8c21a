"""The change log of a store on disk: a folder beside the store, written before each commit.

The log and the store belong together. The store has the number of its last commit, which it writes in the
commit itself, and the log an entry for each commit. What the store does not have is no commit, so entries
after its number are removed at the next opening.

The log names the history of the store, its *epoch*. Another history begins when the log cannot know what has
happened to the store: another program has opened it, it is a copy, or the machine has failed.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from rdflive.errors import RdfliveError
from rdflive.store.segments import LogFile, framed, read_entries

__all__ = ["ChangeLogError", "LogGapError", "StoredLog", "mark_copy", "read_log", "session_of"]

_HEADER: Final = "header.json"
_FORMAT: Final = 1
_PARTS: Final = 16
"""Segments of a full log; the oldest is dropped as a whole."""
_SMALLEST: Final = 1 << 12
"""Bytes of the smallest segment."""
_COPY: Final = "rdflive-copy"
"""A file in the folder of a copy of a store; a checkpoint has the names of its original."""
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


class ChangeLogError(RdfliveError, OSError):
    """The change log cannot be written, so the commit is refused."""


class LogGapError(LookupError):
    """The log does not have all commits after a number."""


def session_of(store: Path) -> str:
    """Return what identifies the last opening of a store for writing; empty for a folder without a store.

    RocksDB begins a manifest at each opening, and names it in the file CURRENT. It must be read before the
    store is opened.
    """
    try:
        files = [(store / name).read_text().strip() for name in ("CURRENT", "IDENTITY")]
    except OSError:
        return ""
    with suppress(FileNotFoundError):
        files.append((store / _COPY).read_text())
    return " ".join([str(store.stat().st_ino), *files])


def mark_copy(store: Path) -> None:
    """Tell a copy of a store, which nothing has opened, from its original in the same place: a log beside it
    must not go on.
    """
    with open(store / _COPY, "w") as file:
        file.write(secrets.token_hex(16))
        file.flush()
        os.fsync(file.fileno())


class StoredLog:
    """The entries of the last commits, within bounds of size and age; the owner serializes all but `since`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> log = StoredLog(folder / "log", folder)
    >>> log.open(""), log.resume(0), log.append(1, b"a"), log.append(2, b"b")
    (None, None, None, None)
    >>> [*log.since(0, 2)], log.oldest
    ([(1, b'a'), (2, b'b')], 0)
    >>> log.close()
    """

    def __init__(self, folder: Path, store: Path, *, size: int = 256 << 20, seconds: float = 604_800) -> None:
        """Prepare a log in a folder; it keeps about `size` bytes, and drops entries older than `seconds`."""
        self.folder = folder
        self.epoch = ""
        self._store = store
        self._most = size
        self._seconds = seconds
        self._segments: list[LogFile] = []
        self._file: int | None = None
        self._before = 0
        """The size of the last segment before its last entry."""
        self._is_behind = False
        """True if the file has bytes after its last entry that could not be removed."""

    @property
    def oldest(self) -> int:
        """The number before the first entry."""
        return self._segments[0].start

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return self._segments[-1].last

    def open(self, before: str) -> None:
        """Take the log of a store that has just been opened; `before` is its `session_of` before that.

        Raises `ChangeLogError`.
        """
        with self._explained():
            self.folder.mkdir(exist_ok=True)
            header = self._header()
            is_known = bool(before) and header.get("session") == before
            is_whole = header.get("closed") or _is_this_boot(header)
            self.epoch = header["epoch"] if is_known and is_whole else ""
            # before anything else happens to the store: a kill in between would begin another history
            self._write_header()

    def forget(self) -> None:
        """Let another history begin at the next opening, whatever happens before `begin` has ended.

        Raises `ChangeLogError`.
        """
        with self._explained():
            self.epoch = ""
            self._write_header()

    def resume(self, number: int) -> None:
        """Go on at the number of the opened store, or begin again there. Raises `ChangeLogError`."""
        with self._explained():
            if not self.epoch or not self._found(number):
                # if the epoch is known, it is the same history without the commits that led here
                self.begin(self.epoch, number)

    def _found(self, number: int) -> bool:
        """Read the segments, and remove entries after a number; return False if some up to it are missing."""
        try:
            paths = sorted(self.folder.glob("*.log"), key=lambda path: int(path.stem))
            segments = [LogFile.read(path) for path in paths]
        except ValueError:
            return False
        while segments and segments[-1].start > number:
            segments.pop().path.unlink()
        if not segments or not segments[0].start <= number <= segments[-1].last:
            return False
        if any(one.last != other.start for one, other in pairwise(segments)):
            return False
        self._segments = segments
        self._cut(number)
        return True

    def _cut(self, number: int) -> None:
        """Remove the entries after a number, and an incomplete one, from the last segment."""
        segment = self._segments[-1]
        segment.last, segment.size = segment.start, 0
        for entry in read_entries(segment.path):
            if entry.number > number:
                break
            segment.last, segment.size, segment.time = entry.number, entry.end, entry.time
        self._file = os.open(segment.path, os.O_RDWR)
        os.ftruncate(self._file, segment.size)

    def begin(self, epoch: str, number: int) -> None:
        """Discard all entries, and begin at a number of a history (by default another one)."""
        with self._explained():
            if epoch != self.epoch:
                self.forget()
            # before the old entries go: without room they stay, and the next try begins here
            segment = self._add_segment(number)
            for path in self.folder.glob("*.log"):
                if path != segment.path:
                    path.unlink()
            self._segments = [segment]
            self.epoch = epoch or secrets.token_hex(4)
            self._write_header()

    def append(self, number: int, content: bytes) -> None:
        """Add the entry of the next commit; raise `ChangeLogError`, and leave the log as it was.

        If the number is not the next one, as on a replica that has fetched the dataset again, or if the
        content exceeds the whole log, the log begins again after the commit.
        """
        with self._explained():
            self._clean()
            if self.last + 1 != number or len(content) > self._most:
                self.begin(self.epoch, number)
                return
            now = time.time()
            segment = self._segments[-1]
            part = max(self._most // _PARTS, _SMALLEST)
            if segment.size > part or (segment.size and now - segment.begun > self._seconds / _PARTS):
                segment = self._add_segment(self.last)
                self._drop_old(now)
            entry = framed(number, now, content)
            self._write(segment, entry)
            self._before = segment.size
            segment.begun = segment.begun if segment.size else now
            segment.last, segment.time, segment.size = number, now, segment.size + len(entry)

    def _write(self, segment: LogFile, entry: bytes) -> None:
        assert self._file is not None  # noqa: S101 - `open` sets it
        self._is_behind = True
        try:
            written = os.pwrite(self._file, entry, segment.size)
            if written < len(entry):
                raise OSError(28, os.strerror(28))
        except OSError:
            with suppress(OSError):
                self._clean()
            raise
        self._is_behind = False

    def _clean(self) -> None:
        """Remove the bytes of an entry that could not be written, or is retracted."""
        if self._file is None:
            raise OSError("it is closed")
        if self._is_behind:
            os.ftruncate(self._file, self._segments[-1].size)
            self._is_behind = False

    def retract(self, number: int) -> None:
        """Remove the entry after a number: its commit has not happened."""
        segment = self._segments[-1]
        if segment.last != number + 1 or not segment.size:
            self.begin(self.epoch, number)
            return
        segment.last, segment.size, self._is_behind = number, self._before, True
        with suppress(OSError):  # before the next entry it is tried again
            self._clean()

    def since(self, number: int, last: int) -> Iterator[tuple[int, bytes]]:
        """Yield the entries after a number up to `last`; raise `LogGapError` where one is missing.

        May run in any thread, beside the writing one.
        """
        return _entries_between([(one.start, one.path) for one in self._segments], number, last)

    def close(self) -> None:
        """Write all entries to the disk. The store must have been flushed. May be repeated."""
        with suppress(OSError):
            if self._file is not None:
                self._clean()
                os.fsync(self._file)
                self._write_header(closed=True)
        self._end_file()

    def _end_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _add_segment(self, number: int) -> LogFile:
        path = self.folder / f"{number:020d}.log"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._end_file()
        self._file, self._is_behind = file, False
        segment = LogFile(path, number, number, 0, 0.0, time.time())
        self._segments = [*self._segments, segment]
        return segment

    def _drop_old(self, now: float) -> None:
        """Drop the oldest segments beyond the bounds, but never the newest."""
        kept = list(self._segments)
        while len(kept) > 1 and (
            sum(segment.size for segment in kept) > self._most or now - kept[0].time > self._seconds
        ):
            kept.pop(0).path.unlink(missing_ok=True)
        self._segments = kept

    def _header(self) -> dict[str, Any]:
        try:
            header: Any = json.loads((self.folder / _HEADER).read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return header if isinstance(header, dict) and header.get("format") == _FORMAT else {}

    def _write_header(self, *, closed: bool = False) -> None:
        header = {"format": _FORMAT, "epoch": self.epoch, "session": session_of(self._store), "boot": _boot()}
        new = self.folder / f"{_HEADER}.new"
        with open(new, "w") as file:
            json.dump({**header, "closed": closed}, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.folder / _HEADER)

    def _explained(self) -> _Explained:
        return _Explained(self.folder)


class _Explained:
    """Turns errors of the system into one that names the folder of the log.

    A generator with `contextmanager` would keep the error in a cycle of frames (Python 3.12 and later), and
    with it the store, which could not be opened again before the next collection of garbage.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, ChangeLogError):
            raise ChangeLogError(
                f"the change log {self._folder} cannot be written: {error.strerror or error}; give it space "
                "and the rights to write, or serve the store with --change-log-bytes 0"
            ) from error


def read_log(folder: Path, number: int, last: int) -> Iterator[tuple[int, bytes]]:
    """Yield the entries of the log in a folder, as `StoredLog.since` does, in any process."""
    paths = sorted(folder.glob("*.log"), key=lambda path: path.stem)
    return _entries_between([(int(path.stem), path) for path in paths], number, last)


def _entries_between(
    segments: Sequence[tuple[int, Path]], number: int, last: int
) -> Iterator[tuple[int, bytes]]:
    """Yield the entries after a number up to `last` from files with the numbers before them."""
    expected = number + 1
    # the last file that begins at the number or before has the first entry
    first = max((at for at, (start, _) in enumerate(segments) if start <= number), default=len(segments))
    for _, path in segments[first:]:
        try:
            for entry in read_entries(path):
                if entry.number == expected <= last:
                    yield entry.number, entry.content
                    expected += 1
        except FileNotFoundError as error:  # it was dropped in the meantime
            raise LogGapError("an entry is missing") from error
    if expected <= last:
        raise LogGapError("an entry is missing")


def _is_this_boot(header: dict[str, Any]) -> bool:
    """True if the machine has not failed since the header was written; False in doubt."""
    return bool(header.get("boot")) and header["boot"] == _boot()


def _boot() -> str:
    """Return what identifies this start of the machine; empty where the system does not tell."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
