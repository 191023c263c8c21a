"""What PostgreSQL's own output plugin `pgoutput` says of transactions, as Debezium's events of them.

The messages are those of version 1 of the protocol:
https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html .
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

__all__ = ["UNAVAILABLE", "Column", "Event", "Reader", "Relation"]

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""What Debezium sends in place of `_UNCHANGED`."""
_UNCHANGED: Final = object()
"""A large value that an update has left as it was, and of which the log says no more."""
_EPOCH: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)

Cells = dict[str, Any]
"""The text of each column of a row, None for NULL, or `_UNCHANGED`."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    type: int
    """The type's number in pg_type."""
    modifier: int

    @property
    def scale(self) -> int:
        """The digits behind the point of a numeric."""
        return (self.modifier - 4) & 0xFFFF


class Relation(NamedTuple):
    """A table as the log describes it."""

    schema: str
    name: str
    columns: tuple[Column, ...]


class Event(NamedTuple):
    """A record of Kafka as Debezium writes it; a value that is None is a tombstone."""

    table: str
    key: str | None
    value: str | None


class Reader:
    """Reads messages; `keys` are the columns of the primary key of each table that has one."""

    def __init__(self, keys: Mapping[str, Sequence[str]]) -> None:
        self._keys = keys
        self._relations: dict[int, Relation] = {}

    def transactions(self, messages: Iterable[bytes]) -> Iterator[list[Event]]:
        """Give the events of each transaction."""
        events: list[Event] = []
        source: dict[str, int] = {}
        for message in messages:
            scan = _Scan(message)
            match scan.cut(1):
                case b"B":
                    lsn, _, transaction = scan.take("!qqi")
                    source = {"txId": transaction, "lsn": lsn}
                case b"C":
                    yield events
                    events = []
                case b"R":
                    self._describe(scan)
                case b"I" | b"U" | b"D" | b"T" as kind:
                    events += self._events(kind, scan, source)

    def snapshot(self, relation: Relation, rows: Iterable[Sequence[str | None]]) -> list[Event]:
        """Give the events by which Debezium reads a table at first."""
        names = [column.name for column in relation.columns]
        return [self._put(relation, "r", None, dict(zip(names, row, strict=True)), {}) for row in rows]

    def _describe(self, scan: _Scan) -> None:
        (number,) = scan.take("!I")
        schema, name = scan.text(), scan.text()
        _, count = scan.take("!ch")
        columns = []
        for _ in range(count):
            scan.take("!b")
            columns.append(Column(scan.text(), *scan.take("!Ii")))
        self._relations[number] = Relation(schema, name, tuple(columns))

    def _events(self, kind: bytes, scan: _Scan, source: Mapping[str, int]) -> Iterator[Event]:
        if kind == b"T":
            count, _ = scan.take("!ib")
            for relation in [self._relations[number] for number in scan.take(f"!{count}I")]:
                yield self._event(relation, "t", None, None, None, source)
            return
        (number,) = scan.take("!I")
        relation = self._relations[number]
        rows = dict(scan.rows(relation))
        before, after = rows.get(b"O") or rows.get(b"K"), rows.get(b"N")
        if kind == b"D":
            assert before is not None, "a table without a replica identity"
            yield from self._delete(relation, before, source)
        else:
            assert after is not None
            yield from self._change(relation, kind, before, after, source)

    def _change(
        self, relation: Relation, kind: bytes, before: Cells | None, after: Cells, source: Mapping[str, int]
    ) -> Iterator[Event]:
        old = before or {}
        after = {
            name: old.get(name) if cell is _UNCHANGED and old.get(name) else cell
            for name, cell in after.items()
        }
        key = self._keys.get(relation.name, ())
        if before is not None and any(before[name] != after[name] for name in key):
            yield from self._delete(relation, before, source)
            yield self._put(relation, "c", None, after, source)
        else:
            yield self._put(relation, "c" if kind == b"I" else "u", before, after, source)

    def _delete(self, relation: Relation, before: Cells, source: Mapping[str, int]) -> Iterator[Event]:
        deleted = self._event(relation, "d", before, before, None, source)
        yield deleted
        if deleted.key is not None:
            yield deleted._replace(value=None)

    def _put(
        self, relation: Relation, op: str, before: Cells | None, after: Cells, source: Mapping[str, int]
    ) -> Event:
        return self._event(relation, op, after, before, after, source)

    def _event(
        self,
        relation: Relation,
        op: str,
        keyed: Cells | None,
        before: Cells | None,
        after: Cells | None,
        source: Mapping[str, int],
    ) -> Event:
        columns = [_field(column) for column in relation.columns]
        value = {
            "schema": _struct("", [_struct("before", columns), _struct("after", columns)]),
            "payload": {
                "before": before and _values(relation, before),
                "after": after and _values(relation, after),
                "source": {
                    "connector": "postgresql",
                    "db": "shop",
                    "schema": relation.schema,
                    "table": relation.name,
                    **source,
                },
                "op": op,
                "ts_ms": 1,
            },
        }
        return Event(relation.name, self._key(relation, keyed), json.dumps(value, ensure_ascii=False))

    def _key(self, relation: Relation, row: Cells | None) -> str | None:
        names = self._keys.get(relation.name)
        if row is None or names is None:
            return None
        key = {name: value for name, value in _values(relation, row).items() if name in names}
        return json.dumps({"schema": None, "payload": key}, ensure_ascii=False)


class _Scan:
    """Reads a message from left to right."""

    def __init__(self, message: bytes) -> None:
        self._rest = message

    def cut(self, count: int) -> bytes:
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def take(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self.cut(struct.calcsize(form)))

    def text(self) -> str:
        text, _, self._rest = self._rest.partition(b"\0")
        return text.decode()

    def rows(self, relation: Relation) -> Iterator[tuple[bytes, Cells]]:
        """Give the rows to the end: the old one by its key (K) or whole (O), the new one (N)."""
        while self._rest:
            kind = self.cut(1)
            (count,) = self.take("!h")
            cells = [self._cell() for _ in range(count)]
            names = [column.name for column in relation.columns]
            yield kind, dict(zip(names, cells, strict=True))

    def _cell(self) -> Any:
        match self.cut(1):
            case b"n":
                return None
            case b"u":
                return _UNCHANGED
            case b"t":
                return self.cut(*self.take("!i")).decode()
            case other:
                raise ValueError(f"a column of kind {other!r}")


def _values(relation: Relation, row: Cells) -> dict[str, Any]:
    """Convert the columns of a row as Debezium does."""
    found = {}
    for column in relation.columns:
        cell = row.get(column.name)
        if cell is _UNCHANGED:
            found[column.name] = UNAVAILABLE
        else:
            found[column.name] = None if cell is None else _TYPES[column.type].convert(cell, column)
    return found


def _field(column: Column) -> dict[str, Any]:
    kind = _TYPES[column.type]
    field: dict[str, Any] = {"field": column.name, "type": kind.physical, "optional": True}
    if kind.name:
        field |= {"name": kind.name, "version": 1}
    if kind.name.endswith("Decimal"):
        field["parameters"] = {"scale": str(column.scale)}
    return field


def _struct(field: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "struct", "fields": fields, "optional": True, **({"field": field} if field else {})}


def _decimal(text: str, column: Column) -> str:
    unscaled = int(Decimal(text).scaleb(column.scale))
    return base64.b64encode(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, signed=True)).decode()


def _zoned(text: str, column: Column) -> str:
    assert text.endswith("+00"), text
    return text.removesuffix("+00").replace(" ", "T") + "Z"


class _Type(NamedTuple):
    """How Debezium writes the values of a type."""

    physical: str
    convert: Callable[[str, Column], Any]
    name: str = ""


_TYPES: Final = {
    16: _Type("boolean", lambda text, _: text.startswith("t")),
    23: _Type("int32", lambda text, _: int(text)),
    25: _Type("string", lambda text, _: text),
    701: _Type("double", lambda text, _: float(text)),
    1082: _Type(
        "int32", lambda text, _: (date.fromisoformat(text) - _EPOCH.date()).days, "io.debezium.time.Date"
    ),
    1114: _Type(
        "int64",
        lambda text, _: (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND,
        "io.debezium.time.MicroTimestamp",
    ),
    1184: _Type("string", _zoned, "io.debezium.time.ZonedTimestamp"),
    1700: _Type("bytes", _decimal, "org.apache.kafka.connect.data.Decimal"),
}
