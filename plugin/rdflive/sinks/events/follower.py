"""Clients that follow a log in the event loop, and the pace of their notifications."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Protocol

from rdflive.sinks.events.event import ServedEvent
from rdflive.sinks.events.log import EventLog

__all__ = ["DeliveryPace", "Follower", "Followers", "Outlet"]

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
        self._coming: deque[Callable[[], None]] = deque()
        """Requests of other threads that the loop has not seen."""
        self._is_called = False
        """True while a call of the loop for them is under way."""
        self._is_planned = False
        self._free_at = 0.0

    def ask(self, wake: Callable[[], None]) -> None:
        """Call a function once in the next round; must run in the thread of the loop."""
        self._asked[wake] = None
        self._plan()

    def ask_from_thread(self, wake: Callable[[], None]) -> None:
        """Do as `ask` in any thread; one call of the loop serves all requests until it runs."""
        self._coming.append(wake)
        # after the append: the loop resets this before it looks at the requests
        if not self._is_called:
            self._is_called = True
            self._loop.call_soon_threadsafe(self._accept)

    def _accept(self) -> None:
        self._is_called = False
        while self._coming:
            self._asked[self._coming.popleft()] = None
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


class Outlet(Protocol):
    """A connection that takes bytes at once while its client keeps up."""

    @property
    def is_free(self) -> bool:
        """True if `write` need not wait for the client."""
        ...

    def write(self, chunk: bytes) -> None:
        """Send a chunk of HTTP/1.1."""
        ...


class Follower:
    """Waits for the next event of a log after the event `last`, without a thread.

    A follower takes changes only when `DeliveryPace` wakes it. So clients that are busy at different times
    reach the same places of the log, and share the merged events. While a client keeps up, its events go to
    its `outlet` without waking a task; `take` returns the others.
    """

    __slots__ = (
        "_ask", "_log", "_sent_at", "_taken", "_timer", "_waiting", "cut", "on_event", "outlet", "reader",
    )  # fmt: skip

    def __init__(
        self,
        log: EventLog,
        ask: Callable[[Callable[[], None]], object],
        last: str | None = None,
        *,
        reached: int = 0,
    ) -> None:
        self.cut: Callable[[], object] = self.stop
        """Ends the client's connection at once, also while the client reads nothing."""
        self._log = log
        self._ask = ask
        self.outlet: Outlet | None = None
        self.on_event: Callable[[], object] | None = None
        """Called for each event that goes to the outlet."""
        self._waiting: asyncio.Future[None] | None = None
        self._taken: ServedEvent | None = None
        """An event that the outlet cannot send."""
        self._timer: asyncio.TimerHandle | None = None
        self._sent_at = 0.0
        """When an event went to the outlet, in seconds of the loop."""
        self.reader = log.join(last, reached=reached)

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
        self._timer = loop.call_later(timeout, self._end_silence, loop, timeout)
        try:
            await self._waiting
        finally:
            self._timer.cancel()
            self._waiting = self._timer = None
        event, self._taken = self._taken, None
        # None also if the changes cancelled out
        return self.reader.take_now() if event is None else event

    def _end_silence(self, loop: asyncio.AbstractEventLoop, timeout: float) -> None:
        """Continue after `timeout` seconds without an event."""
        rest = self._sent_at + timeout - loop.time()
        if rest > 0:
            self._timer = loop.call_later(rest, self._end_silence, loop, timeout)
        else:
            self._go_on()

    def wake(self) -> None:
        """Send the next event or continue, if there is one; must run in the thread of the loop."""
        if self.is_over or self._log.has_ended or (self.reader.is_behind and not self._send()):
            self._go_on()

    def _send(self) -> bool:
        """Send the next event to the outlet; return False if `take` must return."""
        outlet, waiting = self.outlet, self._waiting
        # a client that still receives earlier events must not get this one between them
        if outlet is None or waiting is None or waiting.done() or not outlet.is_free:
            return False
        event = self.reader.take_now()
        if event is None:
            return False
        if event.chunk is None:
            self._taken = event
            return False
        outlet.write(event.chunk)
        self._sent_at = waiting.get_loop().time()
        if self.on_event is not None:
            self.on_event()
        # after `resync` the answer follows at once
        return bool(self.reader.epoch) and not self.is_over

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
    def follow(self, last: str | None = None, *, reached: int = 0) -> Iterator[Follower]:
        """Follow the log from the event `last` on, inside the block; `reached` as in `EventLog.join`."""
        follower = Follower(self._log, self._pace.ask, last, reached=reached)
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
                self._pace.ask_from_thread(self._wake)

    def _wake(self) -> None:
        self._is_asked = False
        for follower in self._followers:
            follower.wake()
        if self._on_end is not None and self._log.has_ended:
            self._on_end()
