"""A server of one log of events, at the path /."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from functools import cached_property
from typing import Final

import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from rdflive.asgi.addresses import is_loopback, may_mean
from rdflive.asgi.connections import http_within
from rdflive.asgi.server import AsgiServer
from rdflive.sinks.events.follower import DeliveryPace, Followers
from rdflive.sinks.events.log import EventLog
from rdflive.sinks.events.stream import stream_events

__all__ = ["EventServer"]

_log: Final = logging.getLogger("rdflive.sinks")
_log.setLevel(logging.ERROR)  # errors of clients go to the clients

_HEAD_SECONDS: Final = 30.0
"""Seconds for the head of a request to arrive."""
_GRACE: Final = 2.0
"""Seconds for clients to take their pending events at the end."""
_SHUTDOWN: Final = 5
"""Seconds after which the remaining connections are dropped."""


class EventServer(AsgiServer):
    """Serves a log on `host`, which resolves to `address`, until `should_exit`."""

    def __init__(self, log: EventLog, host: str, address: str, keep_alive: float) -> None:
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            http=http_within(lambda: _HEAD_SECONDS, _log),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_SHUTDOWN,
        )
        super().__init__(config, self._end)
        self._events = log
        self._host = host
        self._is_loopback = is_loopback(address)
        self._keep_alive = keep_alive

    @cached_property
    def _followers(self) -> Followers:
        """The clients; made in the event loop."""
        return Followers(self._events, DeliveryPace(asyncio.get_running_loop()))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._response(Request(scope))(scope, receive, send)

    async def _end(self) -> None:
        self._followers.dismiss(_GRACE)

    def _response(self, request: Request) -> Response:
        host = request.headers.get("host")
        # DNS rebinding: a web page may resolve its own name to this machine, and the browser sends that name
        if host and self._is_loopback and not may_mean(host, self._host):
            return PlainTextResponse("the Host is not that of this server", 403)
        if request.method != "GET":
            return PlainTextResponse("the events are read by GET", 501)
        if request.url.path != "/":
            return PlainTextResponse("the events are at /", 404)
        stack = AsyncExitStack()
        follower = stack.enter_context(self._followers.follow(request.headers.get("last-event-id")))
        return stream_events(request.scope, follower, stack, keep_alive=self._keep_alive)
