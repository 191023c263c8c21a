"""Entailment of a graph by rules: stored conclusions, maintained under inserts and deletes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from rdflib import URIRef

from rdflive.engine.dictionary import UNBOUND
from rdflive.entail.entailment import Entailment, ExplicitGraph, IdTriple, Proof, ProofStep, Sign
from rdflive.entail.rules.algebra import LEVELS, Algebra
from rdflive.entail.rules.closure import AnnotatedGraph, FactClosure, IdStep, explain
from rdflive.entail.rules.keys import Key
from rdflive.entail.rules.program import Program
from rdflive.model import TermPattern, Triple

__all__ = ["RuleEntailment", "RuleRegime", "prove"]


@dataclass(frozen=True, slots=True)
class RuleRegime:
    """Entailment by the rules of a program.

    With `SETS` as algebra, a delete removes all triples with a derivation from the deleted ones, and then
    derives again those that still follow (DRed, after Volz, Staab and Motik). `SETS` exists for comparison.
    """

    program: Program
    algebra: Algebra = LEVELS

    def start(self, graph: ExplicitGraph) -> Entailment:
        """Return the entailment of a graph by the rules."""
        return RuleEntailment(self.program, graph, self.algebra)

    @property
    def heard(self) -> frozenset[URIRef] | None:
        """The predicates that the rules read; None if one of them reads any triple."""
        read = {pattern.predicate for rule in self.program.rules for pattern in rule.body}
        found = frozenset(predicate for predicate in read if isinstance(predicate, URIRef))
        return found if len(found) == len(read) else None

    @property
    def identity(self) -> str:
        """A digest of the rules, independent of their order and names."""
        said = sorted({str(replace(rule, name="")) for rule in self.program.rules})
        digest = sha256("\n".join(said).encode()).hexdigest()
        return f"{len(said)} rules, digest {digest[:16]}"


def prove(program: Program, graph: ExplicitGraph, triple: Triple) -> list[Proof]:
    """Return one proof of a triple from a graph alone; none if it is not entailed.

    The triple is derived again, with levels, because other labels do not show which premises it was derived
    from first.
    """
    fresh = RuleRegime(program).start(graph)
    fresh.want([triple])
    try:
        return fresh.why(triple)
    finally:
        fresh.unwant([triple])


class RuleEntailment:
    """Maintains the conclusions of rules, as far as the wanted patterns depend on them."""

    looks_up = False  # each wanted pattern may start rules

    def __init__(self, program: Program, graph: ExplicitGraph, algebra: Algebra) -> None:
        self._program = program
        self._graph = graph
        self._algebra = algebra
        annotated = AnnotatedGraph(graph.dictionary, graph.terms, graph.to_native, self._explicit)
        self.closure = FactClosure(program, annotated, algebra)
        self._before = self.closure.labels.watch()
        self._wanted: Counter[TermPattern] = Counter()
        self._sound = True
        """False while an update runs, so that an update that fails half-way is detected: all conclusions are
        then derived again.
        """

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Start maintaining the triples that match these patterns, with the rules that this needs.

        If it raises, the wanted patterns are the same as before.
        """
        self._repair()
        patterns = list(patterns)
        before = {pattern: self._wanted[pattern] for pattern in patterns}
        try:
            self.closure.want(patterns)
            self._wanted.update(patterns)
            # already entailed triples are no change: callers list them with `triples`
            self.closure.labels.forget(self._before)
        except BaseException:
            self._wanted = +Counter({**self._wanted, **before})
            self._renew()
            raise

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop maintaining patterns that no query wants."""
        patterns = list(patterns)
        try:
            self._wanted -= Counter(patterns)
            # after an update that failed half-way, the next one starts from the explicit triples
            if self._sound:
                self.closure.unwant(patterns)
            elif not self._wanted:
                self._repair()
            self.closure.labels.forget(self._before)
        except BaseException:
            self._renew()
            raise

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Accept all patterns: loading the rules raises for rules that cannot be maintained."""

    def concerns(self, change: Triple) -> bool:
        """Return True if a change matches a pattern of a query or of a working rule."""
        return self.closure.concerns(self._ids(change))

    def update(self, changes: Sequence[tuple[Sign, Triple]]) -> list[tuple[Sign, IdTriple]]:
        """Return the net changes of the wanted entailed triples; none after an update that failed."""
        if self._repair():
            return []
        self._sound = False
        intern, closure = self._graph.dictionary.intern, self.closure
        # a triple may change twice in one update; only its last state counts
        signs = {(intern(s), intern(p), intern(o)): sign for sign, (s, p, o) in changes}
        explicit = self._algebra.explicit
        closure.update({triple: explicit if sign > 0 else None for triple, sign in signs.items()})
        table = closure.labels.table
        changed: list[tuple[Sign, IdTriple]] = [
            (1 if old is None else -1, triple)
            for triple, old in self._before.items()
            # a triple that was removed and derived again has not changed
            if (old is None) == (triple in table) and closure.is_wanted(triple)
        ]
        closure.labels.forget(self._before)
        self._sound = True
        return changed

    def triples(self, pattern: TermPattern) -> Iterator[Triple]:
        """List the entailed triples that match a wanted pattern."""
        terms = self._graph.dictionary.terms
        for triple in self.closure.labels.matching(Key(*self._ids(pattern))):
            if self.closure.is_wanted(triple):
                s, p, o = triple
                yield terms[s], terms[p], terms[o]

    def support(self, triple: Triple) -> int:
        """Return the number of derivations of a triple, plus one if it is explicit; 0 if it is not
        entailed.
        """
        return self.closure.support(self._ids(triple))

    def why(self, triple: Triple) -> list[Proof]:
        """Return one proof of a triple, with steps in the order of use; none if it is not entailed."""
        ids, terms = self._ids(triple), self._graph.dictionary.terms
        if ids not in self.closure.labels.table:
            return []
        if not self._algebra.step:
            return prove(self._program, self._graph, triple)
        steps = {step.triple: step for step in explain(ids, self.closure.propagation)}
        hidden = self.closure.hidden

        def shown(fact: IdTriple) -> Triple:
            s, p, o = fact
            return terms[s], terms[p], terms[o]

        def visible(step: IdStep) -> Iterator[IdTriple]:
            # hidden premises are replaced by their own premises
            for premise in step.premises:
                if hidden.isdisjoint(premise):
                    yield premise
                else:
                    yield from visible(steps[premise])

        proof = (
            ProofStep(step.rule, tuple(map(shown, visible(step))), shown(fact))
            for fact, step in steps.items()
            if step.rule is not None and hidden.isdisjoint(fact)
        )
        return [Proof(triple, tuple(proof))]

    def containers(self) -> list[Any]:
        """List the containers of the state, for measuring."""
        return self.closure.containers()

    def describe(self) -> list[str]:
        """Describe the number of working rules and of the triples they keep."""
        way = [] if self._algebra.step else ["deletes and derives again"]
        return [*way, *self.closure.describe()]

    def _repair(self) -> bool:
        """Derive all conclusions again if an update failed half-way; True if one had."""
        broken = not self._sound
        if broken:
            self._renew()
            self._sound = True
        return broken

    def _renew(self) -> None:
        self.closure.reset()
        self.closure.want(self._wanted.elements())
        self.closure.labels.forget(self._before)

    def _explicit(self, key: Key) -> Iterator[tuple[IdTriple, int]]:
        terms, intern = self._graph.dictionary.terms, self._graph.dictionary.intern
        explicit = self._algebra.explicit
        for s, p, o in self._graph.triples((terms[key[0]], terms[key[1]], terms[key[2]])):
            yield (intern(s), intern(p), intern(o)), explicit

    def _ids(self, pattern: TermPattern) -> IdTriple:
        """Return the ids of terms: 0 for None, -1 for a term that no stored triple has."""
        known = self._graph.dictionary.ids.get
        s, p, o = (UNBOUND if term is None else known(term, -1) for term in pattern)
        return s, p, o
