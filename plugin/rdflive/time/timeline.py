"""The progress of one stream: the elements that have arrived, and the instant up to which it is complete."""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.entail.entailment import Sign
from rdflive.model import Triple
from rdflive.time.group import Element, WindowGroup
from rdflive.time.instants import Instant
from rdflive.time.watermark import Act, Come, Watermark, report_first
from rdflive.time.windows import Axis, Window

__all__ = ["Timeline"]


class Timeline:
    """Orders the elements of a stream and puts them into windows; callers hold the store's lock.

    Elements may be out of order by up to `delay`: each waits that long for older ones. An instant is
    *complete* when the stream waits for no older element, and an element at a complete instant is late. If it
    is late by at most `lateness`, it corrects the last report of windows; otherwise it is counted and
    dropped. All durations are in nanoseconds. The stream's watermark uses its progress to decide when
    elements are processed and reports are made.

    Example: with a delay of 5, the element at 12 completes everything up to 6 (12 - 5 - 1), so a report due
    at 5 is made. An element at 8 is still in time, one at 4 is late.
    """

    def __init__(self, *, delay: int, lateness: int, watermark: Watermark) -> None:
        self.delay = delay
        self.lateness = lateness
        self.watermark = watermark
        watermark.timelines.append(self)
        self.groups: dict[Hashable, WindowGroup] = {}
        self.come: Come | None = None
        """The progress of the stream by itself; None before it has begun."""
        self.is_idle = False
        """True if the other streams of its watermark do not wait for it."""
        self.latest: Instant | None = None
        """The highest instant of any element."""
        self.late = 0
        """Number of elements that were too late and were dropped."""
        self.given = 0
        """The number of the last element; if the source does not number elements, their count."""
        self.waiting: list[Element] = []
        """A heap of the elements that are not in windows yet."""
        self._elements = 0
        self._triples = 0
        self._counted: dict[int, tuple[int, int]] = {}
        """The counts assigned to elements in processing, by `Element.number`; see `take`."""

    def group(self, window: Window, dictionary: Dictionary) -> WindowGroup:
        """Return the group of a window, and create it if necessary."""
        axis = window.cadence.axis
        log = self.watermark.log
        is_kept = log is not None
        # With lateness, labels must not be ahead of a window's report, so only equal windows share them. The
        # same holds with a log, from which the labels of one report can be restored.
        key = (axis, window if self.lateness or is_kept else None, is_kept)
        group = self.groups.get(key)
        if group is None and log is not None:
            group = log.group(self.watermark.timelines.index(self), window, dictionary)
            if group is not None:
                self.groups[key] = group
        if group is None:
            alike = [
                other for other in self.groups.values() if other.axis == axis and other.first() is not None
            ]
            group = self.groups[key] = WindowGroup(
                axis, dictionary, keeps_deletes=self.lateness > 0 and axis == "time"
            )
            # A new group begins with the labels that reach back furthest, so that a new window is filled.
            if alike:
                group.copy(min(alike, key=lambda other: other.first() or 0))
        return group

    def ahead(self, group: WindowGroup) -> int | None:
        """Return the first position on a group's axis that is not complete; None before the stream begins."""
        if group.axis == "time":
            return None if self.watermark.done is None else self.watermark.done + 1
        return self.counted(group.axis) + 1

    @property
    def reached(self) -> Instant | None:
        """The highest instant that is complete or has elements in windows; None before the stream begins."""
        known = [at for at in (self.watermark.done, self.watermark.arrived) if at is not None]
        return max(known, default=None)

    @property
    def known(self) -> Instant | None:
        """The highest instant of any element or `advance`; None before the first."""
        known = [at for at in (self.latest, self.come and self.come.complete) if at is not None]
        return max(known, default=None)

    def release(self) -> None:
        """Remove groups without windows."""
        self.groups = {key: group for key, group in self.groups.items() if group.panes}

    @property
    def state(self) -> list[Any]:
        """The progress of the stream, without the content of windows."""
        come = [self.come, self.is_idle, self.latest, self.late, self.given]
        return [*come, self._elements, self._triples, list(self.waiting)]

    def load(self, state: list[Any]) -> None:
        """Restore the progress of another stream's `state`."""
        come, self.is_idle, self.latest, self.late, self.given = state[:5]
        self.come = None if come is None else Come(*come)
        self._elements, self._triples, waiting = state[5:]
        self.waiting = list(waiting)  # a copy, because one state is loaded for each window

    def counted(self, axis: Axis) -> int:
        """Return the number of elements or triples in windows."""
        return self._elements if axis == "elements" else self._triples

    def insert(
        self, sign: Sign, triples: tuple[Triple, ...], instant: Instant, number: int | None = None
    ) -> bool:
        """Add an element; return False if it is too late. Without `number` it gets the next number."""
        number = self.given + 1 if number is None else number
        watermark = self.watermark
        if watermark.log is not None:
            self._note("add" if sign > 0 else "remove", instant, number, triples)
        self.given = number
        is_late = watermark.is_late(instant, self.lateness)
        if is_late:
            self.late += 1
        else:
            # The number breaks ties, so that elements of one instant keep their order, in all streams.
            watermark.last += 1
            heappush(self.waiting, Element(instant, watermark.last, sign, triples))
        self.latest = instant if self.latest is None else max(instant, self.latest)
        complete = self.latest - self.delay
        # more elements of this instant may follow, so its elements are processed, but its reports wait
        self._reach(Come(complete, complete, complete - 1))
        return not is_late

    def advance(self, instant: Instant, *, closes: bool = True) -> None:
        """Make everything up to an instant complete.

        With `closes`, further elements of that instant are late.
        """
        self._note("advance" if closes else "present", instant)
        self._reach(Come(instant + closes, instant, instant))

    def rest(self) -> None:
        """Let the other streams of the watermark continue without this one, until its next element."""
        self._note("rest")
        self.is_idle = True
        self.watermark.run()

    def next_due(self) -> Instant | None:
        """Return the instant that must be complete for the next report of any window."""
        dues = [
            due for group in self.groups.values() if group.axis == "time" and (due := group.due()) is not None
        ]
        waiting = [self.waiting[0].position] if self.waiting else []
        return min(dues + waiting, default=None)

    def take(self) -> None:
        """Process the first waiting element. If this fails half-way, it is processed once more, then dropped.

        Processing an element twice is harmless: labels are set, not counted, and it keeps its numbers.
        """
        element = self.waiting[0]
        done = element.number in self._counted
        try:
            self._arrive(element)
            done = True
        finally:
            if done:
                heappop(self.waiting)
                self._counted.pop(element.number, None)

    def _note(self, *act: Any) -> None:
        """Record an act in the log before it is done."""
        if self.watermark.log is not None:
            self.watermark.log.note(Act(self.watermark.timelines.index(self), *act))

    def _reach(self, come: Come) -> None:
        before = self.come
        is_further = before is None or come.released > before.released  # then all fields are
        self.come = come if is_further or before is None else Come(*map(max, come, before))
        self.is_idle = False
        self.watermark.run()

    def _arrive(self, element: Element) -> None:
        arrived, position = self.watermark.arrived, element.position
        self.watermark.arrived = position if arrived is None else max(position, arrived)
        elements, triples = self._count_in(element)
        done = self.watermark.done
        changed, is_late = False, done is not None and position <= done
        for group in self.groups.values():
            if group.axis == "time":
                changed |= group.arrive(element, is_late=is_late)
        changed |= self.watermark.catch_up(element.position)
        if changed:
            self.watermark.finish(element.position)
        axes = {group.axis for group in self.groups.values()}
        if "elements" in axes:
            self._count("elements", element._replace(position=elements), element)
        if "triples" not in axes or not element.triples:
            return
        # a delete is not an arrival, so it is not counted
        if element.sign < 0:
            self._count("triples", element._replace(position=triples), element)
        else:
            for at, triple in enumerate(element.triples, triples - len(element.triples) + 1):
                self._count("triples", element._replace(position=at, triples=(triple,)), element)

    def _count_in(self, element: Element) -> tuple[int, int]:
        """Return the numbers of an element and of its last triple; repeated calls return the same numbers."""
        count = 1 if element.sign > 0 else 0
        counted = self._elements + count, self._triples + count * len(element.triples)
        elements, triples = self._counted.setdefault(element.number, counted)
        self._elements, self._triples = max(elements, self._elements), max(triples, self._triples)
        return elements, triples

    def _count(self, axis: Axis, counted: Element, element: Element) -> None:
        """Process an element by its count, and let windows report that count elements or triples."""
        groups = [group for group in self.groups.values() if group.axis == axis]
        changed = [
            group.arrive(counted) for group in groups
        ]  # a list, because `any` alone would stop at the first True
        if any(changed):
            self.watermark.finish(element.position)
        while report_first(groups, counted.position) is not None:
            self.watermark.finish(element.position)
