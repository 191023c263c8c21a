"""Change events of Debezium, as JSON Lines: https://debezium.io/documentation/reference/connectors/ .

Each line is an event: the envelope (`op`, `before`, `after`, `source`) alone, or the envelope as `payload`
beside its `schema`. Either form may be within a Kafka record, `{"key": …, "value": …}` or as `kcat -J` writes
it, where the event may also be text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from rdflive.feeds.formats import Decoded, FeedFormat, Frame, meaningful
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
    """Decodes change events by a `mapping`; the events between a transaction's BEGIN and END are a unit.

    Any other event is a unit of its own. A row that is created or read again replaces the row with its key.
    An update of an unknown row creates it; a delete of an unknown row has no effect. The decoder keeps rows,
    so `before` needs only the key, and a large unchanged value that an update left out keeps its old value.
    Tables without a mapping are skipped with a warning. Tombstones, heartbeats, schema changes, logical
    messages, and records whose Kafka position shows that they were applied, are skipped without a warning.
    """

    def __init__(self, mapping: RowMapping) -> None:
        self.mapping = mapping
        self._rows = HeldRows(mapping, DEBEZIUM.name)
        self._gaps = MappingGaps(DEBEZIUM.name, mapping)
        self._offsets: dict[str, int] = {}
        self._pending: dict[str, str | None] = {}
        self._had_unnumbered = self._may_repeat = False

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the rows, and the position reached in each partition."""
        self._rows.restore(kept)
        self._offsets = {
            name.removeprefix(_OFFSET): int(text) for name, text in kept.items() if name.startswith(_OFFSET)
        }
        self._had_unnumbered = _UNNUMBERED in kept

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Yield transactions, and each event outside of transactions."""
        frame: list[Line] = []
        for line in meaningful(self._watch_start(lines)):
            boundary = _boundary(line)
            if boundary is Kind.BEGIN and frame:
                yield tuple(frame)
                frame = []
            # outside of a transaction each event is a unit; so is an END without its BEGIN
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
        """Decode an event, or the events of a transaction."""
        edit = RowEdit(self._rows)
        offsets: dict[str, int] = {}
        records: list[DebeziumRecord] = []
        is_unnumbered = self._had_unnumbered
        for line in frame:
            with at_line(line):
                record = read_record(line)
                records.append(record)
                if record.is_numbered:
                    # it was applied: earlier in this unit, or by an earlier reading
                    if record.offset <= offsets.get(record.partition, self._offset(record)):
                        continue
                    offsets[record.partition] = record.offset
                if record.kind is Kind.CHANGE and self._apply(record, edit):
                    is_unnumbered |= not record.is_numbered
        with at_line(frame[-1]):
            self._check_transaction(records, frame, is_new=bool(offsets) or not records[-1].is_numbered)
        # nothing is refused after this line, so the decoder's state may change
        decoded = edit.finish()
        self._remember(offsets, is_unnumbered=is_unnumbered)
        if decoded is None:
            return None
        # also offsets of events without effect: read again after later events, they could have one
        kept, self._pending = {**decoded.kept, **self._pending}, {}
        return decoded._replace(kept=kept)

    def _remember(self, offsets: Mapping[str, int], *, is_unnumbered: bool) -> None:
        self._offsets.update(offsets)
        self._pending.update((_OFFSET + name, str(offset)) for name, offset in offsets.items())
        if is_unnumbered and not self._had_unnumbered:
            self._had_unnumbered = True
            self._pending[_UNNUMBERED] = "1"

    def _watch_start(self, lines: Iterator[Line]) -> Iterator[Line]:
        """Pass the lines on; a feed that begins again may repeat an earlier reading."""
        for line in lines:
            if line.number == 1:
                # lines after a cursor never repeat; lines from line 1 may
                self._may_repeat = self._had_unnumbered
            yield line

    def _offset(self, record: DebeziumRecord) -> int:
        return self._offsets.get(record.partition, -1)

    def _apply(self, record: DebeziumRecord, edit: RowEdit) -> bool:
        """Apply an event to the rows; return False if its table is not mapped."""
        event = read_event(record, self.mapping, self._gaps)
        if event is None:
            return False
        if self._may_repeat and not record.is_numbered:
            raise RowError(
                "the feed is read again from its start, and without Kafka's 'partition' and 'offset' "
                "rdflive cannot detect whether this event was applied before; mirror into an empty graph "
                "under another name"
            )
        event.apply(edit)
        return True

    def _check_transaction(self, records: list[DebeziumRecord], frame: Frame, *, is_new: bool) -> None:
        """Refuse an incomplete transaction."""
        first, last = records[0].kind, records[-1].kind
        if first is Kind.BEGIN and last is not Kind.END:
            begun = f"the transaction of line {frame[0].number}"
            raise RowError(f"no END follows the BEGIN of {begun}, so it is not applied")
        if last is Kind.END and is_new:
            if first is not Kind.BEGIN:
                raise RowError("END without a BEGIN: the feed begins within a transaction")
            self._check_counts(records)

    def _check_counts(self, records: list[DebeziumRecord]) -> None:
        """Refuse a transaction with fewer events of mapped tables than END counts."""
        event = records[-1].event
        changes = [record for record in records if record.kind is Kind.CHANGE and record.event["op"] != "r"]
        # END may omit the database: `public.trains` for `rail.public.trains`
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
    """Return the format of Debezium's events for the tables of a mapping.

    >>> debezium({"customers": {"subject": "http://e/{id}", "class": "http://e/Customer"}}).name
    'debezium'
    """
    read = read_mapping(mapping)
    return FeedFormat(DEBEZIUM.name, DEBEZIUM.endings, lambda: DebeziumDecoder(read), replayable=True)


def _boundary(line: Line) -> Kind | None:
    """Return BEGIN or END for a line that may be one; most other lines are not parsed."""
    if "status" in line.text and ("BEGIN" in line.text or "END" in line.text):
        with suppress(RowError):  # `decode` raises it
            return read_record(line).kind
    return None


def read_event(record: DebeziumRecord, mapping: RowMapping, gaps: Gaps) -> RowEvent | None:
    """Return the effect of a change on the rows of its table; None if the table is not mapped.

    `gaps` receives the differences between the event and the mapping. Raises `RowError`.
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
    """Return the event that puts a row, with the key of the row that it replaces."""
    key = _key(table, after, "'after' of the event")
    old = None
    if record.event["op"] == "u":
        before = optional(record.event, "before", dict, "the event")
        if before is not None and _has_key(table, before):
            old = _key(table, before, "'before' of the event")
        elif isinstance(table.shape, QuadColumns) and not table.is_key_declared:
            raise RowError(
                "the update does not identify the previous row; name the primary key as 'key' in the "
                "mapping, or configure the database to log full rows (such as REPLICA IDENTITY FULL)"
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
    # in column order, as rows are kept
    return {column: row.get(column) for column in table.columns if column in row or column in left_out}


def _deleted_key(record: DebeziumRecord, table: TableMapping) -> str:
    """Return the key of a deleted row, from the event or else from the Kafka key."""
    before = optional(record.event, "before", dict, "the event")
    if before is not None and _has_key(table, before):
        return _key(table, before, "'before' of the event")
    key = read_value(Line(record.key, 1)) if isinstance(record.key, str) else record.key
    key, _ = unwrap(key)
    if not isinstance(key, Mapping):
        raise RowError(
            f"the delete identifies no row: 'before' of the event must hold {', '.join(table.key)}, not all "
            "NULL; 'key' in the mapping must name the columns of the primary key"
        )
    return _key(table, key, "the key of the record")


def _has_key(table: TableMapping, values: Mapping[str, Any]) -> bool:
    """True if `values` identifies a row; without a full image, columns outside the primary key are null."""
    return all(column in values for column in table.key) and any(
        values[column] is not None for column in table.key
    )


def _key(table: TableMapping, values: Mapping[str, Any], where: str) -> str:
    missing = [column for column in table.key if column not in values]
    if missing:
        raise RowError(f"{where} lacks the key column {missing[0]!r}; it has: {', '.join(values)[:200]}")
    # numbers with a fraction are Decimal, which `json` cannot serialize
    return json.dumps([values[column] for column in table.key], default=str, sort_keys=True)


def _compare(declared: int | None, found: int, what: str) -> None:
    # surplus events are repetitions, which a restarted connector sends; they have no effect
    if declared is not None and found < declared:
        raise RowError(
            f"END counts {declared} events of {what}, but {found} are between BEGIN and END; the feed must "
            "hold all events of its tables, in database order"
        )


DEBEZIUM: Final = FeedFormat("debezium", (), needs_mapping("debezium", "debezium"), replayable=True)
"""Debezium's events without a mapping; its decoder asks for one."""
