"""Matching of blank nodes of a changed graph by common surroundings, best match first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import product
from typing import Any, Final, TypeAlias

from rdflive_stores.endpoint.blank_node_classes import Surroundings

__all__ = ["Overlap"]

Pair: TypeAlias = tuple[int, int]
"""An old node and a new one."""

_RADIUS: Final = 6
"""Maximum distance in quads up to which surroundings are compared."""
_HOLDERS: Final = 40
"""Maximum nodes per side that share a trait; a more frequent trait yields no candidates."""


class Overlap:
    """Extends a matching from new nodes to old ones, best match first, without backtracking.

    It is deterministic. It first matches pairs with unique equal surroundings, from the widest radius to the
    narrowest, then classes with several members. From each match it grows over neighbours: first pairs with
    the most matched neighbours in common, which is the number of quads that they keep, then pairs that are
    alike in the widest radius. The remaining nodes are matched by the number of quads in common. The bound on
    candidates keeps this nearly linear. A bad match causes unnecessary changes, never a wrong graph.
    """

    def __init__(
        self, around: Surroundings, old: Iterable[int], new: Iterable[int], matching: dict[int, int]
    ) -> None:
        self._around = around
        self._old = dict.fromkeys(old)
        self._new = dict.fromkeys(new)
        self._matching = matching
        self._circles = self._look_around()
        self._common: Counter[Pair] = Counter()
        self._next: list[tuple[int, int, int, int]] = []
        """A heap of candidates: minus their common neighbours, minus their largest equal radius, the pair."""

    def run(self) -> None:
        """Match until no two nodes have a trait in common."""
        if not self._old or not self._new:
            return
        widest_first = range(len(self._circles) - 1, -1, -1)
        for reach in widest_first:
            self._seed(reach, reach, alone=True)
        for reach in widest_first:
            self._seed(reach, 0, alone=False)
        while self._match_overlapping():
            pass

    def _look_around(self) -> list[dict[int, int]]:
        """Number the surroundings of each node for growing radii; equal surroundings get equal numbers."""
        nodes = (*self._old, *self._new)
        circles = [dict.fromkeys(nodes, 0)]
        for _ in range(_RADIUS):
            inner, numbers = circles[-1], dict[Any, int]()
            circles.append(
                {node: numbers.setdefault(self._seen(node, inner), len(numbers)) for node in nodes}
            )
            # no class was split, so wider circles split none either
            if len(numbers) == len(set(inner.values())):
                break
        return circles[1:]

    def _seen(self, node: int, inner: dict[int, int]) -> tuple[Any, ...]:
        around = self._around.incidences[node]
        return inner[node], tuple(
            sorted((shape, tuple(inner[other] for other in others)) for shape, others in around)
        )

    def _seed(self, wide: int, reach: int, *, alone: bool) -> None:
        """Match nodes that are alike in a wide radius, and their neighbours that are alike within `reach`."""
        self._grow(reach)
        circle = self._circles[wide]
        groups: dict[int, tuple[list[int], list[int]]] = {}
        for side, nodes in enumerate((self._old, self._new)):
            for node in nodes:
                groups.setdefault(circle[node], ([], []))[side].append(node)
        for old, new in groups.values():
            if alone and not len(old) == len(new) == 1:
                continue
            waiting = iter(old)
            for theirs in new:
                mine = (
                    next((node for node in waiting if node in self._old), None)
                    if theirs in self._new
                    else None
                )
                if mine is not None:
                    self._take(mine, theirs)
                    self._grow(reach)

    def _take(self, old: int, new: int) -> None:
        """Match two nodes, and add their neighbours as candidates."""
        del self._old[old], self._new[new]
        self._matching[new] = old
        for pair in self._neighbours(old, new):
            self._common[pair] += 1
            heappush(self._next, (-self._common[pair], -self._likeness(pair), *pair))

    def _grow(self, reach: int) -> None:
        """Match candidates that are alike within `reach`, best first."""
        later = []
        while self._next:
            candidate = heappop(self._next)
            common, likeness, mine, theirs = candidate
            # a node was matched since, or the pair was pushed again with more in common
            if mine not in self._old or theirs not in self._new or -common != self._common[mine, theirs]:
                continue
            if -likeness > reach:
                self._take(mine, theirs)
            else:
                later.append(candidate)
        # a sorted list is a heap
        self._next = sorted(later)

    def _likeness(self, pair: Pair) -> int:
        """Return the largest radius in which two nodes are alike."""
        mine, theirs = pair
        return sum(circle[mine] == circle[theirs] for circle in self._circles)

    def _neighbours(self, old: int, new: int) -> Iterator[Pair]:
        """Yield pairs of free neighbours in equal positions of like quads; if too many, only similar ones."""
        places: dict[Pair, tuple[list[int], list[int]]] = {}
        for side, (node, free) in enumerate(((old, self._old), (new, self._new))):
            for shape, others in self._around.incidences[node]:
                for place, other in enumerate(others):
                    if other in free:
                        places.setdefault((shape, place), ([], []))[side].append(other)
        for mine, theirs in places.values():
            if len(mine) * len(theirs) <= _HOLDERS**2:
                yield from product(mine, theirs)
            else:
                yield from self._alike(mine, theirs)

    def _alike(self, old: list[int], new: list[int]) -> Iterator[Pair]:
        for circle in reversed(self._circles):
            waiting: dict[int, list[int]] = {}
            # reversed, because `pop` takes from the end
            for node in reversed(old):
                waiting.setdefault(circle[node], []).append(node)
            yield from ((waiting[circle[node]].pop(), node) for node in new if waiting.get(circle[node]))

    def _match_overlapping(self) -> bool:
        """Match by the number of common traits, most first; return False if there are none."""
        holders: dict[Any, tuple[list[int], list[int]]] = {}
        for side, nodes in enumerate((self._old, self._new)):
            for node in nodes:
                for trait in self._traits(node):
                    holders.setdefault(trait, ([], []))[side].append(node)
        common: Counter[Pair] = Counter()
        for old, new in holders.values():
            if len(old) <= _HOLDERS and len(new) <= _HOLDERS:
                common.update(product(old, new))
        # ties are ordered by node numbers, so that the matching is deterministic
        for (mine, theirs), _ in sorted(common.items(), key=lambda item: (-item[1], item[0])):
            if mine in self._old and theirs in self._new:
                self._take(mine, theirs)
                self._grow(0)
        return bool(common)

    def _traits(self, node: int) -> Iterator[Any]:
        """Yield a description of each quad around a node, with old numbers for matched nodes."""
        seen: Counter[Any] = Counter()
        for shape, others in self._around.incidences[node]:
            known = tuple(
                self._matching.get(other, other if self._is_matched(other) else -1) for other in others
            )
            seen[shape, known] += 1
            # counted: three equal quads have more in common with three than with two
            yield shape, known, seen[shape, known]

    def _is_matched(self, old: int) -> bool:
        return old < self._around.old and old not in self._old
