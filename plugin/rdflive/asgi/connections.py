"""The connections that clients open: heads of requests in time, and an end whatever is sent or taken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

from starlette.types import Receive
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request as Handshake

__all__ = ["CUT", "WebSocket", "http_within", "until_gone"]

CUT: Final = "rdflive.cut"
"""Where the scope of a request has a function that ends its connection at once."""
_UVICORN: Final = logging.getLogger("uvicorn.error")

_LONGEST_HEAD: Final = 65_536
"""Bytes of the longest head of a request."""


def http_within(seconds: float, log: logging.Logger = _UVICORN) -> type[asyncio.Protocol]:
    """Make the protocol of a connection: the head of a request must arrive in time, and is not too long.

    `log` takes what goes wrong with requests.
    """

    class HttpProtocol(HttpToolsProtocol):
        _head_timer: asyncio.TimerHandle | None = None
        _head_bytes = 0
        _earlier: tuple[RequestResponseCycle, ...] = ()
        """What is being answered while the request behind it has come already."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.logger = log

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._await_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_head()
            for cycle in self._earlier:  # uvicorn tells only the last
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


class WebSocket(WebSocketsSansIOProtocol):
    """The protocol of a WebSocket, whose connection ends also when the client takes nothing."""

    def data_received(self, data: bytes) -> None:
        """Take bytes: the first are the whole head, and what is no handshake by then is refused."""
        super().data_received(data)
        if not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(_bare(b"400 Bad Request"))
            self.transport.close()

    def handle_connect(self, event: Handshake) -> None:
        """Begin; a function in the scope ends the connection at once."""
        super().handle_connect(event)
        if not self.transport.is_closing():  # else the handshake was refused
            self.scope[CUT] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def keepalive_timeout(self) -> None:
        """End: closing would wait for what the client does not take."""
        super().keepalive_timeout()
        self.transport.abort()

    def shutdown(self) -> None:
        """End with the server."""
        if self.handshake_initiated:
            super().shutdown()
        else:
            self.transport.abort()


async def until_gone(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do some work for as long as the client stays."""
    tasks = asyncio.create_task(work), asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            # to raise what the work has raised: `wait` does not
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
