"""The view of windows: patterns are matched on the triples they held, or entailed, at their last reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from time import perf_counter
from typing import Any, Literal

from rdflive.engine.kernel import SegmentState
from rdflive.engine.pattern import PatternState
from rdflive.engine.relation import Relation
from rdflive.engine.view import But, State
from rdflive.entail.provenance import Traced
from rdflive.entail.rules.keys import Key
from rdflive.entail.view import WantedView
from rdflive.model import Term
from rdflive.query.segment import Segment
from rdflive.time.content import Changes, Content
from rdflive.time.pane import Pane

__all__ = ["WindowView"]


class WindowView(WantedView):
    """Processes the reports of its windows in two steps: first the other changes, then those by time."""

    lags = True  # changes of the background graph may be delivered with the next report of windows

    def __init__(self, state: State) -> None:
        super().__init__(state, lambda _: ())
        self.content: Content
        """The triples that patterns are matched against; `open_view` sets it after it has made the panes."""
        self.traced: Traced
        """The origin of solutions; set with the content if there is entailment."""
        self.on_release: Callable[[], object] = lambda: None
        """Called when no query uses the view any more."""
        self._reporting: dict[Pane, None] = {}
        self._takes_graph = False
        """True if the next `flush` processes the changes of the background graph."""
        self._moved: dict[Pane, None] = {}

    def await_report(self, pane: Pane) -> None:
        """Process the report of a window at the next commit."""
        self._takes_graph = True
        self.await_correction(pane)

    def await_correction(self, pane: Pane) -> None:
        """Process late changes of a window's last report; the background graph stays as of that report."""
        self._reporting[pane] = None
        self.state.await_flush(self)

    def apply(self, sign: Literal[1, -1], change: tuple[Term, ...], /) -> bool:
        """Process one effective change of the background graph.

        Windows that report every change or element include it in this commit, others in their next report.
        """
        s, p, o = change
        self.content.touch((s, p, o))
        if not self.content.concerns((s, p, o)):
            return False
        self.content.note(sign, (s, p, o))
        # No window keeps an older state, so the change can be delivered with its own commit.
        if all(pane.cadence.reports_each for pane in self.content.panes):
            self._takes_graph = True
            self.state.await_flush(self)
            return True
        for pane in self.content.panes:
            if not pane.is_continuous:
                pane.note_now()
        return False

    def flush(self) -> Callable[[], object] | None:
        """Process the changes since the last reports, except those by time, which follow in a second step."""
        start = perf_counter()
        self._moved, self._reporting = self._reporting, {}
        takes_graph, self._takes_graph = self._takes_graph, False
        self._take_all(self.content.changes(self._moved, graph=takes_graph))
        first = [pane for pane in self._moved if not pane.has_begun]
        if first:  # a first report only adds triples, so it belongs to this step
            self._take_all(self.content.slide(first))
        self.reports = bool(self._moved)
        # if time removes no triples, there is no second step
        self._moved = {pane: None for pane in self._moved if pane.slides()}
        self.seconds += perf_counter() - start
        return self._expire if self._moved else None

    def _expire(self) -> None:
        """Process the changes by time."""
        start = perf_counter()
        moved, self._moved = self._moved, {}
        self._take_all(self.content.slide(moved))
        self.seconds += perf_counter() - start

    def add(
        self, segment: Segment, relation: Relation | None = None, rows: Relation | None = None
    ) -> SegmentState:
        """Start maintaining a segment on the present triples."""
        state = super().add(segment, relation, rows)
        for pane in self.content.panes:
            pane.refresh()  # the segment may want more entailed triples, which may expire sooner
        return state

    def open_to(self, pattern: PatternState, place: int, value: int) -> None:
        """Compute the triples with a value, and pass them to a pattern of a family."""
        super().open_to(pattern, place, value)
        for pane in self.content.panes:
            pane.refresh()

    def open_all(self, pattern: PatternState) -> None:
        """Compute all triples that match a fed pattern, and pass them to it."""
        super().open_all(pattern)
        for pane in self.content.panes:
            pane.refresh()

    def matching(self, key: tuple[int, int, int], but: But | None = None) -> Iterator[tuple[int, ...]]:
        """List the present triples with these ids; 0 stands for any term."""
        found = iter(self.content.matching(Key(*key)))
        return found if but is None else (ids for ids in found if ids[but[0]] not in but[1])

    def count(self, key: tuple[int, ...], most: int) -> int:
        """Count the present triples that match a key, up to `most`."""
        s, p, o = key
        return sum(1 for _ in islice(self.matching((s, p, o)), most))

    def end(self, triple: tuple[int, ...]) -> int | None:
        """Return the first report without a triple, if only time changes; None for never."""
        s, p, o = triple
        return self.content.end((s, p, o))

    def reset(self) -> None:
        """Start with new content, because the old content failed."""
        super().reset()
        for pane in self.content.panes:
            pane.labels.forget(pane.before)
            pane.settle()
        self.content.reset()
        self._wants.clear()
        self._reporting.clear()
        self._takes_graph = False
        self._moved.clear()

    def reload(self) -> None:
        """Read the background graph again; the queries are stopped meanwhile."""
        self.content.reload()

    def release(self) -> None:
        """Close the panes; no query uses the view any more."""
        self.on_release()

    def describe(self) -> list[str]:
        """Describe the content of the windows and how it is kept, in lines for `explain()`."""
        return self.content.describe()

    def containers(self) -> list[Any]:
        """List the containers of explicit and entailed triples."""
        return self.content.containers()

    def _take_all(self, changes: Changes) -> None:
        if self._router.awaited:
            net: dict[tuple[int, ...], int] = {}
            for sign, triples in changes:
                for ids in triples:
                    net[ids] = net.get(ids, 0) + sign
            self.seen += len(net)
            deletes = [ids for ids, sign in net.items() if sign < 0]
            self.take_net(deletes, [ids for ids, sign in net.items() if sign > 0])
            return
        for sign, triples in changes:
            self.seen += len(triples)
            relevant = self._router.relevant(triples)
            self.take_net(*(((), relevant) if sign > 0 else (relevant, ())))

    @property
    def _worked_out(self) -> Content:
        return self.content
