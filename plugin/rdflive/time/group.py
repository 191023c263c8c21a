"""Windows over one stream that share one table of labels, and the order of their reports."""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict
from operator import itemgetter
from typing import Any, NamedTuple

from rdflive.engine.dictionary import Dictionary
from rdflive.entail.entailment import Sign
from rdflive.entail.rules.labels import Labels
from rdflive.model import Triple
from rdflive.time.pane import Pane
from rdflive.time.windows import Axis

__all__ = ["Element", "WindowGroup"]


class Element(NamedTuple):
    """The input of a stream at an instant: triples in the store's terms, to add or to delete."""

    position: int
    """The position on the axis of the window: an instant, or a number of elements or triples."""
    number: int
    """Orders elements with the same position: earlier elements have lower numbers."""
    sign: Sign
    triples: tuple[Triple, ...]


class WindowGroup:
    """The labels of the triples in some windows, up to the first position at which one of them reports.

    Windows of different ranges and steps share the labels, which generalizes the maximal common sub-window of
    IMaRS. If elements may be late, only windows that report at the same instants share them: a late element
    changes the content that a window had at its last report, so the labels must not be ahead of that report.
    """

    def __init__(self, axis: Axis, dictionary: Dictionary, *, keeps_deletes: bool) -> None:
        self.axis = axis
        self.keeps_deletes = keeps_deletes
        self.explicit = Labels(dictionary)
        self.panes: dict[Pane, None] = {}
        self.is_eager = False
        """True while some window reports every change immediately."""
        self.closures: dict[Any, Any] = {}
        """The labelled closures over these triples, by program and background graph."""
        self._last: tuple[int | None, int] | None = None
        """For a restored group, the last report of its window, and the begin of that report."""
        self._dictionary = dictionary
        self._queue: list[Element] = []
        """Elements after the last report, in order; they get labels before the next report."""
        self._deleted: OrderedDict[Triple, int] = OrderedDict()
        """Deleted triples with the instant of the delete, oldest entry first.

        A late element may be older than a delete, and would otherwise add the triple again.
        """

    def open(self, pane: Pane, reached: int | None) -> None:
        """Add a window, which begins with the present labels. `reached` is the last instant of the stream."""
        last = next(((other.report, other.begin) for other in self.panes), self._last) if self._last else None
        self.panes[pane] = None
        self.is_eager |= pane.is_continuous
        ahead = pane.ahead()
        if pane.is_continuous:
            if reached is not None:
                # it begins with all elements, including those that wait for reports of other windows
                self._take_until(reached)
                for closure in self.closures.values():
                    closure.sync()
                pane.labels.forget(pane.before)
                pane.report, pane.begin = reached, pane.scope.begin(reached)
        elif last is not None:
            # the group is as of a report, so the window begins with that report
            pane.report, pane.begin = last
            if self._queue:
                pane.note(self._queue[0].position)
        elif ahead is not None and (self.explicit.table or self._queue):
            pane.note(ahead)

    def close(self, pane: Pane) -> None:
        """Remove a window, and with the last window all labels."""
        del self.panes[pane]
        self.is_eager = any(pane.is_continuous for pane in self.panes)
        if not self.panes:
            self.explicit.clear()
            self._queue.clear()
            self._deleted.clear()

    def leave_to_others(self, pane: Pane) -> None:
        """Remove a window, and keep its content for equal windows."""
        pane.close()
        self.panes.clear()
        self.is_eager = False
        self._last = pane.report, pane.begin

    def copy(self, other: WindowGroup) -> None:
        """Copy the labels and elements of another group on the same axis."""
        for triple, label in other.explicit.table.items():
            self.explicit.put(triple, label)
        self._queue = list(other._queue)
        self._deleted = other._deleted.copy()

    def first(self) -> int | None:
        """Return the lowest position of a label or waiting element; None without any."""
        lowest = self.explicit.lowest()
        waiting = [self._queue[0].position] if self._queue else []
        return min(waiting if lowest is None else [lowest, *waiting], default=None)

    def arrive(self, element: Element, *, is_late: bool = False) -> bool:
        """Process an element, in order or late; return True if a commit must follow.

        A late element corrects the last report of each window that then covered it, and changes nothing else.
        """
        position = element.position
        taken = []
        for pane in self.panes:
            if pane.taken is not None and position <= pane.taken:
                taken.append(pane)
            else:
                pane.note(position)
        if is_late and all(pane in taken and position < pane.begin for pane in self.panes):
            # No label: time drops triples below all windows without reporting them.
            return False
        if not self.is_eager and not taken:
            # No window reports it yet. With a label now, windows would hold it before their reports.
            # Sorted by position alone, so that elements of one position stay in the order of processing.
            # Windows that count give a removal the position of the element before it. Their numbers have the
            # order of arrival, which a delay may have reversed.
            insort(self._queue, element, key=itemgetter(0))
            return False
        self._take(element)
        is_reported = False
        for pane in self.panes:
            if pane.cadence.reports_each and not (is_late and pane in taken):
                if pane.is_continuous or pane in taken:
                    pane.move(position if pane.report is None else max(position, pane.report))
                    is_reported = True
            elif pane in taken and position >= pane.begin:
                pane.correct()
                is_reported = True
        return is_reported

    def due(self) -> int | None:
        """Return the lowest position that must be complete for the next report; None if no report is due."""
        dues = [due for pane in self.panes if (due := pane.due()) is not None]
        return min(dues, default=None)

    def report(self, position: int) -> int:
        """Let the windows report that are due at a position. Returns the instant of the report."""
        due = [pane for pane in self.panes if pane.due() == position]
        self._take_until(position)
        for pane in due:
            pane.move(position)
            # waiting elements belong to its next report, but `move` has cleared their note
            if self._queue:
                pane.note(self._queue[0].position)
        return max(position + pane.cadence.lag for pane in due)

    def drop(self) -> None:
        """Drop triples that no window holds any more."""
        # Before its first report a window may still begin with any of these triples.
        if all(pane.has_begun for pane in self.panes):
            below = min((pane.begin for pane in self.panes), default=0)
            self.explicit.drop(below)
            for closure in self.closures.values():
                closure.expire(below)

    def forget(self, before: int) -> None:
        """Discard deletes that are older than any possible late element."""
        deleted = self._deleted
        while deleted and deleted[first := next(iter(deleted))] <= before:
            del deleted[first]

    def containers(self) -> list[Any]:
        """List the containers of the state, for measuring."""
        return [*self.explicit.containers(), self._queue, self._deleted]

    def _take_until(self, position: int) -> None:
        taken = 0
        while taken < len(self._queue) and self._queue[taken].position <= position:
            self._take(self._queue[taken])
            taken += 1
        # after a failure they are processed again, which is harmless: labels are set, not counted
        del self._queue[:taken]

    def _take(self, element: Element) -> None:
        """Label the triples of an element, or delete them.

        A late element must not lower a label, nor restore a triple that was deleted after it.
        """
        intern, labels, position = self._dictionary.intern, self.explicit, element.position
        label, deleted, triples = labels.table.get, self._deleted, element.triples
        if element.sign > 0 and deleted:
            triples = tuple(triple for triple in triples if deleted.get(triple, position) <= position)
        # most predicates and objects have ids, and `get` is faster than `intern`; ids are never 0
        get = self._dictionary.ids.get
        known = dict.fromkeys([(intern(s), get(p) or intern(p), get(o) or intern(o)) for s, p, o in triples])
        if element.sign > 0:
            labels.put_all([ids for ids in known if (old := label(ids)) is None or old < position], position)
            return
        labels.remove_all([ids for ids in known if (old := label(ids)) is not None and old <= position])
        if self.keeps_deletes:
            for triple in triples:
                # Deletes may be late too; the latest one decides.
                deleted[triple] = max(position, deleted.get(triple, position))
                deleted.move_to_end(triple)
