"""The order that Debezium's events tell themselves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from rdflive.feeds.tables.event_order import EventOrder, compare, read_order


def told(op: str = "u", **source: Any) -> EventOrder:
    """Read the order of an event."""
    transaction = source.pop("transaction", None)
    found = read_order({"op": op, "source": {"table": "t", **source}, "transaction": transaction})
    assert found is not None
    assert EventOrder.from_json(found.to_json()) == found
    return found


SQL = "00000027:00000ac0"
VGTID = '[{"keyspace":"ks","shard":"-80","gtid":"%s"},{"keyspace":"ks","shard":"80-","gtid":"MySQL56/a:1-9"}]'


@pytest.mark.parametrize(
    "events",
    [
        # PostgreSQL: a snapshot, the first transaction, one that wrote before another and committed after it
        [
            {"op": "r", "lsn": 900, "sequence": '[null,"900"]', "snapshot": "last"},
            {"lsn": 900, "sequence": '[null,"900"]', "snapshot": "false"},
            {"lsn": 1100, "sequence": '["1000","1100"]'},
            {"op": "r", "lsn": 1500, "sequence": '["1300","1500"]', "snapshot": "incremental"},
            {"lsn": 1200, "sequence": '["1600","1200"]'},
            {"lsn": "1210", "sequence": '["1600","1210"]'},
        ],
        # MySQL: numbers of files go on behind 999999; a snapshot names no server
        [
            {"op": "r", "file": "log.999999", "pos": 154, "row": 0, "server_id": 0, "snapshot": "true"},
            {"file": "log.999999", "pos": 154, "row": 0, "server_id": 7},
            {"file": "log.999999", "pos": 1000, "row": 0, "server_id": 7},
            {"file": "log.999999", "pos": 1000, "row": 1, "server_id": 7},
            {"file": "log.1000000", "pos": 4, "row": 0, "server_id": 7},
        ],
        # the number of a transaction holds behind a failover, in either spelling
        [
            {"gtid": "3e11fa47:9", "file": "log.000009", "pos": 800, "server_id": 7},
            {"gtid": "3e11fa47:9", "file": "log.000009", "pos": 900, "server_id": 7},
            {"gtid": "3e11fa47:10", "file": "log.000002", "pos": 4, "server_id": 8},
        ],
        [{"gtid": "0-1-99", "file": "b.1", "pos": 9}, {"gtid": "0-2-100", "file": "b.1", "pos": 4}],
        # without it times decide between servers
        [
            {"file": "log.000009", "pos": 800, "server_id": 7, "ts_ms": 5000},
            {"file": "log.000001", "pos": 4, "server_id": 8, "ts_ms": 6000},
        ],
        # SQL Server and Db2: hexadecimal; Informix: decimal
        [
            {"op": "r", "commit_lsn": f"{SQL}:0009", "change_lsn": None, "event_serial_no": None},
            {"commit_lsn": f"{SQL}:0009", "change_lsn": f"{SQL}:0001", "event_serial_no": 1},
            {"commit_lsn": f"{SQL}:000a", "change_lsn": f"{SQL}:0002", "event_serial_no": 1},
            {"commit_lsn": f"{SQL}:000a", "change_lsn": f"{SQL}:0002", "event_serial_no": 2},
            {"commit_lsn": f"{SQL}:000a", "change_lsn": f"{SQL}:0003", "event_serial_no": 1},
            {"commit_lsn": f"{SQL}:0010", "change_lsn": f"{SQL}:0001", "event_serial_no": 1},
        ],
        [{"commit_lsn": "9", "change_lsn": "8"}, {"commit_lsn": "10", "change_lsn": "7"}],
        # Oracle: what was committed later was not in the snapshot, though it was written before
        [
            {"op": "r", "scn": "100", "commit_scn": None, "snapshot": "first", "rs_id": None, "ssn": 0},
            {"scn": "90", "commit_scn": "110", "rs_id": " 0x0000f4.0000c9d2.0010 ", "ssn": 0},
            {"scn": "90", "commit_scn": "110", "rs_id": " 0x0000f4.0000c9d2.0010 ", "ssn": 1},
            {"scn": "90", "commit_scn": "110", "rs_id": " 0x0000f4.0000c9d3.0010 ", "ssn": 0},
        ],
        [{"scn": "90", "lcr_position": "0a01"}, {"scn": "90", "lcr_position": "0a02"}],
        # Vitess: a transaction more, under another primary
        [
            {"shard": "-80", "vgtid": VGTID % "MySQL56/a:1-9,b:1-2"},
            {"shard": "-80", "vgtid": VGTID % "MySQL56/a:1-9,b:1-3"},
        ],
        # times, as exactly as both tell them; the order inside of a transaction
        [{"ts_ms": 1}, {"ts_ms": 2}],
        [{"ts_ms": 1, "ts_ns": 1_000_001}, {"ts_ms": 1, "ts_ns": 1_000_002}, {"ts_us": 1001}],
        [
            {"ts_ms": 1, "transaction": {"id": "7", "total_order": 9}},
            {"ts_ms": 1, "transaction": {"id": "7", "total_order": 10}},
        ],
        [{"op": "r", "ts_ms": 1, "snapshot": "true"}, {"ts_ms": 1}],
    ],
)
def test_events_of_a_connector_are_in_order(events: list[dict[str, Any]]) -> None:
    """Each is before the next one and equal to itself."""
    orders = [told(**event) for event in events]
    for before, after in pairwise(orders):
        assert (compare(before, after), compare(after, before)) == (-1, 1)
    assert {compare(order, order) for order in orders} == {0}


@pytest.mark.parametrize(
    ("event", "other"),
    [
        ({"lsn": 1}, {"scn": "2"}),
        ({"file": "a.1", "pos": 1}, {"file": "b.1", "pos": 2}),
        ({"file": "a.1", "pos": 1, "server_id": 1}, {"file": "a.1", "pos": 2, "server_id": 2}),
        ({"shard": "-80", "vgtid": VGTID % "x"}, {"shard": "80-", "vgtid": VGTID % "x"}),
        # a snapshot that reads a row later than another change of it may have seen that or not
        ({"op": "r", "ts_ms": 2, "snapshot": "true"}, {"ts_ms": 1}),
    ],
)
def test_events_that_cannot_be_compared(event: dict[str, Any], other: dict[str, Any]) -> None:
    """Those of two logs without times, and some of snapshots by their times."""
    assert compare(told(**event), told(**other)) is None
    assert compare(told(**other), told(**event)) is None


def test_different_events_may_tell_one_place() -> None:
    """By times of the same millisecond, or by a part of what a connector tells."""
    assert compare(told(ts_ms=1), told(ts_ms=1)) == 0
    assert compare(told(ts_ms=1), told(ts_us=1500)) == 0
    assert compare(told(scn="9"), told(scn="9", rs_id=" 0x1.1.1 ", ssn=1)) == 0


@pytest.mark.parametrize(
    "source",
    [
        None,
        "text",
        {},
        {"lsn": None, "ts_ms": None},
        {"lsn": "0/16B3748", "sequence": "no JSON", "file": "log", "pos": 4, "scn": "", "vgtid": "[1]"},
        {"lsn": True, "commit_lsn": "x", "gtid": None},
    ],
)
def test_an_event_may_tell_no_order(source: object) -> None:
    """Nothing, or nothing that can be read."""
    assert read_order({"op": "c", "source": source}) is None
