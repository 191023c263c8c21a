"""What queries and data may be without harm: to the write, to other subscriptions, to memory."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import pytest
from rdflib import Dataset, Graph, Literal, URIRef
from rdflib.plugins.sparql.operators import register_custom_function, unregister_custom_function

import rdflive

P = URIRef("urn:p")


def node(name: str) -> URIRef:
    return URIRef(f"urn:{name}")


@pytest.fixture
def counter() -> Any:
    """A custom function that never gives the same value twice, which SPARQL does not allow."""
    count = iter(range(10**6))

    def unsteady(term: Any) -> Literal:
        return Literal(next(count))

    register_custom_function(node("unsteady"), unsteady)
    yield
    unregister_custom_function(node("unsteady"), unsteady)


def test_a_failing_query_is_started_anew_and_harms_nobody(
    counter: None, caplog: pytest.LogCaptureFixture
) -> None:
    """The write stands, a bystander gets its delta, and the failing query gets its whole answer."""
    graph = Graph()
    failing: list[rdflive.Delta] = []
    seen: list[rdflive.Delta] = []
    text = "SELECT ?s { ?s <urn:p> ?o } ORDER BY <urn:unsteady>(?o) LIMIT 1"
    subscription = rdflive.subscribe(graph, text, failing.append)
    # the bystander joins, so that it reads the terms of removed rows by their numbers
    rdflive.subscribe(graph, "SELECT ?s ?o { ?s <urn:p> ?o ; <urn:q> ?r }", seen.append)
    graph.add((node("a"), node("q"), Literal(0)))
    graph.add((node("a"), P, Literal(1)))
    with caplog.at_level(logging.ERROR, "rdflive"):
        graph.remove((node("a"), P, Literal(1)))
    assert "restart" in caplog.text
    gone = [list(map(tuple, delta.removed)) for delta in seen]
    assert gone == [[], [], [(node("a"), Literal(1))]]
    assert (failing[-1].initial, len(failing[-1].added), subscription.answers()) == (True, 0, [])


@pytest.fixture
def lack() -> Any:
    """A custom function that lacks memory for 2, as often as there are members in what is given."""
    left: list[None] = []

    def needy(term: Any) -> Literal:
        if left and term == Literal(2):
            left.pop()
            raise MemoryError
        return Literal("x")

    register_custom_function(node("needy"), needy)
    yield left
    unregister_custom_function(node("needy"), needy)


NEEDY = [
    "SELECT ?s ?x { ?s <urn:p> ?o BIND(<urn:needy>(?o) AS ?x) }",
    "SELECT ?s { ?s <urn:p> ?o FILTER(<urn:needy>(?o) IN ('y', 'x')) }",
    "SELECT ?s { ?s <urn:p> ?o FILTER(COALESCE(<urn:needy>(?o), 'z') = 'x') }",
    "SELECT ?s { GRAPH ?g { ?s <urn:p> ?o FILTER(<urn:needy>(?o) = 'x') } }",
    "SELECT ?s { ?s <urn:p> ?o . ?s <urn:q> ?r FILTER(<urn:needy>(?o) = ?r) }",
    "SELECT ?s { GRAPH ?g { ?s <urn:p> ?o . ?s <urn:q> ?r FILTER(<urn:needy>(?o) = ?r) } }",
    "SELECT ?s { ?s <urn:p> ?o OPTIONAL { ?s <urn:q> ?r FILTER(<urn:needy>(?o) = ?r) } }",
    "SELECT (COUNT(<urn:needy>(?o)) AS ?n) { ?s <urn:p> ?o }",
    "SELECT ?s { ?s <urn:p> ?o } ORDER BY <urn:needy>(?o) LIMIT 9",
]


@pytest.mark.parametrize("text", NEEDY)
@pytest.mark.parametrize("times", [1, 1000])
def test_lack_of_memory_harms_no_write_and_nobody_else(
    lack: list[None], caplog: pytest.LogCaptureFixture, text: str, times: int
) -> None:
    """The write stands, a bystander is right, and the failing query is started again when there is memory."""
    dataset = Dataset()
    graph = dataset.graph(node("g"))
    for name in "abc":
        graph.add((node(name), node("q"), Literal("x")))
    graph.add((node("a"), P, Literal(1)))
    seen: Counter[Any] = Counter()

    def take(delta: rdflive.Delta) -> None:
        if delta.initial:
            seen.clear()
        seen.update({solution.s: weight for solution, weight in delta.weights().items()})

    def right() -> bool:
        return {s for s, weight in seen.items() if weight} == {*graph.subjects(P)}

    target = dataset if "GRAPH" in text else graph
    every = "{ ?s <urn:p> ?o }"
    rdflive.subscribe(target, f"SELECT ?s {every if target is graph else f'{{ GRAPH ?g {every} }}'}", take)
    failing = rdflive.subscribe(target, text)
    lack += [None] * times
    with caplog.at_level(logging.ERROR, "rdflive"):
        graph.add((node("b"), P, Literal(2)))
        if times > 1:  # there is still none when everything begins anew
            graph.add((node("c"), P, Literal(9)))
            assert right()
            graph.remove((node("c"), P, Literal(9)))
    lack.clear()
    assert "restart" in caplog.text
    assert ("failed for good" in caplog.text) == (times > 1)
    assert (right(), len(graph)) == (True, 5)
    if times > 1:
        assert "COUNT" in text or failing.answers() == []
        failing.resync()
    for name, number in (("c", 3), ("b", 2), ("a", 2)):
        with rdflive.subscribe(target, text) as fresh:
            assert Counter(failing.answers()) == Counter(fresh.answers())
        triple = node(name), P, Literal(number)
        (graph.remove if triple in graph else graph.add)(triple)
        assert right()


@pytest.mark.parametrize("length", [20, 21, 22, 45])
def test_a_long_chain_is_maintained(length: int) -> None:
    """A pattern longer than one walk may be is cut into pieces, and answers as it should."""
    graph = Graph()
    body = " . ".join(f"?v{i} <urn:p> ?v{i + 1}" for i in range(length))
    text = f"SELECT ?v0 {{ {body} FILTER(?v0 != ?v{length}) }}"
    with rdflive.subscribe(graph, text) as subscription:
        for i in range(length + 3):
            graph.add((node(f"n{i}"), P, node(f"n{i + 1}")))
        assert len(subscription.answers()) == 4
        graph.remove((node("n2"), P, node("n3")))
        assert len(subscription.answers()) == 1
        graph.remove((None, None, None))
        assert subscription.answers() == []


BOUNDED = [
    "?x <urn:b> 5 . ?x <urn:p>+ ?y",
    "VALUES ?x { <urn:n5> } ?x <urn:p>* ?y",
    "?x <urn:p>+ ?y FILTER(?y IN (<urn:n5>))",
    "?x <urn:b> 5 OPTIONAL { ?x <urn:p>+ ?y }",
    "?x <urn:b> 5 { ?x <urn:p>+ ?y } UNION { ?y <urn:p>+ ?x }",
    "?x <urn:b> 5 MINUS { ?x <urn:p>+ ?y . ?y <urn:b> 6 }",
    "?x <urn:b> 5 FILTER EXISTS { ?x <urn:p>+ ?y . ?y <urn:c> ?z }",
    "?x <urn:b> 5 OPTIONAL { { ?x <urn:p>+ ?y } UNION { ?x <urn:p>* ?y } }",
]


@pytest.mark.parametrize("body", BOUNDED)
def test_a_path_is_followed_from_a_bounded_end_only(body: str) -> None:
    """What is kept grows with the chain, not with its square, whatever bounds an end of the path."""
    entries = []
    for length in (100, 200):
        graph = Graph()
        for i in range(length):
            graph.add((node(f"n{i}"), P, node(f"n{i + 1}")))
        graph.add((node("n5"), node("b"), Literal(5)))
        graph.add((node("n50"), node("c"), Literal(1)))
        text = f"SELECT * {{ {body} }}"
        with rdflive.subscribe(graph, text) as subscription:
            entries.append(subscription.stats.entries)
            graph.remove((node("n70"), P, node("n71")))
            graph.add((node("n70"), P, node("n71")))
            with rdflive.subscribe(graph, text) as fresh:
                assert sorted(map(str, subscription.answers())) == sorted(map(str, fresh.answers()))
    assert entries[1] < 3 * entries[0]
