"""Project: examples, and recomputation from the accumulated input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Weights
from rdflive.engine.operators import Project
from support.operators import History, check, histories, rows, weigh


@pytest.mark.parametrize(
    ("places", "delta", "projected"),
    [
        ((1, 0), {(1, 2): 3}, {(2, 1): 3}),
        ((0,), {(1, 2): 1, (1, 3): 1}, {(1,): 2}),
        ((0,), {(1, 2): 1, (1, 3): -1}, {}),
        ((-1, 1, 1), {(1, 2): 1}, {(0, 2, 2): 1}),
        ((), {(1, 2): 1, (3, 4): 1}, {(): 2}),
    ],
)
def test_project_of_examples(places: tuple[int, ...], delta: Weights, projected: Weights) -> None:
    """The table's deltas become the table's deltas."""
    assert Project(places, 2).update(delta) == projected


@given(st.lists(st.integers(-1, 2), max_size=4), histories(rows(3)))
def test_project_equals_recomputation(places: list[int], history: History) -> None:
    """The output is the projection of the accumulated input, weights of equal rows added."""

    def recompute(total: Weights) -> Weights:
        return weigh((tuple(0 if p < 0 else row[p] for p in places), n) for row, n in total.items())

    check(Project(tuple(places), 3), history, recompute)
