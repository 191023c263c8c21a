"""The present of a store follows a clock: with each commit, on request, and by one timer thread."""

from __future__ import annotations

import atexit
import logging
import math
import threading
from collections.abc import Callable
from typing import Final
from weakref import WeakMethod, WeakSet

from rdflive.engine.present import Present
from rdflive.store.capture import Capture
from rdflive.time.clock import Clock, ManualClock
from rdflive.time.instants import Instant, numbered, shown, to_instant

__all__ = ["Ticker", "Timer", "describe"]

log = logging.getLogger("rdflive")

PATIENCE = 60.0
"""Longest sleep in seconds, because the wall clock may be set meanwhile."""
AGAIN = 1.0
"""Seconds until the clock reports again after a callback was interrupted; the report is then a full
answer.
"""


_MOMENT = 1.0
"""Seconds to wait for each timer at the end of the interpreter."""
_timers: WeakSet[Timer] = WeakSet()


class Timer:
    """Calls a function repeatedly, each time after the number of seconds that the last call returned.

    The function returns None to end the timer, and infinity to be called only after `wake`.
    """

    def __init__(self, act: Callable[[], float | None], name: str) -> None:
        self._act = act
        self._woken = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        _timers.add(self)

    @property
    def is_lost(self) -> bool:
        """True if its thread has disappeared without `stop`, for example in a fork."""
        return not self._stopped and not self._thread.is_alive()

    def wake(self) -> None:
        """Call the function immediately."""
        self._woken.set()

    def stop(self) -> None:
        """End the timer, after a running call.

        It does not wait for that call, which may need a lock or a delivery turn of the caller.
        """
        self._stopped = True
        self._woken.set()

    def wait(self) -> None:
        """Wait briefly for a running call, at the end of the interpreter."""
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_MOMENT)

    def _run(self) -> None:
        while not self._stopped:
            # before the call, so that a wake during the call leads to another call
            self._woken.clear()
            try:
                seconds = self._act()
            except Exception:
                log.exception("changes due by the clock failed")
                seconds = PATIENCE
            except BaseException:
                # from a callback; in this thread it would end all reports unnoticed
                log.exception("a callback was interrupted while the clock reported")
                seconds = AGAIN
            if seconds is None:
                return
            self._woken.wait(min(seconds, PATIENCE))


@atexit.register
def _end_all() -> None:
    """Stop all timers: a thread that prints at the end of the interpreter could abort it."""
    timers = tuple(_timers)
    for timer in timers:
        timer.stop()
    for timer in timers:
        timer.wait()


_FAR: Final = 10**18
"""Nanoseconds after which the clock is read again: a float cannot represent longer times exactly."""


class Ticker:
    """Commits the changes by time in the queries of one store that use the same clock.

    They share one timer, which waits for the next change of any row. A `ManualClock` needs no timer, because
    it calls `follow` when it moves. `commit` is that of the store's engine.
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
        """Return the time of the clock; if the clock fails, return the present, so that writes do not
        fail.
        """
        # a fork has only one thread
        if self._timer is not None and self._timer.is_lost:
            self._timer = None
            self.wake()
        try:
            return to_instant(self._clock())
        except Exception:
            log.exception("a clock failed; until it works again, time stands still")
            return self.present.now

    def wake(self) -> None:
        """Let the timer check when the next change is due; the first call starts it."""
        if isinstance(self._clock, ManualClock):
            return
        if self._timer is None:
            follow = WeakMethod(self.follow)  # so that the thread does not keep a dropped graph alive

            def act() -> float | None:
                found = follow()
                return None if found is None else found()

            try:
                self._timer = Timer(act, "rdflive clock")
            except RuntimeError:  # writes must not fail without a thread, e.g. at the end of the interpreter
                log.exception("no thread could be started: the next commit delivers the changes that are due")
        else:
            self._timer.wake()

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def catch_up(self) -> None:
        """Commit the changes by the clock. The caller holds the store's lock, whose release delivers them.

        During a write this is left to the next commit.
        """
        if not self._capture.is_used and self.present.is_behind():
            with self._capture.changing():
                self._capture.tick(self._commit)

    def follow(self) -> float | None:
        """Deliver the changes that are due.

        Returns the seconds until the next change, infinity for none, None to end.
        """
        with self._capture.reading():
            if not self.present.queries:
                return None
            self.catch_up()
            due = self.present.due
        return math.inf if due is None else max(0.0, numbered(min(due - self.read(), _FAR)))


def describe(present: Present) -> list[str]:
    """Describe NOW() and the next change by it, in lines for `explain()`."""
    due = present.due
    next_change = "no row changes by time" if due is None else f"the next row changes at {shown(due)}"
    return [f"NOW() is {shown(present.now)}; {next_change}"]
