"""When clients are told: at once while that is cheap, else as often as leaves time for everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

__all__ = ["DeliveryPace"]

_SHARE: Final = 0.25
"""The part of the event loop's time that telling clients may take."""
_LONGEST: Final = 1.0
"""Seconds between two rounds at most: what held a round up need not have been the clients."""


class DeliveryPace:
    """Calls whoever asked, in rounds that take no more than a part of the event loop's time.

    A round lasts until the tasks that it woke have taken a step. The next one waits so long that what
    changes meanwhile is told together: the more clients there are, the more is merged.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._asked: dict[Callable[[], None], None] = {}
        self._is_planned = False
        self._free_at = 0.0

    def ask(self, wake: Callable[[], None]) -> None:
        """Have a function called in the next round, once; from the thread of the loop."""
        self._asked[wake] = None
        self._plan()

    def _plan(self) -> None:
        if not self._is_planned and self._asked:
            self._is_planned = True
            self._loop.call_at(self._free_at, self._run)

    def _run(self) -> None:
        start = self._loop.time()
        # who asks while the round lasts asks for the next one
        asked, self._asked = self._asked, {}
        for wake in asked:
            wake()
        self._loop.call_soon(self._end, start)  # behind the tasks that were woken

    def _end(self, start: float) -> None:
        now = self._loop.time()
        # a quarter of the time: the next round comes three times as long after this one as it took
        self._free_at = now + min((now - start) * (1 / _SHARE - 1), _LONGEST)
        self._is_planned = False
        self._plan()
