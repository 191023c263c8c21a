"""Event time: which elements of a stream a window holds, once the watermark has come to an instant.

The watermark is the largest event time of all micro-batches before, less a delay. What is older when it
arrives is late. A window is as of its last report in front of the watermark, as `rdflive.Stream` makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeAlias

from rdflive.time.instants import SECOND, numbered
from rdflive.time.windows import Landmark, Sliding, Tumbling

__all__ = ["WINDOWS", "Bounds", "EventWindow", "TimeWindow"]

TimeWindow: TypeAlias = Sliding | Tumbling | Landmark
WINDOWS: Final = (Sliding, Tumbling, Landmark)
"""The kinds of windows that go by time."""
_FIRST: Final = -(1 << 62)
"""Before all times that Spark knows."""


class Bounds(NamedTuple):
    """Where a window stands, in microseconds since 1970."""

    watermark: int
    """What is older is late."""
    begin: int
    """The first time that the window holds."""
    last: int
    """The last time that it holds; elements behind it wait."""


@dataclass(frozen=True, slots=True)
class EventWindow:
    """A window over a stream whose elements have their times in a column."""

    window: TimeWindow
    delay: int
    """How far the watermark is behind the largest time, in nanoseconds."""
    column: str

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> EventWindow:
        """Make the window that `description` tells of; its column is `time`."""
        kind = next(kind for kind in WINDOWS if kind.__name__ == told["kind"])
        given = {field.name: told[field.name] for field in fields(kind)}
        exact: dict[str, Any] = {
            n: Fraction(v, SECOND) if isinstance(v, int) else v for n, v in given.items()
        }
        return cls(kind(**exact), told["delay"], "time")

    @property
    def description(self) -> dict[str, Any]:
        """Tell what state of it depends on; a column may be renamed."""
        values = {field.name: getattr(self.window, field.name) for field in fields(self.window)}
        return {"kind": type(self.window).__name__, **values, "delay": self.delay}

    def bounds(self, latest: int | None) -> Bounds:
        """Tell where the window stands when `latest` is the largest time so far; None before there is any.

        Example: with `Sliding("10s", step="5s")`, a delay of 2 s and a largest time of 18 s the watermark is
        16 s, so the last report is that of 15 s, which holds what came behind 5 s and up to 15 s.
        """
        if latest is None:
            return Bounds(_FIRST, _FIRST, _FIRST)
        watermark = latest * 1000 - self.delay
        # everything before the watermark has come, and nothing is known of its own instant
        complete, cadence = watermark - 1, self.window.cadence
        report = complete if cadence.step is None else cadence.next_report(complete) - cadence.step
        begin = self.window.scope.begin(report)
        return Bounds(
            *(max(time, _FIRST) for time in (_up(watermark), _up(begin), (report - cadence.lag) // 1000))
        )

    def __str__(self) -> str:
        return f"{self.window!r} by {self.column}, {numbered(self.delay)} s behind the largest time"


def _up(nanoseconds: int) -> int:
    """Give the first whole microsecond at an instant or later."""
    return -(-nanoseconds // 1000)
