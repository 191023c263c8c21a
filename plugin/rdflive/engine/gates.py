"""Bits of values: one for each pattern and slot, set while the pattern has a match with the value there.

They are the triple match state of Gergatsoulis and Damigos, kept once for all queries. Each star reads the
bits of its own patterns, and so do the gates of walks (`trie`). Example: (T101, delay, 4) sets the bit of `?t
:delay ?m` and ?t at T101, and that of ?m at 4.

Bits are in masks of 240, which patterns set and clear; see `PatternState.join_star`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, Final

from rdflive.engine.pattern import PatternState

__all__ = ["Gate", "Gates", "is_wide"]

_WIDTH: Final = 240
"""Bits of a mask. Such an integer takes at most 60 bytes."""


class _Mask:
    """One group of bits, by value."""

    __slots__ = ("free", "values")

    def __init__(self, values: MutableMapping[Any, int]) -> None:
        self.values = values
        self.free = [1 << bit for bit in reversed(range(_WIDTH))]


class Gate:
    """The bit of a pattern and one of its slots."""

    __slots__ = ("bit", "mask", "number", "pattern", "slot", "users")

    def __init__(self, pattern: PatternState, slot: int, mask: _Mask, number: int) -> None:
        self.pattern = pattern
        self.slot = slot
        self.mask = mask
        self.bit = mask.free.pop()
        self.number = number
        """Number of gates made before it."""
        self.users = 0

    @property
    def values(self) -> MutableMapping[Any, int]:
        """The values of the mask with their bits."""
        return self.mask.values


class Gates:
    """The bits of a kernel; each is kept while a walk uses it."""

    def __init__(self, make: Callable[[], MutableMapping[Any, Any]]) -> None:
        self._make = make
        self._gates: dict[tuple[PatternState, int], Gate] = {}
        # patterns that match many values have masks of their own, so that few masks have an entry for most
        # values
        self._masks: dict[bool, list[_Mask]] = {False: [], True: []}
        self._made = 0
        self._unfilled: list[Gate] = []

    def containers(self) -> list[Any]:
        """List the masks, for measuring."""
        return [mask.values for masks in self._masks.values() for mask in masks]

    def of(self, pattern: PatternState, slot: int) -> Gate | None:
        """Return a gate if it is in use."""
        return self._gates.get((pattern, slot))

    def use(self, pattern: PatternState, slot: int) -> Gate:
        """Use a gate; the caller must call `fill` afterwards."""
        gate = self.of(pattern, slot)
        if gate is None:
            gate = self._open(pattern, slot, self._mask(1, wide=is_wide(pattern)))
        gate.users += 1
        return gate

    def use_together(self, members: Sequence[tuple[PatternState, int]]) -> list[Gate] | None:
        """Use gates of one mask; return None if their bits are in several masks already."""
        found = [self.of(*member) for member in members]
        masks = {gate.mask for gate in found if gate is not None}
        missing = found.count(None)
        if len(masks) > 1 or any(len(mask.free) < missing for mask in masks):
            return None
        mask = next(iter(masks), None) or self._mask(missing, wide=True)
        gates = [
            self._open(*member, mask) if gate is None else gate
            for member, gate in zip(members, found, strict=True)
        ]
        for gate in gates:
            gate.users += 1
        return gates

    def fill(self) -> None:
        """Set the bits of new gates at the values that their patterns have matches with."""
        while self._unfilled:
            gate = self._unfilled.pop()
            values, bit = gate.values, gate.bit
            for value in _values(gate):
                values[value] = values.get(value, 0) | bit

    def leave(self, gate: Gate) -> None:
        """Stop using a gate; the last user removes it."""
        gate.users -= 1
        if gate.users:
            return
        del self._gates[gate.pattern, gate.slot]
        gate.pattern.leave_star(gate.slot, gate.values)
        gate.pattern.write()
        values, mask = gate.values, gate.mask
        if gate in self._unfilled:
            self._unfilled.remove(gate)
        else:
            for value in _values(gate):
                left = values[value] & ~gate.bit
                if left:
                    values[value] = left
                else:
                    del values[value]
        mask.free.append(gate.bit)
        if len(mask.free) == _WIDTH:
            self._masks[is_wide(gate.pattern)].remove(mask)

    def _open(self, pattern: PatternState, slot: int, mask: _Mask) -> Gate:
        self._made += 1
        gate = self._gates[pattern, slot] = Gate(pattern, slot, mask, self._made)
        pattern.join_star(slot, gate.values, gate.bit)
        pattern.write()
        self._unfilled.append(gate)
        return gate

    def _mask(self, count: int, *, wide: bool) -> _Mask:
        """Return a mask with at least `count` free bits."""
        masks = self._masks[wide]
        mask = next((mask for mask in masks if len(mask.free) >= count), None)
        if mask is None:
            mask = _Mask(self._make())
            masks.append(mask)
        return mask


def is_wide(pattern: PatternState) -> bool:
    """Return True if a pattern matches many values: its only constant is the predicate."""
    return pattern.arity > 1 and not pattern.feeds


def _values(gate: Gate) -> Iterator[Any]:
    """List the values that a pattern has matches with."""
    found = gate.pattern.paths.get((gate.slot,))
    if found is not None:
        return iter(found)
    return (values[gate.slot] for values in gate.pattern.matches() or ())
