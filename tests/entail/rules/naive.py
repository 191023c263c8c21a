"""Rules by the book: every rule is tried on all that holds until nothing is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from rdflib.term import BNode, URIRef

from rdflive.entail.rules import Comparison, Program, Rule
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.values import compare

Triple = tuple[Any, Any, Any]
Bindings = dict[Variable, Any]


def entailed(program: Program, explicit: Iterable[Triple]) -> set[Triple]:
    """Give all that holds, with what the rules use among themselves."""
    holds = set(explicit)
    while True:
        index = Index(holds)
        new = {head for rule in program.rules for _, head in derivations(rule, index)} - holds
        if not new:
            return holds
        holds |= new


def supports(program: Program, holds: set[Triple]) -> Counter[Triple]:
    """Count the derivations of each triple, when all of them hold."""
    index = Index(holds)
    return Counter(head for rule in program.rules for _, head in derivations(rule, index))


class Index:
    """Triples by each of their terms."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples = set(triples)
        self.by: dict[tuple[int, Any], set[Triple]] = {}
        for triple in self.triples:
            for place, term in enumerate(triple):
                self.by.setdefault((place, term), set()).add(triple)

    def near(self, pattern: Iterable[Any]) -> set[Triple]:
        """List triples among which are all that match."""
        bound = [self.by.get((i, t), set()) for i, t in enumerate(pattern) if not isinstance(t, Variable)]
        return min(bound, key=len, default=self.triples)


def derivations(rule: Rule, index: Index) -> Iterator[tuple[frozenset[Any], Triple]]:
    """List what a rule gives, each time with the match of its body."""
    for found in matches(list(rule.body), {}, index):
        if all(passes(condition, found) for condition in rule.conditions):
            heads = {tuple(found.get(t, t) for t in pattern) for pattern in rule.head}
            for s, p, o in heads:
                if isinstance(s, URIRef | BNode) and isinstance(p, URIRef):
                    yield frozenset(found.items()), (s, p, o)


def matches(body: list[TriplePattern], found: Bindings, index: Index) -> Iterator[Bindings]:
    """List the bindings that map all patterns to triples."""
    if not body:
        yield found
        return

    def written(pattern: TriplePattern) -> list[Any]:
        return [found.get(t, t) if isinstance(t, Variable) else t for t in pattern]

    first = min(body, key=lambda pattern: len(index.near(written(pattern))))
    rest = [pattern for pattern in body if pattern is not first]
    asked = written(first)
    for triple in index.near(asked):
        more = dict(found)
        if all(
            more.setdefault(t, value) == value if isinstance(t, Variable) else t == value
            for t, value in zip(asked, triple, strict=True)
        ):
            yield from matches(rest, more, index)


def passes(condition: Comparison, found: Bindings) -> bool:
    """Tell whether the terms compare; an error is false."""
    left, right = (found.get(side, side) for side in (condition.left, condition.right))
    if condition.operator in ("is", "is not"):
        return (left == right) == (condition.operator == "is")
    return compare(condition.operator, left, right) is True
