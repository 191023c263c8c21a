"""Left rows and whether they have a compatible partner on the right, which EXISTS and MINUS share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.index import Index
from rdflive.engine.operators.operator import gather
from rdflive.engine.operators.places import Pairs, row_at

__all__ = ["Partners"]


class Partners:
    """Left rows in full; right rows reduced to the columns that are compared.

    Only the first and the last right row with the same reduced columns can change the result. Example: EXISTS
    { ?t :delay ?m } with two delays of T101: adding or deleting the second changes no left row.

    With `overlapping`, partners must bind some `maybe` column on both sides.
    """

    __slots__ = ("_exact", "_left", "_probe_left", "_probe_right", "_reduce", "_right")

    def __init__(
        self, dictionary: Dictionary, keys: Pairs, maybe: Pairs, *, overlapping: bool = False
    ) -> None:
        left, left_maybe = [pair[0] for pair in keys], [pair[0] for pair in maybe]
        right, right_maybe = range(len(keys)), range(len(keys), len(keys) + len(maybe))
        self._exact = not maybe
        self._left = Index(dictionary, left, left_maybe)
        self._right = Index(dictionary, right, right_maybe)
        self._reduce = row_at([pair[1] for pair in (*keys, *maybe)])
        self._probe_left = self._left.prober(right, right_maybe, overlapping=overlapping)
        self._probe_right = self._right.prober(left, left_maybe, overlapping=overlapping)

    def update(self, left: Weights, right: Weights) -> Iterator[tuple[Row, bool, int]]:
        """Yield changes as (left row, whether it has a partner, weight); the caller must read them to the
        end.
        """
        for row, change in left.items():
            yield row, bool(self._probe_right(row)), change
            self._left.update(row, change)
        for row, change in self._reduced(right).items():
            weight = self._right.update(row, change)
            if not weight or weight == change:
                yield from self._turn(row, came=bool(weight))

    def _reduced(self, right: Weights) -> Weights:
        delta: Weights = {}
        for row, change in right.items():
            gather(delta, self._reduce(row), change)
        return delta

    def _turn(self, partner: Row, *, came: bool) -> Iterator[tuple[Row, bool, int]]:
        """Move each left row for which this was the first or the last partner to the other side."""
        for entries in self._probe_left(partner):
            for row, weight in entries:
                # With exact keys all partners of a row are one reduced row, so this one was the first or the
                # last. Otherwise rows with other unbound columns may be partners too, and are counted: 1
                # after the first came, 0 after the last went.
                if self._exact or self._count(row) == came:
                    yield row, not came, -weight
                    yield row, came, weight

    def _count(self, row: Row) -> int:
        return sum(map(len, self._probe_right(row)))

    def clear(self) -> None:
        """Forget both sides."""
        self._left.clear()
        self._right.clear()

    def containers(self) -> list[Any]:
        """List the indexes of both sides."""
        return [*self._left.containers(), *self._right.containers()]
