"""Parameters of a family in the order of their values, for comparisons such as `?minutes > ?limit`.

Say 1,000 members ask for the trains that are late by more than so many minutes, each with a limit of its own.
A train that is 7 minutes late concerns those whose limit is below 7: they are a slice of the sorted limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Any

from sortedcontainers import SortedList

from rdflive.values import near, order_key

__all__ = ["Ranges"]


class Ranges:
    """Tuples of parameters by some of them, and in the order of the first of the others.

    `fitting` gives every tuple for which a comparison may hold, and perhaps more: who asks tests each. A
    place in the order is a space and a key: of two spaces no values are equal, and none is less.
    """

    __slots__ = ("_entries", "_value")

    def __init__(self, value: Callable[[int], Any]) -> None:
        self._value = value
        """Gives the term of an id, for expressions."""
        self._entries: dict[Any, Any] = {}
        """By the parameters that are looked up: a lone entry bare, several in order."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, key: Any, rest: tuple[int, ...]) -> None:
        """Take a tuple: what it is looked up by, and its other parameters."""
        entry = (*self._place(rest[0]), rest)
        found = self._entries.get(key)
        if found is None:
            self._entries[key] = entry
        elif type(found) is tuple:
            self._entries[key] = SortedList((found, entry))
        else:
            found.add(entry)

    def remove(self, key: Any, rest: tuple[int, ...]) -> None:
        """Undo `add`."""
        found = self._entries[key]
        if type(found) is tuple:
            del self._entries[key]
            return
        found.remove((*self._place(rest[0]), rest))
        if len(found) == 1:
            self._entries[key] = found[0]

    def fitting(self, key: Any, operator: str, number: int) -> Iterable[tuple[int, ...]]:
        """List the tuples whose parameter may stand in a relation to the term of an id: `<` is below it."""
        found = self._entries.get(key)
        if found is None:
            return ()
        # one tuple is tested sooner than compared
        if type(found) is tuple:
            return (found[2],)
        fitting: list[tuple[int, ...]] = []
        for space, low, high in near(*self._place(number)):
            begin: Any = (space,) if operator in ("<", "<=") else (space, low)
            end: Any = (space + "\0",) if operator in (">", ">=") else (space, high, (inf,))
            fitting.extend(entry[2] for entry in found.irange(begin, end))
        return fitting

    def _place(self, number: int) -> tuple[str, Any]:
        """Give the space of a term, and its key there; terms without an order have one key."""
        space, key = order_key(self._value(number))
        return space, number if space == "term" else key
