"""One window as one view sees it: what it held at its last report, and when the next one is due."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.keys import Key, matches
from rdflive.store import Listener
from rdflive.time.labels import Labels
from rdflive.time.windows import ALWAYS, Window

__all__ = ["Pane"]


class Reporting(Listener, Protocol):
    """Whoever takes what a window reports: a view of windows."""

    def await_report(self, pane: Pane) -> None:
        """Have what a pane reports taken at the next commit."""


class Pane:
    """Holds the triples whose label is `begin` or later, as they were at the last report.

    Labels may be ahead of it: what has changed since the report is in `before`.
    """

    def __init__(
        self,
        window: Window,
        labels: Labels,
        view: Reporting,
        *,
        ahead: Callable[[], int | None],
        current: Callable[[], int | None],
        every: bool,
    ) -> None:
        self.window = window
        self.cadence, self.scope = window.cadence, window.scope
        self.is_continuous = self.cadence.step is None
        """True where every change is reported at once."""
        self.labels = labels
        self.view = view
        self.ahead = ahead
        """Gives the first position that is not complete, None before the stream's first."""
        self._current = current
        self.every = every
        """Whether reports that change nothing count too."""
        self.before = labels.watch()
        self.begin = ALWAYS
        """The first position inside; nothing of the stream is, before the first report."""
        self.report: int | None = None
        """The last report."""
        self.pending: int | None = None
        """The position of the first change since the last report."""
        self._is_early = False
        """True where something changed beside the stream before its first instant."""
        self._due: int | None = None
        self._knows_due = False
        self._first = ahead()
        """No report takes in less than this, for it would be one of before the window was opened."""

    @property
    def has_begun(self) -> bool:
        """True from the first report on."""
        return self.begin < ALWAYS

    @property
    def taken(self) -> int | None:
        """The last position that the last report took in."""
        return None if self.report is None else self.report - self.cadence.lag

    def instant(self) -> int | None:
        """Give the instant of the last report; of windows that count, that of the stream's last report."""
        return self.report if self.cadence.axis == "time" or self.report is None else self._current()

    def holds(self, triple: IdTriple) -> bool:
        """Tell whether a triple was in the window at the last report."""
        label = self._label(triple)
        return label is not None and label >= self.begin

    def note(self, position: int) -> None:
        """Remember that something changed."""
        position = position if self._first is None else max(position, self._first)
        if self.pending is None or position < self.pending:
            self.pending = position
            self.refresh()

    def note_now(self) -> None:
        """Remember that something changed beside the stream."""
        ahead = self.ahead()
        if ahead is None:
            self._is_early = True
        else:
            self.note(ahead if self.taken is None else max(ahead, self.taken + 1))

    def begin_time(self, complete: int) -> None:
        """Be told how far the stream's time has come when it is first known.

        What changed beside the stream before that is in the last report up to there.
        """
        if self._is_early:
            self._is_early = False
            assert self.cadence.step is not None  # noqa: S101 - other windows show it at once
            self.note(self.cadence.next_report(complete) - self.cadence.step - self.cadence.lag)

    def due(self) -> int | None:
        """Give the position that must be complete for the next report that changes anything."""
        if not self._knows_due:
            self._due, self._knows_due = self._find_due(), True
        return self._due

    def refresh(self) -> None:
        """Have the next report worked out again; it is asked for with every element."""
        self._knows_due = False

    def follow(self, complete: int) -> None:
        """Be at the last report up to a position; those that were not due have changed nothing."""
        if self.report is None or complete < self.report:
            return
        if self.cadence.step is None:
            report = complete
        elif complete < self.report - self.cadence.lag + self.cadence.step:
            return
        else:
            report = self.cadence.next_report(complete) - self.cadence.step
        self.report, self.begin = report, self.scope.begin(report)

    def move(self, position: int) -> None:
        """Report all that is in at a position: the view takes it at the commit that follows."""
        self.report = position + self.cadence.lag
        self.pending = None
        self.refresh()
        self.view.await_report(self)

    def correct(self) -> None:
        """Have what came late for the last report taken at the commit that follows."""
        self.refresh()
        self.view.await_report(self)

    def changes(self) -> Iterator[tuple[IdTriple, bool]]:
        """List what came in (true) and went (false) by other things than time; all else is as before.

        Each change is in effect when the next one is asked for.
        """
        table, begin, before = self.labels.table, self.begin, self.before
        self.refresh()
        while before:
            triple, old = self.labels.take(before)
            new = table.get(triple)
            held = new is not None and new >= begin
            if held is not (old is not None and old >= begin):
                yield triple, held

    def slides(self) -> bool:
        """Tell whether time takes anything out at the last report; where it does not, it is done."""
        assert self.report is not None  # noqa: S101 - only a reported pane slides
        begin = self.scope.begin(self.report)
        first = self.labels.following(self.begin)
        if begin < self.begin or (first is not None and first < begin):
            return True
        self.begin = begin
        return False

    def slide(self) -> Iterator[tuple[IdTriple, bool]]:
        """List what time takes out (false), and in at the first report (true); it is done beforehand."""
        assert self.report is not None  # noqa: S101 - only a reported pane slides
        old, new = self.begin, self.scope.begin(self.report)
        self.begin = new
        self.refresh()
        if new >= old:
            return ((triple, False) for triple in self.labels.between(old, new))
        return ((triple, True) for triple in self.labels.between(new, old))

    def settle(self) -> None:
        """Hold what the last report says, after a failure between it and `slide`."""
        if self.report is not None:
            self.begin = self.scope.begin(self.report)
        self.refresh()

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List what was in the window at the last report and matches."""
        for triple in self.labels.matching(key):
            if self.holds(triple):
                yield triple
        table = self.labels.table
        for triple in tuple(self.before):
            if triple not in table and matches(key, triple) and self.holds(triple):
                yield triple

    def end(self, triple: IdTriple) -> int | None:
        """Give the first report at which time will have taken a triple out that is in; None for never."""
        label = self._label(triple)
        if self.scope.reach is None or label is None or label >= ALWAYS:
            return None
        return self._report(label + self.scope.reach + 1)

    def describe(self) -> str:
        """Tell what the window is and how much it holds, in a line for `explain()`."""
        held = sum(self.holds(triple) for triple in self.labels.table)
        return f"{self.window!r} holds {held} triples"

    def close(self) -> None:
        """Stop looking at the labels."""
        self.labels.unwatch(self.before)

    def _find_due(self) -> int | None:
        reports = []
        if not self.is_continuous and self.pending is not None:
            reports.append(self._report(self.pending + self.cadence.lag))
        first = self.labels.following(self.begin) if self.has_begun else None
        if first is not None and first < ALWAYS:
            if self.scope.reach is not None:
                reports.append(self._report(first + self.scope.reach + 1))
            if self.every and self.report is not None and not self.is_continuous:
                # not before it holds anything: labels may be ahead of reports that nothing was due at
                reports.append(self._report(max(self.report + 1, first + self.cadence.lag)))
        return min(reports) - self.cadence.lag if reports else None

    def _label(self, triple: IdTriple) -> int | None:
        """Give the label that a triple had at the last report."""
        return self.before[triple] if triple in self.before else self.labels.table.get(triple)

    def _report(self, at: int) -> int:
        """Give the first report at a position or later, and after the last one."""
        if self.is_continuous:
            return at
        report = self.cadence.next_report(at - self.cadence.lag - 1)
        return (
            report if self.report is None or report > self.report else self.report + (self.cadence.step or 0)
        )
