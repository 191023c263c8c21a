"""Plans of queries that differ in IRIs: a plan for some names is reused with others.

A plan of `?t :line ?l . ?t :delay ?m` also fits `?t :stop ?l . ?t :fault ?m`, with other names in its
patterns. An IRI may be renamed if it occurs only in triple patterns, because nothing else of a plan depends
on it. But triples are ordered by their predicates (`syntax.algebra`), so names in another order are planned
separately: a renamed plan equals the plan of its own text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from rdflib.term import Node, URIRef

from rdflive.query import algebra
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.plan import Plan, Step

__all__ = ["predicates_of", "renamed"]

_PLAIN: Final = (
    algebra.Basic, algebra.Distinct, algebra.Extend, algebra.Filter, algebra.Group, algebra.Join,
    algebra.LeftJoin, algebra.Minus, algebra.Parameters, algebra.Project, algebra.Slice, algebra.Union,
    algebra.Values,
)  # fmt: skip
"""Operators that read triples only through their inputs: their expressions contain no pattern."""


def predicates_of(plan: Plan) -> tuple[URIRef, ...] | None:
    """List the predicates of a plan in their order; None if no name in it may be replaced."""
    nodes = algebra.topological(plan.query.root)
    if not all(isinstance(node, _PLAIN) for node in (*nodes, *(step.node for step in plan.steps))):
        return None
    basics = (node for node in nodes if isinstance(node, algebra.Basic))
    found = {pattern.predicate for basic in basics for pattern in basic.patterns}
    return tuple(sorted((term for term in found if isinstance(term, URIRef)), key=str))


def renamed(plan: Plan, names: Mapping[Any, Any], text: str, parameters: Mapping[Variable, Node]) -> Plan:
    """Return a plan with other names in its patterns, for another text with its own terms."""
    made: dict[algebra.Node, algebra.Node] = {}
    terms: dict[TriplePattern, TriplePattern] = {}

    def pattern_of(pattern: TriplePattern) -> TriplePattern:
        found = terms.get(pattern)
        if found is None:
            s, p, o = pattern.subject, pattern.predicate, pattern.object
            found = TriplePattern(names.get(s, s), names.get(p, p), names.get(o, o), pattern.graph)
            terms[pattern] = found
        return found

    def patterns_of(patterns: tuple[TriplePattern, ...]) -> tuple[TriplePattern, ...]:
        return tuple([pattern_of(pattern) for pattern in patterns])

    def node_of(root: algebra.Node) -> algebra.Node:
        for node in algebra.topological(root) if root not in made else ():
            if node not in made:
                made[node] = (
                    algebra.Basic(patterns_of(node.patterns), node.graph, node.conditions, node.asked)
                    if isinstance(node, algebra.Basic)
                    else algebra.with_inputs(node, made)
                )
        return made[root]

    def step_of(step: Step) -> Step:
        basic = step.basic
        if basic is not None:
            segments = [replace(part, patterns=patterns_of(part.patterns)) for part in basic.segments]
            basic = replace(basic, segments=tuple(segments))
        return Step(node_of(step.node), step.inputs, step.columns, basic)

    query = plan.query
    shape = query.shape and (query.shape[0], tuple([names.get(name, name) for name in query.shape[1]]))
    return replace(
        plan,
        query=replace(query, text=text, root=node_of(query.root), shape=shape, parameters=parameters),
        steps=tuple(map(step_of, plan.steps)),
        original=plan.original or plan,
    )
