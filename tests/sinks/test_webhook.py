"""Deltas as requests, to a real server."""

from __future__ import annotations

import hashlib
import hmac
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from rdflive.http import RetryPace
from rdflive.model import Delta, Header
from rdflive.sinks import WebhookError, WebhookSink, webhook
from support.event_server import Script, Wire, event_server
from support.sinks import Receiver, receiving
from support.waiting import until

KEYS = ["fd220a55-6aa6-55cd-881f-184821d2be36", "a8818727-ff36-5091-ab1a-a325693ce325"]
"""Of the word n: no release may change them, or what is sent again after an update is taken twice."""
QUERY = "SELECT ?o { ?s <http://e/p> ?o }"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries are short."""
    monkeypatch.setattr(webhook, "_PACE", RetryPace(first=0.01, longest=0.02))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def delta(sequence: int = 1, text: str = "é😀") -> Delta:
    return Delta(Header("SELECT", ("x",)), {(Literal(text),): 1}, sequence=sequence)


def test_webhook_posts_json(receiver: Receiver) -> None:
    """Each delta of a subscription is one request with the line of NDJSON.

    The receiver can check key and body with the secret, which is sent nowhere.
    """
    for secret in (None, "gehëim"):
        graph = rdflib.Graph()
        sink = WebhookSink(receiver.url, secret=secret)
        receiver.requests.clear()
        with rdflive.subscribe(graph, QUERY, sink):
            graph.add((URIRef("http://e/s"), URIRef("http://e/p"), Literal(f"é😀{secret}")))
        sink.close()
        first, second = receiver.requests
        assert (first.delta["sequence"], first.delta["initial"], second.delta["initial"]) == (0, True, False)
        assert second.delta["added"] == [{"o": {"type": "literal", "value": f"é😀{secret}"}}]
        assert second.headers["Content-Type"] == "application/json"
        if secret is None:
            assert "X-Rdflive-Signature" not in second.headers
            continue
        signed = hmac.new(secret.encode(), second.key.encode() + b"." + second.body, hashlib.sha256)
        assert second.headers["X-Rdflive-Signature"] == f"sha256={signed.hexdigest()}"


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
    with pytest.raises(
        WebhookError, match=f"{receiver.url}: delta 1 was not delivered: HTTP {status}: "
    ) as caught:
        WebhookSink(receiver.url)(delta())
    assert len(receiver.requests) == 1
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("status", "target"),
    [
        *((status, "{}/other") for status in (301, 302, 303, 307, 308)),
        *(
            (307, target)
            for target in ("//[", "http://a..b/", "http://[::1", "\x9b[2J", "http://e:x/", "x" * 10000)
        ),
    ],
)
def test_webhook_follows_no_redirect(receiver: Receiver, status: int, target: str) -> None:
    """A redirect is an error that names its target, and is printable whatever that is."""
    receiver.answers.append((status, {"Location": target.format(receiver.url)}, b""))
    named = ".*/hook/other" if "{}" in target else ".*"
    with pytest.raises(WebhookError, match=f"a redirect to {named}; .* give its URL") as caught:
        WebhookSink(receiver.url)(delta())
    assert str(caught.value).isprintable()
    assert len(receiver.requests) == 1


def test_webhook_keys_of_a_resumed_subscriber_go_on(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one name in one file a delta has the same key in every process; any other has other keys.

    A relative path is that of the folder in which the sink was made, as for the subscription.
    """
    (tmp_path / "other").mkdir()
    for name, file in [("n", tmp_path / "a"), ("n", "a"), ("m", "a"), ("n", "b")]:
        monkeypatch.chdir(tmp_path)
        sink = WebhookSink(receiver.url, name=name, resume=file)
        monkeypatch.chdir("other")
        sink(delta(1, "however"))
        sink(delta(2, "spelt"))
    keys = [request.key for request in receiver.requests]
    assert keys[:2] == keys[2:4]
    assert len(set(keys)) == 6
    WebhookSink(receiver.url, name="n", resume=tmp_path / "a")(delta(2))
    assert receiver.requests[-1].key == keys[1]


def test_webhook_keys_of_a_subscriber_stay(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is made of the subscriber's word in the file and the delta's sequence, the same way for ever."""
    monkeypatch.setattr(webhook, "subscriber_token", lambda _, name: name)
    sink = WebhookSink(receiver.url, name="n", resume="r.sqlite")
    for sequence in (1, 2):
        sink(delta(sequence))
    assert [request.key for request in receiver.requests] == KEYS


@pytest.mark.parametrize("kept", [True, False], ids=["one sink", "a sink for each"])
def test_webhook_keys_of_a_file_begun_anew_are_new(receiver: Receiver, tmp_path: Path, kept: bool) -> None:
    """A subscriber that counts from 1 again, in a new file, has keys that no receiver has seen."""
    sink = WebhookSink(receiver.url, name="n", resume=tmp_path / "r")
    for text in "abc":
        graph = rdflib.Graph()
        graph.add((URIRef("http://e/s"), URIRef("http://e/p"), Literal(text)))
        with rdflive.subscribe(graph, QUERY, sink, name="n", resume=tmp_path / "r"):
            pass
        for file in tmp_path.iterdir():
            file.unlink()
        if not kept:
            sink = WebhookSink(receiver.url, name="n", resume=tmp_path / "r")
    assert [request.delta["sequence"] for request in receiver.requests] == [1, 1, 1]
    assert len({request.key for request in receiver.requests}) == 3


def test_webhook_keys_without_resume_are_of_one_sink(receiver: Receiver) -> None:
    """A delta that is sent again has its key; another one, or that of another sink, has not.

    The answer after a resync has the number of the delta before it, and is still no repetition of that.
    """
    sink = WebhookSink(receiver.url)
    for send, text in [(sink, "a"), (sink, "a"), (sink, "b"), (WebhookSink(receiver.url), "a")]:
        send(delta(1, text))
    keys = [request.key for request in receiver.requests]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    receiver.requests.clear()
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, QUERY, WebhookSink(receiver.url)) as subscription:
        for text in "ab":
            graph.add((URIRef("http://e/s"), URIRef("http://e/p"), Literal(text)))
        subscription.resync()
    assert [request.delta["sequence"] for request in receiver.requests] == [0, 1, 2, 2]
    assert len({request.key for request in receiver.requests}) == 4


@pytest.mark.parametrize(
    ("pace", "header", "patience", "pause"),
    [
        (0.4, "0", 0, r"0\.[234]"),
        (0.4, "Wed, 21 Oct 2015 07:28:00 GMT", 0, r"0\.[234]"),
        (0.4, None, 0, r"0\.[234]"),
        (60.0, "1", 10, r"[3-6]\d\.\d"),
        (0.01, "100", 60, r"100\.0"),
    ],
)
def test_webhook_waits_as_long_as_the_server_says(
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    pace: float,
    header: str | None,
    patience: int,
    pause: str,
) -> None:
    """Our own pauses are the least; what is beyond the patience is an error at once."""
    monkeypatch.setattr(webhook, "_PACE", RetryPace(first=pace, longest=pace))
    receiver.answers.append((503, {} if header is None else {"Retry-After": header}, b""))
    said = rf"503; .*tried 1 times in \d\.\d s; .* in {pause} s, past the patience of {patience} s"
    with pytest.raises(WebhookError, match=said):
        WebhookSink(receiver.url, patience=patience)(delta())
    assert len(receiver.requests) == 1


def test_webhook_loses_patience() -> None:
    """A server that is never there is an error that counts the tries."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
    with pytest.raises(
        WebhookError, match=r"refused; tried \d+ times in \d\.\d s; .* past the patience of 0\.1 s"
    ):
        WebhookSink(url, patience=0.1)(delta())


def trickling(start: bytes, more: bytes) -> Script:
    """Answer without end, in pieces that each come in time."""

    def script(wire: Wire) -> None:
        wire.raw(start)
        while True:
            time.sleep(0.02)
            wire.raw(more)

    return script


ENDLESS: dict[str, Script] = {
    "silent": Wire.wait,
    "status": trickling(b"HTTP/1.1 200 O", b"K"),
    "continue": trickling(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "header": trickling(b"HTTP/1.1 200 OK\r\nx: ", b"y"),
    "body": trickling(b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
}


@pytest.mark.parametrize("script", ENDLESS.values(), ids=ENDLESS)
def test_webhook_gives_up_a_server_that_does_not_come_to_an_end(script: Script) -> None:
    """The timeout is for the whole of a request, and an answer that was cut off by it is none."""
    with event_server() as server:
        server.play(script)
        with pytest.raises(WebhookError, match=r"timed out after 0\.2 s; tried 1 times in \d\.\d s"):
            WebhookSink(server.url, timeout=0.2, patience=0)(delta())


def test_webhook_error_sends_nothing_to_a_terminal() -> None:
    """No control character of a status line reaches the message."""
    with event_server() as server:
        for status in ("400 \x1b[31mred\x9b2J", "\x1b[2J", "x\x1b[2J\x07"):
            line = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode("latin-1")
            server.play(lambda wire, line=line: wire.raw(line))
            with pytest.raises(WebhookError) as caught:
                WebhookSink(server.url, patience=0)(delta())
            assert str(caught.value).isprintable()


def test_webhook_asks_a_proxy_for_a_tunnel_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No try sends what is for a server with TLS to the proxy in the clear."""
    monkeypatch.setenv("no_proxy", "")
    with event_server() as server:
        server.play(lambda wire: wire.raw("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"))
        monkeypatch.setenv("https_proxy", server.url)
        with pytest.raises(WebhookError, match="503 No"):
            WebhookSink("https://example.org/x", patience=0.2)(delta())
    assert len(server.asked) > 1
    assert {asked.method for asked in server.asked} == {"CONNECT"}


def test_webhook_can_be_closed_while_it_waits(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    """From another thread, at once: the delivery that is not through then fails, and so does the next."""
    receiver.answers.append((503, {"Retry-After": "100"}, b""))
    sink = WebhookSink(receiver.url, timeout=60)
    with ThreadPoolExecutor(1) as other:
        delivery = other.submit(sink, delta())
        until(lambda: "trying again in 100.0 s" in caplog.text)
        sink.close()
        with pytest.raises(WebhookError, match="503"):
            delivery.result(30)
    with pytest.raises(WebhookError, match="closed on this side"):
        sink(delta(2))
    assert len(receiver.requests) == 1


NO_URLS = [
    "", "x", "example.org/x", "ftp://e/x", "file:///etc/passwd", "http://", "http:///x", "http://e:x/", "http://e:0/",
    "http://[e/", "http://e/ x", "http://e/é", "http://e/\n", "http://user:word@e/",
    "http://a..b/", "http://.e/", f"http://{'a' * 64}.e/",
]  # fmt: skip


def test_webhook_refuses_what_it_cannot_use() -> None:
    """URLs are of HTTP, in ASCII, and show no password; a name and a file make keys that last together."""
    for url in NO_URLS:
        with pytest.raises(ValueError, match="webhook") as caught:
            WebhookSink(url)
        assert "word@" not in str(caught.value)
    pairs: list[dict[str, str]] = [{"name": "n"}, {"resume": "r"}, {"name": "", "resume": "r"}]
    for given in pairs:
        with pytest.raises(ValueError, match=r"name and resume.*together"):
            WebhookSink("http://e/", **given)
