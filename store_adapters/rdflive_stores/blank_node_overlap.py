"""Blank nodes of what has changed: matched by what is still the same around them, the closest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import product
from typing import Any, Final, TypeAlias

from rdflive_stores.blank_node_classes import Surroundings

__all__ = ["Overlap"]

Pair: TypeAlias = tuple[int, int]
"""An old node and a new one."""

_RADIUS: Final = 6
"""How far around a node its surroundings are compared."""
_HOLDERS: Final = 40
"""Nodes on a side that may share a trait, for it to make each a candidate for each."""


class Overlap:
    """Extends a matching from new nodes to old ones, best match first; deterministic, without going back.

    Seeds are pairs that are the only ones with equal surroundings, from the widest circle to the
    narrowest; then those of classes that have several, one after the other. From there the matching
    grows over the neighbours: first the pairs with most matched neighbours in common, which is the number
    of quads that they keep, then those that look alike in the widest circle. What remains is matched by
    the number of quads it shares with a candidate. The bound on candidates keeps this near linear; a bad
    match costs changes, never truth.
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
        """A heap of candidates: minus the neighbours in common, minus the widest like circle, the pair."""

    def run(self) -> None:
        """Match until nothing is left that has anything in common."""
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
        """Number the surroundings of each node in circles that grow by one quad; equal is one number."""
        nodes = (*self._old, *self._new)
        circles = [dict.fromkeys(nodes, 0)]
        for _ in range(_RADIUS):
            inner, numbers = circles[-1], dict[Any, int]()
            circles.append(
                {node: numbers.setdefault(self._seen(node, inner), len(numbers)) for node in nodes}
            )
            if len(numbers) == len(set(inner.values())):
                break
        return circles[1:]

    def _seen(self, node: int, inner: dict[int, int]) -> tuple[Any, ...]:
        around = self._around.incidences[node]
        return inner[node], tuple(
            sorted((shape, tuple(inner[other] for other in others)) for shape, others in around)
        )

    def _seed(self, wide: int, reach: int, *, alone: bool) -> None:
        """Match nodes that are alike in a wide circle, and around them who is alike as far as `reach`."""
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
        """Match two nodes, and make candidates of their neighbours."""
        del self._old[old], self._new[new]
        self._matching[new] = old
        for pair in self._neighbours(old, new):
            self._common[pair] += 1
            heappush(self._next, (-self._common[pair], -self._likeness(pair), *pair))

    def _grow(self, reach: int) -> None:
        """Match candidates, the best first, that are alike as far as `reach`."""
        later = []
        while self._next:
            candidate = heappop(self._next)
            common, likeness, mine, theirs = candidate
            if mine not in self._old or theirs not in self._new or -common != self._common[mine, theirs]:
                continue
            if -likeness > reach:
                self._take(mine, theirs)
            else:
                later.append(candidate)
        self._next = sorted(later)

    def _likeness(self, pair: Pair) -> int:
        """Give how many circles around the two are alike."""
        mine, theirs = pair
        return sum(circle[mine] == circle[theirs] for circle in self._circles)

    def _neighbours(self, old: int, new: int) -> Iterator[Pair]:
        """Pair the free neighbours at the same place of like quads; of very many only those alike."""
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
            for node in reversed(old):
                waiting.setdefault(circle[node], []).append(node)
            yield from ((waiting[circle[node]].pop(), node) for node in new if waiting.get(circle[node]))

    def _match_overlapping(self) -> bool:
        """Match by the number of common traits, most first; false where nothing has any."""
        holders: dict[Any, tuple[list[int], list[int]]] = {}
        for side, nodes in enumerate((self._old, self._new)):
            for node in nodes:
                for trait in self._traits(node):
                    holders.setdefault(trait, ([], []))[side].append(node)
        common: Counter[Pair] = Counter()
        for old, new in holders.values():
            if len(old) <= _HOLDERS and len(new) <= _HOLDERS:
                common.update(product(old, new))
        for (mine, theirs), _ in sorted(common.items(), key=lambda item: (-item[1], item[0])):
            if mine in self._old and theirs in self._new:
                self._take(mine, theirs)
                self._grow(0)
        return bool(common)

    def _traits(self, node: int) -> Iterator[Any]:
        """Name each quad around a node by what is known of it: matched nodes as the old side calls them."""
        seen: Counter[Any] = Counter()
        for shape, others in self._around.incidences[node]:
            known = tuple(
                self._matching.get(other, other if self._is_matched(other) else -1) for other in others
            )
            seen[shape, known] += 1
            yield shape, known, seen[shape, known]

    def _is_matched(self, old: int) -> bool:
        return old < self._around.old and old not in self._old
