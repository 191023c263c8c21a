"""Which queries can be audited, and which differences from the store's engine are errors of rdflive.

Engines evaluate some constructs differently; see docs/conformance.md. So a difference alone proves an error
only for queries of triple patterns, joins and DISTINCT. For all other queries the graph must also give
another answer when rdflive reads it again.
"""

from __future__ import annotations

from typing import Final

from rdflive.query import algebra
from rdflive.query.algebra import Node
from rdflive.query.bgp import Variable
from rdflive.query.plan import Plan

__all__ = ["agrees_exactly", "why_not_audited"]

_EXACT: Final = (
    algebra.Basic,
    algebra.Distinct,
    algebra.Join,
    algebra.Parameters,
    algebra.Project,
)
"""Operators that all engines evaluate alike, without conditions. Not UNION, which property paths become too:
engines count the solutions of some paths differently.
"""


def why_not_audited(plan: Plan) -> str:
    """Return the reason why no evaluation can have the answer that a query keeps; empty if one can."""
    query = plan.query
    if plan.clocked:
        return "NOW() has another value in each evaluation"
    # `bound` without parameters: the terms are the rows of another query
    if query.bound and not query.parameters:
        return "its parameters are the rows of another query"
    if any(_makes_nodes(step.node) for step in plan.steps):
        return "its template makes blank nodes, which each evaluation names differently"
    return ""


def agrees_exactly(plan: Plan) -> bool:
    """True if every engine has the same answer, so that any difference is an error.

    >>> from rdflive.query.parse import parse_query
    >>> from rdflive.query.plan import make_plan
    >>> texts = "SELECT ?s { ?s a ?c }", "SELECT ?s { ?s <urn:p> ?n FILTER(?n > 1) }"
    >>> [agrees_exactly(make_plan(parse_query(text))) for text in texts]
    [True, False]
    """
    query = plan.query
    if query.bound or query.preset or query.form == "CONSTRUCT" or "REDUCED" in query.text.upper():
        return False
    return all(_is_exact(node) for node in algebra.topological(query.root))


def _is_exact(node: Node) -> bool:
    if not isinstance(node, _EXACT):
        return False
    # engines disagree about names of empty graphs
    return not isinstance(node, algebra.Basic) or not (node.conditions or isinstance(node.graph, Variable))


def _makes_nodes(node: Node) -> bool:
    if not isinstance(node, algebra.Construct):
        return False
    return any(not v.readable for triple in node.template for v in triple.variables)
