"""Minus: examples, and recomputation from the accumulated inputs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import MinusOperator
from support.operators import CountingDictionary, Shape, check, histories, ids_of, net, shapes

EXACT = (((0, 0),), ())
MAYBE = ((), ((0, 0), (1, 1)))


@pytest.mark.parametrize(
    ("pairs", "context", "steps", "deltas"),
    [
        (EXACT, 0, [({(1, 2): 2, (2, 2): 1}, {(1,): 1})], [{(2, 2): 1}]),
        (EXACT, 0, [({(1, 2): 2}, {(1,): 1}), ({}, {(1,): -1})], [{}, {(1, 2): 2}]),
        (EXACT, 1, [({(1, 2): 2}, {(1,): 1})], [{(1, 2): 2}]),
        (((), ()), 0, [({(1,): 1}, {(2,): 1})], [{(1,): 1}]),
        (MAYBE, 0, [({(1, 0): 1}, {(0, 2): 1})], [{(1, 0): 1}]),
        (MAYBE, 0, [({(1, 0): 1}, {(1, 2): 1})], [{}]),
        (MAYBE, 0, [({(0, 0): 1}, {(0, 0): 1})], [{(0, 0): 1}]),
        (
            MAYBE,
            0,
            [({(1, 2): 1}, {(1, 0): 1, (0, 2): 1}), ({}, {(1, 0): -1}), ({}, {(0, 2): -1})],
            [{}, {}, {(1, 2): 1}],
        ),
        ((((0, 0),), ((1, 1),)), 1, [({(1, 0): 1, (1, 2): 1}, {(1, 2): 1})], [{(1, 0): 1}]),
    ],
)
def test_minus_of_examples(pairs: Any, context: int, steps: Any, deltas: list[Weights]) -> None:
    """The table's updates give the table's deltas."""
    assert net(MinusOperator(CountingDictionary(), *pairs, context), *steps) == deltas


@given(shapes(), st.data())
def test_minus_equals_recomputation(shape: Shape, data: st.DataObject) -> None:
    """The deltas add up to the left rows that no compatible right row shares a bound variable with."""
    context = data.draw(st.integers(0, len(shape.keys)))
    variables = (*shape.keys[context:], *shape.maybe)

    def removes(row: Row, other: Row) -> bool:
        return shape.fits(row, other) and any(row[a] and other[b] for a, b in variables)

    def recompute(left: Weights, right: Weights) -> Weights:
        return {row: n for row, n in left.items() if not any(removes(row, other) for other in right)}

    def keeps(left: Weights, right: Weights) -> set[int]:
        return ids_of(left, {shape.compared(row): 1 for row in right})

    def bound(arity: int, side: int) -> st.SearchStrategy[Row]:
        certain = {pair[side] for pair in shape.keys[context:]}
        return st.tuples(*[st.integers(int(place in certain), 3) for place in range(arity)])

    dictionary = CountingDictionary()
    operator = MinusOperator(dictionary, shape.keys, shape.maybe, context)
    history = data.draw(histories(bound(shape.left, 0), bound(shape.right, 1)))
    check(operator, history, recompute, dictionary, keeps)
