"""One window for one view: its content at its last report, and when its next report is due."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

from rdflive.entail.entailment import IdTriple, Sign
from rdflive.entail.rules.keys import Key, matches
from rdflive.entail.rules.labels import Labels
from rdflive.store import Listener
from rdflive.time.windows import ALWAYS, Window

__all__ = ["Moves", "Pane", "Unseen"]

Moves: TypeAlias = tuple[tuple[Sign, list[IdTriple]], ...]
"""Triples that came in (+1) or went (-1), together; each triple is in one of the lists."""


class Reporting(Listener, Protocol):
    """Takes what a window reports; implemented by `WindowView`."""

    def await_report(self, pane: Pane) -> None:
        """Take what a window reports at the next commit."""

    def await_correction(self, pane: Pane) -> None:
        """Take what came late for the last report of a window at the next commit."""


class Unseen:
    """Stands for the view of a window that nobody looks at: what it reports is taken at once."""

    def await_report(self, pane: Pane) -> None:
        """Take what a window reports."""
        pane.labels.forget(pane.before)
        pane.settle()

    await_correction = await_report


class Pane:
    """Holds the triples with a label of `begin` or more, as of its last report.

    The labels may be ahead, because windows with shorter steps share them: what changed since the report is
    noted in `before`. Example: a window reports every 10 and shares labels with one that reports every 1. At
    13 the label of a triple moves from 2 to 13; `before` notes 2, and until 20 this window answers by that.
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
        """True if every change is reported at once."""
        self.labels = labels
        self.view = view
        self.ahead = ahead
        """Gives the first position that is not complete yet; None before the stream begins."""
        self._current = current
        self.every = every
        """True if reports that change nothing are told too."""
        # From the beginning, so that changes before the first report are known too.
        self.before = labels.watch()
        self.begin = ALWAYS
        """The first position that the window holds. Before the first report only `ALWAYS` is inside, hence no
        triple of the stream.
        """
        self.report: int | None = None
        """The position of the last report, made or passed over as nothing had changed; at first None."""
        self.pending: int | None = None
        """The lowest position of a change since the last report."""
        self._is_early = False
        """True if the background graph changed before the stream's first instant, so no position could be
        noted.
        """
        self._due: int | None = None
        self._knows_due = False
        """True if `_due` is up to date; it is asked for with every element, and hardly ever changes."""
        self._first = ahead()
        """The first position that a report may take in; reports before this window was opened are not made up
        for.
        """

    @property
    def has_begun(self) -> bool:
        """True from the first report on, made or passed over."""
        return self.begin < ALWAYS

    @property
    def taken(self) -> int | None:
        """The last position that the last report covers."""
        return None if self.report is None else self.report - self.cadence.lag

    def instant(self) -> int | None:
        """Return the instant of the last report; for windows that count, that of the last report of the
        stream.
        """
        return self.report if self.cadence.axis == "time" or self.report is None else self._current()

    def holds(self, triple: IdTriple) -> bool:
        """Return True if the window held a triple at the last report."""
        label = self._label(triple)
        return label is not None and label >= self.begin

    def note(self, position: int) -> None:
        """Note that something changed at a position, so that a report is due."""
        position = position if self._first is None else max(position, self._first)
        if self.pending is None or position < self.pending:
            self.pending = position
            self.refresh()

    def note_now(self) -> None:
        """Note that the background graph changed."""
        ahead = self.ahead()
        if ahead is None:
            self._is_early = True
        else:
            self.note(ahead if self.taken is None else max(ahead, self.taken + 1))

    def begin_time(self, complete: int) -> None:
        """Take how far the stream's time has come when that is first known.

        Changes of the background graph from before belong to the last report up to there.
        """
        if self._is_early:
            self._is_early = False
            assert self.cadence.step is not None  # noqa: S101 - other windows show it at once
            self.note(self.cadence.next_report(complete) - self.cadence.step - self.cadence.lag)

    def due(self) -> int | None:
        """Return the position that must be complete for the next report that changes anything."""
        if not self._knows_due:
            self._due, self._knows_due = self._find_due(), True
        return self._due

    def refresh(self) -> None:
        """Compute the next report again when it is asked for."""
        self._knows_due = False

    def follow(self, complete: int) -> None:
        """Move to the last report up to a position. Reports in between changed nothing, so they were not
        made.
        """
        if self.report is None:
            self._follow_unreported(complete)
            return
        if complete < self.report:
            return
        if self.cadence.step is None:
            report = complete  # reported at every change, so what it holds is as of now
        # a quick test, as this runs with every element, and few reach the next report
        elif complete < self.report - self.cadence.lag + self.cadence.step:
            return
        else:
            report = self.cadence.next_report(complete) - self.cadence.step
        self.report, self.begin = report, self.scope.begin(report)

    def _follow_unreported(self, complete: int) -> None:
        """Move to the last report up to a position where none was made yet: a late element corrects that one.

        Example: a window of the last 3, reported every 1. The first element, at 5, ends the reports up to 4,
        which held nothing. A late one at 3 is in the window at 4, and is told; one at 1 is not.
        """
        if self.cadence.step is None:
            self.report, self.begin = complete, self.scope.begin(complete)
            return
        report = self.cadence.next_report(complete) - self.cadence.step
        # where there was something to begin with, a report of it is due, and not passed over
        if self._first is None or report - self.cadence.lag >= self._first:
            self.report, self.begin = report, self.scope.begin(report)
            self.refresh()

    def move(self, position: int) -> None:
        """Report what the window holds at a position. The view takes it at the commit that follows."""
        self.report = position + self.cadence.lag
        self.pending = None
        self.refresh()
        self.view.await_report(self)

    def correct(self) -> None:
        """Let the view take what came late for the last report, at the commit that follows."""
        self.refresh()
        self.view.await_correction(self)

    def changes(self) -> Moves:
        """List what went and what came in other than by time; `begin` stays as it was.

        The changes are in effect for `holds` when they are given.
        """
        label, begin = self.labels.table.get, self.begin
        self.refresh()
        came: list[IdTriple] = []
        went: list[IdTriple] = []
        for triple, old in self.before.items():
            new = label(triple)
            held = new is not None and new >= begin
            # A renewed label is no change while both labels are inside.
            if held is not (old is not None and old >= begin):
                (came if held else went).append(triple)
        self.labels.forget(self.before)
        return (-1, went), (1, came)

    def slides(self) -> bool:
        """Return True if time takes anything out at the last report; if not, the window has moved already."""
        assert self.report is not None  # noqa: S101 - only a reported pane slides
        begin = self.scope.begin(self.report)
        first = self.labels.following(self.begin)
        # Before the first report `begin` is `ALWAYS`, so moving to it brings triples in.
        if begin < self.begin or (first is not None and first < begin):
            return True
        self.begin = begin
        return False

    def slide(self) -> Moves:
        """Move to the last report, and list what time takes out, or at the first report brings in."""
        assert self.report is not None  # noqa: S101 - only a reported pane slides
        old, new = self.begin, self.scope.begin(self.report)
        self.begin = new
        self.refresh()
        if new >= old:
            return ((-1, self.labels.between(old, new)),)
        return ((1, self.labels.between(new, old)),)

    def settle(self) -> None:
        """Hold what the last report says, if a failure came between the report and `slide`."""
        if self.report is not None:
            self.begin = self.scope.begin(self.report)
        self.refresh()

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List the triples that match and that the window held at the last report."""
        for triple in self.labels.matching(key):
            if self.holds(triple):
                yield triple
        table = self.labels.table
        # Triples that lost their label since the report are found in the notes only.
        for triple in tuple(self.before):
            if triple not in table and matches(key, triple) and self.holds(triple):
                yield triple

    def end(self, triple: IdTriple) -> int | None:
        """Return the first report at which time will have removed a triple that is held; None for never."""
        label = self._label(triple)
        # Landmark windows keep everything, and so does the background graph.
        if self.scope.reach is None or label is None or label >= ALWAYS:
            return None
        return self._report(label + self.scope.reach + 1)

    def describe(self) -> str:
        """Tell what the window is and how much it holds, in a line for `explain()`."""
        held = sum(self.holds(triple) for triple in self.labels.table)
        return f"{self.window!r} holds {held} triples"

    def close(self) -> None:
        """Stop watching the labels."""
        self.labels.unwatch(self.before)

    def _find_due(self) -> int | None:
        reports = []
        if not self.is_continuous and self.pending is not None:
            reports.append(self._report(self.pending + self.cadence.lag))
        first = self.labels.following(self.begin) if self.has_begun else None
        if first is not None and first < ALWAYS:
            # The oldest triple is the first to leave.
            if self.scope.reach is not None:
                reports.append(self._report(first + self.scope.reach + 1))
            if self.every and self.report is not None and not self.is_continuous:
                # not before the window holds anything: the first label may be later than several reports
                reports.append(self._report(max(self.report + 1, first + self.cadence.lag)))
        return min(reports) - self.cadence.lag if reports else None

    def _label(self, triple: IdTriple) -> int | None:
        """Return the label that a triple had at the last report."""
        return self.before[triple] if triple in self.before else self.labels.table.get(triple)

    def _report(self, at: int) -> int:
        """Return the first report at a position or later that is also after the last report."""
        if self.is_continuous:
            return at
        report = self.cadence.next_report(at - self.cadence.lag - 1)
        return (
            report if self.report is None or report > self.report else self.report + (self.cadence.step or 0)
        )
