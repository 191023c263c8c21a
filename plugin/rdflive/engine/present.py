"""What NOW() stands for in the queries of a store that go by one clock, and when it next makes a change."""

from __future__ import annotations

from itertools import count
from typing import Any, Protocol

from sortedcontainers import SortedDict

__all__ = ["Clockwork", "Present"]


class Clockwork(Protocol):
    """What lets a present follow a clock: see `rdflive.time.ticker.Ticker`."""

    def read(self) -> int:
        """Give what the clock shows; never raises."""

    def wake(self) -> None:
        """Look again when the next change is due, which is sooner than before."""

    def catch_up(self) -> None:
        """Commit what the clock has changed."""

    def stop(self) -> None:
        """Follow the clock no longer."""


class Present:
    """The instant that NOW() stands for, in nanoseconds since 1970; all methods run under the store's lock.

    It moves with `move` alone, so that all rows of a commit see the same. It never goes back: while the clock
    shows less, as after it was set, the present stays where it is.
    """

    def __init__(self, now: int, clockwork: Clockwork) -> None:
        self.now = now
        self.clockwork = clockwork
        self._waiting: SortedDict[tuple[int, int], Any] = SortedDict()
        self._keys: dict[Any, tuple[int, int]] = {}
        self._numbers = count()
        self.queries: dict[Any, None] = {}
        """The queries that go by it."""

    @property
    def due(self) -> int | None:
        """The instant at which the first row of any query changes; None where none will."""
        return self._waiting.peekitem(0)[0][0] if self._waiting else None

    def is_behind(self) -> bool:
        """Tell whether a row changes between the present and what the clock shows.

        Where none does, the present becomes what the clock shows.
        """
        shown, due = self.clockwork.read(), self.due
        if due is not None and due <= shown:
            return True
        self.now = max(self.now, shown)
        return False

    def move(self) -> list[Any]:
        """Make what the clock shows the present; gives the queries with rows that change by it."""
        self.now = now = max(self.now, self.clockwork.read())
        moved = []
        for (due, _), query in self._waiting.items():
            if due > now:
                break
            moved.append(query)
        return moved

    def note(self, query: Any, due: int | None) -> None:
        """Take note of when the next row of a query changes."""
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
        """Let a query go by it no longer."""
        self.note(query, None)
        self.queries.pop(query, None)
