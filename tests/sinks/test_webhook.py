"""Deltas as requests, to a real server."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from rdflive.model import Delta, Header
from rdflive.sinks import WebhookError, WebhookSink, webhook
from support.sinks import Receiver, receiving

KEYS = ["fd220a55-6aa6-55cd-881f-184821d2be36", "a8818727-ff36-5091-ab1a-a325693ce325"]
"""Of the name n: no release may change them, or what is sent again after an update is taken twice."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries are short."""
    monkeypatch.setattr(webhook, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(webhook, "_LONGEST_PAUSE", 0.02)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def delta(sequence: int = 1, text: str = "é😀") -> Delta:
    return Delta(Header("SELECT", ("x",)), {(Literal(text),): 1}, sequence=sequence)


def test_webhook_posts_json(receiver: Receiver) -> None:
    """Each delta of a subscription is one request with the line of NDJSON."""
    graph = rdflib.Graph()
    sink = WebhookSink(receiver.url)
    with rdflive.subscribe(graph, "SELECT ?o { ?s <http://e/p> ?o }", sink):
        graph.add((URIRef("http://e/s"), URIRef("http://e/p"), Literal("é😀")))
    sink.close()
    assert [(request.delta["sequence"], request.delta["initial"]) for request in receiver.requests] == [
        (0, True),
        (1, False),
    ]
    assert receiver.requests[1].delta["added"] == [{"o": {"type": "literal", "value": "é😀"}}]
    assert receiver.requests[1].headers["Content-Type"] == "application/json"
    assert "X-Rdflive-Signature" not in receiver.requests[1].headers


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, None])
def test_webhook_tries_again_what_may_pass(
    receiver: Receiver, status: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The same request, with the same key, is sent until the server takes it; each failure is logged."""
    bad = None if status is None else (status, {}, b"later")
    receiver.answers.extend([bad, bad, (201, {}, b"thanks")])
    sink = WebhookSink(receiver.url)
    sink(delta())
    sink(delta(2))
    first, second, third, other = receiver.requests
    assert first.key == second.key == third.key != other.key
    assert first.body == second.body == third.body
    assert len(caplog.messages) == 2
    assert all("trying again in 0.0 s" in message for message in caplog.messages)


@pytest.mark.parametrize("status", [300, 400, 401, 403, 404, 410, 413, 422])
def test_webhook_stops_at_what_does_not_pass(receiver: Receiver, status: int) -> None:
    """Other answers are an error at once, which shows what the server says on one line."""
    receiver.answers.append((status, {}, "nö\n\x1b[2J".encode() * 1000))
    with pytest.raises(WebhookError, match=f"{receiver.url}: delta 1 was not delivered: {status} ") as caught:
        WebhookSink(receiver.url)(delta())
    assert len(receiver.requests) == 1
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 350


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_webhook_follows_no_redirect(receiver: Receiver, status: int) -> None:
    """A redirect is an error that names its target."""
    receiver.answers.append((status, {"Location": f"{receiver.url}/other"}, b""))
    with pytest.raises(WebhookError, match=r"it redirects to .*/hook/other; give the URL itself"):
        WebhookSink(receiver.url)(delta())
    assert len(receiver.requests) == 1


def test_webhook_keys_depend_on_name_and_sequence(receiver: Receiver) -> None:
    """With a name a delta has the same key in every process, without one every sink has its own keys."""
    for name in ("n", "n", "m", None, None):
        sink = WebhookSink(receiver.url, name=name)
        sink(delta(1))
        sink(delta(2))
    keys = [request.key for request in receiver.requests]
    assert keys[:2] == keys[2:4] == KEYS
    assert len(set(keys[2:])) == 8


def test_webhook_signs_key_and_body(receiver: Receiver) -> None:
    """The receiver can check both with the secret, which is sent nowhere."""
    WebhookSink(receiver.url, secret="gehëim")(delta())
    (request,) = receiver.requests
    signed = request.key.encode() + b"." + request.body
    expected = hmac.new("gehëim".encode(), signed, hashlib.sha256).hexdigest()
    assert request.headers["X-Rdflive-Signature"] == f"sha256={expected}"


def test_webhook_waits_as_long_as_the_server_says(receiver: Receiver) -> None:
    """Retry-After goes before our own pauses; one beyond the patience is an error without waiting."""
    receiver.answers.append((429, {"Retry-After": "0"}, b""))
    WebhookSink(receiver.url)(delta())
    receiver.answers.append((503, {"Retry-After": "3600"}, b""))
    with pytest.raises(WebhookError, match=r"503 .*; tried 1 times in 60 s"):
        WebhookSink(receiver.url, patience=60)(delta())
    assert len(receiver.requests) == 3


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", (7, 7)), (" 0 ", (0, 0)), ("", None), ("soon", None), ("-1", None), ("1.5", None), ("²", None)],
)
def test_retry_after_is_seconds(header: str, seconds: tuple[float, float] | None) -> None:
    """Whole seconds count; anything else is as if the header were not there."""
    assert retry_after(header) == (seconds and seconds[0])


def retry_after(header: str) -> float | None:
    headers = webhook.Message()
    headers["Retry-After"] = header
    return webhook._retry_after(headers)


def test_retry_after_is_a_date() -> None:
    """A date is the time until then, and none that has passed."""
    now = datetime.now(UTC)
    assert retry_after(format_datetime(now - timedelta(hours=1), usegmt=True)) == 0
    later = retry_after(format_datetime(now + timedelta(hours=1), usegmt=True))
    assert later is not None
    assert 3500 < later <= 3600


def test_webhook_loses_patience() -> None:
    """A server that is never there is an error that counts the tries."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
    with pytest.raises(WebhookError, match=r"refused; tried \d+ times in 0.1 s"):
        WebhookSink(url, patience=0.1)(delta())


def test_webhook_gives_up_a_server_that_says_nothing() -> None:
    """A server that takes the request and never answers counts as not there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(WebhookError, match="timed out"):
            WebhookSink(url, timeout=0.05, patience=0)(delta())


def test_webhook_can_be_closed_while_it_waits(receiver: Receiver) -> None:
    """The delivery that is not through then fails."""
    receiver.answers.append((503, {"Retry-After": "100"}, b""))
    sink = WebhookSink(receiver.url)
    errors: list[Exception] = []

    def deliver() -> None:
        try:
            sink(delta())
        except WebhookError as error:
            errors.append(error)

    thread = threading.Thread(target=deliver)
    thread.start()
    sink.close()
    thread.join(60)
    assert "503" in str(errors[0])


@pytest.mark.parametrize(
    "url",
    ["", "x", "example.org/x", "ftp://e/x", "file:///etc/passwd", "http://", "http:///x", "http://e:x/", "http://e:0/",
     "http://[e/", "http://e/ x", "http://e/é", "http://e/\n", "http://user:word@e/"],
)  # fmt: skip
def test_webhook_refuses_what_is_no_url(url: str) -> None:
    """Only HTTP URLs in ASCII are taken, and a password in one is not shown."""
    with pytest.raises(ValueError, match="webhook") as caught:
        WebhookSink(url)
    assert "word@" not in str(caught.value)
