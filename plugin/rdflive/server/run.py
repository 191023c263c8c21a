"""The process that serves: uvicorn within the limits of a service."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import uvicorn
from starlette.applications import Starlette

from rdflive.asgi.connections import WebSocket, http_within
from rdflive.asgi.server import AsgiServer
from rdflive.server.service import Service

with suppress(ImportError):  # Windows has none; `make_app` says that it cannot serve
    import resource

__all__ = ["allow_files", "make_server"]

_GRACE: Final = 5
"""Seconds that answers under way have at the end."""


def make_server(app: Starlette, *, certificate: str | None = None, key: str | None = None) -> AsgiServer:
    """Make the server of an application; `run([listener])` serves until SIGINT or SIGTERM.

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
        # a client without a token is known by its address, which X-Forwarded-For would let it choose
        proxy_headers=False,
        ws_max_size=service.limits.request_bytes,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    return AsgiServer(config, service.stop)


def allow_files() -> None:
    """Allow this process as many connections as the system does: each is an open file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
