"""Deltas as server-sent events, from a small HTTP server of its own."""

from __future__ import annotations

import logging
import socket
import socketserver
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

from rdflive.model import Delta
from rdflive.sinks.addresses import hostname, is_loopback, listening_at
from rdflive.sinks.event import heartbeat
from rdflive.sinks.events import EventLog

__all__ = ["SseSink"]

log = logging.getLogger("rdflive")

_PATIENCE: Final = 30.0
"""Seconds that a client has for its request, and for taking each piece of what is sent."""
_PIECE: Final = 1 << 16
_GRACE: Final = 2.0
"""Seconds that clients have to take what waits for them when the sink is closed."""


class SseSink:
    """Serves the deltas of one subscription at `url` to any number of clients, until it is closed.

    A client is sent `event: initial` with the current answer, then `event: update` for what changes; `data`
    is the line of `to_ndjson`, and `id` is `sequence-epoch`. One that comes back with `Last-Event-ID` is
    sent what it missed, if the last `history` deltas reach back to that, else `event: resync` and the
    current answer. The writer never waits for a client: what a slow one has not taken is merged into one
    event. `event: heartbeat` every `keep_alive` seconds shows that the connection lives.

    Nobody is asked for a password: any other `host` than the default one shows the answer to everybody
    who can reach it. Raises `RdfliveError` where it cannot listen.

    >>> sink = SseSink()
    >>> sink.url.startswith("http://127.0.0.1:")
    True
    >>> sink.close()
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        history: int = 1000,
        keep_alive: float = 15.0,
    ) -> None:
        self._events = EventLog(history=history)
        self._server = _listen(host, port, self._events, keep_alive)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="rdflive-sse", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the events are."""
        host, port = self._server.server_address[:2]
        return f"http://[{host!s}]:{port}/" if ":" in str(host) else f"http://{host!s}:{port}/"

    def __call__(self, delta: Delta) -> None:
        """Send a delta to all clients, without waiting for any."""
        self._events.publish(delta)

    def close(self) -> None:
        """Let the clients take what waits for them, for some seconds at most, and stop. May be repeated."""
        self._events.end()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        self._server.disconnect()


def _listen(host: str, port: int, events: EventLog, keep_alive: float) -> _Server:
    with listening_at(host, port) as (family, address):
        return _Server(family, address, host, events, keep_alive)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, family: int, address: Any, host: str, events: EventLog, keep_alive: float) -> None:
        self.address_family = family
        self.host = host
        self.events = events
        self.keep_alive = keep_alive
        self._connections: dict[threading.Thread, Any] = {}
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, which `disconnect` can wait for."""
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        for known in [known for known in self._connections if not known.is_alive()]:
            del self._connections[known]
        self._connections[thread] = request
        thread.start()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base's names
        """Log what went wrong in a connection; the others go on."""
        log.exception("the connection of %s failed", client_address)

    def disconnect(self) -> None:
        """Wait for the threads of all connections; those that take long are cut off."""
        deadline = monotonic() + _GRACE
        for thread, request in self._connections.items():
            thread.join(max(0.0, deadline - monotonic()))
            if thread.is_alive():
                _cut(request)
                thread.join()

    def knows(self, name: str | None) -> bool:
        """Tell whether a request's host may mean this server.

        A web page can have its own name point to this machine, and read what listens here only for it.
        """
        if name is None or not is_loopback(str(self.server_address[0])):
            return True
        return name in ("localhost", self.host.lower()) or is_loopback(name)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "rdflive"
    timeout = _PATIENCE
    server: _Server

    def do_GET(self) -> None:
        """Send events until the client goes or the server ends."""
        self.close_connection = True
        if not self.server.knows(_asked_host(self.headers.get("Host"))):
            self.send_error(HTTPStatus.FORBIDDEN, "The Host is not that of this server")
        elif (path := _path(self.path)) is None:
            self.send_error(HTTPStatus.BAD_REQUEST, "The address is malformed")
        elif path != "/":
            self.send_error(HTTPStatus.NOT_FOUND, "The events are at /")
        else:
            with suppress(OSError):  # the client has gone, or takes nothing any more
                self._stream()

    def _stream(self) -> None:
        reader = self.server.events.join(self.headers.get("Last-Event-ID"))
        try:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Cache-Control", "no-store")
            self.send_header("Connection", "close")
            self.end_headers()
            while not reader.is_over:
                event = reader.take(self.server.keep_alive)
                if event is not None:
                    for piece in event.pieces():
                        self._send(piece)
                elif not reader.is_over:
                    self._send(heartbeat(reader.id, reader.place))
        finally:
            self.server.events.leave(reader)

    def _send(self, piece: bytes) -> None:
        # the timeout is for a whole `write`, and a large answer may take longer
        for start in range(0, len(piece), _PIECE):
            self.wfile.write(piece[start : start + _PIECE])

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Log a request."""
        log.debug("%s " + format, self.address_string(), *args)


def _path(target: str) -> str | None:
    try:
        return urlsplit(target).path
    except ValueError:
        return None


def _asked_host(header: str | None) -> str | None:
    """Give the host that a request names; empty where that cannot be read."""
    return None if not header else hostname(header) or ""


def _cut(connection: socket.socket) -> None:
    """End a connection at once, also for a thread that is sending on it."""
    with suppress(OSError):  # it has ended already
        connection.shutdown(socket.SHUT_RDWR)
