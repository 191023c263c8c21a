"""The process that serves: uvicorn with limits of its own, and an end that waits for nobody."""

from __future__ import annotations

import asyncio
import resource
import socket
from contextlib import suppress
from typing import Final

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request as Handshake

from rdflive.addresses import listening_at
from rdflive.server.follower import CUT
from rdflive.server.service import Service

__all__ = ["allow_files", "listen", "make_server"]

_GRACE: Final = 5
"""Seconds that answers under way have at the end."""
_LONGEST_HEAD: Final = 65_536
"""Bytes of the longest head of a request."""
_BACKLOG: Final = 2048


def listen(host: str, port: int) -> socket.socket:
    """Open the socket to serve on; raises `RdfliveError` where that cannot be."""
    with listening_at(host, port) as (family, address):
        return socket.create_server(address, family=family, backlog=_BACKLOG)


def make_server(app: Starlette, *, certificate: str | None = None, key: str | None = None) -> uvicorn.Server:
    """Make the server of an application; `run([listen(host, port)])` serves until SIGINT or SIGTERM.

    Clients of subscriptions are let go at once then, and answers under way have some seconds to finish.
    """
    service: Service = app.state.service
    config = uvicorn.Config(
        app,
        http=_http(service.limits.header_seconds),
        ws=_WebSocket,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws_max_size=service.limits.request_bytes,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    return _Server(config, service)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all subscriptions first: their streams would never end by themselves."""
        await self._service.stop()
        await super().shutdown(sockets)


def _http(seconds: float) -> type[asyncio.Protocol]:
    """Make the protocol of a connection: the head of a request must arrive in time, and is not too long."""

    class Http(HttpToolsProtocol):
        _head_timer: asyncio.TimerHandle | None = None
        _head_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._await_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_head()
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
            super().on_headers_complete()

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
                self.transport.write(
                    b"HTTP/1.1 " + status + b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                )
                self.transport.close()

    return Http


class _WebSocket(WebSocketsSansIOProtocol):
    """The protocol of a WebSocket, whose connection can be ended also when the client takes nothing."""

    def handle_connect(self, event: Handshake) -> None:
        super().handle_connect(event)
        if not self.transport.is_closing():  # else the handshake was refused
            self.scope[CUT] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.transport.abort()  # closing waits for what the client does not take


def allow_files() -> None:
    """Allow this process as many connections as the system does: each is an open file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
