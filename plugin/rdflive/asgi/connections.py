"""Protocols of client connections, with limits for request heads and a way to end any connection."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final

import httptools
from starlette.types import Receive
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

__all__ = ["CUT", "OUTLET", "bare", "http_within", "until_gone"]

CUT: Final = "rdflive.cut"
"""The key of a request's scope for the function that ends its connection at once."""
OUTLET: Final = "rdflive.outlet"
"""The key of a request's scope for the `ResponseOutlet` of its response."""
_UVICORN: Final = logging.getLogger("uvicorn.error")

_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})
"""Headers that say where a body ends."""
_LONGEST_HEAD: Final = 65_536
"""Bytes of the longest accepted request head."""


def http_within(seconds: Callable[[], float], log: logging.Logger = _UVICORN) -> type[HttpToolsProtocol]:
    """Return a protocol that limits the time and the length of request heads.

    `seconds` is asked for the limit of each head. `log` receives the errors of requests.
    """

    class HttpProtocol(HttpToolsProtocol):
        _head_timer: asyncio.TimerHandle | None = None
        _head_bytes = 0
        _earlier: tuple[RequestResponseCycle, ...] = ()
        """Requests that are still being answered while a later one of the same connection has arrived."""

        _received = b""
        _is_resuming = False
        """True while a parser reads a head that another one has read."""

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
            self._received = data
            super().data_received(data)

        def on_url(self, url: bytes) -> None:
            if not self._is_resuming:
                super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            if not self._is_resuming:
                super().on_header(name, value)

        def on_message_begin(self) -> None:
            if self._is_resuming:
                return
            super().on_message_begin()
            self.scope[CUT] = self.transport.abort  # type: ignore[typeddict-unknown-key]
            self._await_head()

        def on_headers_complete(self) -> None:
            if self._is_resuming:
                return
            self._end_head()
            running = self.cycle
            super().on_headers_complete()
            if self.cycle is not running:
                self.scope[OUTLET] = ResponseOutlet(self.cycle)  # type: ignore[typeddict-unknown-key]
            if running is not None and running is not self.cycle:
                self._earlier = tuple(c for c in (*self._earlier, running) if not c.response_complete)

        def _unsupported_upgrade_warning(self) -> None:
            """Go on over HTTP, as a server may that another protocol is offered to.

            httptools reads nothing behind such a head. A second parser reads the body and later requests.
            """
            offered = sys.exception()
            assert isinstance(offered, httptools.HttpParserUpgrade)  # noqa: S101 - uvicorn caught it
            rest = self._received[offered.args[0] :]
            framing = b"".join(b"%b: %b\r\n" % header for header in self.headers if header[0] in _FRAMING)
            if self.cycle is not None:
                self.cycle.more_body = True  # the application has not yet begun
            self._is_resuming = True
            self.parser = httptools.HttpRequestParser(self)
            self.parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
            self._is_resuming = False
            if rest:
                self.data_received(rest)

        def _await_head(self) -> None:
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(seconds(), self._cut, b"408 Request Timeout")

        def _end_head(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
            self._head_timer, self._head_bytes = None, 0

        def _cut(self, status: bytes) -> None:
            self._end_head()
            if not self.transport.is_closing():
                self.transport.write(bare(status))
                self.transport.close()

    return HttpProtocol


class ResponseOutlet:
    """Writes chunks of a response past the application's `send`, which would wait for a slow client."""

    __slots__ = ("_cycle", "written")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self.written = 0
        """Bytes that were written here."""

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
        self.written += len(chunk)
        self._cycle.transport.write(chunk)


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


def bare(status: bytes) -> bytes:
    """Return a response without a body, after which the connection ends."""
    return b"HTTP/1.1 " + status + b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
