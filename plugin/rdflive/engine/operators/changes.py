"""The net change of which starts reach each node."""

from __future__ import annotations

__all__ = ["Changes"]


class Changes:
    """Starts gained and lost by each node. What was gained and lost again leaves no trace.

    >>> changes = Changes()
    >>> changes.gain(7, {1, 2}); changes.lose(7, {2, 3}); changes.gained, changes.lost
    ({7: {1}}, {7: {3}})
    """

    __slots__ = ("gained", "lost")

    def __init__(self) -> None:
        self.gained: dict[int, set[int]] = {}
        self.lost: dict[int, set[int]] = {}

    def gain(self, node: int, starts: set[int]) -> None:
        """Record starts that came to a node."""
        _note(self.gained, self.lost, node, starts)

    def lose(self, node: int, starts: set[int]) -> None:
        """Record starts that a node no longer has."""
        _note(self.lost, self.gained, node, starts)

    def compare(self, old: dict[int, set[int]], new: dict[int, set[int]]) -> None:
        """Record how the starts of all nodes differ."""
        for node, starts in new.items():
            self.gain(node, starts - old[node] if node in old else starts)
        for node, starts in old.items():
            self.lose(node, starts - new[node] if node in new else starts)

    def clear(self) -> None:
        """Forget what was recorded."""
        self.gained.clear()
        self.lost.clear()


def _note(into: dict[int, set[int]], other: dict[int, set[int]], node: int, starts: set[int]) -> None:
    back = other.get(node)
    if back:  # nodes share these sets, so they are replaced and never changed
        other[node] = back - starts
        starts = starts - back
    if starts:
        known = into.get(node)
        into[node] = known | starts if known else starts
