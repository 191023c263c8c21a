"""Debezium's events on the executors and behind them, without Spark."""

from __future__ import annotations

import json
import logging
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rdflive.feeds import MappingError
from rdflive_stores.spark.mirroring.decoding import DecodingFault
from rdflive_stores.spark.mirroring.table_events import decode_events
from support.debezium_logs import LOGS, Logged, expected, log_of
from support.debezium_mirror import READ, Mirror, Partitions
from support.effort import examples
from support.spark_mirrors import arrow_rows


@settings(max_examples=examples(200))
@given(LOGS, st.data())
@example(
    log_of(
        [
            ("put", "customers", 1, 1, "A"),
            ("move large", "customers", 1, 2, "B"),
            ("put", "customers", 1, 1, "C"),
        ]
    ),
    None,
)
def test_micro_batches_in_any_partitions_make_what_the_log_makes(log: list[Logged], data: Any) -> None:
    """Cut, spread over partitions in any order and restarted, records make what a plain mirror makes."""
    mirror = Mirror()
    placed = list(enumerate(log))
    while placed:
        size = len(placed) if data is None else data.draw(st.integers(1, len(placed)))
        batch, placed = placed[:size], placed[size:]
        if data is not None:
            batch = data.draw(st.permutations(batch))
            if data.draw(st.booleans()):
                mirror.restart()
        cut = 0 if data is None else data.draw(st.integers(0, len(batch)))
        mirror.take([batch[:cut], batch[cut:]])
    assert mirror.quads == expected(log)


@settings(max_examples=examples(100))
@given(LOGS)
def test_only_what_counts_comes_to_the_driver(log: list[Logged]) -> None:
    """Without values left out there is one event per row at most, and a note."""
    whole = [record for record in log if record.value is None or "unavailable" not in record.value]
    rows = arrow_rows(
        [r.value for r in whole] or [None],
        key=pa.array([r.key for r in whole] or [None], pa.string()),
        stream=["t/0"] * max(len(whole), 1),
        offset=range(max(len(whole), 1)),
    )
    (batch,) = decode_events([rows], mapping=READ, is_net=True)
    events = [json.loads(text) for text in batch.column("event").to_pylist() if text is not None]
    keys = [(tuple(event[0]), event[1]) for event in events]
    assert len(keys) == len(set(keys))
    assert batch.column("note").null_count == len(events) == batch.num_rows - 1


def event(op: str, after: Any = None, before: Any = None, table: str = "customers", **source: Any) -> Logged:
    value = {"op": op, "before": before, "after": after, "source": {"table": table, **source}}
    return Logged('{"id": 1}', json.dumps(value))


ANNE = {"id": 1, "name": "Anne", "bio": "long"}
GONE = {"id": 1, "name": "Anne", "bio": "__debezium_unavailable_value"}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (Logged("{}", "nonsense"), "not JSON"),
        (event("x", ANNE), "'op' of the event must be one of"),
        (event("c", {"name": "Anne"}), "lacks the key column 'id'"),
        (
            event("c", {"id": 1, "s": "x", "p": "<urn:p>", "o": "<urn:o>"}, table="terms"),
            "the subject must be",
        ),
        (event("u", GONE), "the column 'bio' was left out as unchanged"),
        (Logged("nonsense", event("d").value), "not JSON"),
        (Logged("{}", "[" * 100_000), "nested too deeply"),
    ],
)
def test_a_bad_event_is_reported_and_the_others_count(record: Logged, reason: str) -> None:
    """Also one that a later event of the same row would hide; with it comes the record as it was."""
    found: list[DecodingFault] = []
    mirror = Mirror()
    other = {"id": 2, "s": "<urn:s>", "p": "<urn:p>", "o": "<urn:o>"}
    mirror.take(
        [[(0, record), (1, event("c", other, table="terms"))]],
        report=lambda place, fault: found.append(fault),
    )
    ((line, text, unit),) = found
    assert (line, unit) == (1, record.value)
    assert reason in text
    assert len(mirror.quads) == 1
    if "terms" in str(record.value):  # the next event of its row hides no fault
        mirror.take(
            [[(2, record), (3, event("u", {**other, "id": 1}, table="terms"))]],
            report=lambda place, fault: found.append(fault),
        )
        assert len(found) == 2


def test_what_stops_a_mirror_leaves_its_rows() -> None:
    """A fault that raises has changed nothing of the state, so the micro-batch can come again."""
    mirror = Mirror()
    mirror.take([[(0, event("c", ANNE))]])
    with pytest.raises(AssertionError):
        mirror.take([[(1, event("d", None, {"id": 1})), (2, event("x"))]])
    mirror.take([[(1, event("u", {**ANNE, "name": "Anna"}))]])
    assert {str(quad.object) for quad in mirror.quads} == {"http://e/Customer", "Anna", "long"}


def test_records_that_tell_their_place_are_applied_once() -> None:
    """A dump that repeats some, in the order it likes, changes nothing; one with a gap does not follow on."""

    def dumped(*offsets: int) -> Partitions:
        records = [event("c", {**ANNE, "id": n, "name": str(n)}) for n in offsets]
        texts = [json.dumps({"topic": "t", "partition": 0, "offset": n, "value": json.loads(r.value or "")})
                 for n, r in zip(offsets, records, strict=True)]  # fmt: skip
        return [[(0, Logged("null", text)) for text in texts]]

    mirror = Mirror()
    assert not mirror.shape.is_numbered
    assert mirror.take(dumped(0, 1, 2), is_placed=False).overlaps
    assert mirror.shape.is_numbered
    mirror.restart()
    assert mirror.shape.is_numbered
    reading = mirror.take(dumped(1, 2, 0), is_placed=False)
    assert (reading.changes, dict(reading.kept), reading.overlaps) == ([], {}, True)
    assert mirror.take(dumped(3, 1), is_placed=False).overlaps
    assert not mirror.take(dumped(5), is_placed=False).overlaps
    placed = event("c", {**ANNE, "id": 9}, lsn=7)
    assert mirror.take([[(0, placed)]], is_placed=False).overlaps
    assert not mirror.shape.is_numbered
    mirror.restart()
    assert not mirror.shape.is_numbered


def test_gaps_of_the_mapping_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """A table that is not mapped and a column that rows lack are warned of by the driver."""
    mirror = Mirror()
    with caplog.at_level(logging.WARNING, "rdflive"):
        for _ in range(2):
            mirror.take([[(0, event("c", ANNE, table="other")), (1, event("c", {"id": 1, "name": "A"}))]])
    assert len(caplog.records) == 2
    assert "'other' are ignored" in caplog.text
    assert "lack the mapped column 'bio'" in caplog.text


def test_other_rows_of_the_graph_need_the_same_mapping() -> None:
    """A mirror goes on with the mapping that it began with."""
    mirror = Mirror()
    mirror.take([[(0, event("c", ANNE))]])
    mirror.kept["mapping"] = "another"
    with pytest.raises(MappingError, match="differs from the one"):
        mirror.restart()


@pytest.mark.parametrize("value", [b"", b" ", b"# comment", b"null", json.dumps({"ts_ms": 1}).encode()])
def test_a_record_may_mean_nothing(value: bytes) -> None:
    """Empty ones, comments, tombstones in JSON and heartbeats give nothing but the note."""
    (batch,) = decode_events([arrow_rows([value, None])], mapping=READ, is_net=True)
    assert batch.num_rows == 1


def test_bytes_that_are_no_text_are_a_fault() -> None:
    """In the value or in the key; the rest of the partition is decoded."""
    bare = event("d").value
    rows = arrow_rows([b"\xff", bare.encode() if bare else b""], key=[None, b"\xfe"])
    (batch,) = decode_events([rows], mapping=READ, is_net=True)
    assert str(batch.column("note").to_pylist()).count("not UTF-8") == 2


def test_a_value_left_out_is_not_missed_where_it_does_not_count() -> None:
    """Netting drops what an event needs only where a later event of the row makes it pointless."""
    first, last = (event(op, {**ANNE, "name": op}) for op in "cu")
    mirror = Mirror()
    mirror.take([[(0, first), (2, last)], [(1, event("u", GONE))]])
    assert {str(quad.object) for quad in mirror.quads} == {"http://e/Customer", "u", "long"}
