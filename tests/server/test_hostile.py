"""Oversized, malformed and slow requests end with an error, and leave nothing open behind them."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import quote

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Literal, URIRef

from rdflive.asgi.addresses import listen
from rdflive.server.app import make_app
from rdflive.server.service import make_server
from support.effort import examples
from support.raw_requests import HOST, raw, status
from support.serving import Serving, serving
from support.waiting import until

pytestmark = pytest.mark.posix("the server forks")

NAMED = "SELECT * { GRAPH ?g { ?s ?p ?o } }"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
KEY = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
SUBSCRIBE = f"GET /subscribe?query={quote(NAMED)} HTTP/1.1\r\n".encode() + HOST + b"\r\n"
HEALTH = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
HANDSHAKE = b"GET /subscribe HTTP/1.1\r\n" + HOST + UPGRADE + KEY + b"\r\n"
TOO_LONG = {b"400", b"408", b"414", b"431"}


@pytest.fixture(scope="module")
def hurried() -> Iterator[Serving]:
    """A server without tokens, with small limits."""
    limits: dict[str, Any] = {"header_seconds": 0.3, "body_seconds": 0.3, "request_bytes": 10_000}
    with serving(rdflib.Dataset(), **limits) as served:
        yield served
        assert status(served, "GET", "/health") == 200


SPARQL = b"Content-Type: application/sparql-query\r\n"
OVERSIZED: dict[str, tuple[bytes, set[bytes]]] = {
    "a header": (b"GET /health HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n", TOO_LONG),
    "many headers": (b"GET /health HTTP/1.1\r\n" + HOST + b"X: x\r\n" * 100_000 + b"\r\n", TOO_LONG),
    "the address": (b"GET /?" + b"x" * 100_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", TOO_LONG),
    "a huge address": (b"GET /" + b"x" * 5_000_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", TOO_LONG),
    "a body that says so": (
        b"POST /query HTTP/1.1\r\n" + HOST + SPARQL + b"Content-Length: 10000000\r\n\r\n",
        {b"413"},
    ),
    "a body in chunks": (
        b"POST /query HTTP/1.1\r\n" + HOST + SPARQL + b"Transfer-Encoding: chunked\r\n\r\n"
        + (b"1000\r\n" + b"x" * 4096 + b"\r\n") * 10,
        {b"413"},
    ),
}  # fmt: skip


def test_oversized_requests_are_refused(hurried: Serving) -> None:
    """What is too large is refused with its status, or cut off while it is still being sent."""
    for what, (request, statuses) in OVERSIZED.items():
        answer = raw(hurried, request)
        assert answer == b"" or answer.split(b" ")[1] in statuses, (what, answer[:200])


MALFORMED = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\r\n\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET /health\r\n\r\n",
    b"GET /health HTTP/9.9\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
    b"GET /health HTTP/1.1\r\n" + HOST + b"X\x00Y: z\r\n\r\n",
    b"GET /query?query=\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
    b"POST /query HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
    b"POST /query HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nContent-Length: 50\r\n\r\nhello",
    b"POST /query HTTP/1.1\r\n" + HOST + b"Content-Length: 5, 50\r\n\r\nhello",
    b"POST /query HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
    b"POST /query HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    b"POST /query HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello",
    b"POST /query HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"GET /subscribe HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]


def test_malformed_requests_are_refused(hurried: Serving) -> None:
    """Malformed requests, and those that a proxy may read as two, get 4xx or no response."""
    for request in MALFORMED:
        answer = raw(hurried, request)
        assert answer == b"" or answer.split(b" ")[1][:1] == b"4", (request, answer[:200])
        assert answer.count(b"HTTP/1.1 ") <= 1


PARTS = st.sampled_from(
    [
        b"GET ", b"POST ", b"/health", b"/query", b"/subscribe", b" HTTP/1.1\r\n", b"Host: 127.0.0.1\r\n",
        b"\r\n", b"\r\n\r\n", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n", b"Accept: text/event-stream\r\n", UPGRADE,
        *KEY.splitlines(keepends=True), b"3\r\nabc\r\n", b"0\r\n\r\n", b"\x81\x85", b"\x00",
    ]
)  # fmt: skip


@given(st.lists(st.one_of(PARTS, st.binary(max_size=20)), max_size=12).map(b"".join))
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_leave_the_server_serving(hurried: Serving, sent: bytes) -> None:
    """No bytes on the socket are answered with 5xx."""
    answer = raw(hurried, sent)
    assert b"HTTP/1.1 5" not in answer


@pytest.mark.parametrize(
    ("begin", "drop", "statuses"),
    [
        (b"GET /health HTTP/1.1\r\nX: ", b"x", {b"408"}),
        (b"", b"G", {b"408", b"400"}),
        (
            b"POST /query HTTP/1.1\r\nConnection: close\r\n" + HOST
            + b"Content-Type: application/sparql-query\r\nContent-Length: 99\r\n\r\n",
            b"x", {b"408"},
        ),
    ],
    ids=["head", "first byte", "body"],
)  # fmt: skip
def test_slow_requests_are_cut(hurried: Serving, begin: bytes, drop: bytes, statuses: set[bytes]) -> None:
    """A request that comes drop by drop is ended with 408; others are served meanwhile."""
    with socket.create_connection(("127.0.0.1", hurried.port), timeout=30) as connection:
        connection.sendall(begin)
        connection.settimeout(0.05)
        answer = b""
        for _ in range(200):
            try:
                connection.sendall(drop)
                piece = connection.recv(1 << 16)
                answer += piece
                if not piece:
                    break
            except TimeoutError:
                assert status(hurried, "GET", "/health") == 200
            except OSError:
                break
        else:
            pytest.fail("the server went on waiting")
        assert answer.split(b" ")[1] in statuses


NEVER_READING: dict[str, bytes] = {
    "changes": b"GET /changes HTTP/1.1\r\n" + HOST + b"Accept: text/event-stream\r\n\r\n",
    "events": SUBSCRIBE,
}


@pytest.mark.parametrize("kind", NEVER_READING)
def test_client_that_never_reads_is_let_go(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers do not wait for it, others are told, and in the end its connection and file are gone."""
    monkeypatch.setattr("rdflive.sinks.events.stream._PATIENCE", 0.3)
    dataset = rdflib.Dataset()
    with serving(dataset) as served:
        before = _files()
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", served.port))
        connection.sendall(NEVER_READING[kind])
        until(lambda: followers(served))
        graph = dataset.graph(URIRef("http://e/g"))
        for number in range(60):
            graph.add((URIRef("http://e/s"), URIRef("http://e/p"), Literal(f"{number}" + "x" * 100_000)))
            time.sleep(0.01)
        assert status(served, "GET", "/health") == 200
        until(lambda: not followers(served))
        until(lambda: _files() <= before + 1)  # ours
        connection.close()


def _files() -> int:
    return len(os.listdir("/dev/fd"))


def followers(served: Serving) -> int:
    """Count the clients that follow anything."""
    return served.service.changes.followers.total() + sum(
        len(topic.followers) for topic in served.service.topics
    )


def test_nothing_stays_open_behind_a_storm() -> None:
    """After many connections of all kinds, cut at any point, files and memory are what they were."""
    requests = [
        *MALFORMED,
        *(case[0] for case in OVERSIZED.values()),
        HANDSHAKE,
        *NEVER_READING.values(),
    ]
    with serving(rdflib.Dataset(), subscriptions=5) as served:
        _storm(served, requests)
        gc.collect()
        before, held = _files(), len(gc.get_objects())
        for _ in range(3):
            _storm(served, requests)
        until(lambda: _files() <= before and gc.collect() >= 0 and len(gc.get_objects()) < held * 1.05)
        assert status(served, "GET", "/health") == 200


def _storm(served: Serving, requests: list[bytes]) -> None:
    for request in requests:
        for cut in (len(request) // 2, len(request)):
            with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
                try:
                    connection.sendall(request[:cut])
                except OSError:
                    continue
    until(lambda: not followers(served))


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    """A server with the usual limits."""
    with serving() as running:
        yield running


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_ends_that_comes_with_the_end(turns: int, capfd: pytest.CaptureFixture[str]) -> None:
    """However far the server has got with it, the client does not wait, and the server not for it."""
    listener = listen("127.0.0.1", 0)
    ending = make_server(make_app(rdflib.Dataset()))
    with ExitStack() as clients:

        async def come() -> None:
            clients.enter_context(client := socket.create_connection(listener.getsockname(), timeout=20))
            came.append(client)
            for _ in range(turns):
                await asyncio.sleep(0)

        came: list[socket.socket] = []
        ending.main_loop = come  # type: ignore[method-assign]  # the server ends when it is through
        ending.run([listener])
        with suppress(ConnectionResetError):
            assert came[0].recv(1) == b""
    assert capfd.readouterr().err == ""


def test_streams_end_with_their_client_whatever_it_sent_behind(server: Serving) -> None:
    """A request that waits behind a stream does not keep it open."""
    before = followers(server)
    with ExitStack() as stack:
        for _ in range(3):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 20))
            connection.sendall(SUBSCRIBE + HEALTH + HANDSHAKE + HEALTH)
            assert b"200" in connection.recv(1 << 16)
        until(lambda: followers(server) == before + 3)
    until(lambda: followers(server) == before)


def test_requests_behind_one_another_are_answered_in_order(server: Serving) -> None:
    """As long as none of them is a stream."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(HEALTH * 4 + HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert all_of(connection).count(b"HTTP/1.1 200") == 5


def all_of(connection: socket.socket) -> bytes:
    """Read what comes until the server ends the connection."""
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))
