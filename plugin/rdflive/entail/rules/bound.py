"""Rules over the ids of one store, in the form in which single triples are propagated."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from rdflib.namespace import OWL, RDF, RDFS
from rdflib.term import BNode, URIRef

from rdflive.engine.dictionary import UNBOUND
from rdflive.entail.entailment import ExplicitGraph, IdTriple
from rdflive.entail.rules.keys import Key
from rdflive.entail.rules.program import AUXILIARY, Comparison, Operator, Rule, RuleError
from rdflive.query.bgp import TriplePattern, Variable, to_text
from rdflive.values import compare

__all__ = ["BoundComparison", "BoundConclusion", "BoundRule", "Places", "Values", "bind", "guides"]

_VOCABULARIES: Final = (str(RDF), str(RDFS), str(OWL), AUXILIARY)
_INSTANCE_OF: Final = frozenset({RDF.type, URIRef(f"{AUXILIARY}instanceOfAll")})
"""Predicates from an instance to its class, or to a list of its classes."""


def guides(rule: Rule) -> tuple[TriplePattern, ...]:
    """Choose the patterns of a body that are matched first; none if that would not help.

    `?p a owl:TransitiveProperty` is one: each of its matches leaves a rule about one property. So a triple is
    only passed to rules that read its predicate or class, and no state is kept for properties and classes
    that no query reads. A pattern is a guide if its predicate is a constant, and

    1. it is about a variable that stands for a predicate, or for a class (`?x a ?class`) if all chosen
    patterns are in the vocabularies of RDF, RDFS and OWL, of which a graph has less than of data; or

    2. its subject occurs in such a pattern; or

    3. it shares a variable with a pattern whose predicate would otherwise stay unknown.
    """
    body = rule.body
    predicates = {pattern.predicate for pattern in body if isinstance(pattern.predicate, Variable)}
    names = {p.predicate for p in rule.head if isinstance(p.predicate, Variable)} | predicates
    classes = {p.object for p in (*body, *rule.head) if _names_class(p)}
    candidates = [p for p in body if isinstance(p.predicate, URIRef) and not _names_class(p)]
    chosen = _guiding(candidates, names | classes)
    if not names and not all(str(pattern.predicate).startswith(_VOCABULARIES) for pattern in chosen):
        return ()
    named = {v for pattern in chosen for v in pattern.variables}
    for pattern in body:
        if pattern.predicate in predicates - named:
            chosen |= {near for near in candidates if set(near.variables) & set(pattern.variables)}
    # If all patterns are guides, an instance would have no pattern left to read.
    return () if len(chosen) == len(body) else tuple(pattern for pattern in body if pattern in chosen)


def _names_class(pattern: TriplePattern) -> bool:
    return pattern.predicate in _INSTANCE_OF and isinstance(pattern.object, Variable)


def _guiding(candidates: list[TriplePattern], about: set[Any]) -> set[TriplePattern]:
    """Choose the patterns about these variables, and those whose subject occurs in a chosen one."""
    chosen = {pattern for pattern in candidates if about & set(pattern.variables)}
    while True:
        named = {v for pattern in chosen for v in pattern.variables}
        more = {pattern for pattern in candidates if pattern.subject in named} - chosen
        if not more:
            return chosen
        chosen |= more


Values: TypeAlias = tuple[int, ...]
"""The values of a match: the constants of the rule, the values of its guides' variables, then those of its
other patterns.
"""
Places: TypeAlias = tuple[int, int, int]
"""A pattern, as positions in `Values`."""


class BoundComparison(NamedTuple):
    """A comparison of the values at two positions."""

    operator: Operator
    left: int
    right: int
    passes: Callable[[int, int], bool]
    """Compares two ids."""


class BoundConclusion(NamedTuple):
    """A conclusion, and the test for triples of RDF; None if it always is one."""

    places: Places
    test: Callable[[IdTriple], bool] | None


# compared by identity, because rules are keys of dictionaries and no program has one twice
@dataclass(frozen=True, slots=True, eq=False)
class BoundRule:
    """A rule as positions and ids.

    Its *guides* are matched first. Each match of them makes an instance of the rule, in which the variables
    of the guides are constants, and which reads the other patterns. Example: the rule `{ ?p a
    owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z } => { ?x ?p ?z }` has the first pattern as guide. The triple
    (:partOf, a, owl:TransitiveProperty) makes an instance about :partOf only.
    """

    rule: Rule
    constants: Values
    variables: tuple[Variable, ...]
    """The variables of the guides, then the others."""
    guided: int
    """Number of variables that the guides bind."""
    guiding: tuple[TriplePattern, ...]
    """The patterns of the guides."""
    reading: tuple[TriplePattern, ...]
    guides: tuple[Places, ...]
    """The guides as positions."""
    reads: tuple[Places, ...]
    heads: tuple[BoundConclusion, ...]
    guide_tests: tuple[BoundComparison, ...]
    """The conditions over variables of the guides."""
    tests: tuple[BoundComparison, ...]
    apart: frozenset[frozenset[int]]
    """Pairs of positions whose values a condition requires to differ."""
    order: tuple[int, ...]
    """The positions of the values in the values of the original rule, of which this one may be a case."""
    origin: BoundRule | None = None
    """The original rule, if some of its variables have been given values."""

    @property
    def root(self) -> BoundRule:
        """The original rule."""
        return self.origin or self

    def given(self, values: Mapping[int, int]) -> BoundRule:
        """Return the rule with some variables replaced by values, by position."""
        first = len(self.constants)
        order = [*range(first), *values, *(p for p in range(first, len(self.order)) if p not in values)]
        places = {old: new for new, old in enumerate(order)}

        def moved(pattern: Places) -> Places:
            s, p, o = pattern
            return places[s], places[p], places[o]

        def tested(tests: Iterable[BoundComparison]) -> tuple[BoundComparison, ...]:
            return tuple(test._replace(left=places[test.left], right=places[test.right]) for test in tests)

        return replace(
            self,
            constants=(*self.constants, *values.values()),
            variables=tuple(v for p, v in enumerate(self.variables, first) if p not in values),
            guided=sum(place not in values for place in range(first, first + self.guided)),
            guides=tuple(map(moved, self.guides)),
            reads=tuple(map(moved, self.reads)),
            heads=tuple(head._replace(places=moved(head.places)) for head in self.heads),
            guide_tests=tested(self.guide_tests),
            tests=tested(self.tests),
            apart=frozenset(frozenset(places[p] for p in pair) for pair in self.apart),
            order=tuple(self.order[p] for p in order),
            origin=self.root,
        )

    def written(self, values: Values) -> Values:
        """Return the values of a match in the order of the original rule."""
        if self.origin is None:
            return values
        found = dict(zip(self.order, values, strict=True))
        return tuple(found[place] for place in range(len(values)))

    def keys(self, patterns: Iterable[Places], fixed: Values) -> list[Key]:
        """Return the keys of patterns when the first values are known."""
        return [self._key(pattern, fixed) for pattern in patterns]

    def head_keys(self, fixed: Values) -> list[Key]:
        """Return the keys of the conclusions when the first values are known."""
        return self.keys((head for head, _ in self.heads), fixed)

    def _key(self, pattern: Places, fixed: Values) -> Key:
        known = len(fixed)
        s, p, o = (fixed[place] if place < known else UNBOUND for place in pattern)
        ends = pattern[0], pattern[2]
        return Key(s, p, o, 1 if ends[0] == ends[1] else -1 if frozenset(ends) in self.apart else 0)


def bind(rule: Rule, graph: ExplicitGraph, closed: Container[Any] = ()) -> BoundRule:
    """Replace the terms of a rule by ids. The dictionary holds the constants until the caller drops them.

    A rule without guides may read both relations that rules close and others. One of the others is then its
    guide, although it binds nothing: the rule works only while that pattern has a match.
    """
    # Values begin with those that an instance has: constants, then guided variables.
    first = guides(rule)
    guided = _variables(first)
    if not first:
        others = tuple(pattern for pattern in rule.body if pattern.predicate not in closed)
        first = others[:1] if len(others) < len(rule.body) else ()
    rest = tuple(pattern for pattern in rule.body if pattern not in first)
    variables = (*guided, *(v for v in _variables((*first, *rest)) if v not in guided))
    terms = [t for pattern in (*rule.body, *rule.head) for t in pattern]
    terms += [side for condition in rule.conditions for side in (condition.left, condition.right)]
    constants = tuple(dict.fromkeys(t for t in terms if not isinstance(t, Variable)))
    ids = tuple(_intern(rule, graph, term) for term in constants)
    places = {term: place for place, term in enumerate((*constants, *variables))}

    def located(patterns: Iterable[TriplePattern]) -> tuple[Places, ...]:
        return tuple((places[p.subject], places[p.predicate], places[p.object]) for p in patterns)

    tests = {True: [], False: []}  # type: dict[bool, list[BoundComparison]]
    for condition in rule.conditions:
        tests[set(condition.variables) <= set(guided)].append(_test(condition, places, graph))
    graph.dictionary.hold(ids)
    return BoundRule(
        rule=rule,
        constants=ids,
        variables=variables,
        guided=len(guided),
        guiding=first,
        reading=rest,
        guides=located(first),
        reads=located(rest),
        heads=tuple(
            BoundConclusion(head, _triple_test(rule, pattern, graph))
            for pattern, head in zip(rule.head, located(rule.head), strict=True)
        ),
        guide_tests=tuple(tests[True]),
        tests=tuple(tests[False]),
        apart=frozenset(
            frozenset((places[c.left], places[c.right])) for c in rule.conditions if c.operator == "is not"
        ),
        order=tuple(range(len(places))),
    )


def _variables(patterns: Iterable[TriplePattern]) -> tuple[Variable, ...]:
    return tuple(dict.fromkeys(v for pattern in patterns for v in pattern.variables))


def _intern(rule: Rule, graph: ExplicitGraph, term: Any) -> int:
    try:
        return graph.dictionary.intern(graph.to_native(term))
    except ValueError as error:
        raise RuleError(f"{rule.name}: this store cannot hold the term {to_text(term)}: {error}") from error


def _test(condition: Comparison, places: dict[Any, int], graph: ExplicitGraph) -> BoundComparison:
    operator, term = condition.operator, graph.terms.value

    def passes(left: int, right: int) -> bool:
        return compare(operator, term(left), term(right)) is True

    return BoundComparison(operator, places[condition.left], places[condition.right], passes)


def _triple_test(rule: Rule, head: TriplePattern, graph: ExplicitGraph) -> Callable[[IdTriple], bool] | None:
    """Return a test for conclusions that are triples of RDF; None if the body guarantees it.

    A rule may move an object, possibly a literal, to the position of the subject.
    """
    iri, blank = (type(graph.to_native(term)) for term in (URIRef("urn:x"), BNode("x")))
    terms = graph.dictionary.terms
    # a term that the body matches as subject or predicate is a valid subject
    sure_subject = not isinstance(head.subject, Variable) or any(
        head.subject in (pattern.subject, pattern.predicate) for pattern in rule.body
    )
    sure_predicate = not isinstance(head.predicate, Variable) or any(
        head.predicate == pattern.predicate for pattern in rule.body
    )
    if sure_subject and sure_predicate:
        return None
    if sure_predicate:
        return lambda triple: isinstance(terms[triple[0]], (iri, blank))
    return lambda triple: isinstance(terms[triple[0]], (iri, blank)) and isinstance(terms[triple[1]], iri)
