"""One window for one view: its content at its last report, and the time of its next report."""

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
"""Triples that were added (+1) or removed (-1) together; each triple is in one of the lists."""


class Reporting(Listener, Protocol):
    """Receives the reports of a window; implemented by `WindowView`."""

    def await_report(self, pane: Pane) -> None:
        """Process the report of a window at the next commit."""

    def await_correction(self, pane: Pane) -> None:
        """Process late changes of a window's last report at the next commit."""


class Unseen:
    """A substitute for the view of a window without a query: it processes reports immediately."""

    def await_report(self, pane: Pane) -> None:
        """Process the report of a window."""
        pane.labels.forget(pane.before)
        pane.settle()

    await_correction = await_report


class Pane:
    """Holds the triples with a label of `begin` or more, as of its last report.

    The labels may be ahead, because windows with shorter steps share them: changes since the report are
    recorded in `before`. Example: a window reports every 10 and shares labels with one that reports every 1.
    At 13 the label of a triple moves from 2 to 13; `before` records 2, and until 20 this window uses that
    label.
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
        """True if every change is reported immediately."""
        self.labels = labels
        self.view = view
        self.ahead = ahead
        """Returns the first position that is not complete yet; None before the stream begins."""
        self._current = current
        self.every = every
        """True to deliver reports without changes too."""
        # from the start, so that changes before the first report are recorded too
        self.before = labels.watch()
        self.begin = ALWAYS
        """The first position in the window.

        Before the first report it is `ALWAYS`, so that the window has no triple of the stream.
        """
        self.report: int | None = None
        """The position of the last report, made or skipped because there were no changes; None at first."""
        self.pending: int | None = None
        """The lowest position of a change since the last report."""
        self._is_early = False
        """True if the background graph changed before the stream's first instant, when there was no position
        to note.
        """
        self._due: int | None = None
        self._knows_due = False
        """True if `_due` is up to date. It is read with every element, and rarely changes."""
        self._first = ahead()
        """The first position that a report may cover; reports before the window was opened are not made
        later.
        """

    @property
    def has_begun(self) -> bool:
        """True after the first report, made or skipped."""
        return self.begin < ALWAYS

    @property
    def taken(self) -> int | None:
        """The last position that the last report covers."""
        return None if self.report is None else self.report - self.cadence.lag

    def instant(self) -> int | None:
        """Return the instant of the last report; for windows that count, of the last report of the stream."""
        return self.report if self.cadence.axis == "time" or self.report is None else self._current()

    def holds(self, triple: IdTriple) -> bool:
        """Return True if the window held a triple at the last report."""
        label = self._label(triple)
        return label is not None and label >= self.begin

    def note(self, position: int) -> None:
        """Note a change at a position, so that a report is due."""
        position = position if self._first is None else max(position, self._first)
        if self.pending is None or position < self.pending:
            self.pending = position
            self.refresh()

    def note_now(self) -> None:
        """Note a change of the background graph."""
        ahead = self.ahead()
        if ahead is None:
            self._is_early = True
        else:
            self.note(ahead if self.taken is None else max(ahead, self.taken + 1))

    def begin_time(self, complete: int) -> None:
        """Set the stream's progress when it is first known.

        Earlier changes of the background graph belong to the last report up to there.
        """
        if self._is_early:
            self._is_early = False
            assert self.cadence.step is not None  # noqa: S101 - other windows report it immediately
            self.note(self.cadence.next_report(complete) - self.cadence.step - self.cadence.lag)

    def due(self) -> int | None:
        """Return the position that must be complete for the next report with changes."""
        if not self._knows_due:
            self._due, self._knows_due = self._find_due(), True
        return self._due

    def refresh(self) -> None:
        """Mark the next report for recomputation."""
        self._knows_due = False

    def follow(self, complete: int) -> None:
        """Move to the last report up to a position.

        Reports in between had no changes, so they were not made.
        """
        if self.report is None:
            self._follow_unreported(complete)
            return
        if complete < self.report:
            return
        if self.cadence.step is None:
            report = complete  # it reports every change, so its content is current
        # a fast test, because this runs with every element, and few reach the next report
        elif complete < self.report - self.cadence.lag + self.cadence.step:
            return
        else:
            report = self.cadence.next_report(complete) - self.cadence.step
        self.report, self.begin = report, self.scope.begin(report)

    def _follow_unreported(self, complete: int) -> None:
        """Move to the last report up to a position before any report was made: a late element corrects that
        report.

        Example: a window of the last 3, reported every 1. The first element, at 5, ends the reports up to 4,
        which were empty. A late element at 3 is in the window at 4, and is reported; one at 1 is not.
        """
        if self.cadence.step is None:
            self.report, self.begin = complete, self.scope.begin(complete)
            return
        report = self.cadence.next_report(complete) - self.cadence.step
        # if the window began with triples, a report of them is due, and must not be skipped
        if self._first is None or report - self.cadence.lag >= self._first:
            self.report, self.begin = report, self.scope.begin(report)
            self.refresh()

    def move(self, position: int) -> None:
        """Report the content of the window at a position. The view processes it at the following commit."""
        self.report = position + self.cadence.lag
        self.pending = None
        self.refresh()
        self.view.await_report(self)

    def correct(self) -> None:
        """Let the view process late changes of the last report, at the following commit."""
        self.refresh()
        self.view.await_correction(self)

    def changes(self) -> Moves:
        """List the triples removed and added by causes other than time; `begin` does not change.

        `holds` already includes the returned changes.
        """
        label, begin = self.labels.table.get, self.begin
        self.refresh()
        came: list[IdTriple] = []
        went: list[IdTriple] = []
        for triple, old in self.before.items():
            new = label(triple)
            held = new is not None and new >= begin
            # a renewed label is not a change while both labels are inside
            if held is not (old is not None and old >= begin):
                (came if held else went).append(triple)
        self.labels.forget(self.before)
        return (-1, went), (1, came)

    def slides(self) -> bool:
        """Return True if time removes triples at the last report; if not, the window has already moved."""
        assert self.report is not None  # noqa: S101 - only a reported pane slides
        begin = self.scope.begin(self.report)
        first = self.labels.following(self.begin)
        # Before the first report `begin` is `ALWAYS`, so the move adds triples.
        if begin < self.begin or (first is not None and first < begin):
            return True
        self.begin = begin
        return False

    def slide(self) -> Moves:
        """Move to the last report, and list the triples that time removes, or that the first report adds."""
        assert self.report is not None  # noqa: S101 - only a reported pane slides
        old, new = self.begin, self.scope.begin(self.report)
        self.begin = new
        self.refresh()
        if new >= old:
            return ((-1, self.labels.between(old, new)),)
        return ((1, self.labels.between(new, old)),)

    def settle(self) -> None:
        """Adopt the last report, if a failure occurred between the report and `slide`."""
        if self.report is not None:
            self.begin = self.scope.begin(self.report)
        self.refresh()

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List the triples that match and that the window held at the last report."""
        for triple in self.labels.matching(key):
            if self.holds(triple):
                yield triple
        table = self.labels.table
        # Triples that lost their label since the report are only in `before`.
        for triple in tuple(self.before):
            if triple not in table and matches(key, triple) and self.holds(triple):
                yield triple

    def end(self, triple: IdTriple) -> int | None:
        """Return the first report at which time will have removed a present triple; None for never."""
        label = self._label(triple)
        # Landmark windows and the background graph keep all triples.
        if self.scope.reach is None or label is None or label >= ALWAYS:
            return None
        return self._report(label + self.scope.reach + 1)

    def describe(self) -> str:
        """Describe the window and the number of its triples, in a line for `explain()`."""
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
                # not before the window has a triple: the first label may be later than several reports
                reports.append(self._report(max(self.report + 1, first + self.cadence.lag)))
        return min(reports) - self.cadence.lag if reports else None

    def _label(self, triple: IdTriple) -> int | None:
        """Return the label that a triple had at the last report."""
        return self.before[triple] if triple in self.before else self.labels.table.get(triple)

    def _report(self, at: int) -> int:
        """Return the first report at or after a position that is also after the last report."""
        if self.is_continuous:
            return at
        report = self.cadence.next_report(at - self.cadence.lag - 1)
        return (
            report if self.report is None or report > self.report else self.report + (self.cadence.step or 0)
        )
