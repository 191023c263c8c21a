"""Rules over the ids of one store, in the form in which single triples are propagated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from rdflib.term import BNode, URIRef

from rdflive.engine.dictionary import UNBOUND
from rdflive.entail.entailment import ExplicitGraph, IdTriple
from rdflive.entail.rules.keys import Key
from rdflive.entail.rules.program import Comparison, Rule, RuleError
from rdflive.entail.rules.staging import guides
from rdflive.query.bgp import TriplePattern, Variable, to_text
from rdflive.query.expressions.values import compare

__all__ = ["BoundRule", "Places", "Values", "bind"]

Values: TypeAlias = tuple[int, ...]
"""The values of a match: the constants of the rule, then what its guides bind, then what its other patterns
bind.
"""
Places: TypeAlias = tuple[int, int, int]
"""A pattern, as positions in `Values`."""
Test: TypeAlias = Callable[[Values], bool]


# compared by identity, as rules are keys of dictionaries and no program has one twice
@dataclass(frozen=True, slots=True, eq=False)
class BoundRule:
    """A rule as positions and ids.

    Its *guides* (see `staging.py`) are matched first. Each match of them makes an instance of the rule, in
    which the variables of the guides are constants, and which reads the other patterns. Example: the rule `{
    ?p a owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z } => { ?x ?p ?z }` has the first pattern as guide. The
    triple (:partOf, a, owl:TransitiveProperty) makes an instance about :partOf only.
    """

    rule: Rule
    constants: Values
    variables: tuple[Variable, ...]
    """The variables of the guides, then the others."""
    guided: int
    """How many variables the guides bind."""
    guides: tuple[Places, ...]
    reads: tuple[Places, ...]
    """The patterns of the body that are no guides."""
    heads: tuple[tuple[Places, Test | None], ...]
    """The conclusions, each with the test whether it is a triple of RDF; None if it always is."""
    guide_tests: tuple[Test, ...]
    """The conditions over variables that the guides bind."""
    tests: tuple[Test, ...]
    apart: frozenset[frozenset[int]]
    """Pairs of positions whose values a condition requires to differ."""

    def keys(self, patterns: Iterable[Places], fixed: Values) -> list[Key]:
        """Give the keys of patterns when the first values are known."""
        return [self._key(pattern, fixed) for pattern in patterns]

    def head_keys(self, fixed: Values) -> list[Key]:
        """Give the keys of the conclusions when the first values are known."""
        return self.keys((head for head, _ in self.heads), fixed)

    def heads_of(self, values: Values) -> Iterable[IdTriple]:
        """List the conclusions of a match of the whole body, each triple once."""
        found = [
            (values[s], values[p], values[o])
            for (s, p, o), is_triple in self.heads
            if is_triple is None or is_triple(values)
        ]
        # a derivation counts once for a fact, also where two heads come to the same triple
        return found if len(found) < 2 else dict.fromkeys(found)

    def instantiate(self, patterns: Iterable[Places], fixed: Values) -> tuple[TriplePattern, ...]:
        """Write patterns with the known values as constants; patterns that become equal are given once."""
        known, first = len(fixed), len(self.constants)

        def term(place: int) -> Any:
            return fixed[place] if place < known else self.variables[place - first]

        return tuple(dict.fromkeys(TriplePattern(term(s), term(p), term(o)) for s, p, o in patterns))

    def _key(self, pattern: Places, fixed: Values) -> Key:
        known = len(fixed)
        s, p, o = (fixed[place] if place < known else UNBOUND for place in pattern)
        ends = pattern[0], pattern[2]
        return Key(s, p, o, 1 if ends[0] == ends[1] else -1 if frozenset(ends) in self.apart else 0)


def bind(rule: Rule, graph: ExplicitGraph) -> BoundRule:
    """Replace the terms of a rule by ids. The dictionary holds the constants until the caller drops them."""
    # Values begin with what an instance knows: constants, then guided variables.
    first = guides(rule)
    rest = tuple(pattern for pattern in rule.body if pattern not in first)
    guided = _variables(first)
    variables = (*guided, *(v for v in _variables(rest) if v not in guided))
    terms = [t for pattern in (*rule.body, *rule.head) for t in pattern]
    terms += [side for condition in rule.conditions for side in (condition.left, condition.right)]
    constants = tuple(dict.fromkeys(t for t in terms if not isinstance(t, Variable)))
    ids = tuple(_intern(rule, graph, term) for term in constants)
    places = {term: place for place, term in enumerate((*constants, *variables))}

    def located(patterns: Iterable[TriplePattern]) -> tuple[Places, ...]:
        return tuple((places[p.subject], places[p.predicate], places[p.object]) for p in patterns)

    tests = {True: [], False: []}  # type: dict[bool, list[Test]]
    for condition in rule.conditions:
        tests[set(condition.variables) <= set(guided)].append(_test(condition, places, graph))
    graph.dictionary.hold(ids)
    return BoundRule(
        rule=rule,
        constants=ids,
        variables=variables,
        guided=len(guided),
        guides=located(first),
        reads=located(rest),
        heads=tuple(
            (head, _triple_test(rule, pattern, head, graph))
            for pattern, head in zip(rule.head, located(rule.head), strict=True)
        ),
        guide_tests=tuple(tests[True]),
        tests=tuple(tests[False]),
        apart=frozenset(
            frozenset((places[c.left], places[c.right])) for c in rule.conditions if c.operator == "is not"
        ),
    )


def _variables(patterns: Iterable[TriplePattern]) -> tuple[Variable, ...]:
    return tuple(dict.fromkeys(v for pattern in patterns for v in pattern.variables))


def _intern(rule: Rule, graph: ExplicitGraph, term: Any) -> int:
    try:
        return graph.dictionary.intern(graph.to_native(term))
    except ValueError as error:
        raise RuleError(f"{rule.name}: {to_text(term)} can be no term of this store: {error}") from error


def _test(condition: Comparison, places: dict[Any, int], graph: ExplicitGraph) -> Test:
    left, right, operator = places[condition.left], places[condition.right], condition.operator
    if operator == "is":
        return lambda values: values[left] == values[right]
    if operator == "is not":
        return lambda values: values[left] != values[right]
    term = graph.terms.value
    return lambda values: compare(operator, term(values[left]), term(values[right])) is True


def _triple_test(rule: Rule, head: TriplePattern, places: Places, graph: ExplicitGraph) -> Test | None:
    """Make the test whether a conclusion is a triple of RDF; None if the body guarantees it.

    A rule may move an object, perhaps a literal, to the place of the subject.
    """
    iri, blank = (type(graph.to_native(term)) for term in (URIRef("urn:x"), BNode("x")))
    terms = graph.dictionary.terms
    subject, predicate, _ = places
    # what a body has found as a subject, or as a predicate, may be a subject again
    sure_subject = not isinstance(head.subject, Variable) or any(
        head.subject in (pattern.subject, pattern.predicate) for pattern in rule.body
    )
    sure_predicate = not isinstance(head.predicate, Variable) or any(
        head.predicate == pattern.predicate for pattern in rule.body
    )
    if sure_subject and sure_predicate:
        return None
    if sure_predicate:
        return lambda values: isinstance(terms[values[subject]], (iri, blank))
    return lambda values: (
        isinstance(terms[values[subject]], (iri, blank)) and isinstance(terms[values[predicate]], iri)
    )
