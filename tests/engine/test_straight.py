"""The function of a plan in a line gives what its operators give, and keeps in them what they keep."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from bench.worlds import STORES
from rdflive.engine.commits import Commits
from rdflive.engine.query import QueryState
from support.effort import checked, drawn_from, rounds

E = "http://example.org/"
PREFIX = f"PREFIX : <{E}> "
GROUPS = "SELECT ?x (COUNT(*) AS ?n) { ?s :p ?o ; :q ?x } GROUP BY ?x"
QUERIES = (
    "SELECT ?s ?x { ?s :p ?o ; :q ?x }",
    "SELECT ?x { ?s :p ?o ; :q ?x FILTER(?o != ?x) }",
    "SELECT ?x ?s { ?s :p ?o ; :q ?x FILTER(?o > 1) }",
    "SELECT ?s (?x AS ?y) ?never { ?s :p ?o ; :q ?x BIND(?o + 1 AS ?z) FILTER(?z > 2) }",
    "SELECT DISTINCT ?x { ?s :p ?o ; :q ?x }",
    "SELECT DISTINCT ?z { ?s :p ?o BIND(?o + 1 AS ?z) }",
    "SELECT DISTINCT ?z { ?s :p ?o ; :q ?x BIND(?o + 1 AS ?z) FILTER(BOUND(?z)) }",
    "SELECT ?s { ?s :p ?o ; :q ?x } ORDER BY ?o",
    "ASK { ?s :p ?o ; :q ?x }",
    GROUPS,
    "SELECT ?n { " + GROUPS + " }",
    "SELECT DISTINCT ?n { " + GROUPS + " }",
    "SELECT ?n (COUNT(?x) AS ?groups) { { " + GROUPS + " } } GROUP BY ?n",
    "SELECT ?x { ?s :p ?o ; :q ?x } GROUP BY ?x HAVING (COUNT(*) > 1)",
    "SELECT (COUNT(*) AS ?n) { ?s :p ?o ; :q ?x }",
    "SELECT (COUNT(*) AS ?n) { ?s :p ?o FILTER(?o IN (:a, :b)) }",
    "SELECT DISTINCT ?s { ?s :p ?o ; :q ?x FILTER(?o IN (:a, :b)) }",
    "SELECT (SUM(?o) AS ?n) (COUNT(DISTINCT ?o) AS ?m) { ?s :p ?o }",
    "SELECT (COUNT(DISTINCT *) AS ?n) { ?s :p ?o ; :q ?x }",
    "SELECT ?s (MIN(?o) AS ?n) (MAX(?o) AS ?m) (AVG(?o) AS ?a) { ?s :p ?o } GROUP BY ?s",
    "SELECT ?s (GROUP_CONCAT(?o) AS ?n) (SAMPLE(?x) AS ?m) { ?s :p ?o ; :q ?x FILTER(?o > 1) } GROUP BY ?s",
)
NODES = [URIRef(E + name) for name in "abc"]
OBJECTS = [*NODES, *map(Literal, range(4))]


class Told:
    """A graph and what a query on it is told."""

    def __init__(self, store: str, query: str) -> None:
        self.graph = STORES[store]()
        self.deltas: list[dict[Any, int]] = []
        self.subscription = rdflive.subscribe(
            self.graph, PREFIX + query, lambda delta: self.deltas.append(delta.weights()), initial=False
        )

    def write(self, changes: list[tuple[str, Any]]) -> None:
        with rdflive.batch(self.graph):
            for method, triple in changes:
                getattr(self.graph, method)(triple)

    def answers(self) -> Counter[Any]:
        return Counter(tuple(row) for row in self.subscription.answers())


def drawn_triple(draw: Random) -> tuple[Any, Any, Any]:
    return draw.choice(NODES), URIRef(E + draw.choice("pq")), draw.choice(OBJECTS)


@pytest.mark.sampled(by="store")
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("query", QUERIES)
def test_single_solutions_are_told_as_by_operators(
    query: str, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits of one and of many solutions take turns, so that the one goes on with what the other kept."""
    draw, straight = drawn_from("straight", query, store), 0
    drain_one = QueryState._drain_one

    def drain(*given: Any) -> Any:
        nonlocal straight
        found = drain_one(*given)
        straight += found is not None
        return found

    for _ in range(rounds(24)):
        one, other = Told(store, query), Told(store, query)
        assert one.subscription._use.query._line
        held: dict[Any, None] = {}
        for _, is_compared in checked(range(40)):
            changes = []
            for _ in range(draw.choice((1, 1, 1, 3))):
                triple = draw.choice(list(held)) if held and draw.random() < 0.4 else drawn_triple(draw)
                changes.append(("remove" if triple in held else "add", triple))
                held = {t: None for t in held if t != triple} if triple in held else held | {triple: None}
            monkeypatch.setattr(QueryState, "_drain_one", drain)
            one.write(changes)
            with monkeypatch.context() as patch:
                patch.setattr(QueryState, "_drain_one", lambda *_: None)
                patch.setattr(Commits, "_run_one", lambda *_: False)
                other.write(changes)
            assert one.deltas == other.deltas, query
            if is_compared:
                with rdflive.subscribe(one.graph, PREFIX + query, initial=False) as fresh:
                    answers = Counter(tuple(row) for row in fresh.answers())
                assert one.answers() == answers, query
        for triple in held:
            one.write([("remove", triple)])
        with rdflive.subscribe(rdflib.Graph(), PREFIX + query, initial=False) as fresh:
            assert one.answers() == Counter(tuple(row) for row in fresh.answers())
            assert one.subscription.stats.entries == fresh.stats.entries
        state = one.subscription._live()
        one.subscription.close()
        assert (len(state.dictionary), state.views) == (0, {})
    assert straight


def test_what_the_function_raises_starts_the_query_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The whole answer is told, as when an operator raises, and the new operators go on from there."""
    told = Told("Memory", GROUPS)
    told.write([("add", (NODES[0], URIRef(E + "q"), NODES[1]))])
    told.write([("add", (NODES[0], URIRef(E + "p"), NODES[1]))])
    monkeypatch.setattr("rdflive.engine.operators.group.GroupOperator.one", lambda *_: 1 / 0)
    told.subscription._use.query._straight = None  # it has the method itself
    told.write([("add", (NODES[0], URIRef(E + "p"), NODES[2]))])
    monkeypatch.undo()
    told.write([("add", (NODES[1], URIRef(E + "q"), NODES[1]))])
    told.write([("add", (NODES[1], URIRef(E + "p"), NODES[1]))])
    counts = [{row[1].toPython(): weight for row, weight in delta.items()} for delta in told.deltas]
    assert counts == [{1: 1}, {2: 1}, {3: 1, 2: -1}]
