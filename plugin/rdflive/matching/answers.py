"""Turns solutions of basic graph patterns into solutions of the query: directly, or by the query's
operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any, Protocol, TypeAlias

from rdflive.engine.demand import Demand
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.query import QueryState
from rdflive.engine.terms import TermTable
from rdflive.matching.libraries import Library
from rdflive.matching.views import Row
from rdflive.query import algebra
from rdflive.query.plan import Plan

__all__ = ["AnswerMaker", "Rows", "is_direct", "make_answers", "shown_terms"]

Rows: TypeAlias = list[Row]


class AnswerMaker(Protocol):
    """Turns solutions of the basic graph patterns into solutions of the query, between `begin` and `end`."""

    def begin(self, leaves: Sequence[Rows]) -> Rows:
        """Take the solutions of each basic graph pattern, and return the solutions of the query."""

    def advance(self, leaves: Sequence[Rows]) -> tuple[Rows, Rows]:
        """Take new solutions of each pattern, and return the solutions added to and removed from the
        answer.
        """

    def end(self) -> None:
        """Clear the state."""


def is_direct(plan: Plan) -> bool:
    """Return True if the answer is that of one pattern with filters, projection and DISTINCT.

    It then needs no operators, because the automaton tests the filters itself.
    """
    first, *others = plan.steps
    return (
        first.basic is not None
        and not plan.query.order  # the order is made by operators
        and plan.query.form != "CONSTRUCT"
        and all(
            # e.g. FILTER(?x < ?y) over two segments of the engine, which an automaton joins and tests
            isinstance(step.node, algebra.Filter) and step.node.condition in first.basic.residual
            for step in others
        )
        # SELECT ?x { SELECT DISTINCT ?x ?y { ... } } may give an ?x twice: the projection follows DISTINCT
        and (not first.basic.distinct or len(set(plan.places) - {None}) == len(first.columns))
    )


def shown_terms(plan: Plan, library: Library) -> list[tuple[Any, ...]]:
    """Return the columns of each basic graph pattern; for a direct plan, those of the projection.

    Entries that are not variables are used as they are: terms that `initBindings` fixed, or None.
    """
    if not is_direct(plan):
        return [step.columns for step in plan.steps if step.basic is not None]
    preset = {name: library.to_native(term) for name, term in plan.query.preset.items()}
    columns = plan.steps[-1].columns
    return [
        tuple(
            preset.get(name) if place is None else columns[place]
            for name, place in zip(plan.query.names, plan.places, strict=True)
        )
    ]


def make_answers(plan: Plan, library: Library) -> AnswerMaker:
    """Make the computation of the query's solutions from those of its basic graph patterns."""
    if not is_direct(plan):
        return _Operated(plan, library)
    basic = plan.steps[0].basic
    return _DistinctMaker() if basic is not None and basic.distinct else _Direct()


class _Direct:
    """The answer is the solutions of one pattern."""

    __slots__ = ()

    def begin(self, leaves: Sequence[Rows]) -> Rows:
        return leaves[0]

    def advance(self, leaves: Sequence[Rows]) -> tuple[Rows, Rows]:
        return leaves[0], []

    def end(self) -> None:
        """Do nothing: there is no state."""


class _DistinctMaker:
    """The answer is the distinct solutions of one pattern."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[Row, None] = {}

    def begin(self, leaves: Sequence[Rows]) -> Rows:
        self._seen = dict.fromkeys(leaves[0])
        return list(self._seen)

    def advance(self, leaves: Sequence[Rows]) -> tuple[Rows, Rows]:
        new = [row for row in dict.fromkeys(leaves[0]) if row not in self._seen]
        self._seen.update(dict.fromkeys(new))
        return new, []

    def end(self) -> None:
        self._seen = {}


class _Operated:
    """Uses the operators of the engine, with new solutions as a delta."""

    __slots__ = ("_dictionary", "_distinct", "_state")

    def __init__(self, plan: Plan, library: Library) -> None:
        self._dictionary = Dictionary()
        to_value = None if library.to_rdflib is None else library.value
        table = TermTable(self._dictionary, library.to_native, to_value)
        self._state = QueryState(plan, self._dictionary, table, library.to_native, Demand())
        # the plan has no operator for this DISTINCT, which a leaf of the engine applies itself
        self._distinct = [_DistinctMaker() if basic.distinct else None for basic in plan.basics]

    def begin(self, leaves: Sequence[Rows]) -> Rows:
        rows = [d.begin([rows]) if d else rows for d, rows in zip(self._distinct, leaves, strict=True)]
        return self._feed(rows, first=True)[0]

    def advance(self, leaves: Sequence[Rows]) -> tuple[Rows, Rows]:
        rows = [d.advance([rows])[0] if d else rows for d, rows in zip(self._distinct, leaves, strict=True)]
        return self._feed(rows, first=False)

    def end(self) -> None:
        for distinct in self._distinct:
            if distinct is not None:
                distinct.end()
        self._state.clear()
        # the operators have dropped their rows, so their terms can be removed too
        self._dictionary.sweep()

    def _feed(self, leaves: Sequence[Rows], *, first: bool) -> tuple[Rows, Rows]:
        waiting = iter(leaves)
        deltas = [
            None if step.basic is None else self._weigh(next(waiting)) for step in self._state.plan.steps
        ]
        weights = self._state.feed(deltas, first=first)
        # only now: the result above reads the terms of removed solutions from the dictionary
        self._dictionary.sweep()
        return _repeated(weights, 1), _repeated(weights, -1)

    def _weigh(self, rows: Rows) -> dict[tuple[int, ...], int]:
        weights: dict[tuple[int, ...], int] = {}
        intern = self._dictionary.intern
        for row in rows:
            ids = tuple(map(intern, row))
            weights[ids] = weights.get(ids, 0) + 1
        return weights


def _repeated(weights: dict[Row, int], sign: int) -> Rows:
    return list(chain.from_iterable(repeat(row, w * sign) for row, w in weights.items() if w * sign > 0))
