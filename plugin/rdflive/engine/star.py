"""Triple match states: Algorithm 1 (ground) and Algorithm 2 (var-centric stars) of paper 001, mended.

A star keeps one bit per pattern and value of its centre: set while the pattern has a match there. Only a
value whose mask is full takes part in an answer. A ground pattern set is the star without a centre, its
only value being the empty tuple. Mended against the paper: a delete clears its bit whether or not it
retracts an answer, all-zero records go at once, and an edge updates every pattern that it matches.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Final

from rdflive.engine.pattern import Identity, PatternState

__all__ = ["NO_CENTRE", "Star", "star_key"]

NO_CENTRE: Final = -1
"""The slot that stands for the missing centre of a ground pattern."""

StarKey = frozenset[tuple[Identity, int]]


def star_key(members: Sequence[tuple[PatternState, int]]) -> StarKey:
    """Identify a star by its patterns and where the centre stands in them."""
    return frozenset((pattern.identity, slot) for pattern, slot in members)


class Star:
    """The match state of one star, shared by every segment that contains an equal star."""

    __slots__ = ("full", "key", "mask", "members", "users")

    def __init__(
        self, members: Sequence[tuple[PatternState, int]], make: Callable[[], MutableMapping[Any, Any]]
    ) -> None:
        self.key = star_key(members)
        distinct = {(pattern.identity, slot): pattern for pattern, slot in members}
        self.members = [(pattern, slot, 1 << i) for i, ((_, slot), pattern) in enumerate(distinct.items())]
        self.full = (1 << len(self.members)) - 1
        self.mask: MutableMapping[Any, int] = make()
        self.users = 0

    def watch(self) -> None:
        """Let the mask follow its patterns."""
        for pattern, slot, bit in self.members:
            pattern.join_star(slot, self.mask, bit)

    def release(self) -> None:
        """Undo `watch`."""
        for pattern, slot, _ in self.members:
            pattern.leave_star(slot, self.mask)
