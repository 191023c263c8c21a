"""Changes of a store, and batches of changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from rdflive.model.terms import Term

__all__ = ["Batch", "Change", "Quad"]


class Quad(NamedTuple):
    """A triple and its graph name, in the terms of its store."""

    subject: Term
    predicate: Term
    object: Term
    # None is the default graph in feeds and mirrors
    graph: Term = None


class Change(NamedTuple):
    """One insert (`sign` +1) or delete (-1) of a quad."""

    sign: Literal[1, -1]
    quad: Quad


@dataclass(frozen=True, slots=True)
class Batch:
    """The changes of one commit, in order.

    A captured batch is net: it has each quad at most once, an insertion only if the quad was absent and a
    deletion only if it was present. A batch decoded from a feed has the feed's changes unchanged.
    """

    changes: tuple[Change, ...]
    sequence: int = 0

    @property
    def added(self) -> tuple[Quad, ...]:
        """The inserted quads."""
        return tuple(change.quad for change in self.changes if change.sign > 0)

    @property
    def removed(self) -> tuple[Quad, ...]:
        """The deleted quads."""
        return tuple(change.quad for change in self.changes if change.sign < 0)
