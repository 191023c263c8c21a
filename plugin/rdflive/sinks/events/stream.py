"""HTTP streams that end when the client disconnects: server-sent events and long documents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Final

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from rdflive.asgi.connections import CUT, OUTLET, until_gone
from rdflive.feeds.event_stream import EVENT_STREAM
from rdflive.sinks.events.event import LONGEST_PIECE, heartbeat
from rdflive.sinks.events.follower import Follower

__all__ = ["HEARTBEAT", "STREAM_HEADERS", "PatientStream", "stream_events"]

STREAM_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""The second header tells proxies not to buffer."""
HEARTBEAT: Final = 15.0
"""Seconds without an event after which a client receives a heartbeat."""
_PATIENCE: Final = 60.0
"""Seconds for a client to read one piece."""


class PatientStream(StreamingResponse):
    """Sends pieces until the client disconnects or reads nothing for too long; then closes `stack`."""

    def __init__(
        self, pieces: AsyncIterable[str | bytes], stack: AsyncExitStack, media_type: str = EVENT_STREAM
    ) -> None:
        super().__init__(pieces, headers=STREAM_HEADERS, media_type=media_type)
        self._stack = stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        # only our own protocols set CUT; on another server the task is cancelled instead
        cut = scope.get(CUT, task.cancel if task else None)

        async def send_in_time(message: Message) -> None:
            # `send` would wait for ever for a client that reads nothing
            timer = loop.call_later(_PATIENCE, cut)
            try:
                await send(message)
            finally:
                timer.cancel()

        async with self._stack:
            await until_gone(receive, self.stream_response(send_in_time))


def stream_events(
    scope: Scope,
    follower: Follower,
    stack: AsyncExitStack,
    *,
    keep_alive: float = HEARTBEAT,
    on_event: Callable[[], object] | None = None,
) -> PatientStream:
    """Return a response of a follower's events, with a heartbeat after `keep_alive` seconds without one."""

    async def pieces() -> AsyncIterator[bytes]:
        while not follower.is_over:
            event = await follower.take(keep_alive)
            if event is not None:
                if on_event is not None:
                    on_event()
                for piece in event.pieces():
                    # one solution may be megabytes, and the time limit is for each piece
                    for start in range(0, len(piece), LONGEST_PIECE):
                        yield piece[start : start + LONGEST_PIECE]
            elif not follower.is_over:
                yield heartbeat(follower.reader.id, follower.reader.place)

    follower.cut = scope.get(CUT, follower.stop)
    # only our own protocols have one; on another server each event passes through a task
    follower.outlet, follower.on_event = scope.get(OUTLET), on_event
    return PatientStream(pieces(), stack)
