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
    """What a stream was given at an instant: triples in the store's terms, to add or to delete."""

    position: int
    """Where it is on the axis of the window: an instant, or a number of elements or triples."""
    number: int
    """Orders elements with the same position: the first to come has the lower number."""
    sign: Sign
    triples: tuple[Triple, ...]


class WindowGroup:
    """The labels of the triples that some windows hold, up to the position where the first of them reports.

    Windows of different ranges and steps share the labels, which generalises the maximal common sub-window of
    IMaRS. If elements may come late, only windows that report at the same instants share them: a late
    element is put into what a window held at its last report, so the labels must not be ahead of that report.
    """

    def __init__(self, axis: Axis, dictionary: Dictionary, *, keeps_deletes: bool) -> None:
        self.axis = axis
        self.keeps_deletes = keeps_deletes
        self.explicit = Labels(dictionary)
        self.panes: dict[Pane, None] = {}
        self.is_eager = False
        """True while some window reports every change at once."""
        self.closures: dict[Any, Any] = {}
        """The labelled closures over these triples, by program and background graph."""
        self._last: tuple[int | None, int] | None = None
        """Of a group that was kept, the last report of its window, and the begin of that."""
        self._dictionary = dictionary
        self._queue: list[Element] = []
        """Elements after the last report, in order; they get labels before the next report."""
        self._deleted: OrderedDict[Triple, int] = OrderedDict()
        """Triples that were deleted, with the instant of the delete, oldest note first. An element may come
        late that is older than a delete; without this it would add the triple again.
        """

    def open(self, pane: Pane, reached: int | None) -> None:
        """Add a window, which begins with the labels there are. `reached` is the last instant of the
        stream.
        """
        last = next(((other.report, other.begin) for other in self.panes), self._last) if self._last else None
        self.panes[pane] = None
        self.is_eager |= pane.is_continuous
        ahead = pane.ahead()
        if pane.is_continuous:
            if reached is not None:
                # it begins with all that has come, some of which may wait for the reports of other windows
                self._take_until(reached)
                for closure in self.closures.values():
                    closure.sync()
                pane.labels.forget(pane.before)
                pane.report, pane.begin = reached, pane.scope.begin(reached)
        elif last is not None:
            # the group is as of a report, so the window begins with that
            pane.report, pane.begin = last
            if self._queue:
                pane.note(self._queue[0].position)
        elif ahead is not None and (self.explicit.table or self._queue):
            pane.note(ahead)

    def close(self, pane: Pane) -> None:
        """Remove a window, and with the last one all labels."""
        del self.panes[pane]
        self.is_eager = any(pane.is_continuous for pane in self.panes)
        if not self.panes:
            self.explicit.clear()
            self._queue.clear()
            self._deleted.clear()

    def leave_to_others(self, pane: Pane) -> None:
        """Remove a window, and keep what it held for others that are like it."""
        pane.close()
        self.panes.clear()
        self.is_eager = False
        self._last = pane.report, pane.begin

    def copy(self, other: WindowGroup) -> None:
        """Begin with the labels and elements of another group on the same axis."""
        for triple, label in other.explicit.table.items():
            self.explicit.put(triple, label)
        self._queue = list(other._queue)
        self._deleted = other._deleted.copy()

    def first(self) -> int | None:
        """Return the lowest position of a label or waiting element; None if there is nothing."""
        lowest = self.explicit.lowest()
        waiting = [self._queue[0].position] if self._queue else []
        return min(waiting if lowest is None else [lowest, *waiting], default=None)

    def arrive(self, element: Element, *, is_late: bool = False) -> bool:
        """Take an element, in order or late; True if a commit must follow.

        A late one corrects the last report of each window that holds it there, and changes nothing else.
        """
        position = element.position
        taken = []
        for pane in self.panes:
            if pane.taken is not None and position <= pane.taken:
                taken.append(pane)
            else:
                pane.note(position)
        if is_late and all(pane in taken and position < pane.begin for pane in self.panes):
            # Without a label: time drops what is below all windows without reporting it.
            return False
        if not self.is_eager and not taken:
            # Nobody reports it yet. With a label now, windows would hold it before their reports.
            # By position alone, so that elements of one position stay in the order in which they are taken.
            # Windows that count give a removal the position of the element before it; their numbers say in
            # which order both came, which a delay may have turned round.
            insort(self._queue, element, key=itemgetter(0))
            return False
        self._take(element)
        is_told = False
        for pane in self.panes:
            if pane.cadence.reports_each and not (is_late and pane in taken):
                if pane.is_continuous or pane in taken:
                    pane.move(position if pane.report is None else max(position, pane.report))
                    is_told = True
            elif pane in taken and position >= pane.begin:
                pane.correct()
                is_told = True
        return is_told

    def due(self) -> int | None:
        """Return the lowest position that must be complete for the next report; None if none is due."""
        dues = [due for pane in self.panes if (due := pane.due()) is not None]
        return min(dues, default=None)

    def report(self, position: int) -> int:
        """Let the windows report that are due at a position. Returns the instant of the report."""
        due = [pane for pane in self.panes if pane.due() == position]
        self._take_until(position)
        for pane in due:
            pane.move(position)
            # elements that still wait are for its next report; `move` has forgotten that they were noted
            if self._queue:
                pane.note(self._queue[0].position)
        return max(position + pane.cadence.lag for pane in due)

    def drop(self) -> None:
        """Drop what no window holds any more."""
        # A window that has made no report yet may begin with any of these triples.
        if all(pane.has_begun for pane in self.panes):
            below = min((pane.begin for pane in self.panes), default=0)
            self.explicit.drop(below)
            for closure in self.closures.values():
                closure.expire(below)

    def forget(self, before: int) -> None:
        """Forget deletes that no late element can be older than."""
        deleted = self._deleted
        while deleted and deleted[first := next(iter(deleted))] <= before:
            del deleted[first]

    def containers(self) -> list[Any]:
        """List the containers of what is kept, for measuring."""
        return [*self.explicit.containers(), self._queue, self._deleted]

    def _take_until(self, position: int) -> None:
        taken = 0
        while taken < len(self._queue) and self._queue[taken].position <= position:
            self._take(self._queue[taken])
            taken += 1
        # after a failure they are all taken again, which does no harm: labels are set, not counted
        del self._queue[:taken]

    def _take(self, element: Element) -> None:
        """Label the triples of an element, or delete them.

        A late element must not lower a label, nor bring back a triple that was deleted after it.
        """
        intern, labels, position = self._dictionary.intern, self.explicit, element.position
        label, deleted, triples = labels.table.get, self._deleted, element.triples
        if element.sign > 0 and deleted:
            triples = tuple(triple for triple in triples if deleted.get(triple, position) <= position)
        # predicates and objects are mostly known, which `get` tells without a call; ids are not 0
        get = self._dictionary.ids.get
        known = dict.fromkeys([(intern(s), get(p) or intern(p), get(o) or intern(o)) for s, p, o in triples])
        if element.sign > 0:
            labels.put_all([ids for ids in known if (old := label(ids)) is None or old < position], position)
            return
        labels.remove_all([ids for ids in known if (old := label(ids)) is not None and old <= position])
        if self.keeps_deletes:
            for triple in triples:
                # Deletes may come late too; the latest one decides.
                deleted[triple] = max(position, deleted.get(triple, position))
                deleted.move_to_end(triple)
