"""The dataset of the section `operators`: items in small groups and short chains, all alike at any size."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, TypeAlias

from rdflib import Dataset, Graph, Literal, URIRef

from bench.stream import SEED
from bench.worlds import iri

__all__ = ["GROUP", "IDLE", "PREDICATES", "Items"]

Triple: TypeAlias = tuple[Any, Any, Any]
Operation: TypeAlias = tuple[Callable[[Any], object], Triple]

PREDICATES: Final = ("group", "value", "label", "next", "tag")
"""One triple of each per item, but no `next` at the end of a chain; `tag` is in named graphs."""
IDLE: Final = "idle-"
"""Begins the name of a predicate's twin, of the same objects in the same graphs, that no query asks for.

The twin is what a bare update is measured on: one of a literal costs rdflib's store half as much again.
"""
GROUP: Final = 10
"""Items per group, per chain and per named graph, whatever the size: so is what an update changes."""
VALUES: Final = 1_000


class Items:
    """A dataset of about `count` triples in rdflib's Memory store."""

    def __init__(self, count: int) -> None:
        self.items = max(1, count // (2 * len(PREDICATES)) // GROUP) * GROUP
        self.graph = Dataset()
        self._item = cache(lambda i: iri(f"item{i}"))
        self._named: dict[int, Graph] = {}
        for i in range(self.items):
            for predicate in (*PREDICATES, *(IDLE + name for name in PREDICATES)):
                if self.has(predicate, i):
                    self.context(predicate, i).add(self.triple(predicate, i))

    @staticmethod
    def has(predicate: str, i: int) -> bool:
        """Tell whether an item has a triple of a predicate."""
        return predicate.removeprefix(IDLE) != "next" or i % GROUP != GROUP - 1

    @staticmethod
    def value(i: int) -> int:
        """Give the number of an item: neighbours differ, and each number is as frequent as any other."""
        return i * 7919 % VALUES

    def triple(self, predicate: str, i: int) -> Triple:
        """Give an item's triple of a predicate."""
        return self._item(i), iri(predicate), self._object(predicate.removeprefix(IDLE), i)

    def _object(self, predicate: str, i: int) -> URIRef | Literal:
        if predicate == "group":
            return iri(f"group{i // GROUP}")
        if predicate == "value":
            return Literal(self.value(i))
        if predicate == "label":
            return Literal(f"item {i}", lang="en")
        if predicate == "next":
            return self._item(i + 1)
        return iri(f"{predicate}{i % VALUES}")

    def context(self, predicate: str, i: int) -> Graph:
        """Give the graph that holds an item's triple of a predicate."""
        if predicate.removeprefix(IDLE) != "tag":
            default: Graph = self.graph.default_graph
            return default
        number = i // GROUP
        if number not in self._named:
            self._named[number] = self.graph.graph(iri(f"graph{number}"))
        return self._named[number]

    def size(self, predicates: set[str]) -> int:
        """Count the triples of some predicates."""
        missing = self.items // GROUP if "next" in predicates else 0
        return len(predicates) * self.items - missing

    def toggles(
        self, predicate: str, suits: Callable[[int], bool], count: int, seed: int
    ) -> Iterator[Operation]:
        """Give `count` deletes of triples that are there, drawn at random, each undone by the next insert."""
        rng = random.Random(SEED + seed)
        pool = [i for i in range(self.items) if self.has(predicate, i) and suits(i)]
        for _ in range(count):
            i = rng.choice(pool)
            graph, triple = self.context(predicate, i), self.triple(predicate, i)
            yield graph.remove, triple
            yield graph.add, triple
