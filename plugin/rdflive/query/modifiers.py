"""Solution modifiers and grouping: projection, DISTINCT, ORDER BY with LIMIT and OFFSET, aggregates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Variable as RdflibVariable

from rdflive.query import algebra
from rdflive.query.algebra import Aggregate, Distinct, OrderCondition, Project, Slice
from rdflive.query.bgp import Variable
from rdflive.query.expressions import Expression, exists_parts
from rdflive.query.expressions import replace as replace_in

if TYPE_CHECKING:
    from rdflive.query.algebra import Condition
    from rdflive.query.scope import Scope
    from rdflive.query.translate import Translator

__all__ = ["Modifiers", "group_rows", "modified", "peel", "select"]


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
    return modified(translator, modifiers, pattern, scope)[0]


def modified(
    translator: Translator, modifiers: Modifiers, pattern: algebra.Node, scope: Scope, *, root: bool = False
) -> tuple[algebra.Node, tuple[OrderCondition, ...]]:
    """Apply the modifiers to a pattern; the root also gives its order, and keeps the columns it reads."""
    shown = algebra.ordered(
        (*scope.context, *(v for v in pattern.columns if v.distinguished and v.name in modifiers.projected))
    )
    if not modifiers.slices and not (root and modifiers.order):
        node: algebra.Node = Project(pattern, shown, closes=True)
        return (Distinct(node) if modifiers.distinct else node), ()
    pattern, order = _ordered(translator, modifiers, pattern, scope)
    read = {name for condition in order for name in condition.expression.variables}
    extra = tuple(v for v in pattern.columns if v.readable and v.name in read and v not in shown)
    if modifiers.distinct and extra:
        raise translator.refuse("DistinctOrder")
    node = Project(pattern, (*shown, *extra), closes=True)
    if modifiers.distinct:
        node = Distinct(node)
    if modifiers.slices:
        node = Slice(node, order, modifiers.offset, modifiers.limit, scope.context)
    return (node, order) if root else (Project(node, shown), ())


def _ordered(
    translator: Translator, modifiers: Modifiers, pattern: algebra.Node, scope: Scope
) -> tuple[algebra.Node, tuple[OrderCondition, ...]]:
    """Make the conditions of ORDER BY; EXISTS in one becomes a column."""
    known = _Assignments(translator, modifiers, pattern)
    order = []
    for condition in modifiers.order:
        pattern, expression = translator.marked(pattern, known.read(condition.expr), scope)
        order.append(OrderCondition(translator.expression(expression), condition.order == "DESC"))
    return pattern, tuple(order)


class _Assignments:
    """What the SELECT clause assigns, to find in ORDER BY what is projected under a name.

    rdflib asks for each use of an aggregate anew; a grouping gives equal ones as copies of one column.
    """

    def __init__(self, translator: Translator, modifiers: Modifiers, pattern: algebra.Node) -> None:
        self._translator = translator
        self._copies = _copies(pattern)
        self._names: dict[Expression, RdflibVariable] = {}
        self._sampled: dict[RdflibVariable, RdflibVariable] = {}
        node = modifiers.pattern
        while node.name in ("Extend", "Filter"):
            if node.name == "Extend" and str(node.var) in modifiers.projected:
                self._sampled[node.var] = node.var
                if not exists_parts(node.expr):
                    self._names.setdefault(self._expression(node.expr), node.var)
            node = node.p
        # rdflib puts SAMPLE also around a name that the SELECT clause gives, which no row of a group has
        samples = [part for part in node.A or () if part.name == "Aggregate_Sample"]
        names = [part for part in samples if isinstance(part.vars, RdflibVariable)]
        self._sampled = {p.res: self._sampled[p.vars] for p in names if p.vars in self._sampled}

    def read(self, node: Any) -> Any:
        """Give the expression with the projected variables in the place of what they are assigned."""
        return replace_in(node, self._assigned)

    def _assigned(self, part: Any) -> Any:
        if not isinstance(part, CompValue | RdflibVariable) or exists_parts(part):
            return None
        if isinstance(part, RdflibVariable) and part in self._sampled:
            return self._sampled[part]
        return self._names.get(self._expression(part))

    def _expression(self, node: Any) -> Expression:
        def original(part: Any) -> Any:
            return self._copies.get(part) if isinstance(part, RdflibVariable) else None

        return self._translator.expression(replace_in(node, original))


def _copies(node: algebra.Node) -> dict[RdflibVariable, RdflibVariable]:
    """Name the column that each copy of an aggregate or a grouped variable copies."""
    while node.inputs and not isinstance(node, algebra.Group):
        if isinstance(node, Project) and isinstance(node.input, algebra.Group):
            return {RdflibVariable(new.name): RdflibVariable(old.name) for new, old in node.renamed}
        node = node.inputs[0]
    return {}


_NAMELESS: Final = Variable("nameless", distinguished=False)
"""Takes the place of their results when aggregates are compared."""


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
            known = aggregates.setdefault(replace(aggregate, variable=_NAMELESS), aggregate)
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
