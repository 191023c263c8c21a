"""The real change history of schema.org's vocabulary: every transaction, forward and backward."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rdflib import XSD, Literal

import rdflive
from rdflive.feeds.rdf_patch import decode_rdf_patch
from support.shared import SHARED, shared
from support.worlds import KINDS, Face, Follower

FOLDER = ("data", "history", "schemaorg")
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SCHEMA = "https://schema.org/"
PREFIXES = f"PREFIX rdfs: <{RDFS}> PREFIX s: <{SCHEMA}> PREFIX owl: <http://www.w3.org/2002/07/owl#> "
QUERIES = {
    "labels": "SELECT ?term ?label { ?term rdfs:label ?label }",
    "BaseTypeExists": "SELECT ?term ?type { ?term a ?type }",
    "evenNumberOfInverseOf": "SELECT ?x ?y { ?x s:inverseOf ?y }",
    "illegalOwlClassPropertyMixup": "SELECT * { ?t owl:equivalentClass ?e . ?t owl:equivalentProperty ?e }",
    "illegalOwlClassPropertyMixup_1": "SELECT * { ?c owl:equivalentClass ?e . ?p owl:equivalentProperty ?e }",
    "isPartOf": "SELECT ?term ?part { ?term s:isPartOf ?part }",
    "needlessDomainIncludes": "SELECT * { ?p s:domainIncludes ?c1 , ?c2 . ?c1 rdfs:subClassOf ?c2 }",
    "needlessRangeIncludes": "SELECT * { ?p s:rangeIncludes ?c1 , ?c2 . ?c1 rdfs:subClassOf ?c2 }",
    "noSelfSupersededBy": "SELECT ?x { ?x s:supersededBy ?x }",
    "sameInverseAndSupersededByTarget": "SELECT * { ?t a rdf:Property ; s:inverseOf ?i ; s:supersededBy ?i }",
    "superPropertiesExist": "SELECT * { ?t a rdf:Property . ?t rdfs:subPropertyOf ?u . ?u a rdf:Property }",
    "superTypeInAttic": "SELECT * { ?t rdfs:subClassOf ?u . ?u s:isPartOf <http://attic.schema.org> }",
    "superTypesExist": "SELECT DISTINCT ?u { ?t rdfs:subClassOf ?u . ?t a rdfs:Class . ?u a rdfs:Class }",
    "superseded by what": "SELECT ?old ?new ?class { ?old s:supersededBy ?new . ?new a ?class }",
    "attic": "SELECT ?t ?r ?o { ?t ?r ?o . ?o s:isPartOf <http://attic.schema.org> }",
    "everything about superseded terms": "SELECT ?t ?p ?o { ?t s:supersededBy ?n ; ?p ?o }",
    "classes that have a label": "SELECT DISTINCT ?c { ?t a ?c . ?c rdfs:label ?l }",
    "any superseded": "ASK { ?x s:supersededBy ?y }",
}
QUERIES = {
    name: PREFIXES + "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> " + text
    for name, text in QUERIES.items()
}


def base() -> Path:
    return shared(*FOLDER, "base.nt.gz")


def transactions() -> list[Any]:
    path = shared(*FOLDER, "changes.rdfp.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return list(decode_rdf_patch(lines, str(path)))


def apply(graph: Any, changes: Any, *, backward: bool) -> None:
    with rdflive.batch(graph):
        for sign, quad in reversed(changes) if backward else changes:
            write = graph.add if (sign > 0) is not backward else graph.remove
            write(tuple(quad)[:3])


def typed(state: Any) -> Any:
    """Write plain literals as Oxigraph does: as strings."""
    if isinstance(state, bool):
        return state
    return Counter({frozenset((name, _typed(term)) for name, term in row): n for row, n in state.items()})


def _typed(term: Any) -> Any:
    plain = isinstance(term, Literal) and term.datatype is None and term.language is None
    return Literal(term, datatype=XSD.string) if plain else term


@pytest.mark.parametrize("kind", ["graph", "oxigraph graph"])
def test_every_transaction_forward_and_backward(kind: str) -> None:
    """Each transaction gives at most one delta per query, which is the difference of two evaluations."""
    graph = KINDS[kind]()
    with gzip.open(base()) as source:
        graph.parse(source, format="nt")
    face, oracle = Face(graph), Face(KINDS["oxigraph graph"]())
    for triple in graph:
        oracle.graph.add(triple)
    followers = {name: Follower(face, text) for name, text in QUERIES.items()}
    start = {name: Counter(f.state()) if f.answer is None else f.state() for name, f in followers.items()}
    history = transactions()
    assert len(history) == 99
    deltas = 0
    for backward in (False, True):
        for batch in reversed(history) if backward else history:
            for follower in followers.values():
                follower.deltas.clear()
            apply(graph, batch.changes, backward=backward)
            apply(oracle.graph, batch.changes, backward=backward)
            for name, follower in followers.items():
                assert len(follower.deltas) <= 1
                deltas += len(follower.deltas)
                assert typed(follower.state()) == oracle.evaluate(QUERIES[name]), name
    assert deltas > 100
    assert {name: follower.state() for name, follower in followers.items()} == start


def test_history_is_there() -> None:
    """The history and its maintainers' queries are at hand."""
    assert len(list(shared(*FOLDER, "queries").glob("*.rq"))) >= 25
    assert SHARED.is_dir()
