"""Products of factors against multiplying all factors again."""

from __future__ import annotations

from collections import Counter

import pytest

from rdflive.engine.leaf import advance, combine
from rdflive.engine.multiset import Multiset, Weights
from support.effort import drawn_from, rounds
from support.operators import CountingDictionary

A: Weights = {(1,): 1}
B: Weights = {(2,): 1}


def gone(weights: Weights) -> Weights:
    return {row: -weight for row, weight in weights.items()}


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize(
    ("steps", "deltas"),
    [
        ([(A, {}), ({}, B)], [{}, {((1,), (2,)): 1}]),
        ([(A, B), (gone(A), {})], [{((1,), (2,)): 1}, {((1,), (2,)): -1}]),
        ([(A, B), (gone(A), gone(B))], [{((1,), (2,)): 1}, {((1,), (2,)): -1}]),
        ([(A, B), (gone(A), {(3,): 1})], [{((1,), (2,)): 1}, {((1,), (2,)): -1}]),
    ],
)
def test_advance_of_examples(
    steps: list[tuple[Weights, ...]], deltas: list[dict[object, int]], distinct: bool
) -> None:
    """The table's updates give the table's deltas: of the first rows of a factor, and of its last ones."""
    answers = [Multiset(CountingDictionary()) for _ in steps[0]]
    assert [advance(answers, step, distinct=distinct) for step in steps] == deltas


@pytest.mark.parametrize("distinct", [True, False])
def test_advance_equals_recomputation(distinct: bool) -> None:
    """Whatever comes and goes in two or three factors at once, the deltas add up to their product."""
    random = drawn_from("product", distinct)
    for count in (2, 3):
        answers = [Multiset(CountingDictionary()) for _ in range(count)]
        total: Counter[object] = Counter()
        for _ in range(rounds(200)):
            deltas = []
            for answer in answers:
                wish = {(random.randint(1, 3),): random.choice((-2, -1, 1, 2)) for _ in range(2)}
                kept = {row: max(change, -answer.weights.get(row, 0)) for row, change in wish.items()}
                deltas.append({row: change for row, change in kept.items() if change})
            total.update(advance(answers, deltas, distinct=distinct))
            factors = [dict.fromkeys(a.weights, 1) if distinct else a.weights for a in answers]
            assert {rows: weight for rows, weight in total.items() if weight} == dict(combine(factors))
