"""A reference of windows over streams, which computes every report from the whole history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import pyoxigraph as ox

from rdflive.time.windows import ALWAYS, Window

__all__ = [
    "EX",
    "Answer",
    "Course",
    "Report",
    "Told",
    "Triples",
    "evaluate",
    "iri",
    "second",
    "spelled",
]

EX = "urn:example:"
SECOND = 10**9
Triple: TypeAlias = tuple[str, str, str]
"""Local names of IRIs."""
Triples: TypeAlias = frozenset[Triple]
Answer: TypeAlias = Counter[frozenset[tuple[str, str]]]
Close: TypeAlias = Callable[[Triples], Triples]
"""Returns all triples that triples entail."""
Label: TypeAlias = Callable[[dict[Triple, int]], dict[Triple, int]]
"""Returns all entailed triples with the maximum over derivations of the minimum over premises."""


def spelled(name: str) -> str:
    """Return the IRI of a local name; an IRI is returned as it is."""
    return name if "://" in name else EX + name


def iri(name: str) -> str:
    """Write a name in a query."""
    return f"<{spelled(name)}>"


def second(nanoseconds: int) -> float:
    """Convert nanoseconds to seconds, as a stream of numbers reports them."""
    whole, rest = divmod(nanoseconds, SECOND)
    return nanoseconds / SECOND if rest else whole


@lru_cache(maxsize=50_000)
def evaluate(text: str, triples: Triples) -> Answer:
    """Answer a SELECT over a set of triples with Oxigraph."""
    store = ox.Store()
    store.extend(ox.Quad(*(ox.NamedNode(spelled(name)) for name in triple)) for triple in triples)
    result = store.query(text)
    names = [variable.value for variable in result.variables]
    return Counter(
        frozenset((n, t.value) for n, t in zip(names, row, strict=True) if t is not None) for row in result
    )


def minus(one: Answer, other: Answer) -> Answer:
    """Return the signed difference of two answers."""
    return Counter({row: n for row in (*one, *other) if (n := one[row] - other[row])})


@dataclass
class Fact:
    """An added or removed triple, with its position on each axis."""

    sign: int
    triple: Triple
    at: dict[str, tuple[int, int]]
    """Per axis the position, and a serial number that orders facts at one position."""


@dataclass(frozen=True)
class Waiting:
    """An element that waits for earlier elements."""

    instant: int
    number: int
    sign: int
    triples: tuple[Triple, ...]


@dataclass(eq=False)
class Pane:
    """A window of a view."""

    course: Course
    window: Window
    since: int
    """Number of facts before the first that the window may hold."""
    last: int | None
    """The last complete instant of its grid."""
    begin: int | None = None
    """The first position in the window; None before the first report."""
    report: int | None = None
    held: dict[Triple, int] = field(default_factory=dict)
    """The triples in the window, with their last arrival."""

    @property
    def axis(self) -> str:
        return self.window.cadence.axis

    @property
    def step(self) -> int | None:
        return self.window.cadence.step

    @property
    def lag(self) -> int:
        return self.window.cadence.lag

    @property
    def shows_at_once(self) -> bool:
        """Return True if a change of the graph beside the window is reported at once."""
        return self.step is None or (self.axis != "time" and self.step == 1)

    def content(self, begin: int, end: int) -> dict[Triple, int]:
        """Return the triples that arrived from `begin` to `end`, both included, and were not removed."""
        facts = [fact for fact in self.course.facts[self.since :] if fact.at[self.axis][0] <= end]
        deleted: dict[Triple, tuple[int, int]] = {}
        for fact in facts:
            if fact.sign < 0:
                place = fact.at[self.axis]
                deleted[fact.triple] = max(place, deleted.get(fact.triple, place))
        held: dict[Triple, int] = {}
        for fact in facts:
            place = fact.at[self.axis]
            dead = fact.triple in deleted and place < deleted[fact.triple]
            if fact.sign > 0 and place[0] >= begin and not dead:
                held[fact.triple] = max(place[0], held.get(fact.triple, place[0]))
        return held

    def takes_late(self, instant: int) -> bool:
        """Return True if an element changes an earlier report."""
        if self.report is None or instant > self.report - self.lag:
            return False
        return instant >= self.window.scope.begin(self.report)

    def follow(self, done: int | None) -> None:
        """Advance a window that reports every change to the complete instant."""
        if self.step is None and done is not None:
            self.report = done if self.report is None else max(done, self.report)

    def opened(self) -> None:
        """Fill a new window that reports every change with the current content."""
        position = self.course.position(self.axis)
        if self.step is None and position is not None:
            self.report, self.begin = position, self.window.scope.begin(position)
            self.held = self.content(self.begin, position)

    def due(self) -> int | None:
        """Return the instant whose completion causes the next report, or None."""
        if self.axis != "time":
            return None
        if self.step is None:
            return min((end for at in self.held.values() if (end := self.end(at)) is not None), default=None)
        if self.last is None:
            return None
        return self.last + self.step - self.lag

    def end(self, at: int) -> int | None:
        """Return the first report without a triple that arrived at an instant; None for never."""
        scope = self.window.scope
        if scope.reach is None:
            return None
        gone = at + scope.reach + 1
        if self.step is None:
            return gone
        start = self.window.cadence.start
        report = start + -((start - gone) // self.step) * self.step
        assert self.report is not None
        return report if report > self.report else self.report + self.step


@dataclass(frozen=True)
class Report:
    """The expected delta of a report."""

    time: float | None
    """None if the stream did not cause the report."""
    net: Answer
    expired: Answer
    whole: Answer
    ends: dict[frozenset[tuple[str, str]], int | None]
    """The expiry of each added solution, if requested."""


@dataclass(eq=False)
class Told:
    """A query and its expected reports."""

    text: str
    patterns: tuple[Triple, ...] = ()
    """The patterns whose matches are the solutions, if expiry is requested."""
    reports: list[Report] = field(default_factory=list)


@dataclass(eq=False)
class View:
    """Windows and the graph beside them, with the queries over them."""

    panes: list[Pane]
    beside: bool
    every: bool
    close: Close
    labels: Label | None = None
    background: Triples = frozenset()
    told: list[Told] = field(default_factory=list)

    def triples(self) -> Triples:
        """Return the triples of the view and those they entail."""
        held = frozenset(triple for pane in self.panes for triple in pane.held)
        return self.close(held | self.background)

    def commit(self, moved: Iterable[Pane], now: int, time: int | None, background: Triples) -> None:
        """Apply the changes to the windows at their old positions, then move the windows."""
        before = self.triples()
        self.background = background if self.beside else frozenset()
        moved = list(moved)
        for pane in moved:
            end = now if pane.axis != "time" or pane.report is None else max(now, pane.report - pane.lag)
            begin = pane.window.scope.begin(end + pane.lag) if pane.begin is None else pane.begin
            pane.held = pane.content(begin, end)
        between = self.triples()
        for pane in moved:
            end = now if pane.axis != "time" or pane.report is None else max(now, pane.report - pane.lag)
            pane.report = end + pane.lag
            pane.begin = pane.window.scope.begin(pane.report)
            pane.held = pane.content(pane.begin, end)
        after = self.triples()
        for told in self.told:
            whole = evaluate(told.text, after)
            net = minus(whole, evaluate(told.text, before))
            passed = minus(whole, evaluate(told.text, between))
            expired = Counter({row: m for row, n in passed.items() if (m := min(-n, -net[row])) > 0})
            if net or (self.every and whole and moved):
                shown = None if time is None else second(time)
                came = [row for row, n in net.items() if n > 0] if told.patterns else []
                ends = {row: self._lasts(told.patterns, dict(row)) for row in came}
                told.reports.append(Report(shown, net, expired, whole, ends))

    def _lasts(self, patterns: tuple[Triple, ...], row: dict[str, str]) -> int | None:
        """Return the end of the last match of a solution."""
        bound = {name: value.removeprefix(EX) for name, value in row.items()}
        ends = list(self._matches(patterns, bound, self._ends()))
        assert ends
        return None if None in ends else max(end for end in ends if end is not None)

    def _matches(
        self, patterns: tuple[Triple, ...], bound: dict[str, str], there: dict[Triple, int | None]
    ) -> Iterator[int | None]:
        if not patterns:
            yield None
            return
        for triple, end in there.items():
            found = dict(bound)
            if all(
                found.setdefault(asked[1:], term) == term if asked.startswith("?") else asked == term
                for asked, term in zip(patterns[0], triple, strict=True)
            ):
                for other in self._matches(patterns[1:], found, there):
                    yield end if other is None else other if end is None else min(end, other)

    def _ends(self) -> dict[Triple, int | None]:
        """Return the end of each triple, None for never."""
        if self.labels is None:
            return {triple: self.ends(triple) for triple in self.triples()}
        (pane,) = self.panes
        labels = self.labels({**pane.held, **dict.fromkeys(self.background, ALWAYS)})
        return {triple: None if at == ALWAYS else pane.end(at) for triple, at in labels.items()}

    def ends(self, triple: Triple) -> int | None:
        """Return the first report without a triple if only time changes; None for never."""
        if triple in self.background:
            return None
        found = [pane.end(pane.held[triple]) for pane in self.panes if triple in pane.held]
        return None if None in found else max(end for end in found if end is not None)


class Course:
    """The course of one stream; `views` are those of all streams of a world."""

    def __init__(self, views: list[View], delay: int = 0, lateness: int = 0) -> None:
        self.views = views
        self.delay, self.lateness = delay, lateness
        self.done: int | None = None
        self.first_taken = -ALWAYS
        """The first instant for which elements are accepted."""
        self.latest: int | None = None
        self.late = 0
        self.facts: list[Fact] = []
        self.background: Triples = frozenset()
        self.counts = {"elements": 0, "triples": 0}
        self.released = 0
        self._waiting: list[Waiting] = []
        self._number = 0
        self._last: int | None = None
        """The last instant of a released element."""

    def position(self, axis: str) -> int | None:
        """Return the current position of the stream on an axis."""
        if axis != "time":
            return self.counts[axis]
        known = [at for at in (self.done, self._last) if at is not None]
        return max(known, default=None)

    def panes(self) -> Iterator[tuple[View, Pane]]:
        """Yield the windows over this stream with their views."""
        return ((view, pane) for view in self.views for pane in view.panes if pane.course is self)

    def pane(self, window: Window) -> Pane:
        """Make a window, which may hold the content of other windows on the same axis."""
        cadence = window.cadence
        alike = [pane.since for _, pane in self.panes() if pane.axis == cadence.axis]
        last = None
        if cadence.step is not None and self.done is not None and cadence.axis == "time":
            last = cadence.start + (self.done + cadence.lag - cadence.start) // cadence.step * cadence.step
        return Pane(self, window, min(alike, default=len(self.facts)), last)

    def put(self, sign: int, triples: Iterable[Triple], at: int) -> bool:
        """Take an element; return False if it is too late."""
        if at < self.first_taken:
            self.late += 1
            return False
        self._number += 1
        self._waiting.append(Waiting(at, self._number, sign, tuple(triples)))
        self.latest = at if self.latest is None else max(at, self.latest)
        complete = self.latest - self.delay
        self.first_taken = max(complete - self.lateness, self.first_taken)
        self._run(complete if self.done is None else max(complete, self.done), complete - 1)
        return True

    def advance(self, at: int) -> None:
        """Declare all instants up to and including `at` complete."""
        self.first_taken = max(at - self.lateness if self.lateness else at + 1, self.first_taken)
        self._run(at, at)

    def _run(self, released: int, complete: int) -> None:
        for element in sorted(self._waiting, key=lambda e: (e.instant, e.number)):
            if element.instant <= released:
                self._report(element.instant - 1)
                self._release(element)
                self._waiting.remove(element)
        self.done = complete if self.done is None else max(complete, self.done)
        self._report(self.done)

    def _report(self, complete: int) -> None:
        for _, pane in self.panes():
            if pane.axis == "time" and pane.step is not None and pane.last is None:
                start = pane.window.cadence.start
                past = min(complete, self.facts[0].at["time"][0] - 1 if self.facts else complete)
                pane.last = start + ((past + pane.lag - start) // pane.step - 1) * pane.step
        while True:
            dues = [(due, view, pane) for view, pane in self.panes() if (due := pane.due()) is not None]
            first = min((due for due, _, _ in dues), default=None)
            if first is None or first > complete:
                return
            moved = [(view, pane) for due, view, pane in dues if due == first]
            for view in {id(view): view for view, _ in moved}.values():
                panes = [pane for v, pane in moved if v is view]
                time = first + max(pane.lag for _, pane in moved)
                view.commit(panes, first, time, self.background)
            for _, pane in moved:
                if pane.step is not None:
                    pane.last = first + pane.lag

    def _release(self, element: Waiting) -> None:
        add = element.sign > 0
        self._last = element.instant if self._last is None else max(self._last, element.instant)
        self.released += 1
        self.counts["elements"] += add
        start = self.counts["triples"]
        for number, triple in enumerate(element.triples, 1):
            serial = len(self.facts)
            at = {
                "time": (element.instant, element.number),
                "elements": (self.counts["elements"], serial),
                "triples": (start + number * add, serial),
            }
            self.facts.append(Fact(element.sign, triple, at))
        for view in self.views:
            panes = [pane for pane in view.panes if pane.course is self and pane.axis == "time"]
            for pane in panes:
                pane.follow(self.done)
            is_late = self.done is not None and element.instant <= self.done
            each = [pane for pane in panes if pane.step is None and not is_late]
            corrected = [pane for pane in panes if pane not in each and pane.takes_late(element.instant)]
            if each or corrected:
                # a correction leaves pending changes of the graph pending
                background = self.background if each else view.background
                view.commit([*each, *corrected], element.instant, element.instant, background)
        self._count("elements", element, self.counts["elements"])
        for _ in element.triples:
            if add:
                self.counts["triples"] += 1
            self._count("triples", element, self.counts["triples"] if add else start)
            if not add:
                break

    def _count(self, axis: str, element: Waiting, now: int) -> None:
        for view in self.views:
            due = [
                pane
                for pane in view.panes
                if pane.course is self and pane.axis == axis and pane.step and now % pane.step == 0
                and (element.sign > 0 or pane.report == now)
            ]  # fmt: skip
            if due:
                reports = element.sign > 0 or any(pane.step == 1 for pane in due)
                background = self.background if reports else view.background
                view.commit(due, now, element.instant, background)
