"""Derives all triples again at each update: the naive way, for comparison with the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rdflib import URIRef

from rdflive.entail.entailment import Entailment, ExplicitGraph, IdTriple, Proof, Regime, Sign
from rdflive.model import TermPattern, Triple

__all__ = ["Recompute"]


@dataclass(frozen=True, slots=True)
class Recompute:
    """The entailment of a regime, started again at each update and compared with the previous one.

    >>> from rdflive.entail.rdfs import Rdfs
    >>> Recompute(Rdfs()).identity
    'rdfs'
    """

    regime: Regime

    def start(self, graph: ExplicitGraph) -> Entailment:
        """Return the entailment of a graph."""
        return _Recomputed(self.regime, graph)

    @property
    def heard(self) -> frozenset[URIRef] | None:
        """The predicates that the regime reads."""
        return self.regime.heard

    @property
    def identity(self) -> str:
        """The name of the regime, whose answers do not depend on recomputation."""
        return self.regime.identity


class _Recomputed:
    """The wanted entailed triples of the last update, and the entailment that computed them."""

    looks_up = False  # all triples are computed each time

    def __init__(self, regime: Regime, graph: ExplicitGraph) -> None:
        self._regime = regime
        self._graph = graph
        self._wanted: Counter[TermPattern] = Counter()
        self._latest = regime.start(graph)
        self._held: dict[IdTriple, None] = {}

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Start computing the triples that match these patterns."""
        patterns = list(patterns)
        self._latest.want(patterns)
        self._wanted.update(patterns)
        self._compare()

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop computing patterns that no query wants."""
        patterns = list(patterns)
        self._latest.unwant(patterns)
        self._wanted -= Counter(patterns)
        self._compare()

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Raise an `RdfliveError` if the regime cannot compute wanted patterns with the requested options."""
        self._latest.check(patterns)

    def concerns(self, change: Triple) -> bool:
        """Return True if a change of the graph may change a wanted triple."""
        return self._latest.concerns(change)

    def update(self, changes: Sequence[tuple[Sign, Triple]]) -> list[tuple[Sign, IdTriple]]:
        """Return the net changes of the wanted entailed triples, from the graph after the changes."""
        if not changes:
            return []
        before, wanted = self._latest, list(self._wanted.elements())
        latest = self._regime.start(self._graph)
        latest.want(wanted)
        self._latest = latest
        # after the new one wants them, so that ids that both hold stay valid
        before.unwant(wanted)
        return self._compare()

    def triples(self, pattern: TermPattern) -> Iterable[Triple]:
        """List the entailed triples that match a wanted pattern."""
        return self._latest.triples(pattern)

    def support(self, triple: Triple) -> int:
        """Return the number of ways in which a triple is entailed, as the regime counts them."""
        return self._latest.support(triple)

    def why(self, triple: Triple) -> list[Proof]:
        """Return proofs of a triple."""
        return self._latest.why(triple)

    def containers(self) -> list[Any]:
        """List the containers of the state, for measuring."""
        return [self._held, *self._latest.containers()]

    def describe(self) -> list[str]:
        """Describe how the wanted patterns are computed."""
        return ["recomputed at each update", *self._latest.describe()]

    def _compare(self) -> list[tuple[Sign, IdTriple]]:
        """Store the present entailed triples, and return the difference from the stored ones."""
        dictionary, held = self._graph.dictionary, self._held
        intern = dictionary.intern
        now = {
            (intern(s), intern(p), intern(o)): None
            for pattern in self._wanted
            for s, p, o in self._latest.triples(pattern)
        }
        changes: list[tuple[Sign, IdTriple]] = [(-1, triple) for triple in held if triple not in now]
        changes += ((1, triple) for triple in now if triple not in held)
        for sign, triple in changes:
            # ids must stay valid until the next comparison
            (dictionary.hold if sign > 0 else dictionary.drop)(triple)
        self._held = now
        return changes
