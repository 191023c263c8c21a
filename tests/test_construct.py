"""CONSTRUCT as a live graph: isomorphic to the engine's own after every change, and subscribable itself."""

from __future__ import annotations

from collections import Counter

import pytest
import rdflib
from rdflib import BNode, Literal, URIRef

import rdflive
from support.effort import checked, drawn_from
from support.quads import Store
from support.queries import NODES, PREDICATES, make_commits, make_quad
from support.solutions import folded, isomorphic, rows

A, B, C = NODES
P, Q = PREDICATES

TEMPLATES = {
    "plain": "CONSTRUCT {{ ?y {q} ?x }} WHERE {{ ?x {p} ?y }}",
    "several triples": "CONSTRUCT {{ ?x {q} ?z . ?z {p} ?x . ?x {p} 7 }} WHERE {{ ?x {p} ?y . ?y {q} ?z }}",
    "blank nodes": "CONSTRUCT {{ _:a {p} ?x . _:a {q} _:b . _:b {p} ?y }} WHERE {{ ?x {p} ?y }}",
    "blank nodes alike": "CONSTRUCT {{ _:a {p} ?x }} WHERE {{ ?x {p} ?y }}",
    "anonymous": "CONSTRUCT {{ ?x {p} [] , [] . [ {q} 'a'@en ] {p} ?x }} WHERE {{ ?x {p} ?y }}",
    "lists": "PREFIX : <urn:> CONSTRUCT {{ ?x :all (?y ( ) [ a :b ]) }} WHERE {{ ?x {p} ?y }}",
    "short and anonymous": "CONSTRUCT WHERE {{ ?x {p} [ {q} ?z ] }}",
    "unbound": "CONSTRUCT {{ ?x {q} ?z . ?x {p} ?y }} WHERE {{ ?x {p} ?y OPTIONAL {{ ?y {q} ?z }} }}",
    "union": "CONSTRUCT {{ ?x {q} ?y }} WHERE {{ {{ ?x {p} ?y }} UNION {{ ?x {q}/{p} ?y }} }}",
    "aggregate": "CONSTRUCT {{ ?x {q} ?n }} WHERE {{ SELECT ?x (SUM(1) AS ?n) {{ ?x {p} ?y }} GROUP BY ?x }}",
    "predicate": "CONSTRUCT {{ ?x ?y ?x }} WHERE {{ ?x {p} ?y }}",
    "constant": "CONSTRUCT {{ {p} {q} 1 }} WHERE {{ ?x {p} ?y }}",
    "short": "CONSTRUCT WHERE {{ ?x {p} ?y . ?y {q} ?z }}",
    "equal solutions": "CONSTRUCT {{ _:a {p} ?x }} WHERE {{ {{ ?x {p} ?y }} UNION {{ ?x {q} ?y }} }}",
}
KINDS = ("graph", "oxigraph graph", "dataset union", "live store")


def text_of(name: str) -> str:
    return TEMPLATES[name].format(p=P.n3(), q=Q.n3())


@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TEMPLATES)
def test_construct_graph_equals_the_engines(name: str, kind: str) -> None:
    """After every commit `sub.graph`, and what its own subscriber was told, are the engine's graph."""
    store, text = Store(kind), text_of(name)
    reference = rdflib.Graph()
    told: Counter[object] = Counter()
    made: Counter[object] = Counter()

    def take(delta: rdflive.Delta) -> None:
        for triple, weight in delta.weights().items():
            told[triple] += weight
            assert told[triple] in (0, 1)

    def take_made(delta: rdflive.Delta) -> None:
        for solution, weight in delta.weights().items():
            made[tuple(solution[name] for name in "spo")] += weight

    with rdflive.subscribe(store.graph, text, take, on_error=_fail) as subscription:
        graph = subscription.graph
        with rdflive.subscribe(graph, "SELECT * { ?s ?p ?o }", take_made, on_error=_fail):
            random = drawn_from(name)
            commits = [[(1, make_quad(random, graphs=False))] for _ in range(6)]
            commits += make_commits(random, graphs=False)
            commits.append([(-1, quad) for quad in _all_of(commits)])
            for commit, compared in checked(commits):
                store.commit(commit)
                if not compared:
                    continue
                reference.remove((None, None, None))
                for quad in store.quads:
                    reference.add(quad[:3])
                expected = _valid(reference.query(text).graph)
                assert isomorphic(folded(rows(graph)), folded(rows(expected)))
                assert (+told).total() == len(subscription.answers()) == len(graph)
                assert set(+made) == set(graph)
    assert len(graph) == 0


def _valid(graph: rdflib.Graph | None) -> rdflib.Graph:
    """Leave out what is no triple of RDF, which rdflib's engine makes all the same."""
    valid = rdflib.Graph()
    for s, p, o in graph or ():
        if not isinstance(s, Literal) and isinstance(p, URIRef):
            valid.add((s, p, o))
    return valid


def _all_of(commits: list[list[tuple[int, object]]]) -> list[object]:
    return sorted({quad for commit in commits for _, quad in commit}, key=str)


def _fail(subscription: object, error: Exception) -> None:
    raise error


def test_blank_nodes_are_stable_per_solution() -> None:
    """A solution keeps its blank node while others come and go."""
    store = Store("graph")
    store.write((1, (A, P, B, None)))
    with rdflive.subscribe(store.graph, text_of("blank nodes alike")) as subscription:
        (node,) = subscription.graph.subjects(P, A)
        store.commit([(1, (B, P, C, None)), (1, (A, P, C, None))])
        assert node in set(subscription.graph.subjects(P, A))
        assert len(set(subscription.graph.subjects(P))) == 3
        store.write((-1, (A, P, C, None)))
        assert set(subscription.graph.subjects(P, A)) == {node}
        assert isinstance(node, BNode)
