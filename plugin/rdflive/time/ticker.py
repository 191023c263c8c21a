"""How the present of a store follows a clock: with each commit, on request, and by one timer thread."""

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
"""Seconds until the clock reports again after a callback was interrupted: it gets the whole answer then."""


_MOMENT = 1.0
"""Seconds to wait for each timer as the interpreter ends."""
_timers: WeakSet[Timer] = WeakSet()


class Timer:
    """Calls a function repeatedly, each time after as many seconds as the last call returned.

    The function returns None to end, and infinity to be called only after `wake`.
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
        """True if its thread is not there although it was not stopped, as in a fork."""
        return not self._stopped and not self._thread.is_alive()

    def wake(self) -> None:
        """Call the function at once."""
        self._woken.set()

    def stop(self) -> None:
        """End, after a call that is running.

        It does not wait for that call, which may need a lock or a turn to deliver that the caller has.
        """
        self._stopped = True
        self._woken.set()

    def wait(self) -> None:
        """Wait a moment for a call that is running, as the interpreter ends."""
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_MOMENT)

    def _run(self) -> None:
        while not self._stopped:
            # Before the call: a wake during it leads to another call.
            self._woken.clear()
            try:
                seconds = self._act()
            except Exception:
                log.exception("what is due by the clock could not be done")
                seconds = PATIENCE
            except BaseException:
                # of a callback; in this thread it would end all reports, and nothing else would hear of it
                log.exception("a callback was interrupted while the clock reported")
                seconds = AGAIN
            if seconds is None:
                return
            self._woken.wait(min(seconds, PATIENCE))


@atexit.register
def _end_all() -> None:
    """Stop all timers: a thread that prints while the interpreter ends could abort it."""
    timers = tuple(_timers)
    for timer in timers:
        timer.stop()
    for timer in timers:
        timer.wait()


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
        """Return what the clock shows; where it fails, the present, so that no write fails for it."""
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
