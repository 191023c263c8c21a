"""Oversized, malformed and slow requests end with an error, and leave nothing open behind them."""

from __future__ import annotations

import gc
import json
import os
import socket
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Literal, URIRef

from support.effort import examples
from support.raw_requests import HOST, raw, status
from support.serving import Serving, serving

pytestmark = pytest.mark.posix("the server forks")

NAMED = "SELECT * { GRAPH ?g { ?s ?p ?o } }"
TOO_LONG = {b"400", b"408", b"414", b"431"}


@pytest.fixture(scope="module")
def hurried() -> Iterator[Serving]:
    """A server that lets everybody in, with small limits."""
    limits: dict[str, Any] = {"header_seconds": 0.3, "body_seconds": 0.3, "request_bytes": 10_000}
    with serving(rdflib.Dataset(), **limits) as served:
        yield served
        assert status(served, "GET", "/health") == 200


OVERSIZED: list[tuple[str, bytes, set[bytes]]] = [
    (
        "a header",
        b"GET /health HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n",
        TOO_LONG,
    ),
    ("many headers", b"GET /health HTTP/1.1\r\n" + HOST + b"X: x\r\n" * 100_000 + b"\r\n", TOO_LONG),
    (
        "the address",
        b"GET /?" + b"x" * 100_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        TOO_LONG,
    ),
    (
        "a huge address",
        b"GET /" + b"x" * 5_000_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        TOO_LONG,
    ),
    (
        "a body that says so",
        b"POST /update HTTP/1.1\r\n" + HOST + b"Content-Type: application/sparql-update\r\n"
        b"Content-Length: 10000000\r\n\r\n",
        {b"413"},
    ),
    (
        "a body in chunks",
        b"POST /query HTTP/1.1\r\n" + HOST + b"Content-Type: application/sparql-query\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n" + (b"1000\r\n" + b"x" * 4096 + b"\r\n") * 10,
        {b"413"},
    ),
]


@pytest.mark.parametrize(
    ("what", "request_bytes", "statuses"), OVERSIZED, ids=[case[0] for case in OVERSIZED]
)
def test_oversized_requests_are_refused(
    hurried: Serving, what: str, request_bytes: bytes, statuses: set[bytes]
) -> None:
    """What is too large is refused with its status, or cut off while it is still being sent."""
    answer = raw(hurried, request_bytes)
    assert answer == b"" or answer.split(b" ")[1] in statuses, answer[:200]


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


@pytest.mark.parametrize("request_bytes", MALFORMED, ids=lambda text: repr(text)[2:50])
def test_malformed_requests_are_refused(hurried: Serving, request_bytes: bytes) -> None:
    """What is no request, or two at once to somebody in between, is 4xx or no answer at all."""
    answer = raw(hurried, request_bytes)
    assert answer == b"" or answer.split(b" ")[1][:1] == b"4", answer[:200]
    assert answer.count(b"HTTP/1.1 ") <= 1


PARTS = st.sampled_from(
    [
        b"GET ",
        b"POST ",
        b"/health",
        b"/query",
        b"/subscribe",
        b" HTTP/1.1\r\n",
        b"Host: 127.0.0.1\r\n",
        b"\r\n",
        b"\r\n\r\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
        b"Sec-WebSocket-Version: 13\r\n",
        b"Accept: text/event-stream\r\n",
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
        b"3\r\nabc\r\n",
        b"0\r\n\r\n",
        b"\x81\x85",
        b"\x00",
    ]
)


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


def _never_read(
    served: Serving, request: bytes, then: Callable[[socket.socket], None] = lambda _: None
) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", served.port))
    connection.sendall(request)
    then(connection)
    return connection


def _eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


KEY = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
UPGRADE = (
    b"GET /subscribe HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nConnection: Upgrade\r\n" + KEY + b"\r\n"
)


def _ask_sepa(connection: socket.socket) -> None:
    message = json.dumps({"subscribe": {"sparql": NAMED}}).encode()
    while not connection.recv(1 << 16).endswith(b"\r\n\r\n"):
        pass
    connection.sendall(bytes([0x81, 0x80 | len(message), 0, 0, 0, 0]) + message)


NEVER_READING: dict[str, tuple[bytes, Callable[[socket.socket], None]]] = {
    "changes": (b"GET /changes HTTP/1.1\r\n" + HOST + b"Accept: text/event-stream\r\n\r\n", lambda _: None),
    "events": (
        f"GET /subscribe?query={urllib.parse.quote(NAMED)} HTTP/1.1\r\n".encode() + HOST + b"\r\n",
        lambda _: None,
    ),
    "sepa": (UPGRADE, _ask_sepa),
}  # fmt: skip


@pytest.mark.parametrize("kind", NEVER_READING)
def test_client_that_never_reads_is_let_go(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers do not wait for it, others are told, and in the end its connection and file are gone."""
    for module in ("server.sepa", "sinks.events.stream"):
        monkeypatch.setattr(f"rdflive.{module}._PATIENCE", 0.3)
    dataset = rdflib.Dataset()
    with serving(dataset) as served:
        before = _files()
        request, then = NEVER_READING[kind]
        connection = _never_read(served, request, then)
        _eventually(
            lambda: bool(served.service.changes.followers) or any(t.followers for t in served.service.topics)
        )
        graph = dataset.graph(URIRef("http://e/g"))
        for number in range(60):
            graph.add((URIRef("http://e/s"), URIRef("http://e/p"), Literal(f"{number}" + "x" * 100_000)))
            time.sleep(0.01)
        assert status(served, "GET", "/health") == 200
        _eventually(lambda: not served.service.changes.followers)
        _eventually(lambda: not any(topic.followers for topic in served.service.topics))
        _eventually(lambda: _files() <= before + 1)  # ours
        connection.close()


def _files() -> int:
    return len(os.listdir("/dev/fd"))


def test_nothing_stays_open_behind_a_storm() -> None:
    """After many connections of all kinds, cut at any point, files and memory are what they were."""
    requests = [
        *MALFORMED,
        *(case[1] for case in OVERSIZED),
        UPGRADE,
        *(case[0] for case in NEVER_READING.values()),
    ]
    with serving(rdflib.Dataset(), subscriptions=5) as served:
        _storm(served, requests)
        gc.collect()
        before, held = _files(), len(gc.get_objects())
        for _ in range(3):
            _storm(served, requests)
        _eventually(lambda: _files() <= before)
        gc.collect()
        assert len(gc.get_objects()) < held * 1.05
        assert status(served, "GET", "/health") == 200


def _storm(served: Serving, requests: list[bytes]) -> None:
    for request in requests:
        for cut in (len(request) // 2, len(request)):
            with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
                try:
                    connection.sendall(request[:cut])
                except OSError:
                    continue
    _eventually(lambda: not served.service.changes.followers)
    _eventually(lambda: not any(topic.followers for topic in served.service.topics))
