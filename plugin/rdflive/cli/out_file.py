"""The file that deltas are appended to, how a later run continues it, and errors of writing."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import TextIOWrapper
from typing import Final, NamedTuple, TextIO

from rdflive.delivery.resume.journal_file import JournalFile
from rdflive.errors import RdfliveError

__all__ = ["STDOUT", "naming", "open_out", "reason"]

STDOUT: Final = "standard output"


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Put the name of what is written into an error of the system that has none; a closed pipe stays.

    >>> with naming("standard output"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'standard output'
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise


def reason(error: Exception) -> str:
    """Say in one line what went wrong, with the name of the file that the system could not use.

    >>> reason(OSError(2, "No such file or directory", "data.ttl"))
    'data.ttl: No such file or directory'
    """
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


_UNITS: Final = {"ndjson": (b'{"sequence": ', b"\n"), "patch": (b"TX .\n", b"\nTC .\n")}
"""What each unit of a file begins with, and what ends it."""


class _Told(NamedTuple):
    """How many deltas a subscriber was given, and how many of them it has acknowledged."""

    written: int = 0
    acknowledged: int = 0


@contextmanager
def open_out(path: str, form: str, *, resume: str | None, name: str | None) -> Iterator[TextIO]:
    """Open a file, a pipe or a device to append deltas to; `form` is ndjson or patch.

    With the file and the name of a resumed subscriber the stream's `flush` returns when the text is on
    disk, and a file that an earlier run left is gone on in. Any other that is not empty is an error.
    """
    with open(path, "ab") as raw:
        kind: type[TextIOWrapper] = TextIOWrapper
        if stat.S_ISREG(os.fstat(raw.fileno()).st_mode):  # a pipe has no size, and cannot be synced
            size = raw.tell()
            if size and (resume is None or name is None):
                raise RdfliveError(
                    f"{path}: is not empty; --resume goes on in it, else move it away or name another file"
                )
            if resume is not None and name is not None:
                kind = _DurableText
                if size:
                    _go_on(path, form, resume, name)
        stream = kind(raw, encoding="utf-8", errors="backslashreplace", newline="\n")
        try:
            yield stream
        finally:
            with naming(path):
                stream.close()


class _DurableText(TextIOWrapper):
    """A text file whose `flush` returns when the text is on disk: what is acknowledged then must be."""

    def flush(self) -> None:
        super().flush()
        os.fsync(self.fileno())


def _go_on(path: str, form: str, resume: str, name: str) -> None:
    """Cut off a unit that a killed run left unfinished; what it was to hold is delivered again."""
    told = _told(resume, name)
    with open(path, "r+b") as file:
        whole = _whole(file.fileno(), *_UNITS[form])
        # a run that was killed in its first unit has not acknowledged it
        if whole is None or (not whole and told.written and told.written == told.acknowledged):
            raise RdfliveError(f"{path}: is not what an earlier run wrote; name another --out file")
        if not told.written:
            raise RdfliveError(
                f"{path}: is not empty, and {resume} has told {name!r} nothing yet; move {path} away or name "
                "another --out file"
            )
        file.truncate(whole)


def _whole(descriptor: int, begin: bytes, end: bytes) -> int | None:
    """Count the bytes of whole units; None where the file holds anything else."""
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as content:
        # from the end, so that of a large file only that is read
        place = content.rfind(end)
        whole = place + len(end) if place >= 0 else 0
        starts = content[: len(begin)], content[whole : whole + len(begin)]
    return whole if all(begin.startswith(start) for start in starts) else None


def _told(resume: str, name: str) -> _Told:
    """Look up a subscriber; a file that is not there is not made."""
    if not os.path.exists(resume):
        return _Told()
    journal = JournalFile(resume, name)
    with journal.explained(), closing(journal.connect("rw")) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'subscriber'").fetchone():
            return _Told()
        found = connection.execute(
            "SELECT written, acknowledged FROM subscriber WHERE name = ?", (name,)
        ).fetchone()
        return _Told(*found) if found else _Told()
