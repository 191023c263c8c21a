"""The server of events, over real connections."""

from __future__ import annotations

import http.client
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, takewhile
from shutil import which
from time import monotonic, sleep
from urllib.parse import urlsplit

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from rdflive.sinks import SseSink
from support.sinks import Event, listening, read_events, total

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
    """A client is sent the current answer and then each delta while the connection stays open."""
    with listening(sink.url) as events:
        initial = next(events)
        assert initial.kind == "initial"
        assert initial.data["added"][0]["o"]["value"] == "é\n"
        for number in (1, 2, 3):
            add(graph, number)
            event = next(events)
            assert (event.kind, event.data["sequence"]) == ("update", number)
            assert event.id.startswith(f"{number}-")


def test_sse_resumes_by_the_last_event_id(graph: rdflib.Graph, sink: SseSink) -> None:
    """A client that comes back gets what it missed, and no initial answer."""
    with listening(sink.url) as events:
        seen = [next(events)]
    for number in range(1, 5):
        add(graph, number)
    with listening(sink.url, seen[-1].id) as events:
        missed = next(events)
        assert (missed.kind, missed.data["first_sequence"], missed.data["sequence"]) == ("update", 1, 4)
    with listening(sink.url, "1-00000000") as events:
        assert [event.kind for event in islice(events, 2)] == ["resync", "initial"]


def test_sse_serves_many_clients(graph: rdflib.Graph, sink: SseSink) -> None:
    """A hundred clients all get every event, and end with the sink."""
    totals: list[object] = []
    ready = threading.Barrier(101, timeout=60)

    def follow() -> None:
        with listening(sink.url) as events:
            got = [next(events)]
            ready.wait()
            totals.append(total([*got, *events]))

    threads = [threading.Thread(target=follow) for _ in range(100)]
    for thread in threads:
        thread.start()
    ready.wait()
    for number in range(1, 11):
        add(graph, number)
    sink.close()
    for thread in threads:
        thread.join()
    assert len(totals) == 100
    assert all(answer == totals[0] and len(answer) == 11 for answer in totals)


def test_sse_merges_for_a_client_that_takes_nothing(graph: rdflib.Graph, sink: SseSink) -> None:
    """The writer goes on, and what the client could not take comes as fewer events of the same sum."""
    host, port = urlsplit(sink.url).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow.recv(1, socket.MSG_PEEK)
        for number in range(1, 121):
            add(graph, number, "long " * 40_000)
        with http.client.HTTPResponse(slow) as response:
            response.begin()
            assert response.status == 200
            got = up_to(120, read_events(response))
    assert [event.kind for event in got] == ["initial"] + ["update"] * (len(got) - 1)
    assert len(got) < 121
    with listening(sink.url) as events:
        assert total(got) == total([next(events)])
    assert sum(total(got).values()) == 121


def up_to(sequence: int, events: Iterator[Event]) -> list[Event]:
    """Take events up to the one of a commit."""
    got = []
    for event in events:
        got.append(event)
        if event.data.get("sequence") == sequence:
            break
    return got


def test_sse_keeps_connections_alive(graph: rdflib.Graph) -> None:
    """While nothing happens heartbeats are sent, which say where the client is."""
    sink = SseSink(keep_alive=0.02)
    with rdflive.subscribe(graph, QUERY, sink), listening(sink.url) as events:
        first, *others = islice(events, 3)
    sink.close()
    assert first.kind == "initial"
    assert [(event.kind, event.id) for event in others] == [("heartbeat", first.id)] * 2


def test_sse_forgets_clients_that_went(graph: rdflib.Graph) -> None:
    """A connection that was closed is found out, and its thread ends."""
    sink = SseSink(keep_alive=0.02)
    with rdflive.subscribe(graph, QUERY, sink):
        for _ in range(5):
            with listening(sink.url) as events:
                next(events)
        deadline = monotonic() + 20
        while sink._events._readers and monotonic() < deadline:
            sleep(0.01)
        assert not sink._events._readers
    sink.close()


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
    """Who does not read is cut off after some seconds, and a delta that comes later is nobody's."""
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
        begun = monotonic()
        sink.close()
        assert monotonic() - begun < 20
        add(graph, 121)
        assert subscription.last_error is None
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"path": "/other"}, 404),
        ({"path": "/%2e%2e"}, 404),
        ({"method": "POST"}, 501),
        ({"Host": "example.org"}, 403),
        ({"Host": "example.org:80"}, 403),
        ({"Host": "[x"}, 403),
        ({"path": "x://["}, 400),
    ],
)
def test_sse_refuses_what_is_not_for_it(
    sink: SseSink, given: dict[str, str], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Other paths, methods and hosts are told so; a web page cannot reach it under its own name."""
    assert request(sink, **given)[0] == status
    assert caplog.messages == []


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:80", "127.9.9.9"])
def test_sse_may_be_called_by_any_name_of_this_machine(sink: SseSink, host: str) -> None:
    """Whatever means loopback is served."""
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


def test_sse_survives_rubbish(sink: SseSink) -> None:
    """What is no HTTP is answered or dropped, and the server goes on."""
    host, port = urlsplit(sink.url).netloc.split(":")
    for rubbish in (
        b"",
        b"\r\n\r\n",
        b"GET",
        b"\x16\x03\x01" * 9,
        b"GET / HTTP/9.9\r\n\r\n",
        b"A" * 70_000 + b"\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(rubbish)
            connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                connection.recv(1000)
    with listening(sink.url) as events:
        assert next(events).kind == "initial"


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


def test_sse_needs_the_initial_delta(graph: rdflib.Graph) -> None:
    """Without it the error says how to subscribe."""
    sink = SseSink()
    with rdflive.subscribe(graph, QUERY, sink, initial=False, on_error="ignore") as subscription:
        add(graph, 1)
        assert "subscribe without initial=False" in str(subscription.last_error)
    sink.close()


def test_curl_understands_the_events(graph: rdflib.Graph, sink: SseSink) -> None:
    """The program people try first shows the stream."""
    curl = which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    with subprocess.Popen([curl, "-sN", "--noproxy", "*", sink.url], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = list(takewhile(lambda line: line != b"\n", process.stdout))
        assert [line.split(b":")[0] for line in first] == [b"id", b"event", b"data"]
        sink.close()
        assert process.wait(20) == 0
