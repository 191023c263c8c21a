"""Exists: the left rows that have a compatible right row (FILTER EXISTS), or have none, or both marked."""

from __future__ import annotations

from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Weights
from rdflive.engine.operators.matched import MatchedOperator
from rdflive.engine.operators.operator import gather
from rdflive.engine.operators.partners import Partners

__all__ = ["ExistsOperator"]


class ExistsOperator:
    """Keeps the left rows that have a partner, or with `negated` those that have none.

    `partners` knows both sides: `Partners` where each compatible row is one, `MatchedOperator` with a
    condition.

    With `marks`, the ids of false and true, every left row is kept and gets one more column with the answer,
    for an EXISTS inside a larger expression. The marks are held until `clear`.
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
        """Let rows through by whether they have a partner, or mark them."""
        delta: Weights = {}
        for row, partnered, weight in self._partners.update(*deltas):
            holds = partnered != self._negated
            if self._marks:
                gather(delta, (*row, self._marks[holds]), weight)
            elif holds:
                gather(delta, row, weight)
        return delta

    def clear(self) -> None:
        """Forget both sides and release the marks; an operator with marks cannot be used again."""
        self._partners.clear()
        self._dictionary.drop(self._marks)
        self._marks = ()

    def containers(self) -> list[Any]:
        """List the indexes of both sides."""
        return self._partners.containers()
