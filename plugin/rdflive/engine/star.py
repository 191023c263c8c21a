"""Triple match states: Algorithms 1 (ground) and 2 (var-centric stars) of Gergatsoulis and Damigos, mended.

A star is a set of patterns that share a variable, its centre. It keeps, per value of the centre, one bit for
each pattern that has a match there. Only a value whose mask is full can be part of an answer. Example: for
`?t :delay ?m ; :nextStop ?s`, the triple (T101, delay, 4) sets bit 0 of T101. T101 counts when (T101,
nextStop, ...) has set bit 1 too. Ground patterns are the star without a centre, whose only value is the empty
tuple.

Three errors of theirs are mended: a delete clears its bit whether or not it retracts an answer, a
record without bits is removed at once, and a triple updates every pattern that it matches.
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
    """Identify a star by its patterns and the slot of the centre in each."""
    return frozenset((pattern.identity, slot) for pattern, slot in members)


class Star:
    """The match state of one star, shared by every segment that contains an equal star."""

    __slots__ = ("full", "key", "mask", "members", "users")

    def __init__(
        self, members: Sequence[tuple[PatternState, int]], make: Callable[[], MutableMapping[Any, Any]]
    ) -> None:
        self.key = star_key(members)
        # The same pattern written twice, as in `?x a :A . ?x a :A`, is one member: it could never set two
        # bits apart.
        distinct = {(pattern.identity, slot): pattern for pattern, slot in members}
        self.members = [(pattern, slot, 1 << i) for i, ((_, slot), pattern) in enumerate(distinct.items())]
        self.full = (1 << len(self.members)) - 1
        self.mask: MutableMapping[Any, int] = make()
        self.users = 0

    def watch(self) -> None:
        """Have the patterns keep the mask."""
        for pattern, slot, bit in self.members:
            pattern.join_star(slot, self.mask, bit)

    def release(self) -> None:
        """Undo `watch`."""
        for pattern, slot, _ in self.members:
            pattern.leave_star(slot, self.mask)
