"""Subscriptions to a server that does as a script tells it."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pytest
import rdflib
from rdflib import URIRef

import rdflive
from rdflive.client import RemoteSubscription
from rdflive.http import RetryPace
from support.event_server import (
    PATIENCE,
    QUICK,
    EventServer,
    Script,
    Wire,
    cut,
    initial,
    letters,
    stay,
    update,
    whole,
    written,
)

QUERY = "SELECT ?s { ?s a <urn:Train> }"


def shown(delta: rdflive.Delta) -> tuple[int, str, str]:
    return delta.sequence, letters(delta.added), letters(delta.removed)


def public(kind: type) -> set[str]:
    """List the public names of a class, and some others that it defines itself."""
    special = {"__aiter__", "__enter__", "__exit__", "__repr__"} & vars(kind).keys()
    return special | {name for name in dir(kind) if not name.startswith("_")}


def own_names(subscription: object) -> set[str]:
    """List the public attributes that are kept with an object, in its slots or in its `__dict__`."""
    slots = {name for kind in type(subscription).__mro__ for name in getattr(kind, "__slots__", ())}
    names = {name for name in slots if hasattr(subscription, name)} | {*getattr(subscription, "__dict__", ())}
    return {name for name in names if name[0] != "_"}


def test_the_names_are_those_of_a_subscription_in_process(server: EventServer) -> None:
    """Both kinds have the same public names and attributes; the remote one tells of its connection too."""
    assert public(RemoteSubscription) == public(rdflive.Subscription) | {"connected"}
    server.play(stay(whole("0-e")))
    with server.client().subscribe(QUERY) as remote, rdflive.subscribe(rdflib.Graph(), QUERY) as local:
        assert own_names(remote) == own_names(local)


def test_the_request_says_what_is_asked(server: EventServer) -> None:
    """The query is the body, options are in the URL, the token is in its header."""
    server.play(stay(whole("0-e")))
    client = server.client(token="secret")
    with client.subscribe(QUERY, initNs={"ex": "http://e/"}, entailment="rdfs", name="board") as subscription:
        assert (subscription.query, subscription.name, subscription.connected) == (QUERY, "board", True)
        assert repr(subscription) == "<RemoteSubscription 'board' open>"
    asked = server.asked[0]
    assert (asked.method, asked.target) == ("POST", "/subscribe?entailment=rdfs")
    assert asked.body == f"PREFIX ex: <http://e/> {QUERY}"
    assert asked.headers["authorization"] == "Bearer secret"
    assert asked.headers["content-type"] == "application/sparql-query"
    assert asked.headers["accept"] == "text/event-stream"
    assert asked.last is None


@pytest.mark.parametrize("chunked", [False, True])
def test_deltas_come_as_they_are_sent(server: EventServer, chunked: bool) -> None:
    """The first delta is the whole answer; updates follow, with the numbers of the server."""
    merged = update("9-e", "d", "", first_sequence=6)
    server.play(stay(whole("3-e", "a", "b"), update("5-e", "c", "a"), merged, chunked=chunked))
    with server.client().subscribe(QUERY) as subscription:
        deltas = subscription.deltas(PATIENCE)
        total = next(deltas)
        assert total.initial
        assert total.names == ("s",)
        while total.sequence < 9:
            total += next(deltas)
        assert (total.sequence, total.first_sequence, letters(total.added)) == (9, 3, "bcd")
        assert letters(subscription.answers()) == "bcd"
        assert subscription.last_error is None


def test_a_callback_is_called_with_each_delta(server: EventServer) -> None:
    """It runs in one thread of its own, in order, the whole answer first; it may close the subscription."""
    events = [whole("3-e", "a"), update("5-e", "b"), update("6-e", "", "ab"), update("7-e", "c")]
    server.play(stay(*events))
    told: list[Any] = []
    ready = threading.Event()

    def take(delta: rdflive.Delta) -> None:
        assert ready.wait(PATIENCE)
        told.append((delta.initial, *shown(delta), threading.current_thread().name))
        if delta.sequence == 6:
            subscription.close()

    subscription = server.client().subscribe(QUERY, take, name="board")
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "rdflive-board"]
    ready.set()
    thread.join(PATIENCE)
    name = "rdflive-board"
    assert told == [(True, 3, "a", "", name), (False, 5, "b", "", name), (False, 6, "", "ab", name)]


def test_iterators_begin_with_the_answer(server: EventServer) -> None:
    """A second iterator goes on, and with `initial=False` none has the answer, though it is known."""
    server.play(stay(whole("3-e", "a"), update("5-e", "b")))
    client, told = server.client(), threading.Event()
    with client.subscribe(QUERY, initial=False) as subscription:
        assert shown(next(subscription.deltas(PATIENCE))) == (5, "b", "")
        assert letters(subscription.answers()) == "ab"
        with pytest.raises(TimeoutError):
            next(subscription.deltas(0))
    with client.subscribe(QUERY) as subscription:
        first, second = (next(subscription.deltas(PATIENCE)) for _ in range(2))
        assert (first.initial, *shown(first)) == (True, 3, "a", "")
        assert (second.initial, *shown(second)) == (False, 5, "b", "")
    with client.subscribe(QUERY, lambda delta: delta.sequence == 5 and told.set()) as subscription:
        assert told.wait(PATIENCE)
        first = subscription.next(PATIENCE)
        assert (first.initial, *shown(first)) == (True, 5, "ab", "")
    server.play(stay(whole("3-e")))
    with client.subscribe(QUERY) as subscription:
        assert next(subscription.deltas(PATIENCE)).initial  # even when it is empty


def test_a_callback_that_was_interrupted_elsewhere_is_told_the_whole_answer(server: EventServer) -> None:
    """The callback may have taken a part of its delta; later changes are delivered once."""
    told: list[Any] = []
    begin, done = threading.Event(), threading.Event()

    def script(wire: Wire) -> None:
        initial(wire, "3-e", "a").raw(update("5-e", "b"))
        assert begin.wait(PATIENCE)
        wire.raw(update("6-e", "c", "a")).wait()

    def take(delta: rdflive.Delta) -> None:
        told.append((delta.initial, *shown(delta)))
        if delta.sequence == 5 and not delta.initial:
            raise SystemExit
        if delta.sequence == 6:
            done.set()

    server.play(script)
    with (
        ThreadPoolExecutor(1) as pool,
        server.client().subscribe(QUERY, take, executor=pool, on_error=lambda *_: begin.set()),
    ):
        assert done.wait(PATIENCE)
    assert told == [(True, 3, "a", ""), (False, 5, "b", ""), (True, 5, "ab", ""), (False, 6, "c", "a")]


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, MemoryError])
def test_the_thread_that_follows_is_not_ended_by_its_callback(
    server: EventServer, raised: type[BaseException]
) -> None:
    """A callback that was interrupted there is told the whole answer with what comes next."""
    told: list[Any] = []
    begin, done = threading.Event(), threading.Event()

    def script(wire: Wire) -> None:
        initial(wire, "3-e", "a").raw(update("5-e", "b"))
        assert begin.wait(PATIENCE)
        wire.raw(update("6-e", "c", "a")).raw(update("7-e", "d")).wait()

    def take(delta: rdflive.Delta) -> None:
        told.append((delta.initial, *shown(delta)))
        if delta.sequence == 5:
            raise raised
        if delta.sequence == 7:
            done.set()

    server.play(script)
    with server.client().subscribe(QUERY, take, on_error=lambda *_: begin.set()):
        assert done.wait(PATIENCE)
    assert told == [(True, 3, "a", ""), (False, 5, "b", ""), (True, 6, "bc", ""), (False, 7, "d", "")]


def test_a_task_follows(server: EventServer) -> None:
    """`async for` works as in process."""
    server.play(stay(whole("3-e", "a"), update("5-e", "b"), written("end", detail="enough")))

    async def follow() -> str:
        found = ""
        with server.client().subscribe(QUERY, on_error="ignore") as subscription:
            async for delta in subscription:
                found += letters(delta.added)
        return found

    assert asyncio.run(follow()) == "ab"


def test_ask_answers_change(server: EventServer) -> None:
    """An ASK query has its truth in place of solutions."""
    head: dict[str, Any] = {"form": "ASK", "head": {"vars": []}, "subscription": "x"}
    first = written("initial", "1-e", sequence=1, boolean=False, **head)
    updates = [written("update", f"{n}-e", sequence=n, boolean=n < 4) for n in (2, 3, 4)]
    server.play(stay(first, *updates))
    with server.client().subscribe("ASK {}") as subscription:
        told = [(delta.sequence, delta.answer) for delta in islice(subscription.deltas(PATIENCE), 3)]
        assert subscription.answers() == []
    assert told == [(1, False), (2, True), (4, False)]


TRIPLE = {"vars": ["subject", "predicate", "object"]}


def triple(value: str) -> dict[str, Any]:
    node = {"type": "uri", "value": f"urn:{value}"}
    return {"subject": node, "predicate": node, "object": {"type": "literal", "value": value}}


def constructed(wire: Wire) -> None:
    wire.head().event("initial", "1-e", sequence=1, form="CONSTRUCT", head=TRIPLE, added=[triple("a")])
    wire.event("update", "2-e", sequence=2, added=[triple("b")], removed=[triple("a")])
    wire.wait()


def test_a_construct_query_has_a_live_graph(server: EventServer) -> None:
    """Its graph follows the server, and can be subscribed to itself; another query has none."""
    server.play(stay(whole("0-e")))
    with server.client().subscribe(QUERY) as other, pytest.raises(AttributeError, match="CONSTRUCT"):
        _ = other.graph
    server.play(constructed)
    with server.client().subscribe("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }") as subscription:
        with rdflive.subscribe(subscription.graph, "SELECT ?s { ?s ?p ?o }") as inner:
            deltas = inner.deltas(PATIENCE)
            while letters(inner.answers()) != "b":
                next(deltas)
        assert list(subscription.graph) == [(URIRef("urn:b"), URIRef("urn:b"), rdflib.Literal("b"))]
        assert subscription.answers() == list(subscription.graph)


def test_an_iterator_that_is_opened_during_a_delivery_gets_it_once(server: EventServer) -> None:
    """An iterator opened after a change of the graph has that change in its first delta."""
    begin, done = threading.Event(), threading.Event()
    opened: list[Any] = []

    def script(wire: Wire) -> None:
        wire.head().event("initial", "1-e", sequence=1, form="CONSTRUCT", head=TRIPLE, added=[triple("a")])
        assert begin.wait(PATIENCE)
        wire.event("update", "2-e", sequence=2, added=[triple("b")], removed=[triple("a")])
        wire.wait()

    def told(delta: rdflive.Delta) -> None:
        if not delta.initial:
            done.set()

    server.play(script)
    with server.client().subscribe("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", told) as subscription:
        inner = rdflive.subscribe(
            subscription.graph,
            "ASK { <urn:b> ?p ?o }",
            lambda _: opened.append(subscription.deltas(PATIENCE)),
            initial=False,
        )
        begin.set()
        assert done.wait(PATIENCE)
        inner.close()
        (deltas,) = opened
        first = next(deltas)
        assert (first.initial, first.sequence, len(first.added), len(first.removed)) == (True, 2, 1, 0)
        with pytest.raises(TimeoutError):
            subscription.next(timeout=0)


@pytest.mark.parametrize("is_handled", [False, True])
def test_a_failing_callback_is_reported_and_goes_on(
    server: EventServer, caplog: pytest.LogCaptureFixture, is_handled: bool
) -> None:
    """What a callback raises is kept, and logged or handed to `on_error`; the next delta comes too."""
    server.play(stay(whole("3-e", "a"), update("5-e", "b")))
    told: list[Any] = []
    done = threading.Event()

    def take(delta: rdflive.Delta) -> None:
        if delta.initial:
            raise ValueError("no board")
        done.set()

    on_error: Any = (lambda *given: told.append(given)) if is_handled else "log"
    with server.client().subscribe(QUERY, take, on_error=on_error) as subscription:
        assert done.wait(PATIENCE)
        assert str(subscription.last_error) == "no board"
        assert told == ([(subscription, subscription.last_error)] if is_handled else [])
    assert (f"a delivery of subscription {QUERY!r} failed" in caplog.text) is not is_handled


def test_nothing_is_sent_before_a_subscription(server: EventServer) -> None:
    """To name a server is no request; a callback is callable, and on_error one of three."""
    rdflive.connect(server.url, "secret")
    client: Any = server.client()
    with pytest.raises(TypeError, match="callback"):
        client.subscribe(QUERY, "print")
    with pytest.raises(ValueError, match="on_error"):
        client.subscribe(QUERY, on_error="shout")
    assert server.asked == []


def answering(*bodies: str) -> list[Script]:
    """Make scripts: an empty answer is followed, and what else is asked for gets these."""
    return [
        stay(whole("0-e")),
        *(lambda wire, body=body: wire.head(kind="application/json").raw(body) for body in bodies),
    ]


def test_statistics_are_those_of_the_server(server: EventServer) -> None:
    """What the server counts is asked for by the id of the subscription; deltas are counted here."""
    counted = {"algorithms": ["star"], "updates": 7, "matched": 3, "deltas": 99, "entries": 2, "size": 5}
    counted |= {"seconds": 0.5, "callback_seconds": 9.0}
    server.play(*answering(json.dumps({"stats": counted}), "{}"), lambda wire: wire.head(404))
    with server.client().subscribe(QUERY) as subscription:
        stats = subscription.stats
        assert (stats.algorithms, stats.updates) == (("star",), 7)
        assert (stats.deltas, stats.callback_seconds) == (1, 0.0)
        assert server.asked[1].target == "/subscriptions/ab12"
        for reason in ("no statistics", "HTTP 404"):
            with pytest.raises(rdflive.ServerError, match=reason):
                _ = subscription.stats


def test_the_server_explains(server: EventServer) -> None:
    """The explanation prints as text and shows as a picture."""
    told = {"text": "T", "svg": "<svg/>", "algorithms": ["star"], "notes": ["N"]}
    server.play(*answering(json.dumps(told), "[1]", "{}", "{"))
    with server.client().subscribe(QUERY, entailment="rdfs") as subscription:
        explanation = subscription.explain()
        assert (str(explanation), explanation.svg(), explanation.algorithms) == ("T", "<svg/>", ("star",))
        assert explanation.notes == ("N",)
        assert (server.asked[1].target, server.asked[1].body) == ("/explain?entailment=rdfs", QUERY)
        for reason in ("not a JSON object", "no explanation", "cannot be read"):
            with pytest.raises(rdflive.ServerError, match=reason):
                subscription.explain()


def test_a_closed_subscription_says_so(server: EventServer) -> None:
    """It may be closed twice, ends its iterators, frees the connection, and answers nothing more."""
    gone = threading.Event()

    def script(wire: Wire) -> None:
        initial(wire, "3-e", "a").wait()
        gone.set()

    server.play(script)
    subscription = server.client().subscribe(QUERY)
    deltas = subscription.deltas(PATIENCE)
    subscription.close()
    subscription.close()
    assert [shown(delta) for delta in deltas] == [(3, "a", "")]
    assert gone.wait(PATIENCE)
    assert (subscription.closed, subscription.connected, subscription.last_error) == (True, False, None)
    assert repr(subscription).endswith("closed>")
    for use in ("answers", "deltas", "explain", "resync"):
        with pytest.raises(rdflive.ClosedError, match="subscribe again"):
            getattr(subscription, use)()
    with pytest.raises(rdflive.ClosedError):
        _ = subscription.stats


def test_closing_does_not_wait_for_the_next_try(server: EventServer) -> None:
    """A subscription that waits to come back is closed at once, and its thread ends."""
    server.play(cut(whole("3-e", "a")))
    slow = RetryPace(silence=QUICK.silence, first=1000.0, longest=1000.0)
    subscription = server.client(slow).subscribe(QUERY, name="slow")
    thread = next(t for t in threading.enumerate() if t.name == "rdflive-slow")
    subscription.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()
