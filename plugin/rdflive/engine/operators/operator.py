"""The interface of operators: deltas of weighted rows in, the delta of the output out."""

from __future__ import annotations

from typing import Any, Protocol

from rdflive.engine.dictionary import UNBOUND
from rdflive.engine.multiset import Row, Weights

__all__ = ["UNBOUND", "Operator", "gather"]


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
