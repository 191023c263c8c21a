"""The triples that windows and the background graph entail, by an entailment that treats expiries as
deletes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from rdflive.engine.dictionary import UNBOUND
from rdflive.engine.view import State
from rdflive.entail.entailment import Entailment, ExplicitGraph, IdTriple, Proof, Regime, Sign
from rdflive.entail.rules.keys import Key
from rdflive.model import TermPattern, Triple
from rdflive.time.content import Changes, ExplicitContent
from rdflive.time.pane import Pane

__all__ = ["EntailedContent"]


class EntailedContent:
    """The triples entailed by explicit content, for the wanted patterns."""

    looks_up = False  # the set of wanted values would change with every slide of a window

    def __init__(self, held: ExplicitContent, regime: Regime, state: State) -> None:
        self.panes = held.panes
        self._held = held
        self._regime = regime
        self._dictionary = state.dictionary
        self._graph = ExplicitGraph(self.explicit, state.dictionary, state.terms, state.to_native)
        self._entailment: Entailment = regime.start(self._graph)

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Start maintaining entailed triples that match."""
        self._entailment.want(patterns)

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop maintaining patterns that no query wants."""
        self._entailment.unwant(patterns)

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Raise if wanted patterns cannot be computed with the requested options."""
        self._entailment.check(patterns)

    def concerns(self, change: Triple) -> bool:
        """Return True if a change of the graph may change a wanted triple."""
        return self._entailment.concerns(change)

    def touch(self, change: Triple) -> None:
        """Note a change of the background graph."""
        self._held.touch(change)

    def note(self, sign: Sign, change: Triple) -> None:
        """Keep a change of the background graph."""
        self._held.note(sign, change)

    def changes(self, panes: Iterable[Pane], *, graph: bool) -> Changes:
        """Return the changes by causes other than time."""
        # all changes first, because an entailment reads the graph after the changes
        return self._entail(list(self._held.changes(panes, graph=graph)))

    def slide(self, panes: Iterable[Pane]) -> Changes:
        """Return the changes by time."""
        return self._entail(list(self._held.slide(panes)))

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List the entailed triples that match."""
        terms, intern = self._dictionary.terms, self._dictionary.intern
        for s, p, o in self._entailment.triples((terms[key[0]], terms[key[1]], terms[key[2]])):
            yield intern(s), intern(p), intern(o)

    def explicit(self, pattern: TermPattern) -> Iterator[Triple]:
        """List the matching triples of the windows and the background graph."""
        terms, known = self._dictionary.terms, self._dictionary.intern
        s, p, o = (UNBOUND if term is None else known(term) for term in pattern)
        for triple in self._held.matching(Key(s, p, o)):
            yield terms[triple[0]], terms[triple[1]], terms[triple[2]]

    def entailed(self, pattern: TermPattern) -> Iterable[Triple]:
        """List the entailed triples that match a wanted pattern."""
        return self._entailment.triples(pattern)

    def why(self, triple: Triple) -> list[Proof]:
        """Return proofs of a triple."""
        return self._entailment.why(triple)

    def end(self, triple: IdTriple) -> int | None:
        """Raise TypeError: without labels the end of a derived triple is not known in advance."""
        raise TypeError(f"the end of {triple} is known only with labels")

    def describe(self) -> list[str]:
        """Describe the content of the windows, and how entailed triples are kept."""
        return [*self._held.describe(), *self._entailment.describe()]

    def containers(self) -> list[Any]:
        """List the containers of explicit and entailed triples."""
        return [*self._held.containers(), *self._entailment.containers()]

    def reset(self) -> None:
        """Start with a new entailment."""
        self._held.reload()
        self._entailment = self._regime.start(self._graph)

    def reload(self) -> None:
        """Read the background graph again."""
        self._held.reload()

    def _entail(self, explicit: list[tuple[Sign, Sequence[IdTriple]]]) -> Changes:
        terms = self._dictionary.terms
        changes = [
            (sign, (terms[s], terms[p], terms[o])) for sign, triples in explicit for s, p, o in triples
        ]
        concerned = [(sign, triple) for sign, triple in changes if self._entailment.concerns(triple)]
        if concerned:
            # in their order: a triple may be removed and added again
            for sign, run in groupby(self._entailment.update(concerned), key=itemgetter(0)):
                yield sign, [triple for _, triple in run]
