"""What `subscribe` takes for entailment, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, URIRef

import rdflive
from rdflive.delivery import membership
from rdflive.entail.rdfs import RdfsEntailment
from rdflive.plugins import manager

EX = rdflib.Namespace("http://example.org/")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"entailment": "owl"},
            "entailment must be None or 'rdfs', got 'owl'; for a rule set give rules='owl-rl'",
        ),
        ({"entailment": "rdfs", "strategy": None}, "strategy must be 'auto' or"),
        (
            {"entailment": "rdfs", "strategy": "fast"},
            "strategy must be 'auto' or 'saturate' or 'reformulate'",
        ),
        ({"entailment": "rdfs", "counts": "all"}, "counts must be None or 'support' or 'paths', got 'all'"),
        ({"strategy": "saturate"}, "need entailment='rdfs'"),
        ({"counts": "paths"}, "need entailment='rdfs'"),
        ({"entailment": "rdfs", "rules": "rdfs"}, "cannot be combined"),
        ({"rules": "rdfs", "strategy": "reformulate"}, "rules are materialised"),
        ({"entailment": "rdfs", "counts": "paths", "strategy": "reformulate"}, "needs counted triples"),
        ({"provenance": True}, "provenance needs entailment="),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], message: str) -> None:
    """The error names the option and what it takes, and the graph is left alone."""
    graph = rdflib.Graph()
    with pytest.raises(ValueError, match=message):
        rdflive.subscribe(graph, "ASK { ?s ?p ?o }", **options)
    assert type(graph.store) is type(rdflib.Graph().store)


@pytest.mark.parametrize(
    "query", ["SELECT * { GRAPH ?g { ?s ?p ?o } }", "SELECT * FROM <u:a> FROM <u:b> { ?s ?p ?o }"]
)
def test_entailment_of_all_graphs_at_once_is_refused(query: str) -> None:
    """Each graph entails by itself."""
    with pytest.raises(rdflive.UnsupportedQueryError, match="each graph entails by itself; name the graph"):
        rdflive.subscribe(rdflib.Dataset(), query, entailment="rdfs")


def test_graphs_of_a_dataset_entail_by_themselves() -> None:
    """The schema of one graph says nothing of the data of another."""
    dataset = rdflib.Dataset()
    one, other = dataset.graph(EX.one), dataset.graph(EX.other)
    seen: list[Any] = []
    query = f"SELECT ?x {{ GRAPH <{EX.one}> {{ ?x a <{EX.Animal}> }} }}"
    rdflive.subscribe(dataset, query, lambda delta: seen.extend(delta.added), entailment="rdfs")
    other.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    one.add((EX.rex, RDF.type, EX.Dog))
    assert seen == []
    one.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    assert [solution.x for solution in seen] == [EX.rex]


def test_subscriptions_with_and_without_entailment_share_a_graph() -> None:
    """Each sees its own, whichever closes first."""
    graph = rdflib.Graph()
    query = f"SELECT ?x {{ ?x a <{EX.Animal}> }}"
    kinds: list[dict[str, Any]] = [
        {},
        {"entailment": "rdfs"},
        {"entailment": "rdfs", "strategy": "reformulate"},
    ]
    open_ = [rdflive.subscribe(graph, query, **kind) for kind in kinds]
    graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    graph.add((EX.rex, RDF.type, EX.Dog))
    assert [len(s.answers()) for s in open_] == [0, 1, 1]
    open_.pop(0).close()
    graph.add((EX.tom, RDF.type, EX.Dog))
    assert [len(s.answers()) for s in open_] == [2, 2]
    for subscription in open_:
        subscription.close()
    assert type(graph.store) is type(rdflib.Graph().store)


def test_only_what_is_wanted_is_saturated() -> None:
    """A subscription keeps the classes and properties that its patterns name."""
    graph = rdflib.Graph()
    graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    graph.add((EX.walks, RDFS.subPropertyOf, EX.feeds))
    for i in range(5):
        graph.add((URIRef(f"{EX}{i}"), EX.walks, EX.rex))
    query = f"SELECT ?x {{ ?x a <{EX.Animal}> }}"
    subscription = rdflive.subscribe(graph, query, entailment="rdfs", strategy="saturate")
    (line,) = subscription.explain().entailed
    assert "Animal: saturated, 2 ways to entail it; 0 entries" in line
    assert subscription.stats.updates == 0
    graph.add((EX.ann, EX.walks, EX.rex))
    assert subscription.stats.matched == 0


def test_resume_knows_the_entailment(tmp_path: Any) -> None:
    """The same query with another entailment is another subscriber's."""
    graph = rdflib.Graph()
    options: dict[str, Any] = {"resume": tmp_path / "journal", "name": "me"}
    rdflive.subscribe(graph, "ASK { ?s ?p ?o }", entailment="rdfs", **options).close()
    rdflive.subscribe(graph, "ASK { ?s ?p ?o }", entailment="rdfs", strategy="reformulate", **options).close()
    with pytest.raises(rdflive.ResumeError):
        rdflive.subscribe(graph, "ASK { ?s ?p ?o }", **options)


def test_close_that_is_interrupted_lets_the_graph_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second subscription goes on, and after it the store is its own again."""
    graph = rdflib.Graph()
    graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    seen: list[rdflive.Delta] = []
    # members of one family, so that what is interrupted is a change of what it asks for
    queries = (f"SELECT ?x {{ ?x a <{name}> }}" for name in (EX.Plant, EX.Animal))
    first, second = (rdflive.subscribe(graph, query, seen.append, entailment="rdfs") for query in queries)
    plain = RdfsEntailment.unwant

    def interrupt(self: Any, patterns: Any) -> None:
        monkeypatch.setattr(RdfsEntailment, "unwant", plain)
        raise KeyboardInterrupt

    monkeypatch.setattr(RdfsEntailment, "unwant", interrupt)
    with pytest.raises(KeyboardInterrupt):
        first.close()
    graph.add((EX.rex, RDF.type, EX.Dog))
    assert [s.x for s in seen[-1].added] == [EX.rex]
    second.close()
    assert type(graph.store) is type(rdflib.Graph().store)


def test_endpoint_feeds_fetch_what_a_saturated_graph_needs() -> None:
    """What is entailed may depend on any triple, so all of them are wanted."""
    graph = rdflib.Graph()
    with rdflive.saturate(graph), manager.locked(graph.store) as adapter:
        assert {str(pattern) for _, pattern in membership.patterns(adapter)} == {"?s ?p ?o"}


def test_names_that_nobody_asks_for_are_forgotten() -> None:
    """Subscriptions that come and go leave no classes behind, and those that stay go on."""
    graph = rdflib.Graph()
    graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    query = "SELECT ?x {{ ?x a <{}> }}"
    kept = rdflive.subscribe(graph, query.format(EX.Animal), entailment="rdfs")
    for i in range(400):
        rdflive.subscribe(graph, query.format(f"{EX}{i}"), entailment="rdfs").close()
    (view,) = kept._state.views.values()
    assert len(view.entailment._kinds.templates.classes) < 250
    graph.add((EX.rex, RDF.type, EX.Dog))
    assert len(kept.answers()) == 1
