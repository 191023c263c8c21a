"""ORDER BY with LIMIT and OFFSET: what entered and what left, in order, as a function of the graph alone."""

from __future__ import annotations

from typing import Any

import pytest
from rdflib import Graph, Literal, URIRef

import rdflive
from support.effort import drawn_from
from support.quads import Store
from support.queries import NODES, PREDICATES, Quad, make_quad

A, B, C = NODES
P, Q = PREDICATES
KINDS = ("graph", "oxigraph graph", "dataset", "live store")
MODIFIERS = {
    "first": "ORDER BY ?y LIMIT 1",
    "last two": "ORDER BY DESC(?y) LIMIT 2",
    "page": "ORDER BY ?y LIMIT 2 OFFSET 1",
    "rest": "ORDER BY DESC(?x) OFFSET 2",
    "none": "ORDER BY ?y LIMIT 0",
    "no order": "LIMIT 2",
    "all": "ORDER BY ?y ?x",
    "expression": "ORDER BY DESC(isLiteral(?y)) LIMIT 3",
    "hidden": "ORDER BY ?z LIMIT 2",
}


def text_of(name: str, *, shown: str = "?x ?y") -> str:
    return f"SELECT {shown} {{ ?x {P.n3()} ?y OPTIONAL {{ ?x {Q.n3()} ?z }} }} {MODIFIERS[name]}"


def rows(answers: list[Any]) -> list[tuple[str, ...]]:
    return [tuple(str(term) for term in solution) for solution in answers]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODIFIERS)
def test_slice_is_a_function_of_the_graph(name: str, kind: str) -> None:
    """Whatever the order of the writes, the slice is the one that a new subscription finds."""
    random = drawn_from(name)
    quads: list[Quad] = [make_quad(random, graphs=False) for _ in range(12)]
    while len({quad for quad in quads if quad[1] == P}) < 4:
        quads.append(make_quad(random, graphs=False))
    found = []
    for number in range(3):
        store, shuffled = Store(kind), list(dict.fromkeys(quads))
        random.shuffle(shuffled)
        with rdflive.subscribe(store.graph, text_of(name)) as subscription:
            for quad in shuffled:
                store.write((1, quad))
                for sign in (1, -1):
                    store.write((sign, (C, Q, Literal(10 + number), None)))
            with rdflive.subscribe(store.graph, text_of(name)) as fresh:
                assert rows(subscription.answers()) == rows(fresh.answers())
            found.append(rows(subscription.answers()))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) > 0 or name == "none"


@pytest.mark.parametrize("kind", KINDS)
def test_delta_is_what_entered_and_left(kind: str) -> None:
    """A row that enters a full slice pushes the last one out; when it goes, that one is back."""
    store, deltas = Store(kind), []
    for number in (20, 30, 40):
        store.write((1, (A, P, Literal(number), None)))
    text = f"SELECT ?y {{ ?x {P.n3()} ?y }} ORDER BY ?y LIMIT 2"

    def numbers(solutions: Any) -> list[int]:
        return [int(solution["y"].value) for solution in solutions]

    with rdflive.subscribe(store.graph, text, deltas.append) as subscription:
        assert numbers(subscription.answers()) == [20, 30]
        store.write((1, (A, P, Literal(10), None)))
        assert (numbers(deltas[-1].added), numbers(deltas[-1].removed)) == ([10], [30])
        store.write((1, (A, P, Literal(50), None)))
        store.write((-1, (A, P, Literal(40), None)))
        assert len(deltas) == 2
        store.commit([(-1, (A, P, Literal(10), None)), (-1, (A, P, Literal(20), None))])
        assert (numbers(deltas[-1].added), numbers(deltas[-1].removed)) == ([30, 50], [10, 20])
        assert numbers(subscription.answers()) == [30, 50]


def test_answers_follow_an_order_that_is_not_shown() -> None:
    """Equal solutions stand where each of them belongs, not together."""
    graph = Graph()
    for name, rank in (("a", 1), ("b", 2), ("a", 3)):
        graph.add((URIRef(f"urn:{name}"), URIRef("urn:p"), Literal(rank)))
    for text in (
        "SELECT ?z { ?z <urn:p> ?y } ORDER BY ?y",
        "SELECT ?z { ?z <urn:p> ?y } ORDER BY ?y LIMIT 3",
    ):
        with rdflive.subscribe(graph, text) as subscription:
            assert [str(s.z) for s in subscription.answers()] == ["urn:a", "urn:b", "urn:a"]
