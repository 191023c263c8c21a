"""What the server tells of the vocabulary of its data, and the first query that it makes of them."""

from __future__ import annotations

import asyncio
import html
import json
import re
import threading
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, Literal, URIRef

import rdflive
from rdflive.server import slices
from rdflive.server.vocabulary import DataVocabulary
from support.effort import rounds
from support.protocol import asked, updated
from support.serving import serving

pytestmark = pytest.mark.posix("the server forks")

E = rdflib.Namespace("http://example.org/")
STORES = ["Oxigraph", "default"]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts do not rest, neither after one another nor between their slices."""
    monkeypatch.setattr("rdflive.server.vocabulary._REST", 0.0)
    monkeypatch.setattr(slices, "PAUSE", 0.0)


class Count:
    """The vocabulary of a dataset in this process, which is asked as the server asks it."""

    def __init__(self, dataset: rdflib.Dataset) -> None:
        self.commits = 0
        self.vocabulary = DataVocabulary(dataset, lambda: self.commits)

    def ask(self) -> dict[str, Any]:
        """Ask once."""
        told: dict[str, Any] = json.loads(asyncio.run(self.vocabulary.result()))
        return told

    def all(self) -> dict[str, Any]:
        """Ask after another commit, when all is counted."""
        self.commits += 1
        while self.vocabulary._sequence != self.commits:
            self.ask()  # a count rests first as long as the last one took
        assert self.vocabulary._thread is not None
        self.vocabulary._thread.join()
        return self.ask()


def uses(told: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(one["iri"], one["uses"]) for one in told]


def solutions(dataset: rdflib.Dataset, query: str) -> int:
    """Subscribe to a query, and count what it has."""
    with rdflive.subscribe(dataset, query) as subscription:
        return len(subscription.answers())


def trains(store: str, count: int = 3) -> rdflib.Dataset:
    """A dataset of trains: each has a delay, the first a label too, and stops at two stations."""
    dataset = rdflib.Dataset(store=store)
    dataset.bind("", E)
    for number in range(count):
        train = E[f"T{number}"]
        dataset.add((train, RDF.type, E.Train))
        dataset.add((train, E.delay, Literal(number)))
        dataset.add((train, E.stop, E.A))
        dataset.add((train, E.stop, E.B))
    dataset.add((E.T0, RDFS.label, Literal("Dunes", lang="en")))
    return dataset


@pytest.mark.parametrize("store", STORES)
def test_predicates_and_classes_come_by_use(store: str) -> None:
    """Those of all graphs, most used first, each with its exact number once the count is complete."""
    dataset = trains(store)
    dataset.graph(E.g).add((E.S, RDF.type, E.Station))
    dataset.add((E.x, RDF.type, rdflib.BNode()))  # a class without a name
    with serving(dataset) as server:
        told = asked(server, "GET", "/vocabulary").json
    assert told["complete"]
    assert told["triples"] == 15
    by_use = [(str(E.stop), 6), (str(RDF.type), 5), (str(E.delay), 3), (str(RDFS.label), 1)]
    assert uses(told["predicates"]) == by_use
    assert uses(told["classes"]) == [(str(E.Train), 3), (str(E.Station), 1)]


def test_count_follows_the_data() -> None:
    """A later request counts added names, and no removed ones."""
    dataset = trains("Oxigraph")
    count = Count(dataset)
    assert count.all()["complete"]
    dataset.remove((None, RDFS.label, None))
    dataset.add((E.T1, E.late, Literal(True)))
    found = dict(uses(count.all()["predicates"]))
    assert str(E.late) in found
    assert str(RDFS.label) not in found


def test_large_data_are_told_as_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request waits for half a second at most, and gets the counts so far and a quick query."""
    go_on = threading.Event()
    take = slices.QuadSlices.take

    def held(self: slices.QuadSlices, triples: Any, most: int = slices.SLICE) -> list[Any]:
        # the first slices come at once, and the rest when the test says so
        calls.append(most)
        if len(calls) > 6:
            go_on.wait(60)
        return take(self, triples, most)

    calls: list[int] = []
    monkeypatch.setattr(slices.QuadSlices, "take", held)
    dataset = trains("Oxigraph", 1000)
    count = Count(dataset)
    told = count.ask()
    assert not told["complete"]
    assert 0 < told["triples"] < 4001
    assert solutions(dataset, told["first"]) > 0
    go_on.set()
    told = count.all()
    assert told["triples"] == 4001
    assert dict(uses(told["classes"])) == {str(E.Train): 1000}


def test_more_names_than_are_kept_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory for names is bounded: of more predicates than are counted, the first ones met are told."""
    monkeypatch.setattr("rdflive.server.vocabulary._COUNTED", 20)
    monkeypatch.setattr("rdflive.server.vocabulary._SHOWN", 10)
    dataset = rdflib.Dataset(store="Oxigraph")
    for number in range(100):
        dataset.add((E.x, E[f"p{number}"], Literal(1)))
    told = Count(dataset).all()
    assert (told["triples"], len(told["predicates"])) == (100, 10)


def test_count_that_takes_long_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its partial counts are returned as incomplete; it does not restart while the data are the same."""
    monkeypatch.setattr("rdflive.server.vocabulary._LONGEST", 0.0)
    dataset = trains("Oxigraph", 1000)
    count = Count(dataset)
    while (told := count.ask())["triples"] != slices.SLICE:
        pass
    assert count.ask() == told
    assert solutions(dataset, told["first"]) > 0
    assert not told["complete"]
    offered = dict(uses(told["predicates"]))
    assert sum(offered.values()) == slices.SLICE
    assert dict(uses(told["classes"])) == {str(E.Train): offered[str(RDF.type)]}


def test_names_that_no_query_can_write_are_not_told() -> None:
    """A graph may hold them; in a query they would be read as something else."""
    dataset = rdflib.Dataset(store="default")
    odd = ["urn:x> } ; DROP ALL #", "urn:a b", 'urn:"', "urn:{x}", "relative"]
    for name in odd:
        dataset.store.add((E.x, URIRef(name), Literal(1)), dataset.default_graph)
        dataset.store.add((URIRef(name), RDF.type, URIRef(name)), dataset.default_graph)
    told = Count(dataset).all()
    assert told["triples"] == 2 * len(odd)
    assert uses(told["predicates"]) == [(str(RDF.type), len(odd))]
    assert told["classes"] == []


def test_server_ends_in_the_middle_of_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long count does not hold up the end."""
    monkeypatch.setattr(slices, "PAUSE", 60)
    with serving(trains("Oxigraph")) as server:
        assert not asked(server, "GET", "/vocabulary").json["complete"]
    assert "rdflive-vocabulary" not in [thread.name for thread in threading.enumerate()]


def test_a_process_can_be_forked_beside_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries and updates of other clients go on, in processes whose store no lock is left in."""
    monkeypatch.setattr(slices, "PAUSE", 0.005)
    with serving(trains("Oxigraph", 5_000)) as server:
        before = asked(server, "GET", "/vocabulary").json
        for number in range(rounds(20)):
            update = f"INSERT {{ ?x <{E.seen}> {number} }} WHERE {{ ?x <{RDFS.label}> ?label }}"
            assert updated(server, update).status == 204
        assert not before["complete"]
        assert len(list(server.dataset.objects(E.T0, E.seen))) == rounds(20)


@pytest.mark.parametrize("store", STORES)
def test_first_query_is_made_of_the_data(store: str) -> None:
    """It has the things of a class with what each has once, and may be subscribed to as it stands."""
    dataset = trains(store)
    first = Count(dataset).all()["first"]
    assert first == (
        "# Train with delay, label\nPREFIX : <http://example.org/>\n"
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
        "SELECT ?train ?delay ?label WHERE {\n  ?train a :Train .\n  ?train :delay ?delay .\n"
        "  OPTIONAL { ?train rdfs:label ?label }\n}\n"
    )
    assert solutions(dataset, first) == 3


def test_first_query_of_a_class_that_is_large_asks_for_one_thing() -> None:
    """Subscribing to it costs little, whatever the size of the data."""
    dataset = trains("Oxigraph", 1001)
    count = Count(dataset)
    for expected in (4005, 4006):
        told = count.all()
        assert told["triples"] == expected
        assert told["first"].startswith("# Triples of T")
        assert solutions(dataset, told["first"]) in (4, 5, 6)
        dataset.add((E.T0, E.late, Literal(True)))


@pytest.mark.parametrize("union", [False, True])
def test_first_query_is_about_what_queries_see(union: bool) -> None:
    """Where all data are in named graphs, which queries do not see by themselves, there is none."""
    dataset = rdflib.Dataset(store="Oxigraph", default_union=union)
    dataset.graph(E.g).add((E.T1, RDF.type, E.Train))
    told = Count(dataset).all()
    assert uses(told["classes"]) == [(str(E.Train), 1)]
    assert bool(told["first"]) is union


def test_first_query_is_of_the_next_class_where_a_query_sees_no_thing_of_the_first() -> None:
    """The most used class may be in named graphs only, or its things without a name.

    The store may bind prefixes that SPARQL has not: a name that begins with a line.
    """
    dataset = trains("Oxigraph")
    dataset.bind("_e", E, replace=True)
    for number in range(5):
        dataset.graph(E.g).add((E[f"S{number}"], RDF.type, E.Station))
        dataset.add((rdflib.BNode(), RDF.type, E.Stop))
    told = Count(dataset).all()
    assert uses(told["classes"])[2] == (str(E.Train), 3)
    assert told["first"].startswith("# Train with delay, label\n")
    assert "PREFIX _e" not in told["first"]
    assert solutions(dataset, told["first"]) == 3


ODD = [
    "http://example.org/",
    "urn:x",
    "urn:ä:ö",
    "http://example.org/1-a.b%20c",
    "http://example.org/a(b)'c;d",
    "http://example.org/deep/a#",
]


@pytest.mark.parametrize("store", STORES)
def test_first_query_takes_odd_names(store: str) -> None:
    """Whatever classes, predicates and things are called, the query is one of them."""
    for iri in ODD:
        dataset = rdflib.Dataset(store=store)
        dataset.bind("x", "http://example.org/")
        dataset.add((E.a, RDF.type, URIRef(iri)))
        for number, predicate in enumerate(ODD):
            dataset.add((E.a, URIRef(predicate), Literal(number)))
        first = Count(dataset).all()["first"]
        assert solutions(dataset, first) == 1, first


def test_first_query_of_nothing_is_none() -> None:
    """An empty graph, and one of blank nodes only, have no query of their own."""
    dataset = rdflib.Dataset(store="Oxigraph")
    for triples in range(2):
        told = Count(dataset).all()
        assert (told["triples"], told["first"]) == (triples, "")
        dataset.add((rdflib.BNode(), E.p, Literal(1)))


def test_page_has_the_prefixes_of_the_data() -> None:
    """All that are bound and that a query can declare, as text only."""
    dataset = rdflib.Dataset(store="Oxigraph")
    odd = {"ä-1": "urn:&quot;'&lt;", "": "http://example.org/"}
    others = {"x": 'urn:"><script>alert(1)</script>', "y": "urn:{nonce}{editor}", "_z": "urn:z", "w": "a b"}
    for prefix, namespace in (odd | others).items():
        dataset.bind(prefix, namespace)
    with serving(dataset) as server:
        text = asked(server, "GET", "/").body.decode()
    assert "<script>alert" not in text
    found = re.search('data-prefixes="([^"]*)"', text)
    assert found is not None
    prefixes = json.loads(html.unescape(found[1]))
    assert prefixes.items() >= odd.items()
    assert not prefixes.keys() & others.keys()
    assert prefixes["rdfs"] == str(RDFS)
    assert 'data-rights="backup read subscribe update"' in text
