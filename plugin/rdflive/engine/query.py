"""One maintained query: the basic graph patterns at its leaves, and the operators above them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from heapq import nsmallest
from itertools import islice
from operator import itemgetter
from typing import Any, TypeAlias

from rdflive.engine.build import Sorter, make_operator, make_sorter
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.kernel import SegmentState
from rdflive.engine.leaf import Leaf
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import Operator
from rdflive.engine.terms import TermTable
from rdflive.model import Term, Terms
from rdflive.query.budget import Meter
from rdflive.query.plan import Plan

__all__ = ["QueryState", "TermWeights", "add_up", "common_losses"]

TermWeights: TypeAlias = dict[Terms, int]
"""Solutions and their weights."""


def add_up(listed: Iterable[tuple[Terms, int]]) -> TermWeights:
    """Add the weights of equal solutions; what sums to zero vanishes."""
    weights: TermWeights = {}
    for solution, weight in listed:
        total = weights.get(solution, 0) + weight
        if total:
            weights[solution] = total
        else:
            del weights[solution]
    return weights


def common_losses(net: TermWeights, passed: TermWeights) -> TermWeights:
    """Count the solutions that left because time passed.

    A commit makes two steps: its writes, then `passed`, what time changed; `net` is their sum. A solution
    that time removed but a write had only added in the same commit did not leave at all.
    """
    losses = {solution: min(-weight, -net.get(solution, 0)) for solution, weight in passed.items()}
    return {solution: count for solution, count in losses.items() if count > 0}


class QueryState:
    """The leaves and operators of one query, one per step of its plan."""

    __slots__ = (
        "_dictionary", "_leaf", "_pick", "_preset", "_sorter", "_terms", "leaves", "meter",
        "operators", "plan",
    )  # fmt: skip

    def __init__(
        self, plan: Plan, dictionary: Dictionary, terms: TermTable, to_native: Callable[[Any], Term]
    ) -> None:
        self.plan = plan
        self.meter: Meter | None = None
        """Counts what the query costs, where it has a budget."""
        self._dictionary = dictionary
        self._terms = terms
        preset = {name: to_native(term) for name, term in plan.query.preset.items()}
        self._preset = tuple(preset.get(name) for name in plan.query.names)
        self._pick = _picker(plan)
        self.renew()
        self._sorter: Sorter | None = make_sorter(plan, terms)

    def renew(self) -> None:
        """Start with new leaves and operators; the old ones may be half-way through a change."""
        steps = self.plan.steps
        self.leaves = [None if step.basic is None else Leaf(step.basic, self._dictionary) for step in steps]
        self._leaf = self.leaves[0] if len(self.leaves) == 1 else None
        self.operators: list[Operator | None] = [None] * len(steps)

    @property
    def is_leaf(self) -> bool:
        """True when the query is one basic graph pattern, with nothing above it."""
        return self._leaf is not None

    @property
    def states(self) -> list[SegmentState]:
        """The segments of all leaves."""
        return [state for leaf in self.leaves if leaf is not None for state in leaf.states]

    def open(self, fill: Callable[[], TermWeights | None]) -> TermWeights | None:
        """Run `fill`, which starts the query; a query with a budget overrides this."""
        return fill()

    def load(self, solutions: Callable[[SegmentState], Iterable[Row]]) -> TermWeights:
        """Fill the operators from the whole answers of the leaves, and give the answer of the query."""
        self.operators = self._make()
        return self._name(self._run(self.operators, self._contents(solutions), first=True))

    def drain(self) -> TermWeights:
        """Take the solutions that the segments found since the last commit and give the query's delta."""
        if self._leaf is not None:
            return self._name(self._leaf.drain())
        deltas = [None if leaf is None else leaf.drain() for leaf in self.leaves]
        return self._name(self._run(self.operators, deltas, first=False))

    def feed(self, leaves: list[Weights | None], *, first: bool) -> TermWeights:
        """Take the answers of the leaves from elsewhere: the `first` time whole, then deltas."""
        if first:
            self.operators = self._make()
        return self._name(self._run(self.operators, leaves, first=first))

    def current(
        self, solutions: Callable[..., Iterable[Row]], most: int | None = None
    ) -> list[tuple[Terms, int]]:
        """List the whole answer with weights, in order where the query has one.

        With `most` only its first rows, so many if there are. Terms are looked up for these alone, and the
        solutions of one pattern without DISTINCT are searched for until there are enough.

        It is read from the last operator if that keeps its output. Otherwise the query is evaluated once
        more, with new operators, since those of the query must not see rows twice.
        """
        # Distinct, Group, Slice and Closure keep their output.
        rows = getattr(self.operators[-1], "rows", None)
        if rows is not None:
            return self._list(self._cut(rows(), most))
        if self._leaf is not None:
            # which rows are the first shows only when all are there
            some = solutions if most is None or self._sorter else partial(solutions, most=most)
            return self._list(self._cut(self._leaf.current(some), most))
        operators = self._make()
        try:
            return self._list(self._cut(self._run(operators, self._contents(solutions), first=True), most))
        finally:
            _clear(operators)

    def _cut(self, rows: Weights, most: int | None) -> Weights:
        """Keep the first rows, in the order of the query."""
        if most is None or len(rows) <= most:
            return rows
        first = islice(rows, most) if self._sorter is None else nsmallest(most, rows, key=self._sorter)
        return {row: rows[row] for row in first}

    def clear(self) -> None:
        """Forget what the leaves and operators keep."""
        for leaf in self.leaves:
            if leaf is not None:
                leaf.states.clear()
                for answer in leaf.answers:
                    answer.clear()
        _clear(self.operators)

    def containers(self) -> list[Any]:
        """List the containers that cache something for this query, for measuring."""
        kept = [leaf.containers() for leaf in self.leaves if leaf is not None]
        kept += [operator.containers() for operator in self.operators if operator is not None]
        return [container for containers in kept for container in containers]

    def hits(self) -> int:
        """Count the matches of updates with patterns of this query, from before it began."""
        return sum(p.hits for p in dict.fromkeys(p for state in self.states for p in state.patterns))

    def _make(self) -> list[Operator | None]:
        return [
            None if step.basic is not None else make_operator(step, self.plan, self._dictionary, self._terms)
            for step in self.plan.steps
        ]

    def _contents(self, solutions: Callable[[SegmentState], Iterable[Row]]) -> list[Weights | None]:
        return [None if leaf is None else leaf.current(solutions) for leaf in self.leaves]

    def _run(self, operators: list[Operator | None], leaves: list[Weights | None], *, first: bool) -> Weights:
        """Run every step whose inputs changed; the first time all of them."""
        results: list[Weights] = []
        for step, operator, leaf in zip(self.plan.steps, operators, leaves, strict=True):
            if operator is None:
                results.append(leaf or {})
                continue
            inputs = [results[i] for i in step.inputs]
            # the first time also without a row: VALUES gives its rows, COUNT(*) a 0
            results.append(operator.update(*inputs) if first or any(inputs) else {})
        return results[-1]

    def _name(self, weights: Weights) -> TermWeights:
        """Turn rows into solutions; rows that differ only in columns that are not shown become one."""
        listed = self._list(weights)
        # Each row is one solution if all columns are shown.
        return dict(listed) if self._pick is not None else add_up(listed)

    def _list(self, weights: Weights) -> list[tuple[Terms, int]]:
        """Replace ids by terms and put the columns in the order of the projection, row by row."""
        rows = weights if self._sorter is None else sorted(weights, key=self._sorter)
        if self._pick is not None:
            term, pick = self._dictionary.terms.__getitem__, self._pick
            return [(tuple(map(term, pick(row))), weights[row]) for row in rows]
        terms = self._dictionary.terms
        shown = tuple(zip(self.plan.places, self._preset, strict=True))
        return [
            (tuple(fixed if place is None else terms[row[place]] for place, fixed in shown), weights[row])
            for row in rows
        ]


def _picker(plan: Plan) -> Callable[[Row], Iterable[int]] | None:
    """Make the function that puts a row in the order of the projection, if each column is shown once; else
    None.
    """
    places = [place for place in plan.places if place is not None]
    if len(places) != len(plan.places) or sorted(places) != list(range(len(plan.steps[-1].columns))):
        return None
    # one column or none comes here too; `itemgetter` would give a bare id, or refuse
    if places == sorted(places):
        return lambda row: row
    return itemgetter(*places)


def _clear(operators: Iterable[Operator | None]) -> None:
    for operator in operators:
        if operator is not None:
            operator.clear()
