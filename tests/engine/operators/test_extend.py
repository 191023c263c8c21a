"""Extend: examples, and recomputation from the accumulated input."""

from __future__ import annotations

import pytest
from hypothesis import given

from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import Extend
from support.operators import History, check, histories, rows


def difference(row: Row) -> int:
    """An expression that fails, so gives UNBOUND, where it would not be positive."""
    return max(row[0] - row[1], 0)


@pytest.mark.parametrize(
    ("delta", "extended"),
    [({(3, 1): 2}, {(3, 1, 2): 2}), ({(1, 3): -1}, {(1, 3, 0): -1}), ({}, {})],
)
def test_extend_of_examples(delta: Weights, extended: Weights) -> None:
    """The table's deltas become the table's deltas."""
    assert Extend(difference).update(delta) == extended


@given(histories(rows(2)))
def test_extend_equals_recomputation(history: History) -> None:
    """The output is the accumulated input with the value of each row."""

    def recompute(total: Weights) -> Weights:
        return {(*row, difference(row)): weight for row, weight in total.items()}

    check(Extend(difference), history, recompute)
