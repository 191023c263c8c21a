"""Random shapes over random data: the results are those of pySHACL, of all nodes and of selected ones.

The shapes have what pySHACL and the Recommendation agree on. Where focus nodes alone are named, it leaves
out value nodes of shapes within shapes too; so shapes have property shapes, and no others, within them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from rdflib import RDF, RDFS, XSD, BNode, Graph, Literal, URIRef
from rdflib.collection import Collection
from rdflib.term import Node

import rdflive
from shacl.worlds import CLASSES, EX, KINDS, LINKS, result, triple
from support.effort import drawn_from, rounds
from support.shacl import SH

pyshacl = pytest.importorskip("pyshacl", reason="it is compared with")

NODES: list[URIRef] = [EX[name] for name in "abcdef"]
LITERALS: list[Node] = [Literal(0), Literal(1), Literal(5), Literal(False), Literal(""), Literal("abc")]
QUERY = "SELECT $this ?value WHERE { $this <http://example.org/q> ?value FILTER(isLiteral(?value)) }"
ASSIGNED = "SELECT $this (?v AS ?value) WHERE { $this <http://example.org/q> ?v FILTER(isLiteral(?v)) }"


class Shapes:
    """Node shapes with property shapes, each with a target."""

    def __init__(self, chance: Random) -> None:
        self.graph = Graph()
        self.names = [EX[f"S{number}"] for number in range(chance.randint(2, 4))]
        for shape in self.names:
            self.graph.add((shape, RDF.type, SH.NodeShape))
            for predicate, values in chance.sample(
                [
                    (SH.targetClass, CLASSES), (SH.targetSubjectsOf, LINKS), (SH.targetObjectsOf, LINKS),
                    (SH.targetNode, [*NODES, *LITERALS]),
                ],
                chance.randint(1, 2),
            ):  # fmt: skip
                self.graph.add((shape, predicate, chance.choice(values)))
            for holder, predicate, value in self._constraints(chance, shape):
                self.graph.add((holder, predicate, value))

    def _constraints(self, chance: Random, shape: Node) -> Iterator[tuple[Node, URIRef, Node]]:
        if chance.random() < 0.4:
            yield shape, SH.nodeKind, chance.choice(KINDS)
        if chance.random() < 0.4:
            query = BNode()
            yield shape, SH.sparql, query
            yield query, SH.select, Literal(chance.choice([QUERY, ASSIGNED]))
        for _ in range(chance.randint(1, 3)):
            inner = BNode()
            yield shape, SH.property, inner
            yield inner, SH.path, chance.choice(LINKS)
            for predicate, value in chance.sample(
                [
                    (SH.minCount, Literal(chance.randint(0, 2))),
                    (SH.maxCount, Literal(chance.randint(0, 2))),
                    (SH.datatype, chance.choice([XSD.integer, XSD.string])),
                    (SH.hasValue, chance.choice([*NODES, *LITERALS])),
                    (SH["class"], chance.choice(CLASSES)), (SH.nodeKind, chance.choice(KINDS)),
                    (SH.minLength, Literal(3)), (SH.disjoint, chance.choice(LINKS)),
                ],
                2,
            ):  # fmt: skip
                yield inner, predicate, value
            if chance.random() < 0.3:
                members = BNode()
                Collection(self.graph, members, chance.sample([*NODES, *LITERALS], 3))
                yield inner, SH["in"], members


def theirs(data: Graph, shapes: Graph, selected: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    """Validate with pySHACL."""
    report = pyshacl.validate(data, shacl_graph=shapes, **selected)[1]
    columns = SH.focusNode, SH.resultPath, SH.value, SH.sourceConstraintComponent
    return Counter(
        tuple(report.value(each, column) for column in columns)
        for each in report.subjects(RDF.type, SH.ValidationResult)
    )


def selections(chance: Random, names: list[URIRef]) -> Iterator[dict[str, Any]]:
    """List what is selected: nothing, shapes, nodes, and both."""
    shapes, nodes = chance.sample(names, 1), chance.sample(NODES, chance.randint(1, 3))
    yield {}
    yield {"use_shapes": shapes}
    yield {"focus_nodes": nodes}
    yield {"use_shapes": shapes, "focus_nodes": nodes}


@pytest.mark.parametrize("part", range(4))
def test_results_are_those_of_pyshacl(part: int) -> None:
    """Of everything, of some shapes, at some nodes, and of some shapes at some nodes."""
    logging.disable(logging.CRITICAL)
    try:
        chance, count = drawn_from("pyshacl", part), 0
        for _ in range(rounds(60, share=6)):
            shapes, data = Shapes(chance), Graph()
            for _ in range(chance.randint(0, 30)):
                data.add(triple(chance, LITERALS))
            data.remove((None, RDFS.subClassOf, None))
            for selected in selections(chance, shapes.names):
                with rdflive.validate(data, shapes.graph, **selected) as validation:
                    mine = Counter(tuple(result(row)[:4]) for row in validation.answers())
                assert mine == theirs(data, shapes.graph, selected), selected
                count += mine.total()
        assert count > 0
    finally:
        logging.disable(logging.NOTSET)
