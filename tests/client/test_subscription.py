"""Subscriptions to a server that does as a script tells it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import rdflib
from rdflib import URIRef

import rdflive
from rdflive.client import RemoteSubscription
from rdflive.http import Pace
from support.event_server import (
    PATIENCE,
    QUICK,
    EventServer,
    Wire,
    initial,
    stay,
    update,
    whole,
    written,
)

QUERY = "SELECT ?s { ?s a <urn:Train> }"


def names(solutions: Any) -> str:
    return "".join(sorted(str(solution.s).removeprefix("urn:") for solution in solutions))


def shown(delta: rdflive.Delta) -> tuple[int, str, str]:
    return delta.sequence, names(delta.added), names(delta.removed)


def cut(*events: str, chunked: bool = False) -> Any:
    """Make a script that accepts, sends events, and closes the connection."""

    def script(wire: Wire) -> None:
        wire.head(chunked=chunked)
        for event in events:
            wire.raw(event)

    return script


def test_the_names_are_those_of_a_subscription_in_process() -> None:
    """Both kinds of subscriptions have the same public names, and the remote one tells of its connection."""

    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")} | {
            name for name in ("__aiter__", "__enter__", "__exit__", "__repr__") if name in vars(kind)
        }

    assert public(RemoteSubscription) == public(rdflive.Subscription) | {"connected"}


def own_names(subscription: object) -> set[str]:
    """List the public attributes that are kept with an object, in its slots or in its `__dict__`."""
    slots = {name for kind in type(subscription).__mro__ for name in getattr(kind, "__slots__", ())}
    names = {name for name in slots if hasattr(subscription, name)} | set(
        getattr(subscription, "__dict__", ())
    )
    return {name for name in names if name[0] != "_"}


def test_both_kinds_have_the_same_instance_attributes(server: EventServer) -> None:
    """What a subscription has as attributes of its own has the same names too."""
    server.play(stay(whole("0-e")))
    with (
        server.client().subscribe(QUERY) as remote,
        rdflive.subscribe(rdflib.Graph(), QUERY) as local,
    ):
        assert own_names(remote) == own_names(local)


def test_nothing_is_sent_before_a_subscription(server: EventServer) -> None:
    """To name a server is no request."""
    rdflive.connect(server.url, "secret")
    assert server.asked == []


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
        assert (total.sequence, total.first_sequence, names(total.added)) == (9, 3, "bcd")
        assert names(subscription.answers()) == "bcd"
        assert subscription.last_error is None


def test_a_callback_is_called_with_each_delta(server: EventServer) -> None:
    """It runs in one thread of its own, in order, the whole answer first."""
    server.play(stay(whole("3-e", "a"), update("5-e", "b"), update("6-e", "", "ab")))
    told: list[Any] = []
    done = threading.Event()

    def take(delta: rdflive.Delta) -> None:
        told.append((delta.initial, *shown(delta), threading.current_thread().name))
        if len(told) == 3:
            done.set()

    with server.client().subscribe(QUERY, take, name="board"):
        assert done.wait(PATIENCE)
    thread = "rdflive-board"
    assert told == [(True, 3, "a", "", thread), (False, 5, "b", "", thread), (False, 6, "", "ab", thread)]


def test_without_initial_only_changes_come(server: EventServer) -> None:
    """With `initial=False` no iterator starts with the answer, which is known all the same."""
    server.play(stay(whole("3-e", "a"), update("5-e", "b")))
    with server.client().subscribe(QUERY, initial=False) as subscription:
        assert shown(next(subscription.deltas(PATIENCE))) == (5, "b", "")
        assert names(subscription.answers()) == "ab"
        with pytest.raises(TimeoutError):
            next(subscription.deltas(0))


def test_an_empty_answer_is_told(server: EventServer) -> None:
    """The initial delta comes even when it is empty."""
    server.play(stay(whole("3-e")))
    with server.client().subscribe(QUERY) as subscription:
        assert next(subscription.deltas(PATIENCE)).initial


def test_a_second_iterator_goes_on(server: EventServer) -> None:
    """What waits belongs to the subscription, one delta for each that was sent."""
    server.play(stay(whole("3-e", "a"), update("5-e", "b")))
    with server.client().subscribe(QUERY) as subscription:
        first = next(subscription.deltas(PATIENCE))
        second = next(subscription.deltas(PATIENCE))
        assert (first.initial, *shown(first)) == (True, 3, "a", "")
        assert (second.initial, *shown(second)) == (False, 5, "b", "")


def test_an_iterator_beside_a_callback_starts_with_the_current_answer(server: EventServer) -> None:
    """The queue begins with the first iterator."""
    server.play(stay(whole("3-e", "a"), update("5-e", "b")))
    told = threading.Event()
    with server.client().subscribe(QUERY, lambda delta: delta.sequence == 5 and told.set()) as subscription:
        assert told.wait(PATIENCE)
        first = subscription.next(PATIENCE)
        assert (first.initial, *shown(first)) == (True, 5, "ab", "")


def test_a_callback_runs_in_the_loop_or_an_executor(server: EventServer) -> None:
    """As in process: in order, one at a time."""
    told: list[Any] = []

    async def follow() -> None:
        done = asyncio.Event()

        async def take(delta: rdflive.Delta) -> None:
            await asyncio.sleep(0)
            told.append((*shown(delta), threading.current_thread() is threading.main_thread()))
            if delta.sequence == 6:
                done.set()

        server.play(stay(whole("3-e", "a"), update("5-e", "b"), update("6-e", "", "ab")))
        with server.client().subscribe(QUERY, take):
            await asyncio.wait_for(done.wait(), PATIENCE)

    asyncio.run(follow())
    assert told == [(3, "a", "", True), (5, "b", "", True), (6, "", "ab", True)]
    threads: list[str] = []
    server.play(stay(whole("3-e", "a")))
    with (
        ThreadPoolExecutor(1, "pool") as pool,
        server.client().subscribe(
            QUERY, lambda _: threads.append(threading.current_thread().name), executor=pool
        ),
    ):
        end = time.monotonic() + PATIENCE
        while not threads and time.monotonic() < end:
            time.sleep(0.005)
    assert [name.startswith("pool") for name in threads] == [True]


def test_a_callback_that_was_interrupted_elsewhere_is_told_the_whole_answer(server: EventServer) -> None:
    """Nobody knows how much of its delta it has taken; what comes then is told once."""
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


def test_a_task_follows(server: EventServer) -> None:
    """`async for` works as in process."""
    server.play(stay(whole("3-e", "a"), update("5-e", "b"), written("end", detail="enough")))

    async def follow() -> str:
        found = ""
        with server.client().subscribe(QUERY, on_error="ignore") as subscription:
            async for delta in subscription:
                found += names(delta.added)
        return found

    assert asyncio.run(follow()) == "ab"


def test_ask_answers_change(server: EventServer) -> None:
    """An ASK query has its truth in place of solutions."""
    head: dict[str, Any] = {"form": "ASK", "head": {"vars": []}, "subscription": "x"}
    events = [
        written("initial", "1-e", sequence=1, boolean=False, **head),
        written("update", "2-e", sequence=2, boolean=True),
        written("update", "3-e", sequence=3, boolean=True),
        written("update", "4-e", sequence=4, boolean=False),
    ]
    server.play(stay(*events))
    told: list[Any] = []
    done = threading.Event()

    def take(delta: rdflive.Delta) -> None:
        told.append((delta.sequence, delta.answer))
        if delta.sequence == 4:
            done.set()

    with server.client().subscribe("ASK {}", take) as subscription:
        assert done.wait(PATIENCE)
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
    """Its graph follows the server, and can be subscribed to itself."""
    server.play(constructed)
    with server.client().subscribe("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }") as subscription:
        with rdflive.subscribe(subscription.graph, "SELECT ?s { ?s ?p ?o }") as inner:
            deltas = inner.deltas(PATIENCE)
            while names(inner.answers()) != "b":
                next(deltas)
        assert list(subscription.graph) == [(URIRef("urn:b"), URIRef("urn:b"), rdflib.Literal("b"))]
        assert subscription.answers() == list(subscription.graph)


def test_an_iterator_that_is_opened_during_a_delivery_gets_it_once(server: EventServer) -> None:
    """Whoever sees the graph change and opens an iterator then has that change in its first delta."""
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


def test_only_construct_has_a_graph(server: EventServer) -> None:
    """Another query has none."""
    server.play(stay(whole("0-e")))
    with server.client().subscribe(QUERY) as subscription, pytest.raises(AttributeError, match="CONSTRUCT"):
        _ = subscription.graph


def test_a_failing_callback_is_reported_and_goes_on(
    server: EventServer, caplog: pytest.LogCaptureFixture
) -> None:
    """What a callback raises is kept, and logged or handed to `on_error`; the next delta comes too."""
    server.play(stay(whole("3-e", "a"), update("5-e", "b")))
    told: list[Any] = []
    done = threading.Event()

    def take(delta: rdflive.Delta) -> None:
        if delta.initial:
            raise ValueError("no board")
        done.set()

    with server.client().subscribe(QUERY, take) as subscription:
        assert done.wait(PATIENCE)
        assert str(subscription.last_error) == "no board"
    assert f"a delivery of subscription {QUERY!r} failed" in caplog.text
    server.play(stay(whole("3-e", "a"), update("5-e", "b")))
    done.clear()
    with server.client().subscribe(QUERY, take, on_error=lambda *given: told.append(given)) as subscription:
        assert done.wait(PATIENCE)
        assert told == [(subscription, subscription.last_error)]


def test_what_cannot_be_called_back_is_refused(server: EventServer) -> None:
    """A callback is callable, and on_error one of three; nothing is sent."""
    client: Any = server.client()
    with pytest.raises(TypeError, match="callback"):
        client.subscribe(QUERY, "print")
    with pytest.raises(ValueError, match="on_error"):
        client.subscribe(QUERY, on_error="shout")
    assert server.asked == []


def test_statistics_are_those_of_the_server(server: EventServer) -> None:
    """What the server counts is asked for by the id of the subscription; deltas are counted here."""
    counted = {"algorithms": ["star"], "updates": 7, "matched": 3, "deltas": 99, "entries": 2, "size": 5}
    counted |= {"seconds": 0.5, "callback_seconds": 9.0}
    server.play(
        stay(whole("0-e")),
        lambda wire: wire.head(kind="application/json").raw(json.dumps({"stats": counted})),
        lambda wire: wire.head(kind="application/json").raw("{}"),
        lambda wire: wire.head(404),
    )
    with server.client().subscribe(QUERY) as subscription:
        stats = subscription.stats
        assert (stats.algorithms, stats.updates, stats.deltas, stats.callback_seconds) == (
            ("star",),
            7,
            1,
            0.0,
        )
        assert server.asked[1].target == "/subscriptions/ab12"
        with pytest.raises(rdflive.ServerError, match="no statistics"):
            _ = subscription.stats
        with pytest.raises(rdflive.ServerError, match="HTTP 404"):
            _ = subscription.stats


def test_the_server_explains(server: EventServer) -> None:
    """The explanation prints as text and shows as a picture."""
    server.play(
        stay(whole("0-e")),
        lambda wire: wire.head(kind="application/json").raw(
            '{"text": "T", "svg": "<svg/>", "algorithms": ["star"], "notes": ["N"]}'
        ),
        lambda wire: wire.head(kind="application/json").raw("[1]"),
        lambda wire: wire.head(kind="application/json").raw("{}"),
        lambda wire: wire.head(kind="application/json").raw("{"),
    )
    with server.client().subscribe(QUERY, entailment="rdfs") as subscription:
        explanation = subscription.explain()
        assert (str(explanation), explanation.svg(), explanation.algorithms) == ("T", "<svg/>", ("star",))
        assert explanation.notes == ("N",)
        assert (server.asked[1].target, server.asked[1].body) == ("/explain?entailment=rdfs", QUERY)
        for reason in ("no JSON object", "no explanation", "cannot be read"):
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


def test_a_callback_may_close(server: EventServer) -> None:
    """A subscription that its own callback closes delivers nothing more."""
    server.play(stay(whole("3-e", "a"), update("5-e", "b"), update("6-e", "c")))
    told: list[Any] = []
    ready, done = threading.Event(), threading.Event()

    def take(delta: rdflive.Delta) -> None:
        assert ready.wait(PATIENCE)
        told.append(delta.sequence)
        if delta.sequence == 5:
            subscription.close()
            done.set()

    subscription = server.client().subscribe(QUERY, take)
    ready.set()
    assert done.wait(PATIENCE)
    thread = next((t for t in threading.enumerate() if t.name == "rdflive-client"), None)
    if thread is not None:
        thread.join(PATIENCE)
    assert told == [3, 5]


def test_closing_does_not_wait_for_the_next_try(server: EventServer) -> None:
    """A subscription that waits to come back is closed at once, and its thread ends."""
    server.play(cut(whole("3-e", "a")))
    slow = Pace(silence=QUICK.silence, first=1000.0, longest=1000.0)
    subscription = server.client(slow).subscribe(QUERY, name="slow")
    thread = next(t for t in threading.enumerate() if t.name == "rdflive-slow")
    subscription.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()
