"""Connections that ask for two things at once, or for what no answer is to: each ends with its client."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from urllib.parse import quote

import pytest
from rdflib import Dataset

from rdflive.asgi.addresses import listen
from rdflive.server.app import make_app
from rdflive.server.run import make_server
from support.raw_requests import HOST
from support.serving import Serving, serving
from support.waiting import until

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
KEY = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
SUBSCRIBE = f"GET /subscribe?query={quote('SELECT * { ?s ?p ?o }')} HTTP/1.1\r\n".encode() + HOST + b"\r\n"
HEALTH = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
HANDSHAKE = b"GET /subscribe HTTP/1.1\r\n" + HOST + UPGRADE + KEY


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving() as running:
        yield running


def followers(server: Serving) -> int:
    return sum(len(topic.followers) for topic in server.service.topics)


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_ends_that_comes_with_the_end(turns: int, capfd: pytest.CaptureFixture[str]) -> None:
    """However far the server has got with it, nobody waits: not the client, and not the server for it."""
    listener = listen("127.0.0.1", 0)
    ending = make_server(make_app(Dataset()))
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


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /query HTTP/1.1\r\n" + HOST + UPGRADE + b"Content-Length: 6\r\n\r\nASK {}",
        HANDSHAKE + b"Content-Length: 5\r\n\r\nhello",
        HANDSHAKE + b"Transfer-Encoding: chunked\r\n\r\n",
        HANDSHAKE + b"".join(b"X%d: 1\r\n" % number for number in range(200)) + b"\r\n",
        HANDSHAKE.replace(b"/subscribe", b"/subscribe?" + b"a" * 9000) + b"\r\n",
    ],
    ids=["post", "body", "chunked", "headers", "address"],
)
def test_what_is_no_handshake_is_refused_at_once(server: Serving, sent: bytes) -> None:
    """The connection ends although the client keeps its side open; a handshake is taken as ever."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(sent)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 4"), answer[:200]
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(HANDSHAKE + b"\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 101")


def test_streams_end_with_their_client_whatever_it_sent_behind(server: Serving) -> None:
    """A request that waits behind a stream does not keep it open."""
    before = followers(server)
    with ExitStack() as stack:
        for _ in range(3):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 20))
            connection.sendall(SUBSCRIBE + HEALTH + HEALTH)
            assert b"200" in connection.recv(1 << 16)
        until(lambda: followers(server) == before + 3)
    until(lambda: followers(server) == before)


def test_requests_behind_one_another_are_answered_in_order(server: Serving) -> None:
    """As long as none of them is a stream."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(HEALTH * 4 + HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    assert answer.count(b"HTTP/1.1 200") == 5


def test_a_handshake_behind_a_stream_ends_the_connection(server: Serving) -> None:
    """Events and messages cannot share it."""
    before = followers(server)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(SUBSCRIBE)
        assert b"200" in connection.recv(1 << 16)
        connection.sendall(HANDSHAKE + b"\r\n")
        with suppress(ConnectionResetError):  # the kernel may tell the end either way
            while connection.recv(1 << 16):
                pass
    until(lambda: followers(server) == before)


def test_the_end_of_the_server_minds_no_half_handshake() -> None:
    """A client that says nothing behind an upgrade does not hold it up."""
    with socket.socket() as connection:
        with serving() as server:
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(b"GET /subscribe HTTP/1.1\r\n" + HOST + UPGRADE)
            time.sleep(0.1)
        connection.settimeout(20)
        assert connection.recv(1 << 16) == b""
