"""One client that follows a log, in the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from rdflive.sinks.event import Event
from rdflive.sinks.events import EventLog

__all__ = ["CUT", "Follower"]

CUT: Final = "rdflive.cut"
"""Where the scope of a request has a function that ends its connection at once."""


class Follower:
    """Waits for the next event of a log behind the event `last`, without a thread.

    It takes changes when it is its turn, which `ask` has it woken for. So clients that are busy at
    different times come to the same places of the log, and what they are told is put together once.
    """

    __slots__ = ("_ask", "_log", "_waiting", "cut", "reader")

    def __init__(
        self, log: EventLog, ask: Callable[[Callable[[], None]], object], last: str | None = None
    ) -> None:
        self.cut: Callable[[], object] = self.stop
        """Ends the client's connection at once, also while it takes nothing."""
        self._log = log
        self._ask = ask
        self._waiting: asyncio.Future[None] | None = None
        self.reader = log.join(last)

    @property
    def is_over(self) -> bool:
        """True when nothing comes any more."""
        return self.reader.is_over

    async def take(self, timeout: float) -> Event | None:
        """Wait for an event and take it; None at the end (`is_over`) and after `timeout` seconds."""
        if not self.reader.epoch or self._log.has_ended:
            event = self.reader.take_now()
            if event is not None or self.reader.is_over:
                return event
        elif self.reader.is_behind:
            self._ask(self.wake)
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(timeout, self._go_on)
        try:
            await self._waiting
        finally:
            timer.cancel()
            self._waiting = None
        return self.reader.take_now()

    def wake(self) -> None:
        """Have it look again if there is something to take; from the thread of the loop."""
        if self.is_over or self.reader.is_behind or self._log.has_ended:
            self._go_on()

    def stop(self) -> None:
        """Leave the log; whoever waits is given None."""
        self._log.leave(self.reader)
        self.wake()

    def _go_on(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
