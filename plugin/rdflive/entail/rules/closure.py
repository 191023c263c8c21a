"""The facts that rules entail, with annotations, as far as wanted patterns depend on them.

With labels it is the maintenance of IMaRS, Section 3 (Tables 4 to 6), with its errors corrected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rdflib.term import URIRef

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.engine.terms import TermTable
from rdflive.entail.entailment import ExplicitGraph, IdTriple
from rdflive.entail.rules.algebra import LABELS, Algebra
from rdflive.entail.rules.demand import RuleDemand
from rdflive.entail.rules.keys import Key, KeyIndex
from rdflive.entail.rules.labels import Labels
from rdflive.entail.rules.program import AUXILIARY, Program
from rdflive.entail.rules.propagation import Propagation
from rdflive.model import TermPattern, Triple

__all__ = ["AnnotatedGraph", "FactClosure", "IdStep", "explain"]


@dataclass(frozen=True, slots=True)
class AnnotatedGraph:
    """The explicit triples with their labels, as a closure reads them."""

    dictionary: Dictionary
    terms: TermTable
    to_native: Callable[[Any], Any]
    explicit: Callable[[Key], Iterable[tuple[IdTriple, int]]]
    """Lists the matches with their labels, as of the last update. During an update, it may list the state
    before or after.
    """


class FactClosure:
    """Maintains the labels of the triples that rules entail, as far as wanted patterns depend on them.

    The meaning of a label depends on the algebra, see `algebra.py`. In windows the label of an explicit
    triple is the position where it arrived last. A derivation has the lowest label of its premises, because
    it ends with the first of them. An entailed triple has the highest label of its derivations, because it
    lasts as long as the best of them.

    A window that begins at b holds the explicit triples with a label of b or more, and it entails exactly the
    triples with a label of b or more. So one closure serves windows of all ranges. Triples behind all windows
    are dropped without further work: every triple derived from them has a lower or equal label, and is
    dropped too.

    Example: :partOf is transitive; (a, partOf, b) has label 3, (b, partOf, c) has label 8, so (a, partOf, c)
    has label 3. A window that begins at 2 entails it. When the window begins at 4, both (a, partOf, b) and
    (a, partOf, c) are outside. If (a, partOf, b) arrives again at 9, the label of (a, partOf, c) rises to 8.
    """

    def __init__(self, program: Program, graph: AnnotatedGraph, algebra: Algebra = LABELS) -> None:
        self._program = program
        self._algebra = algebra
        self._graph = graph
        self._wanted: Counter[Key] = Counter()
        # not in `_begin`: windows watch its labels, which must stay the same object
        self.propagation = Propagation(graph.dictionary, algebra)
        self._begin()

    def _begin(self) -> None:
        self._demand = RuleDemand(
            self._graph.dictionary, self._graph.explicit, self.propagation, self._algebra
        )
        self._patterns: KeyIndex[Key] = KeyIndex()
        self._whole: set[int] = set()
        """Predicates of which all triples are wanted, or `UNBOUND`; a shortcut for `is_wanted`."""
        self.hidden: frozenset[int] = frozenset()
        """The auxiliary predicates of rule sets: no triple that contains one is visible to queries."""

    @property
    def labels(self) -> Labels:
        """The labels of explicit and derived triples: of wanted ones and of those that they depend on."""
        return self.propagation.labels

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Start maintaining the triples that match these patterns, with the rules that this needs.

        If it raises, the wanted patterns are the same as before.
        """
        keys = [self._key(pattern) for pattern in patterns]
        before = {key: self._wanted[key] for key in keys}
        try:
            self._want(keys)
        except BaseException:
            wanted = Counter({**self._wanted, **before})
            self._stop()
            self._want(wanted.elements())
            raise

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop maintaining patterns that no query wants; without any wanted pattern no state is kept."""
        shrinks = False
        for pattern in patterns:
            key = self._key(pattern)
            self._wanted[key] -= 1
            if not self._wanted[key]:
                shrinks = True
                del self._wanted[key]
                self._patterns.remove(key, key)
                if _is_whole(key):
                    self._whole.discard(key.predicate)
                self._graph.dictionary.drop(key[:3])
        if not self._wanted:
            self._stop()
        elif shrinks:
            self._demand.collect(self._wanted)

    def concerns(self, triple: IdTriple) -> bool:
        """Return True if a triple matches a pattern of a query or of a working rule."""
        return self._demand.concerns(triple)

    def update(self, changes: Mapping[IdTriple, int | None]) -> None:
        """Set the labels of explicit triples; None for triples that are no longer explicit.

        Triples that match no pattern of a query or rule are skipped.
        """
        demand, left = self._demand, changes
        # Most triples of a stream concern no rule and need only this test.
        while relevant := {triple: label for triple, label in left.items() if demand.concerns(triple)}:
            gone = self.propagation.change(relevant)
            demand.settle()
            if gone:
                demand.close(gone)
            if len(relevant) == len(left):
                break
            # rules that started in this round may read changes that no rule read before
            left = {triple: label for triple, label in left.items() if triple not in relevant}
        if demand.is_wasteful():
            demand.collect(self._wanted)

    def expire(self, below: int) -> None:
        """Drop all triples with a lower label, which no window holds any more."""
        self._demand.close(self.propagation.drop(below))

    def reset(self) -> None:
        """Clear the state and the wanted patterns, for example after an update that failed half-way."""
        self._stop()

    def is_wanted(self, triple: IdTriple) -> bool:
        """Return True if a triple matches a wanted pattern and has no auxiliary predicate."""
        if self.hidden and not self.hidden.isdisjoint(triple):
            return False
        whole = self._whole
        return triple[1] in whole or UNBOUND in whole or self._patterns.has_matching(*triple)

    def describe(self) -> list[str]:
        """Describe the number of working rules and of the triples they keep."""
        explicit, labels = self.propagation.explicit.table, self.labels.table
        working = {rule.root for rule in self._demand.at_work}
        return [
            f"{len(working)} of {len(self._program.rules)} rules at work, as {self._demand.active} instances",
            f"{len(explicit)} explicit and {len(labels) - len(explicit)} derived triples are kept",
        ]

    def support(self, triple: IdTriple) -> int:
        """Return the number of derivations of a fact, plus one if it is explicit; 0 if it does not hold."""
        if triple not in self.labels.table:
            return 0
        # a derivation counts once, even if two heads of its rule give the same triple
        found = self.propagation.derivations(triple, counted=True)
        ways = {(rule.root, rule.written(values)) for rule, values, _ in found}
        return len(ways) + (triple in self.propagation.explicit.table)

    def containers(self) -> list[Any]:
        """List the containers of the state, for measuring."""
        return [*self.labels.containers(), *self.propagation.explicit.containers()]

    def _want(self, keys: Iterable[Key]) -> None:
        for key in keys:
            if not self._wanted:
                self._bind()
            self._wanted[key] += 1
            if self._wanted[key] == 1:
                self._graph.dictionary.hold(key[:3])
                self._patterns.add(key, key)
                if _is_whole(key):
                    self._whole.add(key.predicate)
                self._demand.ask(key)
        self._demand.settle()

    def _bind(self) -> None:
        graph = self._graph
        explicit = ExplicitGraph(_nothing, graph.dictionary, graph.terms, graph.to_native)
        self._demand.bind(self._program, explicit)
        heads = {pattern.predicate for rule in self._program.rules for pattern in rule.head}
        hidden = (p for p in heads if isinstance(p, URIRef) and p.startswith(AUXILIARY))
        self.hidden = frozenset(graph.dictionary.intern(graph.to_native(p)) for p in hidden)

    def _stop(self) -> None:
        for key in self._wanted:
            self._graph.dictionary.drop(key[:3])
        self._wanted.clear()
        self._demand.release()
        self.propagation.clear()
        self._begin()

    def _key(self, pattern: TermPattern) -> Key:
        intern = self._graph.dictionary.intern
        s, p, o = (UNBOUND if term is None else intern(term) for term in pattern)
        return Key(s, p, o)


def _nothing(_: TermPattern) -> Iterator[Triple]:
    """List nothing: binding rules needs a graph's terms but not its triples."""
    return iter(())


def _is_whole(key: Key) -> bool:
    return key.subject == UNBOUND == key.object


@dataclass(frozen=True, slots=True)
class IdStep:
    """A fact of a derivation; its premises are in earlier steps."""

    triple: IdTriple
    rule: str | None
    """The name of the rule that concludes it; None if the fact is explicit."""
    premises: tuple[IdTriple, ...] = ()


def explain(triple: IdTriple, propagation: Propagation) -> list[IdStep]:
    """Derive a fact from explicit ones, each fact once and after its premises.

    Only founded derivations are used, whose premises are on better levels. So the search ends even if facts
    derive each other in a circle.
    """
    steps: dict[IdTriple, IdStep] = {}
    found: dict[IdTriple, IdStep] = {}
    todo = [triple]
    while todo:
        fact = todo[-1]
        step = found.get(fact)
        if step is None:
            step = found[fact] = _step(fact, propagation)
        waiting = [premise for premise in step.premises if premise not in steps]
        if waiting:
            todo += waiting
        else:
            # a premise of two steps may be in `todo` twice
            steps.setdefault(fact, step)
            todo.pop()
    return list(steps.values())


def _step(triple: IdTriple, propagation: Propagation) -> IdStep:
    if triple in propagation.explicit.table:
        return IdStep(triple, None)
    level = propagation.labels.table[triple]
    for rule, values, reached in propagation.derivations(triple):
        if reached >= level:
            premises = ((values[s], values[p], values[o]) for s, p, o in (*rule.guides, *rule.reads))
            return IdStep(triple, rule.rule.name, tuple(dict.fromkeys(premises)))
    raise AssertionError(f"no derivation of {triple}")  # each fact has a founded one
