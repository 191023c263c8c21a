"""Mailboxes: the deltas that wait for iterators, or for a callback outside the writing thread."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final, Protocol

from rdflive.model import Delta

__all__ = ["QUEUED_ROWS", "AsyncDeltas", "DeltaSource", "Deltas", "Mailbox", "MailboxReader", "take_async"]

QUEUED_ROWS: Final = 10_000
"""Number of waiting rows from which deltas are merged."""


class DeltaSource(Protocol):
    """The source of an iterator's deltas."""

    def take(self, timeout: float | None = None) -> Delta | None:
        """Wait for a delta and take it; None at the end, `TimeoutError` after `timeout` seconds."""

    def take_now(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Take a delta without blocking. Returns it or None, and true if more deltas may come.

        If no delta waits and more may come, `wake` is called when one arrives.
        """
        ...

    def forget(self, wake: Callable[[], None]) -> None:
        """Cancel the call of `wake`."""

    def stop(self) -> None:
        """Return no more deltas, and end a wait in another thread."""


class Mailbox:
    """Deltas that wait for a consumer, in order: one per commit, up to a number of rows.

    If `limit` rows wait, not counting those of the oldest delta, a new delta is merged into the newest. So a
    slow consumer loses nothing, and the waiting rows are bounded by the limit, the answer before, the answer
    after, and one delta. With `limit=0` at most one delta waits.
    """

    def __init__(self, limit: int = QUEUED_ROWS) -> None:
        self._limit = limit
        # taken directly: the methods of Condition are Python code, which Ctrl-C can interrupt half-way
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._waiting: dict[int, Delta] = {}
        """By increasing number. A dictionary, because setting an item is no call: it cannot be interrupted
        before the other assignments of its line.
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
        """True after `stop`."""
        return self._stopped

    def put(self, delta: Delta) -> None:
        """Queue a delta. A full answer replaces the waiting deltas, except reports of a window, all of which
        are delivered. Putting the same delta again does nothing.
        """
        with self._lock:
            if self._stopped:
                return
            # an interrupted delivery puts its delta again
            if delta is not self._last:
                self._add(delta)
            # also for a repeated delta: the interruption may have come before this line
            self._notify()

    def close(self) -> None:
        """End after the waiting deltas."""
        with self._lock:
            self._closed = True
            self._notify()

    def stop(self) -> None:
        """End now, and drop waiting and future deltas."""
        with self._lock:
            self._closed = self._stopped = True
            self._waiting = {}
            self._notify()

    def wake(self) -> None:
        """Make a waiting consumer check its condition again."""
        with self._lock:
            self._notify()

    def wait(self, timeout: float | None = None, *, is_over: Callable[[], bool] = lambda: False) -> None:
        """Wait for a delta, the end, or a `wake` after which `is_over()` is true.

        Raises `TimeoutError` after `timeout` seconds.
        """
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
        """Take a delta without blocking; see `DeltaSource`."""
        with self._lock:
            delta = self._next()
            if delta is None and not self._closed:
                self._wakes[wake] = None
            return delta, self.waits or not self._closed

    def forget(self, wake: Callable[[], None]) -> None:
        """Cancel the call of `wake`."""
        with self._lock:
            self._wakes.pop(wake, None)

    def done(self) -> None:
        """Do nothing: taken deltas are not kept."""

    def again(self) -> None:
        """Do nothing: after an interrupted callback the subscription delivers the full answer."""

    def _add(self, delta: Delta) -> None:
        waiting, size = self._waiting, len(delta._weights)
        newest = next(reversed(waiting), 0)
        # the rows of the oldest delta do not count; with a limit of 0 no other delta waits
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
            # an empty delta is dropped, except an initial one, which replaces the answer
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
        # the next delta is now the oldest, whose rows do not count
        following = next(iter(self._waiting), None)
        self._rows -= 0 if following is None else len(self._waiting[following]._weights)
        return delta

    def _notify(self) -> None:
        self._changed.notify_all()
        wakes, self._wakes = self._wakes, {}
        for wake in wakes:
            wake()


class MailboxReader:
    """One of several consumers of a mailbox; each delta goes to the first that requests one."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._is_stopped = False

    def take(self, timeout: float | None = None) -> Delta | None:
        """Wait for a delta and take it; None at the end, `TimeoutError` after `timeout` seconds."""
        with self._mailbox._lock:  # so that no other consumer takes the delta that ended the wait
            self._mailbox.wait(timeout, is_over=lambda: self._is_stopped)
            return self.take_now(_ignore)[0]

    def take_now(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Take a delta without blocking; see `DeltaSource`."""
        return (None, False) if self._is_stopped else self._mailbox.take_now(wake)

    def forget(self, wake: Callable[[], None]) -> None:
        """Cancel the call of `wake`."""
        self._mailbox.forget(wake)

    def stop(self) -> None:
        """Take no more, and end a wait in another thread; waiting deltas go to other consumers."""
        self._is_stopped = True
        self._mailbox.wake()


class _Taking:
    """Takes deltas from a source until it is closed, and then releases the source."""

    def __init__(self, source: DeltaSource, release: Callable[[], object]) -> None:
        self._source = source
        self._release = release

    def close(self) -> None:
        """Take no more deltas; a waiting thread or task reaches the end. May be repeated."""
        self._source.stop()
        self._release()

    def __del__(self) -> None:
        self._release()  # no `stop`: no thread can be waiting


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
    """Wait for a delta and take it; None at the end. If it is cancelled, no delta is lost.

    `no_loop` is called if a delta arrives after the event loop was closed.
    """
    # imported here, because it is large and most subscriptions call plain functions
    import asyncio

    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(arrived.set)
        except RuntimeError:  # the loop was closed
            no_loop()

    try:
        # another consumer may take the delta before this task runs
        while True:
            delta, more = source.take_now(wake)
            if delta is not None or not more:
                return delta
            await arrived.wait()
            arrived.clear()
    finally:
        source.forget(wake)


def _ignore() -> None:
    """Do nothing: the thread waits in the mailbox."""
