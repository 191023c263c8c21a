"""The process that serves: uvicorn with limits of its own, and an end that waits for nobody."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Final

import uvicorn
import uvicorn.lifespan.on  # uvicorn imports these when it runs, and a signal may come then: see cli/serve.py
import uvicorn.loops.asyncio
import uvicorn.loops.auto
from starlette.applications import Starlette

from rdflive.server.connections import WebSocket, http_within
from rdflive.server.service import Service
from rdflive.sinks.addresses import listening_at

with suppress(ImportError):  # Windows has none; `make_app` says that it cannot serve
    import resource

__all__ = ["allow_files", "listen", "make_server"]

_GRACE: Final = 5
"""Seconds that answers under way have at the end."""
_BACKLOG: Final = 2048
_STEPS: Final = 3
"""Iterations of the event loop between the accepting of a connection and uvicorn's knowing of it."""


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
        http=http_within(service.limits.header_seconds),
        ws=WebSocket,
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
        """Accept nobody else, and end all subscriptions, whose streams would never end by themselves."""
        for listener in sockets or ():
            asyncio.get_running_loop().remove_reader(listener)
        await self._service.stop()
        for _ in range(_STEPS):  # uvicorn closes the connections that it knows of
            await asyncio.sleep(0)
        await super().shutdown(sockets)


def allow_files() -> None:
    """Allow this process as many connections as the system does: each is an open file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
