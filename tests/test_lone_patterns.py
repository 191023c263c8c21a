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
from support.effort import checked, drawn_from, rounds
from support.worlds import Face, Follower

E = "http://example.org/"
PREFIX = f"PREFIX : <{E}> "
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


def check(text: str, follower: Follower, plain: rdflib.Graph) -> None:
    """Compare what was told with rdflib, and with what the engine finds when it is asked."""
    told = follower.state()
    assert told == Face(plain).evaluate(text), text
    if not isinstance(told, bool):
        assert told == Counter(frozenset(row.asdict().items()) for row in follower.subscription.answers())


def drawn_triple(draw: Random) -> tuple[Any, Any, Any]:
    return draw.choice(NODES), URIRef(E + draw.choice("ppq")), draw.choice((*NODES, *LITERALS))


@pytest.mark.parametrize("store", STORES)
def test_deltas_of_lone_patterns_add_up_to_the_answer(store: str) -> None:
    """One by one and in batches, while others make the engine number terms, or let it stop."""
    draw = drawn_from("lone patterns", store)
    for _ in range(rounds(60)):
        graph, plain = STORES[store](), rdflib.Graph()
        face, texts = Face(graph), [PREFIX + draw.choice(LONE)]
        followers = [Follower(face, texts[0])]
        state = followers[0].subscription._live()
        for _, is_compared in checked(range(40)):
            kind = draw.random()
            if kind < 0.1:
                texts.append(PREFIX + draw.choice((*LONE, *OTHERS)))
                followers.append(Follower(face, texts[-1]))
            elif kind < 0.2 and len(followers) > 1:
                texts.pop(closed := draw.randrange(1, len(followers)))
                followers.pop(closed).subscription.close()
            with rdflive.batch(graph) if kind > 0.7 else nullcontext():
                for _ in range(draw.randrange(1, 6) if kind > 0.7 else 1):
                    write = draw.choice(("add", "add", "remove"))
                    triple = drawn_triple(draw)
                    getattr(graph, write)(triple)
                    getattr(plain, write)(triple)
            for text, follower in zip(texts, followers, strict=True) if is_compared else ():
                check(text, follower, plain)
        for follower in followers:
            follower.subscription.close()
        assert (len(state.dictionary), state.views, state.news, state.touched) == (0, {}, [], {})


def test_a_lone_pattern_numbers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No term gets an id, unless somebody wants only some triples of the predicate."""
    taken: list[Any] = []
    take = View.take
    monkeypatch.setattr(View, "take", lambda *given: taken.append(given) or take(*given))
    graph = rdflib.Graph()
    followed = Follower(Face(graph), PREFIX + LONE[0])
    graph.add((NODES[0], URIRef(E + "p"), NODES[1]))
    assert not taken
    with rdflive.subscribe(graph, PREFIX + OTHERS[1]):
        graph.add((NODES[1], URIRef(E + "p"), NODES[1]))
        assert len(taken) == 1
    graph.remove((NODES[0], URIRef(E + "p"), NODES[1]))
    assert len(taken) == 1
    assert followed.state() == {frozenset({("s", NODES[1]), ("o", NODES[1])}): 1}
    assert followed.subscription.stats.matched == 3
