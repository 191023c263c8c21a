"""The Cartesian product of segments, of which only the delta is listed: Algorithm 3 and Section 6.1 of
Gergatsoulis and Damigos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from rdflive.engine.multiset import Multiset, Row, Weights
from rdflive.query.budget import Meter

__all__ = ["Combine", "Combined", "advance", "combine", "combine_within"]

Combined: TypeAlias = dict[tuple[Row, ...], int]
"""Weights of combined rows: one row per factor."""
Combine: TypeAlias = Callable[[Sequence[Weights]], Iterator[tuple[tuple[Row, ...], int]]]
"""Lists a product."""


def combine(factors: Sequence[Weights]) -> Iterator[tuple[tuple[Row, ...], int]]:
    """List a product: every combination of rows, with the product of their weights.

    >>> dict(combine([{(1,): 1}, {(7,): 2}]))
    {((1,), (7,)): 2}
    """
    for entries in product(*(factor.items() for factor in factors)):
        yield tuple(row for row, _ in entries), prod(weight for _, weight in entries)


def combine_within(meter: Meter, factors: Sequence[Weights]) -> Iterator[tuple[tuple[Row, ...], int]]:
    """List a product as `combine` does, if the budget allows for so many rows."""
    meter.spend(prod(map(len, factors)))
    return combine(factors)


def advance(
    answers: Sequence[Multiset], deltas: Sequence[Weights], combine: Combine = combine, *, distinct: bool
) -> Combined:
    """Bring the answers of the factors up to date and give the delta of their product.

    The delta of a factor is combined with the new answers of the factors before it and the old answers of
    those after it: Δ(A × B) = ΔA × B + (A + ΔA) × ΔB. So a commit that changes several factors counts each
    combination once. Nothing is listed while a factor is empty. With `distinct` every row weighs one, and the
    delta of a factor is the rows that came or went.
    """
    total: Combined = {}
    for i, delta in enumerate(deltas):
        turned = answers[i].update(delta)
        changed = turned if distinct else delta
        # A factor without rows makes the whole product empty, so nothing needs to be listed.
        if not changed or not all(answer.weights for j, answer in enumerate(answers) if j != i):
            continue
        factors = [
            changed if j == i else dict.fromkeys(answer.weights, 1) if distinct else answer.weights
            for j, answer in enumerate(answers)
        ]
        for rows, weight in combine(factors):
            total[rows] = total.get(rows, 0) + weight
    return {rows: weight for rows, weight in total.items() if weight}
