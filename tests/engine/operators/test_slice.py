"""Slice: examples, and recomputation from the accumulated input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import SliceOperator
from support.effort import drawn_from
from support.operators import CountingDictionary, History, add, check, histories, ids_of, rows, weigh


def backwards(row: Row) -> tuple[int, ...]:
    """An order that is not the rows' own."""
    return tuple(-i for i in reversed(row))


def cut(total: Weights, offset: int, limit: int | None, partition: tuple[int, ...] = ()) -> Weights:
    """Sort all rows and cut, per partition."""
    parts: dict[Row, list[Row]] = {}
    for row in sorted(total, key=backwards):
        parts.setdefault(tuple(row[p] for p in partition), []).extend([row] * total[row])
    end = None if limit is None else offset + limit
    return weigh((row, 1) for part in parts.values() for row in part[offset:end])


EXAMPLES: list[tuple[int, int | None, list[Weights], list[Weights]]] = [
    (
        0, 2, [{(1,): 1, (2,): 1}, {(3,): 1}, {(3,): -1}],
        [{(1,): 1, (2,): 1}, {(3,): 1, (1,): -1}, {(3,): -1, (1,): 1}],
    ),
    (0, 2, [{(1,): 1, (2,): 1, (3,): 1}, {(1,): -1, (3,): -1}], [{(3,): 1, (2,): 1}, {(3,): -1}]),
    (
        0, 2, [{(1,): 1, (2,): 1, (3,): 1}, {(2,): -1, (3,): -1}, {(0,): 1}],
        [{(3,): 1, (2,): 1}, {(3,): -1, (2,): -1, (1,): 1}, {(0,): 1}],
    ),
    (1, 1, [{(3,): 3, (2,): 1}, {(3,): -2}], [{(3,): 1}, {(3,): -1, (2,): 1}]),
    (1, None, [{(1,): 1, (2,): 2}, {(3,): 1}], [{(1,): 1, (2,): 1}, {(2,): 1}]),
    (0, None, [{(1,): 2}, {(1,): -1}], [{(1,): 2}, {(1,): -1}]),
    (2, 0, [{(1,): 5}, {(2,): 5}], [{}, {}]),
    (5, 5, [{(1,): 5}, {(1,): 1}], [{}, {(1,): 1}]),
]  # fmt: skip


@pytest.mark.parametrize(("offset", "limit", "steps", "deltas"), EXAMPLES)
def test_slice_of_examples(
    offset: int, limit: int | None, steps: list[Weights], deltas: list[Weights]
) -> None:
    """The table's updates, ordered from high to low, give the table's deltas."""
    operator = SliceOperator(CountingDictionary(), backwards, offset, limit)
    assert [operator.update(step) for step in steps] == deltas


@given(
    st.integers(0, 5),
    st.none() | st.integers(0, 5),
    st.sampled_from([(), (0,), (1, 0)]),
    histories(rows(2), updates=12),
)
def test_slice_equals_recomputation(
    offset: int, limit: int | None, partition: tuple[int, ...], history: History
) -> None:
    """The deltas add up to the sorted input, cut per partition, as `rows` says in order; rows are held."""
    dictionary = CountingDictionary()
    operator = SliceOperator(dictionary, backwards, offset, limit, partition)

    def recompute(total: Weights) -> Weights:
        found = operator.rows()
        assert found == cut(total, offset, limit, partition)
        assert partition or [*found] == sorted(found, key=backwards)
        return found

    check(operator, history, recompute, dictionary, ids_of)


@pytest.mark.parametrize(("offset", "limit"), [(0, 10), (500, 10), (500, None)])
def test_slice_update_asks_for_few_keys_and_moves_few_rows(offset: int, limit: int | None) -> None:
    """A change of one row among thousands computes one key and moves at most two rows."""
    asked: list[Row] = []

    def key(row: Row) -> Row:
        asked.append(row)
        return row

    random = drawn_from("slice", offset, limit)
    operator = SliceOperator(CountingDictionary(5_000), key, offset, limit)
    total = {(number, number % 5): 1 for number in random.sample(range(5_000), 2_000)}
    operator.update(total)
    for row in random.sample(sorted(total), 50):
        asked.clear()
        delta = operator.update({row: -1})
        add(total, {row: -1})
        assert asked == [row]
        assert len(delta) <= 2
    end = None if limit is None else offset + limit
    assert [*operator.rows()] == sorted(total)[offset:end]
