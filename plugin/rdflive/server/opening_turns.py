"""The order in which clients open subscriptions that take long."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

__all__ = ["OpeningTurns"]

_LONG: Final = 0.1
"""Seconds of an opening after which updates get as much time."""


class OpeningTurns:
    """Lets one opening run at a time, that of the client whose openings have taken the least time.

    An opening holds the store's lock. After a long one the next waits as long as it took, so that openings
    take at most half of the time of updates, however many clients open however many subscriptions.

    Used in the event loop's thread.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._taken: Counter[str] = Counter()
        """Microseconds of each client since openings began to wait."""
        self._is_busy = False

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Wait for the turn of a client, and have it inside the block."""
        loop = asyncio.get_running_loop()
        if self._is_busy:
            await self._wait(client)
        self._is_busy = True
        begin = loop.time()
        try:
            yield
        finally:
            seconds = loop.time() - begin
            self._taken[client] += round(1e6 * seconds)
            if seconds > _LONG:
                loop.call_later(seconds, self._go_on)
            else:
                self._go_on()

    async def _wait(self, client: str) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # it has the turn already
                self._go_on()
            raise

    def _go_on(self) -> None:
        """Give the turn to a waiting opening."""
        while self._waiting:
            client = min(self._waiting, key=self._taken.__getitem__)
            futures = self._waiting[client]
            future = futures.popleft()
            if not futures:
                del self._waiting[client]
            if not future.done():  # its client is still there
                future.set_result(None)
                return
        self._is_busy = False
        self._taken.clear()
