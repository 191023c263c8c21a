"""The driver of every decoder: lines in, entries with a cursor out; bad records are refused or skipped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from rdflive.errors import FeedError, RdfliveError
from rdflive.feeds.decoder import Decoded, Decoder, Frame
from rdflive.feeds.formats import FeedFormat
from rdflive.feeds.lines import Line
from rdflive.feeds.terms import RowError
from rdflive.model import Batch

__all__ = ["Entry", "decode", "read_cursor", "read_entries", "write_cursor"]

_FORM: Final = 2
_CURSOR: Final = re.compile(rf"(?:{_FORM}:)?(\d+):(\d+):([0-9a-f]{{8}})")
_OTHER: Final = re.compile(r"(\d+):\d+:\d+:.+")


def write_cursor(last: Line) -> str:
    """Write the cursor behind a line: `form:byte:line:check`, the check being that of all bytes before.

    >>> write_cursor(Line("", 3, end=120, check=0xBADCAFE))
    '2:120:3:0badcafe'
    """
    return f"{_FORM}:{last.end}:{last.number}:{last.check:08x}"


def read_cursor(cursor: str) -> Line:
    """Read a cursor as the line that it stands behind, also one of form 1, which did not say its form.

    Raises `RdfliveError` for any other text.

    >>> read_cursor("120:3:0badcafe").end
    120
    """
    match = _CURSOR.fullmatch(cursor)
    if match is not None:
        return Line("", int(match[2]), end=int(match[1]), check=int(match[3], 16))
    # looks like one of a later version, for which the advice is another
    other = _OTHER.fullmatch(cursor)
    if other is not None:
        raise RdfliveError(
            f"{cursor!r} is a cursor of form {other[1]}, and this rdflive knows {_FORM} and before: use the "
            'version that made it, or begin anew with cursor="" and an empty graph, or with a snapshot'
        )
    raise RdfliveError(
        f"{cursor!r} is no cursor of a file: it would be form:byte:line:check, as mirror gives it"
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """One atomic step of a feed, or the bad record that stands in its place."""

    batch: Batch
    """Its changes, numbered from 1 in this reading."""
    cursor: str
    """Where to go on behind it: opaque to all but the feed that made it."""
    updates: tuple[str, ...] = ()
    """SPARQL update requests, which come before the changes."""
    kept: Mapping[str, str | None] = field(default_factory=dict)
    """What the feed must be told again, beside the cursor; None forgets a key."""
    frame: Frame = ()
    """The lines it comes from, where it comes from lines."""
    error: FeedError | None = None
    """What is wrong with those lines: whoever reads on skips them, and the batch is empty."""


def read_entries(
    form: FeedFormat, lines: Iterable[Line], source: str, *, kept: Mapping[str, str] | None = None
) -> Iterator[Entry]:
    """Decode lines of a format, each entry as soon as its last line is there.

    A bad record is an entry with an `error`. What cannot be read at all raises `FeedError`. The cursor of
    an entry is that of a file, behind its last line.
    """
    decoder = form.decoder()
    decoder.restore(kept or {})
    sequence = 0
    for frame in decoder.split(iter(lines)):
        # of a bad record too: who skips it goes on behind it
        cursor = write_cursor(frame[-1])
        try:
            decoded = _decode(decoder, frame)
        except RowError as error:
            failure = _place(error, frame, source)
            # it is given and not raised, so no `from` can set it
            failure.__cause__ = error
            yield Entry(Batch((), sequence), cursor, frame=frame, error=failure)
            continue
        if decoded is not None:
            sequence += 1
            batch = Batch(decoded.changes, sequence)
            yield Entry(batch, cursor, decoded.updates, decoded.kept, frame)


def decode(form: FeedFormat, lines: Iterable[str | Line], source: str = "<lines>") -> Iterator[Batch]:
    """Decode lines of text to batches, up to the first bad one; SPARQL updates cannot be shown so.

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
    # an error without a line is one of a frame of a single line
    line = next((line for line in frame if line.number == error.line), frame[0])
    return FeedError(source, line.number, str(error), offset=line.start)
