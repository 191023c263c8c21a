"""What changed lately, between places that readers may be at."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["Backlog", "Weights"]

Weights = dict[str, int]
"""The net weights of solutions as JSON."""

_SLACK: Final = 8
"""An eighth more or less than a bound, so that not every change cuts the backlog.

With a history of 1000 places it is cut when there are 1126, down to 1000. Of 800 solutions that it may hold
it keeps 700 when there are 801."""


@dataclass(slots=True)
class _Entry:
    """What changed between a place and the next."""

    start: int
    """The place in front of it."""
    first: int
    """The sequence of the first commit that is in it."""
    net: Weights


class Backlog:
    """The changes behind each place, in order; places are the sequences of the commits that led there.

    At least the last `history` places are kept, of together about `rows` solutions. Older places are kept
    only as long as some client is at one of them.

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
        self.last = 0
        """The place behind all changes."""
        self.rows = 0
        """How many solutions it holds."""

    @property
    def oldest(self) -> int:
        """The first place that is kept."""
        return self._entries[0].start if self._entries else self.last

    def __len__(self) -> int:
        """Count the places in front of the last."""
        return len(self._entries)

    def __contains__(self, place: int) -> bool:
        index = self._index(place)
        return place == self.last or (index < len(self._entries) and self._entries[index].start == place)

    def begin(self, place: int) -> None:
        """Forget everything, and be at a place."""
        self._entries.clear()
        self.rows, self.last = 0, place

    def append(self, first: int, place: int, net: Weights) -> None:
        """Add what the commits from `first` on changed, up to a new place."""
        self._entries.append(_Entry(self.last, first, net))
        self.rows += len(net)
        self.last = place

    def behind(self, place: int) -> tuple[int, Weights] | None:
        """Give the first commit behind a place that is kept, and the sum of the changes; None for none."""
        entries = self._entries[self._index(place) :]
        if not entries:
            return None
        net = entries[0].net if len(entries) == 1 else _net(entry.net for entry in entries)
        return entries[0].first, net

    def exceeds(self, answer: int) -> bool:
        """Tell whether there is something to trim; as many solutions as the `answer` has may be kept."""
        return self._has_many_places() or self.rows > max(self._most, answer)

    def trim(self, places: Collection[int], answer: int) -> None:
        """Keep within the bounds, and every place that somebody is at as far as these allow.

        The newest change is kept in any case, however large.
        """
        if self._has_many_places():
            self._compact(len(self._entries) - self._history, places)
        most = max(self._most, answer)
        if self.rows > most:
            enough = most - most // _SLACK
            # first what nobody is waiting for, then by merging, and at last what somebody is still behind
            self._drop(enough, min(places, default=self.last))
            if self.rows > enough:
                self._compact(len(self._entries), places)
            self._drop(enough, self.last)

    def _has_many_places(self) -> bool:
        return len(self._entries) > self._history + max(_SLACK, self._history // _SLACK)

    def _drop(self, rows: int, before: int) -> None:
        """Drop the oldest changes in front of a place, until so many solutions are left; not the newest."""
        count = 0
        # the newest stays: readers that are up to date must be told of it
        while count < len(self._entries) - 1 and self._entries[count].start < before and self.rows > rows:
            self.rows -= len(self._entries[count].net)
            count += 1
        del self._entries[:count]

    def _compact(self, count: int, places: Collection[int]) -> None:
        """Merge the oldest changes between places where somebody is; drop those in front of all places."""
        kept = set(places)
        merged: list[list[_Entry]] = []
        for entry in self._entries[:count]:
            if entry.start in kept:
                merged.append([])
            if merged:
                merged[-1].append(entry)
        self._entries[:count] = [_sum(group) for group in merged]
        self.rows = sum(len(entry.net) for entry in self._entries)

    def _index(self, place: int) -> int:
        """Give the number of changes in front of a place."""
        return bisect_left(self._entries, place, key=_start)


def _start(entry: _Entry) -> int:
    return entry.start


def _sum(entries: list[_Entry]) -> _Entry:
    if len(entries) == 1:
        return entries[0]
    return _Entry(entries[0].start, entries[0].first, _net(entry.net for entry in entries))


def _net(weights: Iterable[Mapping[str, int]]) -> Weights:
    total: Weights = {}
    for part in weights:
        for text, weight in part.items():
            total[text] = total.get(text, 0) + weight
    return {text: weight for text, weight in total.items() if weight}
