"""`rdflive watch --endpoint`: a SPARQL endpoint that is followed, goes away, refuses, or is none."""

from __future__ import annotations

import _thread
import base64
import json
from collections.abc import Callable, Iterator
from functools import partial

import pytest

import rdflive
from rdflive.cli import endpoint
from rdflive.cli.command import main
from support.misbehaving import N_TRIPLES, Asked, Reply, Server, rows, serve

pytest.importorskip("SPARQLWrapper", reason="needs the extra endpoint")

QUERY = "SELECT ?train ?minutes { ?train <urn:delay> ?minutes }"
LATE = ['<urn:T1> <urn:delay> "4" .', '<urn:T2> <urn:delay> "7" .', '<urn:T3> <urn:delay> "9" .']


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """An endpoint; the command repeats requests soon."""
    monkeypatch.setattr(rdflive, "endpoint", partial(rdflive.endpoint, backoff=0.001))
    monkeypatch.setattr(endpoint, "_PAUSE", 0.01)
    with serve() as running:
        yield running


def interrupting(answer: Callable[[Asked], Reply]) -> Callable[[Asked], Reply]:
    """Press Ctrl-C while the endpoint answers."""

    def last(asked: Asked) -> Reply:
        _thread.interrupt_main()
        return answer(asked)

    return last


def watch(server: Server, *more: str) -> int:
    return main(["watch", "--endpoint", server.url, "--query", QUERY, "--every", "0.01", *more])


def test_differences_of_polls_are_sent(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """First the answer as it is; a poll without a difference sends nothing; Ctrl-C ends with a summary."""
    first, later = rows(LATE[:2]), rows(LATE[1:])
    server.answer(first, first, first, later, later, interrupting(later))
    assert watch(server, "--to", "ndjson") == 130
    told = capsys.readouterr()
    deltas = [json.loads(line) for line in told.out.splitlines()]
    names = [
        [[row["train"]["value"] for row in one[part]] for part in ("added", "removed")] for one in deltas
    ]
    assert [[sorted(part) for part in one] for one in names] == [
        [["urn:T1", "urn:T2"], []],
        [["urn:T3"], ["urn:T1"]],
    ]
    assert [one["initial"] for one in deltas] == [True, False]
    assert "stopped: 1 entry, 2 changes, 1 delta in" in told.err
    assert all("urn:delay" in asked.query for asked in server.asked)


def test_an_endpoint_that_goes_away_is_followed_when_it_is_back(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says why; what changed meanwhile is one delta."""
    away = [Reply(503)] * 14  # more than the attempts of two polls
    server.answer(rows(LATE[:1]), rows(LATE[:1]), *away, rows(LATE), interrupting(rows(LATE)))
    assert watch(server) == 130
    told = capsys.readouterr()
    assert told.out.splitlines() == ['#1  + <urn:T1> "4"', '#2  + <urn:T2> "7"', '#2  + <urn:T3> "9"']
    assert told.err.count("trying again") == 1
    assert told.err.startswith(f"{server.url}: HTTP 503")


NO_ENDPOINTS: list[tuple[Reply, str]] = [
    (Reply(200, b"<html>", {"Content-Type": "text/html"}), "the answer is text/html, not application/"),
    (Reply(404, b"nothing here"), "HTTP 404: nothing here; check the URL"),
    (Reply(401), "give --auth-env or --token-env"),
    (Reply(503, b"busy"), "HTTP 503: busy"),
    (Reply(200, b"", {"Content-Type": N_TRIPLES}), "the answer is empty: is this the URL of a SPARQL"),
    (
        Reply(200, "\n".join([*LATE[:2], ""]).encode(), {"Content-Type": N_TRIPLES}),
        "it seems to return at most 2 rows: in a Python program, set page=1 or less",
    ),
    (Reply(307, b"", {"Location": "/?key=secret&query=x"}), "a redirect to /; if you trust"),
]


@pytest.mark.parametrize(("reply", "reason"), NO_ENDPOINTS)
def test_the_start_needs_an_endpoint(
    server: Server, capsys: pytest.CaptureFixture[str], reply: Reply, reason: str
) -> None:
    """One that is down, slow to come up, or something else ends the command, without the keys of its URL."""
    server.answer(reply)
    server.url += "?key=secret"
    assert watch(server) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rdflive: error: http://127.0.0.1:")
    assert reason in line
    assert "secret" not in line


def test_a_refusal_later_ends_the_command(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """It would not pass."""
    server.answer(rows(LATE), rows(LATE), Reply(403))
    assert watch(server) == 2
    assert "HTTP 403" in capsys.readouterr().err


def test_credentials_come_from_the_environment(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A URL with a password is refused without showing it."""
    monkeypatch.setenv("LOGIN", "alice:pass:word")
    monkeypatch.setenv("TOKEN", "a-token")
    for option, name, sent in (
        ("--auth-env", "LOGIN", f"Basic {base64.b64encode(b'alice:pass:word').decode()}"),
        ("--token-env", "TOKEN", "Bearer a-token"),
    ):
        server.asked.clear()
        server.answer(rows(LATE), interrupting(rows(LATE)))
        assert watch(server, option, name) == 130
        assert {asked.headers["Authorization"] for asked in server.asked} == {sent}
    server.url = server.url.replace("http://", "http://alice:password@")
    capsys.readouterr()
    assert watch(server) == 2
    told = capsys.readouterr().err
    assert "contains credentials; pass them as user:password with --auth-env VARIABLE" in told
    assert "alice" not in told


REFUSED = [
    (["data.ttl"], "--endpoint has its own data: leave DATA out"),
    (["--changes", "feed.rdfp"], "--endpoint has its own data: leave --changes out"),
    (["--store-path", "db"], "--endpoint has its own data: leave --store-path out"),
    (["--auth-env", "RDFLIVE_NOT_SET"], "the environment variable RDFLIVE_NOT_SET of --auth-env is not set"),
    (["--token-env", "RDFLIVE_NOT_SET"], "the environment variable RDFLIVE_NOT_SET, the token of"),
    (["--dead-letters", "file"], "--dead-letters goes with --changes FILE"),
]


@pytest.mark.parametrize(("options", "reason"), REFUSED)
def test_other_sources_do_not_go_with_an_endpoint(
    capsys: pytest.CaptureFixture[str], options: list[str], reason: str
) -> None:
    """The mirror of an endpoint holds what the query needs, and nothing else."""
    assert main(["watch", *options, "--endpoint", "http://127.0.0.1:9/", "--query", QUERY]) == 2
    assert reason in capsys.readouterr().err


def test_options_of_an_endpoint_need_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Without it they would be ignored."""
    for option in (["--every", "3"], ["--auth-env", "X"]):
        assert main(["watch", "data.ttl", "--query", QUERY, *option]) == 2
        assert f"{option[0]} goes with --endpoint URL" in capsys.readouterr().err
