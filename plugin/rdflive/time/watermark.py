"""The watermark of streams: the instant that all of them have reached, and the reports that are due by it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Literal, NamedTuple, Protocol

from rdflive.engine.dictionary import Dictionary
from rdflive.model import Triple
from rdflive.store import Adapter, GraphLike
from rdflive.time.group import Element, WindowGroup
from rdflive.time.instants import Instant
from rdflive.time.windows import Window

__all__ = ["Act", "Come", "Input", "Log", "Watermark", "report_first"]


class Come(NamedTuple):
    """The progress of one stream."""

    closed: Instant
    """Elements before this instant are late."""
    released: Instant
    """Elements up to here do not wait for older ones of the stream."""
    complete: Instant
    """All elements up to here have arrived."""


class Act(NamedTuple):
    """An input of a stream."""

    stream: int
    """The position of the stream in its watermark."""
    kind: Literal["add", "remove", "advance", "present", "rest"]
    """An element; an instant that is complete; an instant that is not yet complete; or the start of
    idleness.
    """
    instant: Instant = 0
    number: int = 0
    """The number of the element."""
    triples: tuple[Triple, ...] = ()


class Input(Protocol):
    """The interface of a stream that a watermark uses; implemented by `Timeline`."""

    groups: dict[Hashable, WindowGroup]
    come: Come | None
    is_idle: bool
    waiting: list[Element]
    lateness: int

    def take(self) -> None:
        """Process the first waiting element."""


class Log(Protocol):
    """Records the acts of streams, so that other streams can continue from there."""

    def note(self, act: Act, /) -> None:
        """Record an act before it is done. The caller holds the store's lock."""

    def group(self, stream: int, window: Window, dictionary: Dictionary, /) -> WindowGroup | None:
        """Return the group of a window with its recorded content; None without a record."""


class Watermark:
    """The common progress of several streams, which is that of the stream furthest behind.

    Pass it to streams as `Stream(graph, watermark=watermark)`. A query over these streams then reports at an
    instant when all of them have reached it, over that instant in each. A stream holds the others up until it
    advances, even before its first element. `Stream.mark_idle` stops that, `Stream.advance_to` sets its
    progress, and a closed stream holds no other stream up. Flink, Beam and Spark have the same watermark: the
    minimum over the inputs that are not idle.

    Every stream has a watermark, its own if none was passed. Callers of the methods hold the store's lock.

    >>> watermark = Watermark()
    >>> watermark.done is None
    True
    """

    def __init__(self, *, name: str = "") -> None:
        self.name = name
        """The name of the streams in the file of subscriptions that resume."""
        self.timelines: list[Input] = []
        """The timelines of the streams, in the order of creation."""
        self.graph: GraphLike | None = None
        """The background graph of the streams; None before the first stream."""
        self.is_dated = False
        """True to show instants as datetimes."""
        self.is_alone = False
        """True if no graph was passed, and the streams have an empty background graph of their own."""
        self.adapter: Adapter | None = None
        """The adapter of that graph; None before the first window is opened."""
        self.done: Instant | None = None
        """Everything up to here is complete in all streams; None before that is known."""
        self.arrived: Instant | None = None
        """The highest instant of an element that is in windows."""
        self.current: Instant | None = None
        """The instant of the last report."""
        self.log: Log | None = None
        """Records the acts of the streams; None without resumption."""
        self.come: Come | None = None
        """The common progress of all streams."""
        self.last = 0
        """The number of the last element, which orders elements of one instant."""

    @property
    def groups(self) -> list[WindowGroup]:
        """The windows over all streams."""
        if len(self.timelines) == 1:  # the common case, and faster
            return list(self.timelines[0].groups.values())
        return [group for timeline in self.timelines for group in timeline.groups.values()]

    @property
    def has_begun(self) -> bool:
        """True if any stream has had an input."""
        return any(timeline.come is not None for timeline in self.timelines)

    @property
    def holds(self) -> bool:
        """True if any element is in a window, or waits for one."""
        return any(t.waiting for t in self.timelines) or any(g.first() is not None for g in self.groups)

    def is_late(self, instant: Instant, lateness: int) -> bool:
        """Return True if an element is too late for the reports that were made."""
        come = self.come
        # with a lateness, elements of the instant itself may still correct its report
        return come is not None and instant < (come.released - lateness if lateness else come.closed)

    def run(self) -> None:
        """Process the elements that need not wait any more, and make all reports up to there."""
        come = self._lowest()
        if come is None:
            return
        self.come = come
        # Windows opened before the streams began could not know when to report.
        if self.done is None:
            for group in self.groups:
                for pane in group.panes:
                    pane.begin_time(come.complete)
        while (timeline := self._next(come.released)) is not None:
            # Reports before an element must not see it.
            self._report(timeline.waiting[0].position - 1)
            timeline.take()
        self.done = come.complete
        self._report(self.done)
        self.follow(self.done)

    def _lowest(self) -> Come | None:
        """Return the common progress of the streams, which never decreases; None if it is unknown."""
        if len(self.timelines) == 1:  # the common case, and faster
            return self.timelines[0].come
        known = [timeline.come for timeline in self.timelines if not timeline.is_idle]
        if not known or None in known:
            return None  # the progress of an input that has not begun is unknown
        places = zip(*(come for come in known if come is not None), strict=True)
        lowest = [min(place) for place in places]
        # an input that was idle may be behind, and time does not go back
        return Come(*(lowest if self.come is None else map(max, lowest, self.come)))

    def follow(self, complete: Instant) -> None:
        """Move windows without a due report to their last report, and discard old removals."""
        for timeline in self.timelines:
            for group in timeline.groups.values():
                if group.axis == "time":
                    for pane in group.panes:
                        pane.follow(complete)
                if timeline.lateness:
                    group.forget(complete - timeline.lateness)

    def catch_up(self, position: Instant) -> bool:
        """Move windows that report every change to the instant of an element, including expiries."""
        moved = False
        if len(self.timelines) == 1:
            return False  # a single stream moves its own windows
        for group in self.groups:
            for pane in group.panes if group.axis == "time" else ():
                if pane.is_continuous and (pane.report is None or pane.report < position):
                    if pane.due() == position:
                        pane.move(position)
                        moved = True
                    else:
                        pane.follow(position)
        return moved

    def finish(self, instant: Instant) -> None:
        """Let the windows' views commit their reports."""
        self.current = instant if self.current is None else max(instant, self.current)
        # one view is enough, because those of one store commit together
        pane = next((pane for group in self.groups for pane in group.panes), None)
        if pane is not None and self.adapter is not None:
            self.adapter.capture.tick(pane.view.commit)
        # after the commit, which still reads the expired triples
        for group in self.groups:
            group.drop()

    def __repr__(self) -> str:
        return f"<Watermark of {len(self.timelines)} streams>"

    def _next(self, released: Instant) -> Input | None:
        """Return the stream of the next element to process."""
        first: Input | None = None
        for other in self.timelines:
            ready = other.waiting and other.waiting[0].position <= released
            if ready and (first is None or other.waiting[0][:2] < first.waiting[0][:2]):
                first = other
        return first

    def _report(self, complete: Instant) -> None:
        """Let all due windows report, earliest first."""
        while True:
            reported = report_first([group for group in self.groups if group.axis == "time"], complete)
            if reported is None:
                return
            self.finish(reported)


def report_first(groups: Iterable[WindowGroup], complete: int) -> int | None:
    """Let the windows report that are due first. Returns the position of the report, None if none is due."""
    dues = {group: group.due() for group in groups}
    due = min((at for at in dues.values() if at is not None), default=None)
    if due is None or due > complete:
        return None
    # windows due together report in one commit, so a query over several windows gets one delta
    return max(group.report(due) for group, at in dues.items() if at == due)
