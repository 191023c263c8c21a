"""GRAPH, FROM and union views: several graphs of one dataset, and several subscriptions on it."""

from __future__ import annotations

from typing import Any

import pytest
import rdflib
from rdflib import Literal

import rdflive
from support.effort import checked
from support.evaluate import answer
from support.quads import DATASETS, Store, Sum
from support.queries import GRAPHS, NODES, PREDICATES, Quad
from support.syntax import (
    Alternative,
    Apply,
    Exists,
    Fold,
    Graph,
    Group,
    Minus,
    Negated,
    Optional,
    Query,
    Repeat,
    Select,
    Triple,
    Values,
    Var,
)

A, B, C = NODES
P, Q = PREDICATES
G, H = GRAPHS
X, Y, Z, GRAPH, N = map(Var, ("x", "y", "z", "g", "n"))
STEP, LINK = Triple(X, P, Y), Triple(Y, Q, Z)
TERMS = Values((X,), ((A,), (H,)))


def inside(*elements: Any, filters: tuple[Any, ...] = ()) -> Group:
    """A group that is nothing but GRAPH ?g around a pattern."""
    return Group((Graph(GRAPH, Group(elements, filters)),))


QUERIES = {
    "join": Select((X, Z, GRAPH), inside(STEP, LINK)),
    "join of graphs": Select((X, Z, GRAPH), Group((STEP, Graph(GRAPH, Group((LINK,)))))),
    "optional": Select((X, Z, GRAPH), inside(STEP, Optional(Group((LINK,))))),
    "minus": Select((X, Y, GRAPH), inside(STEP, Minus(Group((LINK,))))),
    "minus of nothing in common": Select((X, GRAPH), inside(STEP, Minus(Group((Triple(Z, Q, N),))))),
    "not exists": Select((X, GRAPH), inside(STEP, filters=(Exists(Group((LINK,)), negated=True),))),
    "exists elsewhere": Select((X,), Group((STEP,), (Exists(inside(LINK)),))),
    "aggregate": Select((GRAPH, (Fold("COUNT", X), N)), inside(STEP), keys=(GRAPH,)),
    "aggregate inside": Select((GRAPH, N), inside(Select(((Fold("COUNT"), N),), Group((STEP,))))),
    "slice inside": Select((GRAPH, Y), inside(Select((Y,), Group((STEP,)), order=((Y, True),), limit=1))),
    "path": Select((X, Y, GRAPH), inside(Triple(X, Repeat(P, "*"), Y))),
    "path of both": Select((Y, GRAPH), inside(Triple(A, Repeat(Alternative(P, Q), "+"), Y))),
    "path from values": Select((Y, GRAPH), inside(TERMS, Triple(X, Repeat(P, "*"), Y))),
    "one step from values": Select(
        (Y, GRAPH), inside(Optional(Group((TERMS, Triple(X, Repeat(P, "?"), Y)))))
    ),
    "path to values": Select((X, GRAPH), inside(Values((Y,), ((C,), (H,))), Triple(X, Repeat(P, "+"), Y))),
    "path from its graph": Select((Y,), Group((Graph(X, Group((TERMS, Triple(X, Repeat(P, "*"), Y)))),))),
    "name inside": Select((X, GRAPH), inside(Triple(X, P, GRAPH))),
    "name filtered": Select((X, GRAPH), Group(inside(STEP).elements, (Apply("!=", (GRAPH, G)),))),
    "constant": Select((X, Z), Group((Graph(G, Group((STEP,))), Graph(H, Group((LINK,)))))),
    "perhaps nothing inside a constant": Select(
        (X, Y, Z), Group((Graph(G, Group((Optional(Group((Triple(A, P, Z),))),))), Triple(X, Q, Y)))
    ),
    "empty group": Select((GRAPH,), inside()),
    "negated path": Select((X, Y), Group((Triple(X, Negated((Q,)), Y),))),
    "default": Select((X, Y), Group((STEP,))),
}
FROM = {
    "one": {"default": (G,)},
    "merge": {"default": (G, H)},
    "named": {"named": (H,)},
    "both": {"default": (G,), "named": (H, G)},
}
HISTORY: list[Quad] = [
    (A, P, B, G), (B, Q, C, H), (B, Q, C, G), (A, P, B, H), (A, P, B, None), (B, P, G, G), (B, P, C, H),
    (B, Q, Literal(1), None), (C, P, A, G), (C, Q, B, H), (H, P, H, H),
]  # fmt: skip


def check_history(store: Store, queries: list[Query]) -> None:
    """Insert the quads one by one, delete them in another order, and compare all queries at many steps."""
    followers = [Sum(store, str(query)) for query in queries]
    writes = [(1, quad) for quad in HISTORY] + [(-1, quad) for quad in [*HISTORY[::2], *HISTORY[1::2]]]
    for write, compared in checked(writes):
        store.write(write)
        for query, follower in zip(queries, followers, strict=True) if compared else ():
            follower.check(answer(query, store.quads, union=store.union))
    for follower in followers:
        follower.subscription.close()


@pytest.mark.parametrize("kind", DATASETS)
def test_graph_queries_follow_every_change(kind: str) -> None:
    """Patterns, aggregates and paths inside GRAPH see one graph at a time; all queries run at once."""
    check_history(Store(kind), [Query(select) for select in QUERIES.values()])


@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("kind", DATASETS)
@pytest.mark.parametrize("clauses", FROM.values(), ids=FROM)
def test_from_clauses_choose_the_graphs(kind: str, clauses: dict[str, Any]) -> None:
    """Only the graphs of FROM are the default graph, only those of FROM NAMED have names."""
    check_history(Store(kind), [Query(select, **clauses) for select in QUERIES.values()])


@pytest.mark.parametrize("kind", DATASETS)
def test_subscriptions_come_and_go(kind: str) -> None:
    """What opens or closes in the middle, or inside an open batch, changes nothing for the others."""
    store, queries = Store(kind), [Query(select) for select in QUERIES.values()]
    open_now: list[tuple[Query, Sum]] = []
    for i, quad in enumerate(HISTORY):
        before = frozenset(store.quads)
        with rdflive.batch(store.graph):
            store.write((1, quad))
            query = queries[i % len(queries)]
            follower = Sum(store, str(query))
            committed = answer(query, before, union=store.union)
            assert isinstance(committed, list)
            assert len(follower.subscription.answers()) == len(committed)
            open_now.append((query, follower))
            store.write((-1, HISTORY[i // 2]))
            if i % 3 == 2:
                open_now.pop(0)[1].subscription.close()
        for query, follower in open_now:
            follower.check(answer(query, store.quads, union=store.union))
    state = open_now[0][1].subscription._live()
    for _, follower in open_now:
        follower.subscription.close()
    assert (len(state.dictionary), state.views) == (0, {})


@pytest.mark.parametrize("text", ["SELECT * FROM <urn:g> { ?s ?p ?o }", "ASK { GRAPH ?g { ?s ?p ?o } }"])
def test_a_single_graph_knows_no_others(text: str) -> None:
    """GRAPH and FROM on a plain graph are refused, and nothing stays hooked."""
    graph = rdflib.Graph()
    plain = type(graph.store)
    with pytest.raises(rdflive.UnsupportedStoreError, match="GRAPH and FROM need a dataset"):
        rdflive.subscribe(graph, text)
    assert type(graph.store) is plain
