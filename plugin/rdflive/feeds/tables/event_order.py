"""The position of a Debezium event in the log of its database, from its `source`.

Example: of two events with `"lsn": 23876504` and `"lsn": 23876616`, PostgreSQL wrote the second one later,
independent of the files and tasks in which they arrive. Each connector has fields of its own, see
https://debezium.io/documentation/reference/connectors/ . All connectors also write the time, which orders
events from the logs of two servers, as after a failover.

Only events about the same row are compared. Transactions that change one row wait for each other, so the
order of their changes is the order of their commits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

__all__ = ["EventOrder", "compare", "read_order"]

_BINLOG: Final = "binlog "
_FILE: Final = re.compile(r"(.*)\.([0-9]+)")
_MYSQL: Final = re.compile(r"(.+):([0-9]+)")
_MARIADB: Final = re.compile(r"([0-9]+)-[0-9]+-([0-9]+)")
_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_LAST_DIGITS: Final = re.compile(r"[0-9]+(?=[^0-9]*\Z)")
_PARTS: Final = 1000
"""Microseconds per millisecond, and nanoseconds per microsecond."""


class EventOrder(NamedTuple):
    """The position of one event in each log that it names, and its time."""

    places: Mapping[str, Sequence[int]]
    """A rank in each log, the most precise log first."""
    time: Sequence[int] = ()
    """Time of the event: milliseconds, then microseconds and nanoseconds if the event has them."""
    is_read: bool = False
    """True if the event comes from a snapshot and not from the log."""

    def to_json(self) -> list[Any]:
        """Return the order as a JSON value."""
        return [self.places, self.time, int(self.is_read)]

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> EventOrder:
        """Return the order that `to_json` wrote."""
        places, time, is_read = value
        return cls(places, time, bool(is_read))


def read_order(event: Mapping[str, Any]) -> EventOrder | None:
    """Return the order of an event; None if it has neither a position nor a time.

    >>> read_order({"op": "c", "source": {"lsn": 24023128, "ts_ms": 1559033904863}})
    EventOrder(places={'lsn': [24023128, 1]}, time=[1559033904863], is_read=False)
    """
    source = event.get("source")
    if not isinstance(source, Mapping):
        return None
    # a row that a snapshot reads is later than all changes visible to the snapshot
    is_read = event.get("op") == "r" or source.get("snapshot") not in (None, False, "false")
    order = EventOrder(dict(_places(event, source, int(not is_read))), _time(source), is_read)
    return order if order.places or order.time else None


def compare(order: EventOrder, other: EventOrder) -> int | None:
    """Return 1 if an event is later than another event about its row, -1 if earlier, 0 at a tie.

    None if the two cannot be compared.

    >>> compare(EventOrder({"lsn": [7, 1]}), EventOrder({"lsn": [9, 1]}))
    -1
    >>> compare(EventOrder({"lsn": [7, 1]}), EventOrder({"commit_lsn": [9, 1]}))
    """
    is_tie = False
    for log, rank in order.places.items():
        theirs = other.places.get(log)
        if theirs is None:
            continue
        if log.startswith(_BINLOG):
            if rank[0] and theirs[0] and rank[0] != theirs[0]:
                continue  # each server has its own log; a snapshot names no server
            rank, theirs = rank[1:], theirs[1:]
        if sign := _sign(rank, theirs):
            return sign
        is_tie = True
    if not (order.time and other.time):
        return 0 if is_tie else None
    sign = _sign(order.time, other.time)
    if order.is_read is other.is_read:
        return sign
    # a snapshot may or may not contain changes that were logged while it was read
    streamed = -1 if order.is_read else 1
    return streamed if sign in (0, streamed) else None


def _sign(rank: Sequence[int], other: Sequence[int]) -> int:
    """Compare two ranks up to the shorter length."""
    mine, theirs = tuple(rank[: len(other)]), tuple(other[: len(rank)])
    return (mine > theirs) - (mine < theirs)


def _places(
    event: Mapping[str, Any], source: Mapping[str, Any], streamed: int
) -> Iterator[tuple[str, list[int]]]:
    """Yield the position in each log; `streamed` orders snapshot reads before logged events there."""
    yield from _postgresql(source, streamed)
    yield from _binlog(source, streamed)
    yield from _change_tables(source, streamed)
    yield from _oracle(source, streamed)
    yield from _vitess(source, streamed)
    transaction = event.get("transaction")
    if isinstance(transaction, Mapping) and (number := _number(transaction.get("total_order"))) is not None:
        yield f"transaction {transaction.get('id')}", [number]


def _postgresql(source: Mapping[str, Any], streamed: int) -> Iterator[tuple[str, list[int]]]:
    lsn = _number(source.get("lsn"))
    if lsn is None:
        return
    # the previous commit also orders rows that a snapshot reads during open transactions
    sequence = _json(source.get("sequence"))
    commit = _number(sequence[0]) if isinstance(sequence, list) and sequence else None
    if commit is not None:
        yield "sequence", [commit, streamed, lsn]
    yield "lsn", [lsn, streamed]


def _binlog(source: Mapping[str, Any], streamed: int) -> Iterator[tuple[str, list[int]]]:
    """Yield the positions of a MySQL or MariaDB event; its transaction number holds on every server."""
    gtid = str(source.get("gtid"))
    if found := _MARIADB.fullmatch(gtid) or _MYSQL.fullmatch(gtid):
        yield f"gtid {found[1]}", [int(found[2])]
    file, position = _FILE.fullmatch(str(source.get("file"))), _number(source.get("pos"))
    if file and position is not None:
        server, row = (_number(source.get(name)) or 0 for name in ("server_id", "row"))
        yield _BINLOG + file[1], [server, int(file[2]), position, streamed, row]


def _change_tables(source: Mapping[str, Any], streamed: int) -> Iterator[tuple[str, list[int]]]:
    """Yield the position of an event of SQL Server, Db2 or Informix."""
    if commit := _log_number(source.get("commit_lsn")):
        serial = _number(source.get("event_serial_no")) or 0
        yield "commit_lsn", [*commit, streamed, *_log_number(source.get("change_lsn")), serial]


def _oracle(source: Mapping[str, Any], streamed: int) -> Iterator[tuple[str, list[int]]]:
    scn = _number(source.get("scn"))
    if scn is None:
        return
    commit = _number(source.get("commit_scn"))
    # the record in the redo log, and the statement in the record; XStream numbers its records instead
    redo = [*_hex_numbers(source.get("rs_id")), _number(source.get("ssn")) or 0]
    redo = _hex_numbers(source.get("lcr_position")) or (redo if len(redo) > 1 else [])
    yield "scn", [scn if commit is None else commit, streamed, scn, *redo]


def _vitess(source: Mapping[str, Any], streamed: int) -> Iterator[tuple[str, list[int]]]:
    """Yield the number of transactions of the event's shard, over all its primaries."""
    shards = _json(source.get("vgtid"))
    for shard in shards if isinstance(shards, list) else ():
        if isinstance(shard, Mapping) and shard.get("shard") == source.get("shard"):
            ends = map(_LAST_DIGITS.search, str(shard.get("gtid")).split(","))
            count = sum(int(end[0]) for end in ends if end)
            yield f"vgtid {shard.get('keyspace')}/{shard.get('shard')}", [count, streamed]


def _time(source: Mapping[str, Any]) -> list[int]:
    """Return the most precise time of the source."""
    for name, digits in (("ts_ns", 2), ("ts_us", 1), ("ts_ms", 0)):
        time = _number(source.get(name))
        if time is not None:
            parts: list[int] = []
            for _ in range(digits):
                time, part = divmod(time, _PARTS)
                parts.insert(0, part)
            return [time, *parts]
    return []


def _number(value: object) -> int | None:
    """Return an integer, which some connectors write as text."""
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _log_number(value: object) -> list[int]:
    """Return the parts of a log number such as `00000027:00000ac0:0002`, or one number."""
    if isinstance(value, str) and ":" in value:
        return _hex_numbers(value)
    number = _number(value)
    return [] if number is None else [number]


def _hex_numbers(value: object) -> list[int]:
    text = value.replace("0x", "") if isinstance(value, str) else ""
    return [int(part, 16) for part in _HEX.findall(text)]


def _json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None
