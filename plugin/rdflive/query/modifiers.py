"""Solution modifiers and grouping: projection, DISTINCT, ORDER BY, LIMIT, OFFSET, aggregates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from rdflib.term import Variable as RdflibVariable

from rdflive.query import algebra
from rdflive.query.algebra import Aggregate, Distinct, OrderCondition, Project, Slice
from rdflive.query.bgp import Variable
from rdflive.query.expressions import Expression, volatile
from rdflive.query.expressions import replace as replace_in
from rdflive.query.marks import marked, needs_marks
from rdflive.query.scope import Query, Scope
from rdflive.syntax.tree import Tree

__all__ = ["Modifiers", "group_rows", "modified", "peel"]


@dataclass(slots=True)
class Modifiers:
    """The solution modifiers around the pattern of a SELECT."""

    pattern: Tree
    projected: tuple[str, ...] = ()
    distinct: bool = False
    order: tuple[Tree, ...] = ()
    offset: int = 0
    limit: int | None = None

    @property
    def slices(self) -> bool:
        """True if LIMIT or OFFSET drops rows."""
        return self.limit is not None or self.offset > 0


def peel(node: Tree) -> Modifiers:
    """Separate the solution modifiers from the pattern."""
    modifiers = Modifiers(node)
    # REDUCED needs no operator: it permits duplicates to stay
    while node.name in ("Slice", "Distinct", "Reduced", "Project", "OrderBy"):
        if node.name == "Slice":
            modifiers.offset, modifiers.limit = node.start, node.length
        elif node.name == "Distinct":
            modifiers.distinct = True
        elif node.name == "Project":
            modifiers.projected = tuple(dict.fromkeys(map(str, node.PV)))
        elif node.name == "OrderBy":
            modifiers.order = tuple(node.expr)
        node = modifiers.pattern = node.p
    return modifiers


def modified(
    pattern: algebra.Node, modifiers: Modifiers, scope: Scope, *, root: bool = False
) -> tuple[algebra.Node, tuple[OrderCondition, ...]]:
    """Apply the modifiers to a pattern. At the root, also return the order and keep the columns that it
    reads.
    """
    shown = algebra.ordered(
        (*scope.context, *(v for v in pattern.columns if v.distinguished and v.name in modifiers.projected))
    )
    # in a subquery without LIMIT and OFFSET an order changes nothing, so it is dropped
    if not modifiers.slices and not (root and modifiers.order):
        node: algebra.Node = Project(pattern, shown, closes=True)
        return (Distinct(node) if modifiers.distinct else node), ()
    pattern, order = _ordered(pattern, modifiers, scope)
    read = {name for condition in order for name in condition.expression.variables}
    # columns that only ORDER BY reads stay until the rows are sorted
    extra = tuple(v for v in pattern.columns if v.readable and v.name in read and v not in shown)
    if modifiers.distinct and extra:
        raise scope.query.refuse("DistinctOrder")
    node = Project(pattern, (*shown, *extra), closes=True)
    if modifiers.distinct:
        node = Distinct(node)
    if modifiers.slices:
        node = Slice(node, order, modifiers.offset, modifiers.limit, scope.context)
    return (node, order) if root else (Project(node, shown), ())


def _ordered(
    pattern: algebra.Node, modifiers: Modifiers, scope: Scope
) -> tuple[algebra.Node, tuple[OrderCondition, ...]]:
    """Make the conditions of ORDER BY; conditions that need marks become columns."""
    known = _Assignments(pattern, modifiers, scope.query)
    order = []
    for condition in modifiers.order:
        pattern, expression = marked(pattern, known.read(condition.expr), scope)
        order.append(OrderCondition(scope.query.expression(expression), condition.order == "DESC"))
    return pattern, tuple(order)


class _Assignments:
    """The assignments of the SELECT clause, so that ORDER BY can read an assigned column instead of computing
    it again.

    rdflib makes a new aggregate for each use of the same one; `group_rows` computes it once and copies the
    column.
    """

    def __init__(self, pattern: algebra.Node, modifiers: Modifiers, query: Query) -> None:
        self._query = query
        self._copies = _copies(pattern)
        self._names: dict[Expression, RdflibVariable] = {}
        self._sampled: dict[RdflibVariable, RdflibVariable] = {}
        node = modifiers.pattern
        # rdflib puts the assignments of SELECT and the filter of HAVING around the aggregates
        while node.name in ("Extend", "Filter"):
            if node.name == "Extend" and str(node.var) in modifiers.projected:
                self._sampled[node.var] = node.var
                if not needs_marks(node.expr):
                    self._names.setdefault(self._expression(node.expr), node.var)
            node = node.p
        # rdflib also puts SAMPLE around names that SELECT assigns, which no row of a group has
        samples = [part for part in node.A or () if part.name == "Aggregate_Sample"]
        names = [part for part in samples if isinstance(part.vars, RdflibVariable)]
        self._sampled = {p.res: self._sampled[p.vars] for p in names if p.vars in self._sampled}

    def read(self, node: Any) -> Any:
        """Replace the expressions that projected variables are assigned by these variables."""
        return replace_in(node, self._assigned)

    def _assigned(self, part: Any) -> Any:
        if not isinstance(part, Tree | RdflibVariable) or needs_marks(part) or volatile(part) is not None:
            return None
        if isinstance(part, RdflibVariable) and part in self._sampled:
            return self._sampled[part]
        return self._names.get(self._expression(part))

    def _expression(self, node: Any) -> Expression:
        def original(part: Any) -> Any:
            return self._copies.get(part) if isinstance(part, RdflibVariable) else None

        return self._query.expression(replace_in(node, original))


def _copies(node: algebra.Node) -> dict[RdflibVariable, RdflibVariable]:
    """Return, for each copy of an aggregate or grouped variable, the column that it copies."""
    while node.inputs and not isinstance(node, algebra.Group):
        if isinstance(node, Project) and isinstance(node.input, algebra.Group):
            return {RdflibVariable(new.name): RdflibVariable(old.name) for new, old in node.renamed}
        node = node.inputs[0]
    return {}


_NAMELESS: Final = Variable("nameless", distinguished=False)
"""Replaces the result's name when aggregates are compared."""


def group_rows(rows: algebra.Node, node: Tree, scope: Scope) -> algebra.Node:
    """Group rows and aggregate them. rdflib puts SAMPLE around grouped variables, which become copies."""
    keys: list[Variable] = []
    for key in node.p.expr or ():
        if isinstance(key, RdflibVariable):
            keys.append(Variable(str(key)))
        else:
            hidden = scope.query.fresh()
            rows, expression = marked(rows, key, scope)
            rows = algebra.Extend(rows, hidden, scope.query.expression(expression))
            keys.append(hidden)
    # a key that nothing binds is unbound in every row, and divides no group
    grouped = algebra.ordered((*scope.context, *(key for key in keys if key in rows.columns)))
    copies: list[tuple[Variable, Variable]] = []
    aggregates: dict[Aggregate, Aggregate] = {}
    for part in node.A:
        result = Variable(str(part.res))
        over = Variable(str(part.vars)) if isinstance(part.vars, RdflibVariable) else None
        if part.name == "Aggregate_Sample" and over in grouped:
            copies.append((result, over))
        else:
            rows, aggregate = _aggregate(rows, part, result, scope)
            known = aggregates.setdefault(replace(aggregate, variable=_NAMELESS), aggregate)
            if known is not aggregate:  # SELECT, HAVING and ORDER BY may have the same
                copies.append((result, known.variable))
    seeds: algebra.Node | None = None
    # without GROUP BY there is a group of no rows too, in each graph and for each outer solution
    if node.p.expr is None:
        seeds = algebra.Values() if scope.seed is None else Distinct(Project(scope.seed, scope.context))
    unbound = tuple(key for key in keys if key not in rows.columns)
    group = algebra.Group(rows, grouped, tuple(aggregates.values()), seeds, unbound)
    return Project(group, group.columns, tuple(copies)) if copies else group


def _aggregate(
    rows: algebra.Node, part: Any, result: Variable, scope: Scope
) -> tuple[algebra.Node, Aggregate]:
    name: Any = part.name.removeprefix("Aggregate_").upper()
    name = "GROUP_CONCAT" if name == "GROUPCONCAT" else name
    expression = None
    if not (isinstance(part.vars, str) and str(part.vars) == "*"):
        rows, read = marked(rows, part.vars, scope)
        expression = scope.query.expression(read)
    separator = " " if part.separator is None else str(part.separator)
    return rows, Aggregate(name, result, expression, bool(part.distinct), separator)
