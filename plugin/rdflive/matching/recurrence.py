"""What comes again and again in a stream, so that it pays to write code for it."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

__all__ = ["Recurrence"]

_SEEN: Final = 3
"""How often something has come before code is written for it."""
_COUNTED: Final = 4096
_PATIENCE: Final = 1000
"""Where there is no room the oldest code is replaced, once in so many times that something has none."""

K = TypeVar("K")


class Recurrence(Generic[K]):
    """Counts what has no code yet, and keeps code for a bounded number of keys.

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
        """Count a key that has no code; True when it is to be written now."""
        self._missed += 1
        if len(self._counts) >= _COUNTED:
            self._counts.clear()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return count > _SEEN and (len(self._kept) < self._room or self._missed > _PATIENCE)

    def keep(self, key: K, code: Any) -> None:
        """Keep the code of a key, if need be instead of the oldest."""
        if len(self._kept) >= self._room:
            del self._kept[next(iter(self._kept))]
        self._counts.pop(key, None)
        self._missed = 0
        self._kept[key] = code
