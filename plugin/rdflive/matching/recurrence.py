"""Counts what comes again and again in a stream, so that code is generated where it pays."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

__all__ = ["Recurrence"]

_SEEN: Final = 3
"""How often something must have come before code is generated for it."""
_COUNTED: Final = 4096
_PATIENCE: Final = 1000
"""When there is no room, the oldest code is replaced once in this many misses."""

K = TypeVar("K")


class Recurrence(Generic[K]):
    """Counts keys without code, and keeps code for a bounded number of keys.

    >>> kept = {}
    >>> seen = Recurrence(kept, 10)
    >>> [seen.is_due("a") for _ in range(4)]
    [False, False, False, True]
    """

    __slots__ = ("_counts", "_kept", "_missed", "_room")

    def __init__(self, kept: dict[K, Any], room: int) -> None:
        self._kept = kept
        self._room = room
        self._counts: dict[K, int] = {}
        self._missed = 0

    def is_due(self, key: K) -> bool:
        """Count a key without code; True if its code should be generated now."""
        self._missed += 1
        # Streams without recurring events must not fill the memory with counts.
        if len(self._counts) >= _COUNTED:
            self._counts.clear()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return count > _SEEN and (len(self._kept) < self._room or self._missed > _PATIENCE)

    def keep(self, key: K, code: Any) -> None:
        """Keep the code of a key, in place of the oldest if there is no room."""
        if len(self._kept) >= self._room:
            # dicts keep the order of insertion, so the first is the oldest
            del self._kept[next(iter(self._kept))]
        self._counts.pop(key, None)
        self._missed = 0
        self._kept[key] = code
