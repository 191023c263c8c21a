"""The executors' part of a mirror for feeds of quads: from text to change rows.

A decoded row is a change, or a note for the driver with a fault or with other information of a row.
`POSITION` is the order of the changes.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema
from rdflib.term import BNode

from rdflive.feeds import FeedFormat, Frame, RowError, UnwritableError, read_entries, to_lines
from rdflive.feeds.neptune import read_line, records_of
from rdflive.feeds.terms import RdflibTerm, write_term
from rdflive.model import Change
from rdflive_stores.spark.dataflow.packing import spare_collections
from rdflive_stores.spark.logs.log_rows import LOG_FORMATS, LogFormat

__all__ = [
    "DECODED",
    "POSITION",
    "DecodingFault",
    "RecordPlace",
    "decode_neptune",
    "decode_texts",
    "places",
    "to_bytes",
]

POSITION: Final = ("stream", "offset", "part", "seq", "step")
"""The position of a change: its stream, offset and part there, its row of the DataFrame, its step there."""
_SCHEMA: Final = pa.schema(
    [(name, pa.string()) for name in ("op", "s", "p", "o", "g", "stream")]
    + [(name, pa.int64()) for name in POSITION[1:]]
    + [("note", pa.string())]
)
DECODED: Final = from_arrow_schema(_SCHEMA)
"""The columns of decoded rows."""

_TERMS: Final = 1 << 16
_OPENED: Final = re.compile(r"[ \t]*TX\b")
_CLOSED: Final = re.compile(r"[ \t]*T[CA]\b")
_WHOLE: Final = (
    '; each row must hold whole transactions, as spark.readStream.format("rdf_patch") reads them from a log'
)


class RecordPlace(NamedTuple):
    """The position of a row in its source."""

    stream: str = ""
    offset: int = 0
    part: int = 0
    seq: int = 0


class DecodingFault(NamedTuple):
    """A fault in a unit of a row; nothing of the unit is applied."""

    line: int
    """The line in the row, from 1."""
    reason: str
    text: str
    """The text of the unit."""

    def to_note(self) -> str:
        """Return the note for the driver."""
        return json.dumps({"fault": self})


def decode_texts(batches: Iterable[pa.RecordBatch], *, form: FeedFormat) -> Iterator[pa.RecordBatch]:
    """Decode the column `value` of rows that hold complete units of a format: lines or transactions."""
    spare_collections()
    writer = _RowWriter()
    log = LOG_FORMATS.get(form.name)
    # a user's own format may have the same name
    plain = log if log is not None and log.feed == form else None
    for batch in batches:
        rest = batch
        if plain is not None:
            found, rest = _decode_plain(batch, plain)
            yield found
        rows = _Rows(writer)
        for value, place in zip(rest.column("value").to_pylist(), places(rest), strict=True):
            if value is not None:
                _decode_text(to_bytes(value), form, place, rows)
        yield rows.to_arrow()


def decode_neptune(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decode the column `value` of rows that hold stream records of Neptune, or whole responses.

    Changes are ordered by the numbers of their commit and operation. A note lists the received operations of
    each commit, and its last one if it is among them.
    """
    spare_collections()
    writer = _RowWriter()
    for batch in batches:
        rows = _Rows(writer)
        commits: dict[int, tuple[list[int], list[int]]] = {}
        for value, place in zip(batch.column("value").to_pylist(), places(batch), strict=True):
            for line in to_lines(io.BytesIO(to_bytes(value or "")), "row"):
                for record in records_of(line) if line.text.strip() or line.fault else ():
                    try:
                        if line.fault:
                            raise RowError(line.fault)
                        event, change = read_line(record)
                        rows.add(change, RecordPlace("", event.commit, event.operation, place.seq), 0)
                    except RowError as error:
                        rows.note(place, DecodingFault(line.number, str(error), record.text).to_note())
                        continue
                    operations, ends = commits.setdefault(event.commit, ([], []))
                    operations.append(event.operation)
                    ends += [event.operation] if event.is_last else []
        if commits:
            rows.note(
                RecordPlace(),
                json.dumps({"commits": [(commit, *found) for commit, found in commits.items()]}),
            )
        yield rows.to_arrow()


def places(batch: pa.RecordBatch) -> Iterator[RecordPlace]:
    """Return the position of each row."""
    columns = (batch.column(name).to_pylist() for name in RecordPlace._fields)
    return map(RecordPlace, *columns)


def to_bytes(value: Any) -> bytes:
    """Return text in UTF-8, and bytes unchanged."""
    return value.encode() if isinstance(value, str) else bytes(value)


class _RowWriter:
    """Writes terms as N-Triples, and caches the last ones."""

    def __init__(self) -> None:
        self._texts: dict[RdflibTerm, str] = {}

    def __call__(self, term: RdflibTerm) -> str:
        if isinstance(term, BNode):
            return f"_:{term}"  # as it was read: N-Triples has labels that `write_term` does not write
        text = self._texts.get(term)
        if text is None:
            try:
                text = write_term(term)
            except UnwritableError as error:
                raise RowError(str(error)) from error
            if len(self._texts) >= _TERMS:
                self._texts.clear()
            self._texts[term] = text
        return text


class _Rows:
    """Collects the decoded rows of a record batch."""

    def __init__(self, writer: _RowWriter) -> None:
        self._write = writer
        self._columns: Mapping[str, list[Any]] = {name: [] for name in _SCHEMA.names}
        self._appends = [column.append for column in self._columns.values()]

    def add(self, change: Change, place: RecordPlace, step: int) -> None:
        """Add a change; raise `RowError` for a term that cannot be written."""
        write = self._write
        s, p, o, g = change.quad
        texts = write(s), write(p), write(o), None if g is None else write(g)
        self._append("A" if change.sign > 0 else "D", *texts, *place, step, None)

    def note(self, place: RecordPlace, note: str) -> None:
        """Add a note."""
        self._append(None, None, None, None, None, *place, 0, note)

    def to_arrow(self) -> pa.RecordBatch:
        """Return the rows."""
        return pa.RecordBatch.from_pydict(dict(self._columns), _SCHEMA)

    def _append(self, *values: Any) -> None:
        for append, value in zip(self._appends, values, strict=True):
            append(value)


def _decode_plain(batch: pa.RecordBatch, form: LogFormat) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Decode the rows that are one canonical line each; return these, and the other rows undecoded."""
    value = batch.column("value")
    try:
        texts = value.cast(pa.string())
    except pa.ArrowInvalid:  # some are not UTF-8
        return pa.RecordBatch.from_pylist([], _SCHEMA), batch
    fields = pc.extract_regex(texts, form.plain_row)
    is_plain = fields.is_valid()
    kept, fields = batch.filter(is_plain), fields.filter(is_plain)
    signs = pc.utf8_slice_codeunits(texts.filter(is_plain), 0, 1)
    graph = pc.replace_with_mask(
        fields.field("g"), pc.equal(fields.field("g"), ""), pa.scalar(None, pa.string())
    )
    columns = [
        pc.if_else(pc.equal(signs, form.signs[0]), "A", "D"),
        *(fields.field(name) for name in ("s", "p", "o")),
        graph,
        *(kept.column(name) for name in RecordPlace._fields),
        pa.repeat(pa.scalar(0, pa.int64()), len(kept)),
        pa.nulls(len(kept), pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA), batch.filter(pc.invert(is_plain))


def _decode_text(value: bytes, form: FeedFormat, place: RecordPlace, rows: _Rows) -> None:
    step = 0
    for entry in read_entries(form, to_lines(io.BytesIO(value), "row"), "row"):
        reason = "" if entry.error is None else f"{entry.error.reason}{_advice(form, entry.frame)}"
        if entry.updates:
            reason = f"the format {form.name!r} has updates, which only a graph can evaluate"
        if reason:
            line = entry.frame[0].number if entry.error is None else entry.error.line
            text = "\n".join(line.text for line in entry.frame)
            rows.note(place, DecodingFault(line, reason, text).to_note())
        else:
            for change in entry.batch.changes:
                rows.add(change, place, step)
                step += 1


def _advice(form: FeedFormat, frame: Frame) -> str:
    """Return advice if a row cuts a transaction."""
    if form.name != "rdf-patch":
        return ""
    opened, closed = _OPENED.match(frame[0].text), _CLOSED.match(frame[-1].text)
    return _WHOLE if bool(opened) != bool(closed) else ""
