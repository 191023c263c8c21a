"""What a server may do wrong: what may pass is tried again, what will not is said at once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import rdflib

from rdflive.errors import RdfliveError
from rdflive.model import Quad
from rdflive_stores.endpoint.feed import EndpointFeed
from rdflive_stores.endpoint.requests import EndpointError, conditions
from support.misbehaving import N_TRIPLES, Asked, Reply, Server, rows, serve
from support.set_target import EVERYTHING, SetTarget, feed, line, triple

GOOD = rows([line(1), line(2)])
PARTIAL = Reply(body=f"{line(1)}\n".encode(), headers={"Content-Type": N_TRIPLES})
FAULTS = {
    "500": Reply(500, b"broken"),
    "503": Reply(503, b"busy", {"Retry-After": "0"}),
    "429": Reply(429, b"slow down", {"Retry-After": format_datetime(datetime.now(UTC), usegmt=True)}),
    "429 with nonsense": Reply(429, b"", {"Retry-After": "soon"}),
    "cut body": Reply(200, f"{line(1)}\n{line(2)}\n".encode(), {"Content-Type": N_TRIPLES}, cut=10),
    "cut where nothing says the length": Reply(
        200, iter([f"{line(1)}\n".encode()]), {"Content-Type": N_TRIPLES}
    ),
    "without the number of rows": PARTIAL,
    "garbage": Reply(200, b"\xff\xfe\x00garbage", {"Content-Type": N_TRIPLES}),
    "another page": Reply(200, b"<html>log in</html>", {"Content-Type": "text/html"}),
    "nothing": Reply(200, b"", {"Content-Type": N_TRIPLES}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_feed_tries_again_after_a_fault_of_the_server(server: Server, name: str) -> None:
    """A fault that passes is never half used, and costs no more than a second try."""
    server.answer(FAULTS[name], GOOD)
    target = SetTarget()
    if name == "another page":
        server.answer(FAULTS[name], FAULTS["500"], lambda asked: json_rows())
    (entry,) = target.follow(feed(server))
    assert target.held == {triple(1), triple(2)}
    assert len(server.asked) in (2, 3)
    assert entry.batch.sequence == 1


def json_rows() -> Reply:
    """Answer a SELECT, which the feed asks where CONSTRUCT is not answered as N-Triples."""
    bindings = ",".join(
        f'{{"s":{{"type":"uri","value":"urn:s{n:04}"}},"p":{{"type":"uri","value":"urn:p"}},'
        f'"o":{{"type":"uri","value":"urn:o{n}"}}}}'
        for n in (1, 2)
    )
    body = f'{{"results":{{"bindings":[{bindings},{{"n":{{"type":"literal","value":"2"}}}}]}}}}'
    return Reply(200, body.encode(), {"Content-Type": "application/sparql-results+json"})


@pytest.mark.parametrize("status", [406, 200])
def test_feed_asks_select_where_construct_gives_no_n_triples(server: Server, status: int) -> None:
    """A server that has only other formats of RDF is asked for rows instead."""
    server.answer(
        Reply(status, b"@prefix e: <urn:> .", {"Content-Type": "text/turtle"}), lambda asked: json_rows()
    )
    target = SetTarget()
    target.follow(feed(server))
    assert target.held == {triple(1), triple(2)}
    assert [asked.query.split()[0] for asked in server.asked] == ["CONSTRUCT", "SELECT"]


def test_another_page_is_said_at_once_until_the_first_answer(server: Server) -> None:
    """What is no endpoint stays none; a feed that had an answer meets a proxy's page, which passes."""
    server.answer(FAULTS["another page"])
    with pytest.raises(EndpointError, match=r"text/html, not .*is this the URL of a SPARQL endpoint"):
        SetTarget().follow(feed(server))
    assert len(server.asked) == 2  # CONSTRUCT and SELECT
    server.asked.clear()
    polling = feed(server, every=0)

    def last(_: Asked) -> Reply:
        polling.close()
        return json_rows()

    server.answer(GOOD, FAULTS["another page"], FAULTS["another page"], last)
    SetTarget().follow(polling)
    assert len(server.asked) == 4


def test_a_failure_is_logged_once_until_a_request_succeeds(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """At the first try, without the query of the URL, which may contain a key."""
    place = server.url
    server.url += "?key=secret"
    server.answer(FAULTS["500"], FAULTS["500"], GOOD)
    for _ in range(2):
        SetTarget().follow(feed(server))
        assert [record.getMessage() for record in caplog.records] == [
            f"{place}: HTTP 500: broken; trying again (try 1 of 3)"
        ]


def test_feed_gives_up_after_the_tries_it_was_given(server: Server) -> None:
    """The error says what, how often, for how long and what next; nothing was applied."""
    server.answer(Reply(503, b"down for maintenance"))
    target = SetTarget(triple(7))
    with pytest.raises(
        EndpointError, match=r"/sparql: HTTP 503: down for maintenance; given up after 3 tries in"
    ):
        target.follow(feed(server))
    assert len(server.asked) == 3
    assert target.held == {triple(7)}


def test_feed_waits_as_long_as_it_is_asked(server: Server) -> None:
    """Retry-After is honoured."""
    server.answer(Reply(429, b"", {"Retry-After": "1"}), GOOD)
    begin = time.monotonic()
    SetTarget().follow(feed(server))
    assert time.monotonic() - begin >= 1


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_feed_does_not_wait_for_a_day(server: Server, form: str) -> None:
    """A server that asks for more patience than there is gets an error that says so."""
    date = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)
    given = "86400" if form == "seconds" else date
    server.answer(Reply(503, b"", {"Retry-After": given}))
    with pytest.raises(EndpointError, match=r"requests a wait of 86[34]"):
        SetTarget().follow(feed(server))
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "advice"), [(400, "check the URL"), (401, "auth="), (404, "check the URL")]
)
def test_feed_says_at_once_what_will_not_pass(server: Server, status: int, advice: str) -> None:
    """The server's own words are in the error, shortened."""
    server.answer(Reply(status, b"because\n" + b"x" * 10_000))
    with pytest.raises(EndpointError, match=f"HTTP {status}: because xxx.*{advice}") as raised:
        SetTarget().follow(feed(server))
    assert len(str(raised.value)) < 600
    assert len(server.asked) == 1
    assert isinstance(raised.value, RdfliveError)
    assert isinstance(raised.value, ConnectionError)


def test_feed_reports_a_server_that_is_not_there() -> None:
    """A refused connection is tried again, then an error."""
    with serve() as gone:
        url = gone.url
    with pytest.raises(EndpointError, match="Connection refused"):
        SetTarget().follow(EndpointFeed(url, patterns=EVERYTHING, every=None, tries=2, backoff=0))


def test_feed_reports_a_server_that_is_silent(server: Server) -> None:
    """A server that stops in the middle is given up after the timeout."""

    def slow() -> Iterator[bytes]:
        yield f"{line(1)}\n".encode()
        time.sleep(0.5)
        yield f"{line(2)}\n".encode()

    server.answer(lambda asked: Reply(200, slow(), {"Content-Type": N_TRIPLES}))
    target = SetTarget()
    with pytest.raises(EndpointError, match=r"timed out after 0\.2 s"):
        target.follow(feed(server, timeout=0.2, tries=1))
    assert not target.held


@pytest.mark.parametrize(("status", "count"), [(301, 1), (302, 40), (307, 1), (308, 40)])
def test_feed_follows_a_redirect_on_the_same_server(server: Server, status: int, count: int) -> None:
    """Method, query and credentials arrive at the new place, however long the query is."""
    needed = [Quad(None, rdflib.URIRef(f"urn:p{i}"), None) for i in range(count)]

    def answer(asked: Asked) -> Reply:
        if "/moved" not in asked.path:
            return Reply(status, b"", {"Location": asked.path.replace("/sparql", "/moved")})
        return GOOD(asked)

    server.answer(answer)
    target = SetTarget()
    target.follow(feed(server, patterns=needed, auth=("me", "secret")))
    assert target.held == {triple(1), triple(2)}
    assert [asked.method for asked in server.asked] == ["GET" if count == 1 else "POST"] * 2
    assert {asked.headers["Authorization"] for asked in server.asked} == {"Basic bWU6c2VjcmV0"}


@pytest.mark.parametrize("count", [1, 40])
def test_feed_sends_the_headers_that_it_was_given(server: Server, count: int) -> None:
    """They go with every query, in place of those that would go without them."""
    server.answer(GOOD)
    needed = [Quad(None, rdflib.URIRef(f"urn:p{i}"), None) for i in range(count)]
    given = {"user-agent": "mine", "X-Key": "k"}
    SetTarget().follow(feed(server, patterns=needed, headers=given))
    (asked,) = server.asked
    assert (asked.headers.get_all("User-Agent"), asked.headers["X-Key"]) == (["mine"], "k")
    assert asked.headers["Content-Type"] == (None if count == 1 else "application/x-www-form-urlencoded")


def test_feed_does_not_follow_a_redirect_to_another_server(server: Server) -> None:
    """Credentials do not go where a redirect points to; the error names the place."""
    with serve() as other:
        server.answer(Reply(302, b"", {"Location": other.url}))
        with pytest.raises(EndpointError, match=r"a redirect to http://127\.0\.0\.1:.*give its URL"):
            SetTarget().follow(feed(server, auth=("me", "secret")))
        assert not other.asked


@pytest.mark.parametrize(
    ("modified", "date", "trusted"),
    [
        ("12:00:00", "12:00:05", True),
        ("12:00:00", "12:00:00", False),
        ("", "12:00:05", False),
        ("12:00:00", "", False),
    ],
)
def test_conditions_need_a_second_between_change_and_answer(modified: str, date: str, trusted: bool) -> None:
    """Within one second a document may change twice, so Last-Modified is not enough then."""
    clocks = {"Last-Modified": modified, "Date": date}
    headers = {name: f"Mon, 03 Mar 2025 {clock} GMT" for name, clock in clocks.items() if clock}
    assert bool(conditions(headers)) is trusted


def test_feed_refuses_what_means_nothing(server: Server) -> None:
    """What cannot be an endpoint, without its password, an option that cannot be, and no patterns at all."""
    for url in ("ftp://e/", "http://", "http://me:secret@e/", "http://e:x/", "http://e/a b", "http://e/\n"):
        with pytest.raises(EndpointError, match="endpoint") as raised:
            EndpointFeed(url)
        assert "secret" not in str(raised.value)
    for name, number in {"page": 0, "tries": 0, "every": -1, "timeout": 0, "backoff": -1}.items():
        with pytest.raises(ValueError, match=name):
            EndpointFeed("http://e/", **{name: number})  # type: ignore[arg-type]  # what is tested
    with pytest.raises(EndpointError, match="subscribe to the graph before"):
        SetTarget(patterns=[]).follow(feed(server))


def test_feed_keeps_the_parameters_of_its_url(server: Server) -> None:
    """A query of the URL itself stays in it."""
    server.answer(GOOD)
    SetTarget().follow(EndpointFeed(f"{server.url}?repository=a%26b", every=None))
    assert "repository=a%26b" in server.asked[0].path
    assert server.asked[0].query.startswith("CONSTRUCT")


class Canonical(SetTarget):
    """A target that has one spelling of each number, as Oxigraph has."""

    def spelled(self, quads: Iterable[Quad]) -> list[Quad]:
        return [
            quad._replace(object=rdflib.Literal(int(quad.object))) if quad.object.isdigit() else quad
            for quad in quads
        ]


def test_feed_compares_in_the_spelling_of_the_target(server: Server) -> None:
    """A number that the target spells in another way is not new at each poll, nor is a node that has it."""
    number = '"{}"^^<urn:number>'
    target = Canonical()
    for label in "ab":
        lines = [f"_:{label} <urn:p> {number.format('007')} .", f"_:{label} <urn:p> _:{label} ."]
        server.answer(rows(lines))
        assert len(target.follow(feed(server))) == (label == "a")
    assert {quad.object for quad in target.held} >= {rdflib.Literal(7)}
