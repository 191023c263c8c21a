"""The driver of all decoders: lines become entries with cursors; bad records are marked or put aside."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from rdflive.errors import FeedError, RdfliveError, ValidationError
from rdflive.feeds.formats import Decoded, Decoder, FeedFormat, Frame
from rdflive.feeds.lines import Line
from rdflive.feeds.terms import RowError
from rdflive.model import Batch, to_ntriples

__all__ = ["DeadLetters", "Entry", "decode", "read_cursor", "read_entries", "write_cursor"]

_FORM: Final = 2
_CURSOR: Final = re.compile(rf"{_FORM}:(\d+):(\d+):([0-9a-f]{{8}})")
_OTHER: Final = re.compile(r"(\d+):\d+:\d+:.+")


def write_cursor(last: Line) -> str:
    """Return the cursor after a line: `form:byte:line:check`, with the checksum of all bytes before it.

    >>> write_cursor(Line("", 3, end=120, check=0xBADCAFE))
    '2:120:3:0badcafe'
    """
    return f"{_FORM}:{last.end}:{last.number}:{last.check:08x}"


def read_cursor(cursor: str) -> Line:
    """Return the line that a cursor follows.

    Raises `RdfliveError` for any other text.

    >>> read_cursor("2:120:3:0badcafe").end
    120
    """
    match = _CURSOR.fullmatch(cursor)
    if match is not None:
        return Line("", int(match[2]), end=int(match[1]), check=int(match[3], 16))
    # a cursor of a later version needs another remedy
    other = _OTHER.fullmatch(cursor)
    if other is not None:
        raise RdfliveError(
            f"{cursor!r} is a cursor of form {other[1]}, but this rdflive reads form {_FORM}: use the "
            'version that made it, or start again with cursor="" and an empty graph, or with a snapshot'
        )
    raise RdfliveError(
        f"{cursor!r} is not a cursor of a file; such a cursor is form:byte:line:check, as mirror returns it"
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """One atomic step of a feed, or a bad record."""

    batch: Batch
    """The changes; batches are numbered from 1 in each reading."""
    cursor: str
    """The position after the entry; only the feed that made it interprets it."""
    updates: tuple[str, ...] = ()
    """SPARQL update requests, applied before the changes."""
    kept: Mapping[str, str | None] = field(default_factory=dict)
    """Feed state to restore together with the cursor; None removes a key."""
    frame: Frame = ()
    """The lines of the entry, if the feed consists of lines."""
    error: FeedError | None = None
    """The fault of a bad record, whose batch is empty; a caller that reads on skips it."""


def read_entries(
    form: FeedFormat, lines: Iterable[Line], source: str, *, kept: Mapping[str, str] | None = None
) -> Iterator[Entry]:
    """Decode lines of a format; yield each entry when its last line arrives.

    A bad record is an entry with an `error`; an unreadable stream raises `FeedError`. Each cursor is that of
    a file, after the entry's last line.
    """
    decoder = form.decoder()
    decoder.restore(kept or {})
    sequence = 0
    for frame in decoder.split(iter(lines)):
        # also set for a bad record: a caller that skips it resumes after it
        cursor = write_cursor(frame[-1])
        try:
            decoded = _decode(decoder, frame)
        except RowError as error:
            failure = _place(error, frame, source)
            # yielded instead of raised, so no `from` sets the cause
            failure.__cause__ = error
            yield Entry(Batch((), sequence), cursor, frame=frame, error=failure)
            continue
        if decoded is not None:
            sequence += 1
            batch = Batch(decoded.changes, sequence)
            yield Entry(batch, cursor, decoded.updates, decoded.kept, frame)


def decode(form: FeedFormat, lines: Iterable[str | Line], source: str = "<lines>") -> Iterator[Batch]:
    """Decode lines of text to batches; the first bad record raises `FeedError`. SPARQL updates are left out.

    >>> from rdflive.feeds import feed_format
    >>> [batch.changes[0].sign for batch in decode(feed_format("nquads"), ["- _:a <urn:p> _:b ."])]
    [-1]
    """
    numbered = (
        line if isinstance(line, Line) else Line(line, number) for number, line in enumerate(lines, start=1)
    )
    for entry in read_entries(form, numbered, source):
        if entry.error is not None:
            raise entry.error
        yield entry.batch


def _decode(decoder: Decoder, frame: Frame) -> Decoded | None:
    for line in frame:
        if line.fault:
            raise RowError(line.fault, line.number)
    return decoder.decode(frame)


def _place(error: RowError, frame: Frame, source: str) -> FeedError:
    # an error without a line number comes from a frame of one line
    line = next((line for line in frame if line.number == error.line), frame[0])
    return FeedError(source, line.number, str(error), offset=line.start)


class DeadLetters:
    """Appends the unit of a bad record to a file, after a comment with the error.

    If a guard refuses the unit, one comment per violation follows, with terms in N-Triples syntax.
    Once its units are corrected by hand, the file is a feed of the same format. A line that is not UTF-8
    appears only in the comment. The unit is written before the mirror continues, so a crash in between can
    write it twice.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.count = 0
        """Number of appended units."""
        with open(self.path, "a", encoding="utf-8"):
            pass  # an unwritable path fails before the first bad record

    def __call__(self, error: FeedError, frame: Frame) -> None:
        """Append one unit."""
        reason = " ".join(str(error).split())
        cause = error.__cause__
        results = cause.results if isinstance(cause, ValidationError) else ()
        shown = map(_show, filter(None, results))  # an ASK has a row without terms
        # not the line ends of the system: once corrected, the file is read as a feed
        with open(self.path, "a", encoding="utf-8", newline="\n") as stream:
            stream.write("\n".join([f"# {reason}", *shown, *(line.text for line in frame), ""]))
            stream.flush()
            with suppress(OSError):  # /dev/null and pipes cannot be synced
                os.fsync(stream.fileno())
        self.count += 1


def _show(result: Any) -> str:
    """Return a SHACL result, or a row of a guard's query, as one line."""
    terms = result.asdict().items()
    return "#   " + ", ".join(f"{name} {to_ntriples(term)}" for name, term in terms if term is not None)
