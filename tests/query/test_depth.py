"""Long and deep queries: those that are maintained, and those that are refused as what they are."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from rdflib import Graph, Literal, URIRef

import rdflive
from rdflive.errors import UnsupportedQueryError
from support.effort import HUNT


def optionals(count: int, *, nested: bool) -> str:
    """Write a group with so many OPTIONAL, one after the other or one in the other."""
    clauses = (f" OPTIONAL {{ ?s <urn:{n}> ?o{n}{'' if nested else ' }'}" for n in range(count))
    return f"ASK {{ ?s ?p ?o{''.join(clauses)}{' }' * count if nested else ''} }}"


def union(count: int) -> str:
    """Write a UNION of so many branches, of five kinds."""
    kinds = (
        "{{ ?s <urn:0> ?o BIND({0} AS ?n) }}",
        "{{ ?s <urn:1> ?o FILTER(?o > {0}) }}",
        "{{ ?s <urn:2> ?m OPTIONAL {{ ?s <urn:{0}> ?o }} }}",
        "{{ {{ ?s <urn:3> ?o }} UNION {{ ?o <urn:{0}> ?s }} }}",
        "{{ SELECT DISTINCT ?s {{ ?s <urn:{0}> ?o }} }}",
    )
    return " UNION ".join(kinds[n % len(kinds)].format(n % 7) for n in range(count))


WHERES = ["{ %s }", "{ ?s ?p ?q . %s }", "{ ?s ?p ?q FILTER(?q > 0) FILTER EXISTS { %s } }"]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("where", WHERES)
@pytest.mark.parametrize("count", [64, 65, 130])
def test_a_long_union_is_the_union_of_its_branches(count: int, where: str) -> None:
    """However rdflive groups them, the branches give what Oxigraph says, before and after a change."""
    ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    live = rdflive.LiveStore()
    text = f"SELECT * {where % union(count)}"
    quads = [
        ox.Quad(ox.NamedNode(f"urn:s{n % 3}"), ox.NamedNode(f"urn:{n}"), ox.Literal(n), ox.DefaultGraph())
        for n in range(7)
    ]
    with rdflive.subscribe(live, text) as subscription:
        for change in (live.add, live.remove):
            for quad in quads[: 7 if change == live.add else 3]:
                change(quad)
            result = live.query(text)
            names = [variable.value for variable in result.variables]
            found = Counter(tuple(map(solution.get, names)) for solution in subscription.answers())
            assert found == Counter(tuple(solution[name] for name in names) for solution in result)


def test_a_union_may_have_thousands_of_branches() -> None:
    """More than Python allows calls within calls."""
    count = 5 * sys.getrecursionlimit() if HUNT else sys.getrecursionlimit() + 1
    branches = " UNION ".join(f"{{ ?s <urn:{n}> ?o }}" for n in range(count))
    graph = Graph()
    with rdflive.subscribe(graph, f"SELECT * {{ {branches} }}") as subscription:
        graph.add((URIRef("urn:s"), URIRef(f"urn:{count - 1}"), Literal(1)))
        assert len(subscription.answers()) == 1


TOO_DEEP = {
    "OPTIONAL in OPTIONAL": optionals(500, nested=True),
    "OPTIONAL after OPTIONAL": optionals(600, nested=False),
    "braces": f"ASK {{ {'{' * 500} ?s ?p ?o {'}' * 500} }}",
    "negations": f"ASK {{ ?s ?p ?o FILTER({'!' * 500}?o) }}",
}


@pytest.mark.parametrize("text", TOO_DEEP.values(), ids=TOO_DEEP.keys())
def test_a_query_that_is_too_deep_is_refused_as_such(text: str) -> None:
    """It is SPARQL, so it is no syntax error, and the message says what to do."""
    with pytest.raises(UnsupportedQueryError, match=r"nested too deeply.*setrecursionlimit") as refusal:
        rdflive.subscribe(Graph(), text)
    assert refusal.value.construct == "nesting"


@pytest.fixture
def room() -> Iterator[None]:
    """Allow many more calls within calls."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * limit)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("name", ["OPTIONAL in OPTIONAL", "braces"])
def test_a_deep_query_is_maintained_where_there_is_room(name: str) -> None:
    """What the message advises helps."""
    graph = Graph()
    with rdflive.subscribe(graph, TOO_DEEP[name]) as subscription:
        graph.add((URIRef("urn:s"), URIRef("urn:1"), Literal(1)))
        assert len(subscription.answers()) == 1


def test_parentheses_and_triples_are_not_deep() -> None:
    """Thousands of either are read and maintained."""
    triples = " . ".join(f"?s <urn:{n % 7}> ?o{n}" for n in range(200))
    graph = Graph()
    with rdflive.subscribe(
        graph, f"ASK {{ {triples} FILTER({'(' * 3000}true{')' * 3000}) }}"
    ) as subscription:
        for n in range(7):
            graph.add((URIRef("urn:s"), URIRef(f"urn:{n}"), Literal(n)))
        assert subscription.answers()
