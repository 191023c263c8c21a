"""What the clients of a server of events are sent."""

from __future__ import annotations

import json
from collections import Counter
from itertools import takewhile

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Literal, URIRef

import rdflive
from rdflive.model import Delta, Header
from rdflive.sinks.events import KEEP_ALIVE, Client, EventLog
from rdflive.sinks.ndjson import solution_text
from support.sinks import Event, read_events, total

X = Header("SELECT", ("x",))


def delta(sequence: int, *, initial: bool = False, **weights: int) -> Delta:
    return Delta(
        X, {(Literal(x),): weight for x, weight in weights.items()}, sequence=sequence, initial=initial
    )


def begun(*, history: int = 10, backlog: int = 10) -> EventLog:
    """A log whose initial answer is a and twice b."""
    events = EventLog(history=history, backlog=backlog)
    events.publish(delta(4, initial=True, a=1, b=2))
    return events


def drain(client: Client, first: list[bytes]) -> list[Event]:
    """Give what the client has been sent so far."""
    chunks = [
        *first,
        *takewhile(lambda taken: taken not in (KEEP_ALIVE, None), iter(lambda: client.take(0), 0)),
    ]
    return list(read_events(line for chunk in chunks for line in chunk.splitlines(keepends=True)))


def never() -> None:
    raise AssertionError("a client was dropped")


def kinds(events: list[Event]) -> list[tuple[str, str]]:
    """The kinds of events, and their ids without the epoch."""
    return [(event.kind, event.id.partition("-")[0]) for event in events]


def test_events_begin_with_the_current_answer() -> None:
    """A late client is sent the sum of all deltas, then each new one."""
    events = begun()
    events.publish(delta(6, a=-1, b=-1, c=1))
    client, first = events.join(None, never)
    events.publish(delta(7, d=1))
    sent = drain(client, first)
    assert kinds(sent) == [("initial", "6"), ("delta", "7")]
    assert [row["x"]["value"] for row in sent[0].data["added"]] == ["b", "c"]
    assert (sent[0].data["sequence"], sent[0].data["initial"], sent[0].data["removed"]) == (6, True, [])
    assert (sent[1].data["sequence"], sent[1].data["initial"]) == (7, False)


def test_events_wait_for_the_initial_delta() -> None:
    """A client that is there before the subscription is sent the initial delta when it comes."""
    events = EventLog(history=10, backlog=10)
    client, first = events.join(None, never)
    assert first == []
    events.publish(delta(0, initial=True))
    assert kinds(drain(client, first)) == [("initial", "0")]


@pytest.mark.parametrize(
    ("history", "seen", "sent"),
    [
        (10, 4, [("delta", "6"), ("delta", "8")]),
        (10, 5, [("delta", "6"), ("delta", "8")]),
        (10, 6, [("delta", "8")]),
        (10, 8, []),
        (10, 9, [("resync", ""), ("initial", "8")]),
        (10, 3, [("resync", ""), ("initial", "8")]),
        (1, 6, [("delta", "8")]),
        (1, 5, [("resync", ""), ("initial", "8")]),
        (0, 8, []),
        (0, 6, [("resync", ""), ("initial", "8")]),
    ],
)
def test_events_resume_behind_the_last_one(history: int, seen: int, sent: list[tuple[str, str]]) -> None:
    """What followed the last event is sent, or the whole answer where the history is too short."""
    events = begun(history=history)
    start, _ = events.join(None, never)
    epoch = drain(*events.join(None, never))[0].id.partition("-")[2]
    events.leave(start)
    events.publish(delta(6, a=-1))
    events.publish(delta(8, a=1))
    assert kinds(drain(*events.join(f"{seen}-{epoch}", never))) == sent


@pytest.mark.parametrize(
    "last", ["4", "x", "-", "4-", "4-ffffffff", "-1-{}", "4-{}x", "²-{}", "9" * 5000 + "-{}"]
)
def test_events_take_no_foreign_id(last: str) -> None:
    """An id of another run, or none of ours, leads to a new start."""
    events = begun()
    epoch = drain(*events.join(None, never))[0].id.partition("-")[2]
    assert kinds(drain(*events.join(last.format(epoch), never))) == [("resync", ""), ("initial", "4")]


def test_events_of_a_new_initial_delta_make_old_ids_void() -> None:
    """After a resync of the subscription, also one at the same commit, nobody goes on from before it."""
    events = begun()
    client, first = events.join(None, never)
    old = drain(client, first)[0].id
    events.publish(delta(4, initial=True, z=1))
    sent = drain(client, [])
    assert kinds(sent) == [("initial", "4")]
    assert sent[0].id != old
    assert kinds(drain(*events.join(old, never))) == [("resync", ""), ("initial", "4")]
    assert total(drain(*events.join(None, never))) == total(sent)


def test_events_of_ask_carry_the_answer() -> None:
    """The current answer of an ASK query is its boolean."""
    events = EventLog(history=10, backlog=10)
    for sequence, weight in enumerate((1, -1, 1, -1)):
        events.publish(Delta(Header("ASK", ()), {(): weight}, sequence=sequence, initial=not sequence))
    sent = drain(*events.join(None, never))
    assert [event.data for event in sent] == [{"sequence": 3, "initial": True, "boolean": False}]


def test_events_need_the_initial_delta() -> None:
    """A delta that builds on an unknown answer is refused, as late clients could not be served."""
    with pytest.raises(rdflive.RdfliveError, match="subscribe without initial=False"):
        EventLog(history=10, backlog=10).publish(delta(1, a=1))


def test_a_client_that_is_too_slow_is_dropped_once() -> None:
    """When more wait than the backlog holds the client ends, and the others go on."""
    events, dropped = begun(backlog=2), []
    slow, _ = events.join(None, lambda: dropped.append(1))
    quick, first = events.join(None, never)
    for sequence in range(5, 9):
        events.publish(delta(sequence, a=1))
        first += [quick.take(1)]
    assert dropped == [1]
    assert slow.take(1) is None
    assert kinds(drain(quick, first))[1:] == [("delta", str(n)) for n in range(5, 9)]


def test_clients_end_behind_what_waits() -> None:
    """When the log is closed each client still gets its events; one that joins then gets the answer."""
    events = begun()
    client, _ = events.join(None, never)
    events.publish(delta(5, a=1))
    events.close()
    assert kinds(drain(client, [])) == [("delta", "5")]
    assert client.take(0) is None
    late, first = events.join(None, never)
    assert kinds(drain(late, first)) == [("initial", "5")]
    assert late.take(0) is None


def test_a_client_without_events_is_kept_alive() -> None:
    """Where nothing comes in time a comment is sent."""
    client, _ = begun().join(None, never)
    assert client.take(0.01) == KEEP_ALIVE


def test_a_client_that_left_gets_nothing() -> None:
    """Its queue does not grow any more."""
    events = begun(backlog=1)
    client, _ = events.join(None, never)
    events.leave(client)
    for sequence in range(5, 9):
        events.publish(delta(sequence, a=1))
    assert client.take(0) == KEEP_ALIVE


P = URIRef("http://e/p")
NODES = st.sampled_from(
    [URIRef("http://e/a"), Literal("x", lang="en"), Literal("x", lang="EN"), Literal("é\n")]
)
STEPS = st.lists(st.tuples(st.sampled_from(["add", "remove", "leave", "return"]), NODES), max_size=25)


def last_id(events: list[Event]) -> str | None:
    return next((event.id for event in reversed(events) if event.id), None)


@given(STEPS, st.integers(0, 4))
def test_events_add_up_however_often_a_client_comes_back(steps: list, history: int) -> None:
    """With any history, a client that leaves and resumes has the answer of the query in the end."""
    events, graph = EventLog(history=history, backlog=100), rdflib.Graph()
    with rdflive.subscribe(graph, "SELECT ?o { ?s <http://e/p> ?o }", events.publish) as subscription:
        client, first = events.join(None, never)
        got: list[Event] = []
        for step, node in [*steps, ("leave", None), ("return", None), ("leave", None)]:
            if step == "add":
                graph.add((URIRef(f"http://e/{len(graph)}"), P, node))
            elif step == "remove":
                graph.remove((None, P, node))
            elif step == "leave":
                got += drain(client, first)
                events.leave(client)
                first = []
            else:
                events.leave(client)
                client, first = events.join(last_id(got), never)
        assert subscription.last_error is None
        answer = Counter(
            json.dumps(json.loads(solution_text(s)), sort_keys=True) for s in subscription.answers()
        )
        assert total(got) == answer == total(drain(*events.join(None, never)))
