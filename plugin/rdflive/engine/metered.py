"""A query with a budget: rows are counted before they are made, and while they are kept.

An operator belongs to one query, so when a budget stops it half-way only that query ends and drops its state.
Paths and masks of patterns are shared by queries and must never be left half-way. That cannot happen: walks
only read them, and a filter that a budget may stop makes the pattern private to the query (see
`View._filter`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, Final, TypeAlias, TypeVar

from rdflive.engine.demand import Demand
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, TermWeights, Weights
from rdflive.engine.operators import Operator
from rdflive.engine.query import Answers, QueryState, Take, Use
from rdflive.engine.terms import TermTable
from rdflive.errors import BudgetError
from rdflive.model import Term, Terms
from rdflive.query import algebra
from rdflive.query.budget import BOUNDLESS, Budget, Meter, largest
from rdflive.query.plan import Plan, Step
from rdflive.query.shared_meter import SharedMeter

__all__ = ["MeteredQuery"]

Result = TypeVar("Result")

_FEW: Final = 100
"""Number of rows that enter operators before they are counted together."""
Length: TypeAlias = Callable[[Row], int]
"""Returns the number of characters that the strings computed in a step add to a row."""


class MeteredQuery(QueryState):
    """A query that raises `BudgetError` before it costs more than its budget.

    It runs under the largest budget of its members.
    """

    __slots__ = ("_counted", "_made", "budgets")

    def __init__(
        self,
        plan: Plan,
        dictionary: Dictionary,
        terms: TermTable,
        to_native: Callable[[Any], Term],
        demand: Demand,
        meter: Meter,
    ) -> None:
        terms = terms.metered(meter, measures=any(map(_makes_strings, plan.steps)))
        steps = tuple(_metered(step, meter) for step in plan.steps)
        super().__init__(replace(plan, steps=steps), dictionary.metered(meter), terms, to_native, demand)
        self.meter: Meter = meter
        self.budgets: dict[Budget, int] = {}
        """The budgets of the members, with the number of members of each."""
        self.is_large = False  # each step is counted
        self._made = terms.lengths
        # for each step, whether copies of a row cost as much as the row, and the function that measures its
        # strings
        self._counted = [(isinstance(step.node, algebra.Construct), _length(step, terms)) for step in steps]

    def put(self, use: Use) -> bool:
        """Add a member, with its budget."""
        assert use.budget is not None  # noqa: S101 - others have a plan without
        self.budgets[use.budget] = self.budgets.get(use.budget, 0) + 1
        self._allow()
        self._enter(use, 1)
        return super().put(use)

    def remove(self, use: Use) -> bool:
        """Undo `put`."""
        had = self.has(use)
        # first, because `close` may be interrupted here and run again: a budget is removed once
        is_last = super().remove(use)
        if had:
            assert use.budget is not None  # noqa: S101 - as in `put`
            self.budgets[use.budget] -= 1
            if not self.budgets[use.budget]:
                del self.budgets[use.budget]
            if self.budgets:
                self._allow()
            self._enter(use, -1)
        return is_last

    def forget_uses(self) -> None:
        """Remove all members."""
        super().forget_uses()
        if isinstance(self.meter, SharedMeter):
            self.meter.accounts.clear()

    def _enter(self, use: Use, count: int) -> None:
        if isinstance(self.meter, SharedMeter):
            assert use.account is not None  # noqa: S101 - of the same family, which has the shared budget
            self.meter.enter(use.account, count)

    def _allow(self) -> None:
        budget = largest(self.budgets)
        self.meter.least_rows = min(b.rows for b in self.budgets) if len(self.budgets) > 1 else inf
        if budget != self.meter.budget:
            self.meter.allow(budget)

    def open(self, fill: Callable[[], Answers]) -> Answers:
        """Start the query on the budget of an opening."""
        # each tuple of parameters is a kept row as well
        self.meter.renew(sum(map(bool, self._uses)))
        return self.meter.open(fill)

    def join(self, work: Callable[[], Result], use: Use) -> Result:
        """Run `work`, which adds a member, within the budget of that member.

        Rows that are kept for several members are charged to each of them.
        """
        return self.meter.open(work, budget=use.budget, joins=self.members > 1)

    def leave(self, asked: Row) -> None:
        """Undo `ask` without a budget: it must finish, and the removed rows were charged when they were
        added.
        """
        self.meter.open(super().leave, asked, budget=BOUNDLESS)

    def drain(self) -> dict[Row, TermWeights]:
        """Return the deltas since the last commit, on the budget of the present one."""
        meter = self.meter
        if meter.error is not None:
            raise meter.error
        if not isinstance(meter, SharedMeter):
            return self._drain_within(meter)
        meter.heed()
        found = self._drain_within(meter)
        # before it is delivered, which may take longer
        meter.deliver(sum(len(delta) * len(self.uses_of(asked)) for asked, delta in found.items()))
        return found

    def _drain_within(self, meter: Meter) -> dict[Row, TermWeights]:
        try:
            meter.begin()
            return super().drain()
        finally:
            meter.end()

    def exceeded(self) -> dict[Budget, BudgetError]:
        """Return the budgets that the present commit exceeds, each with its error."""
        if len(self.budgets) == 1:
            return {}  # the work was done under this budget
        found = ((budget, self.meter.excess(budget)) for budget in self.budgets)
        return {budget: error for budget, error in found if error is not None}

    def current(
        self,
        solutions: Callable[..., Iterable[Row]],
        most: int | None = None,
        asked: Row = (),
        budget: Budget | None = None,
    ) -> list[tuple[Terms, int]]:
        """List the answer on the budget of an opening; rows made for it do not count as kept."""
        meter = self.meter
        # the operators of this evaluation are dropped at its end, with all their state
        kept = meter.kept_rows, meter.kept_characters
        try:
            return meter.open(partial(super().current, solutions, most, asked), budget=budget, joins=True)
        finally:
            meter.kept_rows, meter.kept_characters = kept

    def _run(self, operators: list[Operator | None], take: Take, *, first: bool) -> Weights:
        """Run every step whose inputs or time changed; count the rows that go in and the strings that come
        out.
        """
        results: list[Weights] = []
        late, rows = self._late(operators), 0
        for number, (step, operator, (copied, length)) in enumerate(
            zip(self.plan.steps, operators, self._counted, strict=True)
        ):
            if operator is None:
                results.append(take(number, results))
                continue
            inputs = [results[i] for i in step.inputs]
            if not (first or any(inputs) or number in late):
                results.append({})
                continue
            # A template with blank nodes makes other nodes for each copy of a row, so each copy costs.
            # Elsewhere equal rows are one entry with a weight, and cost one computation.
            for given in inputs:
                rows += _copies(given) if copied else len(given)
            if rows > _FEW:
                self.meter.spend(rows)
                rows = 0
            results.append(self._update(number, operators, inputs))
            if length is not None:
                made = sum(length(row) * weight for row, weight in results[-1].items())
                self.meter.keep(0, made)
        self._made.clear()
        self.meter.spend(rows)
        return results[-1]

    def _list(self, weights: Weights) -> list[tuple[Terms, int]]:
        """Count each solution as often as it occurs, because it is delivered that often."""
        self.meter.spend(_copies(weights))
        return super()._list(weights)


def _copies(weights: Weights) -> int:
    if len(weights) == 1:  # the common case
        (weight,) = weights.values()
        return abs(weight)
    return sum(map(abs, weights.values()))


def _metered(step: Step, meter: Meter) -> Step:
    if step.basic is None:
        return step
    segments = tuple(replace(segment, meter=meter) for segment in step.basic.segments)
    return replace(step, basic=replace(step.basic, segments=segments))


def _makes_strings(step: Step) -> bool:
    return isinstance(step.node, algebra.Extend) and not step.node.expression.is_plain


def _length(step: Step, terms: TermTable) -> Length | None:
    """Return the function that measures the strings that a step computes; None if it computes none."""
    node = step.node
    if _makes_strings(step):
        # computed for each added or removed row, and so noted directly before
        lengths = terms.lengths
        return lambda row: lengths.get(row[-1], 0)
    if not isinstance(node, algebra.Group):
        return None
    made = (a for a in node.aggregates if a.name not in ("COUNT", "SUM", "AVG"))
    makes, columns = any(node.argument(a) is not None for a in made), len(node.aggregates)

    def length(row: Row) -> int:
        made = map(terms.value, row[len(row) - columns :])
        return sum(len(term) for term in made if isinstance(term, str))

    return length if makes else None
