"""Random shapes, random data, and random changes of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from rdflib import RDF, RDFS, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from support.shacl import SH, Result

EX = Namespace("http://example.org/")
NODES: list[Node] = [*(EX[name] for name in "abcdef"), BNode("n1"), BNode("n2")]
CLASSES = [EX.C0, EX.C1, EX.C2, EX.C3]
LINKS = [EX.p, EX.q, EX.r]
LITERALS: list[Node] = [
    Literal(1), Literal(2), Literal(5), Literal("x"), Literal("abc"), Literal("hi", lang="en"),
    Literal("ho", lang="en"), Literal("yo", lang="en-GB"), Literal("na", lang="de"),
    Literal("2020-01-01", datatype=XSD.date), Literal(True),
]  # fmt: skip
BYTES: list[Node] = [Literal("1", datatype=XSD.byte), Literal("300", datatype=XSD.byte)]
"""Oxigraph makes integers of these."""
KINDS = [SH.IRI, SH.BlankNode, SH.Literal, SH.BlankNodeOrIRI, SH.BlankNodeOrLiteral, SH.IRIOrLiteral]
RANGES = [SH.minExclusive, SH.minInclusive, SH.maxExclusive, SH.maxInclusive]
REPEATED = [SH.zeroOrMorePath, SH.oneOrMorePath, SH.zeroOrOnePath]


def order(triple: tuple[Node, ...]) -> tuple[str, ...]:
    """Order triples in the same way in every run."""
    return tuple(term.n3() for term in triple)


class Shapes:
    """A random shapes graph; blank nodes are numbered, so that a seed gives the same graph each time."""

    def __init__(self, chance: Random, literals: list[Node]) -> None:
        self.graph = Graph()
        self._literals = literals
        self._chance = chance
        self._pool: list[Node] = []
        self._made = 0
        for _ in range(chance.randint(1, 4)):
            self._target(self._shape())

    def _blank(self) -> BNode:
        self._made += 1
        return BNode(f"s{self._made}")

    def _list(self, items: list[Node]) -> Node:
        heads: list[Node] = [*(self._blank() for _ in items), RDF.nil]
        for head, item, rest in zip(heads, items, heads[1:], strict=False):
            self.graph.add((head, RDF.first, item))
            self.graph.add((head, RDF.rest, rest))
        return heads[0]

    def _target(self, shape: Node) -> None:
        chance, add = self._chance, self.graph.add
        for _ in range(chance.randint(1, 2)):
            kind = chance.randrange(5)
            if kind == 0:
                add((shape, SH.targetNode, chance.choice([*NODES[:6], *self._literals])))
            elif kind == 1:
                add((shape, SH.targetClass, chance.choice(CLASSES)))
            elif kind == 2:
                add((shape, SH.targetSubjectsOf, chance.choice(LINKS)))
            elif kind == 3:
                add((shape, SH.targetObjectsOf, chance.choice(LINKS)))
            elif isinstance(shape, URIRef):
                is_property = (shape, SH.path, None) in self.graph
                add((shape, RDF.type, SH.PropertyShape if is_property else SH.NodeShape))
                add((shape, RDF.type, RDFS.Class))

    def _path(self, depth: int = 0) -> Node:
        chance, add = self._chance, self.graph.add
        if chance.random() < 0.6 or depth > 2:
            rare = [RDF.type, RDFS.subClassOf] if chance.random() < 0.2 else []
            return chance.choice([*LINKS, *LINKS, *rare])
        kind, path = chance.randrange(6), self._blank()
        if kind == 0:
            return self._list([self._path(depth + 1) for _ in range(chance.randint(2, 3))])
        if kind == 1:
            add((path, SH.inversePath, self._path(depth + 1)))
        elif kind == 2:
            add((path, SH.alternativePath, self._list([self._path(depth + 1) for _ in range(2)])))
        else:
            add((path, REPEATED[kind - 3], self._path(depth + 1)))
        return path

    def _shape(self, depth: int = 0, *, is_property: bool | None = None) -> Node:
        chance = self._chance
        if self._pool and chance.random() < 0.2:
            known = chance.choice(self._pool)
            if is_property is None or ((known, SH.path, None) in self.graph) == is_property:
                return known
        self._made += 1
        shape = self._blank() if chance.random() < 0.5 else EX[f"S{self._made}"]
        if chance.random() < 0.5 if is_property is None else is_property:
            self.graph.add((shape, SH.path, self._path()))
        for _ in range(chance.randint(1, 3 if depth else 4)):
            for predicate, value in self._constraint(shape, depth):
                self.graph.add((shape, predicate, value))
        self._pool.append(shape)
        return shape

    def _constraint(self, shape: Node, depth: int) -> Iterator[tuple[Any, Node]]:
        chance, has_path = self._chance, (shape, SH.path, None) in self.graph
        kind = chance.randrange(24)
        terms = [*NODES[:6], *self._literals]
        if kind == 0:
            yield SH["class"], chance.choice(CLASSES)
        elif kind == 1:
            yield SH.datatype, chance.choice([XSD.integer, XSD.string, RDF.langString, XSD.byte, XSD.date])
        elif kind == 2:
            yield SH.nodeKind, chance.choice(KINDS)
            if chance.random() < 0.3:
                yield SH.severity, SH.Warning
        elif kind == 3 and has_path:
            yield SH.minCount, Literal(chance.randint(0, 3))
        elif kind == 4 and has_path:
            yield SH.maxCount, Literal(chance.randint(0, 2))
        elif kind == 5:
            limits = [Literal(1), Literal(2), Literal("b"), Literal("2020-01-01", datatype=XSD.date)]
            yield chance.choice(RANGES), chance.choice(limits)
        elif kind == 6:
            yield chance.choice([SH.minLength, SH.maxLength]), Literal(chance.randint(0, 21))
        elif kind == 7:
            yield SH.pattern, Literal(chance.choice(["a", "^h", "g/[a-c]", "H"]))
            if chance.random() < 0.4:
                yield SH.flags, Literal("i")
        elif kind == 8:
            yield SH.languageIn, self._list([Literal(chance.choice(["en", "de", "en-GB"]))])
        elif kind == 9 and has_path:
            yield SH.uniqueLang, Literal(chance.random() < 0.8)
        elif kind == 10:
            yield chance.choice([SH.equals, SH.disjoint]), chance.choice(LINKS)
        elif kind == 11 and has_path:
            yield chance.choice([SH.lessThan, SH.lessThanOrEquals]), chance.choice(LINKS)
        elif kind == 12 and depth < 2:
            yield SH["not"], self._shape(depth + 1)
        elif kind in (13, 14) and depth < 2:
            members = [self._shape(depth + 1) for _ in range(chance.randint(1, 3))]
            yield chance.choice([SH["and"], SH["or"], SH.xone]), self._list(members)
        elif kind == 15 and depth < 2:
            yield SH.node, self._shape(depth + 1)
        elif kind in (16, 17, 18) and depth < 2:
            yield SH.property, self._shape(depth + 1, is_property=True)
        elif kind == 19 and has_path and depth < 2:
            yield SH.qualifiedValueShape, self._shape(depth + 1)
            if chance.random() < 0.7:
                yield SH.qualifiedMinCount, Literal(chance.randint(0, 2))
            if chance.random() < 0.7:
                yield SH.qualifiedMaxCount, Literal(chance.randint(0, 1))
            if chance.random() < 0.5:
                yield SH.qualifiedValueShapesDisjoint, Literal(True)
        elif kind == 20:
            yield SH.closed, Literal(True)
            if chance.random() < 0.6:
                yield SH.ignoredProperties, self._list(chance.sample([*LINKS, RDF.type], 2))
        elif kind == 21:
            yield SH.hasValue, chance.choice(terms)
        elif kind == 22:
            yield SH["in"], self._list([chance.choice(terms) for _ in range(3)])
        elif kind == 23 and chance.random() < 0.3:
            yield SH.deactivated, Literal(True)


def triple(chance: Random, literals: list[Node]) -> tuple[Node, Node, Node]:
    """Draw a triple of the data."""
    kind = chance.random()
    if kind < 0.25:
        return chance.choice(NODES), RDF.type, chance.choice(CLASSES)
    if kind < 0.32:
        return chance.choice(CLASSES), RDFS.subClassOf, chance.choice(CLASSES)
    return chance.choice(NODES), chance.choice(LINKS), chance.choice([*NODES, *literals])


def result(row: Any) -> Result:
    """Give what of a row the Recommendation says; strings as plain literals, as rdflib writes them."""
    plain = [
        Literal(str(term)) if isinstance(term, Literal) and term.datatype == XSD.string else term
        for term in row[:6]
    ]
    return tuple(plain)  # type: ignore[return-value]  # six of them


class Sum:
    """Adds up the deltas of a validation."""

    def __init__(self) -> None:
        self.total: Counter[Result] = Counter()
        self.count = 0

    def __call__(self, delta: Any) -> None:
        """Take a delta."""
        assert not (self.count and delta.initial)
        assert delta or not self.count, "nothing changed"
        self.count += 1
        self.total.update(map(result, delta.added))
        self.total.subtract(map(result, delta.removed))
        assert min(self.total.values(), default=0) >= 0
        self.total = +self.total
