"""Exists and Minus: left rows, by whether they have a compatible partner on the right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.index import Index
from rdflive.engine.operators.matched import MatchedOperator
from rdflive.engine.operators.operator import Pairs, gather, row_at

__all__ = ["ExistsOperator", "MinusOperator", "Partners"]


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
        """Yield changes as (left row, whether it has a partner, weight). The caller must read them to the
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
                # after the first is added, 0 after the last is removed.
                if self._exact or self._count(row) == came:
                    yield row, not came, -weight
                    yield row, came, weight

    def _count(self, row: Row) -> int:
        return sum(map(len, self._probe_right(row)))

    def clear(self) -> None:
        """Discard both sides."""
        self._left.clear()
        self._right.clear()

    def containers(self) -> list[Any]:
        """List the indexes of both sides."""
        return [*self._left.containers(), *self._right.containers()]


class ExistsOperator:
    """Keeps the left rows that have a partner, or with `negated` those that have none.

    `partners` has both sides: `Partners` if each compatible row is a partner, `MatchedOperator` with a
    condition.

    With `marks`, the ids of false and true, every left row is kept with one more column for the result, for
    an EXISTS inside a larger expression. The marks are held until `clear`.
    """

    __slots__ = ("_dictionary", "_marks", "_negated", "_partners")

    def __init__(
        self,
        dictionary: Dictionary,
        partners: Partners | MatchedOperator,
        negated: bool = False,
        marks: tuple[int, int] | None = None,
    ) -> None:
        self._dictionary = dictionary
        self._negated = negated
        self._marks = marks or ()
        self._partners = partners
        dictionary.hold(self._marks)

    def update(self, *deltas: Weights) -> Weights:
        """Output rows by whether they have a partner, or mark them."""
        delta: Weights = {}
        for row, partnered, weight in self._partners.update(*deltas):
            holds = partnered != self._negated
            if self._marks:
                gather(delta, (*row, self._marks[holds]), weight)
            elif holds:
                gather(delta, row, weight)
        return delta

    def clear(self) -> None:
        """Discard both sides and release the marks; an operator with marks cannot be used again."""
        self._partners.clear()
        self._dictionary.drop(self._marks)
        self._marks = ()

    def containers(self) -> list[Any]:
        """List the indexes of both sides."""
        return self._partners.containers()


class MinusOperator:
    """Keeps the left rows that no right row removes.

    The first `context` keys are compared but are no variables of the query: SPARQL's MINUS removes a row only
    if the two share a bound variable (section 18.5), and the graph of GRAPH ?g is none. The other keys are
    bound in every row.
    """

    __slots__ = ("_partners",)

    def __init__(self, dictionary: Dictionary, keys: Pairs, maybe: Pairs, context: int = 0) -> None:
        # a key that is a variable is shared by the rows; without one, some `maybe` column must be bound in
        # both
        self._partners = Partners(dictionary, keys, maybe, overlapping=len(keys) == context)

    def update(self, *deltas: Weights) -> Weights:
        """Output rows without a partner."""
        delta: Weights = {}
        for row, partnered, weight in self._partners.update(*deltas):
            if not partnered:
                gather(delta, row, weight)
        return delta

    def clear(self) -> None:
        """Discard both sides."""
        self._partners.clear()

    def containers(self) -> list[Any]:
        """List the indexes of both sides."""
        return self._partners.containers()
