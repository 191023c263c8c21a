"""DRed, the textbook way to maintain what rules derive: over-delete, re-derive, insert semi-naively.

It works on triples of integers, by the four rules of Goasdoué et al., Figure 8, over the explicit schema. All
that a rule looks up is indexed: pairs by property, members by class, how often a node is a subject or an
object of a property, and the schema in both directions. Nothing of it goes through a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from bench.bibliography import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE
from bench.worlds import Edge

__all__ = ["DRed"]

Links: TypeAlias = dict[int, set[int]]
Degrees: TypeAlias = dict[int, dict[int, int]]


class DRed:
    """What a set of explicit triples entails."""

    def __init__(self, triples: Iterable[Edge] = ()) -> None:
        self.explicit: set[Edge] = set()
        self.pairs: dict[int, set[tuple[int, int]]] = {}
        self.members: dict[int, set[int]] = {}
        self._subjects: Degrees = {}
        self._objects: Degrees = {}
        self._up: dict[int, Links] = {p: {} for p in (SUBCLASS, SUBPROPERTY, DOMAIN, RANGE)}
        self._down: dict[int, Links] = {p: {} for p in self._up}
        self.insert(sorted(triples, key=lambda triple: triple[1] not in self._up))  # the schema first

    def __len__(self) -> int:
        return sum(map(len, self.pairs.values())) + sum(map(len, self.members.values()))

    def insert(self, triples: Iterable[Edge]) -> None:
        """Add explicit triples and what follows from them."""
        fresh = [triple for triple in triples if triple not in self.explicit]
        self.explicit.update(fresh)
        self._derive(fresh)

    def _derive(self, waiting: list[Edge]) -> None:
        while waiting:
            triple = waiting.pop()
            if not self._holds(triple):
                self._put(triple)
                waiting += self._consequences(triple)

    def delete(self, triples: Iterable[Edge]) -> None:
        """Take away explicit triples and what does not follow any more."""
        waiting = [triple for triple in triples if triple in self.explicit]
        self.explicit.difference_update(waiting)
        doubtful: set[Edge] = set()
        while waiting:  # over-delete: all that some derivation leads to from what went
            triple = waiting.pop()
            if triple not in doubtful:
                doubtful.add(triple)
                waiting += self._consequences(triple)
        for triple in doubtful:
            self._take(triple)
        self._derive([triple for triple in doubtful if triple in self.explicit or self._follows(triple)])

    def _holds(self, triple: Edge) -> bool:
        s, p, o = triple
        return s in self.members.get(o, ()) if p == TYPE else (s, o) in self.pairs.get(p, ())

    def _put(self, triple: Edge) -> None:
        s, p, o = triple
        if p == TYPE:
            self.members.setdefault(o, set()).add(s)
            return
        self.pairs.setdefault(p, set()).add((s, o))
        for degrees, node in ((self._subjects, s), (self._objects, o)):
            counts = degrees.setdefault(p, {})
            counts[node] = counts.get(node, 0) + 1
        if p in self._up:
            self._up[p].setdefault(s, set()).add(o)
            self._down[p].setdefault(o, set()).add(s)

    def _take(self, triple: Edge) -> None:
        s, p, o = triple
        if p == TYPE:
            self.members[o].remove(s)
            return
        self.pairs[p].remove((s, o))
        for degrees, node in ((self._subjects, s), (self._objects, o)):
            counts = degrees[p]
            counts[node] -= 1
            if not counts[node]:
                del counts[node]
        if p in self._up:
            self._up[p][s].remove(o)
            self._down[p][o].remove(s)

    def _consequences(self, triple: Edge) -> Iterator[Edge]:
        """List what one use of a rule gives from a triple and what holds; instances of RDF's words too."""
        s, p, o = triple
        if p == TYPE:
            for above in self._up[SUBCLASS].get(o, ()):
                yield s, TYPE, above
        for above in self._up[SUBPROPERTY].get(p, ()):
            yield s, above, o
        for kind in self._up[DOMAIN].get(p, ()):
            yield s, TYPE, kind
        for kind in self._up[RANGE].get(p, ()):
            yield o, TYPE, kind
        if p == SUBCLASS:
            for member in self.members.get(s, ()):
                yield member, TYPE, o
        elif p == SUBPROPERTY:
            for one, other in self.pairs.get(s, ()):
                yield one, o, other
        elif p == DOMAIN:
            for node in self._subjects.get(s, ()):
                yield node, TYPE, o
        elif p == RANGE:
            for node in self._objects.get(s, ()):
                yield node, TYPE, o

    def _follows(self, triple: Edge) -> bool:
        """Tell whether one use of a rule gives a triple, from what is left."""
        s, p, o = triple
        if p != TYPE:
            return any((s, o) in self.pairs.get(q, ()) for q in self._down[SUBPROPERTY].get(p, ()))
        return (
            any(s in self.members.get(c, ()) for c in self._down[SUBCLASS].get(o, ()))
            or any(s in self._subjects.get(q, ()) for q in self._down[DOMAIN].get(o, ()))
            or any(s in self._objects.get(q, ()) for q in self._down[RANGE].get(o, ()))
        )
