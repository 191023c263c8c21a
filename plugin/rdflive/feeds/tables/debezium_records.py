"""The lines of a Debezium feed, unwrapped into event, schema, key and Kafka position."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from rdflive.feeds.json_lines import member, optional, read_value
from rdflive.feeds.lines import Line
from rdflive.feeds.terms import RowError

__all__ = ["DebeziumRecord", "Kind", "read_record"]

_KAFKA: Final = frozenset({"topic", "partition", "offset"})


class Kind(Enum):
    """The kind of an event."""

    CHANGE = "a change of a row or a table"
    BEGIN = "the beginning of a transaction"
    END = "the end of a transaction"
    NOTHING = "no row: a tombstone, a heartbeat, a change of the schema, a logical message"


class DebeziumRecord(NamedTuple):
    """One event with its schema, key and Kafka position."""

    kind: Kind
    event: Mapping[str, Any]
    """The envelope, or the transaction event; empty for a tombstone."""
    schema: object = None
    """The event's schema, if it has one."""
    key: object = None
    """The key of the Kafka record, as text or JSON."""
    partition: str = ""
    """Kafka topic and partition; empty if the record has none."""
    offset: int = -1

    @property
    def is_numbered(self) -> bool:
        """True if its Kafka position shows whether it was applied before."""
        return bool(self.partition)


def read_record(line: Line) -> DebeziumRecord:
    """Parse a line; raises `RowError` if it is not a Debezium record.

    >>> read_record(Line('{"ts_ms": 1580390884335}', 1)).kind.name
    'NOTHING'
    """
    value = read_value(line)
    key, partition, offset = None, "", -1
    if isinstance(value, dict) and "op" not in value:
        body = _body(value)
        if body:
            key, (partition, offset), value = value.get("key"), _place(value), value[body]
            value = read_value(Line(value, line.number)) if isinstance(value, str) else value
    value, schema = unwrap(value)
    if value is not None and not isinstance(value, dict):
        raise RowError(f"an event must be an object, or null for a tombstone, not {value!r:.40}")
    return DebeziumRecord(_kind(value), value or {}, schema, key, partition, offset)


def unwrap(value: object) -> tuple[object, object]:
    """Return the payload and the schema of a value; the value and None if it has no payload."""
    if isinstance(value, Mapping) and "payload" in value and "op" not in value:
        return value["payload"], value.get("schema")
    return value, None


def _body(record: Mapping[str, Any]) -> str:
    """Return the name of the member that holds the event; empty if this is no Kafka record."""
    if "value" in record:
        return "value"
    # `kcat -J` writes `payload`; an event with a schema does too, but has no Kafka position
    return "payload" if "payload" in record and record.keys() & _KAFKA else ""


def _place(record: Mapping[str, Any]) -> tuple[str, int]:
    if optional(record, "offset", int, "the record") is None:
        return "", -1
    partition = member(record, "partition", int, "the record")
    topic = optional(record, "topic", str, "the record") or ""
    return f"{topic} {partition}", record["offset"]


def _kind(event: Mapping[str, Any] | None) -> Kind:
    if event is None:
        return Kind.NOTHING
    if "op" in event:
        # m is a message that an application wrote into the database log
        return Kind.NOTHING if event["op"] == "m" else Kind.CHANGE
    match event.get("status"):
        case "BEGIN":
            return Kind.BEGIN
        case "END":
            return Kind.END
    # a heartbeat has only times
    if "ddl" in event or "tableChanges" in event or (event and all(name[:3] == "ts_" for name in event)):
        return Kind.NOTHING
    raise RowError(
        "it is not a Debezium event: neither a change (with 'op'), nor the beginning or end of a "
        "transaction ('status'), nor a schema change ('ddl'), nor a heartbeat ('ts_ms' alone)"
    )
