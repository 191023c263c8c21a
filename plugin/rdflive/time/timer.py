"""The thread that does what is due by the wall clock."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from weakref import WeakSet

__all__ = ["Timer"]

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
        """Whether its thread is not there although it was not stopped, as in a fork."""
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
