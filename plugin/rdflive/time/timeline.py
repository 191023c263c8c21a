"""The course of one stream: what has arrived, up to where it is complete, and which report comes next."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from heapq import heappop, heappush

from rdflive.engine.dictionary import Dictionary
from rdflive.entail.entailment import Sign
from rdflive.model import Triple
from rdflive.time.group import Element, Group
from rdflive.time.instants import Instant
from rdflive.time.windows import Axis, Window

__all__ = ["Timeline"]


class Timeline:
    """Puts elements in order and lets windows report; all methods run under the store's lock.

    Elements may come out of order by up to `delay`: each waits that long for older ones. An instant is
    *complete* when no older element is waited for, and an element at a complete instant is late. If it is
    late by at most `lateness`, it is put into what windows held at their last report; otherwise it is counted
    and dropped. All durations are in nanoseconds.

    Example: with a delay of 5, the element at 12 completes everything up to 6 (12 - 5 - 1), so a report due
    at 5 is made. An element at 8 is still in time, one at 4 is late.
    """

    def __init__(self, *, delay: int, lateness: int, commit: Callable[[], None]) -> None:
        self.delay = delay
        self.lateness = lateness
        self._commit = commit
        self.groups: dict[Hashable, Group] = {}
        self.done: Instant | None = None
        """Everything up to here is complete; None before the first element."""
        self._first_taken: Instant | None = None
        """Elements before this instant are dropped; None if none are."""
        self.latest: Instant | None = None
        """The highest instant of any element."""
        self.current: Instant | None = None
        """The instant of the last report."""
        self.late = 0
        """How many elements came too late and were dropped."""
        self._arrived: Instant | None = None
        """The highest instant of an element that is in the windows."""
        self._waiting: list[Element] = []
        self._number = 0
        self._elements = 0
        self._triples = 0
        self._counted: dict[int, tuple[int, int]] = {}
        """The numbers that elements got which are being taken, by `Element.number`; see `_take`."""

    def group(self, window: Window, dictionary: Dictionary) -> Group:
        """Give the group of a window, making it if there is none."""
        axis = window.cadence.axis
        # With lateness, labels must not be ahead of a window's report, so only equal windows share them.
        key = (axis, window if self.lateness else None)
        group = self.groups.get(key)
        if group is None:
            alike = [
                other for other in self.groups.values() if other.axis == axis and other.first() is not None
            ]
            group = self.groups[key] = Group(
                axis, dictionary, keeps_deletes=self.lateness > 0 and axis == "time"
            )
            # A new group begins with the labels that reach back furthest, so that a new window is filled at
            # once.
            if alike:
                group.copy(min(alike, key=lambda other: other.first() or 0))
        return group

    def ahead(self, group: Group) -> int | None:
        """Give the first position on a group's axis that is not complete; None before the stream begins."""
        if group.axis == "time":
            return None if self.done is None else self.done + 1
        return (self._elements if group.axis == "elements" else self._triples) + 1

    @property
    def reached(self) -> Instant | None:
        """The highest instant that is complete or has elements in windows; None before the stream begins."""
        known = [at for at in (self.done, self._arrived) if at is not None]
        return max(known, default=None)

    def release(self) -> None:
        """Remove groups without windows."""
        self.groups = {key: group for key, group in self.groups.items() if group.panes}

    def insert(self, sign: Sign, triples: tuple[Triple, ...], instant: Instant) -> bool:
        """Take an element; False if it is too late."""
        if self._first_taken is not None and instant < self._first_taken:
            self.late += 1
            return False
        self._number += 1
        # The number breaks ties, so that elements of one instant keep their order.
        heappush(self._waiting, Element(instant, self._number, sign, triples))
        self.latest = instant if self.latest is None else max(instant, self.latest)
        complete = self.latest - self.delay
        self._close(complete - self.lateness)
        # more elements of this instant may follow, so it is taken, but reports at it wait
        self._run(complete if self.done is None else max(complete, self.done), complete - 1)
        return True

    def advance(self, instant: Instant, *, closes: bool = True) -> None:
        """Make everything up to an instant complete; with `closes`, further elements of that instant are
        late.
        """
        # with a lateness, elements of the instant itself may still correct its report
        self._close(instant - self.lateness if self.lateness or not closes else instant + 1)
        self._run(instant, instant)

    def next_due(self) -> Instant | None:
        """Give the instant that must be complete for the next report of any window."""
        dues = [
            due for group in self.groups.values() if group.axis == "time" and (due := group.due()) is not None
        ]
        waiting = [self._waiting[0].position] if self._waiting else []
        return min(dues + waiting, default=None)

    def _close(self, first: Instant) -> None:
        self._first_taken = first if self._first_taken is None else max(first, self._first_taken)

    def _run(self, released: Instant, complete: Instant) -> None:
        """Take the waiting elements up to `released`, and make all reports up to `complete`."""
        # Windows opened before the stream could not know when to report.
        if self.done is None:
            for group in self.groups.values():
                for pane in group.panes:
                    pane.begin_time(complete)
        while self._waiting and self._waiting[0].position <= released:
            element = self._waiting[0]
            # Reports before an element must not see it.
            self._report(element.position - 1)
            self._take(element)
        # Time never runs backwards, even if an element comes with an older instant.
        self.done = complete if self.done is None else max(complete, self.done)
        self._report(self.done)
        self._follow(self.done)
        if self.lateness:
            for group in self.groups.values():
                group.forget(self.done - self.lateness)

    def _follow(self, complete: Instant) -> None:
        """Move windows without a due report to their last report all the same."""
        for group in self.groups.values():
            if group.axis == "time":
                for pane in group.panes:
                    pane.follow(complete)

    def _report(self, complete: Instant) -> None:
        """Let all windows report that are due, earliest first."""
        while True:
            groups = [group for group in self.groups.values() if group.axis == "time"]
            reported = self._report_first(groups, complete)
            if reported is None:
                return
            self.current = reported if self.current is None else max(reported, self.current)
            self._finish()

    def _report_first(self, groups: list[Group], complete: int) -> int | None:
        """Let those windows report that are due first; gives the position of the report, None if none
        is due.
        """
        dues = {group: group.due() for group in groups}
        due = min((at for at in dues.values() if at is not None), default=None)
        if due is None or due > complete:
            return None
        # all that are due together report in one commit, so a query over several windows gets one delta
        return max(group.report(due) for group, at in dues.items() if at == due)

    def _take(self, element: Element) -> None:
        """Take the first waiting element. One that failed half-way is taken once more, then given up.

        Taking an element twice does no harm: labels are set, not counted, and it keeps its numbers.
        """
        done = element.number in self._counted
        try:
            self._arrive(element)
            done = True
        finally:
            if done:
                heappop(self._waiting)
                self._counted.pop(element.number, None)

    def _arrive(self, element: Element) -> None:
        self._arrived = element.position if self._arrived is None else max(element.position, self._arrived)
        elements, triples = self._count_in(element)
        changed = False
        for group in self.groups.values():
            if group.axis == "time":
                changed |= group.arrive(element)
        if changed:
            self._tick(element)
        axes = {group.axis for group in self.groups.values()}
        if "elements" in axes:
            self._count("elements", element._replace(position=elements), element)
        if "triples" not in axes or not element.triples:
            return
        # a delete is no arrival, so it has no number of its own
        if element.sign < 0:
            self._count("triples", element._replace(position=triples), element)
        else:
            for at, triple in enumerate(element.triples, triples - len(element.triples) + 1):
                self._count("triples", element._replace(position=at, triples=(triple,)), element)

    def _count_in(self, element: Element) -> tuple[int, int]:
        """Give the numbers of an element and of its last triple. They are the same when it is taken again."""
        count = 1 if element.sign > 0 else 0
        counted = self._elements + count, self._triples + count * len(element.triples)
        elements, triples = self._counted.setdefault(element.number, counted)
        self._elements, self._triples = max(elements, self._elements), max(triples, self._triples)
        return elements, triples

    def _count(self, axis: Axis, counted: Element, element: Element) -> None:
        """Take an element by its number, and let windows report that count elements or triples."""
        groups = [group for group in self.groups.values() if group.axis == axis]
        changed = [
            group.arrive(counted) for group in groups
        ]  # a list, because `any` alone would stop at the first that changed
        if any(changed):
            self._tick(element)
        while self._report_first(groups, counted.position) is not None:
            self._tick(element)

    def _tick(self, element: Element) -> None:
        self.current = element.position if self.current is None else max(element.position, self.current)
        self._finish()

    def _finish(self) -> None:
        # before labels are dropped: the windows find there what has expired
        self._commit()
        for group in self.groups.values():
            group.drop()
