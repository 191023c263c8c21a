"""The server of events, over real connections."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from itertools import islice
from urllib.parse import urlsplit

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from rdflive.sinks import SseSink
from support.effort import rounds
from support.sinks import listening, total
from support.waiting import until

pytest.importorskip("uvicorn", reason="needs the extra rdflive[server]")

P = URIRef("http://e/p")
QUERY = "SELECT ?s ?o { ?s <http://e/p> ?o }"


@pytest.fixture
def graph() -> rdflib.Graph:
    graph = rdflib.Graph()
    graph.add((URIRef("http://e/0"), P, Literal("é\n")))
    return graph


@pytest.fixture
def sink(graph: rdflib.Graph) -> Iterator[SseSink]:
    """A sink that is subscribed to the graph."""
    sink = SseSink(history=50)
    with rdflive.subscribe(graph, QUERY, sink) as subscription:
        yield sink
        assert subscription.last_error is None
    sink.close()


def add(graph: rdflib.Graph, number: int, text: str = "") -> None:
    graph.add((URIRef(f"http://e/{number}"), P, Literal(text)))


def request(sink: SseSink, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(sink.url).netloc, timeout=20)
    connection.request(method, path, headers=headers)
    with connection.getresponse() as response:
        answer = response.status, response.read()
    connection.close()
    return answer


def test_sse_streams_events(graph: rdflib.Graph, sink: SseSink) -> None:
    """A client is sent the current answer and then each delta; one that comes back, what it missed."""
    with listening(sink.url) as events:
        initial = next(events)
        assert initial.kind == "initial"
        assert initial.data["added"][0]["o"]["value"] == "é\n"
        for number in (1, 2, 3):
            add(graph, number)
            event = next(events)
            assert (event.kind, event.data["sequence"]) == ("update", number)
            assert event.id.startswith(f"{number}-")
    with listening(sink.url, initial.id) as events:
        missed = next(events)
        assert (missed.kind, missed.data["first_sequence"], missed.data["sequence"]) == ("update", 1, 3)
    with listening(sink.url, "1-00000000") as events:
        assert [event.kind for event in islice(events, 2)] == ["resync", "initial"]


def test_sse_serves_many_clients(graph: rdflib.Graph, sink: SseSink) -> None:
    """All of them get every event, and end with the sink."""
    totals: list[object] = []
    count = rounds(100)
    ready = threading.Barrier(count + 1, timeout=60)

    def follow() -> None:
        with listening(sink.url) as events:
            got = [next(events)]
            ready.wait()
            totals.append(total([*got, *events]))

    threads = [threading.Thread(target=follow) for _ in range(count)]
    for thread in threads:
        thread.start()
    ready.wait()
    for number in range(1, 11):
        add(graph, number)
    sink.close()
    for thread in threads:
        thread.join()
    assert len(totals) == count
    assert all(answer == totals[0] and len(answer) == 11 for answer in totals)


def test_sse_keeps_connections_alive(graph: rdflib.Graph) -> None:
    """While nothing happens heartbeats are sent, which say where the client is; it may go."""
    sink = SseSink(keep_alive=0.02)
    with rdflive.subscribe(graph, QUERY, sink):
        with listening(sink.url) as events:
            first, *others = islice(events, 3)
        until(lambda: not sink._events._readers)
    sink.close()
    assert first.kind == "initial"
    assert [(event.kind, event.id) for event in others] == [("heartbeat", first.id)] * 2


def test_sse_closes_at_once_and_twice(graph: rdflib.Graph) -> None:
    """Closing ends all connections, also one that has asked for nothing yet, and leaves no thread."""
    before = set(threading.enumerate())
    sink = SseSink()
    host, port = urlsplit(sink.url).netloc.split(":")
    with (
        rdflive.subscribe(graph, QUERY, sink),
        listening(sink.url) as events,
        socket.create_connection((host, int(port))),
    ):
        next(events)
        sink.close()
        assert list(events) == []
    sink.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)))


def test_sse_closes_though_a_client_takes_nothing(
    graph: rdflib.Graph, caplog: pytest.LogCaptureFixture
) -> None:
    """A client that does not read is cut after some seconds, and later deltas have no reader."""
    sink = SseSink()
    host, port = urlsplit(sink.url).netloc.split(":")
    with (
        rdflive.subscribe(graph, QUERY, sink) as subscription,
        socket.create_connection((host, int(port))) as client,
    ):
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(1)
        for number in range(1, 121):
            add(graph, number, "long " * 40_000)
        sink.close()  # without the cut it would wait for ever
        add(graph, 121)
        assert subscription.last_error is None
    assert caplog.messages == []


REFUSED: list[tuple[dict[str, str], int]] = [
    ({"path": "/other"}, 404),
    ({"path": "/%2e%2e"}, 404),
    ({"method": "POST"}, 501),
    ({"Host": "example.org"}, 403),
    ({"Host": "example.org:80"}, 403),
    ({"Host": "[x"}, 403),
    ({"path": "x://["}, 400),
]


def test_sse_refuses_what_is_not_for_it(sink: SseSink, caplog: pytest.LogCaptureFixture) -> None:
    """Other paths, methods and hosts are told so; a web page cannot reach it under its own name."""
    for given, status in REFUSED:
        assert request(sink, **given)[0] == status, given
    assert caplog.messages == []
    for host in ("localhost:1", "127.0.0.1", "[::1]:80", "127.9.9.9"):
        with listening(sink.url + "?x", Host=host) as events:
            assert next(events).kind == "initial"


def test_sse_listens_on_the_address_it_is_given(graph: rdflib.Graph) -> None:
    """An address of IPv6 is in brackets in the URL."""
    try:
        sink = SseSink("::1")
    except rdflive.RdfliveError:
        pytest.skip("there is no IPv6 here")
    assert sink.url.startswith("http://[::1]:")
    with rdflive.subscribe(graph, QUERY, sink), listening(sink.url) as events:
        assert next(events).kind == "initial"
    sink.close()


def test_sse_says_where_it_cannot_listen() -> None:
    """A port that is taken, or a host that is not ours, is an error that names it."""
    sink = SseSink()
    port = urlsplit(sink.url).port
    with pytest.raises(
        rdflive.RdfliveError, match=f"cannot listen on 127.0.0.1 port {port}: Address already"
    ):
        SseSink(port=port)
    sink.close()
    for host, number in (("192.0.2.1", 0), ("x" * 80, 0), ("127.0.0.1", 70_000), ("127.0.0.1", -1)):
        with pytest.raises(rdflive.RdfliveError, match="cannot listen on"):
            SseSink(host, number)
