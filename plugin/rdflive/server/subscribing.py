"""Subscriptions over server-sent events."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from rdflive.server.follower import CUT, Follower
from rdflive.server.isolation.response import ChildResponse
from rdflive.server.isolation.work import ExplainQuery
from rdflive.server.live_query import read_live_query
from rdflive.server.service import Service
from rdflive.sinks.event import heartbeat

__all__ = ["describe_topic", "explain_query", "list_topics", "subscribe"]

_EVENT_STREAM: Final = "text/event-stream"
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""The second is as proxies understand it."""
_HEARTBEAT: Final = 15.0
"""Seconds after which a client is told that nothing has happened."""
_PATIENCE: Final = 60.0
"""Seconds that a client has for taking a piece of what it is sent."""


async def subscribe(request: Request) -> Response:
    """Answer with the events of a query, for as long as the client stays."""
    service: Service = request.app.state.service
    given = await read_live_query(request)
    if request.method == "HEAD":
        return Response(headers=_HEADERS, media_type=_EVENT_STREAM)
    stack = AsyncExitStack()
    last = request.headers.get("last-event-id")
    follower = await stack.enter_async_context(
        service.topics.follow(given.query, given.entailment, request.state.client, last)
    )
    return _Events(follower, stack, service)


async def explain_query(request: Request) -> Response:
    """Answer with the plan of a query, also as a picture."""
    given = await read_live_query(request)
    service: Service = request.app.state.service
    return ChildResponse(service.children, request.state.client.name, ExplainQuery(given.query))


async def list_topics(request: Request) -> Response:
    """Answer with all queries that are kept up to date."""
    service: Service = request.app.state.service
    topics = list(service.topics)
    return JSONResponse(await service.threads.work(lambda: [topic.describe() for topic in topics]))


async def describe_topic(request: Request) -> Response:
    """Answer with one query that is kept up to date."""
    service: Service = request.app.state.service
    topic = service.topics.find(request.path_params["name"])
    return JSONResponse(await service.threads.work(topic.describe))


class _Events(Response):
    """A stream of events that ends when the client goes, or takes nothing for too long."""

    def __init__(self, follower: Follower, stack: AsyncExitStack, service: Service) -> None:
        super().__init__(headers=_HEADERS, media_type=_EVENT_STREAM)
        del self.headers["content-length"]
        self._follower = follower
        self._stack = stack
        self._metrics = service.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._stack:
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            watching = asyncio.create_task(self._watch(receive))
            self._follower.cut = scope.get(CUT, self._follower.stop)
            try:
                await self._stream(send)
            finally:
                watching.cancel()

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._follower.stop()

    async def _stream(self, send: Send) -> None:
        follower, loop = self._follower, asyncio.get_running_loop()

        async def write(piece: bytes) -> None:
            timer = loop.call_later(_PATIENCE, follower.cut)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            timer.cancel()

        await write(b": rdflive\n\n")
        while not follower.is_over:
            event = await follower.take(_HEARTBEAT)
            if event is not None:
                self._metrics.events.inc()
                for piece in event.pieces():
                    await write(piece)
            elif not follower.is_over:
                await write(heartbeat(follower.reader.id, follower.reader.place))
        await send({"type": "http.response.body", "body": b"", "more_body": False})
