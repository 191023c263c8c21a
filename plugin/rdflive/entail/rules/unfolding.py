"""Unfolds rules without recursion into the query: a pattern becomes the union of all patterns that entail it.

Example: with the rules

    { ?x :partOf ?y } => { ?y :contains ?x } .
    { ?x :contains ?y . ?y :contains ?z } => { ?x :holds ?z } .

the pattern `?a :holds ?b` becomes the union of `?a :holds ?b` itself and `?a :contains ?u . ?u :contains ?b`,
in which each pattern is a union too: `?a :contains ?u` becomes that and `?u :partOf ?a`. Each union is a set,
because an entailed graph has a triple once, however many rules entail it. Recursive rules cannot be unfolded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeAlias

from rdflib.term import IdentifiedNode, URIRef
from rdflib.term import Node as RdflibNode

from rdflive.entail.rules.program import AUXILIARY, Comparison, Program, Rule
from rdflive.errors import UnsupportedQueryError
from rdflive.query import algebra
from rdflive.query.algebra import Basic, Node
from rdflive.query.bgp import TriplePattern, Variable, VarOrTerm, to_text
from rdflive.query.expressions import Expression
from rdflive.query.joins import filtered, linked_patterns
from rdflive.values import compare

__all__ = ["unfold"]

_Values: TypeAlias = dict[VarOrTerm, VarOrTerm]
"""The substitution of variables, possibly in several steps."""


def unfold(root: Node, program: Program) -> Node:
    """Return the query whose answers over a graph are those of `root` over the graph with its entailed
    triples.

    Each graph entails by itself, so no pattern may match several graphs at once.

    Raises `UnsupportedQueryError` if a rule that the query needs is recursive.
    """
    unfolding = _Unfolding(program)
    made: dict[Node, Node] = {}
    for node in algebra.topological(root):
        made[node] = unfolding.basic(node) if isinstance(node, Basic) else algebra.with_inputs(node, made)
    return made[root]


class _Unfolding:
    """Unfolds patterns, each kind once: patterns that are equal up to variables are of the same kind."""

    def __init__(self, program: Program) -> None:
        self._numbers = count(1)
        self._rules = [self._renamed(rule) for rule in program.rules]
        self._made: dict[object, tuple[algebra.Columns, Node]] = {}
        self._open: list[Rule] = []

    def basic(self, node: Basic) -> Node:
        """Unfold a basic graph pattern."""
        # a pattern over the quads of all graphs stays; `refuse_quads` raises for the plan of the query
        if isinstance(node.graph, Variable) or not any(map(self._heads, node.patterns)):
            return node
        return filtered(self._joined(node.patterns, node.graph), node.conditions)

    def _joined(self, patterns: Sequence[TriplePattern], graph: algebra.Graph) -> Node:
        """Join patterns, linked ones first; patterns that no rule entails stay together."""
        plain = [pattern for pattern in patterns if not self._heads(pattern)]
        parts: list[Node] = [Basic(tuple(linked), graph) for linked in linked_patterns(plain)]
        parts += [self._pattern(pattern, graph) for pattern in patterns if pattern not in plain]
        joined = parts.pop(0) if parts else algebra.Values()
        while parts:
            linked = (n for n, part in enumerate(parts) if not set(part.columns).isdisjoint(joined.columns))
            joined = algebra.Join(joined, parts.pop(next(linked, 0)))
        return joined

    def _pattern(self, pattern: TriplePattern, graph: algebra.Graph) -> Node:
        """Return the union of all patterns that entail a pattern, with distinct triples."""
        places = {variable: place for place, variable in enumerate(pattern.variables)}
        kind = (*(places[term] if isinstance(term, Variable) else (term,) for term in pattern), graph)
        if kind not in self._made:
            columns = tuple(self._fresh() for _ in places)
            own = _put(pattern, dict(zip(places, columns, strict=True)))
            branches: list[Node] = [Basic((own,), graph)]
            for rule, head, values in self._heads(own):
                branches += self._branch(rule, head, values, columns, graph)
            self._made[kind] = columns, algebra.Distinct(algebra.Union(tuple(branches)))
        columns, union = self._made[kind]
        return algebra.Project(union, (), tuple(zip(places, columns, strict=True)))

    def _branch(
        self, rule: Rule, head: TriplePattern, values: _Values, columns: algebra.Columns, graph: algebra.Graph
    ) -> Iterator[Node]:
        """Return the conclusions of a rule as rows of `columns`; none if its conditions never hold."""
        if rule in self._open:
            names = " and ".join(dict.fromkeys(each.name for each in self._open[self._open.index(rule) :]))
            raise UnsupportedQueryError(
                f"recursive rules cannot be unfolded into a query, and {names} may lead back to a "
                "pattern that is already unfolded; subscribe in one process, with rdflive.subscribe(rules=), "
                "write the steps that you need as rules with predicates of their own, or use "
                "entailment='rdfs' if subclasses, subproperties, domains and ranges are enough",
                construct="recursive rules",
            )
        if any(str(term).startswith(AUXILIARY) for pattern in (*rule.body, *rule.head) for term in pattern):
            raise UnsupportedQueryError(
                f"{rule.name} has a predicate of {AUXILIARY}, whose triples are hidden: use another one",
                construct="auxiliary predicates",
            )
        tests: list[_Compared | _Kind] = []
        for comparison in rule.conditions:
            left, right = _value(comparison.left, values), _value(comparison.right, values)
            tests.append(_Compared(Comparison(comparison.operator, left, right)))
        tests += [_Kind(_value(term, values), kind) for term, kind in _unsure(rule, head)]
        if not all(test.holds(_itself) for test in tests if not test.variables):
            return
        self._open.append(rule)
        body = self._joined([_put(pattern, values) for pattern in rule.body], graph)
        self._open.pop()
        node = filtered(body, [test for test in tests if test.variables])
        shown = []
        for column in columns:
            source = _value(column, values)
            if not isinstance(source, Variable):
                node = algebra.Extend(node, self._fresh(), Expression(source))
                source = node.variable
            shown.append((column, source))
        yield algebra.Project(node, (), tuple(shown), exact=frozenset(columns))

    def _heads(self, pattern: TriplePattern) -> list[tuple[Rule, TriplePattern, _Values]]:
        """List the conclusions that unify with a pattern, with the substitutions."""
        return [
            (rule, head, values)
            for rule in self._rules
            for head in rule.head
            if (values := _unified(head, pattern)) is not None
        ]

    def _renamed(self, rule: Rule) -> Rule:
        """Rename the variables of a rule to names that no query has."""
        patterns = (*rule.body, *rule.head)
        names: _Values = {v: self._fresh() for v in dict.fromkeys(v for p in patterns for v in p.variables)}
        conditions = (
            replace(c, left=_value(c.left, names), right=_value(c.right, names)) for c in rule.conditions
        )
        body, head = (tuple(_put(p, names) for p in side) for side in (rule.body, rule.head))
        return Rule(rule.name, body, head, tuple(conditions))

    def _fresh(self) -> Variable:
        return Variable(f"·rule{next(self._numbers)}", distinguished=False)


def _unified(head: TriplePattern, pattern: TriplePattern) -> _Values | None:
    """Return the substitution that makes a conclusion equal a pattern; None if there is none."""
    values: _Values = {}
    for mine, theirs in zip((head.subject, head.predicate, head.object), pattern, strict=True):
        left, right = _value(mine, values), _value(theirs, values)
        if left == right:
            continue
        if isinstance(right, Variable):
            values[right] = left
        elif isinstance(left, Variable):
            values[left] = right
        else:
            return None
    return values


def _value(term: VarOrTerm, values: Mapping[VarOrTerm, VarOrTerm]) -> VarOrTerm:
    while term in values:
        term = values[term]
    return term


def _put(pattern: TriplePattern, values: Mapping[VarOrTerm, VarOrTerm]) -> TriplePattern:
    s, p, o = (_value(term, values) for term in (pattern.subject, pattern.predicate, pattern.object))
    return TriplePattern(s, p, o)


def _unsure(rule: Rule, head: TriplePattern) -> Iterator[tuple[VarOrTerm, type[RdflibNode]]]:
    """List the terms of a conclusion that may be literals or blank nodes where a triple cannot have them."""
    found = {term for pattern in rule.body for term in (pattern.subject, pattern.predicate)}
    if head.subject not in found:
        yield head.subject, IdentifiedNode
    if head.predicate not in {pattern.predicate for pattern in rule.body}:
        yield head.predicate, URIRef


def _itself(term: VarOrTerm) -> Any:
    return term


@dataclass(frozen=True, slots=True)
class _Compared:
    """The condition that a comparison of a rule holds; a comparison with an error does not."""

    comparison: Comparison

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.comparison.variables)

    @property
    def text(self) -> str:
        return str(self.comparison)

    @property
    def is_plain(self) -> bool:
        return True

    def holds(self, term: Callable[[VarOrTerm], Any]) -> bool:
        """Return True if the comparison holds of the terms of both sides."""
        operator = self.comparison.operator
        left, right = term(self.comparison.left), term(self.comparison.right)
        if operator in ("is", "is not"):
            return bool(left == right) is (operator == "is")
        return compare(operator, left, right) is True

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[tuple[int, ...]], bool]:
        return _test(self.holds, columns, terms)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The condition that a term is an IRI, or an IRI or a blank node."""

    place: VarOrTerm
    kind: type[Any]

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.place.name,) if isinstance(self.place, Variable) else ()

    @property
    def text(self) -> str:
        return f"{to_text(self.place)} is a {self.kind.__name__}"

    @property
    def is_plain(self) -> bool:
        return True

    def holds(self, term: Callable[[VarOrTerm], Any]) -> bool:
        """Return True if the term is of this kind."""
        return isinstance(term(self.place), self.kind)

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[tuple[int, ...]], bool]:
        return _test(self.holds, columns, terms)


def _test(
    holds: Callable[[Callable[[VarOrTerm], Any]], bool], columns: Mapping[str, int], terms: Any
) -> Callable[[tuple[int, ...]], bool]:
    """Make the test of a row, in which each variable has the term of its column."""

    def test(row: tuple[int, ...]) -> bool:
        return holds(
            lambda side: terms.value(row[columns[side.name]]) if isinstance(side, Variable) else side
        )

    return test
