"""Inequalities between the two sides of an OPTIONAL or EXISTS, by which an index may keep rows in order."""

from __future__ import annotations

from dataclasses import dataclass

from rdflive.query import algebra
from rdflive.query.algebra import Columns
from rdflive.query.expressions import TURNED, Expression

__all__ = ["Inequality", "inequality_of"]


@dataclass(frozen=True, slots=True)
class Inequality:
    """The condition that an expression over the left row is less or greater than one over the right row."""

    left: Expression
    operator: str
    right: Expression
    is_all: bool
    """True where nothing else is asked of two rows with equal keys."""


def inequality_of(
    node: algebra.LeftJoin | algebra.Exists, left: Columns, right: Columns
) -> Inequality | None:
    """Find the first inequality in the condition of a node between rows of these columns.

    None where shared columns may be unbound: rows with equal values there are not all that fit.

    Example: of `{ ?p :sensor ?s ; :time ?u FILTER(?u > ?t && ?p != ?o) }`, with ?s, ?t and ?o from the left,
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
