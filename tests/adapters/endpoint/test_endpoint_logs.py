"""An endpoint behind a change log is followed from a snapshot, exactly, or a new snapshot is asked for."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import rdflib
from rdflib import URIRef

import rdflive
from rdflive.errors import FeedError, ResyncNeeded
from rdflive.model import Quad
from rdflive_stores.endpoint.feed import EndpointFeed
from rdflive_stores.endpoint.requests import EndpointError
from support.effort import drawn_from
from support.mirror_thread import following
from support.misbehaving import Asked, Reply, Server, rows
from support.set_target import EVERYTHING, SetTarget, line, triple

LOG = "/log"


class Logged:
    """An endpoint that writes its changes into a log, told as a document or as events."""

    def __init__(self, server: Server, kind: str, *, ranges: bool = True) -> None:
        self.server = server
        self.ranges = ranges
        self.state: set[int] = set()
        self.units: list[str] = []
        self.first = 0
        self.between: Callable[[], object] = lambda: None
        self.status = 200
        self.log_reply = self.document if kind == "patch" else self.events
        server.answer(lambda asked: self.log_reply(asked) if asked.path == LOG else self.rows(asked))

    def change(self, *numbers: int) -> None:
        """Turn some triples on or off, in one transaction."""
        unit = ["TX ."]
        for number in numbers:
            unit.append(f"{'D' if number in self.state else 'A'} {line(number)}")
            self.state ^= {number}
        self.units.append("\n".join([*unit, "TC .\n"]))

    def rows(self, asked: Asked) -> Reply:
        self.between()
        reply = rows([line(number) for number in self.state])(asked)
        self.between()
        return reply

    def document(self, asked: Asked) -> Reply:
        body = "".join(self.units).encode()
        given = re.fullmatch(r"bytes=(\d+)-", asked.headers["Range"] or "")
        if self.status != 200:
            return Reply(self.status)
        if given is None or not self.ranges:
            return Reply(200, body, {"Content-Type": "application/rdf-patch"})
        start = int(given[1])
        if start >= len(body):
            return Reply(416, b"", {"Content-Range": f"bytes */{len(body)}"})
        part = {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}", "Content-Type": "text/plain"}
        return Reply(206, body[start:], part)

    def events(self, asked: Asked) -> Reply:
        if self.status != 200:
            return Reply(self.status)
        last = asked.headers["Last-Event-ID"]
        present = self.first + len(self.units)
        start = present if last is None else int(last)
        if start < self.first:
            return Reply(410)

        def told() -> Iterator[bytes]:
            yield b"retry: 1\n: hello\n\n"
            if last is None:
                yield f"id: {present}\n\n".encode()
            for number in range(start, self.first + len(self.units)):
                data = "".join(f"data: {text}\n" for text in self.units[number - self.first].splitlines())
                yield f"id: {number + 1}\n{data}\n".encode()

        return Reply(200, told(), {"Content-Type": "text/event-stream"})

    def feed(self, **options: Any) -> EndpointFeed:
        log = self.server.url.replace("/sparql", LOG)
        settings = {"log": log, "every": 0.001, "backoff": 0.001, "tries": 3, "timeout": 5}
        return EndpointFeed(self.server.url, **{"patterns": EVERYTHING, **settings, **options})

    def expected(self) -> set[Any]:
        return {triple(number)[:3] for number in self.state}


@pytest.fixture(params=["patch", "patch without ranges", "event"])
def logged(request: pytest.FixtureRequest, server: Server) -> Logged:
    return Logged(server, request.param.split()[0], ranges="without" not in request.param)


@pytest.mark.sampled(by="make")
@pytest.mark.parametrize("make", [rdflib.Graph, lambda: rdflib.Graph(store="Oxigraph")])
def test_log_is_followed_while_the_endpoint_changes(logged: Logged, make: Callable[[], rdflib.Graph]) -> None:
    """Changes before, during and after the snapshot are all there in the end, each once."""
    choose = drawn_from("log")

    def change() -> None:
        logged.change(*{choose.randrange(30) for _ in range(4)})

    for _ in range(20):
        change()
    logged.between = change
    graph = make()
    counted: dict[Any, int] = {}
    with rdflive.subscribe(graph, "SELECT * { ?s ?p ?o }", lambda delta: add(counted, delta)):
        with following(graph, logged.feed(patterns=None)) as mirrored:
            mirrored.until(lambda: bool(set(graph)))
            for _ in range(4):
                for _ in range(10):
                    change()
                expected = logged.expected()
                mirrored.until(lambda: set(graph) == expected)  # noqa: B023 - called at once
        asked = len(logged.server.asked)
        for _ in range(5):
            change()
        # a mirror that starts again goes on behind its cursor, without a snapshot
        with following(graph, logged.feed(patterns=None)) as mirrored:
            mirrored.until(lambda: set(graph) == logged.expected())
        assert all(asked.path == LOG for asked in logged.server.asked[asked:])
    assert {row for row, weight in counted.items() if weight == 1} == set(graph)
    assert set(counted.values()) <= {0, 1}


def add(counted: dict[Any, int], delta: rdflive.Delta) -> None:
    for solution, weight in delta.weights().items():
        row = (solution.s, solution.p, solution.o)
        counted[row] = counted.get(row, 0) + weight


@pytest.mark.parametrize("how", ["shorter", "other", "gone", "cursor", "none"])
def test_log_that_cannot_go_on_asks_for_a_resync(logged: Logged, how: str) -> None:
    """A log that was cut, written anew or taken away is noticed, and a cursor that is none of it."""
    for number in range(60):
        logged.change(number)
    feed = logged.feed(every=None)
    snapshot = feed.snapshot(SetTarget())
    assert snapshot is not None
    cursor: str | None = snapshot.cursor
    match how:
        case "gone" if logged.log_reply == logged.events:
            logged.status = 412
        case "gone":
            logged.status = 404
        case "cursor":
            cursor = "polled"
        case "none":
            cursor = None
        case _ if logged.log_reply == logged.events:
            logged.log_reply = lambda asked: Reply(
                200, b"event: resync\nid: 9\n\n", {"Content-Type": "text/event-stream"}
            )
        case "shorter":
            del logged.units[30:]
        case "other":
            logged.units[59] = logged.units[59].replace("59", "58")
            logged.change(99)
    with pytest.raises(ResyncNeeded):
        SetTarget().follow(feed, cursor, snapshot.kept)


def test_log_follows_only_what_is_needed(logged: Logged) -> None:
    """Changes that no pattern matches are not taken, and new patterns ask for a resync."""
    logged.change(1, 2)
    feed = logged.feed(patterns=[Quad(URIRef("urn:s0001"), None, None)], every=None)
    target = SetTarget()
    snapshot = feed.snapshot(target)
    assert snapshot is not None
    target.held = set(snapshot.quads) & {triple(1)}
    logged.change(1, 3)
    if logged.log_reply == logged.document:
        target.follow(feed, snapshot.cursor, snapshot.kept)
        assert target.held == set()
    with pytest.raises(ResyncNeeded, match="patterns differ"):
        SetTarget().follow(logged.feed(), snapshot.cursor, snapshot.kept)


def test_log_notices_a_subscription_that_needs_more(logged: Logged) -> None:
    """A subscription that opens later makes the mirror take a new snapshot, for all patterns."""
    logged.change(*range(10))
    graph = rdflib.Graph()
    watching = rdflive.subscribe(graph, "SELECT * { <urn:s0001> ?p ?o }", lambda delta: None)
    with watching, following(graph, logged.feed(patterns=None)) as mirrored:
        mirrored.until(lambda: bool(set(graph)))
        with rdflive.subscribe(graph, "SELECT * { ?s <urn:p> ?o }", lambda delta: None):
            logged.change(50)
            mirrored.until(lambda: set(graph) == logged.expected())


def test_log_of_events_gives_any_id_back(server: Server) -> None:
    """What the id of an event looks like is the server's business; closing ends the wait for the next."""
    logged = Logged(server, "event")
    asked: list[bytes] = []
    closed = threading.Event()

    def told() -> Iterator[bytes]:
        yield "id: 5-€ é\n\n".encode()
        if len(asked) > 1:
            closed.wait(60)

    def reply(request: Asked) -> Reply:
        asked.append((request.headers["Last-Event-ID"] or "").encode("latin-1"))
        return Reply(200, told(), {"Content-Type": "text/event-stream"})

    logged.log_reply = reply
    feed = logged.feed(timeout=60)
    snapshot = feed.snapshot(SetTarget())
    assert snapshot is not None
    assert snapshot.cursor == "event 5-€ é"
    with ThreadPoolExecutor(1) as other:
        entries = other.submit(SetTarget().follow, feed, snapshot.cursor, snapshot.kept)
        while "5-€ é".encode() not in asked:
            time.sleep(0.01)
        feed.close()
        assert entries.result(30) == []
        closed.set()


def test_log_waits_for_the_rest_of_a_transaction(server: Server) -> None:
    """What the writer has not finished is neither applied nor an error, wherever it stops."""
    logged = Logged(server, "patch")
    logged.change(1)
    feed = logged.feed(every=None)
    snapshot = feed.snapshot(SetTarget())
    assert snapshot is not None
    logged.change(2, 3)
    whole = logged.units[1]
    for end in range(len(whole) + 1):
        logged.units[1] = whole[:end]
        target = SetTarget(*snapshot.quads)
        entries = target.follow(feed, snapshot.cursor, snapshot.kept)
        assert len(entries) == (end == len(whole))
        assert len(target.held) == (3 if entries else 1)


@pytest.mark.parametrize("bad", ["a record", "no end"])
def test_log_names_the_place_of_a_bad_record(server: Server, bad: str) -> None:
    """The error has the URL, line and byte, and what came before it is applied."""
    logged = Logged(server, "patch")
    logged.change(1)
    feed = logged.feed(every=None)
    graph = rdflib.Graph()
    rdflive.mirror(graph, feed)
    if bad == "a record":
        logged.change(2)
        good = len("".join(logged.units))
        expected, reason = logged.expected(), rf"/log, line 7: .* \(byte {good}\)"
        logged.units.append("A <urn:s> <urn:p> .\n")
    else:  # where another transaction begins before the end of one
        expected, reason = logged.expected(), "neither TC nor TA"
        logged.change(2)
        logged.units[-1] = logged.units[-1].removesuffix("TC .\n")
        logged.change(3)
    with pytest.raises(FeedError, match=reason):
        rdflive.mirror(graph, feed)
    assert set(graph) == expected


def test_log_with_blank_nodes_needs_stable_labels(server: Server) -> None:
    """Labels of a log name nodes of answers only where the endpoint says so."""
    logged = Logged(server, "patch")
    logged.change(1)
    feed, stable = logged.feed(every=None), logged.feed(every=None, stable_labels=True)
    snapshot = feed.snapshot(SetTarget())
    assert snapshot is not None
    logged.units.append("TX .\nA _:b <urn:p> <urn:o> .\nTC .\n")
    with pytest.raises(EndpointError, match="stable_labels=True if they are"):
        SetTarget().follow(feed, snapshot.cursor, snapshot.kept)
    target = SetTarget()
    target.follow(stable, snapshot.cursor, snapshot.kept)
    assert target.held == {Quad(rdflib.BNode("b"), URIRef("urn:p"), URIRef("urn:o"))}


def test_events_are_decoded_as_one_entry_each(server: Server) -> None:
    """Two transactions in an event are one commit, because its id stands for both; a bad one spoils both."""
    patch = "TX .\ndata: A {}\ndata: TC .\ndata: "
    good = patch.format(line(1)) + patch.format(line(2)).removesuffix("data: ")
    bad = patch.format(line(3)) + "nonsense\n"
    stream = (
        f"retry: 1\nevent: ping\ndata: {{}}\n\ndata: {good}id: 1\n\nid: 2\ndata: {bad}\nid:3\ndata: TX .\n"
    )
    log = server.url.replace("/sparql", LOG)
    server.answer(Reply(200, stream.encode(), {"Content-Type": "text/event-stream"}), Reply(204))
    kept = {"patterns": "?s ?p ?o"}
    feed = EndpointFeed(server.url, patterns=EVERYTHING, log=log, backoff=0)
    one, two = feed.entries("event 0", kept, SetTarget())
    assert one.cursor == "event 1"
    assert one.batch.added == (triple(1), triple(2))
    assert two.error is not None
    assert (two.batch.changes, two.error.line) == ((), 17)  # the line of the stream, retry: included
