"""Debezium's events without positions: files and micro-batches in any order, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdflive_stores.spark.mirroring.decoding import DecodingFault, RecordPlace
from support.debezium_logs import CONNECTORS, LEFT_OUT, LOGS, Logged, expected, told_by
from support.debezium_mirror import Mirror
from support.effort import examples

TOLD = st.sampled_from(sorted(CONNECTORS))


class RefusedError(Exception):
    """An event was refused."""


def stop(place: RecordPlace, fault: DecodingFault) -> None:
    raise RefusedError(fault.reason)


def spread(draw: Any, events: Sequence[Logged]) -> list[list[tuple[int, Logged]]]:
    """Shuffle events over up to three tasks."""
    shuffled = draw(st.permutations(events))
    cuts = sorted(draw(st.lists(st.integers(0, len(events)), min_size=2, max_size=2)))
    parts = shuffled[: cuts[0]], shuffled[cuts[0] : cuts[1]], shuffled[cuts[1] :]
    return [[(0, record) for record in part] for part in parts]


def whole(log: Sequence[Logged]) -> list[Logged]:
    """Leave out the events that leave out a value."""
    return [record for record in log if LEFT_OUT not in str(record.value)]


@settings(max_examples=examples(150))
@given(LOGS, TOLD, st.data())
def test_a_micro_batch_in_any_order_makes_what_the_log_makes(
    log: list[Logged], connector: str, data: Any
) -> None:
    """Also repeated events, and the next micro-batch of later ones: nothing is refused or told."""
    mirror, events = Mirror(), told_by(connector, log)
    while events:
        size = data.draw(st.integers(1, len(events)))
        batch, events = events[:size], events[size:]
        again = data.draw(st.lists(st.sampled_from(batch), max_size=2))
        reading = mirror.take(spread(data.draw, [*batch, *again]), is_placed=False, report=stop)
        assert not reading.late
        mirror.restart()
    assert mirror.quads == expected(log)


@settings(max_examples=examples(150))
@given(LOGS, TOLD, st.data())
def test_micro_batches_in_any_order_make_what_the_log_makes(
    log: list[Logged], connector: str, data: Any
) -> None:
    """Whole events can come in any order: what is older than what a row holds changes nothing."""
    mirror, events = Mirror(), told_by(connector, whole(log))
    events += data.draw(st.lists(st.sampled_from(events), max_size=3)) if events else []
    events = data.draw(st.permutations(events))
    while events:
        size = data.draw(st.integers(1, len(events)))
        mirror.take(spread(data.draw, events[:size]), is_placed=False, report=stop)
        events = events[size:]
        mirror.restart()
    assert mirror.quads == expected(whole(log))


@settings(max_examples=examples(400))
@given(LOGS, TOLD, st.data())
def test_values_left_out_come_from_where_they_were_or_are_refused(
    log: list[Logged], connector: str, data: Any
) -> None:
    """In any order of micro-batches: a row takes each value from the last event that told it."""
    mirror, events = Mirror(), told_by(connector, log)
    events += data.draw(st.lists(st.sampled_from(events), max_size=2)) if events else []
    events = data.draw(st.permutations(events))
    faults: list[str] = []
    while events and not faults:
        size = data.draw(st.integers(1, len(events)))
        batch, events = events[:size], events[size:]
        mirror.take(
            spread(data.draw, batch),
            is_placed=False,
            report=lambda place, fault: faults.append(fault.reason),
        )
        if data.draw(st.booleans()):
            mirror.restart()
    assert all("left out" in reason or "moved it to another key" in reason for reason in faults)
    assert faults or mirror.quads == expected(log)


@settings(max_examples=examples(100))
@given(LOGS, st.sampled_from(["postgresql", "times"]), st.data())
def test_streams_of_one_table_are_merged_by_what_events_tell(
    log: list[Logged], connector: str, data: Any
) -> None:
    """Records of several partitions, each in its order: rows and a TRUNCATE have their places."""
    mirror, events = Mirror(), told_by(connector, log)
    partitions = [data.draw(st.integers(0, 2)) for _ in events]
    placed = [list(enumerate(events))]
    mirror.take(placed, report=stop, streams=[[f"t/{partition}" for partition in partitions]])
    assert mirror.quads == expected(log)


def row(op: str, after: dict[str, Any] | None, key: int = 1, before: Any = None, **source: Any) -> Logged:
    value = {"op": op, "before": before, "after": after, "source": {"table": "customers", **source}}
    return Logged(json.dumps({"id": key}), json.dumps(value))


def anne(name: str, bio: str | None = "long", key: int = 1) -> dict[str, Any]:
    return {"id": key, "name": name, "bio": bio}


def taken(*batches: Sequence[Logged], report: Any = stop) -> tuple[Mirror, list[str]]:
    """Take micro-batches; gives the reasons why events were passed over, too."""
    mirror, late = Mirror(), []
    for batch in batches:
        reading = mirror.take([[(0, record)] for record in batch], is_placed=False, report=report)
        late += [fault.reason for fault in reading.late.values()]
        mirror.restart()
    return mirror, late


def names(mirror: Mirror) -> set[str]:
    return {str(quad.object) for quad in mirror.quads} - {"http://e/Customer"}


def test_an_older_event_is_passed_over_and_told() -> None:
    """An update, one that comes behind the deletion of its row, and one behind a TRUNCATE; each once."""
    mirror, late = taken([row("u", anne("B"), lsn=2)], [row("c", anne("A"), lsn=1)])
    assert (names(mirror), late) == ({"B", "long"}, ["a later event of the row [1] of customers was applied"])
    mirror, late = taken([row("c", anne("A"), lsn=1)], [row("d", None, lsn=3)], [row("u", anne("B"), lsn=2)])
    assert (names(mirror), len(late)) == (set(), 1)
    mirror, late = taken([row("t", None, lsn=3)], [row("u", anne("B"), lsn=2), row("c", anne("A"), 2, lsn=1)])
    assert (names(mirror), len(late)) == (set(), 1)
    moved = row("u", anne("C", key=2), before={"id": 1}, lsn=2)
    mirror, late = taken([row("u", anne("D"), lsn=4), row("d", None, 2, {"id": 2}, lsn=3)], [moved])
    assert (names(mirror), len(late)) == ({"D", "long"}, 1)


def test_a_late_truncate_spares_the_rows_that_came_after_it() -> None:
    """One that is older than another does nothing; the same one again is silent."""
    rows = [row("c", anne("A"), lsn=1), row("c", anne("B", key=2), 2, lsn=5)]
    truncate = row("t", None, lsn=3)
    mirror, late = taken(rows, [truncate], [truncate])
    assert (names(mirror), late) == ({"B", "long"}, [])
    mirror, late = taken(rows, [truncate], [row("t", None, lsn=2)])
    assert late == ["a later event of the table customers was applied"]


def test_an_event_between_gives_what_a_later_one_left_out() -> None:
    """The value that was there when it was left out, and no other."""
    log = [row("c", anne("A", "1"), lsn=1), row("u", anne("C", LEFT_OUT), lsn=4)]
    mirror, late = taken(log, [row("u", anne("B", "2"), lsn=3)], [row("u", anne("b", "x"), lsn=2)])
    assert (names(mirror), len(late)) == ({"C", "2"}, 1)


def test_what_a_row_took_along_to_another_key_cannot_be_put_right() -> None:
    """An event that comes behind the move that needed it, and a move that comes behind its row."""
    base, changed = row("c", anne("A", "1"), lsn=1), row("u", anne("B", "2"), lsn=2)
    move = row("u", anne("B", LEFT_OUT, 2), before={"id": 1}, lsn=3)
    for batches in ([base, move], [changed]), ([base, row("u", anne("D"), lsn=5)], [move]):
        with pytest.raises(RefusedError, match="moved it to another key"):
            taken(*batches)
    replaced = [changed, row("c", anne("F", "3"), lsn=4)]
    with pytest.raises(RefusedError, match="moved it to another key"):
        taken([base, move], replaced)
    mirror, late = taken([base, changed], [move], [base, move])
    assert (names(mirror), len(late)) == ({"B", "2"}, 1)
    gone, other = row("d", None, 2, {"id": 2}, lsn=4), row("c", anne("E", key=1), lsn=6)
    mirror, late = taken([base], [gone], [move], [other])
    assert names(mirror) == {"E", "long"}


@pytest.mark.parametrize("split", [False, True])
def test_two_events_of_one_place_are_refused_unless_they_are_equal(split: bool) -> None:
    """In one micro-batch neither is applied; in two the second is not. The same event again is silent."""
    first, second = row("c", anne("A"), ts_ms=1), row("u", anne("B"), ts_ms=1)
    faults: list[DecodingFault] = []
    batches = ([first], [second]) if split else ([first, second],)
    mirror, _ = taken(*batches, report=lambda place, fault: faults.append(fault))
    assert names(mirror) == ({"A", "long"} if split else set())
    assert len(faults) == (1 if split else 2)
    assert "has the same place in the database's log" in faults[0].reason
    assert faults[0].text == (second if split else first).value
    assert taken(*([first], [first]) if split else [[first, first]])[1] == []
    cleared = row("t", None, ts_ms=1)
    with pytest.raises(RefusedError, match="has the same place"):
        taken(*([first], [cleared]) if split else [[first, cleared]])
    later = row("u", anne("C"), ts_ms=2)
    assert names(taken([first, second, later])[0]) == {"C", "long"}


@pytest.mark.parametrize("split", [False, True])
def test_what_came_before_refused_events_counts(split: bool) -> None:
    """Where two events of one place are put aside, the row is what the one before them has made."""
    log = [row("c", anne("A"), lsn=1), row("u", anne("B"), lsn=2), row("u", anne("C"), lsn=2)]
    faults: list[DecodingFault] = []
    batches = (log[:1], log[1:]) if split else (log,)
    mirror, _ = taken(*batches, report=lambda place, fault: faults.append(fault))
    assert (names(mirror), len(faults)) == ({"A", "long"}, 2)


@pytest.mark.parametrize("split", [False, True])
def test_events_of_two_logs_go_by_their_times(split: bool) -> None:
    """After a failover to another server; without times, or with equal ones, they are refused."""

    def cut(*log: Logged) -> list[list[Logged]]:
        return [[record] for record in log] if split else [list(log)]

    def at(server: int, name: str, **source: Any) -> Logged:
        return row("u", anne(name), file="log.000007", pos=9 - server, server_id=server, **source)

    assert names(taken(*cut(at(1, "A", ts_ms=5), at(2, "B", ts_ms=6)))[0]) == {"B", "long"}
    for times in {}, {"ts_ms": 5}:
        with pytest.raises(RefusedError):
            taken(*cut(at(1, "A", **times), at(2, "B", **times)))
    known = at(1, "A", gtid="5c5f:7"), at(2, "B", gtid="5c5f:8")
    assert names(taken(*cut(*known))[0]) == {"B", "long"}


def test_an_event_without_any_order_is_refused() -> None:
    """Also alone, because the next one could not be compared with it; the reason says what to add."""
    with pytest.raises(RefusedError, match="give the rows the columns topic, partition and offset"):
        taken([row("c", anne("A"))])


def test_streams_without_an_order_are_refused_where_they_meet() -> None:
    """In one row, or by a TRUNCATE; other rows of the table go on."""
    log = [row("c", anne("A")), row("u", anne("B")), row("c", anne("C", key=2), 2)]
    faults: list[str] = []
    mirror = Mirror()
    mirror.take(
        [list(enumerate(log))],
        streams=[["t/0", "t/1", "t/1"]],
        report=lambda place, fault: faults.append(fault.reason),
    )
    assert names(mirror) == {"C", "long"}
    assert ["came by several streams" in reason for reason in faults] == [True, True]
    cleared = list(enumerate([log[0], row("t", None)]))
    with pytest.raises(RefusedError, match="came by several streams"):
        Mirror().take([cleared], streams=[["t/0", "t/1"]], report=stop)
    Mirror().take([cleared], streams=[["a.log", "b.log"]], report=stop, is_one=True)


def test_streams_that_meet_keep_their_own_order() -> None:
    """Two updates of one millisecond in one partition, before and behind a TRUNCATE in another."""
    log = [row("c", anne("A"), ts_ms=5), row("u", anne("B", LEFT_OUT), ts_ms=5)]
    for time, left in (9, set()), (1, {"B", "long"}):
        mirror = Mirror()
        cleared = [*enumerate(log), (0, row("t", None, ts_ms=time))]
        mirror.take([cleared], streams=[["t/0", "t/0", "t/1"]], report=stop)
        assert names(mirror) == left


@settings(max_examples=examples(50))
@given(LOGS, TOLD, st.data())
def test_what_is_inserted_and_deleted_leaves_nothing(log: list[Logged], connector: str, data: Any) -> None:
    """A TRUNCATE of each table at the end empties the graph, whenever the others come."""
    events = told_by(connector, whole(log))
    last: Callable[[int], Any] = CONNECTORS[connector]
    cleared = [
        Logged("{}", json.dumps({"op": "t", "source": {"db": "shop", "table": table, **last(10_000 + n)}}))
        for n, table in enumerate(["customers", "stays", "terms"])
    ]
    mirror, events = Mirror(), data.draw(st.permutations([*events, *cleared]))
    while events:
        size = data.draw(st.integers(1, len(events)))
        mirror.take(spread(data.draw, events[:size]), is_placed=False, report=stop)
        events = events[size:]
    assert mirror.quads == set()
    assert not any(key.startswith("row ") for key in mirror.kept)
    assert len([key for key in mirror.kept if key.startswith("order ")]) == len(cleared)
