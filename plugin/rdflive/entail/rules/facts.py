"""The triples that rules read or conclude, each with the derivations it depends on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rdflive.engine.dictionary import Dictionary
from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.keys import Key

__all__ = ["EXPLICIT", "Fact", "Facts"]


class Fact:
    """Why a triple holds: whether it is explicit, and counts of its derivations.

    Counting all derivations is not enough, because facts may derive each other in a circle: with a transitive
    and symmetric :near, (a, near, b) and (b, near, a) would keep each other alive after the explicit triple
    is gone. So every fact has a *level*, and a derivation is *founded* if all its premises have lower levels
    than its conclusion. A fact holds as long as it is explicit or has a founded derivation. Founded
    derivations lead down the levels to explicit triples, so no circle holds itself up.
    """

    __slots__ = ("derivations", "explicit", "founded", "level")

    def __init__(self, level: int, *, explicit: bool = False) -> None:
        self.level = level
        self.explicit = explicit
        self.derivations = 0
        """How many derivations the fact has."""
        self.founded = 0
        """How many of these are founded."""


EXPLICIT: Final = Fact(0, explicit=True)
"""One object for all explicit triples that no rule concludes, to save memory; it is never changed."""


class Facts:
    """The facts that hold, by triple; the dictionary holds the ids of each."""

    __slots__ = ("_dictionary", "_inferred", "table")

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._inferred = _TripleIndex()
        self.table: dict[IdTriple, Fact] = {}

    def put(self, triple: IdTriple, fact: Fact) -> None:
        """Add a fact that did not hold."""
        self.table[triple] = fact
        self._dictionary.hold(triple)
        # explicit ones are looked up in the graph, which has its own indexes
        if not fact.explicit:
            self._inferred.add(triple)

    def take(self, triple: IdTriple) -> Fact:
        """Remove a fact and return it."""
        fact = self.table.pop(triple)
        self._dictionary.drop(triple)
        if not fact.explicit:
            self._inferred.discard(triple)
        return fact

    def mark(self, triple: IdTriple) -> None:
        """Make a derived fact explicit as well."""
        fact = self.table[triple]
        if not fact.explicit:
            fact.explicit = True
            self._inferred.discard(triple)

    def unmark(self, triple: IdTriple) -> bool:
        """Make an explicit fact a derived one; True if it has no founded derivation and must go."""
        fact = self.table[triple]
        if fact is EXPLICIT:
            fact = self.table[triple] = Fact(0)
        fact.explicit = False
        self._inferred.add(triple)
        return not fact.founded

    def own(self, triple: IdTriple) -> Fact | None:
        """Give a fact in a form that may be changed (`EXPLICIT` may not), or None if it does not hold."""
        fact = self.table.get(triple)
        if fact is EXPLICIT:
            fact = self.table[triple] = Fact(0, explicit=True)
        return fact

    def inferred(self, key: Key) -> Iterable[IdTriple]:
        """List the facts that match a pattern and are not explicit."""
        return self._inferred.matching(key)

    def containers(self) -> list[Any]:
        """List the dictionaries and sets of facts."""
        return [self.table, *self._inferred.containers()]

    def clear(self) -> None:
        """Forget all facts."""
        for triple in self.table:
            self._dictionary.drop(triple)
        self.table.clear()
        self._inferred = _TripleIndex()


class _TripleIndex:
    """A set of triples; a position is indexed from its first look-up on."""

    __slots__ = ("_by_place", "_triples")

    def __init__(self) -> None:
        self._triples: set[IdTriple] = set()
        self._by_place: dict[int, dict[int, set[IdTriple]]] = {}

    def add(self, triple: IdTriple) -> None:
        self._triples.add(triple)
        for place, index in self._by_place.items():
            found = index.get(triple[place])
            if found is None:
                index[triple[place]] = {triple}
            else:
                found.add(triple)

    def discard(self, triple: IdTriple) -> None:
        self._triples.discard(triple)
        for place, index in self._by_place.items():
            found = index[triple[place]]
            found.discard(triple)
            if not found:
                del index[triple[place]]

    def containers(self) -> list[Any]:
        return [self._triples, *(found for index in self._by_place.values() for found in index.values())]

    def matching(self, key: Key) -> Iterator[IdTriple]:
        bound = [place for place in range(3) if key[place]]
        if not bound:
            yield from self._triples
            return
        # The smallest set is scanned, instead of keeping indexes of pairs.
        nothing: set[IdTriple] = set()
        near = min((self._index(place).get(key[place], nothing) for place in bound), key=len)
        for triple in near:
            if all(triple[place] == key[place] for place in bound):
                yield triple

    def _index(self, place: int) -> dict[int, set[IdTriple]]:
        index = self._by_place.get(place)
        if index is None:
            index = self._by_place[place] = {}
            for triple in self._triples:
                index.setdefault(triple[place], set()).add(triple)
        return index
