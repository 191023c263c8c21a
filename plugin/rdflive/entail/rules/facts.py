"""The triples that rules read or give, each with what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rdflive.engine.dictionary import Dictionary
from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.keys import Key

__all__ = ["EXPLICIT", "Fact", "Facts"]


class Fact:
    """What a triple rests on.

    A derivation is *founded* when all of its premises have a lower level than what it derives. A fact
    stays as long as it is explicit or has a founded derivation: going down the levels, every founded
    derivation ends at explicit triples, so no two facts can hold up each other.
    """

    __slots__ = ("derivations", "explicit", "founded", "level")

    def __init__(self, level: int, *, explicit: bool = False) -> None:
        self.level = level
        self.explicit = explicit
        self.derivations = 0
        """In how many ways the rules give it."""
        self.founded = 0
        """How many of these are founded."""


EXPLICIT: Final = Fact(0, explicit=True)
"""Shared by all explicit triples that no rule gives; never changed."""


class Facts:
    """The facts that hold, by their triples; the dictionary holds the terms of each."""

    __slots__ = ("_dictionary", "_inferred", "table")

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._inferred = _TripleIndex()
        self.table: dict[IdTriple, Fact] = {}

    def put(self, triple: IdTriple, fact: Fact) -> None:
        """Let a fact hold that did not."""
        self.table[triple] = fact
        self._dictionary.hold(triple)
        if not fact.explicit:
            self._inferred.add(triple)

    def take(self, triple: IdTriple) -> Fact:
        """Let a fact hold no more."""
        fact = self.table.pop(triple)
        self._dictionary.drop(triple)
        if not fact.explicit:
            self._inferred.discard(triple)
        return fact

    def mark(self, triple: IdTriple) -> None:
        """Make a fact that holds explicit."""
        fact = self.table[triple]
        if not fact.explicit:
            fact.explicit = True
            self._inferred.discard(triple)

    def unmark(self, triple: IdTriple) -> bool:
        """Make an explicit fact implicit; true when nothing founded holds it any more."""
        fact = self.table[triple]
        if fact is EXPLICIT:
            fact = self.table[triple] = Fact(0)
        fact.explicit = False
        self._inferred.add(triple)
        return not fact.founded

    def own(self, triple: IdTriple) -> Fact | None:
        """Give a fact that may be changed, if it holds."""
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
    """A set of triples, indexed by a place from the first time that it is asked for."""

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
