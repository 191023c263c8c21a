"""DRed, delete and re-derive: the baseline of IMaRS, after Volz, Staab and Motik, for any rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rdflive.entail.entailment import Entailment, ExplicitGraph, IdTriple, Sign
from rdflive.entail.proof import Proof
from rdflive.entail.rules import Program, RuleRegime
from rdflive.entail.rules.keys import Key
from rdflive.model import TermPattern, Triple
from rdflive.time.expiry.labelled import LabelledClosure, LabelledGraph
from rdflive.time.windows import ALWAYS

__all__ = ["Dred"]


@dataclass(frozen=True, slots=True)
class Dred:
    """Entailment by the rules of a program, maintained by deleting too much and deriving it again.

    A delete removes all triples that some derivation leads to from it, except explicit ones, and then puts
    back those that still follow. This is a labelled closure in which all labels are equal: whatever loses a
    premise is in doubt, and nothing tells beforehand when it goes.

    >>> Dred(Program(())).identity == RuleRegime(Program(())).identity
    True
    """

    program: Program

    def start(self, graph: ExplicitGraph) -> Entailment:
        """Make what keeps the triples that a graph entails by the rules."""
        return _DredEntailment(self.program, graph)

    @property
    def identity(self) -> str:
        """Tell these rules from others; answers do not depend on how they are maintained."""
        return RuleRegime(self.program).identity


class _DredEntailment:
    """Maintains what the rules entail, as a closure in which every label is `ALWAYS`."""

    def __init__(self, program: Program, graph: ExplicitGraph) -> None:
        self._program = program
        self._graph = graph
        labelled = LabelledGraph(graph.dictionary, graph.terms, graph.to_native, self._explicit)
        self._closure = LabelledClosure(program, labelled)
        self._before = self._closure.labels.watch()

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Start maintaining what matches these patterns, with the rules that this needs."""
        try:
            self._closure.want(patterns)
        finally:
            self._closure.labels.forget(self._before)

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop maintaining what nobody wants any more."""
        self._closure.unwant(patterns)
        self._closure.labels.forget(self._before)

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Accept everything: rules that cannot be maintained are refused when they are read."""

    def concerns(self, change: Triple) -> bool:
        """Tell whether a change matches a pattern that some query or working rule asks for."""
        return self._closure.concerns(self._ids(change))

    def update(self, changes: Sequence[tuple[Sign, Triple]]) -> list[tuple[Sign, IdTriple]]:
        """Give the net changes of the wanted entailed triples."""
        intern = self._graph.dictionary.intern
        # a triple may change twice in one update; only its last state counts
        signs = {(intern(s), intern(p), intern(o)): sign for sign, (s, p, o) in changes}
        closure, table = self._closure, self._closure.labels.table
        closure.update({triple: ALWAYS if sign > 0 else None for triple, sign in signs.items()})
        changed: list[tuple[Sign, IdTriple]] = [
            (1 if old is None else -1, triple)
            for triple, old in self._before.items()
            # a triple that was removed and derived again has not changed
            if (old is None) == (triple in table) and closure.is_wanted(triple)
        ]
        self._closure.labels.forget(self._before)
        return changed

    def triples(self, pattern: TermPattern) -> Iterator[Triple]:
        """List the entailed triples that match a wanted pattern."""
        terms = self._graph.dictionary.terms
        for triple in self._closure.labels.matching(Key(*self._ids(pattern))):
            if self._closure.is_wanted(triple):
                s, p, o = triple
                yield terms[s], terms[p], terms[o]

    def support(self, triple: Triple) -> int:
        """Give 1 for a triple that is entailed, else 0: derivations are not counted."""
        return int(self._ids(triple) in self._closure.labels.table)

    def why(self, triple: Triple) -> list[Proof]:
        """Give one proof of a triple, derived from the graph alone."""
        # where all labels are equal, they do not tell which premises a triple was derived from first
        fresh = RuleRegime(self._program).start(self._graph)
        fresh.want([triple])
        try:
            return fresh.why(triple)
        finally:
            fresh.unwant([triple])

    def containers(self) -> list[Any]:
        """List the containers of what is stored, for measuring."""
        return self._closure.containers()

    def describe(self) -> list[str]:
        """Tell how many rules work, and on how many triples."""
        return ["deletes and derives again", *self._closure.describe()]

    def _explicit(self, key: Key) -> Iterator[tuple[IdTriple, int]]:
        terms, intern = self._graph.dictionary.terms, self._graph.dictionary.intern
        for s, p, o in self._graph.triples((terms[key[0]], terms[key[1]], terms[key[2]])):
            yield (intern(s), intern(p), intern(o)), ALWAYS

    def _ids(self, pattern: TermPattern) -> IdTriple:
        """Give ids for terms: 0 for None, -1 for a term that no stored triple has."""
        known = self._graph.dictionary.ids.get
        s, p, o = (0 if term is None else known(term, -1) for term in pattern)
        return s, p, o
