"""Minus: left rows without a compatible right row that shares a bound variable."""

from __future__ import annotations

from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Weights
from rdflive.engine.operators.operator import gather
from rdflive.engine.operators.partners import Partners
from rdflive.engine.operators.places import Pairs

__all__ = ["MinusOperator"]


class MinusOperator:
    """Keeps the left rows that no right row removes.

    The first `context` of the keys are compared but are no variables of the query: SPARQL's MINUS removes a
    row only if the two share a bound variable (section 18.5), and the graph of GRAPH ?g is none. The other
    keys are bound in every row.
    """

    __slots__ = ("_partners",)

    def __init__(self, dictionary: Dictionary, keys: Pairs, maybe: Pairs, context: int = 0) -> None:
        # With a key that is a variable, the rows share it. Without, some `maybe` column has to be bound in
        # both.
        self._partners = Partners(dictionary, keys, maybe, overlapping=len(keys) == context)

    def update(self, *deltas: Weights) -> Weights:
        """Let rows through that have no partner."""
        delta: Weights = {}
        for row, partnered, weight in self._partners.update(*deltas):
            if not partnered:
                gather(delta, row, weight)
        return delta

    def clear(self) -> None:
        """Forget both sides."""
        self._partners.clear()

    def containers(self) -> list[Any]:
        """List the indexes of both sides."""
        return self._partners.containers()
