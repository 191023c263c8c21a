"""A query compiled for the terms of one library: automata with their views, and the computation of its
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Final, Protocol

from rdflive.matching.answers import AnswerMaker, Rows, is_direct, make_answers, shown_terms
from rdflive.matching.automaton import Automaton, make_automaton
from rdflive.matching.filters import comparisons_of
from rdflive.matching.joins import Run, Tally, compile_run
from rdflive.matching.kept_views import KeptViews
from rdflive.matching.libraries import Library
from rdflive.matching.views import Partition, Row, View, compile_partition
from rdflive.matching.walk import Walk, compile_walk, largest
from rdflive.query import algebra
from rdflive.query.plan import Plan

__all__ = ["EventMachine", "KeepingMachine", "Machine", "automata_of"]

_RUNS: Final = 4096
"""Number of sizes of views whose run is cached, and of orders whose code is cached."""


def automata_of(plan: Plan) -> list[Automaton]:
    """Make the automaton of each basic graph pattern of a plan."""
    nodes = [step.node for step in plan.steps if isinstance(step.node, algebra.Basic)]
    return [make_automaton(n.patterns, n.conditions, comparisons_of(n.conditions)) for n in nodes]


class Machine(Protocol):
    """Matches events whose triples use one library's terms."""

    sizes: list[tuple[int, ...] | None]
    """Per automaton, the sizes of its most recent views; None before the first ones."""
    orders: list[tuple[int, ...]]
    """Per automaton, the states in the order of the last run; empty if there was no join."""
    held: int | None
    """In a window, the present number of rows of its answer."""

    def match(self, triples: Sequence[Any], tally: Tally) -> tuple[Rows, Sequence[Row]]:
        """Return the rows that are added to and removed from the answer, and update the tally."""

    def check(self, triples: Sequence[Any]) -> None:
        """Raise the errors of `match` without changing anything."""

    def forget(self) -> None:
        """End the window."""


class EventMachine:
    """Matches each event by itself."""

    def __init__(self, plan: Plan, automata: Sequence[Automaton], library: Library) -> None:
        self._automata = automata
        self._library = library
        self._shown = shown_terms(plan, library)
        self._largest = largest(automata)
        self._walk: Walk | None = None
        self._answers: AnswerMaker = make_answers(plan, library)
        self._runs: list[dict[tuple[int, ...], tuple[Run, tuple[int, ...]]]] = [{} for _ in automata]
        self._by_order: dict[tuple[int, tuple[int, ...]], Run] = {}
        self._ends = _ends(automata)
        self._is_direct = is_direct(plan) and not plan.basics[0].distinct
        self.sizes: list[tuple[int, ...] | None] = [None] * len(automata)
        self.orders: list[tuple[int, ...]] = [()] * len(automata)
        self.held: int | None = None

    def match(self, triples: Sequence[Any], tally: Tally) -> tuple[Rows, Sequence[Row]]:
        """Return the answer: a walk through a small event, or the join of a larger event's views."""
        if len(triples) <= self._largest:
            walk = self._walk or self._write_walk()
            leaves = walk(triples)
            tally[2] += 1
        else:
            views = self._partition(triples)
            leaves = [self._join(i, views[a:b], tally) for i, (a, b) in enumerate(self._ends)]
        # same result as `_answers`, without two calls per event
        if self._is_direct:
            return leaves[0], ()
        try:
            return self._answers.begin(leaves), ()
        # after an error of an operator no rows may remain for the next event
        finally:
            self._answers.end()

    def check(self, triples: Sequence[Any]) -> None:
        """Put the triples into views, and discard these."""
        self._partition(triples)

    def forget(self) -> None:
        """Do nothing: there is no state between events."""

    # Compiled on first use, because most streams have only small events or only large ones. Not a cached
    # property: reading one takes a tenth of a microsecond, and a small event few microseconds.
    def _write_walk(self) -> Walk:
        self._walk = compile_walk(self._automata, self._shown, self._library)
        return self._walk

    @cached_property
    def _partition(self) -> Partition:
        return compile_partition(self._automata, self._library)

    def _join(self, i: int, views: Sequence[View], tally: Tally) -> Rows:
        sizes = self.sizes[i] = tuple(map(len, views))
        tally[1] += sum(sizes)
        # With an empty view there is no solution (lazy evaluation, Section 4).
        if not all(sizes):
            self.orders[i] = ()
            return []
        run, self.orders[i] = self._runs[i].get(sizes) or self._find(i, sizes)
        return run(views, tally)

    def _find(self, i: int, sizes: tuple[int, ...]) -> tuple[Run, tuple[int, ...]]:
        """Order the states, and generate the run if that order is new."""
        order = self._automata[i].order(sizes)
        run = self._by_order.get((i, order))
        if run is None:
            if len(self._by_order) >= _RUNS:
                self._by_order.clear()
            run = compile_run(self._automata[i], order, self._shown[i], self._library)
            self._by_order[i, order] = run
        if len(self._runs[i]) >= _RUNS:
            self._runs[i].clear()
        found = self._runs[i][sizes] = run, order
        return found


class KeepingMachine:
    """Matches events together with a background graph, or as updates of a window. It keeps its views."""

    def __init__(
        self,
        plan: Plan,
        automata: Sequence[Automaton],
        library: Library,
        *,
        background: Iterable[Any],
        is_window: bool,
        is_lazy: bool,
    ) -> None:
        shown = shown_terms(plan, library)
        self._partition: Callable[..., tuple[View, ...]] = compile_partition(automata, library)
        self._answers = make_answers(plan, library)
        self._ends = _ends(automata)
        self._kept = [
            KeptViews(automaton, columns, library, is_lazy=is_lazy)
            for automaton, columns in zip(automata, shown, strict=True)
        ]
        self.orders: list[tuple[int, ...]] = [()] * len(automata)
        # the solutions of the background alone, which are not counted in the statistics
        self._base = self._add(self._partition(background), [0, 0, 0])
        for kept in self._kept:
            kept.settle()
        self.held: int | None = len(self._answers.begin(self._base)) if is_window else None

    def match(self, triples: Sequence[Any], tally: Tally) -> tuple[Rows, Sequence[Row]]:
        """Add the event to the views; without a window, remove it again afterwards."""
        views = self._partition(triples)
        if self.held is not None:
            added, removed = self._answers.advance(self._add(views, tally))
            self.held += len(added) - len(removed)
            return added, removed
        try:
            found = self._add(views, tally)
            # the lists are disjoint: each solution in `found` has a triple that the background lacks
            return self._answers.begin([[*b, *f] for b, f in zip(self._base, found, strict=True)]), []
        finally:
            self._answers.end()
            self._undo()

    def check(self, triples: Sequence[Any]) -> None:
        """Put the triples into views, and discard these."""
        self._partition(triples)

    def forget(self) -> None:
        """Remove everything except the background."""
        self._undo()
        self._answers.end()
        self.held = len(self._answers.begin(self._base))

    def _add(self, views: Sequence[View], tally: Tally) -> list[Rows]:
        tally[1] += sum(map(len, views))
        leaves = []
        for i, (kept, (a, b)) in enumerate(zip(self._kept, self._ends, strict=True)):
            kept.order = ()
            leaves.append(kept.add(views[a:b], tally))
            self.orders[i] = kept.order
        self.sizes: list[tuple[int, ...] | None] = [tuple(kept.sizes) for kept in self._kept]
        return leaves

    def _undo(self) -> None:
        for kept in self._kept:
            kept.undo()


def _ends(automata: Sequence[Automaton]) -> list[tuple[int, int]]:
    """Return the begin and end of each automaton's views in the list of all views."""
    ends = []
    start = 0
    for automaton in automata:
        ends.append((start, start + len(automaton.patterns)))
        start += len(automaton.patterns)
    return ends
