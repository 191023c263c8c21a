"""What a view of windows matches: the triples that they hold, and those of the graph beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.view import Lister
from rdflive.entail.entailment import IdTriple, Sign, Wanted
from rdflive.entail.rules.keys import Key
from rdflive.model import TermPattern, Triple
from rdflive.time.beside import Beside
from rdflive.time.pane import Pane

__all__ = ["Background", "Changes", "Content", "Stated"]

Changes: TypeAlias = Iterator[tuple[Sign, IdTriple]]


class Content(Wanted, Protocol):
    """The triples that patterns are matched against, as of the last reports of some panes.

    Each of the changes that it gives is exact: +1 for a triple that was not there, -1 for one that was.
    """

    @property
    def panes(self) -> Sequence[Pane]:
        """The windows that are looked at."""

    def concerns(self, change: Triple) -> bool:
        """Tell whether a change of the graph beside the windows may matter."""

    def touch(self, change: Triple) -> None:
        """Be told of every change of the graph beside the windows, before `concerns`."""

    def note(self, sign: Sign, change: Triple) -> None:
        """Take a change of the graph beside the windows, for the next call of `changes`."""

    def changes(self, panes: Iterable[Pane]) -> Changes:
        """Give what has changed, time standing still, in some panes and beside the windows."""

    def slide(self, panes: Iterable[Pane]) -> Changes:
        """Give what the passing of time changes in some panes."""

    def matching(self, key: Key) -> Iterable[IdTriple]:
        """List what is there and matches."""

    def end(self, triple: IdTriple) -> int | None:
        """Give the first report without a triple if nothing but time changes; None where it never goes."""

    def describe(self) -> list[str]:
        """Tell what is kept, in lines for `explain()`."""

    def containers(self) -> list[Any]:
        """List the containers of what is kept, for measuring."""

    def reset(self) -> None:
        """Begin anew, after a failure."""

    def reload(self) -> None:
        """Read the graph beside the windows anew; nothing is wanted meanwhile."""


class Background:
    """The graph beside the windows, as it was at the last reports."""

    def __init__(self, triples: Lister, dictionary: Dictionary) -> None:
        self.now = Beside(triples)
        self._dictionary = dictionary
        self._net: dict[Triple, Sign] = {}

    def note(self, sign: Sign, change: Triple) -> None:
        """Remember a change; one and its opposite are none."""
        if self._net.get(change) == -sign:
            del self._net[change]
        else:
            self._net[change] = sign

    def changes(self) -> Iterator[tuple[Sign, IdTriple]]:
        """List the net changes since the last call."""
        net, self._net = self._net, {}
        for triple in tuple(net):
            yield net.pop(triple), self.ids(triple)

    def holds(self, triple: IdTriple) -> bool:
        """Tell whether the graph held a triple at the last reports."""
        terms = self._dictionary.terms
        s, p, o = terms[triple[0]], terms[triple[1]], terms[triple[2]]
        noted = self._net.get((s, p, o))
        if noted is not None:
            return noted < 0
        return self.now.holds((s, p, o))

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List what the graph held at the last reports and matches."""
        terms = self._dictionary.terms
        pattern = terms[key[0]], terms[key[1]], terms[key[2]]
        for s, p, o in self.now.triples(pattern):
            if self._net.get((s, p, o)) != 1:
                yield self.ids((s, p, o))
        for triple, sign in self._net.items():
            if sign < 0 and all(want in (None, term) for want, term in zip(pattern, triple, strict=True)):
                yield self.ids(triple)

    def ids(self, triple: Triple) -> IdTriple:
        """Number the terms of a triple."""
        s, p, o = map(self._dictionary.intern, triple)
        return s, p, o

    def reload(self) -> None:
        """Take the graph as it is."""
        self._net.clear()
        self.now.reload()


class Stated:
    """The union, as a set of triples, of what some windows hold and the graph beside them, if any."""

    def __init__(self, panes: Sequence[Pane], background: Background | None) -> None:
        self.panes = panes
        self.background = background
        self._alone = len(panes) == 1 and background is None

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Do nothing: all that is held is there."""

    unwant = want
    check = want

    def concerns(self, change: Triple) -> bool:  # noqa: ARG002 - every triple may be asked for
        """Say yes."""
        return True

    def touch(self, change: Triple) -> None:
        """Be told of every change of the graph beside the windows."""
        if self.background is not None:
            self.background.now.touch(change)

    def note(self, sign: Sign, change: Triple) -> None:
        """Take a change of the graph beside the windows."""
        if self.background is not None:
            self.background.note(sign, change)

    def changes(self, panes: Iterable[Pane]) -> Changes:
        """Give what has changed, time standing still."""
        if self.background is not None:
            for sign, triple in self.background.changes():
                if not any(pane.holds(triple) for pane in self.panes):
                    yield sign, triple
        for pane in panes:
            yield from self._exact(pane, pane.changes())

    def slide(self, panes: Iterable[Pane]) -> Changes:
        """Give what the passing of time changes."""
        for pane in panes:
            yield from self._exact(pane, pane.slide())

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List what is held and matches."""
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
        """Give the first report without a triple if nothing but time changes."""
        if self.background is not None and self.background.holds(triple):
            return None
        ends = [pane.end(triple) for pane in self.panes if pane.holds(triple)]
        return None if None in ends else max(end for end in ends if end is not None)

    def describe(self) -> list[str]:
        """Tell how much each window holds."""
        return [pane.describe() for pane in self.panes]

    def containers(self) -> list[Any]:
        """List the containers of the labels."""
        return [container for pane in self.panes for container in pane.labels.containers()]

    def reload(self) -> None:
        """Take the windows and the graph as they are."""
        if self.background is not None:
            self.background.reload()

    reset = reload

    def _exact(self, pane: Pane, changes: Iterable[tuple[IdTriple, bool]]) -> Changes:
        """Leave out what other panes or the graph beside them hold anyway."""
        if self._alone:
            for triple, held in changes:
                yield (1 if held else -1), triple
            return
        others = [other for other in self.panes if other is not pane]
        for triple, held in changes:
            if any(other.holds(triple) for other in others):
                continue
            if self.background is None or not self.background.holds(triple):
                yield (1 if held else -1), triple
