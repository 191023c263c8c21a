"""Join, LeftJoin and Exists: examples, and recomputation from the accumulated inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators import ExistsOperator, JoinOperator, LeftJoinOperator, Partners
from rdflive.engine.operators.operator import merger
from support.operators import CountingDictionary, Shape, check, histories, ids_of, net, rows, shapes, weigh

FALSE, TRUE = 5, 6
ON_FIRST: Any = ((0, 0),), (), ((0, 0), (1, -1), (-1, 1))
MAYBE_FIRST: Any = (), ((0, 0),), ((0, 0), (1, -1), (-1, 1))
PRODUCT: Any = (), (), ((0, -1), (-1, 0))
CONDITIONS: list[Callable[[Row], bool] | None] = [
    None,
    lambda row: sum(row) % 2 == 0,
    lambda row: row[:1] == (1,),
]


def exists(
    dictionary: Dictionary, keys: Any, maybe: Any, negated: bool = False, marks: tuple[int, int] | None = None
) -> ExistsOperator:
    """EXISTS without a condition."""
    return ExistsOperator(dictionary, Partners(dictionary, keys, maybe), negated, marks)


EXAMPLES: list[tuple[Any, tuple[Any, ...], list[tuple[Weights, Weights]], list[Weights]]] = [
    (
        JoinOperator,
        ON_FIRST,
        [({(1, 2): 1}, {(1, 3): 1}), ({(1, 2): -1}, {(1, 3): -1})],
        [{(1, 2, 3): 1}, {(1, 2, 3): -1}],
    ),
    (JoinOperator, ON_FIRST, [({(1, 2): 2}, {}), ({}, {(1, 3): 3, (2, 3): 1})], [{}, {(1, 2, 3): 6}]),
    (JoinOperator, ON_FIRST, [({(1, 2): 1}, {}), ({(1, 2): -1}, {(1, 3): 1})], [{}, {}]),
    (JoinOperator, MAYBE_FIRST, [({(1, 2): 1}, {(0, 3): 1, (2, 4): 1})], [{(1, 2, 3): 1}]),
    (JoinOperator, PRODUCT, [({(1,): 1, (2,): 1}, {(3,): 2})], [{(1, 3): 2, (2, 3): 2}]),
    (
        LeftJoinOperator,
        ON_FIRST,
        [({(1, 2): 2}, {}), ({}, {(1, 3): 1}), ({}, {(1, 3): -1, (1, 4): 1}), ({}, {(1, 4): -1})],
        [
            {(1, 2, 0): 2},
            {(1, 2, 0): -2, (1, 2, 3): 2},
            {(1, 2, 3): -2, (1, 2, 4): 2},
            {(1, 2, 4): -2, (1, 2, 0): 2},
        ],
    ),
    (
        LeftJoinOperator,
        ON_FIRST,
        [({(1, 2): 1}, {(1, 3): 1}), ({(1, 2): -1}, {(1, 3): -1}), ({(1, 2): 1}, {}), ({}, {(1, 4): 1})],
        [{(1, 2, 3): 1}, {(1, 2, 3): -1}, {(1, 2, 0): 1}, {(1, 2, 0): -1, (1, 2, 4): 1}],
    ),
    (
        LeftJoinOperator,
        (*ON_FIRST, lambda row: row[2] > 3),
        [({(1, 2): 1}, {(1, 3): 1}), ({}, {(1, 4): 1})],
        [{(1, 2, 0): 1}, {(1, 2, 0): -1, (1, 2, 4): 1}],
    ),
    (LeftJoinOperator, MAYBE_FIRST, [({(0, 2): 1, (2, 2): 1}, {(1, 3): 1})], [{(1, 2, 3): 1, (2, 2, 0): 1}]),
    (exists, (((0, 0),), ()), [({(1, 2): 2, (2, 2): 1}, {(1, 3): 1, (1, 4): 1})], [{(1, 2): 2}]),
    (
        exists,
        (((0, 0),), ()),
        [({(1, 2): 1}, {(1,): 1}), ({}, {(1,): 1}), ({}, {(1,): -1}), ({}, {(1,): -1})],
        [{(1, 2): 1}, {}, {}, {(1, 2): -1}],
    ),
    (exists, (((0, 0),), (), True), [({(1, 2): 1, (2, 2): 1}, {(1,): 1})], [{(2, 2): 1}]),
    (exists, ((), ((0, 0),)), [({(0, 2): 1}, {(1,): 1, (2,): 1}), ({}, {(1,): -1})], [{(0, 2): 1}, {}]),
    (
        exists,
        (((0, 0),), (), False, (FALSE, TRUE)),
        [({(1,): 2, (2,): 1}, {}), ({}, {(1,): 1})],
        [{(1, FALSE): 2, (2, FALSE): 1}, {(1, FALSE): -2, (1, TRUE): 2}],
    ),
    (exists, (((0, 0),), (), True, (FALSE, TRUE)), [({(1,): 1}, {(1,): 1})], [{(1, FALSE): 1}]),
]


@pytest.mark.parametrize(("kind", "options", "steps", "deltas"), EXAMPLES)
def test_examples(kind: Any, options: Any, steps: Any, deltas: list[Weights]) -> None:
    """The table's updates give the table's deltas."""
    assert net(kind(CountingDictionary(), *options), *steps) == deltas


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
    join = JoinOperator(dictionary, shape.keys, shape.maybe, shape.columns)
    check(join, data.draw(histories(rows(shape.left), rows(shape.right))), recompute, dictionary, ids_of)


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
    operator = LeftJoinOperator(dictionary, shape.keys, shape.maybe, shape.columns, condition)
    history = data.draw(histories(rows(shape.left), rows(shape.right)))
    check(operator, history, recompute, dictionary, ids_of)


@given(shapes(), st.booleans(), st.booleans(), st.data())
def test_exists_equals_recomputation(shape: Shape, negated: bool, marked: bool, data: st.DataObject) -> None:
    """The deltas add up to the left rows by whether they have a partner; what is compared is held."""

    def recompute(left: Weights, right: Weights) -> Weights:
        kept = []
        for row, weight in left.items():
            holds = any(shape.fits(row, other) for other in right) != negated
            kept += [((*row, TRUE if holds else FALSE), weight)] if marked else [(row, weight)] * holds
        return weigh(kept)

    def keeps(left: Weights, right: Weights) -> set[int]:
        compared = ids_of(left, {shape.compared(row): 1 for row in right})
        return compared | {FALSE, TRUE} if marked else compared

    dictionary = CountingDictionary()
    marks = (FALSE, TRUE) if marked else None
    operator = exists(dictionary, shape.keys, shape.maybe, negated, marks)
    history = data.draw(histories(rows(shape.left), rows(shape.right)))
    check(operator, history, recompute, dictionary, keeps)


@pytest.mark.parametrize("place", [0, 1])
def test_merger_takes_the_right_value_of_a_column_that_is_no_key(place: int) -> None:
    """A column of both sides that the join does not compare may be unbound on the left."""
    left = [7, 7]
    left[place] = 0
    assert merger(((place, 0),), (), 2)(tuple(left), (8,)) == (8,)
