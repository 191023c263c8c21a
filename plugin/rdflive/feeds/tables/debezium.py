"""Change events of Debezium, as JSON Lines: https://debezium.io/documentation/reference/connectors/ .

Each line is an event: the envelope (`op`, `before`, `after`, `source`) alone, as the `payload` beside its
`schema`, or either of them in a record of Kafka, `{"key": …, "value": …}` or as `kcat -J` writes it, where
the event may be text too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from rdflive.feeds.decoder import Decoded, Frame, meaningful
from rdflive.feeds.formats import FeedFormat
from rdflive.feeds.json_lines import member, optional, read_value
from rdflive.feeds.lines import Line
from rdflive.feeds.tables.cells import Cell, to_row
from rdflive.feeds.tables.connect_schema import UNAVAILABLE, column_schemas, to_cell_by_schema
from rdflive.feeds.tables.debezium_records import DebeziumRecord, Kind, read_record, unwrap
from rdflive.feeds.tables.gaps import Gaps, MappingGaps
from rdflive.feeds.tables.held_rows import HeldRows, RowEdit, TableName, at_line, needs_mapping
from rdflive.feeds.tables.mapping import Mapped, RowMapping, TableMapping, read_mapping
from rdflive.feeds.tables.row_events import GivenRow, RowEvent
from rdflive.feeds.tables.templates import QuadColumns
from rdflive.feeds.terms import RowError

__all__ = ["DEBEZIUM", "DebeziumDecoder", "debezium", "read_event"]

_OFFSET: Final = "offset "
_UNNUMBERED: Final = "unnumbered"
_OPERATIONS: Final = ("c", "r", "u", "d", "t")


class DebeziumDecoder:
    """Decodes change events by a `mapping`; what a BEGIN and an END of a transaction enclose is a unit.

    Any other event is a unit of its own. A row that is created or read again takes the place of the one with
    its key; an update of an unknown row creates it, a delete of one does nothing. `before` need not hold more
    than the key, since rows are remembered; a value that an update left out because it is large and
    unchanged is the one from before. Tables without a mapping are passed over with a warning, tombstones,
    heartbeats, changes of the schema and logical messages without one. So is a record whose place in Kafka
    says that it was applied.
    """

    def __init__(self, mapping: RowMapping) -> None:
        self.mapping = mapping
        self._rows = HeldRows(mapping, DEBEZIUM.name)
        self._gaps = MappingGaps(DEBEZIUM.name, mapping)
        self._offsets: dict[str, int] = {}
        self._untold: dict[str, str | None] = {}
        self._had_unnumbered = self._may_repeat = False

    def restore(self, kept: Mapping[str, str]) -> None:
        """Take up the rows, and how far each partition was read."""
        self._rows.restore(kept)
        self._offsets = {
            name.removeprefix(_OFFSET): int(text) for name, text in kept.items() if name.startswith(_OFFSET)
        }
        self._had_unnumbered = _UNNUMBERED in kept

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Give transactions, and each event outside of any."""
        frame: list[Line] = []
        for line in meaningful(self._watch_start(lines)):
            boundary = _boundary(line)
            if boundary is Kind.BEGIN and frame:
                yield tuple(frame)
                frame = []
            # outside of a transaction an event is a unit by itself; so is an END that lacks its BEGIN
            if not frame and boundary is not Kind.BEGIN:
                yield (line,)
                continue
            frame.append(line)
            if boundary is Kind.END:
                yield tuple(frame)
                frame = []
        if frame:
            yield tuple(frame)

    def decode(self, frame: Frame) -> Decoded | None:
        """Read an event, or those of a transaction."""
        edit = RowEdit(self._rows)
        offsets: dict[str, int] = {}
        records: list[DebeziumRecord] = []
        is_unnumbered = self._had_unnumbered
        for line in frame:
            with at_line(line):
                record = read_record(line)
                records.append(record)
                if record.is_numbered:
                    # it was applied: further up in this unit, or by an earlier reading
                    if record.offset <= offsets.get(record.partition, self._offset(record)):
                        continue
                    offsets[record.partition] = record.offset
                if record.kind is Kind.CHANGE and self._apply(record, edit):
                    is_unnumbered |= not record.is_numbered
        with at_line(frame[-1]):
            self._check_transaction(records, frame, is_new=bool(offsets) or not records[-1].is_numbered)
        # from here on nothing is refused, so the decoder's own state may change
        decoded = edit.finish()
        self._remember(offsets, is_unnumbered=is_unnumbered)
        if decoded is None:
            return None
        # also those of events that changed nothing then: read again, behind later ones, they would
        kept, self._untold = {**decoded.kept, **self._untold}, {}
        return decoded._replace(kept=kept)

    def _remember(self, offsets: Mapping[str, int], *, is_unnumbered: bool) -> None:
        self._offsets.update(offsets)
        self._untold.update((_OFFSET + name, str(offset)) for name, offset in offsets.items())
        if is_unnumbered and not self._had_unnumbered:
            self._had_unnumbered = True
            self._untold[_UNNUMBERED] = "1"

    def _watch_start(self, lines: Iterator[Line]) -> Iterator[Line]:
        """Pass the lines on; when a feed begins again, they may be those of a former reading."""
        for line in lines:
            if line.number == 1:
                # behind a cursor nothing comes again; from line 1 on it may
                self._may_repeat = self._had_unnumbered
            yield line

    def _offset(self, record: DebeziumRecord) -> int:
        return self._offsets.get(record.partition, -1)

    def _apply(self, record: DebeziumRecord, edit: RowEdit) -> bool:
        """Edit the rows as an event says; False where its table is not mapped."""
        event = read_event(record, self.mapping, self._gaps)
        if event is None:
            return False
        if self._may_repeat and not record.is_numbered:
            raise RowError(
                "the feed is read anew from its beginning, and without 'partition' and 'offset' of Kafka "
                "nobody can tell whether this event was applied before; mirror into an empty graph under "
                "another name"
            )
        event.apply(edit)
        return True

    def _check_transaction(self, records: list[DebeziumRecord], frame: Frame, *, is_new: bool) -> None:
        """Refuse a transaction that is not whole."""
        first, last = records[0].kind, records[-1].kind
        if first is Kind.BEGIN and last is not Kind.END:
            begun = f"the transaction of line {frame[0].number}"
            raise RowError(f"no END comes behind the BEGIN of {begun}, so it is not applied")
        if last is Kind.END and is_new:
            if first is not Kind.BEGIN:
                raise RowError("END without a BEGIN: the feed begins inside of a transaction")
            self._check_counts(records)

    def _check_counts(self, records: list[DebeziumRecord]) -> None:
        """Refuse fewer events of the tables that are mapped than END tells."""
        event = records[-1].event
        changes = [record for record in records if record.kind is Kind.CHANGE and record.event["op"] != "r"]
        # END may leave the database out: `public.trains` for `rail.public.trains`
        found = Counter(".".join(_table_name(record)) for record in changes)
        collections = optional(event, "data_collections", list, "END")
        if collections is None:
            _compare(optional(event, "event_count", int, "END"), len(changes), "the transaction")
        for collection in collections or ():
            if not isinstance(collection, dict):
                raise RowError(f"'data_collections' of END must hold objects, not {collection!r:.40}")
            name = member(collection, "data_collection", str, "END")
            if self._rows.mapping.find(tuple(name.split("."))) is not None:
                count = sum(n for table, n in found.items() if f".{table}".endswith(f".{name}"))
                _compare(member(collection, "event_count", int, "END"), count, name)


def debezium(mapping: Mapped) -> FeedFormat:
    """Make the format of Debezium's events for the tables of a mapping.

    >>> debezium({"customers": {"subject": "http://e/{id}", "class": "http://e/Customer"}}).name
    'debezium'
    """
    read = read_mapping(mapping)
    return FeedFormat(DEBEZIUM.name, DEBEZIUM.endings, lambda: DebeziumDecoder(read), replayable=True)


def _boundary(line: Line) -> Kind | None:
    """Tell a line with the begin or the end of a transaction from others, most of them without reading it."""
    if "status" in line.text and ("BEGIN" in line.text or "END" in line.text):
        with suppress(RowError):  # decode says what is wrong
            return read_record(line).kind
    return None


def read_event(record: DebeziumRecord, mapping: RowMapping, gaps: Gaps) -> RowEvent | None:
    """Read what a change does to the rows of its table; None where that is not mapped.

    What the event and the mapping do not share goes to `gaps`. Raises `RowError`.
    """
    operation = member(record.event, "op", str, "the event")
    if operation not in _OPERATIONS:
        accepted = ", ".join(_OPERATIONS)
        raise RowError(f"'op' of the event must be one of {accepted}, or m, not {operation[:40]!r}")
    name = _table_name(record)
    table = mapping.find(name)
    if table is None:
        gaps.warn_of_table(name)
        return None
    if operation == "t":
        return RowEvent(name)
    if operation == "d":
        return RowEvent(name, _deleted_key(record, table))
    after = member(record.event, "after", dict, "the event")
    event = _read_put(record, table, name, after)
    gaps.warn_of_columns(name, (column for column in table.columns if column not in after), after)
    return event


def _table_name(record: DebeziumRecord) -> TableName:
    source = member(record.event, "source", dict, "the event")
    table = member(source, "table", str, "the event's source")
    parts = (optional(source, part, str, "the event's source") for part in ("db", "schema"))
    return (*(part for part in parts if part), table)


def _read_put(
    record: DebeziumRecord, table: TableMapping, name: TableName, after: Mapping[str, Any]
) -> RowEvent:
    """Read which row is put, and in the place of which."""
    key = _key(table, after, "'after' of the event")
    old = None
    if record.event["op"] == "u":
        before = optional(record.event, "before", dict, "the event")
        if before is not None and _has_key(table, before):
            old = _key(table, before, "'before' of the event")
        elif isinstance(table.shape, QuadColumns) and not table.is_key_declared:
            raise RowError(
                "the update does not tell the row from before; name the primary key as 'key' in the mapping, "
                "or have the database log whole rows (such as REPLICA IDENTITY FULL)"
            )
    return RowEvent(name, key, _read_row(record, table, after), None if old == key else old)


def _read_row(record: DebeziumRecord, table: TableMapping, after: Mapping[str, Any]) -> GivenRow:
    schemas = column_schemas(record.schema, "after")
    left_out = {column for column in table.columns if after.get(column) in UNAVAILABLE}

    def convert(column: str, value: Any) -> Cell:
        return to_cell_by_schema(value, schemas.get(column, {}))

    row = to_row(after, [column for column in table.columns if column not in left_out], convert)
    if not left_out:
        return row
    # in the order of the columns, in which a row is kept
    return {column: row.get(column) for column in table.columns if column in row or column in left_out}


def _deleted_key(record: DebeziumRecord, table: TableMapping) -> str:
    """Find the key of a deleted row: in the event, or else in the key that Kafka has."""
    before = optional(record.event, "before", dict, "the event")
    if before is not None and _has_key(table, before):
        return _key(table, before, "'before' of the event")
    key = read_value(Line(record.key, 1)) if isinstance(record.key, str) else record.key
    key, _ = unwrap(key)
    if not isinstance(key, Mapping):
        raise RowError(
            f"the delete names no row: 'before' of the event must hold {', '.join(table.key)}, and not NULL "
            "alone; 'key' in the mapping must name the columns of the primary key"
        )
    return _key(table, key, "the key of the record")


def _has_key(table: TableMapping, values: Mapping[str, Any]) -> bool:
    """Tell whether a row is named: without its whole image, all but its primary key is missing or null."""
    return all(column in values for column in table.key) and any(
        values[column] is not None for column in table.key
    )


def _key(table: TableMapping, values: Mapping[str, Any], where: str) -> str:
    missing = [column for column in table.key if column not in values]
    if missing:
        raise RowError(f"{where} lacks the key column {missing[0]!r}; it has: {', '.join(values)[:200]}")
    # numbers with a fraction are Decimal, which json cannot write
    return json.dumps([values[column] for column in table.key], default=str, sort_keys=True)


def _compare(told: int | None, found: int, what: str) -> None:
    # more of them are repetitions, as a connector sends when it is restarted, and repeat no change
    if told is not None and found < told:
        raise RowError(
            f"END tells {told} events of {what}, but {found} lie between BEGIN and END; the feed must hold "
            "all events of its tables, in the order of the database"
        )


DEBEZIUM: Final = FeedFormat("debezium", (), needs_mapping("debezium", "debezium"), replayable=True)
"""Debezium's events, without the mapping that they need."""
