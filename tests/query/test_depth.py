"""Long and deep queries: those that are maintained, and those that are refused as what they are."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from rdflib import Graph, Literal, URIRef

import rdflive
from rdflive.errors import UnsupportedQueryError
from rdflive.query import rdflib_algebra
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
    "OPTIONAL in OPTIONAL": optionals(50, nested=True),
    "OPTIONAL after OPTIONAL": optionals(600, nested=False),
    "brackets": f"ASK {{ {'{' * 80} ?s ?p ?o {'}' * 80} }}",
    "triples": f"ASK {{ {' . '.join(f'?s <urn:{n}> ?o{n}' for n in range(1000))} }}",
    "parentheses": f"ASK {{ ?s ?p ?o FILTER({'(' * 300}?o{')' * 300}) }}",
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
@pytest.mark.parametrize("name", ["OPTIONAL in OPTIONAL", "brackets"])
def test_a_deep_query_is_maintained_where_there_is_room(name: str) -> None:
    """What the message advises helps."""
    graph = Graph()
    with rdflive.subscribe(graph, TOO_DEEP[name]) as subscription:
        graph.add((URIRef("urn:s"), URIRef("urn:1"), Literal(1)))
        assert len(subscription.answers()) == 1


CLAUSES = ["OPTIONAL { ?s ?p ?o }", "BIND(1 AS ?%d)", "MINUS { ?s ?p ?o }", "VALUES ?x { 1 }"]


@pytest.mark.parametrize("clause", CLAUSES)
def test_a_group_that_is_far_too_long_is_not_parsed(clause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing would take long, and then fail."""
    monkeypatch.setattr(rdflib_algebra, "parse_query", lambda _: pytest.fail("it was parsed"))
    clauses = " ".join(clause.replace("%d", f"v{n}") for n in range(sys.getrecursionlimit()))
    with pytest.raises(UnsupportedQueryError, match="too long"):
        rdflive.explain(f"SELECT * {{ ?s ?p ?o {clauses} }}")
