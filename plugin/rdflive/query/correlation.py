"""EXISTS reaches into the solution it is asked for: when that matters, and how the solution gets in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rdflive.query import algebra
from rdflive.query.algebra import Distinct, Project
from rdflive.query.bgp import Variable

if TYPE_CHECKING:
    from rdflive.query.translate import Translator

__all__ = ["exact_copies", "is_independent", "seed_of"]


def is_independent(inner: algebra.Node, outer: algebra.Node) -> bool:
    """Tell whether a pattern inside EXISTS may be evaluated by itself and then be joined.

    It may when no part of it looks at a variable of the outer solution before it has bound it: then the
    solutions for one value of the variable are those of the whole that have the value.
    """
    return _commutes(inner, frozenset(v for v in outer.columns if v.readable))


def _commutes(node: algebra.Node, outer: frozenset[Variable]) -> bool:
    """Tell whether restricting the outer variables below the node and above it come to the same."""
    read: frozenset[Variable] = frozenset()
    bound = node.certain
    if isinstance(node, algebra.Filter | algebra.LeftJoin):
        read = _named(outer, node.condition.variables if node.condition else ())
        bound = frozenset[Variable]().union(*(below.certain for below in node.inputs))
    elif isinstance(node, algebra.Extend):
        read, bound = _named(outer, node.expression.variables), node.input.certain
    if isinstance(node, algebra.LeftJoin | algebra.Minus | algebra.Exists):
        right = node.right
        if isinstance(node, algebra.Exists) and isinstance(right, Project):
            right = right.input  # also what the left has no column for may be one of the outer variables
        read |= outer.intersection(right.columns)
        bound = node.left.certain
    if not read <= bound:
        return False
    if isinstance(node, algebra.Closure):
        return _commutes(node.edges, outer)  # what it starts from is joined with it anyway
    if isinstance(node, algebra.Group) or (isinstance(node, Project) and node.closes):
        outer = outer.intersection(node.columns)
    return all(_commutes(below, outer) for below in node.inputs)


def _named(variables: Iterable[Variable], names: tuple[str, ...]) -> frozenset[Variable]:
    return frozenset(v for v in variables if v.name in names)


def seed_of(
    translator: Translator, outer: algebra.Node, inner: algebra.Node, context: algebra.Columns
) -> tuple[algebra.Node, algebra.Node]:
    """Give the outer rows with exact copies of what may be unbound, and the distinct part that reaches in.

    Each row of the second seeds the pattern inside EXISTS; its exact columns lead back to the first.
    """
    nodes = algebra.topological(inner)
    names = {v.name for node in nodes for v in node.columns if v.readable}
    for node in nodes:
        if isinstance(node, algebra.Filter | algebra.LeftJoin) and node.condition is not None:
            names.update(node.condition.variables)
        elif isinstance(node, algebra.Extend):
            names.update(node.expression.variables)
    reaching = tuple(v for v in outer.columns if v.readable and v.name in names)
    outer, keys = exact_copies(translator, outer, reaching)
    kept = algebra.ordered((*(v for v in context if v in outer.columns), *keys, *reaching))
    return outer, Distinct(Project(outer, kept))


def exact_copies(
    translator: Translator, node: algebra.Node, columns: algebra.Columns
) -> tuple[algebra.Node, algebra.Columns]:
    """Give the rows with columns that tell theirs apart exactly: copies of those that may be unbound."""
    copies = {v: translator.fresh() for v in columns if v not in node.certain}
    if copies:
        renamed = tuple((copy, v) for v, copy in copies.items())
        node = Project(node, node.columns, renamed, frozenset(copies.values()))
    return node, tuple(copies.get(v, v) for v in columns)
