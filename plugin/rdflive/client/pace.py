"""When a connection counts as lost, and how long to wait before the next one."""

from __future__ import annotations

import random
from dataclasses import dataclass

__all__ = ["Pace"]


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in seconds.

    >>> 0.1 <= Pace().pause(1) <= 0.2, Pace().pause(1, asked=7.0)
    (True, 7.0)
    """

    silence: float = 45.0
    """How long a server may say nothing; it sends a heartbeat every 15 seconds."""
    first: float = 0.2
    """The wait before the first try, which then doubles."""
    longest: float = 10.0

    def pause(self, tries: int, asked: float = 0.0) -> float:
        """Give the wait before a try, counted from 1; `asked` is what the server wants at least.

        Up to half of it is left out at random, so that not all clients of a server come back at once.
        """
        wait = min(self.longest, self.first * 2.0 ** min(tries - 1, 30))
        return max(asked, wait * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
