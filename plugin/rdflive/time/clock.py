"""Clocks: what tells the present, and one that moves only when it is told to."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from threading import Lock
from typing import Final, TypeAlias
from weakref import WeakMethod

from rdflive.time.instants import (
    SECOND,
    DurationLike,
    Instant,
    InstantLike,
    dated,
    shown,
    to_delay,
    to_instant,
)

__all__ = ["SYSTEM_CLOCK", "Clock", "ManualClock"]

Clock: TypeAlias = "Callable[[], float | Fraction | datetime]"
"""Gives the present, as a number of seconds since 1970 or as a time with a time zone."""

SYSTEM_CLOCK: Final[Clock] = time.time


class ManualClock:
    """A clock that stands still until it is moved, for tests and for replaying the past.

    Give it as `clock=`. `set` and `advance` return when all callbacks have been told of what time changes.
    Instants are seconds since 1970, datetimes with a time zone or ISO 8601 texts. It may be set back; what
    goes by it then waits until it is where it was.

    >>> clock = ManualClock("2026-11-28T12:00:00Z")
    >>> clock.advance("90s")
    >>> clock
    <ManualClock at 2026-11-28T12:01:30+00:00>
    """

    def __init__(self, start: InstantLike = 0) -> None:
        self._instant: Instant = to_instant(start)
        self._followers: list[WeakMethod[Callable[[], object]]] = []
        self._lock = Lock()

    def __call__(self) -> Fraction:
        """Return the present in seconds since 1970."""
        return Fraction(self._instant, SECOND)

    @property
    def now(self) -> datetime | str:
        """The present in UTC; an xsd:dateTime in text where no datetime has it."""
        return dated(self._instant)

    def set(self, instant: InstantLike) -> None:
        """Show another instant, and have what is due by it told."""
        self._instant = to_instant(instant)
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            self._followers = [follower for follower in self._followers if follower() is not None]
            followers = tuple(self._followers)
        for follower in followers:  # without the lock: what is told may move the clock
            follow = follower()
            if follow is not None:
                follow()

    def advance(self, duration: DurationLike) -> None:
        """Go on by a number of seconds, a timedelta, or a text such as "10s", and have what is due told."""
        if duration is None:
            # elsewhere that is no delay
            raise TypeError("None is no duration: give seconds, a timedelta, or a text such as '10s'")
        nanoseconds = to_delay(duration)
        with self._lock:
            self._instant += nanoseconds
        self._tell()

    def attach(self, follow: Callable[[], object]) -> None:
        """Call a method after each move, as long as something else needs its object."""
        follower = WeakMethod(follow)
        with self._lock:
            if follower not in self._followers:
                self._followers.append(follower)

    def __repr__(self) -> str:
        return f"<ManualClock at {shown(self._instant)}>"
