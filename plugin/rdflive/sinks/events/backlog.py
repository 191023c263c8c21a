"""Recent changes, between the places where readers may be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["Backlog", "Weights"]

Weights = dict[str, int]
"""The net weights of solutions as JSON."""

_SLACK: Final = 8
"""Trimming starts or ends an eighth beyond a bound, so that not every change trims the backlog.

A history of 1000 places is trimmed at 1126 places, to 1000. A bound of 800 solutions is trimmed at 801
solutions, to 700."""


@dataclass(slots=True)
class _Entry:
    """The change between a place and the next."""

    start: int
    """The place before the change."""
    first: int
    """The sequence of the first commit in the change."""
    end: int
    """The place after the change."""
    net: Weights


class Backlog:
    """The changes after each place, in order; a place is the sequence of the commit that led there.

    A reader may also be at a commit between two places, which has not changed the answer.

    The backlog keeps at least the last `history` places, with about `rows` solutions together. It keeps older
    places only while a client is at one of them.

    >>> backlog = Backlog(history=10, rows=100)
    >>> backlog.begin(4)
    >>> backlog.append(5, 6, {"a": 1, "b": 1})
    >>> backlog.append(7, 9, {"a": -1})
    >>> backlog.behind(4), backlog.behind(6), backlog.behind(9)
    ((5, {'b': 1}), (7, {'a': -1}), None)
    """

    def __init__(self, *, history: int, rows: int) -> None:
        self._history = history
        self._most = rows
        self._entries: list[_Entry] = []
        self.oldest = 0
        """The first place in the backlog."""
        self.last = 0
        """The place after all changes."""
        self.rows = 0
        """Number of solutions in all changes."""

    def __len__(self) -> int:
        """Return the number of places that a reader may come back to."""
        return len(self._entries)

    def __contains__(self, place: int) -> bool:
        entry = self._after(place)
        # not between the commits of a merged change
        return place >= self.oldest and (entry is None or place == entry.start or place < entry.first)

    def begin(self, place: int) -> None:
        """Discard all changes and start at a place."""
        self._entries.clear()
        self.rows, self.oldest, self.last = 0, place, place

    def append(self, first: int, place: int, net: Weights) -> None:
        """Add the change of the commits from `first` up to a new place."""
        self._entries.append(_Entry(self.last, first, place, net))
        self.rows += len(net)
        self.last = place

    def prepend(self, place: int, changes: Iterable[tuple[int, Weights]]) -> None:
        """Put older commits in front, with the net change of each: all that changed something after a place.

        >>> backlog = Backlog(history=10, rows=100)
        >>> backlog.begin(4)
        >>> backlog.prepend(1, [(3, {"a": -1})])
        >>> backlog.behind(2), 1 in backlog, 0 in backlog
        ((3, {'a': -1}), True, False)
        """
        older: list[_Entry] = []
        for number, net in changes:
            older.append(_Entry(older[-1].end if older else place, number, number, net))
            self.rows += len(net)
        self._entries[:0] = older
        self.oldest = place

    def behind(self, place: int) -> tuple[int, Weights] | None:
        """Return the first commit after a place in the backlog and the sum of the changes, or None."""
        entries = self._entries[self._index(place) :]
        if not entries:
            return None
        net = entries[0].net if len(entries) == 1 else _net(entry.net for entry in entries)
        return entries[0].first, net

    def exceeds(self, answer: int) -> bool:
        """Return True if a bound is exceeded; a large `answer` (its size) raises the bound of solutions."""
        return self._has_many_places() or self.rows > max(self._most, answer)

    def trim(self, places: Collection[int], answer: int) -> None:
        """Discard and merge changes down to the bounds; keep each client's place as far as the bounds allow.

        The newest change always stays, of any size.
        """
        if self._has_many_places():
            self._compact(len(self._entries) - self._history, places)
        most = max(self._most, answer)
        if self.rows > most:
            enough = most - most // _SLACK
            # drop changes that no client needs, then merge between places, then drop needed changes
            self._drop(enough, min(places, default=self.last))
            if self.rows > enough:
                self._compact(len(self._entries), places)
            self._drop(enough, self.last)
        self.oldest = max(self.oldest, self._entries[0].start if self._entries else self.last)

    def _has_many_places(self) -> bool:
        return len(self._entries) > self._history + max(_SLACK, self._history // _SLACK)

    def _drop(self, rows: int, before: int) -> None:
        """Drop the oldest changes before a place, except the newest one, until `rows` solutions are left."""
        count = 0
        # the newest stays: readers that are up to date need it
        while count < len(self._entries) - 1 and self._entries[count].end <= before and self.rows > rows:
            self.rows -= len(self._entries[count].net)
            count += 1
        del self._entries[:count]

    def _compact(self, count: int, places: Collection[int]) -> None:
        """Merge the oldest changes between clients' places; drop those before all places."""
        kept = {entry.start for entry in map(self._after, places) if entry is not None}
        merged: list[list[_Entry]] = []
        for entry in self._entries[:count]:
            if entry.start in kept:
                merged.append([])
            if merged:
                merged[-1].append(entry)
        self._entries[:count] = [_sum(group) for group in merged]
        self.rows = sum(len(entry.net) for entry in self._entries)

    def _index(self, place: int) -> int:
        """Return the number of changes up to a place."""
        return bisect_right(self._entries, place, key=_end)

    def _after(self, place: int) -> _Entry | None:
        """Return the first change after a place."""
        index = self._index(place)
        return self._entries[index] if index < len(self._entries) else None


def _end(entry: _Entry) -> int:
    return entry.end


def _sum(entries: list[_Entry]) -> _Entry:
    if len(entries) == 1:
        return entries[0]
    return _Entry(entries[0].start, entries[0].first, entries[-1].end, _net(entry.net for entry in entries))


def _net(weights: Iterable[Mapping[str, int]]) -> Weights:
    total: Weights = {}
    for part in weights:
        for text, weight in part.items():
            total[text] = total.get(text, 0) + weight
    return {text: weight for text, weight in total.items() if weight}
