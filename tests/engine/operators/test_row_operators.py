"""Extend, Filter, Project, Union, Distinct and Values: examples, and recomputation from the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import (
    DistinctOperator,
    ExtendOperator,
    FilterOperator,
    Operator,
    ProjectOperator,
    UnionOperator,
    ValuesOperator,
)
from support.operators import CountingDictionary, History, check, histories, ids_of, net, rows, weigh

COLUMNS = ((0, 1, -1), (-1, 0, 0))


def difference(row: Row) -> int:
    """An expression that fails, so gives UNBOUND, where it would not be positive."""
    return max(row[0] - row[1], 0)


def rises(row: Row) -> bool:
    """A condition on two columns."""
    return row[0] < row[1]


def distinct() -> DistinctOperator:
    return DistinctOperator(CountingDictionary())


EXAMPLES: list[tuple[Callable[[], Operator], list[Sequence[Weights]], list[Weights]]] = [
    (
        lambda: ExtendOperator(difference),
        [({(3, 1): 2},), ({(1, 3): -1},), ({},)],
        [{(3, 1, 2): 2}, {(1, 3, 0): -1}, {}],
    ),
    (
        lambda: FilterOperator(rises),
        [({(1, 3): 2, (3, 1): 1},), ({(0, 1): -1},)],
        [{(1, 3): 2}, {(0, 1): -1}],
    ),
    (lambda: FilterOperator(rises), [({(2, 2): 1},), ({},)], [{}, {}]),
    (lambda: ProjectOperator((1, 0), 2), [({(1, 2): 3},)], [{(2, 1): 3}]),
    (
        lambda: ProjectOperator((0,), 2),
        [({(1, 2): 1, (1, 3): 1},), ({(1, 2): 1, (1, 3): -1},)],
        [{(1,): 2}, {}],
    ),
    (lambda: ProjectOperator((-1, 1, 1), 2), [({(1, 2): 1},)], [{(0, 2, 2): 1}]),
    (lambda: ProjectOperator((), 2), [({(1, 2): 1, (3, 4): 1},)], [{(): 2}]),
    (
        lambda: UnionOperator(COLUMNS),
        [({(1, 2): 1}, {(3,): 2}), ({}, {})],
        [{(1, 2, 0): 1, (0, 3, 3): 2}, {}],
    ),
    (
        lambda: UnionOperator(COLUMNS),
        [({(0, 0): 1}, {(0,): 2}), ({(0, 0): -1}, {(0,): 1})],
        [{(0, 0, 0): 3}, {}],
    ),
    (distinct, [({(1,): 3},), ({(1,): -2},), ({(1,): -1},)], [{(1,): 1}, {}, {(1,): -1}]),
    (distinct, [({(1,): 1, (2,): 1},), ({(1,): -1, (2,): 1},)], [{(1,): 1, (2,): 1}, {(1,): -1}]),
    (distinct, [({},), ({(0, 0): 2},)], [{}, {(0, 0): 1}]),
    (lambda: ValuesOperator([(1, 2), (0, 2), (1, 2)], CountingDictionary()), [()], [{(1, 2): 2, (0, 2): 1}]),
    (lambda: ValuesOperator([()], CountingDictionary()), [(), ()], [{(): 1}, {}]),
]


@pytest.mark.parametrize(("make", "steps", "deltas"), EXAMPLES)
def test_examples(
    make: Callable[[], Operator], steps: list[Sequence[Weights]], deltas: list[Weights]
) -> None:
    """The table's updates give the table's deltas."""
    assert net(make(), *steps) == deltas


@given(histories(rows(2)))
def test_extend_and_filter_equal_recomputation(history: History) -> None:
    """The output is the accumulated input with the value of each row, or the rows of it that pass."""
    check(
        ExtendOperator(difference),
        history,
        lambda total: {(*row, difference(row)): n for row, n in total.items()},
    )
    check(FilterOperator(rises), history, lambda total: {row: n for row, n in total.items() if rises(row)})


@given(st.lists(st.integers(-1, 2), max_size=4), histories(rows(3)))
def test_project_equals_recomputation(places: list[int], history: History) -> None:
    """The output is the projection of the accumulated input, weights of equal rows added."""

    def recompute(total: Weights) -> Weights:
        return weigh((tuple(0 if p < 0 else row[p] for p in places), n) for row, n in total.items())

    check(ProjectOperator(tuple(places), 3), history, recompute)


@given(st.data())
def test_union_equals_recomputation(data: st.DataObject) -> None:
    """The output is the sum of up to three inputs, each brought to the output's columns."""
    arities = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    width = data.draw(st.integers(0, 3))
    columns = tuple(
        tuple(data.draw(st.lists(st.integers(-1, arity - 1), min_size=width, max_size=width)))
        for arity in arities
    )

    def recompute(*inputs: Weights) -> Weights:
        return weigh(
            (tuple(0 if place < 0 else row[place] for place in places), weight)
            for places, total in zip(columns, inputs, strict=True)
            for row, weight in total.items()
        )

    check(UnionOperator(columns), data.draw(histories(*map(rows, arities))), recompute)


@given(histories(rows(2)))
def test_distinct_equals_recomputation(history: History) -> None:
    """The output is every row of the accumulated input once, as `rows` says too; rows are held."""
    dictionary = CountingDictionary()
    operator = DistinctOperator(dictionary)

    def recompute(total: Weights) -> Weights:
        assert operator.rows() == dict.fromkeys(total, 1)
        return operator.rows()

    check(operator, history, recompute, dictionary, ids_of)


@given(st.lists(rows(2)))
def test_values_come_once_and_are_held_until_clear(given_rows: list[Row]) -> None:
    """The first update gives the rows with their counts, later ones nothing; clear, repeated, frees them."""
    dictionary = CountingDictionary()
    values = ValuesOperator(given_rows, dictionary)
    counts = weigh((row, 1) for row in given_rows)
    assert [values.update(), values.update()] == [counts, {}]
    assert dictionary.in_use() == ids_of(counts)
    for _ in range(2):
        values.clear()
        assert dictionary.in_use() == set()
        assert not any(values.containers())
    with pytest.raises(ValueError, match="Values has no inputs, 1 deltas were given"):
        values.update({})
