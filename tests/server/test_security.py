"""Without a token nothing is open, each right gives only itself, and no page of another site gets in."""

from __future__ import annotations

import http.client
import json
import os
import urllib.parse
from collections.abc import Iterator
from contextlib import closing

import pytest
import rdflib
from starlette.routing import Route

from rdflive.server.access import Client, digest
from rdflive.server.app import make_app
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
    """A server that lets everybody in."""
    with serving(rdflib.Dataset()) as served:
        yield served


@pytest.mark.parametrize("path", PATHS)
def test_nobody_gets_past_the_gate_without_a_token(guarded: Serving, path: str) -> None:
    """Every route and method but those of /health and /login is 401, with a wrong token too."""
    for method in METHODS:
        expected = {
            "/health": 200 if method in ("GET", "HEAD") else 405,
            "/login": 401 if method == "POST" else 405,
        }
        body = b"token=nonsense" if method == "POST" else None
        assert status(guarded, method, path, body) == expected.get(path, 401), method
        bearer = {"Authorization": "Bearer nonsense", "Cookie": "rdflive_token=nonsense"}
        assert status(guarded, method, path, body, **bearer) == expected.get(path, 401), method


ODD_PATHS = [
    r"//query",
    r"/query/",
    r"/%71uery",
    r"/QUERY",
    r"/./query",
    r"/query%3f",
    r"/\query",
    r"/%",
    r"/%zz",
    r"*",
    r"query",
    r"/health/../query",
    r"/health/..%2fquery",
    r"/health%2f..%2fquery",
    r"/health;/query",
    r"/health/",
    r"/health/x",
    r"/health%00",
    r"/health%20",
    r"//health/../query",
    r"/health%3f/../query",
    r"/login/../query",
    r"/static/../query",
    r"/static/..%2f..%2fapp.py",
    r"http://127.0.0.1/query",
    r"http://elsewhere.example/query",
    r"/é",
]


@pytest.mark.parametrize("path", ODD_PATHS)
def test_odd_spellings_of_paths_open_nothing(guarded: Serving, path: str) -> None:
    """Whatever a path looks like, it is /health itself or it needs a token, and no file comes of it."""
    request = f"GET {path}?query={SELECT} HTTP/1.1\r\n".encode("latin-1")
    answer = raw(guarded, request + HOST + b"Connection: close\r\n\r\n")
    assert answer.split(b" ")[1:2] in ([], [b"401"], [b"400"]), answer


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


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"Origin": "http://evil.example"}, True),
        ({"Origin": "null"}, True),
        ({"Host": "evil.example"}, True),
        ({"Host": "127.0.0.1.evil.example"}, True),
        ({"Host": "localhost:{port}"}, False),
        ({"Origin": "http://127.0.0.1:{port}"}, False),
    ],
)
def test_sockets_of_other_sites_are_refused(
    open_server: Serving, headers: dict[str, str], refused: bool
) -> None:
    """A page of another site, or of another name for this machine, opens no WebSocket."""
    given = {name: value.format(port=open_server.port) for name, value in headers.items()}
    lines = {"Host": f"127.0.0.1:{open_server.port}", **given}
    answer = raw(
        open_server,
        b"GET /subscribe HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        + "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode()
        + b"\r\n",
    )
    assert answer.split(b" ")[1] == (b"403" if refused else b"101")


SCRIPT = "<script>alert(1)</script>"


@pytest.mark.parametrize(
    "path",
    [
        f"/{urllib.parse.quote(SCRIPT)}",
        f"/query?query={urllib.parse.quote(SCRIPT)}",
        f"/explain?query={urllib.parse.quote('SELECT ?x { ?x ?y ' + chr(34) + SCRIPT + chr(34) + ' }')}",
        f"/subscribe?query={urllib.parse.quote(SCRIPT)}",
        f"/subscribe?{urllib.parse.quote(SCRIPT)}=1",
        f"/subscriptions/{urllib.parse.quote(SCRIPT, safe='')}",
        f"/changes?since={urllib.parse.quote(SCRIPT)}",
        f"/static/{urllib.parse.quote(SCRIPT, safe='')}",
    ],
)
def test_script_comes_back_as_data_only(open_server: Serving, path: str) -> None:
    """What a request says comes back as JSON or not at all, and never as a page."""
    with closing(http.client.HTTPConnection("127.0.0.1", open_server.port, timeout=30)) as connection:
        connection.request("GET", path, headers={"Accept": "text/html, */*"})
        response = connection.getresponse()
        text = response.read().decode()
        kind = response.headers.get_content_type()
    assert kind in ("application/json", "application/problem+json"), kind
    assert SCRIPT not in json.loads(text).get("svg", "")


@pytest.mark.parametrize(
    "split", ["%0d%0aX-Injected: 1", "%0aX-Injected: 1", "%E5%98%8D%E5%98%8AX-Injected: 1"]
)
def test_no_header_can_be_smuggled_in(open_server: Serving, split: str) -> None:
    """Line breaks in what a request says make no header of the answer."""
    for path in (f"/changes?since={split}", f"/subscribe?alias={split}", f"/{split}", f"/static/{split}"):
        request = f"GET {urllib.parse.quote(path, safe='/?=%&')} HTTP/1.1\r\n".encode()
        answer = raw(open_server, request + HOST + b"Connection: close\r\n\r\n")
        head = answer.partition(b"\r\n\r\n")[0].lower()
        assert not any(line.startswith(b"x-injected") for line in head.replace(b"\n", b"\r\n").split(b"\r\n"))


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
    with closing(http.client.HTTPConnection("127.0.0.1", guarded.port)) as connection:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for token, expected in ((TOKENS["read"], 303), ("nonsense", 401)):
            body = urllib.parse.urlencode({"token": token, "then": then})
            connection.request("POST", "/login", body, form)
            response = connection.getresponse()
            text = response.read().decode()
            assert response.status == expected
            assert response.getheader("X-Evil") is None
            assert "<script" not in text
            if expected == 303:
                assert (response.getheader("Location") or "").startswith("/?")
