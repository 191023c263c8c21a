"""The real change history of schema.org's vocabulary, also under reasoning: forward and backward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
import rdflib
from rdflib import RDFS, URIRef

import rdflive
from support.effort import HUNT, checked, sampled
from support.entailment import SCHEMA, Triple, saturated
from support.history import FOLDER, history
from support.oracle import Oracle, difference
from support.shared import shared
from support.solutions import Row, folded_row, row_of
from support.worlds import KINDS

pytestmark = pytest.mark.shared

SCHEMA_ORG = "https://schema.org/"
PREFIXES = (
    f"PREFIX rdfs: <{RDFS}> PREFIX s: <{SCHEMA_ORG}> PREFIX owl: <http://www.w3.org/2002/07/owl#> "
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
)
ITEMS = "urn:example:item:"
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
ENTAILED = {
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
RUNS: dict[bool, dict[str, tuple[str, dict[str, Any]]]] = {
    False: {"memory": ("graph", {}), "Oxigraph": ("oxigraph graph", {})},
    True: {
        "saturate": ("graph", {"entailment": "rdfs", "strategy": "saturate"}),
        "reformulate": ("graph", {"entailment": "rdfs", "strategy": "reformulate"}),
        "Oxigraph": ("oxigraph graph", {"entailment": "rdfs"}),
    },
}
"""Kinds of graphs and options, without and with reasoning; the gate has one of each."""

NOT_SPARQL = "EnumerationWithoutEnums"
"""The maintainers' one query that neither rdflib nor Oxigraph can read, and what it must mean."""
MENDED = ("?term a rdfs:subClassOf+", "?term rdfs:subClassOf+")


def maintainers() -> dict[str, str]:
    paths = sorted(shared(*FOLDER, "queries").glob("*.rq"))
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


@cache
def queries(entails: bool) -> dict[str, str]:
    if entails:
        return {name: PREFIXES + text for name, text in ENTAILED.items()}
    found = {**{name: PREFIXES + text for name, text in PATTERNS.items()}, **maintainers()}
    return {**found, NOT_SPARQL: found[NOT_SPARQL].replace(*MENDED)}


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


def apply(graph: Any, changes: Any, *, backward: bool) -> None:
    """Apply a transaction, or undo it."""
    for sign, quad in reversed(changes) if backward else changes:
        (graph.add if (sign > 0) is not backward else graph.remove)(tuple(quad)[:3])


class Follower:
    """The deltas that a subscription gave since they were taken last."""

    def __init__(self, graph: Any, text: str, options: dict[str, Any]) -> None:
        self.deltas: list[rdflive.Delta] = []
        self.answer: bool | None = None
        self.subscription = rdflive.subscribe(graph, text, self.deltas.append, **options)

    def take(self, commits: int) -> Counter[Row] | bool:
        """Give what the deltas since the last time come to, at most one a commit, or an answer of ASK."""
        assert len(self.deltas) <= commits
        weights: Counter[Row] = Counter()
        for delta in self.deltas:
            assert delta or delta.initial
            self.answer = delta.answer
            for solution, weight in delta.weights().items():
                weights[folded_row(row_of(solution))] += weight
        self.deltas.clear()
        if self.answer is not None:
            return self.answer
        return Counter({row: weight for row, weight in weights.items() if weight})


class Judge:
    """Full evaluations by Oxigraph over what there is, or over what that entails, from time to time."""

    def __init__(self, *, entails: bool) -> None:
        self._oracle, self._held, self._entails = Oracle(), set[Triple](), entails
        self._before: dict[str, Any] = {}
        self._names: dict[str, tuple[str, ...]] = {}

    def changes(self, explicit: Iterable[Triple]) -> dict[str, Counter[Row] | bool]:
        """Give each query's difference from the last time, or the answer of ASK."""
        now = closure(explicit) if self._entails else set(explicit)
        for triple in self._held - now:
            self._oracle.graph.remove(triple)
        for triple in now - self._held:
            self._oracle.graph.add(triple)
        self._held = now
        found: dict[str, Counter[Row] | bool] = {}
        for name, text in queries(self._entails).items():
            if name not in self._names:
                self._names[name] = self._oracle.table(text)[0]
            before, answer = self._before.get(name, Counter()), self._oracle.ask(text)
            self._before[name] = answer
            is_ask = isinstance(answer, bool)
            found[name] = answer if is_ask else difference(self._names[name], before, answer)
        return found

    def is_in_order(self, name: str, follower: Follower) -> bool:
        """Tell if answers have the first column in the order of an evaluation, by which the queries sort."""
        names, rows = self._oracle.table(queries(self._entails)[name])
        found = [str(solution[names[0]]) for solution in follower.subscription.answers()]
        return found == [solution[0].value for solution in rows]


@pytest.mark.parametrize("entails", [False, True], ids=["plain", "under reasoning"])
def test_every_transaction_forward_and_backward(entails: bool) -> None:
    """Each transaction's delta is the difference of two full evaluations, also when it is undone.

    Where not every step is compared, the deltas of those between two that are add up to the difference.
    """
    replayed, judge = history(entails), Judge(entails=entails)
    triples = with_items(replayed.triples) if entails else list(replayed.triples)
    graphs: dict[str, Any] = {}
    followers: dict[tuple[str, str], Follower] = {}
    for name in sampled(f"history {entails}", RUNS[entails], len(RUNS[entails])):
        kind, options = RUNS[entails][name]
        graph = graphs[name] = KINDS[kind]()
        for triple in triples:
            graph.add(triple)
        followers |= {
            (name, query): Follower(graph, text, options) for query, text in queries(entails).items()
        }
    held, starts = set(triples), {name: set(graph) for name, graph in graphs.items()}
    changed: Counter[str] = Counter()
    states = [(batch, False) for batch in replayed.batches]
    states += [(batch, True) for batch in reversed(replayed.batches)]
    commits = 0
    for number, ((batch, backward), is_compared) in enumerate(checked([(rdflive.Batch(()), False), *states])):
        for graph in graphs.values():
            with rdflive.batch(graph):
                apply(graph, batch.changes, backward=backward)
        for sign, quad in reversed(batch.changes) if backward else batch.changes:
            (held.add if (sign > 0) is not backward else held.discard)(tuple(quad)[:3])
        commits += 1
        if not is_compared and number:
            continue
        for query, expected in judge.changes(held).items():
            changed[query] += number > 0 and expected not in (Counter(), True, False)
            for name in graphs:
                assert followers[name, query].take(commits) == expected, (number, name, query)
        commits = 0
    for (name, query), follower in followers.items():
        assert "ORDER BY" not in queries(entails)[query] or judge.is_in_order(query, follower), (name, query)
    assert held == set(triples)
    if HUNT:  # a part may change little
        assert changed.total() > (60 if entails else 200)
    for name, graph in graphs.items():
        assert set(graph) == starts[name]


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


def test_history_is_there() -> None:
    """The history and all 29 queries of its maintainers are at hand."""
    assert len(maintainers()) == 29


def test_the_query_that_is_not_sparql_says_where() -> None:
    """The one query that no engine can read is refused at the place where it stops being SPARQL."""
    with pytest.raises(rdflive.QuerySyntaxError) as refusal:
        rdflive.explain(maintainers()[NOT_SPARQL])
    assert refusal.value.line == 3
