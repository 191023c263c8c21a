"""Kinds go from asking the graph to counting and back while deltas go on."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, URIRef

import rdflive
from rdflive.entail import kinds, rdfs
from rdflive.entail.table import EntailedTable
from support.effort import drawn_from
from support.entailment import make_commits, saturated, world

EX = "http://example.org/"
A, B, SEES = URIRef(EX + "A"), URIRef(EX + "B"), URIRef(EX + "sees")


def watched(graph: rdflib.Graph, query: str, **options: Any) -> tuple[rdflive.Subscription, Counter[Any]]:
    """Follow a query; gives what its deltas add up to."""
    total: Counter[Any] = Counter()

    def take(delta: rdflive.Delta) -> None:
        for solution, weight in delta.weights().items():
            total[solution] += weight
            assert total[solution] in (0, 1)

    return rdflive.subscribe(graph, query, take, entailment="rdfs", **options), total


@pytest.fixture
def flips(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Make the choice nervous, and count how often it changes."""
    seen: Counter[str] = Counter()
    for name, value in (("LEAST", 0), ("RENT", 10.0)):
        monkeypatch.setattr(kinds, name, value)
    monkeypatch.setattr(rdfs, "LOOKS", 2)
    for name in ("keep", "forget"):
        plain = getattr(EntailedTable, name)

        def counted(table: EntailedTable, *args: Any, name: str = name, plain: Any = plain) -> None:
            seen[name] += name == "keep" or table.counts is not None
            plain(table, *args)

        monkeypatch.setattr(EntailedTable, name, counted)
    return seen


@pytest.mark.parametrize("seed", range(4))
def test_auto_changes_without_losing_a_delta(flips: Counter[str], seed: int) -> None:
    """However often a kind changes between counting and asking, deltas add up to what is entailed."""
    graph = rdflib.Graph()
    subscription, total = watched(graph, "SELECT ?s ?p ?o { ?s ?p ?o }")
    present: set[Any] = set()
    for writes in make_commits(drawn_from("flips", seed), world(), 120):
        with rdflive.batch(graph):
            for sign, triple in writes:
                (graph.add if sign > 0 else graph.remove)(triple)
                (present.add if sign > 0 else present.discard)(triple)
        assert set(+total) == saturated(present)
    subscription.close()
    assert min(flips["keep"], flips["forget"]) > 5


def test_auto_counts_what_is_asked_for_often() -> None:
    """A class whose triples come and go is asked for at first, and counted when that has cost as much."""
    graph = rdflib.Graph()
    graph.add((A, RDFS.subClassOf, B))
    subscription, _ = watched(graph, f"SELECT ?x {{ ?x a <{B}> }}")
    assert "reformulated, 2 ways" in subscription.explain().entailed[0]
    for _ in range(60):
        graph.add((SEES, RDF.type, A))
        graph.remove((SEES, RDF.type, A))
    assert "saturated, 2 ways" in subscription.explain().entailed[0]


def test_auto_forgets_what_is_never_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that is counted and does not change is given up when its memory has cost more than it saves."""
    monkeypatch.setattr(kinds, "RENT", 1.0)
    monkeypatch.setattr(rdfs, "LOOKS", 16)
    graph = rdflib.Graph()
    graph.add((A, RDFS.subClassOf, B))
    graph.add((URIRef(EX + "x"), RDF.type, A))
    subscription, _ = watched(graph, f"SELECT ?x {{ ?x a <{B}> . ?x <{SEES}> ?y }}")
    for _ in range(60):
        graph.add((SEES, RDF.type, A))
        graph.remove((SEES, RDF.type, A))
    assert "saturated" in subscription.explain().entailed[0]
    for _ in range(600):
        graph.add((A, SEES, B))
        graph.remove((A, SEES, B))
    assert "reformulated" in subscription.explain().entailed[0]


def test_auto_pays_for_memory_from_when_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that began to be counted a short while ago is kept, however long the graph was there before."""
    monkeypatch.setattr(kinds, "RENT", 1.0)
    monkeypatch.setattr(rdfs, "LOOKS", 16)
    graph = rdflib.Graph()
    graph.add((A, RDFS.subClassOf, B))
    # whole, so that each change is looked at
    text = f"SELECT ?x {{ ?x a <{B}> . ?x <{SEES}> ?y }}"
    subscription, _ = watched(graph, text, algorithm="whole")
    for _ in range(600):
        graph.add((A, SEES, B))
        graph.remove((A, SEES, B))
    graph.add((URIRef(EX + "x"), RDF.type, A))
    ways = []
    for _ in range(80):
        graph.add((SEES, RDF.type, A))
        graph.remove((SEES, RDF.type, A))
        ways.append(subscription.explain().entailed[0].partition(",")[0].rpartition(" ")[2])
    assert list(dict.fromkeys(pairwise(ways))) == [
        ("reformulated", "reformulated"),
        ("reformulated", "saturated"),
        ("saturated", "saturated"),
    ]


@pytest.mark.parametrize("strategy", ["saturate", "reformulate"])
def test_strategy_that_is_asked_for_stays(strategy: str) -> None:
    """Only auto changes its mind."""
    graph = rdflib.Graph()
    graph.add((A, RDFS.subClassOf, B))
    subscription, _ = watched(graph, f"SELECT ?x {{ ?x a <{B}> }}", strategy=strategy)
    for _ in range(200):
        graph.add((SEES, RDF.type, A))
        graph.remove((SEES, RDF.type, A))
    assert f"{strategy}d, " in subscription.explain().entailed[0]
