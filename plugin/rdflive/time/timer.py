"""The thread that lets windows report by the wall clock."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

__all__ = ["Timer"]

log = logging.getLogger("rdflive")

PATIENCE = 60.0
"""Longest sleep in seconds, because the wall clock may be set meanwhile."""
AGAIN = 1.0
"""Seconds until windows report again where a callback was interrupted: it is told the whole answer then."""


class Timer:
    """Calls a function repeatedly, each time after as many seconds as the last call returned.

    The function returns None to end, and infinity to be called only after `wake`.
    """

    def __init__(self, act: Callable[[], float | None]) -> None:
        self._act = act
        self._woken = threading.Event()
        self._stopped = False
        threading.Thread(target=self._run, name="rdflive windows", daemon=True).start()

    def wake(self) -> None:
        """Call the function at once."""
        self._woken.set()

    def stop(self) -> None:
        """End, after a call that is running.

        It does not wait for that call, which may need a lock or a turn to deliver that the caller has.
        """
        self._stopped = True
        self._woken.set()

    def _run(self) -> None:
        while not self._stopped:
            # Before the call: a wake during it leads to another call.
            self._woken.clear()
            try:
                seconds = self._act()
            except Exception:
                log.exception("windows could not report by the clock")
                seconds = PATIENCE
            except BaseException:
                # of a callback; in this thread it would end all reports, and nothing else would hear of it
                log.exception("a callback was interrupted while windows reported by the clock")
                seconds = AGAIN
            if seconds is None:
                return
            self._woken.wait(min(seconds, PATIENCE))
