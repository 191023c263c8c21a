"""Protocols of client connections, with limits for request heads and a way to end any connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

from starlette.types import Receive
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request as Handshake

__all__ = ["CUT", "OUTLET", "WebSocket", "http_within", "until_gone"]

CUT: Final = "rdflive.cut"
"""The key of a request's scope for the function that ends its connection at once."""
OUTLET: Final = "rdflive.outlet"
"""The key of a request's scope for the `ResponseOutlet` of its response."""
_UVICORN: Final = logging.getLogger("uvicorn.error")

_LONGEST_HEAD: Final = 65_536
"""Bytes of the longest accepted request head."""


def http_within(seconds: float, log: logging.Logger = _UVICORN) -> type[asyncio.Protocol]:
    """Return a protocol that limits the time and the length of request heads.

    `log` receives the errors of requests.
    """

    class HttpProtocol(HttpToolsProtocol):
        _head_timer: asyncio.TimerHandle | None = None
        _head_bytes = 0
        _earlier: tuple[RequestResponseCycle, ...] = ()
        """Requests that are still being answered while a later one of the same connection has arrived."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.logger = log

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._await_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_head()
            for cycle in self._earlier:  # uvicorn notifies only the last
                cycle.disconnected = True
                cycle.message_event.set()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._head_timer is not None:
                self._head_bytes += len(data)
                if self._head_bytes > _LONGEST_HEAD + 65_536:
                    self._cut(b"431 Request Header Fields Too Large")
                    return
            super().data_received(data)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.scope[CUT] = self.transport.abort  # type: ignore[typeddict-unknown-key]
            self._await_head()

        def on_headers_complete(self) -> None:
            self._end_head()
            running = self.cycle
            super().on_headers_complete()
            if self.cycle is not running:
                self.scope[OUTLET] = ResponseOutlet(self.cycle)  # type: ignore[typeddict-unknown-key]
            if running is not None and running is not self.cycle:
                self._earlier = tuple(c for c in (*self._earlier, running) if not c.response_complete)

        def handle_websocket_upgrade(self) -> None:
            self._unset_keepalive_if_required()
            if self.cycle is not None and not self.cycle.response_complete:
                self.transport.abort()  # two protocols cannot share a connection
            else:
                super().handle_websocket_upgrade()

        def _await_head(self) -> None:
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(seconds, self._cut, b"408 Request Timeout")

        def _end_head(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
            self._head_timer, self._head_bytes = None, 0

        def _cut(self, status: bytes) -> None:
            self._end_head()
            if not self.transport.is_closing():
                self.transport.write(_bare(status))
                self.transport.close()

    return HttpProtocol


class ResponseOutlet:
    """Writes chunks of a response past the application's `send`, which would wait for a slow client."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    @property
    def is_free(self) -> bool:
        """True if the response is sent in chunks, and its client keeps up."""
        cycle = self._cycle
        return bool(cycle.chunked_encoding) and not (
            cycle.flow.write_paused
            or cycle.disconnected
            or cycle.response_complete
            or cycle.transport.is_closing()
        )

    def write(self, chunk: bytes) -> None:
        """Write a chunk of HTTP/1.1, with its length."""
        self._cycle.transport.write(chunk)


class WebSocket(WebSocketsSansIOProtocol):
    """The protocol of a WebSocket; its connection also ends while the client reads nothing."""

    def data_received(self, data: bytes) -> None:
        """Process bytes: the first bytes hold the full head, and are refused if they are no handshake."""
        super().data_received(data)
        if not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(_bare(b"400 Bad Request"))
            self.transport.close()

    def handle_connect(self, event: Handshake) -> None:
        """Begin, and put the function that ends the connection into the scope."""
        super().handle_connect(event)
        if not self.transport.is_closing():  # else the handshake was refused
            self.scope[CUT] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def keepalive_timeout(self) -> None:
        """End the connection at once: closing would wait for a client that reads nothing."""
        super().keepalive_timeout()
        self.transport.abort()

    def shutdown(self) -> None:
        """End the connection with the server."""
        if self.handshake_initiated:
            super().shutdown()
        else:
            self.transport.abort()


async def until_gone(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Run `work` until it ends or the client disconnects."""
    tasks = asyncio.create_task(work), asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            # raises the error of the work, which `wait` does not
            tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _bare(status: bytes) -> bytes:
    return b"HTTP/1.1 " + status + b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
