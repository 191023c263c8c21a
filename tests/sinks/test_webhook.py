"""Deltas as requests, to a real server."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from rdflive.http import Pace
from rdflive.model import Delta, Header
from rdflive.sinks import WebhookError, WebhookSink, webhook
from support.listening import end_accepting
from support.sinks import Receiver, receiving

KEYS = ["fd220a55-6aa6-55cd-881f-184821d2be36", "a8818727-ff36-5091-ab1a-a325693ce325"]
"""Of the word n: no release may change them, or what is sent again after an update is taken twice."""
QUERY = "SELECT ?o { ?s <http://e/p> ?o }"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries are short."""
    monkeypatch.setattr(webhook, "_PACE", Pace(first=0.01, longest=0.02))


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
    with rdflive.subscribe(graph, QUERY, sink):
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
    with pytest.raises(
        WebhookError, match=f"{receiver.url}: delta 1 was not delivered: HTTP {status}: "
    ) as caught:
        WebhookSink(receiver.url)(delta())
    assert len(receiver.requests) == 1
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_webhook_follows_no_redirect(receiver: Receiver, status: int) -> None:
    """A redirect is an error that names its target."""
    receiver.answers.append((status, {"Location": f"{receiver.url}/other"}, b""))
    with pytest.raises(WebhookError, match=r"a redirect to .*/hook/other; .* give its URL"):
        WebhookSink(receiver.url)(delta())
    assert len(receiver.requests) == 1


def test_webhook_keys_of_a_resumed_subscriber_go_on(receiver: Receiver, tmp_path: Path) -> None:
    """Of one name in one file a delta has the same key in every process; any other has other keys."""
    for name, file in [("n", "a"), ("n", "a"), ("m", "a"), ("n", "b")]:
        sink = WebhookSink(receiver.url, name=name, resume=tmp_path / file)
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
    sink(delta(1))
    sink(delta(2))
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


def test_webhook_finds_its_file_from_any_folder(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path is that of the folder in which the sink was made, as for the subscription."""
    (tmp_path / "other").mkdir()
    for folder in (".", "other"):
        monkeypatch.chdir(tmp_path)
        sink = WebhookSink(receiver.url, name="n", resume="r.sqlite")
        monkeypatch.chdir(folder)
        sink(delta())
    first, second = receiver.requests
    assert first.key == second.key


def test_webhook_keys_without_resume_are_of_one_sink(receiver: Receiver) -> None:
    """A delta that is sent again has its key; another one, or that of another sink, has not."""
    sink = WebhookSink(receiver.url)
    for send, text in [(sink, "a"), (sink, "a"), (sink, "b"), (WebhookSink(receiver.url), "a")]:
        send(delta(1, text))
    keys = [request.key for request in receiver.requests]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_webhook_key_of_a_resync_is_new(receiver: Receiver) -> None:
    """The answer after a resync has the number of the delta before it, and is still no repetition of that."""
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, QUERY, WebhookSink(receiver.url)) as subscription:
        for text in "ab":
            graph.add((URIRef("http://e/s"), URIRef("http://e/p"), Literal(text)))
        subscription.resync()
    assert [request.delta["sequence"] for request in receiver.requests] == [0, 1, 2, 2]
    assert len({request.key for request in receiver.requests}) == 4


@pytest.mark.parametrize("given", [{"name": "n"}, {"resume": "r"}, {"name": "", "resume": "r"}])
def test_webhook_takes_name_and_resume_together(given: dict[str, str]) -> None:
    """One without the other could not make keys that last."""
    with pytest.raises(ValueError, match=r"name and resume.*together"):
        WebhookSink("http://e/", **given)


def test_webhook_signs_key_and_body(receiver: Receiver) -> None:
    """The receiver can check both with the secret, which is sent nowhere."""
    WebhookSink(receiver.url, secret="gehëim")(delta())
    (request,) = receiver.requests
    signed = request.key.encode() + b"." + request.body
    expected = hmac.new("gehëim".encode(), signed, hashlib.sha256).hexdigest()
    assert request.headers["X-Rdflive-Signature"] == f"sha256={expected}"


@pytest.mark.parametrize("header", ["0", "Wed, 21 Oct 2015 07:28:00 GMT", "soon", None])
def test_webhook_pauses_whatever_the_server_says(
    receiver: Receiver, header: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that asks to be called at once is not called without end: our own pauses are the least."""
    monkeypatch.setattr(webhook, "_PACE", Pace(first=0.4, longest=0.4))
    receiver.answers.append((503, {} if header is None else {"Retry-After": header}, b""))
    with pytest.raises(WebhookError, match=r"503; .* the next time would be in 0\.[234] s"):
        WebhookSink(receiver.url, patience=0)(delta())


def test_webhook_does_not_come_back_sooner_than_by_itself(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Retry-After that is shorter than our own pause changes nothing."""
    monkeypatch.setattr(webhook, "_PACE", Pace(first=60.0, longest=60.0))
    receiver.answers.append((503, {"Retry-After": "1"}, b""))
    with pytest.raises(WebhookError, match=r"the next time would be in [3-6]\d\.\d s"):
        WebhookSink(receiver.url, patience=10)(delta())


@pytest.mark.parametrize("asked", [100, 3600])
def test_webhook_waits_as_long_as_the_server_says(receiver: Receiver, asked: int) -> None:
    """A longer Retry-After goes before our own pauses; one beyond the patience is an error at once."""
    receiver.answers.append((429, {"Retry-After": str(asked)}, b""))
    with pytest.raises(
        WebhookError,
        match=rf"429; tried 1 times in \d\.\d s; .* in {asked}\.0 s, past the patience of 60 s",
    ):
        WebhookSink(receiver.url, patience=60)(delta())
    assert len(receiver.requests) == 1


def test_webhook_loses_patience() -> None:
    """A server that is never there is an error that counts the tries."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
    with pytest.raises(
        WebhookError, match=r"refused; tried \d+ times in \d\.\d s; .* past the patience of 0\.1 s"
    ):
        WebhookSink(url, patience=0.1)(delta())


Answer: TypeAlias = Callable[[socket.socket, bytes], None]


def silent(_: socket.socket, __: bytes) -> None:
    """Take the request and never answer."""


def trickling(start: bytes, more: bytes) -> Answer:
    """Answer without end, in pieces that each come in time."""

    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(start)
        while True:
            time.sleep(0.02)
            connection.sendall(more)

    return answer


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """Run a server that does with each connection what it is told, and closes it only at the end."""
    connections: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with suppress(OSError):
            if request := connection.recv(1 << 16):
                answer(connection, request)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connections.append(server.accept()[0])
                threads.append(threading.Thread(target=serve, args=(connections[-1],)))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        acceptor = threading.Thread(target=accept)
        acceptor.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            end_accepting(server, acceptor)
            for connection, thread in zip(connections, threads, strict=True):
                with closing(connection), suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                thread.join()


@pytest.mark.parametrize(
    ("scheme", "answer"),
    [
        ("http", silent),
        ("http", trickling(b"HTTP/1.1 200 O", b"K")),
        ("http", trickling(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
        ("http", trickling(b"HTTP/1.1 200 OK\r\nx: ", b"y")),
        ("http", trickling(b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n", b"0")),
        ("https", trickling(b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb", b"\x00")),
    ],
    ids=["silent", "status", "continue", "header", "body", "handshake"],
)
def test_webhook_gives_up_a_server_that_does_not_come_to_an_end(scheme: str, answer: Answer) -> None:
    """The timeout is for the whole of a request, and an answer that was cut off by it is none."""
    with (
        answering(answer) as url,
        pytest.raises(WebhookError, match=r"timed out after 0\.2 s; tried 1 times in \d\.\d s"),
    ):
        WebhookSink(url.replace("http", scheme, 1), timeout=0.2, patience=0)(delta())


@pytest.mark.parametrize(
    "target", ["//[", "http://a..b/", "http://[::1", "\x9b[2J", "http://e:x/", "x" * 10000]
)
def test_webhook_reads_no_redirect(receiver: Receiver, target: str) -> None:
    """Whatever the target of a redirect is, the error is the same, and printable."""
    receiver.answers.append((307, {"Location": target}, b""))
    with pytest.raises(WebhookError, match=r"a redirect to .*; .* give its URL") as caught:
        WebhookSink(receiver.url)(delta())
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("status", [b"400 \x1b[31mred\x9b2J", b"\x1b[2J", b"x\x1b[2J\x07"])
def test_webhook_error_sends_nothing_to_a_terminal(status: bytes) -> None:
    """No control character of a status line reaches the message."""

    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")

    with answering(answer) as url, pytest.raises(WebhookError) as caught:
        WebhookSink(url, patience=0)(delta())
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("proxy", "reason"),
    [
        ("http:///", "No host"),
        ("http://a..b/", "label"),
        ("socks5://127.0.0.1:1", "unsupported scheme socks5"),
    ],
)
def test_webhook_cannot_use_a_proxy_that_is_none_of_http(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, proxy: str, reason: str
) -> None:
    """What the environment names is an error of the delivery, whatever is wrong with it."""
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(WebhookError, match=f"was not delivered: .*({reason})"):
        WebhookSink(receiver.url, patience=0)(delta())
    assert receiver.requests == []


def test_webhook_asks_a_proxy_for_a_tunnel_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No try sends what is for a server with TLS to the proxy in the clear."""
    requests: list[bytes] = []

    def refuse(connection: socket.socket, request: bytes) -> None:
        requests.append(request)
        connection.sendall(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")

    monkeypatch.setenv("no_proxy", "")
    with answering(refuse) as url:
        monkeypatch.setenv("https_proxy", url)
        with pytest.raises(WebhookError, match="503 No"):
            WebhookSink("https://example.org/x", patience=0.2)(delta())
    assert len(requests) > 1
    assert {request.split()[0] for request in requests} == {b"CONNECT"}


def test_webhook_goes_through_a_proxy(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy of the environment is given the request."""
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", f"http://{urlsplit(receiver.url).netloc}")
    WebhookSink("http://example.org/x")(delta())
    assert receiver.requests[0].path == "http://example.org/x"


@pytest.mark.parametrize("waits", ["for the answer", "before another try"])
def test_webhook_can_be_closed_while_it_waits(
    receiver: Receiver, waits: str, caplog: pytest.LogCaptureFixture
) -> None:
    """From another thread, at once: the delivery that is not through then fails, and so does the next."""
    asked, answer = threading.Event(), threading.Event()
    if waits == "for the answer":
        receiver.on_request = lambda _: (asked.set(), answer.wait(60))
    receiver.answers.append((503, {"Retry-After": "100"}, b""))
    sink = WebhookSink(receiver.url, timeout=60)
    with ThreadPoolExecutor(1) as other:
        delivery = other.submit(sink, delta())
        if waits == "for the answer":
            assert asked.wait(60)
        else:
            for _ in range(3000):
                if "trying again in 100.0 s" in caplog.text:
                    break
                time.sleep(0.02)
        sink.close()
        with pytest.raises(WebhookError, match="503" if caplog.text else "closed on this side"):
            delivery.result(30)
        answer.set()
    with pytest.raises(WebhookError, match="closed on this side"):
        sink(delta(2))
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    "url",
    ["", "x", "example.org/x", "ftp://e/x", "file:///etc/passwd", "http://", "http:///x", "http://e:x/", "http://e:0/",
     "http://[e/", "http://e/ x", "http://e/é", "http://e/\n", "http://user:word@e/",
     "http://a..b/", "http://.e/", f"http://{'a' * 64}.e/"],
)  # fmt: skip
def test_webhook_refuses_what_is_no_url(url: str) -> None:
    """Only HTTP URLs in ASCII are taken, and a password in one is not shown."""
    with pytest.raises(ValueError, match="webhook") as caught:
        WebhookSink(url)
    assert "word@" not in str(caught.value)
