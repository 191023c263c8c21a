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
        threading.Thread(target=self._run, name="rdflive windows", daemon=True).start()

    def wake(self) -> None:
        """Have the function called at once."""
        self._woken.set()

    def stop(self) -> None:
        """End, after a call that is running.

        It is not waited for: what runs may need a lock, or a turn to deliver, that the caller has.
        """
        self._stopped = True
        self._woken.set()

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
