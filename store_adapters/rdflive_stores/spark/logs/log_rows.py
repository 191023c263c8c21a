"""From the bytes of a log to change rows, one piece at a time and mostly without Python objects.

One regular expression, which Arrow runs over all lines at once, splits rows in the form that most writers
use. It accepts only canonical terms. The feed's own decoder reads every other line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rdflive.feeds import Decoder, FeedFormat, Line, RowError, UnwritableError, meaningful, to_lines
from rdflive.feeds.nquads import NQUADS
from rdflive.feeds.rdf_patch import RDF_PATCH
from rdflive.feeds.terms import write_term
from rdflive_stores.spark.logs.scan import LINE_END, Piece

__all__ = ["LOG_FORMATS", "ROWS", "BadLineError", "LogFormat", "read_rows"]

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

ROWS: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("op", "s", "p", "o", "g", "file")),
        ("offset", pa.int64()),
        ("part", pa.int32()),
    ]
)
"""The columns of `change_rows.POSITIONED`, in Arrow."""

_IRI: Final = r'<[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>"{}|^`\\]*>'
_BLANK: Final = r"_:[A-Za-z0-9_][A-Za-z0-9_:\-]*(?:\.+[A-Za-z0-9_:\-]+)*"
_LITERAL: Final = rf'"(?:[^"\\\r\n]|\\[\\"nr])*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^{_IRI})?'
# At most four groups and no ambiguity: RE2 then needs one pass and is three times as fast.
_PLAIN_ROW: Final = (
    rf"[ \t]+(?P<s>{_IRI}|{_BLANK})[ \t]+(?P<p>{_IRI})[ \t]+(?P<o>{_IRI}|{_BLANK}|{_LITERAL})"
    rf"[ \t]+(?:(?P<g>{_IRI}|{_BLANK})[ \t]+)?\.[ \t]*\r?\n?$"
)
_MARK: Final = re.compile(r"[ \t]*(T[XCA])(?![A-Z])")


@dataclass(frozen=True, slots=True)
class LogFormat:
    """The properties of a log format that matter for reading it in pieces."""

    feed: FeedFormat
    transactions: bool
    signs: str
    """The beginnings of an insert and of a delete."""

    @property
    def plain_row(self) -> str:
        """The regular expression of a canonical row."""
        return f"^[{re.escape(self.signs)}]{_PLAIN_ROW}"


LOG_FORMATS: Final = {
    "rdf-patch": LogFormat(RDF_PATCH, transactions=True, signs="AD"),
    "nquads": LogFormat(NQUADS, transactions=False, signs="+-"),
}
"""The formats that can be read in pieces, by name."""


class BadLineError(RowError):
    """The line that begins at byte `offset` of a log is malformed."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.offset = offset


def read_rows(content: bytes, piece: Piece, file: str, form: LogFormat) -> pa.RecordBatch:
    """Return the change rows of a piece, with their places; raise `BadLineError` for a malformed line.

    >>> content = b'A <urn:s> <urn:p> "o" .\\nD _:b <urn:p> <urn:o> <urn:g> .\\n'
    >>> rows = read_rows(content, Piece(0, len(content)), "log.rdfp", LOG_FORMATS["rdf-patch"])
    >>> rows.to_pylist()[1]["g"], rows["offset"].to_pylist()
    ('<urn:g>', [0, 24])
    """
    lines = _Lines(content, piece)
    fields = pc.extract_regex(lines.texts, form.plain_row)
    plain = np.asarray(fields.is_valid())
    others = _read_others(lines, np.flatnonzero(~plain), form)
    offset, part, applied = _places(lines, others.marks)
    keep = plain & applied
    kept = fields if keep.all() else fields.filter(pa.array(keep))
    columns = [lines.signs(keep, form.signs), *(kept.field(name) for name in ("s", "p", "o", "g"))]
    # an absent group of the expression is an empty text; the default graph is NULL
    columns[4] = pc.if_else(pc.equal(columns[4], ""), pa.scalar(None, pa.string()), columns[4])
    at = np.flatnonzero(keep)
    odd = [(i, change) for i, change in others.changes if applied[i]]
    if odd:
        at = np.concatenate([at, [i for i, _ in odd]])
        order = np.argsort(at)
        at = at[order]
        columns = [
            pa.concat_arrays([column, pa.array(more, pa.string())]).take(pa.array(order))
            for column, more in zip(columns, zip(*(change for _, change in odd), strict=True), strict=True)
        ]
    places = [pa.repeat(file, len(at)), pa.array(offset[at], pa.int64()), pa.array(part[at], pa.int32())]
    return pa.RecordBatch.from_arrays([*columns, *places], schema=ROWS)


class _Lines:
    """The lines of a piece, without copying them."""

    def __init__(self, content: bytes, piece: Piece) -> None:
        self.piece = piece
        bytes_ = np.frombuffer(content, np.uint8)
        if b"\r" in content:
            ends = np.fromiter((match.end() for match in LINE_END.finditer(content)), np.int64)
        else:
            ends = np.flatnonzero(bytes_ == 10) + 1
        if content and (not len(ends) or ends[-1] < len(content)):
            ends = np.append(ends, len(content))
        self._bytes = bytes_
        self._starts: Numbers = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
        _check_text(content, self)
        bounds = np.concatenate([[0], ends]).astype(np.int32)
        self.texts = pa.StringArray.from_buffers(len(ends), pa.py_buffer(bounds), pa.py_buffer(content))
        """Each text includes its line end."""

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def offsets(self) -> Numbers:
        """The position of each line in the log, in bytes."""
        return self._starts + self.piece.start

    def signs(self, keep: Any, signs: str) -> Any:
        """Return the operation of each kept line, by its first byte."""
        deletes = self._bytes[self._starts[keep]] == ord(signs[1])
        return pa.array(["A", "D"]).take(pa.array(deletes.astype(np.int8)))

    def some(self, which: Numbers) -> Iterable[Line]:
        """Yield lines in the form for decoders."""
        for i, text in zip(which.tolist(), self.texts.take(pa.array(which)).to_pylist(), strict=True):
            start = int(self._starts[i]) + self.piece.start
            if start == 0:
                # a byte order mark is not part of the first line
                text = text.removeprefix("\ufeff")
            yield Line(text.removesuffix("\n").removesuffix("\r"), i, start)

    def line_at(self, byte: int) -> tuple[int, int]:
        """Return the begin and the end of the line with a byte of the piece."""
        i = int(np.searchsorted(self._starts, byte, side="right")) - 1
        return int(self._starts[i]), int(self._starts[i + 1]) if i + 1 < len(self) else len(self._bytes)


def _check_text(content: bytes, lines: _Lines) -> None:
    """Raise `BadLineError` for text that is not UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        start, end = lines.line_at(error.start)
        offset = lines.piece.start + start
        line = next(iter(to_lines([content[start:end]], "", number=0 if offset == 0 else 1)))
        raise BadLineError(line.fault, offset) from error


class _Others(NamedTuple):
    """The meaning of lines that are not plain rows, each with its number in the piece."""

    changes: list[tuple[int, tuple[str | None, ...]]]
    marks: list[tuple[int, str]]
    """Lines TX, TC and TA."""


def _read_others(lines: _Lines, which: Numbers, form: LogFormat) -> _Others:
    decoder = form.feed.decoder()
    others = _Others([], [])
    is_open = lines.piece.begun is not None
    for line in meaningful(lines.some(which)):
        try:
            mark = _MARK.match(line.text) if form.transactions else None
            if mark is None:
                change = _read_change(decoder, line)
                if change is not None:
                    others.changes.append((line.number, change))
                continue
            if mark[1] != "TX" and not is_open:
                decoder.decode((line,))  # raises
            is_open = mark[1] == "TX"
            others.marks.append((line.number, _checked_mark(mark[1], line.text)))
        except (RowError, UnwritableError) as error:
            raise BadLineError(str(error), line.start) from error
    return others


def _read_change(decoder: Decoder, line: Line) -> tuple[str | None, ...] | None:
    """Read a line of one change; None for a header or a prefix."""
    decoded = decoder.decode((line,))
    if decoded is None:
        return None
    (change,) = decoded.changes
    terms = (None if term is None else write_term(term) for term in change.quad)
    return ("A" if change.sign > 0 else "D", *terms)


@lru_cache(maxsize=64)
def _checked_mark(kind: str, text: str) -> str:
    """Return the kind of a line that begins or ends a transaction; raise if it has other content."""
    line = Line(text, 1)
    # with its other half, because the decoder takes complete transactions
    RDF_PATCH.decoder().decode((line, Line("TA .", 2)) if kind == "TX" else (Line("TX .", 1), line))
    return kind


def _places(lines: _Lines, marks: list[tuple[int, str]]) -> tuple[Numbers, Numbers, Any]:
    """Return, per line, its unit, its position there, and True if the unit is applied."""
    count, piece = np.arange(len(lines)), lines.piece
    offsets = lines.offsets
    aborted = set(piece.aborted)
    # from each mark on: the transaction, or -1, and the line before its first row
    begun, before = [-1 if piece.begun is None else piece.begun], [-1 - piece.part]
    for i, kind in marks:
        if kind == "TA":
            aborted.add(begun[-1])
        begun.append(int(offsets[i]) if kind == "TX" else -1)
        before.append(i)
    stretch = np.searchsorted([i for i, _ in marks], count, side="right") if marks else np.zeros_like(count)
    unit = np.asarray(begun)[stretch]
    inside = unit >= 0
    part = np.where(inside, count - np.asarray(before)[stretch] - 1, 0)
    applied = ~np.isin(unit, list(aborted)) if aborted else np.ones(len(lines), bool)
    return np.where(inside, unit, offsets), part, applied
