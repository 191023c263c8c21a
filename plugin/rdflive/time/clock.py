"""Clocks: functions that return the present, and a clock that tests move."""

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
"""Returns the present, as a number of seconds since 1970 or as a time with a time zone."""

SYSTEM_CLOCK: Final[Clock] = time.time


class ManualClock:
    """A clock that moves only on request, for tests and for replaying the past.

    Pass it as `clock=`. `set` and `advance` return after all callbacks have received the resulting changes.
    Instants are seconds since 1970, datetimes with a time zone or ISO 8601 texts. The clock may be set back;
    changes that depend on it then wait until it reaches its former instant.

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
        """The present in UTC; an xsd:dateTime as text if it is outside the range of datetime."""
        return dated(self._instant)

    def set(self, instant: InstantLike) -> None:
        """Set the clock to an instant, and deliver the changes that are due."""
        self._instant = to_instant(instant)
        self._notify()

    def _notify(self) -> None:
        with self._lock:
            self._followers = [follower for follower in self._followers if follower() is not None]
            followers = tuple(self._followers)
        for follower in followers:  # without the lock, because a callback may move the clock
            follow = follower()
            if follow is not None:
                follow()

    def advance(self, duration: DurationLike) -> None:
        """Advance by a number of seconds, a timedelta, or a text such as "10s", and deliver the changes that
        are due.
        """
        if duration is None:
            # in `to_delay` None means no delay
            raise TypeError("None is not a duration: give seconds, a timedelta, or a text such as '10s'")
        nanoseconds = to_delay(duration)
        with self._lock:
            self._instant += nanoseconds
        self._notify()

    def attach(self, follow: Callable[[], object]) -> None:
        """Call a method after each move, as long as its object is alive."""
        follower = WeakMethod(follow)
        with self._lock:
            if follower not in self._followers:
                self._followers.append(follower)

    def __repr__(self) -> str:
        return f"<ManualClock at {shown(self._instant)}>"
