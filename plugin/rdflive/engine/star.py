"""Triple match states: Algorithms 1 (ground) and 2 (var-centric stars) of Gergatsoulis and Damigos,
corrected.

A star is a set of patterns that share a variable, its centre. It keeps, per value of the centre, one bit for
each pattern with a match there. Only a value that has all bits can be part of an answer. Example: for `?t
:delay ?m ; :nextStop ?s`, the triple (T101, delay, 4) sets bit 0 of T101. T101 counts once (T101, nextStop,
...) has set bit 1 too. Ground patterns are the star without a centre, whose only value is the empty tuple.

Three errors of the paper are corrected: a delete clears its bit whether or not it retracts an answer, a
record without bits is removed at once, and a triple updates every pattern that it matches.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Final

from rdflive.engine.gates import Gates, is_wide
from rdflive.engine.pattern import Identity, PatternState

__all__ = ["NO_CENTRE", "Star", "star_key"]

NO_CENTRE: Final = -1
"""The slot for the missing centre of a ground pattern."""

StarKey = frozenset[tuple[Identity, int]]


def star_key(members: Sequence[tuple[PatternState, int]]) -> StarKey:
    """Identify a star by its patterns and the slot of the centre in each."""
    return frozenset((pattern.identity, slot) for pattern, slot in members)


class Star:
    """The match state of one star, shared by every segment that contains an equal star.

    A pattern with other variables may be in many stars. Its bits are in a mask of all such patterns, so that
    a triple sets a bit there once, however many stars read it.
    """

    __slots__ = ("_gates", "_shared", "full", "key", "mask", "members", "users")

    def __init__(
        self,
        members: Sequence[tuple[PatternState, int]],
        make: Callable[[], MutableMapping[Any, Any]],
        gates: Gates,
    ) -> None:
        self.key = star_key(members)
        # a pattern written twice, as in `?x a :A . ?x a :A`, is one member, because the two could have no
        # different bits
        distinct = list({(pattern.identity, slot): (pattern, slot) for pattern, slot in members}.values())
        self._gates = gates
        shared = all(is_wide(pattern) for pattern, _ in distinct)
        self._shared = gates.use_together(distinct) if shared else None
        bits = [1 << i for i in range(len(distinct))]
        self.mask: MutableMapping[Any, int]
        if self._shared is None:
            self.mask = make()
        else:
            self.mask = self._shared[0].values
            bits = [gate.bit for gate in self._shared]
        self.members = [(*member, bit) for member, bit in zip(distinct, bits, strict=True)]
        self.full = sum(bits)
        self.users = 0

    @property
    def own_members(self) -> Sequence[tuple[PatternState, int, int]]:
        """The patterns whose bits are in a mask of the star alone."""
        return self.members if self._shared is None else ()

    def watch(self) -> None:
        """Have the patterns update the mask."""
        for pattern, slot, bit in self.own_members:
            pattern.join_star(slot, self.mask, bit)

    def release(self) -> None:
        """Undo `watch`."""
        for pattern, slot, _ in self.own_members:
            pattern.leave_star(slot, self.mask)
        for gate in self._shared or ():
            self._gates.leave(gate)
