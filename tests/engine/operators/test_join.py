"""Join: examples, and recomputation from the accumulated inputs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Weights
from rdflive.engine.operators import Join
from support.operators import CountingDictionary, Shape, check, histories, ids_of, net, rows, shapes, weigh

ON_FIRST = ((0, 0),), (), ((0, 0), (1, -1), (-1, 1))
MAYBE_FIRST = (), ((0, 0),), ((0, 0), (1, -1), (-1, 1))
PRODUCT = (), (), ((0, -1), (-1, 0))


@pytest.mark.parametrize(
    ("pairs", "steps", "deltas"),
    [
        (ON_FIRST, [({(1, 2): 1}, {(1, 3): 1})], [{(1, 2, 3): 1}]),
        (ON_FIRST, [({(1, 2): 2}, {}), ({}, {(1, 3): 3, (2, 3): 1})], [{}, {(1, 2, 3): 6}]),
        (
            ON_FIRST,
            [({(1, 2): 1}, {(1, 3): 1}), ({(1, 2): -1}, {(1, 3): -1})],
            [{(1, 2, 3): 1}, {(1, 2, 3): -1}],
        ),
        (ON_FIRST, [({(1, 2): 1}, {}), ({(1, 2): -1}, {(1, 3): 1})], [{}, {}]),
        (MAYBE_FIRST, [({(0, 2): 1}, {(1, 3): 1, (2, 4): 1})], [{(1, 2, 3): 1, (2, 2, 4): 1}]),
        (MAYBE_FIRST, [({(1, 2): 1}, {(0, 3): 1, (2, 4): 1})], [{(1, 2, 3): 1}]),
        (MAYBE_FIRST, [({(0, 2): 1}, {(0, 3): 1})], [{(0, 2, 3): 1}]),
        (PRODUCT, [({(1,): 1, (2,): 1}, {(3,): 2})], [{(1, 3): 2, (2, 3): 2}]),
    ],
)
def test_join_of_examples(
    pairs: tuple[tuple[tuple[int, int], ...], ...],
    steps: list[tuple[Weights, Weights]],
    deltas: list[Weights],
) -> None:
    """The table's updates give the table's deltas."""
    assert net(Join(CountingDictionary(), *pairs), *steps) == deltas


@given(shapes(), st.data())
def test_join_equals_recomputation(shape: Shape, data: st.DataObject) -> None:
    """The deltas add up to all merged pairs of compatible rows; both sides are held, and let go."""

    def recompute(left: Weights, right: Weights) -> Weights:
        return weigh(
            (shape.merge(row, other), weight * count)
            for row, weight in left.items()
            for other, count in right.items()
            if shape.fits(row, other)
        )

    dictionary = CountingDictionary()
    join = Join(dictionary, shape.keys, shape.maybe, shape.columns)
    check(join, data.draw(histories(rows(shape.left), rows(shape.right))), recompute, dictionary, ids_of)


@given(shapes(), st.data())
def test_exact_join_equals_compatible_join(shape: Shape, data: st.DataObject) -> None:
    """On bound columns, comparing exactly and comparing by compatibility give the same deltas."""
    bound = [st.tuples(*[st.integers(1, 3)] * arity) for arity in (shape.left, shape.right)]
    shared = (*shape.keys, *shape.maybe)
    exact = Join(CountingDictionary(), shared, (), shape.columns)
    maybe = Join(CountingDictionary(), (), shared, shape.columns)
    for deltas in data.draw(histories(*bound)):
        assert exact.update(*deltas) == maybe.update(*deltas)
