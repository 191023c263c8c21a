"""The interface of operators (deltas of weighted rows in, the delta of the output out), and access to
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Protocol, TypeAlias

from rdflive.engine.dictionary import UNBOUND
from rdflive.engine.multiset import Row, Weights

__all__ = ["UNBOUND", "Operator", "Pairs", "gather", "key_at", "mask_at", "merger", "row_at"]

Pairs: TypeAlias = tuple[tuple[int, int], ...]
"""Positions in the left row with positions in the right row; -1 if a side has none."""


def key_at(places: Sequence[int]) -> Callable[[Row], Any]:
    """Compile the key of a row at some positions: a bare id for one position, else a tuple.

    >>> key_at([1])((7, 8)), key_at([1, 0])((7, 8)), key_at([])((7, 8))
    (8, (8, 7), ())
    """
    return itemgetter(*places) if places else _nothing


def row_at(places: Sequence[int]) -> Callable[[Row], Row]:
    """Compile the row of some places; -1 is UNBOUND.

    >>> row_at([1])((7, 8)), row_at([1, -1, 0, 0])((7, 8))
    ((8,), (8, 0, 7, 7))
    """
    if len(places) == 1:
        (place,) = places
        return _unbound if place < 0 else lambda row: (row[place],)
    take: Callable[[Row], Any] = itemgetter(*places) if places else _nothing
    if -1 in places:
        return lambda row: take((*row, 0))  # position -1 is the last, which is now UNBOUND (0)
    return take


def mask_at(places: Sequence[int]) -> Callable[[Row], int]:
    """Compile the bitmask of the places that are bound.

    >>> mask_at([0, 2])((7, 0, 8)), mask_at([0, 1])((7, 0, 8))
    (3, 1)
    """
    bits = tuple((place, 1 << i) for i, place in enumerate(places))

    def mask(row: Row) -> int:
        bound = 0
        for place, bit in bits:
            if row[place]:
                bound |= bit
        return bound

    return mask


def merger(columns: Pairs, keys: Pairs, arity: int) -> Callable[[Row, Row], Row]:
    """Compile the merge of a left row of `arity` columns with a right row: the left value if bound.

    >>> merger(((0, 0), (1, 1), (-1, 2)), ((0, 0),), 2)((7, 0), (7, 8, 9))
    (7, 8, 9)
    """
    exact = frozenset(keys)
    places = [(left, arity + right if right >= 0 else -1) for left, right in columns]
    # exact keys are bound and equal on both sides, so no column has two values to choose from
    if all(pair in exact or -1 in pair for pair in columns):
        take = row_at([first if first >= 0 else second for first, second in places])
        return lambda left, right: take(left + right)

    def merge(left: Row, right: Row) -> Row:
        both = (*left, *right, 0)  # position -1 is UNBOUND (0)
        return tuple([both[first] or both[second] for first, second in places])

    return merge


def _nothing(_: Row) -> tuple[()]:
    return ()


def _unbound(_: Row) -> Row:
    return (0,)


class Operator(Protocol):
    """One incremental operator of the SPARQL algebra: deltas of its inputs in, the delta of its output out.

    A delta maps rows to non-zero weights, as net changes: the sum of all deltas never has a negative weight.
    Rows are tuples of ids. An operator that keeps a row holds its ids in the dictionary.
    """

    def update(self, *deltas: Weights) -> Weights:
        """Apply one delta per input, which is not changed, and return the delta of the output."""

    def clear(self) -> None:
        """Discard everything and drop every reference."""

    def containers(self) -> list[Any]:
        """List the dictionaries and lists that hold state, for measuring."""


def gather(delta: Weights, row: Row, weight: int) -> None:
    """Add a non-zero weight to a row of a delta."""
    total = delta.get(row, 0) + weight
    if total:
        delta[row] = total
    else:
        del delta[row]
