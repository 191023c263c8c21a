"""The real change history of schema.org's vocabulary: every transaction, forward and backward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

import rdflive
from support.effort import HUNT, checked, sampled
from support.history import FOLDER, history
from support.oracle import Oracle, difference
from support.shared import shared
from support.solutions import Row, folded_row, row_of
from support.worlds import KINDS

pytestmark = pytest.mark.shared

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
COMPARED = sampled("history", ENGINES, len(ENGINES))

NOT_SPARQL = "EnumerationWithoutEnums"
"""The maintainers' one query that neither rdflib nor Oxigraph can read, and what it must mean."""
MENDED = ("?term a rdfs:subClassOf+", "?term rdfs:subClassOf+")


def maintainers() -> dict[str, str]:
    paths = sorted(shared(*FOLDER, "queries").glob("*.rq"))
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def queries() -> dict[str, str]:
    found = {**{name: PREFIXES + text for name, text in PATTERNS.items()}, **maintainers()}
    return {**found, NOT_SPARQL: found[NOT_SPARQL].replace(*MENDED)}


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

    def take(self, commits: int) -> Counter[Row] | bool:
        """Give what the deltas since the last time come to, at most one a commit, or an answer of ASK."""
        assert len(self.deltas) <= commits
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


class Replay:
    """All queries on a graph of each engine (of one in the gate), and Oxigraph as the judge of them."""

    def __init__(self, triples: list[Any]) -> None:
        self.oracle = Oracle(triples)
        self.judges = {name: Judge(self.oracle, text) for name, text in queries().items()}
        self.graphs = {engine: KINDS[ENGINES[engine]]() for engine in COMPARED}
        self.followers: dict[tuple[str, str], Follower] = {}
        self.changed = 0
        self.commits = 1  # the initial delta
        for engine, graph in self.graphs.items():
            for triple in triples:
                graph.add(triple)
            self.followers |= {(engine, name): Follower(graph, text) for name, text in queries().items()}
        self.start = {engine: set(graph) for engine, graph in self.graphs.items()}
        self.check()

    def apply(self, changes: Any, *, backward: bool) -> None:
        """Make one transaction one commit everywhere."""
        self.commits += 1
        apply(self.oracle.graph, changes, backward=backward)
        for graph in self.graphs.values():
            with rdflive.batch(graph):
                apply(graph, changes, backward=backward)

    def check(self) -> None:
        """Compare what came since the last time."""
        for name, judge in self.judges.items():
            expected = judge.change()
            self.changed += expected not in (Counter(), True, False)
            for engine in self.graphs:
                assert self.followers[engine, name].take(self.commits) == expected, (engine, name)
        self.commits = 0

    def check_order(self) -> None:
        """Compare the order of the answers."""
        for name, text in queries().items():
            for engine in self.graphs:
                if "ORDER BY" in text:
                    found = self.followers[engine, name]
                    assert in_order(found, *self.oracle.table(text)), (engine, name)


def test_every_transaction_forward_and_backward() -> None:
    """Each transaction's delta is the difference of two full evaluations, also when it is undone.

    Where not every step is compared, the deltas of those between two that are add up to the difference.
    """
    replayed = history("plain")
    replay = Replay(replayed.triples)
    replay.check_order()
    for backward, batches in ((False, replayed.batches), (True, replayed.batches[::-1])):
        for batch, is_compared in checked(batches):
            replay.apply(batch.changes, backward=backward)
            if is_compared:
                replay.check()
        replay.check_order()
    if HUNT:  # a part may change little
        assert replay.changed > 200
    for engine, graph in replay.graphs.items():
        assert set(graph) == replay.start[engine]


def test_history_is_there() -> None:
    """The history and all 29 queries of its maintainers are at hand."""
    assert len(maintainers()) == 29


def test_the_query_that_is_not_sparql_says_where() -> None:
    """The one query that no engine can read is refused at the place where it stops being SPARQL."""
    with pytest.raises(rdflive.QuerySyntaxError) as refusal:
        rdflive.explain(maintainers()[NOT_SPARQL])
    assert refusal.value.line == 3
