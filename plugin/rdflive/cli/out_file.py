"""The output file for deltas, its continuation by later runs, and errors of writing."""

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
    """Add the name of the output to system errors without one, except for a closed pipe.

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
    """Return the reason of an error on one line, with the name of the file.

    >>> reason(OSError(2, "No such file or directory", "data.ttl"))
    'data.ttl: No such file or directory'
    """
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


_UNITS: Final = {"ndjson": (b'{"sequence": ', b"\n"), "patch": (b"TX .\n", b"\nTC .\n")}
"""The beginning and the end of each unit of a file."""


class _Delivered(NamedTuple):
    """Numbers of deltas written to a subscriber, and acknowledged by it."""

    written: int = 0
    acknowledged: int = 0


@contextmanager
def open_out(path: str, form: str, *, resume: str | None, name: str | None) -> Iterator[TextIO]:
    """Open a file, a pipe or a device to append deltas to; `form` is ndjson or patch.

    With the `resume` file and `name` of a subscriber, `flush` returns when the text is on disk, and the file
    of an earlier run is continued. Otherwise a file that is not empty is an error.
    """
    with open(path, "ab") as raw:
        kind: type[TextIOWrapper] = TextIOWrapper
        if stat.S_ISREG(os.fstat(raw.fileno()).st_mode):  # a pipe has no size, and cannot be synced
            size = raw.tell()
            if size and (resume is None or name is None):
                raise RdfliveError(
                    f"{path}: is not empty; continue it with --resume, move it away or name another file"
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
    """A text file whose `flush` returns when the text is on disk, as acknowledged deltas must be."""

    def flush(self) -> None:
        super().flush()
        os.fsync(self.fileno())


def _go_on(path: str, form: str, resume: str, name: str) -> None:
    """Cut off the unfinished unit of a killed run; its delta is delivered again."""
    delivered = _delivered(resume, name)
    with open(path, "r+b") as file:
        whole = _whole(file.fileno(), *_UNITS[form])
        # a run that was killed in its first unit has not acknowledged it
        if whole is None or (not whole and delivered.written and delivered.written == delivered.acknowledged):
            raise RdfliveError(f"{path}: was not written by an earlier run; name another --out file")
        if not delivered.written:
            raise RdfliveError(
                f"{path}: is not empty, but {resume} has no deltas of {name!r} yet; move {path} away or name "
                "another --out file"
            )
        file.truncate(whole)


def _whole(descriptor: int, begin: bytes, end: bytes) -> int | None:
    """Return the number of bytes in complete units; None for a file of another form."""
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as content:
        # from the end, so that a large file is not read completely
        place = content.rfind(end)
        whole = place + len(end) if place >= 0 else 0
        starts = content[: len(begin)], content[whole : whole + len(begin)]
    return whole if all(begin.startswith(start) for start in starts) else None


def _delivered(resume: str, name: str) -> _Delivered:
    """Look up a subscriber, without creating a missing file."""
    if not os.path.exists(resume):
        return _Delivered()
    journal = JournalFile(resume, name)
    with journal.explained(), closing(journal.connect("rw")) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'subscriber'").fetchone():
            return _Delivered()
        found = connection.execute(
            "SELECT written, acknowledged FROM subscriber WHERE name = ?", (name,)
        ).fetchone()
        return _Delivered(*found) if found else _Delivered()
