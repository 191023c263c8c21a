"""What those who follow a log of events are told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Literal, URIRef

import rdflive
from rdflive.model import Delta, Header
from rdflive.sinks.events.event import heartbeat
from rdflive.sinks.events.log import EventLog, EventLogReader
from rdflive.sinks.ndjson import solution_text
from support.sinks import Event, read_events, total

X = Header("SELECT", ("x",))


def delta(sequence: int, *, initial: bool = False, **weights: int) -> Delta:
    return Delta(
        X, {(Literal(x),): weight for x, weight in weights.items()}, sequence=sequence, initial=initial
    )


def begun(*, history: int = 10, rows: int = 1000) -> EventLog:
    """A log whose initial answer is a and twice b."""
    events = EventLog(history=history, rows=rows)
    events.publish(delta(4, initial=True, a=1, b=2))
    return events


def replace_by_turns(events: EventLog, sequence: int) -> None:
    """Publish that one solution comes and the one of the commit before goes."""
    events.publish(delta(sequence, **{f"n{sequence}": 1, f"n{sequence - 1}": -1 if sequence > 5 else 0}))


def drain(reader: EventLogReader) -> list[Event]:
    """Give what the reader can take now, as a client reads it."""
    taken = iter(reader.take_now, None)
    return list(read_events(line for event in taken for line in _lines(event.pieces())))


def _lines(pieces: Iterator[bytes]) -> list[bytes]:
    return b"".join(pieces).splitlines(keepends=True)


def kinds(events: list[Event]) -> list[tuple[str, str]]:
    """The kinds of events, and their ids without the epoch."""
    return [(event.kind, event.id.partition("-")[0]) for event in events]


def test_events_begin_with_the_current_answer() -> None:
    """A late reader is given the sum of all deltas, then each new one."""
    events = begun()
    events.publish(delta(6, a=-1, b=-1, c=1))
    reader = events.join()
    sent = drain(reader)
    events.publish(delta(7, d=1))
    sent += drain(reader)
    assert kinds(sent) == [("initial", "6"), ("update", "7")]
    first, second = (event.data for event in sent)
    assert [row["x"]["value"] for row in first["added"]] == ["b", "c"]
    head = {"form": "SELECT", "head": {"vars": ["x"]}, "added": first["added"], "removed": []}
    assert first == {"sequence": 6, "initial": True, **head}
    assert [second[name] for name in ("sequence", "first_sequence", "initial")] == [7, 7, False]
    assert drain(reader) == []


def test_events_wait_for_the_initial_delta() -> None:
    """A reader that is there before the subscription is given the initial delta when it comes.

    A delta that builds on an unknown answer is refused, as late readers could not be served.
    """
    events = EventLog()
    readers = [events.join(), events.join("7-00000000")]
    assert [drain(reader) for reader in readers] == [[], []]
    with pytest.raises(rdflive.RdfliveError, match="subscribe without initial=False"):
        events.publish(delta(1, a=1))
    events.publish(delta(0, initial=True))
    initial = ("initial", "0")
    assert [kinds(drain(reader)) for reader in readers] == [[initial], [("resync", ""), initial]]


RESYNC = [("resync", ""), ("initial", "8")]


@pytest.mark.parametrize(
    ("seen", "sent"), [(4, []), (6, [("update", "8")]), (8, []), (5, []), (9, RESYNC), (3, RESYNC)]
)
def test_events_resume_behind_the_last_one(seen: int, sent: list[tuple[str, str]]) -> None:
    """What followed the last event is sent as one, or nothing where that changed nothing."""
    events = begun()
    epoch = drain(events.join())[0].id.partition("-")[2]
    events.publish(delta(6, a=-1))
    events.publish(delta(8, a=1))
    assert kinds(drain(events.join(f"{seen}-{epoch}"))) == sent


def test_the_log_discards_changes_beyond_its_history() -> None:
    """A reader that returns from beyond the history restarts, and the log keeps its bounds."""
    events = begun(history=3)
    reader = events.join()
    first = drain(reader)[0].id
    events.leave(reader)
    for sequence in range(5, 105):
        events.publish(delta(sequence, a=1))
        assert len(events._backlog) <= 3 + 8
    epoch = first.partition("-")[2]
    assert kinds(drain(events.join(first))) == [("resync", ""), ("initial", "104")]
    assert kinds(drain(events.join(f"101-{epoch}"))) == [("update", "104")]


def test_events_lose_nothing_for_a_slow_reader() -> None:
    """A reader that has long taken nothing is given one event with the sum, however short the history."""
    events = begun(history=3)
    slow, quick = events.join(), events.join()
    first = drain(slow)
    for sequence in range(5, 105):
        replace_by_turns(events, sequence)
        drain(quick)
    assert len(events._backlog) <= 3 + 8 + 1
    sent = drain(slow)
    assert kinds(sent) == [("update", "104")]
    assert (sent[0].data["first_sequence"], len(sent[0].data["added"])) == (5, 1)
    assert total([*first, *sent]) == total(drain(events.join()))


def test_events_keep_no_more_solutions_than_they_may() -> None:
    """However many places readers are at, who is too far behind is sent the whole answer again, and no other.

    So is one that comes back late; what fits is kept for the others.
    """
    events = begun(history=1000, rows=24)
    epoch = events.id.partition("-")[2]
    readers = []
    for sequence in range(5, 105):
        readers.append(events.join())
        drain(readers[-1])
        replace_by_turns(events, sequence)
        assert events._backlog.rows <= 24
    sent = [kinds(drain(reader)) for reader in (readers[0], events.join(f"50-{epoch}"), *readers[-5:])]
    assert sent[:2] == [[("resync", ""), ("initial", "104")]] * 2
    assert sent[2:] == [[("update", "104")]] * 5
    assert kinds(drain(events.join(f"100-{epoch}"))) == [("update", "104")]


def test_a_large_change_is_an_update_for_who_is_up_to_date() -> None:
    """More solutions than are kept otherwise are told as a change, once, and the log stays bounded."""
    events = begun(history=1000, rows=10)
    reader = events.join()
    first = drain(reader)
    many = {f"n{number}": 1 for number in range(50)}
    events.publish(delta(5, **many))
    assert kinds(grown := drain(reader)) == [("update", "5")]
    events.publish(delta(6, **dict.fromkeys(many, -1)))
    assert kinds(shrunk := drain(reader)) == [("update", "6")]
    assert total([*first, *grown, *shrunk]) == total(drain(events.join()))
    events.publish(delta(7, a=-1))
    assert events._backlog.rows <= 10


def test_events_take_no_foreign_id() -> None:
    """An id of another run, or none of ours, leads to a new start."""
    events = begun()
    epoch = drain(events.join())[0].id.partition("-")[2]
    for last in ("4", "x", "-", "4-", "4-ffffffff", "-1-{}", "4-{}x", "²-{}", "9" * 5000 + "-{}"):
        assert kinds(drain(events.join(last.format(epoch)))) == [("resync", ""), ("initial", "4")], last


def test_events_of_a_new_initial_delta_make_old_ids_void() -> None:
    """After a resync of the subscription, also one at the same commit, no reader continues from before it."""
    events = begun()
    reader = events.join()
    old = drain(reader)[0].id
    events.publish(delta(4, initial=True, z=1))
    sent = drain(reader)
    assert kinds(sent) == [("resync", ""), ("initial", "4")]
    assert sent[1].id != old
    assert kinds(drain(events.join(old))) == [("resync", ""), ("initial", "4")]
    assert total(drain(events.join())) == total(sent)


def test_events_of_ask_carry_the_answer() -> None:
    """An ASK query is told by its boolean, and only when that is another one."""
    events = EventLog()
    ask = Header("ASK", ())
    events.publish(Delta(ask, {(): 1}, sequence=0, initial=True))
    reader = events.join()
    sent = drain(reader)
    for sequence, weight in enumerate((-1, 1, -1), 1):
        events.publish(Delta(ask, {(): weight}, sequence=sequence))
    sent += drain(reader)
    assert [event.data for event in sent] == [
        {"sequence": 0, "initial": True, "form": "ASK", "head": {"vars": []}, "boolean": True},
        {"sequence": 3, "first_sequence": 1, "initial": False, "boolean": False},
    ]


def test_readers_end_behind_what_waits() -> None:
    """When the log ends each reader still gets its events, then the reason if there is one.

    One that leaves takes nothing any more, and the log has forgotten it.
    """
    events = begun()
    reader, leaving = events.join(), events.join()
    drain(reader), drain(leaving)
    assert heartbeat(reader.id, reader.place).startswith(b"id: 4-")
    events.publish(delta(5, a=1))
    assert leaving.is_behind
    events.leave(leaving)
    assert (leaving.take_now(), leaving.is_over, len(events._readers)) == (None, True, 1)
    events.end({"detail": "its answer is too large"})
    assert kinds(drain(reader)) == [("update", "5"), ("end", "")]
    assert reader.is_over
    sent = drain(events.join())
    assert kinds(sent) == [("initial", "5"), ("end", "")]
    assert sent[1].data == {"detail": "its answer is too large"}
    silent = begun()
    reader = silent.join()
    drain(reader)
    silent.end()
    assert (drain(reader), reader.is_over) == ([], True)


def test_large_events_are_written_in_pieces() -> None:
    """However many solutions there are, the pieces are one event."""
    for count in (1001, 2000, 2500):
        events = EventLog()
        events.publish(delta(0, initial=True, **{f"n{i}": 1 for i in range(count)}))
        reader = events.join()
        event = reader.take_now()
        assert event is not None
        pieces = list(event.pieces())
        assert len(pieces) > 3
        [read] = read_events(b"".join(pieces).splitlines(keepends=True))
        assert len(read.data["added"]) == count
        events.publish(delta(1, **{f"n{i}": -1 for i in range(count)}))
        [read] = drain(reader)
        assert (read.data["added"], len(read.data["removed"])) == ([], count)


P = URIRef("http://e/p")
NODES = st.sampled_from(
    [URIRef("http://e/a"), Literal("x", lang="en"), Literal("x", lang="EN"), Literal("é\n")]
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "take", "return", "resync"]), NODES, st.integers(0, 2)),
    max_size=60,
)


@given(STEPS, st.integers(0, 4), st.integers(1, 12))
def test_events_add_up_at_any_pace_and_after_any_return(steps: list, history: int, rows: int) -> None:
    """However seldom a reader takes, and however often it comes back, it has the answer in the end."""
    events, graph = EventLog(history=history, rows=rows), rdflib.Graph()
    with rdflive.subscribe(graph, "SELECT ?o { ?s <http://e/p> ?o }", events.publish) as subscription:
        readers = [events.join() for _ in range(3)]
        got: list[list[Event]] = [[], [], []]
        for step, node, who in steps:
            if step == "add":
                graph.add((URIRef(f"http://e/{len(graph)}"), P, node))
            elif step == "remove":
                graph.remove((None, P, node))
            elif step == "take":
                got[who] += drain(readers[who])
            elif step == "resync":
                subscription.resync()
            else:
                events.leave(readers[who])
                seen = next((event.id for event in reversed(got[who]) if event.id), None)
                readers[who] = events.join(seen)
        assert subscription.last_error is None
        answer = Counter(
            json.dumps(json.loads(solution_text(s)), sort_keys=True) for s in subscription.answers()
        )
        for reader, sent in zip(readers, got, strict=True):
            assert total([*sent, *drain(reader)]) == answer
        assert total(drain(events.join())) == answer
        assert len(events) == answer.total()
