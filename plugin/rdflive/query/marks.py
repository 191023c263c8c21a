"""Conditions that a row alone does not determine: EXISTS, and comparisons with NOW().

Each is an operator, which drops rows or adds a column, a *mark*. In a larger expression the mark replaces the
condition: `FILTER(EXISTS { ?t :delay ?m } || ?time < NOW())` reads two marks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rdflib.term import Variable as RdflibVariable

from rdflive.query import algebra
from rdflive.query.algebra import Columns
from rdflive.query.bgp import Variable
from rdflive.query.exists import exists
from rdflive.query.expressions import (
    TURNED,
    ClockComparison,
    Expression,
    clock_parts,
    exists_parts,
    read_comparison,
    volatile,
    why_never,
)
from rdflive.query.expressions import replace as replace_in
from rdflive.query.scope import Query, Scope
from rdflive.syntax.tree import EXISTS, Tree

__all__ = ["Inequality", "filter_marked", "inequality_of", "marked", "needs_marks"]


def needs_marks(expression: Any) -> bool:
    """Return True if a row alone does not determine the value of an expression."""
    return bool(exists_parts(expression) or clock_parts(expression))


def filter_marked(node: algebra.Node, condition: Any, scope: Scope) -> algebra.Node:
    """Keep the rows that meet a condition which needs marks."""
    if isinstance(condition, Tree) and condition.name in EXISTS:
        return exists(node, condition, scope)
    if clock_parts(condition) == [condition]:
        return _clocked(node, condition, scope)
    node, expression = marked(node, condition, scope)
    return algebra.Filter(node, scope.query.expression(expression))


def marked(node: algebra.Node, expression: Any, scope: Scope) -> tuple[algebra.Node, Any]:
    """Add a mark per part of an expression that needs one; return the expression that reads the marks."""
    marks: dict[int, RdflibVariable] = {}
    for operator, parts in ((exists, exists_parts(expression)), (_clocked, clock_parts(expression))):
        for part in parts:
            mark = scope.query.fresh()
            node = operator(node, part, scope, mark)
            marks[id(part)] = RdflibVariable(mark.name)
    return node, replace_in(expression, lambda part: marks.get(id(part))) if marks else expression


def _clocked(node: algebra.Node, part: Tree, scope: Scope, mark: Variable | None = None) -> algebra.Node:
    return algebra.Clocked(node, _comparison(part, scope.query), mark)


def _comparison(part: Tree, query: Query) -> ClockComparison:
    value, operator, moves = read_comparison(part)
    if not query.has_clock:
        raise query.refuse("NOW alone", at=volatile(part))
    moves = [(sign, query.constant(move)) for sign, move in moves]
    reason = why_never(query.constant(value), operator, moves)
    if reason:
        raise query.refuse(reason, at=part)
    made = tuple((sign, query.expression(move)) for sign, move in moves)
    return ClockComparison(query.expression(value), operator, made)


@dataclass(frozen=True, slots=True)
class Inequality:
    """The condition that an expression over the left row is less or greater than one over the right row."""

    left: Expression
    operator: str
    right: Expression
    is_all: bool
    """True if it is the only condition on two rows with equal keys."""


def inequality_of(
    node: algebra.LeftJoin | algebra.Exists, left: Columns, right: Columns
) -> Inequality | None:
    """Return the first inequality in the condition of a node between rows of these columns.

    None if shared columns may be unbound: then rows with equal values there are not all that fit.

    Example: for `{ ?p :sensor ?s ; :time ?u FILTER(?u > ?t && ?p != ?o) }`, with ?s, ?t and ?o from the left,
    it is `?t < ?u`.
    """
    if any(v in left and v in right and v not in node.keys for v in node.shared):
        return None
    names = [{v.name for v in columns if v.readable} for columns in (left, right)]
    condition = node.condition
    parts = condition.parts if isinstance(condition, algebra.AllOf) else (condition,)
    for part in parts:
        found = part.ordering if isinstance(part, Expression) else None
        if found is None:
            continue
        one, operator, other = found
        for mine, sign, theirs in ((one, operator, other), (other, TURNED[operator], one)):
            sides = (set(mine.variables), set(theirs.variables))
            if all(own and own <= known for own, known in zip(sides, names, strict=True)):
                return Inequality(mine, sign, theirs, len(parts) == 1)
    return None
