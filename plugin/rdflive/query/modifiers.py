"""Solution modifiers and grouping: projection, DISTINCT, ORDER BY with LIMIT and OFFSET, aggregates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Variable as RdflibVariable

from rdflive.query import algebra
from rdflive.query.algebra import Aggregate, Distinct, OrderCondition, Project, Slice
from rdflive.query.bgp import Variable

if TYPE_CHECKING:
    from rdflive.query.algebra import Condition
    from rdflive.query.scope import Scope
    from rdflive.query.translate import Translator

__all__ = ["Modifiers", "group_rows", "peel", "select"]


@dataclass(slots=True)
class Modifiers:
    """What stands around the pattern of a SELECT."""

    pattern: CompValue
    projected: tuple[str, ...] = ()
    distinct: bool = False
    order: tuple[CompValue, ...] = ()
    offset: int = 0
    limit: int | None = None

    @property
    def slices(self) -> bool:
        """True when LIMIT or OFFSET leaves out rows."""
        return self.limit is not None or self.offset > 0


def peel(node: CompValue) -> Modifiers:
    """Take the solution modifiers off the pattern."""
    modifiers = Modifiers(node)
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


def select(translator: Translator, node: CompValue, scope: Scope, offered: list[Condition]) -> algebra.Node:
    """Translate a subquery: only its projected columns are seen outside."""
    modifiers = peel(node.p if node.name == "SelectQuery" else node)
    down = [] if modifiers.slices else [c for c in offered if set(c.variables) <= set(modifiers.projected)]
    kept_back = [c for c in offered if c not in down]
    pattern = translator.group(modifiers.pattern, scope, down)
    offered[:] = [c for c in offered if c in kept_back or c in down]
    return modified(translator, modifiers, pattern, scope)


def modified(
    translator: Translator, modifiers: Modifiers, pattern: algebra.Node, scope: Scope, *, root: bool = False
) -> algebra.Node:
    """Apply the modifiers to a pattern; the root keeps the columns that its order reads."""
    shown = algebra.ordered(
        (*scope.context, *(v for v in pattern.columns if v.distinguished and v.name in modifiers.projected))
    )
    if not modifiers.slices and not (root and modifiers.order):
        node: algebra.Node = Project(pattern, shown, closes=True)
        return Distinct(node) if modifiers.distinct else node
    pattern, order = order_of(translator, modifiers, pattern, scope)
    read = {name for condition in order for name in condition.expression.variables}
    extra = tuple(v for v in pattern.columns if v.readable and v.name in read and v not in shown)
    if modifiers.distinct and extra:
        raise translator.refuse("DistinctOrder")
    node = Project(pattern, (*shown, *extra), closes=True)
    if modifiers.distinct:
        node = Distinct(node)
    if modifiers.slices:
        node = Slice(node, order, modifiers.offset, modifiers.limit, scope.context)
    return node if root else Project(node, shown)


def order_of(
    translator: Translator, modifiers: Modifiers, pattern: algebra.Node, scope: Scope
) -> tuple[algebra.Node, tuple[OrderCondition, ...]]:
    """Make the conditions of ORDER BY; EXISTS in one becomes a column."""
    order = []
    for condition in modifiers.order:
        pattern, expression = translator.marked(pattern, condition.expr, scope)
        order.append(OrderCondition(translator.expression(expression), condition.order == "DESC"))
    return pattern, tuple(order)


_ANY: Final = Variable("any", distinguished=False)


def group_rows(translator: Translator, node: CompValue, scope: Scope) -> algebra.Node:
    """Translate GROUP BY and its aggregates (rdflib puts SAMPLE around the variables grouped by)."""
    rows = translator.group(node.p.p, scope)
    keys: list[Variable] = []
    for key in node.p.expr or ():
        if isinstance(key, RdflibVariable):
            keys.append(Variable(str(key)))
        else:
            hidden = translator.fresh()
            rows, expression = translator.marked(rows, key, scope)
            rows = algebra.Extend(rows, hidden, translator.expression(expression))
            keys.append(hidden)
    grouped = algebra.ordered((*scope.context, *(key for key in keys if key in rows.columns)))
    copies: list[tuple[Variable, Variable]] = []
    aggregates: dict[Aggregate, Aggregate] = {}
    for part in node.A:
        result = Variable(str(part.res))
        over = Variable(str(part.vars)) if isinstance(part.vars, RdflibVariable) else None
        if part.name == "Aggregate_Sample" and over in grouped:
            copies.append((result, over))
        else:
            rows, aggregate = _aggregate(translator, rows, part, result, scope)
            known = aggregates.setdefault(replace(aggregate, variable=_ANY), aggregate)
            if known is not aggregate:  # SELECT, HAVING and ORDER BY may ask for the same
                copies.append((result, known.variable))
    seeds: algebra.Node | None = None
    if node.p.expr is None:
        seeds = algebra.Values() if scope.seed is None else Distinct(Project(scope.seed, scope.context))
    group = algebra.Group(rows, grouped, tuple(aggregates.values()), seeds)
    return Project(group, group.columns, tuple(copies)) if copies else group


def _aggregate(
    translator: Translator, rows: algebra.Node, part: Any, result: Variable, scope: Scope
) -> tuple[algebra.Node, Aggregate]:
    name: Any = part.name.removeprefix("Aggregate_").upper()
    name = "GROUP_CONCAT" if name == "GROUPCONCAT" else name
    expression = None
    if not (isinstance(part.vars, str) and str(part.vars) == "*"):
        rows, marked = translator.marked(rows, part.vars, scope)
        expression = translator.expression(marked)
    separator = " " if part.separator is None else str(part.separator)
    return rows, Aggregate(name, result, expression, bool(part.distinct), separator)
