"""Solutions that know where they came from."""

from __future__ import annotations

import pickle

import pytest
import rdflib
from rdflib import RDF, RDFS

import rdflive

EX = rdflib.Namespace("http://example.org/")
QUERY = f"SELECT ?x {{ ?x a <{EX.Animal}> ; <{EX.seen}> ?when }}"
INFERRED = rdflive.Origin(inferred=True, rules=("rdfs9",))


@pytest.fixture
def graph() -> rdflib.Graph:
    made = rdflib.Graph()
    made.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    return made


def followed(graph: rdflib.Graph, query: str = QUERY) -> list[rdflive.Delta]:
    deltas: list[rdflive.Delta] = []
    rdflive.subscribe(graph, query, deltas.append, entailment="rdfs", provenance=True)
    return deltas


def test_origin_names_the_rules(graph: rdflib.Graph) -> None:
    """A solution that the graph itself does not give names the rules behind it, when it comes and goes."""
    deltas = followed(graph)
    graph.add((EX.rex, RDF.type, EX.Dog))
    graph.add((EX.rex, EX.seen, EX.today))
    assert [s.origin for s in deltas[-1].added] == [INFERRED]
    graph.remove((EX.rex, RDF.type, EX.Dog))
    assert [s.origin for s in deltas[-1].removed] == [INFERRED]


def test_origin_is_that_of_the_first_appearance(graph: rdflib.Graph) -> None:
    """A solution that becomes explicit keeps the origin it came with, as no delta says otherwise."""
    deltas = followed(graph)
    graph.add((EX.rex, EX.seen, EX.today))
    graph.add((EX.rex, RDF.type, EX.Dog))
    graph.add((EX.rex, RDF.type, EX.Animal))
    graph.remove((EX.rex, EX.seen, EX.today))
    assert [s.origin for s in deltas[-1].removed] == [INFERRED]
    graph.add((EX.rex, EX.seen, EX.today))
    assert [s.origin for s in deltas[-1].added] == [rdflive.Origin(inferred=False)]


def test_origin_survives_merging_negating_and_pickling(graph: rdflib.Graph) -> None:
    """It goes wherever the solution goes."""
    deltas = followed(graph)
    graph.add((EX.rex, EX.seen, EX.today))
    graph.add((EX.rex, RDF.type, EX.Dog))
    (solution,) = pickle.loads(pickle.dumps(deltas[0] + deltas[1])).added
    assert solution.origin == INFERRED
    assert pickle.loads(pickle.dumps(solution)).origin == INFERRED
    assert [s.origin for s in (-deltas[1]).removed] == [INFERRED]


def test_origin_of_the_initial_answer(graph: rdflib.Graph) -> None:
    """The first delta has origins too, and so has that of a later iterator."""
    graph.add((EX.rex, EX.seen, EX.today))
    graph.add((EX.rex, RDF.type, EX.Dog))
    assert [s.origin for s in followed(graph)[0].added] == [INFERRED]
    subscription = rdflive.subscribe(graph, QUERY, print, entailment="rdfs", provenance=True, initial=True)
    assert [s.origin for s in next(subscription.deltas()).added] == [INFERRED]
    graph.remove((EX.rex, EX.seen, EX.today))
    assert len(subscription.answers()) == 0


def test_origin_without_the_initial_delta(graph: rdflib.Graph) -> None:
    """What was there at the beginning has an origin too, and later iterators leave origins alone."""
    graph.add((EX.rex, EX.seen, EX.today))
    graph.add((EX.rex, RDF.type, EX.Animal))
    graph.add((EX.rex, RDF.type, EX.Dog))
    deltas: list[rdflive.Delta] = []
    options = {"entailment": "rdfs", "provenance": True, "initial": False}
    subscription = rdflive.subscribe(graph, QUERY, deltas.append, **options)
    graph.remove((EX.rex, RDF.type, EX.Animal))
    subscription.deltas()
    graph.remove((EX.rex, RDF.type, EX.Dog))
    assert [s.origin for s in deltas[-1].removed] == [rdflive.Origin(inferred=False)]
    graph.add((EX.rex, RDF.type, EX.Dog))
    assert [s.origin for s in deltas[-1].added] == [INFERRED]
    assert len(subscription._maker._tracer.origins()) == 1


def test_origin_is_that_of_a_match_that_holds_together(graph: rdflib.Graph) -> None:
    """A triple with two terms where the pattern has one variable twice explains nothing."""
    graph.add((EX.own, RDFS.subPropertyOf, EX.knows))
    graph.add((EX.rex, EX.seen, EX.today))
    graph.add((EX.ann, EX.knows, EX.bob))
    deltas = followed(graph, f"SELECT ?x {{ ?x <{EX.seen}> ?when . ?y <{EX.knows}> ?y }}")
    graph.add((EX.ann, EX.own, EX.ann))
    assert [s.origin for s in deltas[-1].added] == [rdflive.Origin(inferred=True, rules=("rdfs7",))]


def test_origin_is_found_anew_after_a_resync(graph: rdflib.Graph) -> None:
    """The whole answer comes with the origins of now, and later ones begin with it."""
    deltas: list[rdflive.Delta] = []
    graph.add((EX.rex, EX.seen, EX.today))
    graph.add((EX.rex, RDF.type, EX.Dog))
    subscription = rdflive.subscribe(graph, QUERY, deltas.append, entailment="rdfs", provenance=True)
    graph.add((EX.rex, RDF.type, EX.Animal))
    subscription.resync()
    assert [s.origin for s in deltas[-1].added] == [rdflive.Origin(inferred=False)]
    graph.remove((EX.rex, RDF.type, EX.Animal))
    graph.remove((EX.rex, EX.seen, EX.today))
    graph.add((EX.rex, EX.seen, EX.today))
    assert [s.origin for s in deltas[-1].added] == [INFERRED]


@pytest.mark.parametrize(
    "query",
    [
        "ASK { ?x ?p ?y }",
        "SELECT (COUNT(*) AS ?n) { ?x ?p ?y }",
        "SELECT ?x { ?x ?p ?y OPTIONAL { ?y ?q ?z } }",
        "SELECT ?x { ?x ?p ?y FILTER(?y > 1) }",
        "SELECT ?x { { ?x ?p 1 } UNION { ?x ?p 2 } }",
    ],
)
def test_provenance_refuses_what_has_no_one_match(graph: rdflib.Graph, query: str) -> None:
    """Where a solution is not one match of one pattern the error says what would be."""
    with pytest.raises(rdflive.UnsupportedQueryError, match="provenance=True needs"):
        rdflive.subscribe(graph, query, entailment="rdfs", provenance=True)
    assert type(graph.store) is type(rdflib.Graph().store)


def test_provenance_takes_filters_over_what_is_shown(graph: rdflib.Graph) -> None:
    """Filters, BIND and DISTINCT may stand around the pattern."""
    graph.add((EX.rex, RDF.type, EX.Dog))
    query = f"SELECT DISTINCT ?x ?y {{ ?x a <{EX.Animal}> FILTER(isIRI(?x)) BIND(STR(?x) AS ?y) }}"
    (solution,) = followed(graph, query)[0].added
    assert (solution.x, solution.origin) == (EX.rex, INFERRED)
