"""What every operator is: deltas of weighted rows in, the delta of its own output out."""

from __future__ import annotations

from typing import Any, Protocol

from rdflive.engine.dictionary import UNBOUND
from rdflive.engine.multiset import Row, Weights

__all__ = ["UNBOUND", "Operator", "gather"]


class Operator(Protocol):
    """One operator of the SPARQL algebra, maintained: deltas of its inputs in, the delta of its output out.

    A delta maps rows to non-zero weights, as net changes: the multiset that all deltas add up to never has a
    negative weight. Rows are tuples of ids. An operator that keeps a row holds its ids in the dictionary.
    """

    def update(self, *deltas: Weights) -> Weights:
        """Take one delta per input and give the delta of the output. The given deltas are not changed."""

    def clear(self) -> None:
        """Forget everything and drop every reference."""

    def containers(self) -> list[Any]:
        """List the dictionaries and lists that cache something, for measuring."""


def gather(delta: Weights, row: Row, weight: int) -> None:
    """Add a weight, which is not zero, to a row of a delta."""
    total = delta.get(row, 0) + weight
    if total:
        delta[row] = total
    else:
        del delta[row]
