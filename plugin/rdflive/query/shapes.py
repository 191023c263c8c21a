"""Facts from the shape of a pattern: parts of a join, rows that a filter allows, emptiness."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rdflib.term import Literal, URIRef
from rdflib.term import Variable as RdflibVariable

from rdflive.query import algebra
from rdflive.query.algebra import Basic, Values
from rdflive.query.bgp import Variable, VarOrTerm
from rdflive.syntax.tree import Tree

__all__ = [
    "allowed_by", "bound_row", "branches_of", "fixed_rows", "is_empty_without", "is_set_of_iris", "is_values",
    "operands_of", "unbound_variable", "with_binds_apart", "without_match",
]  # fmt: skip


def is_empty_without(node: algebra.Node, graph: VarOrTerm) -> bool:
    """Return True if a pattern certainly has no solution over a graph without triples."""
    if isinstance(node, Basic):
        return bool(node.graph == graph)
    if isinstance(node, algebra.Closure):
        return is_empty_without(node.edges if node.seeds is None else node.seeds, graph)
    if isinstance(node, algebra.Union):
        return all(is_empty_without(branch, graph) for branch in node.branches)
    # COUNT(*) without GROUP BY is 0 for no rows
    if isinstance(node, algebra.Group) and node.seeds is not None:
        return False
    if isinstance(node, algebra.Join):
        return is_empty_without(node.left, graph) or is_empty_without(node.right, graph)
    # the rows of OPTIONAL, MINUS and EXISTS come from the left side
    return bool(node.inputs) and is_empty_without(node.inputs[0], graph)


def branches_of(node: Tree) -> list[Tree]:
    """List the branches of nested unions."""
    if node.name != "Union":
        return [node]
    return [branch for part in node.part for branch in branches_of(part)]


def operands_of(node: Tree) -> list[Tree]:
    """List the operands of nested joins."""
    if node.name != "Join":
        return [node]
    return [operand for part in node.part for operand in operands_of(part)]


def with_binds_apart(operands: list[Tree]) -> list[Tree]:
    """Separate BINDs of IRIs into operands of their own if other operands have the variable: `?b :line ?l
    BIND(:T101 AS ?t) ?t :line ?l` joins the same as `?b :line ?l VALUES ?t { :T101 } ?t :line ?l`.
    """
    for at, node in enumerate(operands):
        before, after = operands[:at], operands[at + 1 :]
        if node.name != "Extend" or type(node.expr) is not URIRef or bound_row(node) is not None:
            continue
        # if the pattern in front has the variable, BIND is refused
        if _mentions([*before, *after], node.var) and not _mentions(node.p, node.var):
            alone = node.changed(p=Tree("BGP", {"triples": ()}))
            return with_binds_apart([*before, *operands_of(node.p), alone, *after])
    return operands


def _mentions(node: Any, term: Any) -> bool:
    """Return True if a term is anywhere in a part of rdflib's algebra."""
    if isinstance(node, Tree):
        return _mentions(tuple(node.fields.values()), term)
    if isinstance(node, dict):
        return _mentions([*node.items()], term)
    if isinstance(node, list | tuple | set | frozenset):
        return any(_mentions(part, term) for part in node)
    return bool(node == term)


def is_values(node: Tree) -> bool:
    """Return True if a node is VALUES, not a subquery."""
    return node.name == "ToMultiSet" and getattr(node.p, "name", "") == "values"


def fixed_rows(part: Any) -> algebra.Values | None:
    """Read `?x = <iri>`, `<iri> = ?x` and `?x IN (<iri>, ...)` as the rows that they allow.

    Only IRIs: equal literals may be different terms, such as 1 and 1.0.
    """
    if not isinstance(part, Tree) or part.name != "RelationalExpression" or part.op not in ("=", "IN"):
        return None
    variable, iris = part.expr, part.other if part.op == "IN" else [part.other]
    if part.op == "=" and isinstance(part.other, RdflibVariable):
        variable, iris = part.other, [part.expr]
    if not isinstance(variable, RdflibVariable) or not all(type(iri) is URIRef for iri in iris):
        return None
    return Values((Variable(str(variable)),), tuple((iri,) for iri in dict.fromkeys(iris)))


def unbound_variable(part: Any) -> Variable | None:
    """Read `!BOUND(?x)`, the test that an OPTIONAL has no match."""
    if not isinstance(part, Tree) or part.name != "UnaryNot" or not isinstance(part.expr, Tree):
        return None
    if part.expr.name != "Builtin_BOUND" or not isinstance(part.expr.arg, RdflibVariable):
        return None
    return Variable(str(part.expr.arg))


def without_match(node: algebra.Node, variable: Variable) -> algebra.Node | None:
    """Keep the rows of OPTIONALs in which the one that binds a variable has no match, and list no matches.

    None if no OPTIONAL is the only one to bind it.
    """
    if not isinstance(node, algebra.LeftJoin):
        return None
    if variable in node.right.columns:
        if variable in node.left.columns or variable not in node.right.certain:
            return None
        rows = algebra.Exists(node.left, node.right, negated=True, condition=node.condition)
        # variables of the OPTIONAL are unbound in them
        return algebra.Project(rows, node.columns)
    left = without_match(node.left, variable)
    return None if left is None else replace(node, left=left)


def bound_row(node: Tree) -> algebra.Values | None:
    """Read the BIND of a constant after an empty pattern as an equivalent row of VALUES."""
    if node.name != "Extend" or node.p.name != "BGP" or node.p.triples:
        return None
    if not isinstance(node.expr, URIRef | Literal):
        return None
    return Values((Variable(str(node.var)),), ((node.expr,),))


def allowed_by(table: algebra.Values) -> list[algebra.OneOf]:
    """Return the conditions that each solution joined with rows of VALUES meets, for columns with only IRIs.

    UNDEF fits every term, and the store may write a literal in another way.
    """
    columns = zip(table.columns, zip(*table.rows, strict=True), strict=False)
    return [
        algebra.OneOf(column.name, frozenset(terms))
        for column, terms in columns
        if all(type(term) is URIRef for term in terms)
    ]


def is_set_of_iris(table: algebra.Values) -> bool:
    """Return True if rows of VALUES are distinct single IRIs: a join with them is a filter."""
    return len(table.columns) == 1 == len(allowed_by(table)) and len(set(table.rows)) == len(table.rows)
