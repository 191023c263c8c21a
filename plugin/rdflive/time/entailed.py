"""What windows and the graph beside them entail, by an engine that takes expiries as deletes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rdflive.engine.dictionary import UNBOUND
from rdflive.engine.view import State
from rdflive.entail.entailment import Entailment, ExplicitGraph, IdTriple, Regime, Sign
from rdflive.entail.rules.keys import Key
from rdflive.model import TermPattern, Triple
from rdflive.time.content import Changes, Stated
from rdflive.time.pane import Pane

__all__ = ["Entailed"]


class Entailed:
    """The triples entailed by what is held, for the wanted patterns."""

    def __init__(self, held: Stated, regime: Regime, state: State) -> None:
        self.panes = held.panes
        self._held = held
        self._regime = regime
        self._dictionary = state.dictionary
        self._graph = ExplicitGraph(self._explicit, state.dictionary, state.terms, state.to_native)
        self._entailment: Entailment = regime.start(self._graph)

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Begin to maintain what is entailed and matches."""
        self._entailment.want(patterns)

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop maintaining what nobody wants any more."""
        self._entailment.unwant(patterns)

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Raise where wanted patterns cannot be worked out as it was asked for."""
        self._entailment.check(patterns)

    def concerns(self, change: Triple) -> bool:
        """Tell whether a change of the graph may change what is wanted."""
        return self._entailment.concerns(change)

    def touch(self, change: Triple) -> None:
        """Be told of every change of the graph beside the windows."""
        self._held.touch(change)

    def note(self, sign: Sign, change: Triple) -> None:
        """Take a change of the graph beside the windows."""
        self._held.note(sign, change)

    def changes(self, panes: Iterable[Pane]) -> Changes:
        """Give what has changed, time standing still."""
        return self._entail(list(self._held.changes(panes)))

    def slide(self, panes: Iterable[Pane]) -> Changes:
        """Give what the passing of time changes."""
        return self._entail(list(self._held.slide(panes)))

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List what is entailed and matches."""
        terms, intern = self._dictionary.terms, self._dictionary.intern
        for s, p, o in self._entailment.triples((terms[key[0]], terms[key[1]], terms[key[2]])):
            yield intern(s), intern(p), intern(o)

    def end(self, triple: IdTriple) -> int | None:
        """Refuse: when a derived triple goes is known when it has gone, so `expires=True` needs labels."""
        raise TypeError(f"only labels tell when {triple} goes")

    def describe(self) -> list[str]:
        """Tell what the windows hold and how what they entail is kept."""
        return [*self._held.describe(), *self._entailment.describe()]

    def containers(self) -> list[Any]:
        """List the containers of what is held and entailed."""
        return [*self._held.containers(), *self._entailment.containers()]

    def reset(self) -> None:
        """Begin with a new entailment."""
        self._held.reload()
        self._entailment = self._regime.start(self._graph)

    def reload(self) -> None:
        """Read the graph beside the windows anew."""
        self._held.reload()

    def _entail(self, explicit: list[tuple[Sign, IdTriple]]) -> Changes:
        terms = self._dictionary.terms
        changes = [(sign, (terms[s], terms[p], terms[o])) for sign, (s, p, o) in explicit]
        concerned = [(sign, triple) for sign, triple in changes if self._entailment.concerns(triple)]
        if concerned:
            yield from self._entailment.update(concerned)

    def _explicit(self, pattern: TermPattern) -> Iterator[Triple]:
        terms, known = self._dictionary.terms, self._dictionary.intern
        s, p, o = (UNBOUND if term is None else known(term) for term in pattern)
        for triple in self._held.matching(Key(s, p, o)):
            yield terms[triple[0]], terms[triple[1]], terms[triple[2]]
