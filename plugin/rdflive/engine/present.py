"""The time of NOW() for the queries of a store that follow one clock, and the time of its next effect."""

from __future__ import annotations

from itertools import count
from typing import Any, Protocol

from sortedcontainers import SortedDict

__all__ = ["Clockwork", "Present"]


class Clockwork(Protocol):
    """The clock interface of `Present`: see `rdflive.time.ticker.Ticker`."""

    def read(self) -> int:
        """Return the time of the clock; never raises."""

    def wake(self) -> None:
        """Schedule the next change again, because it is due sooner."""

    def catch_up(self) -> None:
        """Commit the changes by the clock."""

    def stop(self) -> None:
        """Stop following the clock."""


class Present:
    """The time of NOW(), in nanoseconds since 1970; all methods run under the store's lock.

    Only `move` and `is_behind` change it, so all rows of a commit see the same time. It never goes back:
    after the clock is set back, NOW() stays until the clock reaches it.
    """

    def __init__(self, now: int, clockwork: Clockwork) -> None:
        self.now = now
        self.clockwork = clockwork
        self._waiting: SortedDict[tuple[int, int], Any] = SortedDict()
        self._keys: dict[Any, tuple[int, int]] = {}
        self._numbers = count()
        self.queries: dict[Any, None] = {}
        """The queries that follow it."""

    @property
    def due(self) -> int | None:
        """The instant at which the first row of any query changes; None if no row will."""
        return self._waiting.peekitem(0)[0][0] if self._waiting else None

    def is_behind(self) -> bool:
        """Return True if a row changes between NOW() and the time of the clock.

        If no row does, NOW() becomes the time of the clock.
        """
        shown, due = self.clockwork.read(), self.due
        if due is not None and due <= shown:
            return True
        self.now = max(self.now, shown)
        return False

    def move(self) -> list[Any]:
        """Set NOW() to the time of the clock; return the queries with rows that this changes."""
        self.now = now = max(self.now, self.clockwork.read())
        moved = []
        for (due, _), query in self._waiting.items():
            if due > now:
                break
            moved.append(query)
        return moved

    def note(self, query: Any, due: int | None) -> None:
        """Record when the next row of a query changes."""
        known = self._keys.get(query)
        if known is not None and known[0] == due:
            return
        before = self.due
        if known is not None:
            del self._keys[query], self._waiting[known]
        if due is not None:
            key = due, next(self._numbers)
            self._keys[query], self._waiting[key] = key, query
            if before is None or due < before:
                self.clockwork.wake()

    def forget(self, query: Any) -> None:
        """Remove a query."""
        self.note(query, None)
        self.queries.pop(query, None)
