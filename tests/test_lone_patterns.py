"""Queries that are one pattern and nothing else are told in terms; others on the same triples come and go."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from bench.worlds import STORES
from rdflive.engine.view import View
from support.effort import drawn_from, rounds

E = "http://example.org/"
LONE = (
    "SELECT ?s ?o { ?s :p ?o }",
    "SELECT ?o ?s { ?s :p ?o }",
    "SELECT ?o { ?s :p ?o }",
    "SELECT ?s ?o { ?s :q ?o }",
)
OTHERS = (
    "SELECT DISTINCT ?o { ?s :p ?o }",
    "SELECT ?s { ?s :p :a }",
    "SELECT ?s { ?s :p ?s }",
    "SELECT ?s ?o { ?s :p ?o FILTER(isIRI(?o)) }",
    "SELECT ?s ?o ?x { ?s :p ?o ; :q ?x }",
    "SELECT ?s ?p { ?s ?p :a }",
    "SELECT ?o { ?s :p ?o } ORDER BY ?o",
    "ASK { ?s :p ?o }",
)
NODES = [URIRef(E + name) for name in "abcd"]
LITERALS = [Literal(1), Literal(True), Literal("a", lang="en")]


class Sum:
    """What the deltas of one query add up to."""

    def __init__(self, graph: rdflib.Graph, text: str) -> None:
        self.text = text
        self.rows: Counter[Any] = Counter()
        self.subscription = rdflive.subscribe(graph, text, self.take)

    def take(self, delta: rdflive.Delta) -> None:
        """Add a delta, which says something unless it is initial."""
        assert delta or delta.initial
        if delta.initial:
            self.rows.clear()
        self.rows.update(map(tuple, delta.added))
        self.rows.subtract(map(tuple, delta.removed))

    def check(self, plain: rdflib.Graph) -> None:
        """Compare with rdflib, and with what the engine finds when it is asked."""
        found = plain.query(self.text)
        expected = (
            Counter([()] if found.askAnswer else []) if found.type == "ASK" else Counter(map(tuple, found))
        )
        assert +self.rows == Counter(map(tuple, self.subscription.answers())) == expected, self.text


def drawn_triple(draw: Random) -> tuple[Any, Any, Any]:
    return draw.choice(NODES), URIRef(E + draw.choice("ppq")), draw.choice((*NODES, *LITERALS))


@pytest.mark.parametrize("store", STORES)
def test_deltas_of_lone_patterns_add_up_to_the_answer(store: str) -> None:
    """One by one and in batches, while others make the engine number terms, or let it stop."""
    draw = drawn_from("lone patterns", store)
    for _ in range(rounds(60)):
        graph, plain = STORES[store](), rdflib.Graph()
        for each in (graph, plain):
            each.bind("", E)
        followers = [Sum(graph, draw.choice(LONE))]
        state = followers[0].subscription._live()
        for _ in range(40):
            kind = draw.random()
            if kind < 0.1:
                followers.append(Sum(graph, draw.choice((*LONE, *OTHERS))))
            elif kind < 0.2 and len(followers) > 1:
                followers.pop(draw.randrange(1, len(followers))).subscription.close()
            with rdflive.batch(graph) if kind > 0.7 else nullcontext():
                for _ in range(draw.randrange(1, 6) if kind > 0.7 else 1):
                    write = draw.choice(("add", "add", "remove"))
                    triple = drawn_triple(draw)
                    getattr(graph, write)(triple)
                    getattr(plain, write)(triple)
            for follower in followers:
                follower.check(plain)
        for follower in followers:
            follower.subscription.close()
        assert (len(state.dictionary), state.views, state.news, state.touched) == (0, {}, [], {})


def test_a_lone_pattern_numbers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No term gets an id, unless somebody wants only some triples of the predicate."""
    taken: list[Any] = []
    take = View.take
    monkeypatch.setattr(View, "take", lambda *given: taken.append(given) or take(*given))
    graph = rdflib.Graph()
    graph.bind("", E)
    followed = Sum(graph, LONE[0])
    graph.add((NODES[0], URIRef(E + "p"), NODES[1]))
    assert not taken
    with rdflive.subscribe(graph, OTHERS[1]):
        graph.add((NODES[1], URIRef(E + "p"), NODES[1]))
        assert len(taken) == 1
    graph.remove((NODES[0], URIRef(E + "p"), NODES[1]))
    assert len(taken) == 1
    assert +followed.rows == {(NODES[1], NODES[1]): 1}
    assert followed.subscription.stats.matched == 3
