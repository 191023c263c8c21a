"""One maintained basic graph pattern: the net changes of its segments, with DISTINCT and their product."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any, Final, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.kernel import SegmentState
from rdflive.engine.multiset import Multiset, Row, Weights, add_rows
from rdflive.engine.relation import Relation
from rdflive.query.budget import Meter
from rdflive.query.segment import BasicPlan, Segment

__all__ = ["AskedLeaf", "Combine", "Combined", "Leaf", "advance", "combine", "combine_within"]

Combined: TypeAlias = dict[tuple[Row, ...], int]
"""Weights of combined rows: one row per factor."""
_FEW: Final = 1000
"""Rows of a product between two looks at the clock."""
Combine: TypeAlias = Callable[[Sequence[Weights]], Iterator[tuple[tuple[Row, ...], int]]]
"""Lists a product."""


def combine(factors: Sequence[Weights]) -> Iterator[tuple[tuple[Row, ...], int]]:
    """List a product: every combination of rows, with the product of their weights.

    >>> dict(combine([{(1,): 1}, {(7,): 2}]))
    {((1,), (7,)): 2}
    """
    for entries in product(*(factor.items() for factor in factors)):
        yield tuple(row for row, _ in entries), prod(weight for _, weight in entries)


def combine_within(meter: Meter, factors: Sequence[Weights]) -> Iterator[tuple[tuple[Row, ...], int]]:
    """List a product as `combine` does, if the budget allows that many rows."""
    meter.spend(prod(map(len, factors)))
    for number, entry in enumerate(combine(factors), 1):
        if not number % _FEW:
            meter.look()
        yield entry


def advance(
    answers: Sequence[Multiset], deltas: Sequence[Weights], combine: Combine = combine, *, distinct: bool
) -> Combined:
    """Bring the answers of the factors up to date and return the delta of their product.

    The delta of a factor is combined with the new answers of the factors before it and the old answers of
    those after it: Δ(A × B) = ΔA × B + (A + ΔA) × ΔB. So a commit that changes several factors counts each
    combination once. With `distinct` every row weighs one, and the delta of a factor is its added and removed
    rows.
    """
    total: Combined = {}
    for i, delta in enumerate(deltas):
        turned = answers[i].update(delta)
        changed = turned if distinct else delta
        # a factor without rows makes the whole product empty
        if not changed or not all(answer.weights for j, answer in enumerate(answers) if j != i):
            continue
        factors = [
            changed if j == i else dict.fromkeys(answer.weights, 1) if distinct else answer.weights
            for j, answer in enumerate(answers)
        ]
        for rows, weight in combine(factors):
            total[rows] = total.get(rows, 0) + weight
    return {rows: weight for rows, weight in total.items() if weight}


class Leaf:
    """The input of a query's operators: the delta of one basic graph pattern.

    A pattern of one segment keeps nothing here. Several segments keep their answers, because a change of one
    is joined with the answers of the others (a Cartesian product, as segments share no variable). For
    DISTINCT each segment counts its rows, so that the product needs no counts. There are no counts if the
    projection keeps every variable, since rows are distinct then.
    """

    __slots__ = ("_combine", "_distinct", "answers", "plan", "states")

    def __init__(self, plan: BasicPlan, dictionary: Dictionary) -> None:
        self.plan = plan
        self.states: list[SegmentState] = []
        self._distinct = plan.distinct
        meter = dictionary.meter
        self._combine: Combine = combine if meter is None else partial(combine_within, meter)
        self.answers: tuple[Multiset, ...] = ()
        """The answers kept per segment; empty if none are needed."""
        # without a product or repeated rows, the deltas of the segment are those of the pattern
        if len(plan.segments) > 1 or (plan.distinct and any(map(_repeats, plan.segments))):
            self.answers = tuple(Multiset(dictionary) for _ in plan.segments)

    def drain(self) -> Weights:
        """Return the pattern's delta since the last commit."""
        if len(self.states) > 1:
            deltas = [_net(state) for state in self.states]
            return _flat(advance(self.answers, deltas, self._combine, distinct=self._distinct).items())
        delta = _net(self.states[0])
        return self.answers[0].update(delta) if self.answers else delta

    def current(self, solutions: Callable[[SegmentState], Iterable[Row]], *, kept: bool = True) -> Weights:
        """Return the full answer: from the answers kept, or from the solutions of the one segment.

        The answers of a family's segment are used only if they are `kept` for all members.
        """
        # the query was stopped, as after a second failure
        if not self.states:
            return {}
        factors = []
        for i, state in enumerate(self.states):
            weights: Weights = {}
            if self.answers and (kept or state.relation is None):
                weights = self.answers[i].weights
            else:
                add_rows(weights, solutions(state), 1)
            factors.append(dict.fromkeys(weights, 1) if self._distinct else weights)
        return _flat(self._combine(factors)) if len(factors) > 1 else dict(factors[0])

    def containers(self) -> list[Any]:
        """List the containers that hold state for this pattern, for measuring."""
        kept = [container for state in self.states for container in state.containers()]
        return [*kept, *(answer.weights for answer in self.answers)]


class AskedLeaf:
    """The input of operators that read the parameters of a family's members."""

    __slots__ = ("relation",)

    def __init__(self, relation: Relation) -> None:
        self.relation = relation

    def drain(self) -> Weights:
        """Return the tuples added and removed since the last time."""
        delta: Weights = {}
        add_rows(delta, self.relation.added, 1)
        # not cleared: several operators may read the relation
        add_rows(delta, self.relation.removed, -1)
        return delta


def _flat(combined: Iterable[tuple[tuple[Row, ...], int]]) -> Weights:
    return {tuple(term for row in rows for term in row): weight for rows, weight in combined}


def _net(state: SegmentState) -> Weights:
    added, removed = state.added, state.removed
    if len(added) + len(removed) == 1:  # the common case
        delta = {added[0]: 1} if added else {removed[0]: -1}
    else:
        delta = {}
        add_rows(delta, added, 1)
        # a commit may add and remove the same solution; only the net change may reach the operators
        add_rows(delta, removed, -1)
    added.clear()
    removed.clear()
    return delta


def _repeats(segment: Segment) -> bool:
    """Return True if the projection can map two solutions of the segment to the same row."""
    return len(segment.projection) < len(segment.variables)
