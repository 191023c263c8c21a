"""Queries with initBindings, and those that are hardly queries: constants, empty groups, many at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from rdflib import Literal

from support.effort import checked, drawn_from
from support.quads import Store, Sum, rows_of
from support.queries import NODES, PREDICATES, Quad, make_quad

A, B, C = NODES
P, Q = (predicate.n3() for predicate in PREDICATES)

BOUND = {
    "pattern": f"SELECT ?x ?y {{ ?x {P} ?y }}",
    "star": f"SELECT * {{ ?x {P} ?y }}",
    "not projected": f"SELECT ?y {{ ?x {P} ?y }}",
    "filter": f"SELECT ?y {{ ?z {P} ?y FILTER(?z = ?x) }}",
    "optional": f"SELECT ?x ?y ?z {{ ?x {P} ?y OPTIONAL {{ ?y {Q} ?z FILTER(?z != ?x) }} }}",
    "union": f"SELECT ?x ?y {{ {{ ?x {P} ?y }} UNION {{ ?y {Q} ?x }} }}",
    "minus": f"SELECT ?x ?y {{ ?x {P} ?y MINUS {{ ?y {Q} ?z }} }}",
    "exists": f"SELECT ?y {{ ?z {P} ?y FILTER EXISTS {{ ?y {Q} ?x }} }}",
    "not exists": f"SELECT ?y {{ ?z {P} ?y FILTER NOT EXISTS {{ ?x {Q} ?y FILTER(?z != ?x) }} }}",
    "bind": f"SELECT ?y ?z {{ ?x {P} ?y BIND(STR(?x) AS ?z) }}",
    "path": f"SELECT ?y {{ ?x ({P}|{Q})+ ?y }}",
    "path back": f"SELECT ?y {{ ?y {P}/{Q}? ?x }}",
    "count": f"SELECT (COUNT(?y) AS ?n) {{ ?x {P} ?y }}",
    "group": f"SELECT ?y (COUNT(*) AS ?n) {{ ?x {P} ?y }} GROUP BY ?y",
    "distinct": f"SELECT DISTINCT ?z {{ ?x {P} ?y . ?y {Q} ?z }}",
    "ask": f"ASK {{ ?x {P} ?y . ?y {Q} ?z }}",
}


MATCHED: list[Quad] = [
    (subject, PREDICATES[place], target, None)
    for subject, place, target in ((A, 0, B), (A, 0, C), (B, 1, A), (C, 0, A))
]
"""Each of the queries has an answer over some of these."""


@pytest.mark.parametrize("text", BOUND.values(), ids=BOUND)
def test_init_bindings_are_constants(text: str) -> None:
    """After every write the answer is that of the query with the term in the variable's place."""
    random = drawn_from(text)
    store = Store("graph")
    where = text.index("{")
    head = text[:where].replace("?x", "") if "?y" in text[:where] or "?n" in text[:where] else text[:where]
    constant = head + text[where:].replace("?x", A.n3())
    bound = Sum(store, text, initBindings={"x": A})
    plain = Sum(store, constant)
    quads = list(dict.fromkeys([*MATCHED, *(make_quad(random, graphs=False) for _ in range(10))]))
    most = 0
    for write in [(1, quad) for quad in quads] + [(-1, quad) for quad in quads]:
        store.write(write)
        assert bound.answer is plain.answer
        names = {"x"} if text.startswith(("SELECT ?x", "SELECT *")) else set()
        shown = [dict.fromkeys(names, A)] * plain.weights.total()
        assert bound.weights == Counter(
            row | extra for row, extra in zip(plain.weights.elements(), rows_of(shown), strict=True)
        )
        most = max(most, bound.most)
    assert most


CONSTANT: dict[str, tuple[str, Any]] = {
    "ask nothing": ("ASK {}", True),
    "ask a filter": ("ASK { FILTER(1 = 2) }", False),
    "ask not exists": ("ASK { FILTER NOT EXISTS { ?s ?p ?o } }", True),
    "ask minus": ("ASK { MINUS { ?s ?p ?o } }", True),
    "select nothing": ("SELECT * {}", [{}]),
    "expression": ("SELECT (1 + 1 AS ?two) {}", [{"two": Literal(2)}]),
    "values": ("SELECT * { VALUES ?x { 1 1 UNDEF } }", [{"x": Literal(1)}, {"x": Literal(1)}, {}]),
    "no values": ("SELECT * { VALUES ?x {} }", []),
    "no values after": ("SELECT * { ?s ?p ?o } VALUES ?x {}", []),
    "no values optionally": ("SELECT * { OPTIONAL { VALUES ?x {} } }", [{}]),
    "count of nothing": ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", [{"n": Literal(0)}]),
    "count of one": ("SELECT (COUNT(*) AS ?n) {}", [{"n": Literal(1)}]),
    "groups of nothing": ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s", []),
    "condition alone": ("SELECT * { OPTIONAL { FILTER(true) } OPTIONAL { ?s ?p ?o FILTER(?o) } }", [{}]),
    "groups in groups": ("SELECT * { { { { OPTIONAL { { } } } } } UNION { { } { } } }", [{}, {}]),
    "subquery twice": (
        "SELECT * { { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } }",
        [{"n": Literal(0)}],
    ),
    "nested exists": (
        "SELECT ?y { VALUES ?y { 1 2 } FILTER EXISTS { FILTER NOT EXISTS { FILTER(?y = 1) } } }",
        [{"y": Literal(2)}],
    ),
    "hidden in a subquery": (
        "SELECT ?x ?z { { SELECT ?x { VALUES (?x ?z) { (1 2) } FILTER(?z > 1) } } FILTER(!BOUND(?z)) }",
        [{"x": Literal(1)}],
    ),
    "stays at a constant": ("SELECT ?x { <urn:a> (<urn:p>?)+ ?x }", [{"x": A}]),
}


@pytest.mark.parametrize("kind", ["graph", "dataset", "oxigraph graph", "live store"])
@pytest.mark.parametrize(("text", "expected"), CONSTANT.values(), ids=CONSTANT)
def test_answer_over_the_empty_graph(text: str, expected: Any, kind: str) -> None:
    """A query has its answer before there is anything, and again when everything is gone."""
    store = Store(kind)
    follower = Sum(store, text.replace("<urn:a>", A.n3()))
    for quad in ((A, PREDICATES[0], B, None), (B, PREDICATES[1], Literal(1), None)):
        follower.check(expected)
        store.commit([(1, quad), (1, (C, PREDICATES[0], C, None))])
        store.commit([(-1, quad), (-1, (C, PREDICATES[0], C, None))])
    follower.check(expected)
    state = follower.subscription._live()
    follower.subscription.close()
    assert (len(state.dictionary), state.views) == (0, {})


@pytest.mark.parametrize("algorithm", [None, "whole"])
@pytest.mark.parametrize("kind", ["graph", "oxigraph dataset", "live store"])
def test_many_subscriptions_share_their_patterns(kind: str, algorithm: Any) -> None:
    """Twenty queries at once answer as each does alone, also after half of them are closed."""
    random, store = drawn_from(kind), Store(kind)
    texts = [text for text in BOUND.values() if not text.startswith("ASK")]
    texts += [text.replace("SELECT", "SELECT DISTINCT", 1) for text in texts[:5]]
    options = {"algorithm": algorithm} if algorithm else {}
    followers = [Sum(store, text, **options) for text in texts]
    assert len(followers) == 20
    quads = list(dict.fromkeys(make_quad(random, graphs=False) for _ in range(16)))
    writes = [(1, quad) for quad in quads] + [(-1, quad) for quad in quads]
    for i, (write, compared) in enumerate(checked(writes)):
        store.write(write)
        if i == len(quads) // 2:
            for follower in followers[::2]:
                follower.subscription.close()
            followers = followers[1::2]
        for follower in followers if compared else ():
            fresh = Sum(store, follower.text)
            assert follower.weights == fresh.weights
            fresh.subscription.close()
    state = followers[0].subscription._live()
    for follower in followers:
        follower.subscription.close()
    assert (len(state.dictionary), state.views) == (0, {})
