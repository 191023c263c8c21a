"""The triples that patterns match in place of a graph: those of windows and of a background graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import filterfalse
from typing import Any, Protocol, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.view import Lister
from rdflive.entail.entailment import IdTriple, Sign, Wanted
from rdflive.entail.rules.keys import Key
from rdflive.model import TermPattern, Triple
from rdflive.time.pane import Moves, Pane

__all__ = ["BackgroundGraph", "Changes", "Content", "ExplicitContent", "ReportedBackground"]


class BackgroundGraph:
    """The background graph as of the last commit, with a cache of absent predicates.

    Every triple of a stream is looked up here, and most predicates of a stream are not in the graph. So most
    look-ups need only a set.
    """

    def __init__(self, triples: Lister) -> None:
        self.triples = triples
        """Lists the triples of the graph that match a pattern, as of the last commit."""
        self._absent: set[Any] = set()

    def holds(self, triple: Triple) -> bool:
        """Return True if the graph has a triple."""
        predicate = triple[1]
        if predicate in self._absent:
            return False
        if next(iter(self.triples(triple)), None) is not None:
            return True
        # Only after a miss, so that a hit needs one look-up.
        self.knows(predicate)
        return False

    def knows(self, predicate: Any) -> bool:
        """Return True if the graph has a triple with a predicate."""
        if predicate in self._absent:
            return False
        if next(iter(self.triples((None, predicate, None))), None) is not None:
            return True
        self._absent.add(predicate)
        return False

    def touch(self, change: Triple) -> None:
        """Update the cache for a change; the caller must pass every change."""
        self._absent.discard(change[1])

    def reload(self) -> None:
        """Clear the cache, because the graph may have changed without `touch`."""
        self._absent.clear()


Changes: TypeAlias = Iterator[tuple[Sign, Sequence[IdTriple]]]
"""Added (+1) or removed (-1) triples: those of one window at once, or single derived ones."""


class Content(Wanted, Protocol):
    """The triples that patterns are matched against, as of the last reports of some windows.

    Changes are exact: +1 only for a triple that was absent, -1 only for one that was present. They are
    returned in two steps, so that subscribers can distinguish expired solutions: first `changes`, for all
    causes except time, then `slide`, for time.
    """

    @property
    def panes(self) -> Sequence[Pane]:
        """The windows of the content."""

    def concerns(self, change: Triple) -> bool:
        """Return True if a change of the background graph may matter."""

    def touch(self, change: Triple) -> None:
        """Note a change of the background graph; the caller passes every change, before `concerns`."""

    def note(self, sign: Sign, change: Triple) -> None:
        """Keep a change of the background graph for the next `changes` with `graph`."""

    def changes(self, panes: Iterable[Pane], *, graph: bool) -> Changes:
        """Return the changes by causes other than time, in some windows, and with `graph` in the background
        graph.
        """

    def slide(self, panes: Iterable[Pane]) -> Changes:
        """Return the changes by time in some windows."""

    def matching(self, key: Key) -> Iterable[IdTriple]:
        """List the present triples that match."""

    def end(self, triple: IdTriple) -> int | None:
        """Return the first report without a triple, if only time changes; None if it never disappears."""

    def describe(self) -> list[str]:
        """Describe the state, in lines for `explain()`."""

    def containers(self) -> list[Any]:
        """List the containers of the state, for measuring."""

    def reset(self) -> None:
        """Start again, after a failure."""

    def reload(self) -> None:
        """Read the background graph again; no pattern is wanted meanwhile."""


class ReportedBackground:
    """The background graph as it was at the last reports of the windows.

    Windows change only when they report, and a query joins them with the background graph. So changes of the
    graph since the last report are kept here, and excluded until the next one.
    """

    def __init__(self, triples: Lister, dictionary: Dictionary) -> None:
        self.now = BackgroundGraph(triples)
        self._dictionary = dictionary
        self._net: dict[Triple, Sign] = {}
        """Changes since the last report, net of changes that were undone."""

    def note(self, sign: Sign, change: Triple) -> None:
        """Keep a change; a change and its opposite cancel."""
        # the change was undone before any window reported
        if self._net.get(change) == -sign:
            del self._net[change]
        else:
            self._net[change] = sign

    def changes(self) -> Iterator[tuple[Sign, IdTriple]]:
        """List the net changes since the last call."""
        net, self._net = self._net, {}
        # Each is removed when it is yielded, so that `holds` agrees with the changes yielded so far.
        for triple in tuple(net):
            yield net.pop(triple), self.ids(triple)

    def holds(self, triple: IdTriple) -> bool:
        """Return True if the graph had a triple at the last reports."""
        terms = self._dictionary.terms
        s, p, o = terms[triple[0]], terms[triple[1]], terms[triple[2]]
        noted = self._net.get((s, p, o))
        if noted is not None:
            return noted < 0
        return self.now.holds((s, p, o))

    def lacking(self, triples: list[IdTriple]) -> list[IdTriple]:
        """Return the triples that the graph did not have at the last reports."""
        if self._net:
            return list(filterfalse(self.holds, triples))
        # the triples of a stream have few predicates, most of which the graph does not have
        terms, known = self._dictionary.terms, self.now.knows
        known_predicates = {p for p in {triple[1] for triple in triples} if known(terms[p])}
        if not known_predicates:
            return triples
        return [triple for triple in triples if triple[1] not in known_predicates or not self.holds(triple)]

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List the triples that match and that the graph had at the last reports."""
        terms = self._dictionary.terms
        pattern = terms[key[0]], terms[key[1]], terms[key[2]]
        for s, p, o in self.now.triples(pattern):
            if self._net.get((s, p, o)) != 1:
                yield self.ids((s, p, o))
        for triple, sign in self._net.items():
            if sign < 0 and all(want in (None, term) for want, term in zip(pattern, triple, strict=True)):
                yield self.ids(triple)

    def ids(self, triple: Triple) -> IdTriple:
        """Return a triple as ids."""
        s, p, o = map(self._dictionary.intern, triple)
        return s, p, o

    def reload(self) -> None:
        """Switch to the present graph."""
        self._net.clear()
        self.now.reload()


class ExplicitContent:
    """The union, as a set, of the explicit triples of some windows and of the background graph, if any."""

    looks_up = True

    def __init__(self, panes: Sequence[Pane], background: ReportedBackground | None) -> None:
        self.panes = panes
        self.background = background
        # the common case: one window, whose changes need no comparison with others
        self._alone = len(panes) == 1 and background is None

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Do nothing: there are no derived triples."""

    unwant = want
    check = want

    def concerns(self, change: Triple) -> bool:  # noqa: ARG002 - any triple may be read
        """Return True: any triple may be read."""
        return True

    def touch(self, change: Triple) -> None:
        """Note a change of the background graph."""
        if self.background is not None:
            self.background.now.touch(change)

    def note(self, sign: Sign, change: Triple) -> None:
        """Keep a change of the background graph."""
        if self.background is not None:
            self.background.note(sign, change)

    def changes(self, panes: Iterable[Pane], *, graph: bool) -> Changes:
        """Return the changes by causes other than time."""
        if graph and self.background is not None:
            # one source after the other, each compared with the present state of the others
            for sign, triple in self.background.changes():
                if not any(pane.holds(triple) for pane in self.panes):
                    yield sign, (triple,)
        for pane in panes:
            yield from self._exact(pane, pane.changes())

    def slide(self, panes: Iterable[Pane]) -> Changes:
        """Return the changes by time."""
        for pane in panes:
            yield from self._exact(pane, pane.slide())

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List the present triples that match."""
        # a triple in several windows is listed with the first of them
        seen: list[Pane] = []
        for pane in self.panes:
            for triple in pane.matching(key):
                if not any(other.holds(triple) for other in seen):
                    yield triple
            seen.append(pane)
        if self.background is not None:
            for triple in self.background.matching(key):
                if not any(pane.holds(triple) for pane in seen):
                    yield triple

    def end(self, triple: IdTriple) -> int | None:
        """Return the first report without a triple, if only time changes."""
        if self.background is not None and self.background.holds(triple):
            return None
        ends = [pane.end(triple) for pane in self.panes if pane.holds(triple)]
        return None if None in ends else max(end for end in ends if end is not None)

    def describe(self) -> list[str]:
        """Describe the number of triples in each window."""
        return [pane.describe() for pane in self.panes]

    def containers(self) -> list[Any]:
        """List the containers of the labels, and of the windows' recorded changes."""
        return [container for pane in self.panes for container in (*pane.labels.containers(), pane.before)]

    def reload(self) -> None:
        """Switch to the present windows and background graph."""
        if self.background is not None:
            self.background.reload()

    reset = reload

    def _exact(self, pane: Pane, moves: Moves) -> Changes:
        """Drop triples that other windows or the background graph hold too, which do not change the union."""
        if self._alone:
            yield from moves
            return
        # windows that do not report now still hold the content of their last report
        others = [other for other in self.panes if other is not pane]
        for sign, triples in moves:
            for other in others:
                triples = list(filterfalse(other.holds, triples))
            yield sign, triples if self.background is None else self.background.lacking(triples)
