"""Finds conclusions that a rule need not read, because their consequences follow without them.

Example: with `c sub d, x a c => x a d` and `c sub d, d sub e => c sub e`, an instance of the lowest of n
classes is an instance of the highest by n steps of the first rule, or by one step after the second rule has
derived that the lowest class is below the highest. A query for instances does not need the second rule, which
derives n²/2 triples. So the first rule *absorbs* the second at its pattern `c sub d`: there it reads only
triples that are explicit or that other rules conclude.

This is a test of containment. The second rule's conclusion replaces the pattern, and the remaining patterns
of both rules are taken as facts about arbitrary terms. If the first rule's conclusion follows from these
facts by rules of a lower rank than the second, the second's conclusion was not needed. In a derivation of a
wanted fact, each such replacement removes one use of a rule and adds no use of a rule of its rank: a fact is
used once only, and rules of this rank are not used. So the replacements end, with a derivation that reads no
absorbed conclusion.

A rule can also *pass on* conclusions: the triples that it concludes from another rule's conclusions follow by
the other rule from the first rule's conclusions. It need not read such conclusions. Example: `c sub d, p
domain c => p domain d` and `p below q, q domain c => p domain c`. The second need not read the conclusions of
the first, because the first reads those of the second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from rdflib import RDF
from rdflib.term import URIRef

from rdflive.entail.rules.program import Program, Rule
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["Spared", "closed_relations", "spared"]

Spared: TypeAlias = Mapping[tuple[Rule, TriplePattern], frozenset[Rule]]
"""The rules whose conclusions a rule need not read at one of its patterns."""
_Fact: TypeAlias = tuple[Any, ...]
_Uses: TypeAlias = frozenset[_Fact]
_Pair: TypeAlias = tuple[Any, ...]

_ROUNDS: Final = 2
_MOST_PATTERNS: Final = 4
"""The search is skipped for two rules with more patterns together, because it would take long."""


class _AnyTerm(NamedTuple):
    """An arbitrary term."""

    variable: Variable


class _Way(NamedTuple):
    """A derivation: the facts that it uses, and the pairs of terms that rules require to differ."""

    uses: _Uses
    apart: frozenset[_Pair]


class _Read:
    """A rule, and the predicates that its body names."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.names = {p.predicate for p in rule.body if not isinstance(p.predicate, Variable)}


def closed_relations(program: Program) -> set[Any]:
    """Return the predicates of relations that rules close, for example by transitivity."""
    return {head.predicate for rule in program.rules if _rank(rule) == 2 for head in rule.head}


@lru_cache(maxsize=32)
def spared(program: Program) -> Spared:
    """Find the rules whose conclusions each rule need not read, per pattern."""
    closing = [rule for rule in program.rules if _rank(rule)]
    lower = {
        rank: [_Read(rule) for rule in program.rules if rule.body and _rank(rule) < rank] for rank in (1, 2)
    }
    places = [(rule, pattern) for rule in program.rules for pattern in rule.body]
    found = {
        (rule, pattern): {one for one in closing if _is_spared(rule, pattern, one, lower[_rank(one)])}
        for rule, pattern in places
    }
    named = [spares for (_, pattern), spares in found.items() if isinstance(pattern.predicate, URIRef)]
    absorbed = [one for one in closing if any(one in spares for spares in named)]
    # A rule that passes on is not passed on itself, so that rules do not depend on each other in a cycle.
    passing: set[Rule] = set()
    passed: set[Rule] = set()
    for rule, pattern in places:
        gives = {head.predicate for head in rule.head}
        for one in absorbed:
            if one is rule or one in passing or rule in passed:
                continue
            others = [*lower[_rank(one)], _Read(rule)]
            is_like = gives == {head.predicate for head in one.head}
            if is_like and _is_spared(rule, pattern, one, others, last=one):
                passing.add(rule)
                passed.add(one)
                found[rule, pattern].add(one)
    return {place: frozenset(spares) for place, spares in found.items() if spares}


def _rank(rule: Rule) -> int:
    """Return 2 for a rule about one relation only, for example transitivity, 1 for a rule that names all of
    its relations, else 0.

    A conclusion is replaced by those of rules with a lower rank, so that the replacements end.
    """
    names = {pattern.predicate for pattern in (*rule.body, *rule.head)}
    if len(rule.body) < 2 or RDF.type in names or not all(isinstance(name, URIRef) for name in names):
        return 0
    return 2 if len(names) == 1 else 1


def _is_spared(
    rule: Rule, pattern: TriplePattern, closing: Rule, others: Collection[_Read], *, last: Rule | None = None
) -> bool:
    """Return True if the conclusions of a rule from those of another (`closing`) follow by the given rules.

    With `last`, this rule may be used once more, at the end.
    """
    heads = [head for head in closing.head if _may_match(pattern, head)]
    return bool(heads) and all(_follows(rule, pattern, closing, head, others, last) for head in heads)


def _may_match(pattern: TriplePattern, head: TriplePattern) -> bool:
    return isinstance(pattern.predicate, Variable) or pattern.predicate == head.predicate


def _follows(
    rule: Rule,
    pattern: TriplePattern,
    closing: Rule,
    head: TriplePattern,
    others: Collection[_Read],
    last: Rule | None,
) -> bool:
    if len(rule.body) + len(closing.body) > _MOST_PATTERNS:
        return False
    renamed: dict[Any, Any] = {v: Variable(f"{v} of the other") for p in closing.body for v in p.variables}
    same = _unified(pattern, [renamed.get(term, term) for term in head])
    if same is None:
        return True  # a conclusion that the pattern never matches

    def placed(terms: Iterable[Any], names: Mapping[Any, Any]) -> _Fact:
        return tuple(_find(same, names.get(term, term)) for term in terms)

    premises = [placed(p, renamed) for p in closing.body]
    facts = list(dict.fromkeys([*premises, *(placed(p, {}) for p in rule.body if p is not pattern)]))
    wanted = [placed(p, {}) for p in rule.head]
    conditions = [
        (condition.operator, *placed((condition.left, condition.right), names))
        for one, names in ((rule, {}), (closing, renamed))
        for condition in one.conditions
    ]
    # Comparisons of values, and those with constants, are not supported here.
    if any(
        op != "is not" or not isinstance(x, Variable) or not isinstance(y, Variable)
        for op, x, y in conditions
    ):
        return False
    variables = dict.fromkeys(t for t in chain(*facts) if isinstance(t, Variable))

    def follows(equal: dict[Any, Any]) -> bool:
        """Return True if the conclusions follow for these terms as variables."""

        def named(fact: _Fact) -> _Fact:
            return tuple(equal.get(term, term) for term in fact)

        if any(equal[x] == equal[y] for _, x, y in conditions):
            return True  # the conditions exclude this case
        if named(placed(pattern, {})) in map(named, premises):
            return True  # the conclusion is one of the premises
        # Each conclusion by itself: another one may have a literal as subject, and so be no triple.
        for fact in wanted:
            apart = _derived([*map(named, facts)], named(fact), others, last)
            # Rules may require terms to differ. If two of these are equal, another derivation is needed.
            if apart is None or not all(map(follows, _merged(equal, apart))):
                return False
        return True

    return follows({variable: _AnyTerm(variable) for variable in variables})


def _merged(equal: dict[Any, Any], apart: Iterable[_Pair]) -> Iterator[dict[Any, Any]]:
    """List the assignments of variables in which the terms of one pair each are equal."""
    for one, other in apart:
        # a constant stays, and two constants are never the same
        kept, left = (one, other) if isinstance(other, _AnyTerm) else (other, one)
        if isinstance(left, _AnyTerm):
            yield {variable: kept if name == left else name for variable, name in equal.items()}


def _unified(pattern: TriplePattern, head: Iterable[Any]) -> dict[Any, Any] | None:
    """Return the substitution that makes a pattern and a conclusion equal; None if there is none."""
    same: dict[Any, Any] = {}
    for one, other in zip(pattern, head, strict=True):
        one, other = _find(same, one), _find(same, other)
        if one != other:
            if isinstance(one, Variable):
                same[one] = other
            elif isinstance(other, Variable):
                same[other] = one
            else:
                return None
    return same


def _find(same: Mapping[Any, Any], term: Any) -> Any:
    while term in same:
        term = same[term]
    return term


def _derived(
    facts: list[_Fact], wanted: _Fact, rules: Collection[_Read], last: Rule | None
) -> Collection[_Pair] | None:
    """Derive a wanted fact, using each fact at most once, and the rule `last` only at the end.

    Returns the pairs of terms that must differ for that; None if the fact does not follow.
    """
    known: dict[_Fact, list[_Way]] = {fact: [_Way(frozenset([fact]), frozenset())] for fact in facts}
    subjects = {fact[0] for fact in (*facts, wanted)} | {fact[1] for fact in facts}
    predicates = {fact[1] for fact in facts}

    def conclusions(rule: Rule) -> Iterator[tuple[_Fact, _Way]]:
        for bindings, uses, apart in _matches(rule.body, {}, _Way(frozenset(), frozenset()), known):
            pairs = [tuple(bindings.get(side, side) for side in (c.left, c.right)) for c in rule.conditions]
            if all(c.operator == "is not" for c in rule.conditions) and all(x != y for x, y in pairs):
                for head in rule.head:
                    fact = tuple(bindings.get(term, term) for term in head)
                    # Excludes conclusions that may not be triples: with a literal as subject, or a blank
                    # node as predicate.
                    if fact[0] in subjects and (fact[1] == head.predicate or fact[1] in predicates):
                        yield fact, _Way(uses, apart.union(pairs))

    for _ in range(_ROUNDS):
        new = False
        names = {fact[1] for fact in known}
        working = [read.rule for read in rules if read.names <= names]
        for fact, way in [found for rule in working for found in conclusions(rule)]:
            ways = known.setdefault(fact, [])
            if not any(other.uses <= way.uses for other in ways):
                ways.append(way)
                new = True
        if not new or wanted in known:
            break
    if last is not None:
        for fact, way in list(conclusions(last)):
            known.setdefault(fact, []).append(way)
    return known[wanted][0].apart if wanted in known else None


def _matches(
    body: tuple[TriplePattern, ...], bindings: dict[Any, Any], way: _Way, known: Mapping[_Fact, list[_Way]]
) -> Iterator[tuple[dict[Any, Any], _Uses, frozenset[_Pair]]]:
    if not body:
        yield bindings, *way
        return
    for fact, ways in known.items():
        more = dict(bindings)
        if all(
            more.setdefault(term, value) == value if isinstance(term, Variable) else term == value
            for term, value in zip(body[0], fact, strict=True)
        ):
            for uses, apart in ways:
                if not way.uses & uses:
                    yield from _matches(body[1:], more, _Way(way.uses | uses, way.apart | apart), known)
