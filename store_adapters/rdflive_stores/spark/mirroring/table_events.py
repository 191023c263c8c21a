"""The executors' part of a mirror for Debezium: events reduced to the needs of the mapping.

Events of one stream are ordered by their position in it, others by their own place in the database's log. Of
the events of one row, only the last complete one is kept, with incomplete ones after it, and those that
cannot be compared with it. An event that moves a row to another key is split. If it is incomplete too, a note
reports it, and the mirror decodes again without netting: the event takes the missing values from a row that
netting may have dropped.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from rdflive.feeds import Line, RowError, RowMapping
from rdflive.feeds.tables.debezium import read_event
from rdflive.feeds.tables.debezium_records import DebeziumRecord, Kind, read_record
from rdflive.feeds.tables.event_order import EventOrder, compare, read_order
from rdflive.feeds.tables.held_rows import TableName
from rdflive.feeds.tables.row_events import RowEvent
from rdflive.feeds.tables.templates import QuadColumns
from rdflive_stores.spark.dataflow.packing import spare_collections
from rdflive_stores.spark.mirroring.decoding import POSITION, DecodingFault, RecordPlace, places, to_bytes

__all__ = ["EVENTS", "decode_events"]

_SCHEMA: Final = pa.schema(
    [("stream", pa.string())]
    + [(name, pa.int64()) for name in POSITION[1:]]
    + [(name, pa.string()) for name in ("event", "order", "value", "note")]
)
EVENTS: Final = from_arrow_schema(_SCHEMA)
"""The columns of decoded rows: an event as `RowEvent` writes it, its own order where that is needed, and the
record if it is incomplete or has no position.
"""
_ROWS: Final = 10_000
_UNORDERED: Final = (
    "the time of this event is unknown, and files and tasks keep no order: give the rows the columns "
    "topic, partition and offset, as Spark reads them from Kafka, or the event its 'source' as Debezium's "
    "connectors write it, with its place in the database's log (such as lsn, file and pos, commit_lsn or "
    "scn) or at least ts_ms"
)


def decode_events(
    batches: Iterable[pa.RecordBatch],
    *,
    mapping: RowMapping,
    is_net: bool = True,
    is_one: bool = False,
    with_orders: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Decode the column `value` of a partition, and `key` if there is one; skip tombstones.

    Without `is_net` all events are kept. With `is_one` all streams are one, in the order of their names. With
    `with_orders`, events with a position also have their own order. The last row is a note: gaps of the
    mapping, the Kafka numbers of records that contain them, and a flag if netting has lost values.
    """
    spare_collections()
    partition = _Partition(mapping, is_net=is_net, is_one=is_one, with_orders=with_orders)
    for batch in batches:
        values = batch.column("value").to_pylist()
        keys = batch.column("key").to_pylist() if "key" in batch.schema.names else [None] * len(values)
        for value, key, place in zip(values, keys, places(batch), strict=True):
            if value is not None:
                partition.take(to_bytes(value), key, place)
    rows = partition.rows()
    while chunk := list(islice(rows, _ROWS)):
        yield pa.RecordBatch.from_pylist(
            [dict(zip(_SCHEMA.names, row, strict=True)) for row in chunk], _SCHEMA
        )


class _Event(NamedTuple):
    position: tuple[RecordPlace, int]
    is_whole: bool
    text: str
    order: EventOrder | None
    value: str | None


class _Partition:
    """The events of a partition."""

    def __init__(self, mapping: RowMapping, *, is_net: bool, is_one: bool, with_orders: bool) -> None:
        self._mapping = mapping
        self._is_net = is_net
        self._is_one = is_one
        self._with_orders = with_orders
        self._events: defaultdict[tuple[TableName, str | None], list[_Event]] = defaultdict(list)
        self._faults: list[tuple[RecordPlace, DecodingFault]] = []
        self._gaps = _Gaps()
        self._numbers: dict[str, tuple[int, int]] = {}
        self._has_unnumbered = self._moves = False

    def take(self, value: bytes, key: Any, place: RecordPlace) -> None:
        """Decode a record."""
        try:
            text = _text(value)
            if text.strip() and not text.lstrip(" \t").startswith("#"):
                self._take(text, key, place)
        except RecursionError:
            self._fault(place, "the record is nested too deeply", value)
        except RowError as error:
            self._fault(place, str(error), value)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the result: events, faults and a note."""
        for events in self._events.values():
            for (place, step), _, text, order, value in events:
                yield *place, step, text, order and json.dumps(order.to_json()), value, None
        for place, fault in self._faults:
            yield *place, 0, None, None, None, fault.to_note()
        note = {
            "gaps": self._gaps.found,
            "numbers": self._numbers,
            "unnumbered": self._has_unnumbered,
            "moves": self._moves,
        }
        yield *RecordPlace(), 0, None, None, None, json.dumps(note)

    def _take(self, text: str, key: Any, place: RecordPlace) -> None:
        record = _with_key(read_record(Line(text, 1)), key)
        if record.is_numbered and not place.stream:
            # without Kafka's columns in the DataFrame, use the numbers in the record itself
            place = RecordPlace(record.partition, record.offset, 0, place.seq)
            least, most = self._numbers.get(record.partition, (record.offset, record.offset))
            self._numbers[record.partition] = min(least, record.offset), max(most, record.offset)
        event = read_event(record, self._mapping, self._gaps) if record.kind is Kind.CHANGE else None
        if event is None:
            return
        self._check(event)
        order = read_order(record.event) if self._with_orders or not place.stream else None
        if not place.stream and order is None:
            raise RowError(_UNORDERED)
        self._has_unnumbered |= not place.stream
        parts = event.parts()
        self._moves |= parts[0].old is not None
        for step, part in enumerate(parts):
            value = text if part.is_partial or not place.stream else None
            self._add(part, _Event((place, step), not part.is_partial, part.to_text(), order, value))

    def _check(self, event: RowEvent) -> None:
        """Raise `RowError` for a row that makes no quads now, since a later event of the row may hide it."""
        table = self._mapping.find(event.table)
        if table is not None and isinstance(table.shape, QuadColumns) and not event.is_partial:
            table.quads({name: cell for name, cell in (event.row or {}).items() if cell is not None})

    def _add(self, part: RowEvent, event: _Event) -> None:
        known = self._events[part.table, part.key]
        if self._is_net:
            # records of one row may arrive in any order, and a later complete one has all its values
            if any(other.is_whole and self._is_later(other, event) for other in known):
                return
            if event.is_whole:
                known[:] = [other for other in known if not self._is_later(event, other)]
        known.append(event)

    def _is_later(self, event: _Event, other: _Event) -> bool:
        """True if an event is surely later than another."""
        stream = event.position[0].stream
        if self._is_one or (stream and stream == other.position[0].stream):
            return event.position > other.position
        if event.order is None or other.order is None:
            return False
        return compare(event.order, other.order) == 1

    def _fault(self, place: RecordPlace, reason: str, value: bytes) -> None:
        self._faults.append((place, DecodingFault(1, reason, value.decode(errors="replace"))))


class _Gaps:
    """Collects tables and columns that only the mapping or only the events have."""

    def __init__(self) -> None:
        self.found: list[tuple[TableName, list[str] | None, list[str]]] = []
        self._warned: set[tuple[TableName, tuple[str, ...]]] = set()

    def warn_of_table(self, table: TableName) -> None:
        """Add a table that the mapping lacks."""
        if (table, ()) not in self._warned:
            self._warned.add((table, ()))
            self.found.append((table, None, []))

    def warn_of_columns(self, table: TableName, lacking: Iterable[str], seen: Iterable[str]) -> None:
        """Add the mapped columns that a row lacks, and the columns that it has."""
        columns = tuple(lacking)
        if columns and (table, columns) not in self._warned:
            self._warned.add((table, columns))
            self.found.append((table, list(columns), list(seen)))


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise RowError(f"not UTF-8: byte {value[error.start]:#04x} at place {error.start + 1}") from error


def _with_key(record: DebeziumRecord, key: Any) -> DebeziumRecord:
    """Take the key of the Kafka record from its column if the value does not have it."""
    return record if key is None or record.key is not None else record._replace(key=_text(to_bytes(key)))
