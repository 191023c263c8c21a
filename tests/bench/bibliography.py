"""A bibliography with a schema of about forty triples: what the entailment section infers from."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from rdflib import RDF, RDFS, Graph, URIRef

from bench.stream import SEED
from bench.worlds import EX, Edge

__all__ = [
    "DOMAIN", "RANGE", "SCHEMA", "SUBCLASS", "SUBPROPERTY", "TYPE", "instances", "number", "term", "to_graph",
]  # fmt: skip

TYPE, SUBCLASS, SUBPROPERTY, DOMAIN, RANGE = 1, 2, 3, 4, 5
_BUILT_IN: Final = (RDF.type, RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range)

_CLASSES: Final = """
    Agent<Thing Person<Agent Organisation<Agent Student<Person Researcher<Person Professor<Researcher
    Company<Organisation University<Organisation Document<Thing Publication<Document Report<Document
    Article<Publication InProceedings<Publication Thesis<Publication Venue<Thing Journal<Venue
    Conference<Venue Event<Thing Conference<Event Workshop<Conference
"""
_PROPERTIES: Final = """
    creator<contributor author<creator firstAuthor<author editor<contributor publishedIn<partOf
    inJournal<publishedIn inProceedings<publishedIn headOf<worksFor
"""
_DOMAINS: Final = """
    contributor:Document publishedIn:Publication inJournal:Article inProceedings:InProceedings
    cites:Publication worksFor:Person
"""
_RANGES: Final = """
    contributor:Agent author:Person publishedIn:Venue inJournal:Journal inProceedings:Conference
    cites:Publication worksFor:Organisation
"""
_OTHERS: Final = ("title", "year")
_WORDS: Final = sorted(
    {*_OTHERS, *f"{_CLASSES} {_PROPERTIES} {_DOMAINS} {_RANGES}".replace("<", " ").replace(":", " ").split()}
)
FIRST: Final = 100
"""The number of the first class or property; nodes begin at 1,000."""


def number(word: str) -> int:
    """Give the number of a class or property."""
    return FIRST + _WORDS.index(word)


def _read(text: str, mark: str, constraint: int) -> Iterable[Edge]:
    for pair in text.split():
        left, right = pair.split(mark)
        yield number(left), constraint, number(right)


SCHEMA: Final[tuple[Edge, ...]] = (
    *_read(_CLASSES, "<", SUBCLASS),
    *_read(_PROPERTIES, "<", SUBPROPERTY),
    *_read(_DOMAINS, ":", DOMAIN),
    *_read(_RANGES, ":", RANGE),
)


@cache
def term(number: int) -> URIRef:
    """Write a number as an IRI."""
    if number <= len(_BUILT_IN):
        return URIRef(_BUILT_IN[number - 1])
    return URIRef(EX + (_WORDS[number - FIRST] if number - FIRST < len(_WORDS) else f"n{number}"))


def to_graph(triples: Iterable[Edge], graph: Graph | None = None) -> Graph:
    """Write triples of numbers into a graph."""
    graph = Graph() if graph is None else graph
    for s, p, o in triples:
        graph.add((term(s), term(p), term(o)))
    return graph


def instances(count: int, *, seed: int = SEED) -> list[Edge]:
    """Make `count` distinct instance triples; every node has about seven."""
    rng = random.Random(seed)
    found: dict[Edge, None] = {}
    maker = _Maker(rng, max(10, count // 14))
    while len(found) < count:
        for triple in maker.publication():
            if len(found) < count:
                found[triple] = None
    return list(found)


class _Maker:
    """Writes publications one by one, and now and then whom they name."""

    def __init__(self, rng: random.Random, publications: int) -> None:
        self._rng = rng
        self._people = range(1000, 1000 + publications // 2)
        self._venues = range(self._people.stop, self._people.stop + publications // 20 + 2)
        self._bodies = range(self._venues.stop, self._venues.stop + publications // 50 + 2)
        self._next = self._first = self._bodies.stop

    def _one(self, nodes: Any) -> int:
        return int(self._rng.choice(nodes))

    def publication(self) -> Iterable[Edge]:
        """Describe a publication, its authors and its venue, and a person."""
        rng, this = self._rng, self._next
        self._next += 1
        kind = rng.choice(("Article", "InProceedings", "InProceedings", "Thesis", "Report"))
        yield this, TYPE, number(kind)
        yield this, number("title"), 2 * this
        yield this, number("year"), 1000 + rng.randrange(50)
        yield this, number("firstAuthor"), self._one(self._people)
        for _ in range(rng.randrange(4)):
            yield this, number("author"), self._one(self._people)
        if kind in ("Article", "InProceedings"):
            where = "inJournal" if kind == "Article" else "inProceedings"
            yield this, number(where), self._one(self._venues)
        for _ in range(rng.randrange(5)):
            yield this, number("cites"), self._one(range(self._first, this + 1))
        person = self._one(self._people)
        yield person, TYPE, number(rng.choice(("Student", "Researcher", "Professor")))
        yield person, number("headOf" if not rng.randrange(9) else "worksFor"), self._one(self._bodies)
