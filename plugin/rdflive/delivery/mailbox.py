"""Mailboxes: the deltas that wait for iterators, or for a callback that runs elsewhere."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final, Protocol

from rdflive.model import Delta

__all__ = ["QUEUED_ROWS", "AsyncDeltas", "DeltaSource", "Deltas", "Mailbox", "MailboxReader", "take_async"]

QUEUED_ROWS: Final = 10_000
"""So many rows wait as one delta per commit."""


class DeltaSource(Protocol):
    """Where an iterator takes its deltas from."""

    def take(self, timeout: float | None = None) -> Delta | None:
        """Wait for a delta and take it; None at the end, `TimeoutError` after `timeout` seconds."""

    def take_now(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Take what waits without blocking, and tell whether more can come; `wake` is called when it does."""
        ...

    def forget(self, wake: Callable[[], None]) -> None:
        """Do not call `wake` any more."""

    def stop(self) -> None:
        """Give nothing from now on, and end a wait in another thread."""


class Mailbox:
    """The deltas that nobody has taken yet, in order: one per commit, up to a number of rows.

    What comes when so many rows wait, besides those of the oldest delta, is added to the newest. So a slow
    consumer loses nothing, and what waits is never more than these rows, the answer before, the answer after,
    and one delta. With `limit=0` all that waits is one delta.
    """

    def __init__(self, limit: int = QUEUED_ROWS) -> None:
        self._limit = limit
        self._lock = (
            threading.RLock()
        )  # taken directly: the methods of Condition are Python code, which Ctrl-C can interrupt half-way
        self._changed = threading.Condition(self._lock)
        self._waiting: dict[int, Delta] = {}
        """By numbers that grow: unlike a call, setting an item cannot be interrupted before the assignments
        in the same line.
        """
        self._rows = 0
        self._last: Delta | None = None
        self._closed = False
        self._stopped = False
        self._wakes: dict[Callable[[], None], None] = {}

    @property
    def waits(self) -> bool:
        """True while there is a delta to take."""
        return bool(self._waiting)

    @property
    def is_stopped(self) -> bool:
        """True when nobody takes any more."""
        return self._stopped

    def put(self, delta: Delta) -> None:
        """Queue a delta; a whole answer replaces what waits, but for reports of a window, all of which are
        told. Putting the same delta again does nothing.
        """
        with self._lock:
            if self._stopped:
                return
            # a delivery that was interrupted puts its delta again
            if delta is not self._last:
                self._add(delta)
            # also when the delta was there already: the interruption may have come before this line
            self._notify()

    def close(self) -> None:
        """Let the consumer finish: it still gets what waits, then the end."""
        with self._lock:
            self._closed = True
            self._notify()

    def stop(self) -> None:
        """Let the consumer finish at once: it gets neither what waits nor what comes."""
        with self._lock:
            self._closed = self._stopped = True
            self._waiting = {}
            self._notify()

    def wake(self) -> None:
        """Let a waiting consumer check again whether it should wait."""
        with self._lock:
            self._notify()

    def wait(self, timeout: float | None = None, *, is_over: Callable[[], bool] = lambda: False) -> None:
        """Wait for a delta, the end, or a `wake` that finds `is_over`; `TimeoutError` after `timeout` s."""
        if timeout is not None:
            if isinstance(timeout, str) or timeout != timeout:
                raise TypeError(f"timeout must be a number of seconds or None, got {timeout!r}")
            timeout = min(timeout, threading.TIMEOUT_MAX)
        with self._lock:
            if not self._changed.wait_for(lambda: self.waits or self._closed or is_over(), timeout):
                raise TimeoutError(f"no delta within {timeout} s")

    def take(self, timeout: float | None = None) -> Delta | None:
        """Wait for a delta and take it; None at the end, `TimeoutError` after `timeout` seconds."""
        with self._lock:
            self.wait(timeout)
            return self._next()

    def take_now(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Take what waits without blocking, and tell whether more can come; `wake` is called when it does."""
        with self._lock:
            delta = self._next()
            if delta is None and not self._closed:
                self._wakes[wake] = None
            return delta, self.waits or not self._closed

    def forget(self, wake: Callable[[], None]) -> None:
        """Do not call `wake`: who gave it waits no longer."""
        with self._lock:
            self._wakes.pop(wake, None)

    def done(self) -> None:
        """Do nothing: what was taken is not kept."""

    def again(self) -> None:
        """Do nothing: after a callback was interrupted its subscription tells the whole answer."""

    def _add(self, delta: Delta) -> None:
        waiting, size = self._waiting, len(delta._weights)
        newest = next(reversed(waiting), 0)
        # with a limit of 0 nothing waits beside the oldest; those rows are taken next, so they count for none
        is_apart = not waiting or self._rows < self._limit
        if delta.initial and not (is_apart and delta.time is not None):
            self._waiting, self._last, self._rows = {newest + 1: delta}, delta, 0
        elif is_apart:
            if delta or delta.initial:
                rows = self._rows + size if waiting else 0
                waiting[newest + 1], self._last, self._rows = delta, delta, rows
        else:
            merged = waiting[newest] + delta
            is_oldest = len(waiting) == 1
            rows = 0 if is_oldest else self._rows - len(waiting[newest]._weights) + len(merged._weights)
            # what cancels out is not told; an empty initial delta is, as it replaces the answer
            if merged or merged.initial:
                waiting[newest], self._last, self._rows = merged, delta, rows
            else:
                others = {number: other for number, other in waiting.items() if number != newest}
                self._waiting, self._last, self._rows = others, delta, rows

    def _next(self) -> Delta | None:
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return None
        delta = self._waiting[oldest]
        del self._waiting[oldest]
        # the next one is the oldest then, and counts no more
        following = next(iter(self._waiting), None)
        self._rows -= 0 if following is None else len(self._waiting[following]._weights)
        return delta

    def _notify(self) -> None:
        self._changed.notify_all()
        wakes, self._wakes = self._wakes, {}
        for wake in wakes:
            wake()


class MailboxReader:
    """One of those that take from the same mailbox: each delta goes to the first that asks."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._is_stopped = False

    def take(self, timeout: float | None = None) -> Delta | None:
        """Wait for a delta and take it; None at the end, `TimeoutError` after `timeout` seconds."""
        with self._mailbox._lock:  # so that no other takes what ended the wait
            self._mailbox.wait(timeout, is_over=lambda: self._is_stopped)
            return self.take_now(_nobody)[0]

    def take_now(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Take what waits without blocking, and tell whether more can come; `wake` is called when it does."""
        return (None, False) if self._is_stopped else self._mailbox.take_now(wake)

    def forget(self, wake: Callable[[], None]) -> None:
        """Do not call `wake` any more."""
        self._mailbox.forget(wake)

    def stop(self) -> None:
        """Take no more, and end a wait in another thread; what waits is for the others."""
        self._is_stopped = True
        self._mailbox.wake()


class _Taking:
    """What takes deltas from a source until it is closed, and then releases it."""

    def __init__(self, source: DeltaSource, release: Callable[[], object]) -> None:
        self._source = source
        self._release = release

    def close(self) -> None:
        """Take no more deltas; a thread or task that waits for one comes to the end. May be repeated."""
        self._source.stop()
        self._release()

    def __del__(self) -> None:
        self._release()  # nobody waits


class Deltas(_Taking, Iterator[Delta]):
    """Blocking iterator over the deltas of a source. A timeout does not end it."""

    def __init__(self, source: DeltaSource, timeout: float | None, release: Callable[[], object]) -> None:
        super().__init__(source, release)
        self._timeout = timeout

    def __next__(self) -> Delta:
        delta = self._source.take(self._timeout)
        if delta is None:
            raise StopIteration
        return delta


class AsyncDeltas(_Taking, AsyncIterator[Delta]):
    """Asynchronous iterator over the deltas of a source."""

    async def __anext__(self) -> Delta:
        delta = await take_async(self._source, self.close)
        if delta is None:
            raise StopAsyncIteration
        return delta


async def take_async(source: DeltaSource, no_loop: Callable[[], object] = lambda: None) -> Delta | None:
    """Take a delta when there is one; None at the end. Cancelled, it has taken none.

    `no_loop` is called when a delta comes and the event loop has been closed.
    """
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(arrived.set)
        except RuntimeError:  # the loop was closed, so nobody waits
            no_loop()

    try:
        # until the task runs, another one may have taken the delta that woke it
        while True:
            delta, more = source.take_now(wake)
            if delta is not None or not more:
                return delta
            await arrived.wait()
            arrived.clear()
    finally:
        source.forget(wake)


def _nobody() -> None:
    """Wake nobody: a thread waits in the mailbox."""
