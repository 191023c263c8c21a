"""Groups against grouping all rows again after every update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, Literal

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.group import Aggregate, GroupOperator
from rdflive.query.aggregates import SetFunction, integer, make_accumulator

NUMERALS = [Literal(1), Literal(2), Literal("2.0", datatype=XSD.decimal), Literal(-0.5)]
TERMS = [*NUMERALS, Literal("a"), Literal("b")]
UNBOUND = 0


class World:
    """A dictionary whose ids 1 to 6 are TERMS for good, and one group operator over it."""

    def __init__(
        self,
        keys: tuple[int, ...],
        functions: list[tuple[SetFunction | None, bool]],
        *,
        implicit: bool = False,
    ) -> None:
        self.dictionary = Dictionary()
        self.base = [self.dictionary.intern(term) for term in TERMS]
        self.dictionary.hold(self.base)
        self.functions = functions
        self.width = len(keys)
        aggregates = [self.aggregate(name, distinct) for name, distinct in functions]
        intern = self.dictionary.intern
        self.group = GroupOperator(
            self.dictionary, keys, aggregates, intern, lambda n: intern(integer(n)), implicit
        )
        self.references = sum(self.dictionary._references)
        self.output: Counter[Row] = Counter()

    def aggregate(self, name: SetFunction | None, distinct: bool) -> Aggregate:
        """A set function of the last column; COUNT(*) where it has no name."""
        if name is None:
            return (None, make_accumulator("COUNT", distinct=False), distinct)
        value: Callable[[Row], Any] = lambda row: self.dictionary.terms[row[-1]]  # noqa: E731 - short
        return (value, make_accumulator(name, distinct=distinct), False)

    def update(self, *deltas: Weights) -> Weights:
        """Update the group, check the shape of its delta, add it up, and end the commit."""
        given = [dict(delta) for delta in deltas]
        delta = self.group.update(*deltas)
        assert given == list(deltas)
        width = self.width
        assert set(delta.values()) <= {1, -1}
        assert max(Counter((row[:width], sign) for row, sign in delta.items()).values(), default=1) == 1
        for row, weight in delta.items():
            self.output[row] += weight
            if not self.output[row]:
                del self.output[row]
        assert self.output == self.group.rows()
        self.dictionary.sweep()
        return delta

    def read(self) -> dict[Row, tuple[str | None, ...]]:
        """The output as ids of the keys and terms of the results, by their spelling."""
        width = self.width
        terms = self.dictionary.terms
        return {row[:width]: tuple(spelling(terms[i]) for i in row[width:]) for row in self.output}

    def is_empty(self) -> bool:
        """Whether nothing is kept and nothing held beyond the terms for good."""
        empty = not any(self.group.containers())
        return empty and sum(self.dictionary._references) == self.references


def spelling(term: Any) -> str | None:
    return None if term is None else repr(term)


def grouped(
    rows: Counter[Row],
    seeds: set[Row],
    keys: tuple[int, ...],
    functions: list[tuple[SetFunction | None, bool]],
) -> dict[Row, tuple[str | None, ...]]:
    """Compute the groups from the start: every function over a list of each group's values."""
    groups: dict[Row, list[Row]] = {seed: [] for seed in seeds}
    for row in rows.elements():
        groups.setdefault(tuple(row[place] for place in keys), []).append(row)
    return {
        key: tuple(recomputed(*function, found) for function in functions) for key, found in groups.items()
    }


def recomputed(name: SetFunction | None, distinct: bool, rows: list[Row]) -> str | None:
    if name is None:
        return spelling(Literal(len(set(rows) if distinct else rows)))
    values = [TERMS[row[-1] - 1] if row[-1] else None for row in rows]
    if distinct:
        values = list(dict.fromkeys(values))
    accumulator = make_accumulator(name, distinct=False)()
    for value in values:
        accumulator.add(value, 1)
    return spelling(accumulator.result())


def change(present: Counter[Row], row: Row, weight: int) -> int:
    """Bound a change so that no row has a negative weight, and make it."""
    allowed = max(weight, -present[row])
    present[row] += allowed
    return allowed


FUNCTIONS: list[tuple[SetFunction | None, bool]] = [
    (None, False), (None, True), ("COUNT", True), ("SUM", False), ("AVG", True), ("MIN", False),
    ("MAX", False), ("SAMPLE", False), ("GROUP_CONCAT", False),
]  # fmt: skip
ROWS = st.tuples(st.integers(0, 2), st.integers(1, 2), st.integers(0, len(TERMS)))
DELTAS = st.dictionaries(ROWS, st.integers(-2, 2), max_size=6)
SEEDS = st.sets(st.tuples(st.integers(0, 2)), max_size=3)


@given(
    st.lists(st.tuples(DELTAS, SEEDS), max_size=8),
    st.sampled_from([(), (0,), (1, 0)]),
    st.sampled_from([FUNCTIONS, FUNCTIONS, []]),
    st.booleans(),
)
def test_group_agrees_with_grouping_anew(
    updates: list[tuple[Weights, set[Row]]], keys: tuple[int, ...], functions: Any, implicit: bool
) -> None:
    """After every update the groups are those of a new start; deleting all, or clear, leaves nothing.

    An implicit group is there for each seed, and for each key of a row.
    """
    keys = (0,) if implicit else keys
    world = World(keys, functions, implicit=implicit)
    present: Counter[Row] = Counter()
    seeds: set[Row] = set()
    for update, wanted in updates:
        delta = {row: weight for row, wish in update.items() if (weight := change(present, row, wish))}
        if implicit:
            world.update(delta, {seed: 1 if seed in wanted else -1 for seed in seeds ^ wanted})
            seeds = wanted
        else:
            world.update(delta)
        assert world.read() == grouped(+present, seeds, keys, functions)
    if implicit:
        world.group.clear()
        assert world.group.rows() == {}
    else:
        world.update({row: -weight for row, weight in present.items() if weight})
        assert world.output == {}
    assert world.is_empty()


def test_update_costs_the_same_however_large_the_group() -> None:
    """A row that enters a group is the only one whose value is asked for."""
    asked: list[Row] = []
    dictionary = Dictionary()
    dictionary.intern(Literal(1))

    def value(row: Row) -> Literal:
        asked.append(row)
        return Literal(row[0])

    aggregate: Aggregate = (value, make_accumulator("SUM", distinct=False), False)
    group = GroupOperator(dictionary, (), [aggregate], dictionary.intern, dictionary.intern)
    group.update({(number,): 1 for number in range(500)})
    asked.clear()
    group.update({(3,): -1, (900,): 1})
    assert asked == [(3,), (900,)]


@pytest.mark.parametrize(
    ("name", "distinct", "values", "expected", "empty"),
    [
        (None, False, [1, 1, 2, UNBOUND], Literal(4), Literal(0)),
        (None, True, [1, 1, 2, UNBOUND], Literal(3), Literal(0)),
        ("COUNT", False, [1, 1, 2, UNBOUND], Literal(3), Literal(0)),
        ("COUNT", True, [1, 1, 2, UNBOUND], Literal(2), Literal(0)),
        ("SUM", False, [1, 1, 3], Literal(Decimal("4.0")), Literal(0)),
        ("SUM", True, [1, 1, 3], Literal(Decimal("3.0")), Literal(0)),
        ("SUM", False, [1, 5], None, Literal(0)),
        ("AVG", False, [1, 2], Literal(Decimal("1.5")), Literal(0)),
        ("MIN", False, [1, 4, 5], Literal(-0.5), None),
        ("MAX", False, [1, 4, 5], Literal("a"), None),
        ("SAMPLE", False, [UNBOUND, 6, 5], Literal("a"), None),
        ("GROUP_CONCAT", False, [6, 5, 6], Literal("a b b"), Literal("")),
        ("GROUP_CONCAT", True, [6, 5, 6], Literal("a b"), Literal("")),
    ],
)
def test_group_gives_the_example(
    name: Any, distinct: bool, values: list[int], expected: Literal | None, empty: Literal | None
) -> None:
    """The group of all rows has one row over nothing, over the table's values, and when they have gone."""
    world = World((), [(name, distinct)], implicit=True)
    world.update({}, {(): 1})
    assert world.read() == {(): (spelling(empty),)}
    rows = Counter((value,) for value in values)
    world.update(dict(rows), {})
    assert world.read() == {(): (spelling(expected),)}
    world.update({row: -count for row, count in rows.items()}, {})
    assert world.read() == {(): (spelling(empty),)}
