"""One maintained query: nets what its segments found, applies DISTINCT and the product, names terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from rdflive.dictionary import Dictionary
from rdflive.engine.kernel import SegmentState
from rdflive.engine.multiset import Multiset, Row, Weights, add_rows
from rdflive.engine.product import advance, combine
from rdflive.query.plan import Plan, Segment

__all__ = ["QueryState", "TermWeights"]

TermWeights: TypeAlias = dict[tuple[Any, ...], int]
"""Solutions as tuples of terms (None where unbound), and their weights."""


class QueryState:
    """The operators above the segments of one query.

    SELECT keeps nothing here when it has one segment. DISTINCT and ASK count the rows of each segment
    (unless its projection keeps them apart anyway), so that their product needs no counts of its own.
    Several segments keep their answers, which the product needs.
    """

    __slots__ = ("_dictionary", "_distinct", "_preset", "answers", "plan", "states")

    def __init__(self, plan: Plan, dictionary: Dictionary, preset: Mapping[str, Any]) -> None:
        self.plan = plan
        self.states: list[SegmentState] = []
        self._dictionary = dictionary
        self._distinct = plan.query.distinct or plan.query.form == "ASK"
        self._preset = tuple(preset.get(name) for name in plan.query.names)
        self.answers: tuple[Multiset, ...] = ()
        """The answers kept per segment; empty where none are needed."""
        if len(plan.segments) > 1 or (self._distinct and any(map(_repeats, plan.segments))):
            self.answers = tuple(Multiset(dictionary) for _ in plan.segments)

    def drain(self) -> TermWeights:
        """Take what the segments found since the last commit and give the query's delta."""
        deltas = [_net(state) for state in self.states]
        if len(deltas) > 1:
            return self._name(advance(self.answers, deltas, distinct=self._distinct).items())
        delta = self.answers[0].update(deltas[0]) if self.answers else deltas[0]
        return self._name(((row,), weight) for row, weight in delta.items())

    def current(self, solutions: Callable[[SegmentState], Iterable[Row]]) -> TermWeights:
        """Give the whole answer: from the answers kept, or from the solutions of the one segment."""
        factors = []
        for i, state in enumerate(self.states):
            weights: Weights = {}
            if self.answers:
                weights = self.answers[i].weights
            else:
                add_rows(weights, solutions(state), 1)
            factors.append(dict.fromkeys(weights, 1) if self._distinct else weights)
        return self._name(combine(factors))

    def containers(self) -> list[Any]:
        """List the containers that cache something for this query, for measuring."""
        kept = [container for state in self.states for container in state.containers()]
        return [*kept, *(answer.weights for answer in self.answers)]

    def hits(self) -> int:
        """Count the matches of updates with patterns of this query, from before it began."""
        return sum(p.hits for p in dict.fromkeys(p for state in self.states for p in state.patterns))

    def _name(self, combined: Iterable[tuple[tuple[Row, ...], int]]) -> TermWeights:
        """Replace ids by terms and put the columns in the order of the projection."""
        terms = self._dictionary.terms
        named: TermWeights = {}
        for rows, weight in combined:
            solution = tuple(
                preset if place is None else terms[rows[place[0]][place[1]]]
                for place, preset in zip(self.plan.columns, self._preset, strict=True)
            )
            named[solution] = named.get(solution, 0) + weight
        return named


def _net(state: SegmentState) -> Weights:
    delta: Weights = {}
    add_rows(delta, state.added, 1)
    add_rows(delta, state.removed, -1)
    state.added.clear()
    state.removed.clear()
    return delta


def _repeats(segment: Segment) -> bool:
    """True when the projection can give two solutions of the segment the same row."""
    return len(segment.projection) < len(segment.variables)
