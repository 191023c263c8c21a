"""The watermark of streams: up to which instant all of them have come, and the reports that are due by it."""

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
    """How far one stream has come."""

    closed: Instant
    """Elements before this instant are late."""
    released: Instant
    """Elements up to here wait for no older ones of the stream."""
    complete: Instant
    """All elements up to here have come."""


class Act(NamedTuple):
    """What a stream was given or told."""

    stream: int
    """Which of the streams of its watermark."""
    kind: Literal["add", "remove", "advance", "present", "rest"]
    """An element, an instant that all has come of, one that more may come of, or that it is idle."""
    instant: Instant = 0
    number: int = 0
    """The number of the element."""
    triples: tuple[Triple, ...] = ()


class Input(Protocol):
    """What a watermark asks of a stream; a `Timeline` is one."""

    groups: dict[Hashable, WindowGroup]
    come: Come | None
    is_idle: bool
    waiting: list[Element]
    lateness: int

    def take(self) -> None:
        """Take the first waiting element."""


class Log(Protocol):
    """Keeps what streams do, so that other streams can go on where they ended."""

    def note(self, act: Act, /) -> None:
        """Keep an act that is about to be done. Called under the store's lock."""

    def group(self, stream: int, window: Window, dictionary: Dictionary, /) -> WindowGroup | None:
        """Make the group of a window that begins with what was kept; None where it begins with nothing."""


class Watermark:
    """How far several streams have come together: as far as the one that is furthest behind.

    Given to streams as `Stream(graph, watermark=watermark)`, it makes a query over them report at an instant
    when all of them have reached it, over that instant in each. A stream that has begun holds the others up
    until it goes on, and one that has not begun holds them up from the start; `Stream.mark_idle` says that it
    shall not, `Stream.advance_to` how far it has come, and a closed stream holds nobody up. This is what
    Flink, Beam and Spark call a watermark: the minimum over the inputs that are not idle.

    Every stream has a watermark, which is its own where none was given. Methods run under the store's lock.

    >>> watermark = Watermark()
    >>> watermark.done is None
    True
    """

    def __init__(self, *, name: str = "") -> None:
        self.name = name
        """The name of the streams in the file of subscriptions that resume."""
        self.timelines: list[Input] = []
        """Those of the streams, in the order in which these were made."""
        self.graph: GraphLike | None = None
        """The graph that the streams stand beside; None before the first."""
        self.is_dated = False
        """True if instants are shown as datetimes."""
        self.is_alone = False
        """True if no graph was given, and the streams stand beside an empty one of their own."""
        self.adapter: Adapter | None = None
        """The adapter of that graph, once a window was opened."""
        self.done: Instant | None = None
        """Everything up to here is complete in all streams; None before that is known."""
        self.arrived: Instant | None = None
        """The highest instant of an element that is in windows."""
        self.current: Instant | None = None
        """The instant of the last report."""
        self.log: Log | None = None
        """Keeps what the streams do; None where nobody resumes."""
        self.come: Come | None = None
        """How far all streams have come together."""
        self.last = 0
        """The number of the last element, which orders those of one instant."""

    @property
    def groups(self) -> list[WindowGroup]:
        """The windows over all streams."""
        if len(self.timelines) == 1:  # the common case, and quicker
            return list(self.timelines[0].groups.values())
        return [group for timeline in self.timelines for group in timeline.groups.values()]

    @property
    def has_begun(self) -> bool:
        """True if any stream was given anything."""
        return any(timeline.come is not None for timeline in self.timelines)

    @property
    def holds(self) -> bool:
        """True if any element is in a window, or waits to be."""
        return any(t.waiting for t in self.timelines) or any(g.first() is not None for g in self.groups)

    def is_late(self, instant: Instant, lateness: int) -> bool:
        """Return True if an element comes too late for the reports that were made."""
        come = self.come
        # with a lateness, elements of the instant itself may still correct its report
        return come is not None and instant < (come.released - lateness if lateness else come.closed)

    def run(self) -> None:
        """Take the elements that are not waited for any more, and make all reports up to there."""
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
        """Tell how far the streams have come together, and never less than before; None where none tells."""
        if len(self.timelines) == 1:  # the common case, and quicker
            return self.timelines[0].come
        known = [timeline.come for timeline in self.timelines if not timeline.is_idle]
        if not known or None in known:
            return None  # nothing tells how far an input has come that has not begun
        places = zip(*(come for come in known if come is not None), strict=True)
        lowest = [min(place) for place in places]
        # an input that is idle no longer may be behind, and time does not go back
        return Come(*(lowest if self.come is None else map(max, lowest, self.come)))

    def follow(self, complete: Instant) -> None:
        """Move windows without a due report to their last report all the same, and forget old removals."""
        for timeline in self.timelines:
            for group in timeline.groups.values():
                if group.axis == "time":
                    for pane in group.panes:
                        pane.follow(complete)
                if timeline.lateness:
                    group.forget(complete - timeline.lateness)

    def catch_up(self, position: Instant) -> bool:
        """Bring windows that report every change to the instant of an element, with what goes then."""
        moved = False
        if len(self.timelines) == 1:
            return False  # a stream moves its own
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
        """Have the windows' views commit what they report."""
        self.current = instant if self.current is None else max(instant, self.current)
        # one of the views is enough: those of one store commit together
        pane = next((pane for group in self.groups for pane in group.panes), None)
        if pane is not None and self.adapter is not None:
            self.adapter.capture.tick(pane.view.commit)
        # behind the commit: the windows find there what has expired
        for group in self.groups:
            group.drop()

    def __repr__(self) -> str:
        return f"<Watermark of {len(self.timelines)} streams>"

    def _next(self, released: Instant) -> Input | None:
        """Return the stream of the next element that is to be taken."""
        first: Input | None = None
        for other in self.timelines:
            ready = other.waiting and other.waiting[0].position <= released
            if ready and (first is None or other.waiting[0][:2] < first.waiting[0][:2]):
                first = other
        return first

    def _report(self, complete: Instant) -> None:
        """Let all windows report that are due, earliest first."""
        while True:
            reported = report_first([group for group in self.groups if group.axis == "time"], complete)
            if reported is None:
                return
            self.finish(reported)


def report_first(groups: Iterable[WindowGroup], complete: int) -> int | None:
    """Let those windows report that are due first; gives the position of the report, None if none is due."""
    dues = {group: group.due() for group in groups}
    due = min((at for at in dues.values() if at is not None), default=None)
    if due is None or due > complete:
        return None
    # all that are due together report in one commit, so a query over several windows gets one delta
    return max(group.report(due) for group, at in dues.items() if at == due)
