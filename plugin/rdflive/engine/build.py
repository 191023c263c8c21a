"""Makes the operators of a plan: columns become positions in rows, conditions become callables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any, TypeAlias

from rdflive.engine import operators
from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.engine.multiset import Row
from rdflive.engine.operators import Operator
from rdflive.engine.present import Present
from rdflive.engine.ranges import place_of_term
from rdflive.engine.terms import TermTable
from rdflive.query import algebra
from rdflive.query.aggregates import make_accumulator
from rdflive.query.algebra import Columns, OrderCondition
from rdflive.query.bgp import Variable
from rdflive.query.marks import Inequality, inequality_of
from rdflive.query.ordering import descending, term_key
from rdflive.query.plan import Plan, Step

__all__ = ["Sorter", "make_operator", "make_sorter", "readable"]

Sorter: TypeAlias = Callable[[Row], Any]


def make_operator(
    step: Step, plan: Plan, dictionary: Dictionary, terms: TermTable, present: Present | None
) -> Operator:
    """Make the operator of one step; `present` is the time of NOW(), for plans that read it."""
    inputs = [plan.steps[i].columns for i in step.inputs]
    return _make(step.node, _Build(step, inputs, dictionary, terms, present))


def make_sorter(plan: Plan, terms: TermTable) -> Sorter | None:
    """Make the sort key of ORDER BY for the rows of the answer; None without ORDER BY."""
    if not plan.query.order:
        return None
    return _sorter(plan.query.order, plan.steps[-1].columns, terms)


class _Build:
    """The inputs from which the functions below make one operator."""

    def __init__(
        self,
        step: Step,
        inputs: list[Columns],
        dictionary: Dictionary,
        terms: TermTable,
        present: Present | None,
    ) -> None:
        self.columns = step.columns
        self.inputs = inputs
        self.dictionary = dictionary
        self.terms = terms
        self.present = present

    def pairs(self, columns: Columns) -> tuple[tuple[int, int], ...]:
        """Return the places of shared columns in the left and the right input."""
        left, right = self.inputs
        return tuple((left.index(v), right.index(v)) for v in columns)

    def keys(self, node: Any) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
        """Return the shared columns that are bound on both sides in every row, and those that may be unbound.

        The first can be hash keys; the others must be compared row by row, see `operators.index`.
        """
        left, right = self.inputs
        shared = [v for v in node.shared if v in left and v in right]
        keys = tuple(v for v in shared if v in node.keys)
        return self.pairs(keys), self.pairs(tuple(v for v in shared if v not in keys))

    def merged(self) -> tuple[tuple[int, int], ...]:
        """Give, per output column, its places in the left and the right input."""
        left, right = self.inputs
        return tuple((_place(left, v), _place(right, v)) for v in self.columns)

    def test(self, condition: Any, columns: Columns) -> Callable[[Row], bool]:
        """Compile a condition on rows of these columns."""
        test: Callable[[Row], bool] = condition.condition(readable(columns), self.terms)
        return test

    def order(self, found: Inequality | None, right: Columns) -> operators.Order | None:
        """Compile an inequality between rows of the left input and rows of these columns."""
        if found is None:
            return None
        left = found.left.term(readable(self.inputs[0]), self.terms)
        other = found.right.term(readable(right), self.terms)
        return operators.Order(place_of_term(left), found.operator, place_of_term(other))

    def partners(self, node: algebra.Exists) -> operators.Partners | operators.MatchedOperator:
        """Make the object that finds which left rows have a partner."""
        keys, maybe = self.keys(node)
        condition = node.condition
        if condition is None:
            return operators.Partners(self.dictionary, keys, maybe)
        left, right = self.inputs
        shared = [right[place] for _, place in (*keys, *maybe)]
        # rows of the right are reduced to these
        compared = algebra.ordered((*shared, *(v for v in right if v in algebra.reads(condition, right))))
        read = algebra.ordered(
            v for side in (left, compared) for v in side if v in algebra.reads(condition, side)
        )
        found = inequality_of(node, left, compared)
        return operators.MatchedOperator(
            self.dictionary,
            tuple((mine, compared.index(right[theirs])) for mine, theirs in keys),
            tuple((mine, compared.index(right[theirs])) for mine, theirs in maybe),
            tuple(map(right.index, compared)),
            tuple((_place(left, v), _place(compared, v)) for v in read),
            self.test(condition, read),
            self.order(found, compared),
            is_all=found is not None and found.is_all,
        )


def _place(columns: Columns, variable: Variable | None) -> int:
    return columns.index(variable) if variable is not None and variable in columns else -1


def readable(columns: Columns) -> Mapping[str, int]:
    """Return the places of the columns that expressions can read, by name."""
    return {v.name: place for place, v in enumerate(columns) if v.readable}


def _sorter(order: tuple[OrderCondition, ...], columns: Columns, terms: TermTable) -> Sorter:
    """Make the sort key: the conditions of ORDER BY, then all terms of the row.

    The terms break ties, so that the position of a row does not depend on the order of the changes. Without
    them, a delete could remove another row from a slice than the insert added.
    """
    places = readable(columns)
    parts = [(o.expression.term(places, terms), o.descending) for o in order]
    shown = [place for place, v in enumerate(columns) if v.distinguished]
    value = terms.value

    def key(row: Row) -> Any:
        keys = [term_key(part(row)) for part, _ in parts]
        sorts = [descending(k) if down else k for k, (_, down) in zip(keys, parts, strict=True)]
        return (*sorts, *[term_key(value(row[place])) for place in shown])

    return key


@singledispatch
def _make(node: algebra.Node, build: _Build) -> Operator:
    raise NotImplementedError(type(node).__name__)


@_make.register
def _values(node: algebra.Values, build: _Build) -> Operator:
    intern = build.terms.intern
    rows = [tuple(UNBOUND if term is None else intern(term) for term in row) for row in node.rows]
    return operators.ValuesOperator(rows, build.dictionary)


@_make.register
def _join(node: algebra.Join, build: _Build) -> Operator:
    return operators.JoinOperator(build.dictionary, *build.keys(node), build.merged())


@_make.register
def _left_join(node: algebra.LeftJoin, build: _Build) -> Operator:
    if node.condition is None:
        return operators.LeftJoinOperator(build.dictionary, *build.keys(node), build.merged())
    condition = build.test(node.condition, build.columns)
    order = build.order(inequality_of(node, *build.inputs), build.inputs[1])
    return operators.LeftJoinOperator(build.dictionary, *build.keys(node), build.merged(), condition, order)


@_make.register
def _minus(node: algebra.Minus, build: _Build) -> Operator:
    # MINUS removes a row only if the two share a variable of the query. The context (the graph of GRAPH ?g)
    # is compared but does not count as shared, so its columns come first and are recognized by their number.
    context = [v for v in node.keys if v in node.context]
    keys = build.pairs((*context, *(v for v in node.keys if v not in context)))
    return operators.MinusOperator(build.dictionary, keys, build.keys(node)[1], len(context))


@_make.register
def _exists(node: algebra.Exists, build: _Build) -> Operator:
    partners = build.partners(node)
    if node.mark is None:
        return operators.ExistsOperator(build.dictionary, partners, node.negated)
    # `marks` is indexed by whether a partner exists, so NOT EXISTS swaps the ids of false and true
    from_marks = build.terms.marks
    marks = from_marks[::-1] if node.negated else from_marks
    return operators.ExistsOperator(build.dictionary, partners, marks=marks)


@_make.register
def _union(node: algebra.Union, build: _Build) -> Operator:  # noqa: ARG001
    places = [tuple(_place(columns, v) for v in build.columns) for columns in build.inputs]
    return operators.UnionOperator(tuple(places))


@_make.register
def _filter(node: algebra.Filter, build: _Build) -> Operator:
    return operators.FilterOperator(build.test(node.condition, build.inputs[0]))


@_make.register
def _clocked(node: algebra.Clocked, build: _Build) -> Operator:
    assert build.present is not None  # noqa: S101 - a query with NOW() has it
    phases = node.condition.phases(readable(build.inputs[0]), build.terms)
    marks = build.terms.marks if node.mark is not None else None
    return operators.ClockedOperator(build.dictionary, phases, build.present, marks)


@_make.register
def _extend(node: algebra.Extend, build: _Build) -> Operator:
    return operators.ExtendOperator(node.expression.value(readable(build.inputs[0]), build.terms))


@_make.register
def _project(node: algebra.Project, build: _Build) -> Operator:
    columns = build.inputs[0]
    return operators.ProjectOperator(
        tuple(_place(columns, node.source(v)) for v in build.columns), len(columns)
    )


@_make.register
def _distinct(node: algebra.Distinct, build: _Build) -> Operator:  # noqa: ARG001
    return operators.DistinctOperator(build.dictionary)


@_make.register
def _group(node: algebra.Group, build: _Build) -> Operator:
    columns = build.inputs[0]
    places = readable(columns)
    aggregates = [
        (
            None if (argument := node.argument(a)) is None else argument.term(places, build.terms),
            make_accumulator(
                a.name,
                # COUNT(DISTINCT *) counts distinct whole rows, which `GroupOperator` does itself
                distinct=a.distinct and a.expression is not None,
                separator=a.separator,
                meter=build.terms.meter,
            ),
            a.distinct and a.expression is None,
        )
        for a in node.aggregates
    ]
    keys = tuple(columns.index(v) for v in node.keys)
    implicit = node.seeds is not None
    return operators.GroupOperator(
        build.dictionary, keys, aggregates, build.terms.intern, build.terms.count, implicit
    )


@_make.register
def _slice(node: algebra.Slice, build: _Build) -> Operator:
    columns = build.inputs[0]
    key = _sorter(node.order, columns, build.terms)
    context = tuple(columns.index(v) for v in node.context)
    return operators.SliceOperator(build.dictionary, key, node.offset, node.limit, context)


@_make.register
def _closure(node: algebra.Closure, build: _Build) -> Operator:
    return operators.ClosureOperator(
        build.dictionary,
        context=len(node.context),
        reflexive=node.reflexive,
        seeded=node.seeds is not None,
    )


@_make.register
def _construct(node: algebra.Construct, build: _Build) -> Operator:
    return operators.ConstructOperator(
        build.dictionary, build.inputs[0], node.template, build.terms, context=node.context
    )
