"""Events as a response of HTTP: server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rdflive.asgi.connections import CUT
from rdflive.feeds.event_stream import EVENT_STREAM
from rdflive.sinks.events.event import heartbeat
from rdflive.sinks.events.follower import Follower

__all__ = ["STREAM_HEADERS", "EventStream"]

STREAM_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""The second is as proxies understand it."""
_HEARTBEAT: Final = 15.0
_PATIENCE: Final = 60.0
"""Seconds that a client has for taking a piece of what it is sent."""
_PIECE: Final = 1 << 16
"""Bytes that are sent together at most."""


class EventStream(Response):
    """The events of a follower, until the client goes or takes nothing for too long; then `stack` is closed.

    After `keep_alive` seconds in which nothing has happened the client is told so.
    """

    def __init__(
        self,
        follower: Follower,
        stack: AsyncExitStack,
        *,
        keep_alive: float = _HEARTBEAT,
        on_event: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(headers=STREAM_HEADERS, media_type=EVENT_STREAM)
        del self.headers["content-length"]
        self._follower = follower
        self._stack = stack
        self._keep_alive = keep_alive
        self._on_event = on_event

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
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
        follower = self._follower
        while not follower.is_over:
            event = await follower.take(self._keep_alive)
            if event is not None:
                if self._on_event is not None:
                    self._on_event()
                for piece in event.pieces():
                    await self._write(piece, send)
            elif not follower.is_over:
                await self._write(heartbeat(follower.reader.id, follower.reader.place), send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _write(self, piece: bytes, send: Send) -> None:
        for start in range(0, len(piece), _PIECE):
            timer = asyncio.get_running_loop().call_later(_PATIENCE, self._follower.cut)
            body = piece[start : start + _PIECE]
            await send({"type": "http.response.body", "body": body, "more_body": True})
            timer.cancel()
