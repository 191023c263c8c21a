"""Filter: examples, and recomputation from the accumulated input."""

from __future__ import annotations

import pytest
from hypothesis import given

from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import Filter
from support.operators import History, check, histories, rows


def rises(row: Row) -> bool:
    """A condition on two columns."""
    return row[0] < row[1]


@pytest.mark.parametrize(
    ("delta", "passed"),
    [({(1, 3): 2, (3, 1): 1}, {(1, 3): 2}), ({(0, 1): -1}, {(0, 1): -1}), ({(2, 2): 1}, {}), ({}, {})],
)
def test_filter_of_examples(delta: Weights, passed: Weights) -> None:
    """The table's deltas become the table's deltas."""
    assert Filter(rises).update(delta) == passed


@given(histories(rows(2)))
def test_filter_equals_recomputation(history: History) -> None:
    """The output is the rows of the accumulated input that pass."""

    def recompute(total: Weights) -> Weights:
        return {row: weight for row, weight in total.items() if rises(row)}

    check(Filter(rises), history, recompute)
