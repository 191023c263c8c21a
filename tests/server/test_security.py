"""Without a token nothing is open, each right gives only itself, and no page of another site gets in."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import urllib.parse
from collections.abc import Iterator

import pytest
import rdflib
from starlette.routing import Route
from starlette.types import Message

from rdflive.server.access import Client, digest
from rdflive.server.app import make_app
from support.protocol import asked
from support.raw_requests import HOST, raw, status
from support.serving import Serving, serving

pytestmark = pytest.mark.posix("the server forks")

METHODS = ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "QUERY"]
PATHS = [
    route.path.replace("{name}", "x")
    for route in (make_app(rdflib.Dataset()).routes if hasattr(os, "fork") else ())
    if isinstance(route, Route)
]
SELECT = urllib.parse.quote("SELECT * { ?s ?p ?o }")
INSERT = urllib.parse.quote("INSERT DATA { <http://e/s> <http://e/p> 1 }")
TOKENS = {right: f"{right}-0123456789abcdef" for right in ("read", "update", "subscribe")}
CLIENTS = {digest(token): Client(right, frozenset({right})) for right, token in TOKENS.items()}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Serving]:
    """A server that asks for tokens."""
    with serving(rdflib.Dataset(), tokens=CLIENTS) as served:
        yield served


@pytest.fixture(scope="module")
def open_server() -> Iterator[Serving]:
    """A server without tokens."""
    with serving(rdflib.Dataset()) as served:
        yield served


@pytest.mark.parametrize("path", PATHS)
def test_the_gate_refuses_requests_without_a_token(guarded: Serving, path: str) -> None:
    """All but /health, /ready, /login and /static is 401, whatever the method, with a wrong token too."""
    for method in METHODS:
        expected = {
            "/health": 200 if method in ("GET", "HEAD") else 405,
            "/ready": 200 if method in ("GET", "HEAD") else 405,
            "/login": 401 if method == "POST" else 405,
            "/static/x": 404 if method in ("GET", "HEAD") else 405,
        }
        body = b"token=nonsense" if method == "POST" else None
        for wrong in ({}, {"Authorization": "Bearer nonsense", "Cookie": "rdflive_token=nonsense"}):
            assert status(guarded, method, path, body, **wrong) == expected.get(path, 401), method


ODD_PATHS = [
    "//query", "/query/", "/%71uery", "/QUERY", "/./query", "/query%3f", r"/\query", "/%", "/%zz", "*",
    "query", "/health/../query", "/health/..%2fquery", "/health%2f..%2fquery", "/health;/query", "/health/",
    "/health/x", "/health%00", "/health%20", "//health/../query", "/health%3f/../query", "/login/../query",
    "/static/../query", "/static/..%2f..%2fapp.py", "http://127.0.0.1/query",
    "http://elsewhere.example/query", "/é",
]  # fmt: skip


def test_odd_spellings_of_paths_open_nothing(guarded: Serving) -> None:
    """Whatever a path looks like, it is /health itself or it needs a token, and no file comes of it."""
    for path in ODD_PATHS:
        request = f"GET {path}?query={SELECT} HTTP/1.1\r\n".encode("latin-1")
        answer = raw(guarded, request + HOST + b"Connection: close\r\n\r\n")
        assert answer.split(b" ")[1:2] in ([], [b"401"], [b"400"]), (path, answer)


RIGHTS = {
    "read": [("GET", f"/query?query={SELECT}", None)],
    "update": [("POST", "/update", f"update={INSERT}".encode())],
    "subscribe": [
        ("GET", f"/explain?query={SELECT}", None),
        ("GET", "/subscriptions", None),
        ("GET", "/vocabulary", None),
        ("GET", "/changes", None),
        ("HEAD", "/changes", None),
    ],
}
FOR_ALL = [("GET", path, None) for path in ("/", "/metrics", "/openapi.json", "/health")]


@pytest.mark.parametrize("right", RIGHTS)
def test_each_right_gives_only_itself(guarded: Serving, right: str) -> None:
    """A token with one right is 200 there, 403 for what needs another; the page is for all who have one."""
    headers = {
        "Authorization": f"Bearer {TOKENS[right]}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    for needed, requests in [*RIGHTS.items(), (right, FOR_ALL)]:
        for method, path, body in requests:
            given = status(guarded, method, path, body, **headers)
            assert given in ((200, 204) if needed == right else (403,)), path
    stream = status(guarded, "GET", f"/subscribe?query={SELECT}", **headers)
    assert stream == (200 if right == "subscribe" else 403)


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
def test_an_offer_of_another_protocol_is_ignored(open_server: Serving, protocol: str) -> None:
    """The request is answered over HTTP, with its body, and later ones of its connection too.

    Java offers h2c with its first request.
    """
    offer = f"Host: 127.0.0.1\r\nUpgrade: {protocol}\r\nConnection: Upgrade\r\n"
    query = offer + "Content-Type: application/sparql-query\r\n"
    requests = [
        (f"GET /subscribe HTTP/1.1\r\n{offer}\r\n", 400),
        (f"POST /query HTTP/1.1\r\n{query}Content-Length: 6\r\n\r\nASK {{}}", 200),
        (f"POST /query HTTP/1.1\r\n{query}Transfer-Encoding: chunked\r\n\r\n6\r\nASK {{}}\r\n0\r\n\r\n", 200),
        ("GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", 404),
    ]
    sent = "".join(text for text, _ in requests).encode()
    for step in (1, 7, len(sent)):
        with socket.create_connection(("127.0.0.1", open_server.port), timeout=30) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for start in range(0, len(sent), step):
                connection.sendall(sent[start : start + step])
            answer = b"".join(iter(lambda c=connection: c.recv(1 << 16), b""))  # type: ignore[misc]
        statuses = [int(found) for found in re.findall(rb"HTTP/1.1 (\d+)", answer)]
        assert statuses == [status for _, status in requests], step
    with socket.create_connection(("127.0.0.1", open_server.port), timeout=30) as connection:
        head = f"POST /query HTTP/1.1\r\n{query}Content-Length: 6\r\nExpect: 100-continue\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 100 ")  # the application waits for the body
        connection.sendall(b"ASK {}")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_a_mounted_application_closes_websockets() -> None:
    """No route is one."""
    told: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        told.append(message)

    scope = {"type": "websocket", "path": "/subscribe", "headers": [], "query_string": b""}
    asyncio.run(make_app(rdflib.Dataset())(scope, receive, send))
    assert [message["type"] for message in told] == ["websocket.close"]


SCRIPT = "<script>alert(1)</script>"
REFLECTING = [
    "/{}",
    "/query?query={}",
    "/explain?query=SELECT%20?x%20%7B%20?x%20?y%20%22{}%22%20%7D",
    "/subscribe?query={}",
    "/subscribe?{}=1",
    "/subscriptions/{}",
    "/changes?since={}",
    "/static/{}",
]


def test_script_comes_back_as_data_only(open_server: Serving) -> None:
    """What a request says comes back as JSON or not at all, and never as a page."""
    for path in REFLECTING:
        target = path.format(urllib.parse.quote(SCRIPT, safe=""))
        reply = asked(open_server, "GET", target, Accept="text/html, */*")
        assert reply.kind in ("application/json", "application/problem+json"), path
        assert SCRIPT not in reply.json.get("svg", "")


@pytest.mark.parametrize(
    ("scheme", "secure"), [(None, False), ("http", False), ("https", True), ("HTTPS, http", True)]
)
def test_the_cookie_of_a_token_is_secure_where_the_page_is(
    guarded: Serving, scheme: str | None, secure: bool
) -> None:
    """A proxy that does TLS says so in a header."""
    body = b"token=" + TOKENS["read"].encode()
    told = b"" if scheme is None else b"X-Forwarded-Proto: %s\r\n" % scheme.encode()
    head = b"POST /login HTTP/1.1\r\n" + HOST + told + b"Content-Length: %d\r\n\r\n" % len(body)
    answer = raw(guarded, head + body)
    assert answer.startswith(b"HTTP/1.1 303")
    cookie = answer.lower().partition(b"set-cookie:")[2].partition(b"\r\n")[0]
    assert (b"secure" in cookie) == secure


def test_a_token_that_no_cookie_can_hold_is_refused(open_server: Serving) -> None:
    """The form comes again, although a server without tokens takes any other."""
    assert status(open_server, "POST", "/login", "token=€".encode()) == 401
    assert status(open_server, "POST", "/login", b"token=any") == 303


@pytest.mark.parametrize(
    "then",
    ["query=ASK%7B%7D", "//evil.example", "https://evil.example/", "\r\nX-Evil: 1", "é{nonce}", '"><script>'],
)
def test_signing_in_never_leads_away(guarded: Serving, then: str) -> None:
    """Whatever the form is told to go on to is a query part of the page's own address."""
    for token, expected in ((TOKENS["read"], 303), ("nonsense", 401)):
        body = urllib.parse.urlencode({"token": token, "then": then}).encode()
        reply = asked(guarded, "POST", "/login", body, Content_Type="application/x-www-form-urlencoded")
        assert reply.status == expected
        assert reply.headers["X-Evil"] is None
        assert b"<script" not in reply.body
        assert expected != 303 or reply.headers["Location"].startswith("/?")
