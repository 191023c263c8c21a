"""Distinct: examples, and recomputation from the accumulated input."""

from __future__ import annotations

import pytest
from hypothesis import given

from rdflive.engine.multiset import Weights
from rdflive.engine.operators import Distinct
from support.operators import CountingDictionary, History, check, histories, ids_of, net, rows


@pytest.mark.parametrize(
    ("steps", "deltas"),
    [
        ([({(1,): 3},), ({(1,): -2},), ({(1,): -1},)], [{(1,): 1}, {}, {(1,): -1}]),
        ([({(1,): 1, (2,): 1},), ({(1,): -1, (2,): 1},)], [{(1,): 1, (2,): 1}, {(1,): -1}]),
        ([({},), ({(0, 0): 2},)], [{}, {(0, 0): 1}]),
    ],
)
def test_distinct_of_examples(steps: list[tuple[Weights]], deltas: list[Weights]) -> None:
    """The table's updates give the table's deltas."""
    assert net(Distinct(CountingDictionary()), *steps) == deltas


@given(histories(rows(2)))
def test_distinct_equals_recomputation(history: History) -> None:
    """The output is every row of the accumulated input once, as `rows` says too; rows are held."""
    dictionary = CountingDictionary()
    distinct = Distinct(dictionary)

    def recompute(total: Weights) -> Weights:
        assert distinct.rows() == dict.fromkeys(total, 1)
        return dict.fromkeys(total, 1)

    check(distinct, history, recompute, dictionary, ids_of)
