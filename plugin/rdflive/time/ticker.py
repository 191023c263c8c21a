"""What lets the present of a store follow a clock: with each commit, when it is asked, and by one timer."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Final
from weakref import WeakMethod

from rdflive.engine.present import Present
from rdflive.store.capture import Capture
from rdflive.time.clock import Clock, ManualClock
from rdflive.time.instants import Instant, numbered, shown, to_instant
from rdflive.time.timer import Timer

__all__ = ["Ticker", "describe"]

log = logging.getLogger("rdflive")

_FAR: Final = 10**18
"""Nanoseconds after which the clock is looked at again: no float holds those of all years."""


class Ticker:
    """Commits what time changes in the queries of one store that go by one clock.

    All of them share one timer, which waits for the next change of any row. A `ManualClock` needs none: it
    tells when it moves. `commit` is that of the store's engine.
    """

    def __init__(self, clock: Clock, capture: Capture, commit: Callable[[int], object]) -> None:
        self._clock = clock
        self._capture = capture
        self._commit = commit
        self._timer: Timer | None = None
        self.present = Present(to_instant(clock()), self)
        if isinstance(clock, ManualClock):
            clock.attach(self.follow)

    def read(self) -> Instant:
        """Give what the clock shows; where it fails, the present, so that no write fails for it."""
        # a fork has no threads but its own
        if self._timer is not None and self._timer.is_lost:
            self._timer = None
            self.wake()
        try:
            return to_instant(self._clock())
        except Exception:
            log.exception("a clock failed; until it goes again, time stands still")
            return self.present.now

    def wake(self) -> None:
        """Have the timer look when the next change is due; the first time begins with it."""
        if isinstance(self._clock, ManualClock):
            return
        if self._timer is None:
            follow = WeakMethod(self.follow)  # a graph that is dropped without a close stays in no thread

            def act() -> float | None:
                found = follow()
                return None if found is None else found()

            try:
                self._timer = Timer(act, "rdflive clock")
            except RuntimeError:  # no write fails for want of a thread, as while the interpreter ends
                log.exception("no thread could be started: what is due is told by the next commit")
        else:
            self._timer.wake()

    def stop(self) -> None:
        """Need the timer no longer."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def catch_up(self) -> None:
        """Commit what the clock has changed; under the store's lock, whose release delivers it.

        In the middle of a write it is left to the next commit.
        """
        if not self._capture.is_used and self.present.is_behind():
            with self._capture.changing():
                self._capture.tick(self._commit)

    def follow(self) -> float | None:
        """Tell what is due; gives the seconds until the next change, infinity for none, None to end."""
        with self._capture.reading():
            if not self.present.queries:
                return None
            self.catch_up()
            due = self.present.due
        return math.inf if due is None else max(0.0, numbered(min(due - self.read(), _FAR)))


def describe(present: Present) -> list[str]:
    """Tell what NOW() is and when it next changes something, in lines for `explain()`."""
    due = present.due
    next_change = "no row changes by time" if due is None else f"the next row changes at {shown(due)}"
    return [f"NOW() is {shown(present.now)}; {next_change}"]
