"""The kinds of windows, and their content at an instant.

A window reads a stream along an *axis*: time, or the number of elements or triples so far. At each of its
*reports* it holds the triples that arrived within its *scope*, and the answers of queries stay the same until
the next report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from rdflive.entail.rules.algebra import ALWAYS
from rdflive.time.instants import DurationLike, Instant, InstantLike, numbered, to_duration, to_instant

__all__ = [
    "ALWAYS",
    "Axis",
    "Cadence",
    "Closed",
    "Count",
    "Landmark",
    "Sliding",
    "Tumbling",
    "Window",
    "WindowScope",
]

Axis: TypeAlias = Literal["time", "elements", "triples"]
Closed: TypeAlias = Literal["right", "left", "both", "neither"]
"""The ends that belong to a window, as in pandas."""


@dataclass(frozen=True, slots=True)
class Cadence:
    """The reports of a window: at every change, or every `step` from `start`."""

    axis: Axis
    step: int | None = None
    start: int = 0
    lag: int = 0
    """The distance from the last position that a report covers to the report: 0, or 1 if that end is open."""

    @property
    def reports_each(self) -> bool:
        """True if every change or every element is reported, so that no change waits for a later report."""
        return self.step is None or (self.step == 1 and self.axis != "time")

    def next_report(self, taken: int) -> int:
        """Return the first report that covers more than everything up to `taken`; only with a step.

        >>> Cadence("elements", 5).next_report(10)
        15
        """
        assert self.step is not None  # noqa: S101 - without steps every change is reported
        return self.start + ((taken + self.lag - self.start) // self.step + 1) * self.step


@dataclass(frozen=True, slots=True)
class WindowScope:
    """The extent of a window into the past."""

    reach: int | None
    """The first position inside is the report minus this; if None, it is `first`."""
    first: int = 0

    def begin(self, report: int) -> int:
        """Return the first position in the window at a report."""
        return self.first if self.reach is None else report - self.reach


@runtime_checkable
class Window(Protocol):
    """A kind of window with its parameters. Equal windows over one stream have equal content."""

    @property
    def cadence(self) -> Cadence:
        """The times of its reports."""

    @property
    def scope(self) -> WindowScope:
        """Its extent into the past."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Sliding:
    """The triples that arrived within the last `range`, reported every `step`, or at every change without a
    step.

    `range` and `step` are durations: seconds, a timedelta, "10s" or "PT10S"; they are stored in nanoseconds.
    Reports are at the instant `start` and whole steps from there. `closed` selects the ends that belong to
    the window: with "right" it is (now - range, now].

    >>> Sliding("10s", step="1s")
    Sliding(range=10, step=1)
    """

    range: int
    step: int | None
    start: Instant
    closed: Closed

    def __init__(
        self,
        range: DurationLike,  # noqa: A002 - the word of all stream languages
        step: DurationLike | None = None,
        *,
        start: InstantLike = 0,
        closed: Closed = "right",
    ) -> None:
        if closed not in get_args(Closed):
            raise ValueError(f"closed must be one of {get_args(Closed)}, got {closed!r}")
        if step is None and closed in ("left", "neither"):
            raise ValueError(
                f"closed={closed!r} needs a step: without one the window always includes the present"
            )
        steps = None if step is None else to_duration(step)
        _fill(self, range=to_duration(range), step=steps, start=to_instant(start), closed=closed)

    @property
    def cadence(self) -> Cadence:
        """The times of its reports."""
        if self.step is None:
            return Cadence("time")
        # Only the phase of `start` matters: reports extend in both directions.
        return Cadence("time", self.step, self.start % self.step, int(self.closed in ("left", "neither")))

    @property
    def scope(self) -> WindowScope:
        """Its extent into the past."""
        # Instants are whole nanoseconds, so an open left end is one nanosecond less.
        return WindowScope(self.range - (self.closed in ("right", "neither")))

    def __repr__(self) -> str:
        return _show(self, numbered, {"closed": "right"})


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Tumbling:
    """The triples that arrived since the last multiple of `range` from `start`, reported at its end.

    One window begins where the last one ends; that instant belongs to the new one, or with `closed="right"`
    to the old one.

    >>> Tumbling("1m").number(to_instant(90))
    1
    """

    range: int
    start: Instant
    closed: Closed

    def __init__(
        self,
        range: DurationLike,  # noqa: A002 - the word of all stream languages
        *,
        start: InstantLike = 0,
        closed: Literal["left", "right"] = "left",
    ) -> None:
        if closed not in ("left", "right"):
            raise ValueError(f"closed must be 'left' or 'right' for tumbling windows, got {closed!r}")
        _fill(self, range=to_duration(range), start=to_instant(start), closed=closed)

    @property
    def cadence(self) -> Cadence:
        """The times of its reports."""
        return Cadence("time", self.range, self.start % self.range, int(self.closed == "left"))

    @property
    def scope(self) -> WindowScope:
        """Its extent into the past."""
        return WindowScope(self.range - (self.closed == "right"))

    def number(self, instant: Instant) -> int:
        """Return the number of the window of an instant; the window that begins at `start` is number 0."""
        return (instant - self.start - (self.closed == "right")) // self.range

    def __repr__(self) -> str:
        return _show(self, numbered, {"closed": "left"})


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Count:
    """The last `size` elements of a stream, reported at every `step` of them.

    An element is the argument of one `Stream.add`, a triple or a graph; `of="triples"` counts triples.

    >>> Count(100, step=10)
    Count(size=100, step=10)
    """

    size: int
    step: int
    of: Literal["elements", "triples"]

    def __init__(self, size: int, step: int = 1, *, of: Literal["elements", "triples"] = "elements") -> None:
        for name, value in (("size", size), ("step", step)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
        if of not in ("elements", "triples"):
            raise ValueError(f"of must be 'elements' or 'triples', got {of!r}")
        _fill(self, size=size, step=step, of=of)

    @property
    def cadence(self) -> Cadence:
        """The times of its reports."""
        return Cadence(self.of, self.step)

    @property
    def scope(self) -> WindowScope:
        """Its extent into the past."""
        return WindowScope(self.size - 1)

    def __repr__(self) -> str:
        return _show(self, int, {"step": 1, "of": "elements"})


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Landmark:
    """All triples that arrived from the instant `start` on, reported every `step`, or at every change without
    a step.

    >>> Landmark(start=100)
    Landmark(start=100)
    """

    start: Instant
    step: int | None

    def __init__(self, start: InstantLike = 0, step: DurationLike | None = None) -> None:
        _fill(self, start=to_instant(start), step=None if step is None else to_duration(step))

    @property
    def cadence(self) -> Cadence:
        """The times of its reports."""
        return Cadence("time") if self.step is None else Cadence("time", self.step, self.start % self.step)

    @property
    def scope(self) -> WindowScope:
        """Its extent into the past."""
        return WindowScope(None, self.start)

    def __repr__(self) -> str:
        return _show(self, numbered, {})


def _fill(window: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(window, name, value)


def _show(window: Any, number: Callable[[int], float], usual: dict[str, Any]) -> str:
    """Write a window as a constructor call, without default values."""
    shown = []
    for each in fields(window):
        value = getattr(window, each.name)
        if value != usual.get(each.name, None if each.name == "step" else 0):
            shown.append(
                f"{each.name}={value!r}" if isinstance(value, str) else f"{each.name}={number(value)}"
            )
    return f"{type(window).__name__}({', '.join(shown)})"
