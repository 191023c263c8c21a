"""Mailboxes: at most one waiting delta per consumer, to which later deltas are added."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Protocol

from rdflive.model import Delta

__all__ = ["AsyncDeltas", "Deltas", "Mailbox", "Source"]


class Source(Protocol):
    """Where an iterator takes its deltas from."""

    def take(self, timeout: float | None = None) -> Delta | None:
        """Wait for a delta and take it; None at the end, `TimeoutError` after `timeout` seconds."""

    def take_now(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Take what waits without blocking, and tell whether more can come; `wake` is called when it does."""
        ...

    def stop(self) -> None:
        """Give nothing from now on, and end a wait in another thread."""


class Mailbox:
    """The deltas that a consumer has not taken yet, added up to one.

    So a slow consumer loses nothing, and what waits for it is never larger than the answer before plus the
    answer after.
    """

    def __init__(self) -> None:
        self._lock = (
            threading.RLock()
        )  # taken directly: the methods of Condition are Python code, which Ctrl-C can interrupt half-way
        self._changed = threading.Condition(self._lock)
        self._waiting: Delta | None = None
        self._last: Delta | None = None
        self._closed = False
        self._stopped = False
        self._wake: Callable[[], None] | None = None

    def put(self, delta: Delta) -> None:
        """Add a delta to what waits; an initial one replaces it. Putting the same delta again does
        nothing.
        """
        with self._lock:
            if self._stopped:
                return
            # a delivery that was interrupted puts its delta again
            if delta is not self._last:
                merged = delta if self._waiting is None or delta.initial else self._waiting + delta
                # what cancels out is not told; an empty initial delta is, as it replaces the answer
                waiting = merged if merged or merged.initial else None
                self._waiting, self._last = waiting, delta
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
            self._waiting = None
            self._notify()

    def wake(self) -> None:
        """Let a waiting consumer check again whether it should wait."""
        with self._lock:
            self._notify()

    def wait(self, timeout: float | None = None, *, is_over: Callable[[], bool] = lambda: False) -> None:
        """Wait for a delta, the end, or a `wake` that finds `is_over`; `TimeoutError` after `timeout` s."""
        with self._lock:
            if not self._changed.wait_for(
                lambda: self._waiting is not None or self._closed or is_over(), timeout
            ):
                raise TimeoutError(f"no delta within {timeout} s")

    def take(self, timeout: float | None = None) -> Delta | None:
        """Wait for a delta and take it; None at the end, `TimeoutError` after `timeout` seconds."""
        with self._lock:
            self.wait(timeout)
            delta, self._waiting = self._waiting, None
            return delta

    def take_now(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Take what waits without blocking, and tell whether more can come; `wake` is called when it does."""
        with self._lock:
            delta, self._waiting = self._waiting, None
            self._wake = wake if delta is None and not self._closed else None
            return delta, not self._closed

    def _notify(self) -> None:
        self._changed.notify_all()
        wake, self._wake = self._wake, None
        if wake is not None:
            wake()


class Deltas(Iterator[Delta]):
    """Blocking iterator over the deltas of a source. A timeout does not end it."""

    def __init__(self, source: Source, timeout: float | None, forget: Callable[[], object]) -> None:
        self._source = source
        self._timeout = timeout
        self._forget = forget

    def __next__(self) -> Delta:
        delta = self._source.take(self._timeout)
        if delta is None:
            raise StopIteration
        return delta

    def close(self) -> None:
        """Take no more deltas; a thread that waits for one comes to the end. May be repeated."""
        self._source.stop()
        self._forget()

    def __del__(self) -> None:
        self._forget()  # nobody waits


class AsyncDeltas(AsyncIterator[Delta]):
    """Asynchronous iterator over what waits, freed with it."""

    def __init__(self, source: Source, forget: Callable[[], object]) -> None:
        self._source = source
        self._forget = forget

    async def __anext__(self) -> Delta:
        loop = asyncio.get_running_loop()
        arrived = asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(arrived.set)
            except RuntimeError:  # the loop was closed, so nobody waits
                self.close()

        # until the task runs, a second delta may have cancelled the one that woke it
        while True:
            delta, more = self._source.take_now(wake)
            if delta is not None:
                return delta
            if not more:
                raise StopAsyncIteration
            await arrived.wait()
            arrived.clear()

    def close(self) -> None:
        """Take no more deltas; a task that waits for one comes to the end. May be repeated."""
        self._source.stop()
        self._forget()

    def __del__(self) -> None:
        self._forget()  # nobody waits
