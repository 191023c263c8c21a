"""Receivers of deltas: a server for webhooks, and a client of server-sent events."""

from __future__ import annotations

import http.client
import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Request:
    """A request of a webhook."""

    path: str
    headers: Any
    body: bytes

    @property
    def key(self) -> str:
        return self.headers["Idempotency-Key"]

    @property
    def delta(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """A server for webhooks, which sends the given answers, then always 204."""

    url: str
    answers: deque[tuple[int, dict[str, str], bytes] | None] = field(default_factory=deque)
    """Status, headers and body; None closes the connection without a response."""
    requests: list[Request] = field(default_factory=list)
    on_request: Callable[[Request], object] | None = None
    """Called with each request before the response."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver on its own port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:  # the sender was killed between headers and body: no request
                self.close_connection = True
                return
            receiver.requests.append(Request(self.path, self.headers, body))
            if receiver.on_request is not None:
                receiver.on_request(receiver.requests[-1])
            answer = receiver.answers.popleft() if receiver.answers else (204, {}, b"")
            if answer is None:
                self.close_connection = True
                return
            status, headers, text = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def handle(self) -> None:
            with suppress(ConnectionError):  # the sender was killed
                super().handle()

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False  # so that the end of the block waits for them
        receiver = Receiver(f"http://127.0.0.1:{server.server_port}/hook")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


@dataclass
class Event:
    """A server-sent event; a comment has only its text."""

    kind: str = ""
    id: str = ""
    data: Any = None
    comment: str = ""


@contextmanager
def listening(url: str, last: str | None = None, **headers: str) -> Iterator[Iterator[Event]]:
    """Connect to a server of events, and yield an iterator of its events until the connection ends."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    try:
        given = {**headers, **({} if last is None else {"Last-Event-ID": last})}
        target = urlsplit(url)
        connection.request("GET", f"{target.path}?{target.query}", headers=given)
        with connection.getresponse() as response:
            assert response.status == 200, response.read()
            assert response.headers["Content-Type"].startswith("text/event-stream")
            yield read_events(response)
    finally:
        connection.close()


def read_events(lines: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events of a stream; an event without a final empty line is dropped."""
    event = Event()
    try:
        for raw in lines:
            line = raw.decode().removesuffix("\n")
            name, _, value = line.partition(":")
            match name:
                case "id":
                    event.id = value.strip()
                case "event":
                    event.kind = value.strip()
                case "data":
                    event.data = value
                case "" if line:
                    event.comment = line
                case _:
                    yield replace(event, data=json.loads(event.data or "null"))
                    event = Event()
    except ConnectionResetError:  # same as the end
        return


def total(events: Iterable[Event], begin: Counter[str] | None = None) -> Counter[str]:
    """Return the final answer of a client that applies the events."""
    answer = Counter(begin)
    for event in events:
        if event.kind == "initial":
            answer.clear()
        if event.kind in ("initial", "update"):
            answer.update(json.dumps(row, sort_keys=True) for row in event.data["added"])
            answer.subtract(json.dumps(row, sort_keys=True) for row in event.data["removed"])
    assert min(answer.values(), default=0) >= 0
    return +answer
