"""EXISTS as a filter, or as a mark per row: how outer solutions reach its pattern.

SPARQL evaluates the pattern of an EXISTS once per solution, with the solution's values substituted. rdflive
evaluates it once for all solutions. There are three cases:

If the pattern does not read outer variables before it binds them, it is joined with the solutions. Example:
`FILTER EXISTS { ?t :delay ?m }`.

If only filters of the whole pattern read them, these filters are the condition of the join. Example: `FILTER
EXISTS { ?t :delay ?m FILTER(?m > ?limit) }` with ?limit from outside.

Otherwise the distinct outer solutions are joined in at the leaves of the pattern, which carry their columns
along. Example: the same in a branch of UNION.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rdflive.query import algebra
from rdflive.query.algebra import Distinct, Project
from rdflive.query.bgp import Variable
from rdflive.query.joins import linked_patterns
from rdflive.query.scope import Scope

__all__ = ["exact_copies", "exists"]


def exists(outer: algebra.Node, part: Any, scope: Scope, mark: Variable | None = None) -> algebra.Node:
    """Keep the rows with (or without) a solution of the EXISTS; with a mark, keep all rows."""
    # translated on trial, as if the pattern were independent; only its algebra shows whether it is
    inside = scope.base.mentioning(part.graph)
    whole = scope.query.translate(part.graph, replace(inside, bounds=(outer,)), [])
    inner, conditions = _peeled(whole, outer)
    if not _is_independent(inner, outer) or (conditions and _is_product(inner)):
        conditions = []
        outer, seed = _seed_of(outer, whole, scope)
        # no bounds: the seed is joined with everything, so paths may start from it
        inner = scope.query.translate(part.graph, replace(scope.base, outer=seed, bounds=()), [])
    # only the columns for compatibility and for the conditions are kept
    condition = algebra.conjunction(conditions)
    read = algebra.reads(condition, inner.columns)
    visible = Project(inner, tuple(v for v in inner.columns if v in outer.columns or v in read))
    return algebra.Exists(outer, visible, part.name == "Builtin_NOTEXISTS", mark, condition)


def _peeled(node: algebra.Node, outer: algebra.Node) -> tuple[algebra.Node, list[algebra.Condition]]:
    """Remove the top filters of a pattern that read outer variables which the pattern may leave unbound."""
    if isinstance(node, Project) and not node.closes:
        below, conditions = _peeled(node.input, outer)
        names = {name for condition in conditions for name in condition.variables}
        # a filter inside GRAPH ?g does not see the ?g that a filter around it would see
        changed = {*node.columns, *node.input.columns}.difference(node.kept)
        if any(v.readable and v.name in names for v in changed):
            return node, []
        return replace(node, input=below), conditions
    if not isinstance(node, algebra.Filter):
        return node, []
    below, conditions = _peeled(node.input, outer)
    if algebra.reads(node.condition, outer.columns) <= below.certain:
        return replace(node, input=below), conditions
    return below, [*conditions, node.condition]


def _is_product(node: algebra.Node) -> bool:
    """Return True if some part lists all pairs of rows that only the outer solution would link."""
    return any(
        (isinstance(below, algebra.Basic) and len(linked_patterns(below.patterns)) > 1)
        or (isinstance(below, algebra.Join) and not below.shared)
        for below in algebra.topological(node)
    )


def _is_independent(inner: algebra.Node, outer: algebra.Node) -> bool:
    """Return True if the pattern of an EXISTS may be evaluated by itself and then joined.

    It may if no part of it reads a variable of the outer solution before binding it: then its solutions for
    one value of the variable are all of its solutions with that value.
    """
    return _commutes(inner, frozenset(v for v in outer.columns if v.readable))


def _commutes(node: algebra.Node, outer: frozenset[Variable]) -> bool:
    """Return True if restricting the outer variables below a node has the same result as above it."""
    read: frozenset[Variable] = frozenset()
    bound = node.certain
    if isinstance(node, algebra.Filter | algebra.Clocked | algebra.LeftJoin | algebra.Exists):
        # In `{ ?t :delay ?m FILTER(?m > ?limit) }` the filter finds ?limit unbound if outer values are joined
        # afterwards. If the pattern itself binds ?limit, there is no difference.
        read = _named(outer, node.condition.variables if node.condition else ())
        bound = frozenset[Variable]().union(*(below.certain for below in node.inputs))
    elif isinstance(node, algebra.Extend):
        read, bound = _named(outer, node.expression.variables), node.input.certain
    # the right side is a test of left rows, so its outer variables count as read
    if isinstance(node, algebra.LeftJoin | algebra.Minus | algebra.Exists):
        right = node.right
        if isinstance(node, algebra.Exists) and isinstance(right, Project):
            right = right.input  # a column that the projection drops may still be an outer variable
        read |= outer.intersection(right.columns)
        bound = node.left.certain
    if not read <= bound:
        return False
    if isinstance(node, algebra.Closure):
        return _commutes(node.edges, outer)  # its seeds are joined with it anyway
    if isinstance(node, algebra.Group) or (isinstance(node, Project) and node.closes):
        # other variables inside a subquery only have the same name
        outer = outer.intersection(node.columns)
    return all(_commutes(below, outer) for below in node.inputs)


def _named(variables: Iterable[Variable], names: tuple[str, ...]) -> frozenset[Variable]:
    return frozenset(v for v in variables if v.name in names)


def _seed_of(outer: algebra.Node, inner: algebra.Node, scope: Scope) -> tuple[algebra.Node, algebra.Node]:
    """Return the outer rows, and the distinct part of them that the pattern of the EXISTS reads.

    Each row of the second seeds the pattern. Columns that may be unbound get an exact copy, which matches
    results with the outer rows again: an unbound value is compatible with every value, so it could not
    distinguish rows.
    """
    nodes = algebra.topological(inner)
    names = {v.name for node in nodes for v in node.columns if v.readable}
    evaluating = algebra.Filter | algebra.Clocked | algebra.LeftJoin | algebra.Exists | algebra.Extend
    for expression in (e for node in nodes if isinstance(node, evaluating) for e in node.expressions):
        names.update(expression.variables)
    reaching = tuple(v for v in outer.columns if v.readable and v.name in names)
    outer, keys = exact_copies(outer, reaching, scope)
    kept = algebra.ordered((*(v for v in scope.base.context if v in outer.columns), *keys, *reaching))
    return outer, Distinct(Project(outer, kept))


def exact_copies(
    node: algebra.Node, columns: algebra.Columns, scope: Scope
) -> tuple[algebra.Node, algebra.Columns]:
    """Return the rows with copies of the columns that may be unbound, for exact comparison, unbound included.

    Example: OPTIONAL left (T101, 4) and (T102, unbound). In a join the second fits any value of its last
    column; with the copies it fits only itself.
    """
    copies = {v: scope.query.fresh() for v in columns if v not in node.certain}
    if copies:
        renamed = tuple((copy, v) for v, copy in copies.items())
        node = Project(node, node.columns, renamed, frozenset(copies.values()))
    return node, tuple(copies.get(v, v) for v in columns)
