"""LeftJoin: examples, and recomputation from the accumulated inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import Join, LeftJoin
from support.operators import CountingDictionary, Shape, check, histories, ids_of, net, rows, shapes, weigh

ON_FIRST: Any = ((0, 0),), (), ((0, 0), (1, -1), (-1, 1))
MAYBE_FIRST: Any = (), ((0, 0),), ((0, 0), (1, -1), (-1, 1))
CONDITIONS: list[Callable[[Row], bool] | None] = [
    None,
    lambda row: sum(row) % 2 == 0,
    lambda row: row[:1] == (1,),
]


@pytest.mark.parametrize(
    ("pairs", "condition", "steps", "deltas"),
    [
        (ON_FIRST, None, [({(1, 2): 2}, {})], [{(1, 2, 0): 2}]),
        (
            ON_FIRST,
            None,
            [({(1, 2): 2}, {}), ({}, {(1, 3): 1})],
            [{(1, 2, 0): 2}, {(1, 2, 0): -2, (1, 2, 3): 2}],
        ),
        (
            ON_FIRST,
            None,
            [({(1, 2): 1}, {(1, 3): 1}), ({}, {(1, 3): -1, (1, 4): 1}), ({}, {(1, 4): -1})],
            [{(1, 2, 3): 1}, {(1, 2, 3): -1, (1, 2, 4): 1}, {(1, 2, 4): -1, (1, 2, 0): 1}],
        ),
        (
            ON_FIRST,
            None,
            [({}, {(1, 3): 2}), ({(1, 2): 1}, {}), ({}, {(1, 3): -1})],
            [{}, {(1, 2, 3): 2}, {(1, 2, 3): -1}],
        ),
        (
            ON_FIRST,
            None,
            [({(1, 2): 1}, {(1, 3): 1}), ({(1, 2): -1}, {(1, 3): -1}), ({(1, 2): 1}, {}), ({}, {(1, 4): 1})],
            [{(1, 2, 3): 1}, {(1, 2, 3): -1}, {(1, 2, 0): 1}, {(1, 2, 0): -1, (1, 2, 4): 1}],
        ),
        (ON_FIRST, lambda row: row[2] > 3, [({(1, 2): 1}, {(1, 3): 1, (1, 4): 1})], [{(1, 2, 4): 1}]),
        (ON_FIRST, lambda row: row[2] > 3, [({(1, 2): 1}, {(1, 3): 1})], [{(1, 2, 0): 1}]),
        (MAYBE_FIRST, None, [({(0, 2): 1, (2, 2): 1}, {(1, 3): 1})], [{(1, 2, 3): 1, (2, 2, 0): 1}]),
        (MAYBE_FIRST, None, [({(1, 2): 1}, {(0, 0): 1})], [{(1, 2, 0): 1}]),
    ],
)
def test_left_join_of_examples(pairs: Any, condition: Any, steps: Any, deltas: list[Weights]) -> None:
    """The table's updates give the table's deltas."""
    assert net(LeftJoin(CountingDictionary(), *pairs, condition), *steps) == deltas


@given(shapes(), st.sampled_from(CONDITIONS), st.data())
def test_left_join_equals_recomputation(shape: Shape, condition: Any, data: st.DataObject) -> None:
    """The deltas add up to the matches and the padded rows without any; both sides are held, and let go."""

    def recompute(left: Weights, right: Weights) -> Weights:
        weighted = []
        for row, weight in left.items():
            pairs = [(shape.merge(row, other), n) for other, n in right.items() if shape.fits(row, other)]
            matches = [(merged, n * weight) for merged, n in pairs if condition is None or condition(merged)]
            weighted += matches or [(shape.pad(row), weight)]
        return weigh(weighted)

    dictionary = CountingDictionary()
    operator = LeftJoin(dictionary, shape.keys, shape.maybe, shape.columns, condition)
    history = data.draw(histories(rows(shape.left), rows(shape.right)))
    check(operator, history, recompute, dictionary, ids_of)


@given(shapes(), st.data())
def test_left_join_with_everything_optional_contains_the_join(shape: Shape, data: st.DataObject) -> None:
    """A delta of LeftJoin differs from that of Join only in padded rows."""
    left_join = LeftJoin(CountingDictionary(), shape.keys, shape.maybe, shape.columns)
    join = Join(CountingDictionary(), shape.keys, shape.maybe, shape.columns)
    left: set[Row] = set()
    for deltas in data.draw(histories(rows(shape.left), rows(shape.right))):
        left.update(deltas[0])
        outer, inner = left_join.update(*deltas), join.update(*deltas)
        differing = {row for row in {*outer, *inner} if outer.get(row, 0) != inner.get(row, 0)}
        assert differing <= {shape.pad(row) for row in left}
