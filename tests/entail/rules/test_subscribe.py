"""Subscriptions under rules, on both kinds of stores."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from rdflib import OWL, RDF, RDFS, Graph, Literal, URIRef

import rdflive
from entail.rules.naive import entailed
from rdflive.entail.rules import load_program
from support.effort import checked, drawn_from

EX = "urn:example:"
STORES = ("Memory", "Oxigraph")
QUERY = """
    PREFIX : <urn:example:> SELECT ?x ?class ?y { ?x a ?class ; :partOf ?y }
"""
SCHEMA = [
    (URIRef(EX + "partOf"), RDF.type, OWL.TransitiveProperty),
    (URIRef(EX + "near"), RDF.type, OWL.SymmetricProperty),
    (URIRef(EX + "in"), RDFS.subPropertyOf, URIRef(EX + "partOf")),
    (URIRef(EX + "holds"), OWL.inverseOf, URIRef(EX + "partOf")),
    (URIRef(EX + "partOf"), RDFS.domain, URIRef(EX + "Part")),
    (URIRef(EX + "Part"), RDFS.subClassOf, URIRef(EX + "Thing")),
    (URIRef(EX + "holds"), RDFS.range, URIRef(EX + "Part")),
]


def make_graph(store: str) -> Graph:
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib")
    return Graph(store=store)


def make_triple(random: Random) -> Any:
    if random.random() < 0.25:
        return random.choice(SCHEMA)
    nodes = [URIRef(EX + letter) for letter in "abcde"]
    if random.random() < 0.15:
        return random.choice(nodes), OWL.sameAs, random.choice(nodes)
    predicate = URIRef(EX + random.choice(["partOf", "near", "in", "holds"]))
    return random.choice(nodes), predicate, random.choice([*nodes, Literal("x")])


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("seed", range(3))
def test_subscription_equals_the_query_over_the_fixpoint(store: str, seed: int) -> None:
    """Deltas add up to the query's answer over all that the rules entail, batch after batch."""
    random, program = drawn_from(store, seed), load_program("rdfs-plus")
    graph = make_graph(store)
    for _ in range(10):
        graph.add(make_triple(random))
    told: Counter[Any] = Counter()

    def take(delta: Any) -> None:
        told.update(delta.added)
        told.subtract(delta.removed)

    with rdflive.subscribe(graph, QUERY, take, rules="rdfs-plus"):
        for _, compared in checked(range(40)):
            with rdflive.batch(graph):
                for _ in range(random.choice([1, 1, 4])):
                    triple = make_triple(random)
                    (graph.add if random.random() < 0.6 else graph.remove)(triple)
            if not compared:
                continue
            full = Graph()
            for triple in entailed(program, graph):
                full.add(triple)
            expected = Counter(tuple(row) for row in full.query(QUERY))
            assert +told == expected
            assert not -told
