"""Refuses queries that cannot be answered over what a graph entails."""

from __future__ import annotations

from rdflive.errors import UnsupportedQueryError
from rdflive.query.bgp import Variable
from rdflive.query.plan import Plan

__all__ = ["refuse_quads"]


def refuse_quads(plan: Plan) -> None:
    """Refuse a query that matches the quads of all graphs: entailment is that of one graph."""
    for basic in plan.basics:
        if isinstance(basic.graph, Variable):
            raise UnsupportedQueryError(
                "GRAPH with a variable, and FROM with several graphs, cannot be combined with entailment: "
                "each graph entails by itself; name the graph, or subscribe to each",
                construct="GRAPH ?g with entailment",
            )
