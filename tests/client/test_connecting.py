"""What a client is told when it cannot subscribe, and how it ends."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from shutil import which
from typing import Any

import pytest

import rdflive
from support.event_server import (
    PATIENCE,
    EventServer,
    Script,
    Wire,
    initial,
    update,
    whole,
    written,
)

QUERY = "SELECT ?s { ?s a <urn:Train> }"


def problem(status: int, **members: Any) -> Script:
    """Make a script that refuses with a problem document."""
    return lambda wire: wire.head(status, "application/problem+json", Retry_After="7").raw(
        json.dumps(members)
    )


def refusal(
    server: EventServer, script: Script, kind: type[Exception] = rdflive.ServerError, **options: Any
) -> Any:
    """Give what `subscribe` raises."""
    server.play(script)
    with pytest.raises(kind) as raised:
        server.client().subscribe(QUERY, **options)
    return raised.value


HERE = "http://127.0.0.1:8000"
NO_URLS: list[Any] = [
    "127.0.0.1:8000", "ftp://e/", "http://", "http://e:x/", "http://e e/", "http://u:p@e/", "http://e/?q",
    "http://e/#f", "http://é/", "http://[e/", None, 7, b"http://e/",
]  # fmt: skip
NO_TOKENS: list[Any] = ["", "two words", "é", "a\r\nHost: x", 7]


def test_what_cannot_be_connected_with_is_refused() -> None:
    """What is no URL, token or timeout; a token cannot smuggle headers in, and is not shown."""
    for url in NO_URLS:
        with pytest.raises(ValueError, match="URL"):
            rdflive.connect(url)
    for token in NO_TOKENS:
        with pytest.raises(ValueError, match="token must be") as raised:
            rdflive.connect(HERE, token)
        assert str(token) not in str(raised.value) or not token
    assert "secret" not in repr(rdflive.connect(HERE, "secret"))
    for timeout in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="above 0"):
            rdflive.connect(HERE, timeout=timeout)


def test_a_server_may_be_below_a_path(server: EventServer) -> None:
    """As behind a proxy that serves other things too."""
    server.play(lambda wire: initial(wire, "3-e").wait())
    with rdflive.connect(f"{server.url}/trains/").subscribe(QUERY):
        assert server.asked[0].target == "/trains/subscribe"


ADVICE = {401: "token=", 403: "lacks the right", 404: "check the URL", 429: "wait", 503: "overloaded"}


def test_a_refusal_says_what_to_do(server: EventServer) -> None:
    """Status, reason, advice and the wait that the server asks for."""
    for status, advice in ADVICE.items():
        error = refusal(server, problem(status, detail="not you"))
        assert isinstance(error, OSError)
        assert (error.status, error.retry_after) == (status, 7.0)
        assert f"HTTP {status}: not you; " in str(error)
        assert advice in str(error)


def test_a_problem_without_a_place_is_of_the_server(server: EventServer) -> None:
    """What is wrong with an option, or with a proxy, is no syntax error."""
    error = refusal(server, problem(400, detail="no such entailment"))
    assert (error.status, "no such entailment" in str(error)) == (400, True)
    assert "HTTP 502: Bad  Gateway" not in str(refusal(server, lambda w: w.head(502).raw("Bad  \n Gateway")))
    for text in ("[1]", "{", "\xff"):
        refusal(server, lambda w, text=text: w.head(400, "application/problem+json").raw(text))


def test_an_error_in_the_query_has_its_place(server: EventServer) -> None:
    """A problem with a place is a syntax error; one that names a construct is not supported."""
    members: dict[str, Any] = {"detail": "expected } (line 3, column 14)", "line": 3, "column": 14}
    error = refusal(server, problem(400, **members), rdflive.QuerySyntaxError)
    assert (str(error), error.line, error.column) == (members["detail"], 3, 14)
    error = refusal(server, problem(400, **members, construct="SERVICE"), rdflive.UnsupportedQueryError)
    assert (error.construct, error.line, error.column) == ("SERVICE", 3, 14)


def test_places_are_those_of_the_query_that_was_given(server: EventServer, tmp_path: Path) -> None:
    """What `initNs` puts in front of the query is taken off the column again, in the message too.

    A query in a file is named by the file, and the line of the error is that of the file.
    """
    prefixes, syntax = {"ex": "http://e/", "": "http://f/"}, rdflive.QuerySyntaxError
    sent = "PREFIX ex: <http://e/> PREFIX : <http://f/> "
    at = len(sent) + 8
    detail = f"? at line 1, column {at} near '{sent}{QUERY}'"
    error = refusal(server, problem(400, detail=detail, line=1, column=at), syntax, initNs=prefixes)
    assert (str(error), error.line, error.column) == (f"? at line 1, column 8 near '{QUERY}'", 1, 8)
    error = refusal(server, problem(400, detail="?", line=2, column=3), syntax, initNs=prefixes)
    assert (error.line, error.column) == (2, 3)
    error = refusal(server, problem(400, detail="odd", line=1, column=len(sent)), initNs=prefixes)
    assert "initNs" in str(error)
    at = len(sent) + 1
    detail = f"not SPARQL at line 1, column {at}: met 'SELCT'\n1 | {sent}SELCT {{}}\n  | {' ' * at}^^^^^"
    path = tmp_path / "late.rq"
    path.write_text("SELCT {}")
    server.play(problem(400, detail=detail, line=1, column=at))
    with pytest.raises(syntax) as caught:
        server.client().subscribe(path, initNs=prefixes)
    said = f"{path}, line 1, column 1: not SPARQL: met 'SELCT'\n1 | SELCT {{}}\n  | ^^^^^"
    assert str(caught.value) == said


def test_what_is_no_prefix_or_text_is_refused(server: EventServer) -> None:
    """A prefix could make another query of it, and what is no text cannot be sent."""
    for namespaces in ({"a b": "urn:"}, {"a": "urn: "}, {"a": "x> ASK {"}, {"1": "urn:"}):
        with pytest.raises(ValueError, match="initNs"):
            server.client().subscribe(QUERY, initNs=namespaces)
    queries: list[tuple[Any, str]] = [(b"ASK {}", "text"), ("ASK { ?s ?p '\ud800' }", "line 1, column 14")]
    for query, reason in queries:
        with pytest.raises(rdflive.QuerySyntaxError, match=reason):
            server.client().subscribe(query)
    assert server.asked == []


STRANGE: dict[str, tuple[Script, str]] = {
    "html": (lambda wire: wire.head(kind="text/html").raw("<p>"), "text/html, not text/event-stream"),
    "redirect": (lambda wire: wire.head(302, Location="http://e/x").raw(""), "redirect to http://e/x"),
    "ssh": (lambda wire: wire.raw("SSH-2.0-OpenSSH\r\n"), "cannot be reached"),
    "nothing": (lambda wire: None, "cannot be reached"),
    "an end": (lambda wire: wire.head().raw(written("end", detail="too large")), "too large"),
    "the end": (lambda wire: wire.head(), "ended before the answer"),
    "half": (lambda wire: wire.head().raw(whole("3-e", "a")[:-1]), "ended before the answer"),
    "garbage": (lambda wire: wire.head().raw("data: {\n\n"), "sends invalid messages"),
    "no answer": (lambda wire: wire.head().raw("event: initial\ndata: {}\n\n"), "sends an invalid answer"),
}


@pytest.mark.parametrize(("script", "reason"), STRANGE.values(), ids=STRANGE)
def test_a_strange_server_is_told_from_rdflive(server: EventServer, script: Script, reason: str) -> None:
    """What the server does in place of an answer is said, and no thread stays behind."""
    assert reason in str(refusal(server, script))
    assert not [thread for thread in threading.enumerate() if thread.name == "rdflive-client"]
    assert len(server.asked) == 1


def test_a_server_that_is_not_there_is_named() -> None:
    """The error names the address without a server, and a remedy."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(
        rdflive.ServerError, match=f"{url}/subscribe cannot be reached: .*rdflive serve"
    ) as raised:
        rdflive.connect(url).subscribe(QUERY)
    assert raised.value.status == 0


def beating(wire: Wire) -> None:
    """Say only that the server lives."""
    wire.head()
    while True:
        wire.event("heartbeat", sequence=0)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (Wire.wait, "timed out"),
        (lambda wire: wire.head().wait(), "timed out"),
        (beating, r"the answer of the query did not arrive within 0\.05 s"),
    ],
    ids=["no head", "no body", "heartbeats"],
)
def test_a_server_that_does_not_answer_is_given_up(server: EventServer, script: Script, reason: str) -> None:
    """Neither before nor behind the headers does the client wait for ever."""
    server.play(script)
    with pytest.raises(rdflive.ServerError, match=reason):
        server.client(timeout=0.05).subscribe(QUERY)


def test_certificates_are_checked(
    server: EventServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server is believed if its certificate is known, and closing works through TLS as well."""
    if which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.secure(context)
    gone = threading.Event()

    def script(wire: Wire) -> None:
        initial(wire, "3-e", "a").raw(update("4-e", "b")).wait()
        gone.set()

    server.play(script)
    url = server.url.replace("http:", "https:")
    with pytest.raises(rdflive.ServerError, match="certificate verify failed"):
        rdflive.connect(url).subscribe(QUERY)
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    subscription = rdflive.connect(url).subscribe(QUERY)
    assert next(subscription.deltas(PATIENCE)).added
    subscription.close()
    assert gone.wait(PATIENCE)


PROGRAM = """
import os, signal, sys, threading, rdflive
subscription = rdflive.connect(sys.argv[1]).subscribe("ASK {}", print)
deltas = subscription.deltas()
next(deltas)
print("waiting", flush=True)
if sys.argv[2] == "interrupt":
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        for delta in deltas:
            pass
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_a_program_ends_with_open_subscriptions(server: EventServer) -> None:
    """Neither the thread that follows nor a wait for a delta keeps the interpreter from its end."""
    head: dict[str, Any] = {"form": "ASK", "head": {"vars": []}, "subscription": "x"}
    server.play(lambda w: w.head().event("initial", "1-e", sequence=1, boolean=True, **head).wait())
    ending = "interrupt" if os.name == "posix" else "end"  # which sends itself SIGINT
    command = [sys.executable, "-W", "error", "-c", PROGRAM, server.url, ending]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert ("interrupted" in done.stdout) == (ending == "interrupt")
