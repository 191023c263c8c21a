"""The thread that has windows report by the wall clock."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

__all__ = ["Timer"]

log = logging.getLogger("rdflive")

PATIENCE = 60.0
"""Seconds to sleep at most: the wall clock may be set."""


class Timer:
    """Calls a function again and again, each time after as many seconds as the last call said.

    It says None to end, and infinity where only `wake` should.
    """

    def __init__(self, act: Callable[[], float | None]) -> None:
        self._act = act
        self._woken = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="rdflive windows", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Have the function called at once."""
        self._woken.set()

    def stop(self) -> None:
        """End, after a call that is running; it may be the caller's own."""
        self._stopped = True
        self._woken.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped:
            self._woken.clear()
            try:
                seconds = self._act()
            except Exception:
                log.exception("windows could not report by the clock")
                seconds = PATIENCE
            if seconds is None:
                return
            self._woken.wait(min(seconds, PATIENCE))
