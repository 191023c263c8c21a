"""Group: the groups of SPARQL's Group and AggregateJoin, with an accumulator for each aggregate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.engine.multiset import Multiset, Row, Weights
from rdflive.engine.operators.operator import row_at
from rdflive.query.aggregates import Accumulator

__all__ = ["Aggregate", "GroupOperator"]

Aggregate: TypeAlias = tuple[Callable[[Row], Any] | None, Callable[[], Accumulator], bool]
"""The function for a row's value (None for COUNT(*)), the accumulator factory, and true if distinct rows
count.
"""

_ANY: Any = "row"  # a value for COUNT(DISTINCT *), which counts rows; any value that is no error


class _State:
    """The state of one group: counts of its rows and seeds, its accumulators, and its row in the output."""

    __slots__ = ("accumulators", "output", "rows", "seeds", "seen")

    def __init__(self, accumulators: tuple[Accumulator, ...], seen: Multiset | None) -> None:
        self.accumulators = accumulators
        self.rows = 0
        self.seeds = 0
        self.seen = seen
        self.output: Row | None = None


class GroupOperator:
    """Group and AggregateJoin (SPARQL 1.1, 18.5.1): one output row per group, of its keys and results.

    A group exists while it has a row. With `implicit` it also exists while it has a seed, a row of the second
    input that consists of the key columns: `SELECT (COUNT(*) AS ?n)` over no rows has the answer ?n = 0.

    `intern` and `count` return the ids of a result and of a number of rows.

    An update costs O(1) per input row, O(log n) if an accumulator sorts, and one result of each aggregate per
    changed group.
    """

    __slots__ = (
        "_aggregates", "_count", "_counting", "_dictionary", "_groups", "_implicit", "_intern", "_keeps_rows",
        "_key",
    )  # fmt: skip

    def __init__(
        self,
        dictionary: Dictionary,
        keys: tuple[int, ...],
        aggregates: Sequence[Aggregate],
        intern: Callable[[Any], int],
        count: Callable[[int], int],
        implicit: bool = False,
    ) -> None:
        self._dictionary = dictionary
        self._key = row_at(keys)
        # a group counts its rows anyway, so COUNT(*) needs no accumulator
        self._counting = [value is None and not distinct_rows for value, _, distinct_rows in aggregates]
        self._aggregates = [one for one, counts in zip(aggregates, self._counting, strict=True) if not counts]
        self._intern = intern
        self._count = count
        self._implicit = implicit
        self._keeps_rows = any(distinct_rows for _, _, distinct_rows in aggregates)
        self._groups: dict[Row, _State] = {}

    def update(self, *deltas: Weights) -> Weights:
        """Apply the deltas of rows and seeds, and return the delta of the groups' rows."""
        touched: dict[Row, _State] = {}
        key_of, accumulates = self._key, bool(self._aggregates)
        for row, change in deltas[0].items():
            key = key_of(row)
            state = touched.get(key) or self._touch(key, touched)
            state.rows += change
            if accumulates:
                self._add(state, row, change)
        if self._implicit:
            for key, change in deltas[1].items():
                self._touch(key, touched).seeds += change
        output: Weights = {}
        for key, state in touched.items():
            new, old = self._replace(key, state)
            if new is not None:
                output[new] = 1
            if old is not None:
                output[old] = -1
        return output

    def one(self, row: Row, change: int) -> tuple[Row | None, Row | None]:
        """Apply one row; return the new and the old row of its group, or None twice if they are equal."""
        key = self._key(row)
        state = self._groups.get(key) or self._begin(key)
        state.rows += change
        if self._aggregates:
            self._add(state, row, change)
        return self._replace(key, state)

    def rows(self) -> Weights:
        """Return the current output."""
        return {state.output: 1 for state in self._groups.values() if state.output is not None}

    def clear(self) -> None:
        """Discard every group."""
        for state in self._groups.values():
            if state.output is not None:
                self._dictionary.drop(state.output)
            if state.seen is not None:
                state.seen.clear()
        self._groups.clear()

    def containers(self) -> list[Any]:
        """List the containers that grow with the input."""
        states = self._groups.values()
        seen = [state.seen.weights for state in states if state.seen is not None]
        values = (one.containers() for state in states for one in state.accumulators)
        return [self._groups, *seen, *chain.from_iterable(values)]

    def _touch(self, key: Row, touched: dict[Row, _State]) -> _State:
        state = touched.get(key)
        if state is None:
            state = touched[key] = self._groups.get(key) or self._begin(key)
        return state

    def _begin(self, key: Row) -> _State:
        accumulators = tuple(make() for _, make, _ in self._aggregates)
        state = self._groups[key] = _State(
            accumulators, Multiset(self._dictionary) if self._keeps_rows else None
        )
        return state

    def _add(self, state: _State, row: Row, change: int) -> None:
        # COUNT(DISTINCT *) counts only the first copy of a row
        turn = 0 if state.seen is None else state.seen.one(row, change)
        for (value, _, _), accumulator in zip(self._aggregates, state.accumulators, strict=True):
            if value is not None:
                accumulator.add(value(row), change)
            elif turn:
                accumulator.add(_ANY, turn)

    def _result(self, accumulator: Accumulator) -> int:
        # an aggregate that fails leaves its variable unbound (SPARQL 1.1, 18.5.1)
        result = accumulator.result()
        return UNBOUND if result is None else self._intern(result)

    def _replace(self, key: Row, state: _State) -> tuple[Row | None, Row | None]:
        """Replace the group's old row by its new one and return both; None twice if they are equal."""
        new = None
        if state.rows or state.seeds:
            count = self._count(state.rows)
            if self._aggregates:
                # results are computed once per commit and group, not once per changed row
                results = map(self._result, state.accumulators)
                new = (*key, *[count if counts_rows else next(results) for counts_rows in self._counting])
            else:
                new = (*key, *[count] * len(self._counting))
        else:
            del self._groups[key]
        old = state.output
        if new == old:
            return None, None
        if new is not None:
            self._dictionary.hold(new)
        if old is not None:
            self._dictionary.drop(old)
        state.output = new
        return new, old
