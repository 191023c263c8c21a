"""Event time: the elements of a stream that a window holds, after the watermark has reached an instant.

The watermark is the largest event time of all earlier micro-batches, minus a delay. An element that is older
when it arrives is late. The window is that of its last report before the watermark, as in `rdflive.Stream`.
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
"""Before all times of Spark."""


class Bounds(NamedTuple):
    """The position of a window, in microseconds since 1970."""

    watermark: int
    """Elements before it are late."""
    begin: int
    """The first time in the window."""
    last: int
    """The last time in the window; later elements wait."""


@dataclass(frozen=True, slots=True)
class EventWindow:
    """A window over a stream whose elements have their times in a column."""

    window: TimeWindow
    delay: int
    """The delay of the watermark behind the largest time, in nanoseconds."""
    column: str

    @classmethod
    def read(cls, described: Mapping[str, Any]) -> EventWindow:
        """Return the window of a `description`; its column is `time`."""
        kind = next(kind for kind in WINDOWS if kind.__name__ == described["kind"])
        given = {field.name: described[field.name] for field in fields(kind)}
        exact: dict[str, Any] = {
            n: Fraction(v, SECOND) if isinstance(v, int) else v for n, v in given.items()
        }
        return cls(kind(**exact), described["delay"], "time")

    @property
    def description(self) -> dict[str, Any]:
        """All that state depends on; a column may be renamed."""
        values = {field.name: getattr(self.window, field.name) for field in fields(self.window)}
        return {"kind": type(self.window).__name__, **values, "delay": self.delay}

    def bounds(self, latest: int | None) -> Bounds:
        """Return the position of the window; `latest` is the largest time so far, None before any element.

        Example: with `Sliding("10s", step="5s")`, a delay of 2 s and a largest time of 18 s, the watermark is
        16 s. So the last report is that of 15 s, which holds the elements after 5 s and up to 15 s.
        """
        if latest is None:
            return Bounds(_FIRST, _FIRST, _FIRST)
        watermark = latest * 1000 - self.delay
        # all elements before the watermark have arrived, but perhaps not all of its own instant
        complete, cadence = watermark - 1, self.window.cadence
        report = complete if cadence.step is None else cadence.next_report(complete) - cadence.step
        begin = self.window.scope.begin(report)
        return Bounds(
            *(max(time, _FIRST) for time in (_up(watermark), _up(begin), (report - cadence.lag) // 1000))
        )

    def __str__(self) -> str:
        return f"{self.window!r} by {self.column}, {numbered(self.delay)} s behind the largest time"


def _up(nanoseconds: int) -> int:
    """Return the first whole microsecond at an instant or later."""
    return -(-nanoseconds // 1000)
