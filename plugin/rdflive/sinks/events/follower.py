"""Clients that follow a log in the event loop, and how often they are notified."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from rdflive.sinks.events.event import ServedEvent
from rdflive.sinks.events.log import EventLog

__all__ = ["DeliveryPace", "Follower", "Followers"]

_SHARE: Final = 0.25
"""The part of the event loop's time that telling clients may take."""
_LONGEST: Final = 1.0
"""Seconds between two rounds at most: what held a round up need not have been the clients."""


class DeliveryPace:
    """Calls whoever asked, in rounds that take no more than a part of the event loop's time.

    A round lasts until the tasks that it woke have taken a step. The next one waits so long that what
    changes meanwhile is told together: the more clients there are, the more is merged.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._asked: dict[Callable[[], None], None] = {}
        self._is_planned = False
        self._free_at = 0.0

    def ask(self, wake: Callable[[], None]) -> None:
        """Have a function called in the next round, once; from the thread of the loop."""
        self._asked[wake] = None
        self._plan()

    def _plan(self) -> None:
        if not self._is_planned and self._asked:
            self._is_planned = True
            self._loop.call_at(self._free_at, self._run)

    def _run(self) -> None:
        start = self._loop.time()
        # who asks while the round lasts asks for the next one
        asked, self._asked = self._asked, {}
        for wake in asked:
            wake()
        self._loop.call_soon(self._end, start)  # behind the tasks that were woken

    def _end(self, start: float) -> None:
        now = self._loop.time()
        # a quarter of the time: the next round comes three times as long after this one as it took
        self._free_at = now + min((now - start) * (1 / _SHARE - 1), _LONGEST)
        self._is_planned = False
        self._plan()


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

    async def take(self, timeout: float) -> ServedEvent | None:
        """Wait for an event and take it; None at the end (`is_over`) and after `timeout` seconds."""
        # the first answer waits for no round, and neither does the end
        if not self.reader.epoch or self._log.has_ended:
            event = self.reader.take_now()
            if event is not None or self.reader.is_over:
                return event
        elif self.reader.is_behind:
            # it was still sending when the others were woken: with the next round it comes to their places
            self._ask(self.wake)
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(timeout, self._go_on)
        try:
            await self._waiting
        finally:
            timer.cancel()
            self._waiting = None
        # None also where all that had changed was undone before its turn
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


class Followers:
    """The clients of one log. They are woken in rounds when something has changed."""

    def __init__(self, log: EventLog, pace: DeliveryPace, on_end: Callable[[], object] | None = None) -> None:
        """Have the loop in which this is called tell the clients, and call `on_end` when the log ends."""
        self._log = log
        self._pace = pace
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._followers: set[Follower] = set()
        self._is_asked = False
        log.listen(self._changed)

    def __len__(self) -> int:
        return len(self._followers)

    @contextmanager
    def follow(self, last: str | None = None) -> Iterator[Follower]:
        """Follow the log from the event `last` on, inside the block."""
        follower = Follower(self._log, self._pace.ask, last)
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)
            follower.stop()

    def dismiss(self, seconds: float) -> None:
        """End the log; a client that has not taken what it is sent after some seconds is cut off."""
        self._log.end()
        for follower in self._followers:
            self._loop.call_later(seconds, follower.cut)

    def _changed(self) -> None:
        """Have the loop wake the followers; called in the thread that writes."""
        with suppress(RuntimeError):  # the loop has been closed, and nobody follows any more
            if self._log.has_ended:  # they have little time
                self._loop.call_soon_threadsafe(self._wake)
            elif not self._is_asked:  # one call will do for all commits up to the next round
                self._is_asked = True
                self._loop.call_soon_threadsafe(self._pace.ask, self._wake)

    def _wake(self) -> None:
        self._is_asked = False
        for follower in self._followers:
            follower.wake()
        if self._on_end is not None and self._log.has_ended:
            self._on_end()
