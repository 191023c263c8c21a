"""The real change history of schema.org's vocabulary: every transaction, forward and backward."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import rdflib

import rdflive
from rdflive.feeds.rdf_patch import decode_rdf_patch
from support.oracle import Oracle, difference
from support.shared import shared
from support.solutions import Row, folded_row, row_of
from support.worlds import KINDS

pytestmark = pytest.mark.shared

FOLDER = ("data", "history", "schemaorg")
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SCHEMA = "https://schema.org/"
PREFIXES = (
    f"PREFIX rdfs: <{RDFS}> PREFIX s: <{SCHEMA}> PREFIX owl: <http://www.w3.org/2002/07/owl#> "
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
)
PATTERNS = {
    "labels": "SELECT ?term ?label { ?term rdfs:label ?label }",
    "two kinds of equivalence": "SELECT * { ?t owl:equivalentClass ?e . ?t owl:equivalentProperty ?e }",
    "needless domains": "SELECT * { ?p s:domainIncludes ?c1 , ?c2 . ?c1 rdfs:subClassOf ?c2 }",
    "needless ranges": "SELECT * { ?p s:rangeIncludes ?c1 , ?c2 . ?c1 rdfs:subClassOf ?c2 }",
    "superseded by itself": "SELECT ?x { ?x s:supersededBy ?x }",
    "inverse supersedes": "SELECT * { ?t a rdf:Property ; s:inverseOf ?i ; s:supersededBy ?i }",
    "super-properties": "SELECT * { ?t a rdf:Property . ?t rdfs:subPropertyOf ?u . ?u a rdf:Property }",
    "types in the attic": "SELECT * { ?t rdfs:subClassOf ?u . ?u s:isPartOf <http://attic.schema.org> }",
    "super-types": "SELECT DISTINCT ?u { ?t rdfs:subClassOf ?u . ?t a rdfs:Class . ?u a rdfs:Class }",
    "superseded by what": "SELECT ?old ?new ?class { ?old s:supersededBy ?new . ?new a ?class }",
    "attic": "SELECT ?t ?r ?o { ?t ?r ?o . ?o s:isPartOf <http://attic.schema.org> }",
    "everything about superseded terms": "SELECT ?t ?p ?o { ?t s:supersededBy ?n ; ?p ?o }",
    "classes that have a label": "SELECT DISTINCT ?c { ?t a ?c . ?c rdfs:label ?l }",
    "any superseded": "ASK { ?x s:supersededBy ?y }",
}
"""Queries of basic graph patterns, beside those of the vocabulary's maintainers."""
ENGINES = {"memory": "graph", "oxigraph": "oxigraph graph"}


NOT_SPARQL = "EnumerationWithoutEnums"
"""The maintainers' one query that neither rdflib nor Oxigraph can read, and what it must mean."""
MENDED = ("?term a rdfs:subClassOf+", "?term rdfs:subClassOf+")


def maintainers() -> dict[str, str]:
    paths = sorted(shared(*FOLDER, "queries").glob("*.rq"))
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def queries() -> dict[str, str]:
    found = {**{name: PREFIXES + text for name, text in PATTERNS.items()}, **maintainers()}
    return {**found, NOT_SPARQL: found[NOT_SPARQL].replace(*MENDED)}


def base() -> Path:
    return shared(*FOLDER, "base.nt.gz")


def transactions() -> list[Any]:
    path = shared(*FOLDER, "changes.rdfp.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [batch.changes for batch in decode_rdf_patch(lines, str(path))]


def apply(graph: Any, changes: Any, *, backward: bool) -> None:
    for sign, quad in reversed(changes) if backward else changes:
        write = graph.add if (sign > 0) is not backward else graph.remove
        write(tuple(quad)[:3])


class Follower:
    """The deltas that a subscription gave since they were taken last."""

    def __init__(self, graph: Any, text: str) -> None:
        self.deltas: list[rdflive.Delta] = []
        self.answer: bool | None = None
        self.subscription = rdflive.subscribe(graph, text, self.deltas.append)

    def take(self) -> Counter[Row] | bool:
        """Give the one delta that there may be since the last time, or the answer of ASK."""
        assert len(self.deltas) <= 1
        weights: Counter[Row] = Counter()
        for delta in self.deltas:
            self.answer = delta.answer
            for solution, weight in delta.weights().items():
                weights[folded_row(row_of(solution))] += weight
        self.deltas.clear()
        return weights if self.answer is None else self.answer


def in_order(follower: Follower, names: tuple[str, ...], rows: Iterable[Any]) -> bool:
    """Tell if the answers have the same first column in the same order: that is what the queries sort by."""
    found = [str(solution[names[0]]) for solution in follower.subscription.answers()]
    return found == [solution[0].value for solution in rows]


class Judge:
    """One query's evaluations by Oxigraph, from commit to commit."""

    def __init__(self, oracle: Oracle, text: str) -> None:
        self._oracle, self._text, self._names = oracle, text, oracle.table(text)[0]
        self._before: Any = Counter()

    def change(self) -> Counter[Row] | bool:
        """Evaluate in full and give the difference from the last time, or the answer of ASK."""
        before, self._before = self._before, self._oracle.ask(self._text)
        if isinstance(self._before, bool):
            return self._before
        return difference(self._names, before, self._before)


def test_every_transaction_forward_and_backward() -> None:
    """Each transaction's delta is the difference of two full evaluations, also when it is undone."""
    with gzip.open(base()) as source:
        triples = list(rdflib.Graph().parse(source, format="nt"))
    oracle, history = Oracle(triples), transactions()
    assert len(history) == 99
    judges = {name: Judge(oracle, text) for name, text in queries().items()}
    followers: dict[tuple[str, str], Follower] = {}
    graphs = {engine: KINDS[kind]() for engine, kind in ENGINES.items()}
    for engine, graph in graphs.items():
        for triple in triples:
            graph.add(triple)
        followers |= {(engine, name): Follower(graph, text) for name, text in queries().items()}
    changed = 0

    def check() -> None:
        nonlocal changed
        for name, judge in judges.items():
            expected = judge.change()
            changed += expected not in (Counter(), True, False)
            for engine in ENGINES:
                assert followers[engine, name].take() == expected, (engine, name)

    def check_order() -> None:
        for name, text in queries().items():
            for engine in ENGINES:
                if "ORDER BY" in text:
                    assert in_order(followers[engine, name], *oracle.table(text)), (engine, name)

    check()
    check_order()
    for backward in (False, True):
        for changes in reversed(history) if backward else history:
            apply(oracle.graph, changes, backward=backward)
            for graph in graphs.values():
                with rdflive.batch(graph):
                    apply(graph, changes, backward=backward)
            check()
        check_order()
    assert changed > 200
    assert all(len(graph) == len(triples) for graph in graphs.values())


def test_history_is_there() -> None:
    """The history and all 29 queries of its maintainers are at hand."""
    assert len(maintainers()) == 29


def test_the_query_that_is_not_sparql_says_where() -> None:
    """The one query that no engine can read is refused at the place where it stops being SPARQL."""
    with pytest.raises(rdflive.QuerySyntaxError) as refusal:
        rdflive.explain(maintainers()[NOT_SPARQL])
    assert refusal.value.line == 3
