"""A stream of triples in time, which subscriptions read through windows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, NamedTuple

import rdflib
from rdflib import Literal as RdflibLiteral

from rdflive.delivery.resume import StreamLog
from rdflive.errors import ClosedError, UnsupportedStoreError
from rdflive.plugins import manager
from rdflive.signatures import misfit
from rdflive.store import Adapter, GraphLike
from rdflive.time.clock import SYSTEM_CLOCK, Clock, ManualClock
from rdflive.time.elements import read_element
from rdflive.time.instants import (
    DurationLike,
    Instant,
    InstantLike,
    dated,
    numbered,
    to_delay,
    to_instant,
)
from rdflive.time.ticker import Timer
from rdflive.time.timeline import Timeline
from rdflive.time.watermark import Watermark

__all__ = ["Durable", "Stream"]


class Durable(NamedTuple):
    """The part of a stream that is in the file of resumed subscriptions."""

    number: int
    """The number of the last element, 0 for none."""
    instant: Any
    """The highest instant of an element or of `advance_to`; None for none."""


class Stream:
    """Triples or small graphs, each at an instant; `subscribe` reads a stream through windows.

    `graph` is the graph or dataset beside the stream, whose triples join with those in windows. All streams
    of one query share it. Time is that of the elements: `add(..., at=instant)`, in seconds, datetimes or ISO
    8601 texts, and `advance_to(instant)` declares that all elements up to the instant have come. With
    `clock="wall"` (or a function that returns seconds since 1970) each element gets the time of its addition,
    and a timer triggers the reports of windows; with a `ManualClock`, moving the clock does.

    Elements may be out of order by up to `delay`: they are sorted, and reports wait that long. An element
    that is late by at most `lateness` more corrects the last reports. Any later element is dropped and
    counted in `late`.

    A stream keeps only the elements that its open windows hold or will hold.

    >>> stream = Stream()
    >>> stream.add((rdflib.BNode(), rdflib.RDF.type, rdflib.RDFS.Class), at=3)
    True
    >>> stream.now
    3
    """

    def __init__(
        self,
        graph: GraphLike | None = None,
        *,
        clock: Literal["event", "wall"] | Clock = "event",
        delay: DurationLike | None = None,
        lateness: DurationLike | None = None,
        watermark: Watermark | None = None,
        name: str = "",
    ) -> None:
        if clock not in ("event", "wall") and (not callable(clock) or misfit(clock)):
            raise ValueError(
                "clock must be 'event', 'wall' or a function without arguments that returns seconds, "
                f"got {clock!r}"
            )
        if graph is not None:
            _check_beside(graph)
        self._watermark = _watermark(watermark, graph, clock, name)
        self.timeline = Timeline(
            delay=to_delay(delay), lateness=to_delay(lateness), watermark=self._watermark
        )
        """The timeline of the stream, for the windows over it."""
        self._wall: Clock | None = None if clock == "event" else SYSTEM_CLOCK if clock == "wall" else clock
        self._watermark.is_dated = self._wall is not None
        self._timer: Timer | None = None
        self._closed = False

    def add(self, element: Any, *, at: InstantLike | None = None, number: int | None = None) -> bool:
        """Add a triple, a graph, or several triples as one element. Returns false if it is late and dropped.

        Windows that report every change have delivered their deltas when this returns.

        A source that may send an element twice numbers its elements, from 1 on and rising. An element whose
        `number` is not above the last one is ignored, and false is returned. Without numbers the elements are
        counted. See `durable`.
        """
        return self._put(1, element, at, number)

    def remove(self, element: Any, *, at: InstantLike | None = None, number: int | None = None) -> bool:
        """Remove triples from all windows early, if they arrived at the instant or before.

        Returns false if the removal is late and dropped. A removal is an element too, with a `number` as in
        `add`.
        """
        return self._put(-1, element, at, number)

    def advance_to(self, instant: InstantLike | None = None) -> None:
        """Declare that all elements up to and including an instant have come, so that windows report.

        Time never goes back. With a wall clock the instant is the present, and the timer also advances when a
        report is due.
        """
        self._check_open()
        at = self._instant(instant)
        with self._locked() as adapter, adapter.capture.changing():
            self.timeline.advance(at, closes=self._wall is None)
        self._deliver(adapter)
        self._wake()

    def mark_idle(self) -> None:
        """Let the other streams of the watermark advance without this one, until its next element.

        The advance meanwhile is not undone, so that element may be late.
        """
        self._check_open()
        self._rest()

    @property
    def durable(self) -> Durable | None:
        """The part of the stream that a source need not send again after a crash; None without `resume`.

        It has the number of the last element in the file, 0 for none, and the stream's time at that element.
        An element is in the file at the latest before the delivery of a delta that follows from it, after
        `flush`, and when the subscriptions are closed.
        """
        log = self._watermark.log
        if not isinstance(log, StreamLog):
            return None
        number, instant = log.durable[self._watermark.timelines.index(self.timeline)]
        return Durable(number, None if instant is None else self.show(instant))

    def flush(self) -> None:
        """Write all elements to the file of resumed subscriptions, with one sync of the disk."""
        if isinstance(self._watermark.log, StreamLog):
            self._watermark.log.flush_or_end()

    @property
    def graph(self) -> GraphLike:
        """The graph beside the stream; by default an empty graph of its own."""
        assert self._watermark.graph is not None  # noqa: S101 - set since the stream was made
        return self._watermark.graph

    @property
    def is_alone(self) -> bool:
        """True if the stream was made without a graph."""
        return self._watermark.is_alone

    @property
    def now(self) -> Any:
        """The highest instant of an element or of `advance_to`; None before the first."""
        known = self.timeline.known
        return None if known is None else self.show(known)

    @property
    def late(self) -> int:
        """Number of elements that were dropped because they were late."""
        return self.timeline.late

    def show(self, instant: Instant) -> Any:
        """Return an instant in the form of the stream's inputs: as seconds, or as a datetime."""
        return dated(instant) if self._watermark.is_dated else numbered(instant)

    def stand_beside(self, graph: GraphLike) -> None:
        """Move the stream beside a graph, if it was made without one and no window reads it.

        So one query can read several streams that were made without a graph.
        """
        if self.is_alone and not self._watermark.groups:
            self._watermark.graph, self._watermark.adapter = graph, None

    def opened(self, adapter: Adapter) -> None:
        """Start the timer after a window was opened. Called under the lock of the graph beside the stream."""
        self._watermark.adapter = adapter
        if isinstance(self._wall, ManualClock):
            self._wall.attach(self._report_due)
        elif self._wall is not None and not self._closed and self._timer is None:
            self._timer = Timer(self._report_due, "rdflive windows")
        self._wake()

    def close(self) -> None:
        """Take no more elements, and make no more reports; subscriptions keep their answers. May be repeated.

        Other streams of the same watermark, and time in windows over them, advance without it. Deltas of
        earlier reports may still be delivered.
        """
        closed, self._closed = self._closed, True
        self.flush()
        adapter = self._watermark.adapter
        if adapter is None:
            return
        with adapter.capture.reading():  # waits for a running report
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.stop()
        if not closed and len(self._watermark.timelines) > 1:
            self._rest()

    def __repr__(self) -> str:
        windows = sum(len(group.panes) for group in self.timeline.groups.values())
        return f"<Stream at {self.now}, {windows} open windows{', closed' if self._closed else ''}>"

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _put(self, sign: Literal[1, -1], element: Any, at: InstantLike | None, number: int | None) -> bool:
        self._check_open()
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise ValueError(f"number must be a whole number from 1 on, got {number!r}")
        with self._locked() as adapter, adapter.capture.changing():
            triples, instant = read_element(element, adapter), self._instant(at)
            is_new = number is None or number > self.timeline.given
            taken = is_new and self.timeline.insert(sign, triples, instant, number)
        self._deliver(adapter)
        self._wake()
        return taken

    def _deliver(self, adapter: Adapter) -> None:
        adapter.capture.deliver()
        log = self._watermark.log
        if isinstance(log, StreamLog) and log.is_full:
            log.flush_or_end()

    def _instant(self, at: InstantLike | None) -> Instant:
        if self._wall is not None:
            if at is not None:
                raise ValueError(
                    f"at={at!r} does not go with clock='wall', where elements get the present time"
                )
            # a wall clock may be set back, but time in a stream never goes back
            now, known = to_instant(self._wall()), self.timeline.known
            return now if known is None else max(now, known)
        if at is None:
            raise ValueError("the instant is missing: clock='event' needs at= or an argument of advance_to")
        if not self._watermark.has_begun:
            self._watermark.is_dated = isinstance(at, datetime | str | RdflibLiteral)
        return to_instant(at)

    @contextmanager
    def _locked(self) -> Iterator[Adapter]:
        """Hold the lock of the graph beside the stream."""
        adapter = self._watermark.adapter
        if adapter is not None:
            with adapter.capture.reading():
                # A store with open windows stays hooked, so this is its adapter. Otherwise the last window
                # was closed, or the graph beside the stream replaced, before this thread took the lock.
                if self._watermark.groups and adapter is self._watermark.adapter:
                    yield adapter
                    return
        with manager.locked(manager.store_of(self.graph)) as found:
            yield found

    def _rest(self) -> None:
        with self._locked() as adapter, adapter.capture.changing():
            self.timeline.rest()
        self._deliver(adapter)

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the stream is closed; make a new one")

    def _wake(self) -> None:
        if self._timer is not None:
            self._timer.wake()

    def _report_due(self) -> float | None:
        """Make the reports that are due. Returns the seconds until the next; None ends the timer."""
        assert self._wall is not None  # noqa: S101 - there is a timer only with a wall clock
        with self._locked() as adapter:
            if not self.timeline.groups or self._closed:
                self._timer = None
                return None
            with adapter.capture.changing():
                self.timeline.advance(
                    self._instant(None), closes=False
                )  # more elements of this instant may come
            due = self.timeline.next_due()
        self._deliver(adapter)
        return math.inf if due is None else max(0.0, numbered(due - to_instant(self._wall())))


def _watermark(given: Watermark | None, graph: GraphLike | None, clock: object, name: str) -> Watermark:
    """Return the watermark of a stream, which holds the graph beside all of its streams."""
    watermark = Watermark(name=name) if given is None else given
    if given is not None and name:
        raise ValueError(f"name={name!r} does not go with watermark=: give the watermark a name")
    if not isinstance(watermark, Watermark):
        raise TypeError(f"watermark must be an rdflive.Watermark, got {watermark!r}")
    if given is not None and clock != "event":
        raise ValueError(
            f"watermark= goes with clock='event', got clock={clock!r}: streams by a clock are never behind"
        )
    if watermark.graph is None:
        watermark.graph, watermark.is_alone = rdflib.Graph() if graph is None else graph, graph is None
    elif graph is not None and graph is not watermark.graph:
        raise ValueError(
            f"streams of one watermark must share the graph beside them: {watermark.graph!r}, got {graph!r}"
        )
    return watermark


def _check_beside(graph: GraphLike) -> None:
    try:
        with manager.locked(manager.store_of(graph)):
            pass
    except UnsupportedStoreError as error:
        raise UnsupportedStoreError(
            f"the graph beside a stream must be an rdflib graph or dataset, or a LiveStore, got {graph!r}: "
            f"{error}"
        ) from error
