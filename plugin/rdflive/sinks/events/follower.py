"""Clients that follow a log in the event loop, and the pace of their notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from rdflive.sinks.events.event import ServedEvent
from rdflive.sinks.events.log import EventLog

__all__ = ["DeliveryPace", "Follower", "Followers"]

_SHARE: Final = 0.25
"""The share of the event loop's time that notifying clients may take."""
_LONGEST: Final = 1.0
"""The longest time in seconds between two rounds: other tasks may have slowed a round."""


class DeliveryPace:
    """Calls the requested functions in rounds, which take at most a share of the event loop's time.

    A round lasts until the tasks that it woke have taken a step. Changes that arrive before the next round
    are delivered together, so more clients mean longer rounds and more merging.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._asked: dict[Callable[[], None], None] = {}
        self._is_planned = False
        self._free_at = 0.0

    def ask(self, wake: Callable[[], None]) -> None:
        """Call a function once in the next round; must run in the thread of the loop."""
        self._asked[wake] = None
        self._plan()

    def _plan(self) -> None:
        if not self._is_planned and self._asked:
            self._is_planned = True
            self._loop.call_at(self._free_at, self._run)

    def _run(self) -> None:
        start = self._loop.time()
        # requests during a round are for the next one
        asked, self._asked = self._asked, {}
        for wake in asked:
            wake()
        self._loop.call_soon(self._end, start)  # after the woken tasks

    def _end(self, start: float) -> None:
        now = self._loop.time()
        # with a share of a quarter, the pause is three times as long as the round
        self._free_at = now + min((now - start) * (1 / _SHARE - 1), _LONGEST)
        self._is_planned = False
        self._plan()


class Follower:
    """Waits for the next event of a log after the event `last`, without a thread.

    A follower takes changes only when `DeliveryPace` wakes it. So clients that are busy at different times
    reach the same places of the log, and share the merged events.
    """

    __slots__ = ("_ask", "_log", "_waiting", "cut", "reader")

    def __init__(
        self, log: EventLog, ask: Callable[[Callable[[], None]], object], last: str | None = None
    ) -> None:
        self.cut: Callable[[], object] = self.stop
        """Ends the client's connection at once, also while the client reads nothing."""
        self._log = log
        self._ask = ask
        self._waiting: asyncio.Future[None] | None = None
        self.reader = log.join(last)

    @property
    def is_over(self) -> bool:
        """True after the last event."""
        return self.reader.is_over

    async def take(self, timeout: float) -> ServedEvent | None:
        """Wait for an event and return it; None at the end (`is_over`) and after `timeout` seconds."""
        # the first answer and the end need no round
        if not self.reader.epoch or self._log.has_ended:
            event = self.reader.take_now()
            if event is not None or self.reader.is_over:
                return event
        elif self.reader.is_behind:
            # it was busy during the last round; after the next one it is at the same place as the others
            self._ask(self.wake)
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(timeout, self._go_on)
        try:
            await self._waiting
        finally:
            timer.cancel()
            self._waiting = None
        # None also if the changes cancelled out
        return self.reader.take_now()

    def wake(self) -> None:
        """Continue if there is an event to take; must run in the thread of the loop."""
        if self.is_over or self.reader.is_behind or self._log.has_ended:
            self._go_on()

    def stop(self) -> None:
        """Leave the log; a waiting `take` returns None."""
        self._log.leave(self.reader)
        self.wake()

    def _go_on(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class Followers:
    """The clients of one log, which are woken in rounds after changes."""

    def __init__(self, log: EventLog, pace: DeliveryPace, on_end: Callable[[], object] | None = None) -> None:
        """Notify the clients in the running event loop, and call `on_end` when the log ends."""
        self._log = log
        self._pace = pace
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._followers: set[Follower] = set()
        self._is_asked = False
        log.listen(self._changed)

    def __len__(self) -> int:
        return len(self._followers)

    def behind(self) -> list[int]:
        """Return how many commits each client is behind the log; safe in any thread."""
        last = self._log.sequence
        # those without an answer wait for the first one, which has no number of commits
        return [max(0, last - each.reader.place) for each in self._followers.copy() if each.reader.epoch]

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
        """End the log, and cut clients that have not taken their events after `seconds`."""
        self._log.end()
        for follower in self._followers:
            self._loop.call_later(seconds, follower.cut)

    def _changed(self) -> None:
        """Schedule the waking of the followers in the loop; called in the writing thread."""
        with suppress(RuntimeError):  # the loop is closed, so no follower is left
            if self._log.has_ended:  # at the end followers have little time
                self._loop.call_soon_threadsafe(self._wake)
            elif not self._is_asked:  # one call covers all commits up to the next round
                self._is_asked = True
                self._loop.call_soon_threadsafe(self._pace.ask, self._wake)

    def _wake(self) -> None:
        self._is_asked = False
        for follower in self._followers:
            follower.wake()
        if self._on_end is not None and self._log.has_ended:
            self._on_end()
