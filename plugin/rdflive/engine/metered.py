"""A query with a budget: rows are counted before they are made, and as long as they are kept.

An operator belongs to one query, so when a budget stops it half-way only that query ends and drops what it
held. Paths and masks of patterns are shared by queries and must never be left half-way. They cannot be: walks
only read them, and a filter that a budget may stop makes the pattern the query's own (see `View._filter`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from rdflive.engine.demand import Demand
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import Operator
from rdflive.engine.query import Answers, QueryState, Take, TermWeights
from rdflive.engine.terms import TermTable
from rdflive.model import Term, Terms
from rdflive.query import algebra
from rdflive.query.budget import Meter
from rdflive.query.plan import Plan, Step

__all__ = ["MeteredQuery"]

Length: TypeAlias = Callable[[Row], int]
"""Gives how many characters the strings computed in a step add to a row."""


class MeteredQuery(QueryState):
    """A query that is given up, by `BudgetError`, where it would cost more than its budget."""

    __slots__ = ("_lengths",)

    def __init__(
        self,
        plan: Plan,
        dictionary: Dictionary,
        terms: TermTable,
        to_native: Callable[[Any], Term],
        demand: Demand,
        meter: Meter,
    ) -> None:
        terms = terms.metered(meter)
        steps = tuple(_metered(step, meter) for step in plan.steps)
        super().__init__(replace(plan, steps=steps), dictionary.metered(meter), terms, to_native, demand)
        self.meter: Meter = meter
        self.is_large = False  # each step is counted
        self._lengths = [_length(step, terms) for step in steps]

    def open(self, fill: Callable[[], Answers]) -> Answers:
        """Begin, on the budget of an opening."""
        self.meter.kept_rows = self.meter.kept_characters = 0
        return self.meter.open(fill)

    def drain(self) -> dict[Row, TermWeights]:
        """Take what the segments found since the last commit, on the budget of the present one."""
        return self.meter.run(super().drain)

    def current(
        self, solutions: Callable[..., Iterable[Row]], most: int | None = None, asked: Row = ()
    ) -> list[tuple[Terms, int]]:
        """List the answer on the budget of an opening; rows made for that are not counted as kept."""
        meter = self.meter
        # The operators of this evaluation are dropped at its end, with all that they kept.
        kept = meter.kept_rows, meter.kept_characters
        try:
            return meter.open(partial(super().current, solutions, most, asked))
        finally:
            meter.kept_rows, meter.kept_characters = kept

    def _run(self, operators: list[Operator | None], take: Take, *, first: bool) -> Weights:
        """Run every step whose inputs changed, or which time changes, and count what goes in and the strings
        that come out.
        """
        results: list[Weights] = []
        late = self._late(operators)
        for number, (step, operator, length) in enumerate(
            zip(self.plan.steps, operators, self._lengths, strict=True)
        ):
            if operator is None:
                results.append(take(number, results))
                continue
            inputs = [results[i] for i in step.inputs]
            # a template with blank nodes makes other nodes for each copy of a row, so each copy costs
            # Elsewhere equal rows are one entry with a weight, and cost one computation.
            copied = isinstance(step.node, algebra.Construct)
            self.meter.spend(sum(_copies(rows) if copied else len(rows) for rows in inputs))
            is_run = first or any(inputs) or number in late
            results.append(self._update(number, operator, inputs) if is_run else {})
            if length is not None:
                made = sum(length(row) * weight for row, weight in results[-1].items())
                self.meter.keep(0, made)
        return results[-1]

    def _list(self, weights: Weights) -> list[tuple[Terms, int]]:
        """Count each solution as often as it occurs, because it is told so often."""
        self.meter.spend(_copies(weights))
        return super()._list(weights)


def _copies(weights: Weights) -> int:
    return sum(map(abs, weights.values()))


def _metered(step: Step, meter: Meter) -> Step:
    if step.basic is None:
        return step
    segments = tuple(replace(segment, meter=meter) for segment in step.basic.segments)
    return replace(step, basic=replace(step.basic, segments=segments))


def _length(step: Step, terms: TermTable) -> Length | None:
    """Give the function that measures the strings that a step computes; None if it computes none."""
    node = step.node
    if isinstance(node, algebra.Extend):
        makes, columns = not node.expression.is_plain, 1
    elif isinstance(node, algebra.Group):
        makes, columns = any(node.argument(a) is not None for a in node.aggregates), len(node.aggregates)
    else:
        return None

    def length(row: Row) -> int:
        made = map(terms.value, row[len(row) - columns :])
        return sum(len(term) for term in made if isinstance(term, str))

    return length if makes else None
