"""Pages of other sites: those that the server allows, and how they learn about errors."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
import rdflib

from rdflive.asgi.addresses import read_origin
from rdflive.cli.command import main
from rdflive.server.access import COOKIE, Client, digest
from rdflive.server.app import make_app
from support.protocol import Reply, answered, asked, updated
from support.serving import Serving, serving

pytestmark = pytest.mark.posix("the server forks")

PAGE = "http://localhost:3000"
OTHER = "http://localhost:3001"
TOKEN = "a-token-of-alice"
ALICE = {digest(TOKEN): Client("alice", frozenset({"read", "update", "subscribe"}))}
INSERT = "INSERT DATA { <urn:s> <urn:p> 1 }"
SELECT = "SELECT * { ?s ?p ?o }"
QUERY = "/query?" + urllib.parse.urlencode({"query": SELECT})
SUBSCRIBE = "/subscribe?" + urllib.parse.urlencode({"query": SELECT})


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    """A server that every user of this machine may use, and one page of another site."""
    with serving(rdflib.Dataset(), allow_origins=[PAGE + "/"]) as served:
        yield served


@pytest.fixture(scope="module")
def guarded() -> Iterator[Serving]:
    """A server that asks for tokens."""
    with serving(rdflib.Dataset(), tokens=ALICE, allow_origins=[PAGE]) as served:
        yield served


def preflight(server: Serving, origin: str, *headers: str, method: str = "POST") -> Reply:
    named = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": ",".join(headers)}
    return asked(server, "OPTIONS", "/query", Origin=origin, **{k: v for k, v in named.items() if v})


def readable(reply: Reply) -> str | None:
    """Give the origin whose pages may read a response."""
    name: str | None = reply.headers["Access-Control-Allow-Origin"]
    return name


def test_allowed_pages_read_responses(shared: Serving) -> None:
    """Queries, updates, streams, changes, files and all else; caches keep responses by origin."""
    assert updated(shared, INSERT, Origin=PAGE).headers["Rdflive-Sequence"] == "1"
    paths = [
        QUERY,
        "/changes",
        "/subscriptions",
        "/health",
        "/static/client.js",
        "/openapi.json",
        "/vocabulary",
    ]
    replies = [asked(shared, "GET", path, Origin=PAGE) for path in paths]
    replies.append(asked(shared, "HEAD", SUBSCRIBE, Origin=PAGE))
    for path, reply in zip([*paths, "/subscribe"], replies, strict=True):
        assert (reply.status, readable(reply)) == (200, PAGE), path
        assert "Origin" in reply.headers["Vary"], path
        assert reply.headers["Access-Control-Allow-Credentials"] is None
        exposed = reply.headers["Access-Control-Expose-Headers"].split(", ")
        assert {"Retry-After", "Rdflive-Sequence", "Last-Event-ID"} <= set(exposed)
    assert "Origin" in asked(shared, "GET", "/static/client.js").headers["Vary"]


def test_other_pages_stay_refused(shared: Serving) -> None:
    """As without allowed origins: another port or scheme is another origin, and so is none."""
    for origin in (
        OTHER,
        "https://localhost:3000",
        "http://localhost",
        "null",
        f"{PAGE}.example.org",
        PAGE + "/",
    ):
        for reply in (answered(shared, SELECT, Origin=origin), updated(shared, INSERT, Origin=origin)):
            assert (reply.status, readable(reply)) == (403, None), origin
        assert readable(preflight(shared, origin)) is None
    assert asked(shared, "GET", QUERY, Sec_Fetch_Site="same-site").status == 403
    assert answered(shared, SELECT, Origin=PAGE, Host="evil.example").status == 403


def test_without_allowed_origins_nothing_is_shared() -> None:
    """No response has a header of CORS, and a preflight is refused like all else."""
    with serving(rdflib.Dataset()) as server:
        for reply in (
            answered(server, SELECT),
            answered(server, SELECT, Origin=PAGE),
            preflight(server, PAGE),
        ):
            assert not [name for name in reply.headers if name.lower().startswith("access-control")]
        assert preflight(server, PAGE).status == 403


def test_headers_of_requests(shared: Serving, guarded: Serving) -> None:
    """Clients continue after an event, and may send a token, which a server without tokens ignores."""
    for server in (shared, guarded):
        assert preflight(server, PAGE, "last-event-id", "content-type", "accept").status == 200
        assert preflight(server, PAGE, "x-other").status == 400
        assert preflight(server, PAGE, method="PATCH").status == 400
        # documents of /store
        assert preflight(server, PAGE, "content-encoding", method="PUT").status == 200
        assert preflight(server, PAGE, "authorization", "last-event-id").status == 200
    assert answered(shared, SELECT, Origin=PAGE, Authorization=f"Bearer {TOKEN}").status == 200


def test_tokens_come_as_headers_only(guarded: Serving) -> None:
    """The cookie is that of the server's own page: another page does nothing with it, nor signs in."""
    assert answered(guarded, SELECT, Origin=PAGE, Authorization=f"Bearer {TOKEN}").status == 200
    own = f"http://127.0.0.1:{guarded.port}"
    assert updated(guarded, INSERT, Origin=own, Cookie=f"{COOKIE}={TOKEN}").status == 204
    refused = updated(guarded, INSERT, Origin=PAGE, Cookie=f"{COOKIE}={TOKEN}")
    assert (refused.status, readable(refused)) == (401, PAGE)
    body = urllib.parse.urlencode({"token": TOKEN}).encode()
    assert asked(guarded, "POST", "/login", body, Origin=PAGE).status == 403
    assert asked(guarded, "POST", "/login", body, Origin=own).status == 303


def test_an_own_origin_that_is_allowed_keeps_its_cookie() -> None:
    """Allowing the server's own address changes nothing for its page."""
    with serving(rdflib.Dataset(), tokens=ALICE, allow_origins=["http://rail.localhost"]) as server:
        reply = answered(
            server, SELECT, Origin="http://rail.localhost", Host="rail.localhost", Cookie=f"{COOKIE}={TOKEN}"
        )
        assert reply.status == 200


def test_pages_can_read_errors(guarded: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals of the gate, of routes, and faults of the server."""
    bearer = {"Authorization": f"Bearer {TOKEN}", "Origin": PAGE}

    def fail(*_: Any) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(guarded.service.topics, "find", fail)
    for target, expected, headers in (
        (QUERY, 401, {"Origin": PAGE}),
        ("/query?query=SELECT", 400, bearer),
        ("/nothing", 404, bearer),
        ("/update", 405, bearer),
        ("/subscriptions/x", 500, bearer),
    ):
        reply = asked(guarded, "GET", target, **headers)
        assert (reply.status, readable(reply)) == (expected, PAGE), target[:30]
        assert reply.json["status"] == expected
    assert "planted" not in reply.body.decode()
    counted = asked(guarded, "GET", "/metrics", **bearer).body.decode()
    assert 'rdflive_requests_total{path="/subscriptions",status="500"} 1.0' in counted


ORIGINS = {
    "http://localhost:3000": "http://localhost:3000",
    "http://localhost:3000/": "http://localhost:3000",
    "HTTPS://Rail.Example:443": "https://rail.example",
    "http://rail.example:80/": "http://rail.example",
    "http://rail.example:443": "http://rail.example:443",
    "http://[::1]:8000": "http://[::1]:8000",
    "http://[0:0:0:0:0:0:0:1]:3000": "http://[::1]:3000",
    "https://xn--bcher-kva.example": "https://xn--bcher-kva.example",
}
NO_ORIGINS = [
    "*", "null", "", "localhost:3000", "//localhost", "http://", "http://a/page", "http://a//", "http://a?x",
    "http://u@a", "http://*.a.org", "http://a:", "http://a:0", "http://a:65536", "http://é.org", "ftp://a",
    "file:///page.html", " http://a", "http://a\n", "http://a,http://b",
    "http://[::1::2]", "http://[127.0.0.1]", "http://[é]",
]  # fmt: skip


def test_origins_are_written_as_browsers_do() -> None:
    """A final slash and a default port mean nothing; a path, a pattern or `null` is an error."""
    for text, origin in ORIGINS.items():
        assert read_origin(text) == origin
    for text in NO_ORIGINS:
        with pytest.raises(ValueError, match="the origin of a page, such as http://localhost:3000"):
            read_origin(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("https://Bücher.example:8443", "xn--bcher-kva.example"),
        ("https://straße.example", "xn--…"),  # Python's codec would write strasse.example
        ("https://ü..example", "xn--…"),
    ],
)
def test_an_origin_that_is_not_in_ascii_is_refused_with_its_form(text: str, name: str) -> None:
    """Browsers send the host in ASCII."""
    with pytest.raises(
        ValueError, match=f"not '{text}'; write its host in ASCII, as browsers send it: {name}$"
    ):
        read_origin(text)


def test_malformed_origins_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """By the command before anything is loaded, and in Python when the application is made."""
    with pytest.raises(SystemExit) as ended:
        main(["serve", "nothing.ttl", "--allow-origin", "http://localhost:3000/page"])
    assert ended.value.code == 2
    assert "argument --allow-origin: the origin of a page, such as" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"allow_origins needs the origin of a page.*not '\*'"):
        make_app(rdflib.Dataset(), allow_origins=["*"])
    with pytest.raises(TypeError, match=r"a list of origins, got the string 'http://a'"):
        make_app(rdflib.Dataset(), allow_origins="http://a")
