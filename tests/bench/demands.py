"""Graphs of several kinds, and queries about one thing in each: what is asked for is little."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bench.stream import SEED
from bench.worlds import EX

__all__ = ["WORLDS", "Asked", "Triple", "World"]

Triple = tuple[str, str, str]
"""The names of a subject, a predicate and an object."""


@dataclass(frozen=True)
class Asked:
    """A query about one thing."""

    name: str
    where: str
    relevant: Triple
    """A triple that is in no solution yet, and that matters."""
    made_of: str = ""
    """The patterns whose triples solutions are made of, where these are others than the query's."""
    few: bool = True
    """Whether the answer has at most 1,000 rows, as the bars want."""

    @property
    def used(self) -> str:
        """The patterns whose triples solutions are made of."""
        return self.made_of or self.where

    @property
    def text(self) -> str:
        """The query."""
        return f"PREFIX : <{EX}> SELECT * {{ {self.where} }}"


@dataclass(frozen=True)
class World:
    """How a graph is made, and what is asked of it."""

    make: Callable[[int, random.Random], Iterator[Triple]]
    """Gives about so many triples."""
    irrelevant: tuple[str, str]
    """A predicate that the queries have and an object: a triple of another subject changes no answer."""
    queries: tuple[Asked, ...]

    def triples(self, count: int) -> Iterator[Triple]:
        """Make the triples of a graph, always the same ones."""
        return self.make(count, random.Random(SEED))


def _people(count: int, chance: random.Random) -> Iterator[Triple]:
    people, things = max(count // 10, 20), max(count // 100, 10)
    for i in range(people):
        for _ in range(5):
            other = chance.randrange(people)
            # that one comes when a relevant add is measured
            yield f"p{i}", "knows", f"p{8 if (i, other) == (1, 7) else other}"
        for _ in range(4):
            yield f"p{i}", "likes", f"t{chance.randrange(things)}"
    for i in range(things):
        for _ in range(2):
            yield f"t{i}", "in", f"c{chance.randrange(20)}"


def _shop(count: int, chance: random.Random) -> Iterator[Triple]:
    """Products with features, offers of vendors and reviews, in the shape of the Berlin SPARQL Benchmark."""
    products = max(count // 100, 2)
    for i in range(products):
        product = f"product{i}"
        yield product, "label", f"l{i}"
        yield product, "producer", f"producer{i % (products // 20 + 1)}"
        for _ in range(10):
            yield product, "feature", f"feature{chance.randrange(products // 4 + 10)}"
        for k in range(8):
            offer = f"offer{i}x{k}"
            yield offer, "product", product
            yield offer, "vendor", f"vendor{chance.randrange(products // 10 + 5)}"
            yield offer, "price", f"price{chance.randrange(1000)}"
            yield offer, "days", f"days{chance.randrange(9)}"
        for k in range(10):
            review = f"review{i}x{k}"
            yield review, "reviewFor", product
            yield review, "reviewer", f"person{chance.randrange(products * 2)}"
            yield review, "title", f"title{i}x{k}"
            if k % 3:
                yield review, "rating", f"rating{chance.randrange(10)}"
    for i in range(products // 4 + 10):
        yield f"feature{i}", "label", f"f{i}"
    for i in range(products // 10 + 5):
        yield f"vendor{i}", "country", f"country{i % 9}"
    for i in range(products // 20 + 1):
        yield f"producer{i}", "label", f"pl{i}"
    for i in range(products * 2):
        yield f"person{i}", "name", f"n{i}"


def _railway(count: int, chance: random.Random) -> Iterator[Triple]:
    """Routes over switches that sensors monitor, in the shape of the Train Benchmark."""
    routes = max(count // 100, 2)
    for i in range(routes):
        for k in range(15):
            position, switch = f"swp{i}x{k}", f"sw{i}x{k}"
            yield f"route{i}", "follows", position
            yield position, "target", switch
            yield position, "position", f"direction{k % 2}"
            yield switch, "monitoredBy", f"sensor{i}x{k // 3}"
            yield switch, "currentPosition", f"direction{chance.randrange(2)}"
            if k % 5:
                yield f"route{i}", "requires", f"sensor{i}x{k // 3}"


def _building(count: int, chance: random.Random) -> Iterator[Triple]:
    """Rooms on floors with points of equipment, in the shape of Brick."""
    rooms = max(count // 50, 2)
    for i in range(rooms):
        yield f"room{i}", "isPartOf", f"floor{i // 40}"
        yield f"room{i}", "a", "Room"
        for k in range(9):
            point = f"point{i}x{k}"
            yield point, "isPointOf", f"room{i}"
            yield point, "a", f"Class{chance.randrange(60)}"
            yield point, "timeseries", f"series{i}x{k}"
            yield point, "unit", f"unit{chance.randrange(12)}"
            yield point, "value", f"value{chance.randrange(90)}"
    for i in range(rooms // 40 + 1):
        yield f"floor{i}", "isPartOf", f"building{i // 10}"
        yield f"building{i // 10}", "isPartOf", "site"


def _items(count: int, chance: random.Random) -> Iterator[Triple]:
    """Items with statements and labels, in the shape of Wikidata's."""
    items = max(count // 10, 20)
    for i in range(items):
        yield f"q{i}", "label", f"l{i}"
        yield f"q{i}", "instanceOf", f"q{chance.randrange(items // 100 + 1)}"
        yield f"q{i}", "country", f"q{chance.randrange(200 if items > 200 else items)}"
        for k in range(7):
            yield f"q{i}", f"p{k * 7 + chance.randrange(7)}", f"q{chance.randrange(items)}"


WORLDS: Final[dict[str, World]] = {
    "people": World(
        _people,
        ("likes", "t1"),
        (
            Asked("path of three", ":p1 :knows ?y . ?y :likes ?t . ?t :in ?c", ("p1", "knows", "p7")),
            Asked("OPTIONAL", ":p1 :knows ?y OPTIONAL { ?y :likes ?t . ?t :in ?c }", ("p1", "knows", "p7")),
            Asked(
                "FILTER EXISTS",
                ":p1 :knows ?y FILTER EXISTS { ?y :likes ?t . ?t :in ?c }",
                ("p1", "knows", "p7"),
                made_of=":p1 :knows ?y . ?y :likes ?t . ?t :in ?c",
            ),
            Asked(
                "path",
                ":p1 :knows+ ?y",
                ("p1", "knows", "p7"),
                made_of=":p1 :knows* ?x . ?x :knows ?y",
                few=False,
            ),
        ),
    ),
    "shop": World(
        _shop,
        ("feature", "feature1"),
        (
            Asked(
                "a product",
                ":product1 :label ?l ; :producer ?m ; :feature ?f . ?m :label ?ml . ?f :label ?fl",
                ("product1", "feature", "feature-new"),
            ),
            Asked(
                "its offers and reviews",
                ":product1 :label ?l OPTIONAL { ?o :product :product1 ; :vendor ?v ; :price ?c . "
                "?v :country :country1 } OPTIONAL { ?r :reviewFor :product1 ; :reviewer ?p . ?p :name ?n "
                "OPTIONAL { ?r :rating ?a } }",
                ("review1x99", "reviewFor", "product1"),
            ),
        ),
    ),
    "railway": World(
        _railway,
        ("target", "sw1x1"),
        (
            Asked(
                "sensors of a route",
                ":route1 :follows ?p . ?p :target ?w . ?w :monitoredBy ?s "
                "FILTER NOT EXISTS { :route1 :requires ?s }",
                ("route1", "follows", "swp0x1"),
                made_of=":route1 :follows ?p . ?p :target ?w . ?w :monitoredBy ?s "
                "OPTIONAL { :route1 :requires ?s }",
            ),
        ),
    ),
    "building": World(
        _building,
        ("unit", "unit1"),
        (
            Asked(
                "a room",
                "?x :isPointOf :room1 ; :a ?k ; :timeseries ?s OPTIONAL { ?x :unit ?u }",
                ("point0x1", "isPointOf", "room1"),
            ),
            Asked(
                "where a room is",
                ":room1 :isPartOf+ ?w",
                ("floor0", "isPartOf", "campus"),
                made_of=":room1 :isPartOf* ?x . ?x :isPartOf ?w",
            ),
        ),
    ),
    "items": World(
        _items,
        ("label", "l1"),
        (
            Asked(
                "an item",
                ":q1 :label ?l ; :instanceOf ?k ; :country ?c . ?k :label ?kl OPTIONAL { ?c :label ?cl }",
                ("q1", "country", "nowhere"),
            ),
        ),
    ),
}
