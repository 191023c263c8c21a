"""The thresholds of saturation: the arithmetic of the thresholds, and what is measured."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF, RDFS, URIRef

import rdflive
from bench.thresholds import Thresholds, UpdateTimes, runs_to_amortise, thresholds
from rdflive.api.reformulate import Reformulation
from rdflive.api.saturated import saturate

module = sys.modules["bench.thresholds"]  # the package may call the function by the same name
MEASURED = Thresholds(
    explicit=100,
    entailed=150,
    answers=7,
    members=3,
    saturation=10.0,
    on_saturated=1.0,
    reformulated=3.0,
    instance_insert=UpdateTimes(plain=1.0, maintained=4.0),
    instance_delete=UpdateTimes(plain=1.0, maintained=7.0),
    schema_insert=UpdateTimes(plain=0.5, maintained=20.5),
    schema_delete=UpdateTimes(plain=0.5, maintained=0.25),
)
DATA = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <http://e/> .
:Express rdfs:subClassOf :Train . :stops rdfs:domain :Train ; rdfs:range :Station .
:ic1 a :Express . :ic2 :stops :north, "a literal" . _:b a :Train .
"""
QUERY = "PREFIX : <http://e/> SELECT ?x ?c { ?x a ?c }"


@pytest.mark.parametrize(
    ("price", "gain", "runs"),
    [
        (10.0, 2.0, 6),  # five runs only make up for it, and more is asked for
        (9.0, 2.0, 5),
        (0.0, 2.0, 1),
        (-3.0, 2.0, 1),
        (1.0, 2.0, 1),
        (1.0, 0.0, None),
        (-1.0, 0.0, None),
        (1.0, -2.0, None),
    ],
)
def test_a_threshold_is_the_least_number_of_runs_that_gain_more(
    price: float, gain: float, runs: int | None
) -> None:
    """A run that gains nothing never makes up for anything; a query that is not run gains nothing."""
    assert runs_to_amortise(price, gain) == runs


@given(st.integers(-1000, 1_000_000), st.integers(1, 1000))
def test_a_threshold_is_where_its_definition_puts_it(price: int, gain: int) -> None:
    """At the threshold n the gain is more than the price, and with one run less it is not."""
    n = runs_to_amortise(price, gain)
    assert n is not None
    assert n * gain > price
    assert n == 1 or (n - 1) * gain <= price


def test_the_five_thresholds_use_what_maintenance_costs_beyond_the_change() -> None:
    """Saturation is paid as a whole, a change by what it takes longer than in the graph alone."""
    assert MEASURED.gain == 2.0
    assert MEASURED.st == 6
    assert (MEASURED.st_instance_insert, MEASURED.st_instance_delete) == (2, 4)
    assert (MEASURED.st_schema_insert, MEASURED.st_schema_delete) == (11, 1)
    assert MEASURED.recommendation == (
        "saturate if the query is run at least 6 times, 4 times per change of an instance triple and 11 "
        "times per change of a schema triple; else reformulate"
    )


INSTANCES = (
    "saturate if the query is run at least 6 times, 4 times per change of an instance triple; "
    "else reformulate"
)
WITHOUT_SCHEMA = {"schema_insert": None, "schema_delete": None}
WITHOUT_CHANGES = WITHOUT_SCHEMA | {"instance_insert": None, "instance_delete": None}


@pytest.mark.parametrize(
    ("changed", "schema", "recommended"),
    [
        ({"on_saturated": 3.0}, None, "reformulate: "),  # a run gains nothing, whatever changes cost
        (WITHOUT_SCHEMA, None, INSTANCES),
        (WITHOUT_CHANGES, None, "saturate if the query is run at least 6 times; else reformulate"),
        ({"entailed": 100}, 11, "neither: "),  # which of two ways to ask for the same is faster is chance
    ],
)
def test_what_is_not_measured_or_gains_nothing_has_no_threshold(
    changed: dict[str, Any], schema: int | None, recommended: str
) -> None:
    """The recommendation says of the rest what is to be said."""
    found = replace(MEASURED, **changed)
    assert found.st_schema_insert == schema
    assert (found.st is None) == ("on_saturated" in changed)
    assert found.recommendation.startswith(recommended)


def memory() -> Any:
    return rdflib.Graph().parse(data=DATA, format="turtle")


def union() -> Any:
    dataset = rdflib.Dataset(default_union=True)
    dataset.graph(URIRef("urn:one")).parse(data=DATA, format="turtle")
    return dataset


def native() -> Any:
    pyoxigraph = pytest.importorskip("pyoxigraph", reason="the oxigraph extra is not installed")
    store = rdflive.LiveStore(pyoxigraph.Store())
    store.load(DATA.encode(), format=pyoxigraph.RdfFormat.TURTLE)
    return store


@pytest.mark.parametrize("make", [memory, union, native])
def test_sizes_are_those_of_the_saturation(make: Any) -> None:
    """All graphs that can be subscribed to are measured, and are as they were afterwards."""
    graph = make()
    steps: list[str] = []
    before = 7 if make is native else set(graph.triples((None, None, None)))
    measured = thresholds(QUERY, graph, runs=1, on_step=steps.append)
    # Train of ic1 and of ic2, Station of north; none of the literal
    assert (measured.explicit, measured.entailed, measured.answers) == (7, 10, 5)
    assert measured.members is not None
    assert measured.members > 1
    times = [
        measured.instance_insert,
        measured.instance_delete,
        measured.schema_insert,
        measured.schema_delete,
    ]
    assert all(pair is not None and pair.plain > 0 and pair.maintained > 0 for pair in times)
    assert before == (len(graph) if make is native else set(graph.triples((None, None, None))))
    assert steps[0] == "changes of the graph alone"
    assert len(steps) == 5


def test_each_time_is_that_of_its_own_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only the work drives, inserts, deletes, saturation and queries are told apart."""
    now = 0.0
    is_maintained = False
    add, remove, evaluate = rdflib.Graph.add, rdflib.Graph.remove, Reformulation.evaluate

    def tick(seconds: float) -> None:
        nonlocal now
        now += seconds

    def ticking(method: Any, plain: float, maintained: float) -> Any:
        def call(graph: Any, triple: Any) -> Any:
            is_schema = triple[1] == RDFS.subClassOf or triple[1] in (RDFS.domain, RDFS.range)
            tick((maintained if is_maintained else plain) * (100 if is_schema else 1))
            return method(graph, triple)

        return call

    @contextmanager
    def saturating(graph: Any) -> Iterator[Any]:
        nonlocal is_maintained
        tick(1000.0)
        with saturate(graph) as saturated:
            is_maintained = True
            yield saturated
            is_maintained = False
            tick(5000.0)

    def evaluating(reformulation: Reformulation, graph: Any) -> Any:
        tick(7.0 if reformulation._schema.triples else 3.0)
        return evaluate(reformulation, graph)

    monkeypatch.setattr(module, "perf_counter", lambda: now)
    monkeypatch.setattr(module, "saturate", saturating)
    monkeypatch.setattr(Reformulation, "evaluate", evaluating)
    graph = memory()
    monkeypatch.setattr(rdflib.Graph, "add", ticking(add, 0.001, 0.004))
    monkeypatch.setattr(rdflib.Graph, "remove", ticking(remove, 0.002, 0.008))
    measured = thresholds(QUERY, graph)
    assert (measured.saturation, measured.on_saturated, measured.reformulated) == (1000.0, 3.0, 7.0)
    assert [
        (round(times.plain, 6), round(times.maintained, 6))
        for times in (
            measured.instance_insert,
            measured.instance_delete,
            measured.schema_insert,
            measured.schema_delete,
        )
        if times is not None
    ] == [(0.001, 0.004), (0.002, 0.008), (0.1, 0.4), (0.2, 0.8)]


def test_an_empty_graph_is_measured() -> None:
    """Without triples there is nothing to change."""
    measured = thresholds(QUERY, rdflib.Graph(), runs=1)
    assert (measured.explicit, measured.entailed, measured.answers, measured.members) == (0, 0, 0, 1)
    assert measured.instance_insert is measured.schema_delete is None
    assert measured.recommendation.startswith("neither: ")


def test_a_graph_with_other_terms_than_rdflib_has_is_refused() -> None:
    """Oxigraph holds triples as objects."""
    ox = pytest.importorskip("pyoxigraph", reason="the oxigraph extra is not installed")
    store = rdflive.LiveStore(ox.Store())
    a = ox.NamedNode("urn:a")
    store.add(ox.Quad(a, a, ox.Triple(a, a, a)))
    with pytest.raises(rdflive.RdfliveError, match=r"measure it: rdflib cannot hold"):
        thresholds(QUERY, store)


def test_prefixes_of_the_graph_and_given_ones_may_be_used() -> None:
    """A query is read as by `subscribe`."""
    graph = memory()
    assert thresholds("ASK { ?x rdf:type :Train }", graph, runs=1).answers == 1
    assert thresholds("ASK { ?x rdf:type e:Train }", graph, initNs={"e": "http://e/"}, runs=1).answers == 1


def test_a_reformulation_that_is_too_large_is_not_counted() -> None:
    """The thresholds are measured all the same: nothing needs the members."""
    graph = rdflib.Graph()
    for number in range(120):
        graph.add((URIRef(f"urn:C{number}"), RDFS.subClassOf, URIRef("urn:C")))
    graph.add((URIRef("urn:x"), RDF.type, URIRef("urn:C7")))
    measured = thresholds("ASK { ?x a <urn:C> . ?y a <urn:C> }", graph, runs=1)
    assert (measured.members, measured.answers) == (None, 1)


@pytest.mark.parametrize("runs", [0, -1, True, 2.0, "3"])
def test_runs_is_a_number_from_one_on(runs: Any) -> None:
    """Anything else is refused with what was given."""
    with pytest.raises(ValueError, match="runs must be a whole number from 1 on, got"):
        thresholds(QUERY, rdflib.Graph(), runs=runs)


def test_what_cannot_be_reformulated_is_refused() -> None:
    """The query is one basic graph pattern, and the schema entails no schema."""
    with pytest.raises(rdflive.UnsupportedQueryError, match="OPTIONAL"):
        thresholds("SELECT * { ?x ?y ?z OPTIONAL { ?x ?z ?y } }", rdflib.Graph())
    graph = rdflib.Graph()
    graph.add((URIRef("urn:p"), RDFS.subPropertyOf, RDFS.subClassOf))
    with pytest.raises(rdflive.SchemaError):
        thresholds(QUERY, graph)
