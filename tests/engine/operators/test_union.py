"""Union: examples, and recomputation from the accumulated inputs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Weights
from rdflive.engine.operators import Union
from support.operators import check, histories, rows, weigh

COLUMNS = ((0, 1, -1), (-1, 0, 0))


@pytest.mark.parametrize(
    ("deltas", "added"),
    [
        (({(1, 2): 1}, {(3,): 2}), {(1, 2, 0): 1, (0, 3, 3): 2}),
        (({(0, 0): 1}, {(0,): 2}), {(0, 0, 0): 3}),
        (({(0, 0): -1}, {(0,): 1}), {}),
        (({}, {}), {}),
    ],
)
def test_union_of_examples(deltas: tuple[Weights, ...], added: Weights) -> None:
    """The table's deltas add up to the table's delta."""
    assert Union(COLUMNS).update(*deltas) == added


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

    check(Union(columns), data.draw(histories(*map(rows, arities))), recompute)
