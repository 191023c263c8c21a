"""Entailment by rules: conclusions are stored and maintained under inserts and deletes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from rdflib.term import URIRef

from rdflive.engine.dictionary import UNBOUND
from rdflive.entail.entailment import Entailment, ExplicitGraph, IdTriple, Sign
from rdflive.entail.proof import Proof, ProofStep
from rdflive.entail.rules.demand import Demand
from rdflive.entail.rules.derivation import IdStep, explain
from rdflive.entail.rules.keys import Key, KeyIndex
from rdflive.entail.rules.program import AUXILIARY, Program
from rdflive.entail.rules.propagation import Propagation
from rdflive.model import TermPattern, Triple

__all__ = ["Materialisation", "RuleRegime"]


@dataclass(frozen=True, slots=True)
class RuleRegime:
    """Entailment by the rules of a program."""

    program: Program

    def start(self, graph: ExplicitGraph) -> Entailment:
        """Make what keeps the triples that a graph entails by the rules."""
        return Materialisation(self.program, graph)

    @property
    def identity(self) -> str:
        """A digest of the rules, whatever their order and names."""
        said = sorted({str(replace(rule, name="")) for rule in self.program.rules})
        digest = sha256("\n".join(said).encode()).hexdigest()
        return f"{len(said)} rules, digest {digest[:16]}"


class Materialisation:
    """Maintains the conclusions of rules, as far as the wanted patterns depend on them."""

    def __init__(self, program: Program, graph: ExplicitGraph) -> None:
        self._program = program
        self._graph = graph
        self._wanted: Counter[Key] = Counter()
        self._sound = True
        """False while an update runs, so that one that fails half-way is noticed: everything is then derived
        again.
        """
        self._begin()

    def _begin(self) -> None:
        self._propagation = Propagation(self._graph)
        self._demand = Demand(self._program, self._graph, self._propagation)
        self._patterns: KeyIndex[Key] = KeyIndex()
        self._hidden: frozenset[int] = frozenset()
        """The auxiliary predicates of rule sets: no triple that contains one is ever shown."""

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Start maintaining what matches these patterns, with the rules that this needs."""
        self._repair()
        before = Counter(self._wanted)
        try:
            self._want([self._key(pattern) for pattern in patterns])
        except BaseException:
            self._stop()
            self._want(before.elements())
            raise

    def _want(self, keys: Iterable[Key]) -> None:
        for key in keys:
            if not self._wanted:
                self._bind()
            self._wanted[key] += 1
            if self._wanted[key] == 1:
                self._graph.dictionary.hold(key[:3])
                self._patterns.add(key, key)
                self._demand.ask(key)
        self._demand.settle()
        # what the graph entails already is no change: whoever wants it lists it with `triples`
        self._propagation.net()

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop maintaining what nobody wants any more."""
        shrinks = False
        for pattern in patterns:
            key = self._key(pattern)
            self._wanted[key] -= 1
            if not self._wanted[key]:
                shrinks = True
                del self._wanted[key]
                self._patterns.remove(key, key)
                self._graph.dictionary.drop(key[:3])
        if not self._wanted:
            self._stop()
        # after an update that failed half-way the next one derives everything anew
        elif shrinks and self._sound:
            self._collect()

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Accept everything: rules that cannot be maintained are refused when they are read."""

    def concerns(self, change: Triple) -> bool:
        """Tell whether a change matches a pattern that some query or working rule asks for."""
        known = self._graph.dictionary.ids.get
        s, p, o = change
        return self._demand.concerns((known(s, -1), known(p, -1), known(o, -1)))

    def update(self, changes: Sequence[tuple[Sign, Triple]]) -> list[tuple[Sign, IdTriple]]:
        """Give the net changes of the wanted entailed triples; none after an update that failed."""
        if self._repair():
            return []
        self._sound = False
        changed = self._update(changes)
        self._sound = True
        return changed

    def triples(self, pattern: TermPattern) -> Iterator[Triple]:
        """List the entailed triples that match a wanted pattern."""
        terms = self._graph.dictionary.terms
        for triple in self._propagation.matching(self._key(pattern)):
            if self._hidden.isdisjoint(triple):
                s, p, o = triple
                yield terms[s], terms[p], terms[o]

    def support(self, triple: Triple) -> int:
        """Count the derivations of a triple, plus one if it is explicit; 0 if it is not entailed."""
        fact = self._propagation.facts.table.get(self._ids(triple))
        return 0 if fact is None else fact.derivations + fact.explicit

    def why(self, triple: Triple) -> list[Proof]:
        """Give one proof of a triple, each premise proved before it is used; none if it is not entailed."""
        ids, terms = self._ids(triple), self._graph.dictionary.terms
        if ids not in self._propagation.facts.table:
            return []
        steps = {step.triple: step for step in explain(ids, self._propagation, self._demand.giving)}

        def shown(fact: IdTriple) -> Triple:
            s, p, o = fact
            return terms[s], terms[p], terms[o]

        proof = (
            ProofStep(step.rule, tuple(map(shown, self._visible(step, steps))), shown(fact))
            for fact, step in steps.items()
            if step.rule is not None and self._hidden.isdisjoint(fact)
        )
        return [Proof(triple, tuple(proof))]

    def containers(self) -> list[Any]:
        """List the containers of what is stored, for measuring."""
        return self._propagation.facts.containers()

    def describe(self) -> list[str]:
        """Tell how many rules work, and on how many triples."""
        facts = self._propagation.facts
        inferred = sum(not fact.explicit for fact in facts.table.values())
        demand = self._demand
        return [
            f"{len(demand.at_work)} of {len(self._program.rules)} rules at work, "
            f"as {len(demand.active)} instances",
            f"{len(facts.table) - inferred} explicit and {inferred} derived triples are kept",
        ]

    def _update(self, changes: Sequence[tuple[Sign, Triple]]) -> list[tuple[Sign, IdTriple]]:
        intern, demand, propagation = self._graph.dictionary.intern, self._demand, self._propagation
        # A triple may change twice in one update; only its last state counts.
        last = {(intern(s), intern(p), intern(o)): sign for sign, (s, p, o) in changes}
        relevant = {triple: sign for triple, sign in last.items() if demand.concerns(triple)}
        # Deletes before inserts: a fact that goes and comes back in one update is netted by
        # `propagation.net`.
        for triple, sign in relevant.items():
            if sign < 0:
                propagation.retract(triple)
        demand.shrink()
        for triple, sign in relevant.items():
            if sign > 0:
                propagation.tell(triple)
        demand.settle()
        changed = [(sign, triple) for sign, triple in propagation.net() if self._is_wanted(triple)]
        if demand.is_wasteful():
            self._collect()
        return changed

    def _repair(self) -> bool:
        """Derive everything again if an update failed half-way; True if one had."""
        broken = not self._sound
        if broken:
            before = Counter(self._wanted)
            self._stop()
            self._want(before.elements())
        return broken

    def _bind(self) -> None:
        self._demand.bind()
        intern, to_native = self._graph.dictionary.intern, self._graph.to_native
        heads = {pattern.predicate for rule in self._program.rules for pattern in rule.head}
        # Rule sets write lists and intersections with predicates of their own.
        hidden = (p for p in heads if isinstance(p, URIRef) and p.startswith(AUXILIARY))
        self._hidden = frozenset(intern(to_native(predicate)) for predicate in hidden)

    def _collect(self) -> None:
        self._demand.collect(self._wanted)
        self._demand.settle()
        self._propagation.net()

    def _stop(self) -> None:
        for key in self._wanted:
            self._graph.dictionary.drop(key[:3])
        self._wanted.clear()
        self._propagation.facts.clear()
        self._demand.release()
        self._begin()
        self._sound = True

    def _is_wanted(self, triple: IdTriple) -> bool:
        return self._hidden.isdisjoint(triple) and bool(self._patterns.matching(*triple))

    def _visible(self, step: IdStep, steps: dict[IdTriple, IdStep]) -> Iterator[IdTriple]:
        """List the premises of a step; premises that are hidden are replaced by their own."""
        for premise in step.premises:
            if self._hidden.isdisjoint(premise):
                yield premise
            else:
                yield from self._visible(steps[premise], steps)

    def _key(self, pattern: TermPattern) -> Key:
        intern = self._graph.dictionary.intern
        s, p, o = (UNBOUND if term is None else intern(term) for term in pattern)
        return Key(s, p, o)

    def _ids(self, triple: Triple) -> IdTriple:
        known = self._graph.dictionary.ids.get
        s, p, o = triple
        return known(s, -1), known(p, -1), known(o, -1)
