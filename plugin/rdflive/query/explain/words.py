"""Name, effect, state and costs of each operator, in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Final

from rdflive.query import algebra
from rdflive.query.algebra import CLASSIFIED, Columns
from rdflive.query.bgp import Variable
from rdflive.query.explain.names import VariableNames
from rdflive.query.marks import inequality_of
from rdflive.query.plan import Plan, Step

__all__ = ["Words", "describe"]

_NOTHING: Final = "nothing"
_EVALUATION: Final = "one evaluation per changed row"
# their accumulators keep the terms of a group in order
_SORTED: Final = frozenset({"MIN", "MAX", "SAMPLE", "GROUP_CONCAT"})


@dataclass(frozen=True, slots=True)
class Words:
    """An operator in words; in costs, a row is a changed row of an input."""

    name: str
    detail: str
    keeps: str
    costs: str

    @property
    def title(self) -> str:
        """The name and the effect of the operator."""
        return f"{self.name} {self.detail}".rstrip()


class _Reading:
    """The inputs of one operator's description."""

    def __init__(self, step: Step, inputs: list[Columns], names: VariableNames) -> None:
        self.columns = step.columns
        self.inputs = inputs
        self.names = names

    def list(self, columns: Columns) -> str:
        return self.names.variables(columns, ", ") or "no columns"

    def compared(
        self, node: algebra.Join | algebra.LeftJoin | algebra.Minus | algebra.Exists
    ) -> _ComparedWords:
        """Divide the shared columns as the operator's index does: keys, and those that may be unbound."""
        left, right = self.inputs
        shared = [v for v in node.shared if v in left and v in right]
        keys = tuple(v for v in shared if v in node.keys)
        maybe = tuple(v for v in shared if v not in keys)
        return _ComparedWords(self.names.variables(keys, ", "), self.names.variables(maybe, ", "))


@dataclass(frozen=True, slots=True)
class _ComparedWords:
    """The columns by which two inputs are compared, in words."""

    keys: str
    maybe: str

    @property
    def on(self) -> str:
        if not self.keys and not self.maybe:
            return ""
        maybe = f"{self.maybe} where both sides bind it" if self.maybe else ""
        return "on " + ", and ".join(part for part in (self.keys, maybe) if part)

    @property
    def by(self) -> str:
        return " by these columns" if self.on else ""

    @property
    def look_up(self) -> str:
        if not self.maybe:
            return "one look-up per changed row"
        return "per changed row one look-up for each set of columns that rows of the other side leave unbound"


def describe(step: Step, plan: Plan, names: VariableNames) -> Words:
    """Describe the operator of a step (a leaf is described by its patterns instead)."""
    inputs = [plan.steps[i].columns for i in step.inputs]
    return _describe(step.node, _Reading(step, inputs, names))


@singledispatch
def _describe(node: algebra.Node, reading: _Reading) -> Words:
    raise NotImplementedError(type(node).__name__)


@_describe.register
def _basic(node: algebra.Basic, reading: _Reading) -> Words:
    names = reading.names
    if isinstance(node.graph, Variable):
        among = "every named graph"
        for condition in node.conditions:
            if isinstance(condition, algebra.OneOf) and condition.name == node.graph.name:
                among = "each of the graphs " + ", ".join(sorted(map(names.term, condition.terms)))
        where = f"in {among} ({names.variable(node.graph)})"
    elif node.graph is CLASSIFIED:
        where = "where classes have the instances of their subclasses"
    else:
        where = f"in the graph {names.term(node.graph)}" if node.graph is not None else ""
    return Words("BGP", where, "", "")


@_describe.register
def _values(node: algebra.Values, reading: _Reading) -> Words:
    if not node.columns and len(node.rows) == 1:
        return Words("Values", "of one row without columns", _NOTHING, "nothing: it never changes")
    columns = reading.list(node.columns)
    count = "one row" if len(node.rows) == 1 else f"{len(node.rows)} rows"
    shown = f": {count}"
    if len(node.rows) == 1 and node.columns:
        shown = ": " + " ".join("UNDEF" if t is None else reading.names.term(t) for t in node.rows[0])
    return Words("Values", f"of {columns}{shown}", "its rows", "nothing: its rows never change")


@_describe.register
def _join(node: algebra.Join, reading: _Reading) -> Words:
    compared = reading.compared(node)
    costs = f"{compared.look_up}, then one merge per pair found"
    if not compared.on:
        costs = "one merge per changed row and row of the other side"
    keeps = f"the rows of both sides{compared.by}"
    return Words("Join", compared.on or "of every pair of rows", keeps, costs)


@_describe.register
def _left_join(node: algebra.LeftJoin, reading: _Reading) -> Words:
    compared = reading.compared(node)
    detail = compared.on or "of every pair of rows"
    if node.condition is not None:
        detail += f", if {reading.names.text(node.condition.text)}"
    found = inequality_of(node, *reading.inputs)
    order = ""
    if found is not None:
        order = " in the order of " + " and ".join(
            reading.names.text(e.text) for e in (found.left, found.right)
        )
    keeps = f"the rows of both sides{compared.by}{order}; the number of matches of each left row that has any"
    look_up = compared.look_up
    if found is not None:
        look_up = "O(log n) per changed row, n the rows of a side"
    costs = f"{look_up}, then one merge per pair found, and the unmatched row"
    if found is None and not compared.on:
        costs = "one merge per changed row and row of the other side"
    return Words("LeftJoin (OPTIONAL)", detail, keeps, costs)


@_describe.register
def _minus(node: algebra.Minus, reading: _Reading) -> Words:
    return _partnered("Minus", node, reading, "")


@_describe.register
def _exists(node: algebra.Exists, reading: _Reading) -> Words:
    name, more = f"Filter {'NOT EXISTS' if node.negated else 'EXISTS'}", ""
    if node.mark is not None:
        name, more = "Exists", f", as a column: {reading.names.variable(node.mark)}"
    if node.condition is None:
        return _partnered(name, node, reading, more)
    compared = reading.compared(node)
    detail = f"{compared.on or 'of any row'}, with {reading.names.text(node.condition.text)}{more}"
    left, right = f"the left rows{compared.by}", f"the right rows{compared.by}"
    found = inequality_of(node, *reading.inputs)
    if found is None:
        costs = "one evaluation per changed left row and right row that fits, up to the first match; "
    else:
        one, other = (reading.names.text(side.text) for side in (found.left, found.right))
        left, right = f"{left} in the order of {one}", f"{right} in the order of {other}"
        costs = "O(log n) per changed row, n the rows of a side; "
        if not found.is_all:
            costs += "one evaluation per right row, nearest first, up to the first match; "
    is_all = found is not None and found.is_all
    matched = "those with a match apart from the others" if is_all else "a match of each that has any"
    costs += "a right row visits the left rows of which it may be the first or the last match"
    return Words(name, detail, f"{left}, {matched}; {right}", costs)


def _partnered(name: str, node: algebra.Minus | algebra.Exists, reading: _Reading, more: str) -> Words:
    compared = reading.compared(node)
    right = "the count of each of their values on the right" if compared.on else "the number of right rows"
    return Words(
        name,
        (compared.on or "of any row") + more,
        f"the left rows{compared.by}, and {right}",
        f"{compared.look_up}; only the first and last right row of a kind visits the left rows that it fits",
    )


@_describe.register
def _union(node: algebra.Union, reading: _Reading) -> Words:  # noqa: ARG001
    return Words("Union", f"of {len(node.branches)}", _NOTHING, "one row made per changed row")


@_describe.register
def _filter(node: algebra.Filter, reading: _Reading) -> Words:
    return Words("Filter", reading.names.text(node.condition.text), _NOTHING, _EVALUATION)


@_describe.register
def _clocked(node: algebra.Clocked, reading: _Reading) -> Words:
    name = "Clocked filter" if node.mark is None else "Clocked column"
    keeps = "the rows that time will change, by the instant of their next change"
    costs = "one evaluation per changed row, and O(log n) for one that is kept and when its instant comes"
    return Words(name, reading.names.text(node.condition.text), keeps, costs)


@_describe.register
def _extend(node: algebra.Extend, reading: _Reading) -> Words:
    expression = reading.names.text(node.expression.text)
    if not node.variable.distinguished:  # it is named by its expression
        return Words("Extend", f"by {expression}", _NOTHING, _EVALUATION)
    return Words("Extend (BIND)", f"?{node.variable.name} := {expression}", _NOTHING, _EVALUATION)


@_describe.register
def _project(node: algebra.Project, reading: _Reading) -> Words:
    renamed = dict(node.renamed)
    names = reading.names
    shown = []
    for column in reading.columns:
        name = names.variable(column)
        old = names.variable(renamed.get(column, column))
        # the name of a copy may contain the other: *?x of the outer solution*
        shown.append(name if old in name else f"{name} := {old}")
    return Words(
        "Project", ", ".join(dict.fromkeys(shown)) or "no columns", _NOTHING, "one row made per changed row"
    )


@_describe.register
def _distinct(node: algebra.Distinct, reading: _Reading) -> Words:  # noqa: ARG001
    return Words("Distinct", reading.list(reading.columns), "the count of each row", "O(1) per changed row")


@_describe.register
def _group(node: algebra.Group, reading: _Reading) -> Words:
    names = reading.names
    by = f"by {names.variables(node.keys, ', ')}" if node.keys else "of all rows"
    aggregates = ", ".join(dict.fromkeys(map(names.aggregate, node.aggregates)))
    detail = by + (f": {aggregates}" if aggregates else "")
    if node.seeds is not None and node.keys:
        detail += ", also for no rows"
    results = " and one result of each aggregate per touched group" if aggregates else ""
    if any(a.name == "GROUP_CONCAT" for a in node.aggregates):
        results += ", for which GROUP_CONCAT joins all terms of the group again"
    is_sorted = any(a.name in _SORTED for a in node.aggregates)
    each = "O(log n) per changed row, n the values of its group," if is_sorted else "O(1) per changed row"
    keeps = ", ".join(dict.fromkeys(_kept(a) for a in node.aggregates))
    return Words("Group", detail, "per group its row" + (f", {keeps}" if keeps else ""), each + results)


def _kept(aggregate: algebra.Aggregate) -> str:
    """Describe the state of an aggregate's accumulator (see `rdflive.query.aggregates`)."""
    if aggregate.name in ("MIN", "MAX", "SAMPLE"):
        return f"its terms in order for {aggregate.name}"
    kept = {"COUNT": "a number", "GROUP_CONCAT": "its terms in order"}.get(aggregate.name, "an exact sum")
    if aggregate.distinct:
        of = "rows" if aggregate.expression is None else "terms"
        kept = f"{kept} and the counts of its {of}"
    return f"{kept} for {aggregate.name}"


@_describe.register
def _slice(node: algebra.Slice, reading: _Reading) -> Words:
    parts = [f"OFFSET {node.offset}"] if node.offset else []
    parts += [f"LIMIT {node.limit}"] if node.limit is not None else []
    order = reading.names.order(node.order)
    parts.append(f"by {order}" if order else "by the order of their terms")
    if node.context:
        parts.append(f"per {reading.names.variables(node.context, ', ')}")
    costs = "O(log n) per changed row, n the rows kept, and the rows that enter and leave the slice"
    return Words("Slice", " ".join(parts), "every row of its input, in order", costs)


@_describe.register
def _closure(node: algebra.Closure, reading: _Reading) -> Words:
    names = reading.names
    path = "*" if node.reflexive else "+"
    step = f"{names.variable(node.source)} → {names.variable(node.target)}"
    start = "its seeds" if node.seeds is not None else "every node"
    detail = f"{names.variable(node.start)} → {names.variable(node.end)} by steps {step}, from {start}"
    if node.context:
        detail += f", within each {names.variables(node.context, ', ')}"
    keeps = "the steps, both ways; per node the set of starts that reach it, one set for a whole cycle"
    # a quarter: see `_REBUILD` in `engine.operators.reach`
    costs = (
        "one set operation per step into a node whose starts change; "
        "a commit that changes more than a quarter of it computes it again"
    )
    return Words(f"Path {path}", detail, keeps, costs)


@_describe.register
def _construct(node: algebra.Construct, reading: _Reading) -> Words:
    template = " . ".join(map(reading.names.pattern, node.template))
    blanks = any(not v.distinguished for pattern in node.template for v in pattern.variables)
    keeps = "the count of each solution, for the template's blank nodes" if blanks else _NOTHING
    costs = "one triple per changed row and triple of the template"
    return Words("Construct", f"{{ {template} }}", keeps, costs)
