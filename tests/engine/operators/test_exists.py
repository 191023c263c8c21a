"""Exists: examples, and recomputation from the accumulated inputs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.engine.multiset import Weights
from rdflive.engine.operators import Exists
from support.operators import CountingDictionary, Shape, check, histories, ids_of, net, rows, shapes, weigh

FALSE, TRUE = 5, 6


@pytest.mark.parametrize(
    ("pairs", "options", "steps", "deltas"),
    [
        ((((0, 0),), ()), {}, [({(1, 2): 2, (2, 2): 1}, {(1, 3): 1, (1, 4): 1})], [{(1, 2): 2}]),
        (
            (((0, 0),), ()),
            {},
            [({(1, 2): 1}, {(1,): 2}), ({}, {(1,): -1}), ({}, {(1,): -1})],
            [{(1, 2): 1}, {}, {(1, 2): -1}],
        ),
        (
            (((0, 0),), ()),
            {},
            [({(1, 2): 1}, {(1,): 1}), ({}, {(1,): 1}), ({}, {(1,): -1})],
            [{(1, 2): 1}, {}, {}],
        ),
        ((((0, 0),), ()), {"negated": True}, [({(1, 2): 1, (2, 2): 1}, {(1,): 1})], [{(2, 2): 1}]),
        (((), ((0, 0),)), {}, [({(0, 2): 1}, {(1,): 1, (2,): 1}), ({}, {(1,): -1})], [{(0, 2): 1}, {}]),
        (((), ()), {}, [({(1, 2): 1}, {}), ({}, {(): 1})], [{}, {(1, 2): 1}]),
        (
            (((0, 0),), ()),
            {"marks": (FALSE, TRUE)},
            [({(1,): 2, (2,): 1}, {}), ({}, {(1,): 1})],
            [{(1, FALSE): 2, (2, FALSE): 1}, {(1, FALSE): -2, (1, TRUE): 2}],
        ),
        (
            (((0, 0),), ()),
            {"marks": (FALSE, TRUE), "negated": True},
            [({(1,): 1}, {(1,): 1})],
            [{(1, FALSE): 1}],
        ),
    ],
)
def test_exists_of_examples(pairs: Any, options: Any, steps: Any, deltas: list[Weights]) -> None:
    """The table's updates give the table's deltas."""
    assert net(Exists(CountingDictionary(), *pairs, **options), *steps) == deltas


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
    operator = Exists(dictionary, shape.keys, shape.maybe, negated, marks)
    history = data.draw(histories(rows(shape.left), rows(shape.right)))
    check(operator, history, recompute, dictionary, keeps)
