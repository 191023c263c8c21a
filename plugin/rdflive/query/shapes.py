"""What can be read from the shape of a pattern: parts of a join, rows that a filter allows, emptiness."""

from __future__ import annotations

from typing import Any

from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import URIRef
from rdflib.term import Variable as RdflibVariable

from rdflive.query import algebra
from rdflive.query.algebra import Basic, Values
from rdflive.query.bgp import Variable, VarOrTerm

__all__ = ["branches_of", "fixed_rows", "is_empty_without", "is_values", "operands_of"]


def is_empty_without(node: algebra.Node, graph: VarOrTerm) -> bool:
    """Tell whether a pattern certainly has no solution over a graph without triples."""
    if isinstance(node, Basic):
        return bool(node.graph == graph)
    if isinstance(node, algebra.Closure):
        return is_empty_without(node.edges if node.seeds is None else node.seeds, graph)
    if isinstance(node, algebra.Union):
        return all(is_empty_without(branch, graph) for branch in node.branches)
    # COUNT(*) without GROUP BY is 0 over nothing
    if isinstance(node, algebra.Group) and node.seeds is not None:
        return False
    if isinstance(node, algebra.Join):
        return is_empty_without(node.left, graph) or is_empty_without(node.right, graph)
    # of OPTIONAL, MINUS and EXISTS the left side alone brings rows
    return bool(node.inputs) and is_empty_without(node.inputs[0], graph)


def branches_of(node: CompValue) -> list[CompValue]:
    """List the branches of nested unions."""
    if node.name != "Union":
        return [node]
    return [*branches_of(node.p1), *branches_of(node.p2)]


def operands_of(node: CompValue) -> list[CompValue]:
    """List the operands of nested joins."""
    if node.name != "Join":
        return [node]
    return [*operands_of(node.p1), *operands_of(node.p2)]


def is_values(node: CompValue) -> bool:
    """Tell whether a node is VALUES, not a subquery."""
    return node.name == "ToMultiSet" and getattr(node.p, "name", "") == "values"


def fixed_rows(part: Any) -> algebra.Values | None:
    """Read `?x = <iri>` and `?x IN (<iri>, ...)` as the rows that they allow.

    Only IRIs: equal literals may be different terms, such as 1 and 1.0.
    """
    if not isinstance(part, CompValue) or part.name != "RelationalExpression" or part.op not in ("=", "IN"):
        return None
    iris = part.other if part.op == "IN" else [part.other]
    if not isinstance(part.expr, RdflibVariable) or not all(type(iri) is URIRef for iri in iris):
        return None
    return Values((Variable(str(part.expr)),), tuple((iri,) for iri in dict.fromkeys(iris)))
