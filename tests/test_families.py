"""Queries that differ in constants share one plan: each member against SPARQL by the book, as others come and
go.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Any

import pytest
import rdflib
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rdflib import Literal, URIRef

import rdflive
from rdflive.errors import UnsupportedQueryError
from support.effort import examples
from support.evaluate import answer
from support.quads import DATASETS, Store, Sum
from support.queries import LITERALS, NODES, make_commits, make_quad, make_query
from support.worlds import PRIMARY_DATASETS


def varied(part: Any, terms: dict[Any, Any]) -> Any:
    """Put other constants into a query."""
    if is_dataclass(part) and not isinstance(part, type):
        changed = {f.name: varied(getattr(part, f.name), terms) for f in fields(part)}
        return replace(part, **changed)
    if isinstance(part, tuple):
        return tuple(varied(each, terms) for each in part)
    return terms.get(part, part) if isinstance(part, URIRef | Literal) else part


def drawn_terms(random: Random) -> dict[Any, Any]:
    """Other nodes and literals in the place of those that queries have; two may become one."""
    return {term: random.choice(kind) for kind in (NODES, LITERALS) for term in kind}


@pytest.mark.parametrize("kind", ["graph", "oxigraph graph", *DATASETS])
def test_members_are_told_what_they_ask_for(kind: str) -> None:
    """Members come and go between commits; each has its answer, and the last one leaves nothing."""
    shared: Counter[bool] = Counter()

    @settings(
        max_examples=examples(150, sample=kind not in PRIMARY_DATASETS),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    )
    @given(st.randoms(use_true_random=False))
    def run(random: Random) -> None:
        graphs = kind in DATASETS
        query = make_query(random, graphs=graphs, depth=random.choice((1, 2, 2, 3)))
        store = Store(kind)
        for _ in range(random.choice((4, 8, 14))):
            store.commit([(1, make_quad(random, graphs=graphs))])
        members: list[tuple[Any, Sum]] = []

        def check() -> None:
            for asked, follower in members:
                follower.check(answer(asked, store.quads, union=store.union))

        for commit in make_commits(random, graphs=graphs):
            for _ in range(2):
                asked = varied(query, drawn_terms(random))
                try:
                    members.append((asked, Sum(store, str(asked))))
                except UnsupportedQueryError:
                    return
            check()
            store.commit(commit)
            check()
            if len(members) > 3:
                members.pop(random.randrange(len(members)))[1].subscription.close()
        state = members[0][1].subscription._live()
        shared[len(state.queries) < len(members)] += 1
        for quad in sorted(store.quads, key=str):
            store.write((-1, quad))
        check()
        for _, follower in members:
            follower.subscription.close()
        assert (len(state.dictionary), state.views, state.queries, state.owners) == (0, {}, {}, {})

    run()
    assert shared[True]


E = "http://example.org/"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s { ?s :p %s }",
        "SELECT ?s { ?x a %s . ?s :r ?x }",
        "SELECT ?s { ?s a :T ; :line %s ; :minutes ?m FILTER(?m > 5) }",
        "SELECT ?s ?y { ?s :p %s OPTIONAL { ?s :q ?y } }",
        "SELECT (COUNT(*) AS ?n) { ?s :p %s }",
        "SELECT ?s { ?s :near+ %s }",
        "ASK { ?s :p %s }",
        "SELECT ?s { ?s :p %s } ORDER BY ?s LIMIT 2",
    ],
)
def test_a_family_is_one_query(text: str) -> None:
    """However many members there are, one plan is maintained."""
    graph = rdflib.Graph()
    graph.bind("", E)
    members = [rdflive.subscribe(graph, text % f":c{i}", initial=False) for i in range(20)]
    state = members[0]._live()
    (query,) = state.queries
    assert len(query.uses) == 20
    for member in members:
        member.close()
    assert (len(state.dictionary), state.queries) == (0, {})


@pytest.mark.parametrize("operator", ["<", "<=", "=", ">=", ">"])
def test_limits_are_kept_in_order(operator: str) -> None:
    """Each member is told of the values that its limit lets through, whatever their types are."""
    values = [
        Literal(1), Literal(2), Literal(2.0), Literal("2.5", datatype=rdflib.XSD.decimal), Literal("a"),
        Literal("b", lang="en"), Literal("2026-01-01", datatype=rdflib.XSD.date), Literal(True),
        Literal("2026-01-01T00:00:00Z", datatype=rdflib.XSD.dateTime), URIRef(E + "x"),
        Literal("2026-01-01T05:00:00", datatype=rdflib.XSD.dateTime), Literal("?", datatype=E),
        Literal("P1D", datatype=rdflib.XSD.duration), Literal("nan", datatype=rdflib.XSD.double),
    ]  # fmt: skip
    graph = rdflib.Graph()
    told: dict[int, Counter[Any]] = {i: Counter() for i in range(len(values))}
    alone: dict[int, Counter[Any]] = {i: Counter() for i in range(len(values))}

    def take(into: Counter[Any]) -> Any:
        def callback(delta: rdflive.Delta) -> None:
            into.update({row.v: 1 for row in delta.added})
            into.subtract({row.v: 1 for row in delta.removed})

        return callback

    opened = []
    for i, limit in enumerate(values):
        text = f"SELECT ?v {{ ?s <{E}p> ?v FILTER(?v {operator} {limit.n3()}) }}"
        opened.append(rdflive.subscribe(graph, text, take(told[i])))
        opened.append(rdflive.subscribe(graph, text, take(alone[i]), budget=rdflive.Budget()))
    assert len(opened[0]._live().queries) == 1 + len(values)
    for sign in (1, -1):
        for i, value in enumerate(values):
            (graph.add if sign > 0 else graph.remove)((URIRef(f"{E}s{i}"), URIRef(E + "p"), value))
            assert told == alone
        assert any(map(any, (counter.values() for counter in told.values()))) is (sign > 0)
    for subscription in opened:
        subscription.close()
