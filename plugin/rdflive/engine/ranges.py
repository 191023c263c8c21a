"""Rows by a key and in the order of a value, for comparisons such as `?later > ?time`.

Example: 1,000 members of a family subscribe to the trains that are late by more than some minutes, each with
a limit of its own. A train that is 7 minutes late concerns those whose limit is below 7: a slice of the
sorted limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import inf
from typing import Any, TypeAlias

from sortedcontainers import SortedList

from rdflive.engine.multiset import Row
from rdflive.engine.terms import TermTable
from rdflive.values import near, order_key, value_key

__all__ = ["Place", "Ranges", "is_sure", "place_of_id", "place_of_term"]

Place: TypeAlias = tuple[str, Any]
"""A space and a key in it: `near` defines how values of two spaces are compared."""


def place_of_id(terms: TermTable) -> Callable[[Any], Place]:
    """Compile the place of an id, for all comparisons, `=` included."""
    value, content, number = terms.value, terms.content, terms.number

    def place(given: Any) -> Place:
        known = content(given)
        space, key = (None if known is None else value_key(known)) or order_key(value(given))
        # equal terms have equal ids
        return space, number(given) if space == "term" else key

    return place


def place_of_term(term: Callable[[Row], Any]) -> Callable[[Row], Place | None]:
    """Compile the place of an expression's term; None if `<`, `<=`, `>` and `>=` never hold for it."""

    def place(row: Row) -> Place | None:
        found = term(row)
        if found is None:
            return None
        space, key = order_key(found)
        return None if space == "term" else (space, key)

    return place


def is_sure(place: Place, operator: str, other: Place) -> bool:
    """Return True if the comparison of two places surely holds.

    If so, it holds for all places of that space that are farther from the other one.
    """
    for space, low, high in near(*other):
        if space == place[0]:
            return bool(place[1] < low if operator in ("<", "<=") else place[1] > high)
    return False


class Ranges:
    """Rows under keys, each in the order of its place; rows without a place are in no range.

    `fitting` returns every row for which a comparison may hold, and perhaps more: the caller tests each.
    """

    __slots__ = ("_entries", "_place")

    def __init__(self, place: Callable[[Row], Place | None]) -> None:
        self._place = place
        self._entries: dict[Any, Any] = {}
        """By key: a single entry bare, several in order."""

    def __contains__(self, key: Any) -> bool:
        return key in self._entries

    def add(self, key: Any, row: Row) -> None:
        """Add a row under a key."""
        place = self._place(row)
        if place is None:
            return
        entry = (*place, row)
        found = self._entries.get(key)
        if found is None:
            self._entries[key] = entry
        elif type(found) is tuple:
            self._entries[key] = SortedList((found, entry))
        else:
            found.add(entry)

    def remove(self, key: Any, row: Row) -> None:
        """Undo `add`."""
        place = self._place(row)
        if place is None:
            return
        found = self._entries[key]
        if type(found) is tuple:
            del self._entries[key]
            return
        found.remove((*place, row))
        if len(found) == 1:
            self._entries[key] = found[0]

    def fitting(self, key: Any, operator: str, place: Callable[[Any], Place], other: Any) -> Iterable[Row]:
        """Return the rows under a key for which the comparison with a value may hold."""
        found = self._entries.get(key)
        if found is None:
            return ()
        if type(found) is tuple:  # a single row is tested sooner than compared
            return (found[2],)
        return chain.from_iterable(self.spans(key, operator, place(other)))

    def spans(
        self, key: Any, operator: str, place: Place, *, farthest: bool = False
    ) -> Iterator[Iterable[Row]]:
        """Return the rows of `fitting` per space, the nearest or the farthest rows first."""
        found = self._entries.get(key)
        if found is None:
            return
        # a single row is tested sooner than compared
        if type(found) is tuple:
            yield (found[2],)
            return
        backwards = (operator in ("<", "<=")) is not farthest
        for space, low, high in near(*place):
            begin: Any = (space,) if operator in ("<", "<=") else (space, low)
            end: Any = (space + "\0",) if operator in (">", ">=") else (space, high, (inf,))
            yield (entry[2] for entry in found.irange(begin, end, reverse=backwards))

    def clear(self) -> None:
        """Discard every row."""
        self._entries.clear()

    def containers(self) -> list[Any]:
        """List the containers of the state."""
        several = (found for found in self._entries.values() if type(found) is not tuple)
        return [self._entries, *several]
