"""The change history of schema.org's vocabulary under reasoning: every transaction, forward and backward."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import rdflib
from rdflib import RDFS, URIRef

import rdflive
from support.effort import HUNT, checked, sampled
from support.entailment import SCHEMA, Triple, saturated
from support.history import history
from support.oracle import Oracle, comparable
from support.solutions import Row, folded_row, row_of
from support.worlds import KINDS

pytestmark = pytest.mark.shared


@pytest.fixture(autouse=True)
def nothing_fails(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A view that fails is started anew, and only the log tells."""
    yield
    assert not [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR]


SCHEMA_ORG = "https://schema.org/"
PREFIXES = (
    f"PREFIX rdfs: <{RDFS}> PREFIX s: <{SCHEMA_ORG}> "
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
)
ITEMS = "urn:example:item:"
QUERIES = {
    "subclasses of CreativeWork": "SELECT ?c { ?c rdfs:subClassOf s:CreativeWork }",
    "superclasses": "SELECT ?c ?d { ?c rdfs:subClassOf ?d }",
    "superclasses that are in the attic": "SELECT * { ?c rdfs:subClassOf ?d . "
    "?d s:isPartOf <http://attic.schema.org> }",
    "needless domains": "SELECT * { ?p s:domainIncludes ?c1 , ?c2 . ?c1 rdfs:subClassOf ?c2 }",
    "properties below others": "SELECT ?p ?q { ?p rdfs:subPropertyOf ?q . ?p a rdf:Property }",
    "subclasses counted": "SELECT ?d (COUNT(DISTINCT ?c) AS ?n) { ?c rdfs:subClassOf ?d } GROUP BY ?d",
    "classes on top": "SELECT ?c { ?c a rdfs:Class FILTER NOT EXISTS { ?c rdfs:subClassOf ?d } }",
    "things": "SELECT ?x { ?x a s:Thing }",
    "creative works": "SELECT ?x { ?x a s:CreativeWork }",
    "all types of items": "SELECT ?x ?c { ?x s:position ?n ; a ?c }",
    "actions that are also events": "SELECT ?x { ?x a s:Action , s:Event }",
    "enumeration members": "SELECT ?x ?c { ?x a s:Enumeration , ?c }",
}
"""Over the vocabulary, and over an item of each of its first classes; members of enumerations are in it."""
RUNS = {
    "saturate": ("graph", {"strategy": "saturate"}),
    "reformulate": ("graph", {"strategy": "reformulate"}),
    "Oxigraph": ("oxigraph graph", {}),
}
FOLLOWED = sampled("history under reasoning", RUNS, len(RUNS))


def with_items(triples: Iterable[Triple]) -> list[Triple]:
    """Add an item of each class to the vocabulary."""
    found = list(triples)
    classes = sorted({s for s, p, o in found if p == rdflib.RDF.type and o == RDFS.Class})
    for number, name in enumerate(classes):
        item = URIRef(f"{ITEMS}{number}")
        found += [
            (item, rdflib.RDF.type, name),
            (item, URIRef(SCHEMA_ORG + "position"), rdflib.Literal(number)),
        ]
    return found


def closure(triples: Iterable[Triple]) -> set[Triple]:
    """Close a graph under its constraints: schema by repeated squaring, then every triple by itself.

    Domains and ranges that follow from others are left out; nothing here asks for them.
    """
    found = set(triples)
    steps = {p: _edges(found, p) for p in SCHEMA}
    above = {p: _transitive(steps[p]) for p in (RDFS.subClassOf, RDFS.subPropertyOf)}
    for p, nodes in above.items():
        found |= {(s, p, o) for s, reached in nodes.items() for o in reached}
    typing = {rdflib.RDF.type}
    for s, p, o in list(found):
        properties = above[RDFS.subPropertyOf].get(p, set()) | {p}
        found |= {(s, q, o) for q in properties}
        ends = [(s, RDFS.domain)] + ([] if isinstance(o, rdflib.Literal) else [(o, RDFS.range)])
        classes = {(x, c) for x, word in ends for q in properties for c in steps[word].get(q, ())}
        if properties & typing:
            classes.add((s, o))
        for x, c in classes:
            found |= {(x, rdflib.RDF.type, d) for d in above[RDFS.subClassOf].get(c, set()) | {c}}
    return found


def _edges(triples: Iterable[Triple], predicate: Any) -> dict[Any, set[Any]]:
    edges: dict[Any, set[Any]] = {}
    for s, p, o in triples:
        if p == predicate:
            edges.setdefault(s, set()).add(o)
    return edges


def _transitive(edges: dict[Any, set[Any]]) -> dict[Any, set[Any]]:
    found = {node: set(above) for node, above in edges.items()}
    while True:
        longer = {n: above.union(*(found.get(o, ()) for o in above)) for n, above in found.items()}
        if longer == found:
            return found
        found = longer


class Follower:
    """A query's deltas, added up."""

    def __init__(self, graph: Any, text: str, **options: Any) -> None:
        self.weights: Counter[Row] = Counter()
        self.deltas = 0
        self.empty = 0
        self.subscription = rdflive.subscribe(graph, text, self._take, entailment="rdfs", **options)

    def _take(self, delta: rdflive.Delta) -> None:
        self.deltas += 1
        self.empty += not (delta or delta.initial)
        for solution, weight in delta.weights().items():
            self.weights[folded_row(row_of(solution))] += weight
        self.weights = Counter({row: weight for row, weight in self.weights.items() if weight})


class Judge:
    """What is entailed, in an Oxigraph store that is brought up to date by difference, asked in full."""

    def __init__(self) -> None:
        self._oracle, self._held = Oracle(), set[Triple]()

    def ask(self, explicit: Iterable[Triple]) -> dict[str, Counter[Row]]:
        entailed = closure(explicit)
        for triple in self._held - entailed:
            self._oracle.graph.remove(triple)
        for triple in entailed - self._held:
            self._oracle.graph.add(triple)
        self._held = entailed
        answers = {}
        for name, text in QUERIES.items():
            names, solutions = self._oracle.table(PREFIXES + text)
            answers[name] = Counter(comparable(zip(names, one, strict=True)) for one in solutions)
        return answers


def test_every_transaction_under_reasoning() -> None:
    """After each transaction, and when each is undone, the answers are those over a closure made anew."""
    replayed, judge = history("under reasoning"), Judge()
    triples, batches = with_items(replayed.triples), replayed.batches
    graphs = {name: KINDS[RUNS[name][0]]() for name in FOLLOWED}
    followers: dict[str, dict[str, Follower]] = {}
    for name, graph in graphs.items():
        for triple in triples:
            graph.add(triple)
        options: Any = RUNS[name][1]
        followers[name] = {query: Follower(graph, PREFIXES + QUERIES[query], **options) for query in QUERIES}
    held = set(triples)
    changed: Counter[str] = Counter()
    before = judge.ask(held)
    states = [(batch, False) for batch in batches] + [(batch, True) for batch in reversed(batches)]
    commits = 1  # the initial deltas
    for number, ((batch, backward), is_compared) in enumerate(checked([(rdflive.Batch(()), False), *states])):
        for graph in graphs.values():
            with rdflive.batch(graph):
                apply(graph, batch.changes, backward=backward)
        for sign, quad in reversed(batch.changes) if backward else batch.changes:
            (held.add if (sign > 0) is not backward else held.discard)(tuple(quad)[:3])
        commits += number > 0
        if not is_compared:
            continue
        expected = judge.ask(held)
        for name, group in followers.items():
            for query, follower in group.items():
                assert follower.weights == expected[query], (number, name, query)
                # so a step that changes nothing has no delta, and one that does has one
                assert follower.deltas <= commits, (number, name, query)
                assert follower.empty == 0, (number, name, query)
                follower.deltas = 0
        changed.update(query for query in QUERIES if expected[query] != before[query])
        before, commits = expected, 0
    assert held == set(triples)
    if HUNT:  # a part may change little
        assert sum(q.predicate == RDFS.subClassOf for batch in batches for _, q in batch.changes) > 50
        assert changed["superclasses"] > 30
        assert len(+changed) >= 9


def apply(graph: Any, changes: Any, *, backward: bool) -> None:
    """Apply a transaction, or undo it."""
    for sign, quad in reversed(changes) if backward else changes:
        (graph.add if (sign > 0) is not backward else graph.remove)(tuple(quad)[:3])


def test_closure_is_that_of_the_rules() -> None:
    """The quick closure that all is compared with is that of the rules by the book, on a part."""
    everything = with_items(history("rules").triples)
    triples = [t for t in sorted(everything, key=str) if t[1] in (*SCHEMA, rdflib.RDF.type)][::40]
    triples += [(URIRef("urn:p"), RDFS.domain, triples[0][2]), (URIRef("urn:p"), RDFS.range, triples[-1][0])]
    triples += [
        (URIRef("urn:q"), RDFS.subPropertyOf, URIRef("urn:p")),
        (URIRef("urn:a"), URIRef("urn:q"), URIRef("urn:b")),
    ]
    rules = {t for t in saturated(triples) if t[1] not in (RDFS.domain, RDFS.range)}
    assert rules == {t for t in closure(triples) if t[1] not in (RDFS.domain, RDFS.range)}
