"""What happens to a store: single changes, and batches of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from rdflive.model.terms import Term

__all__ = ["Batch", "Change", "Quad"]


class Quad(NamedTuple):
    """A triple and the name of its graph, in the terms of the store it belongs to."""

    subject: Term
    predicate: Term
    object: Term
    # for feeds and mirrors None is the default graph
    graph: Term = None


class Change(NamedTuple):
    """One insert (`sign` +1) or delete (-1) of a quad."""

    sign: Literal[1, -1]
    quad: Quad


@dataclass(frozen=True, slots=True)
class Batch:
    """The changes of one commit, in order.

    A captured batch is net: each quad at most once, inserted only if it was absent and deleted only if
    it was present. A batch decoded from a feed is as the feed says.
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
