"""What the server tells of the vocabulary of its data, and the first query that it makes of them."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any, ClassVar

import pytest
import rdflib
from rdflib import RDF, RDFS, Literal, URIRef

import rdflive
from rdflive.server import slices
from support.serving import Serving, serving

pytestmark = pytest.mark.posix("the server forks")

E = rdflib.Namespace("http://example.org/")
STORES = ["Oxigraph", "default"]


def vocabulary(server: Serving) -> dict[str, Any]:
    """Ask once."""
    with urllib.request.urlopen(f"{server.url}/vocabulary", timeout=30) as response:
        told: dict[str, Any] = json.load(response)
        return told


def settled(server: Serving, is_right: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Ask until a count is as it should be; the test's limit of time is the limit."""
    while not is_right(told := vocabulary(server)):
        time.sleep(0.1)
    return told


def uses(told: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(one["iri"], one["uses"]) for one in told]


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
        told = vocabulary(server)
    assert told["complete"]
    assert told["triples"] == 15
    assert uses(told["predicates"]) == [
        (str(E.stop), 6),
        (str(RDF.type), 5),
        (str(E.delay), 3),
        (str(RDFS.label), 1),
    ]
    assert uses(told["classes"]) == [(str(E.Train), 3), (str(E.Station), 1)]


def test_count_follows_the_data() -> None:
    """What is written is counted when somebody asks later, and what is gone is gone."""
    with serving(trains("Oxigraph")) as server:
        assert vocabulary(server)["complete"]
        server.dataset.remove((None, RDFS.label, None))
        server.dataset.add((E.T1, E.late, Literal(True)))
        told = settled(server, lambda told: str(E.late) in dict(uses(told["predicates"])))
    assert str(RDFS.label) not in dict(uses(told["predicates"]))


def test_large_data_are_told_as_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks waits for half a second at most, gets what was counted, and a query that runs at once."""
    go_on = threading.Event()
    take = slices.Slices.take

    def held(self: slices.Slices, triples: Any, most: int = slices.SLICE) -> list[Any]:
        # the first slices come at once, and the rest when the test says so
        calls.append(most)
        if len(calls) > 6:
            go_on.wait(60)
        return take(self, triples, most)

    calls: list[int] = []
    monkeypatch.setattr(slices.Slices, "take", held)
    with serving(trains("Oxigraph", 1000)) as server:
        told = vocabulary(server)
        assert not told["complete"]
        assert 0 < told["triples"] < 4001
        assert solutions(server.dataset, told["first"]) > 0
        go_on.set()
        told = settled(server, lambda told: bool(told["complete"]))
        assert told["triples"] == 4001
        assert dict(uses(told["classes"])) == {str(E.Train): 1000}


def test_more_names_than_are_kept_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory for names is bounded: of more predicates than are counted, the first ones met are told."""
    monkeypatch.setattr("rdflive.server.vocabulary._COUNTED", 20)
    monkeypatch.setattr("rdflive.server.vocabulary._TOLD", 10)
    dataset = rdflib.Dataset(store="Oxigraph")
    for number in range(100):
        dataset.add((E.x, E[f"p{number}"], Literal(1)))
    with serving(dataset) as server:
        told = vocabulary(server)
    assert (told["triples"], len(told["predicates"])) == (100, 10)


def test_count_that_takes_long_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has is offered, and said not to be all; it is not begun anew while the data are the same."""
    monkeypatch.setattr("rdflive.server.vocabulary._LONGEST", 0.0)
    monkeypatch.setattr("rdflive.server.vocabulary._REST", 0.0)
    with serving(trains("Oxigraph", 1000)) as server:
        told = settled(server, lambda told: told["triples"] == slices.SLICE)
        assert vocabulary(server) == told
        assert solutions(server.dataset, told["first"]) > 0
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
    with serving(dataset) as server:
        told = vocabulary(server)
    assert told["triples"] == 2 * len(odd)
    assert uses(told["predicates"]) == [(str(RDF.type), len(odd))]
    assert told["classes"] == []


def test_server_ends_in_the_middle_of_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long count does not hold up the end."""
    monkeypatch.setattr(slices, "PAUSE", 60)
    with serving(trains("Oxigraph")) as server:
        assert not vocabulary(server)["complete"]
    assert "rdflive-vocabulary" not in [thread.name for thread in threading.enumerate()]


def test_a_process_can_be_forked_beside_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries and updates of other clients go on, in processes whose store no lock is left in."""
    monkeypatch.setattr(slices, "PAUSE", 0.005)
    with serving(trains("Oxigraph", 20_000)) as server:
        before = vocabulary(server)
        for number in range(20):
            update = (
                f"INSERT {{ ?x <http://example.org/seen> {number} }} WHERE {{ ?x <{RDFS.label}> ?label }}"
            )
            request = urllib.request.Request(
                f"{server.url}/update", update.encode(), {"Content-Type": "application/sparql-update"}
            )
            urllib.request.urlopen(request, timeout=60).close()
        assert not before["complete"]
        assert len(list(server.dataset.objects(E.T0, E.seen))) == 20


def solutions(dataset: rdflib.Dataset, query: str) -> int:
    """Subscribe to a query, and count what it has."""
    with rdflive.subscribe(dataset, query) as subscription:
        return len(subscription.answers())


@pytest.mark.parametrize("store", STORES)
def test_first_query_is_made_of_the_data(store: str) -> None:
    """It has the things of a class with what each has once, and may be subscribed to as it stands."""
    dataset = trains(store)
    with serving(dataset) as server:
        first = vocabulary(server)["first"]
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
    with serving(dataset) as server:
        first = settled(server, lambda told: bool(told["complete"]))["first"]
        dataset.add((E.T0, E.late, Literal(True)))
        later = settled(server, lambda told: bool(told["complete"] and told["triples"] == 4006))["first"]
    for query in (first, later):
        assert query.startswith("# What is said of T")
        assert solutions(dataset, query) in (4, 5, 6)


@pytest.mark.parametrize("union", [False, True])
def test_first_query_is_about_what_queries_see(union: bool) -> None:
    """Where all data are in named graphs, which queries do not see by themselves, there is none."""
    dataset = rdflib.Dataset(store="Oxigraph", default_union=union)
    dataset.graph(E.g).add((E.T1, RDF.type, E.Train))
    with serving(dataset) as server:
        told = vocabulary(server)
    assert uses(told["classes"]) == [(str(E.Train), 1)]
    assert bool(told["first"]) is union


def test_first_query_is_of_the_next_class_where_a_query_sees_no_thing_of_the_first() -> None:
    """The most used class may be in named graphs only, or its things without a name."""
    dataset = trains("Oxigraph")
    for number in range(5):
        dataset.graph(E.g).add((E[f"S{number}"], RDF.type, E.Station))
        dataset.add((rdflib.BNode(), RDF.type, E.Stop))
    with serving(dataset) as server:
        told = vocabulary(server)
    assert uses(told["classes"])[2] == (str(E.Train), 3)
    assert told["first"].startswith("# Train with delay, label\n")


def test_first_query_takes_no_prefix_that_sparql_has_not() -> None:
    """A store may bind a name that begins with a line, or a namespace that ends its brackets."""
    dataset = trains("Oxigraph")
    dataset.bind("_e", E, replace=True)
    with serving(dataset) as server:
        first = vocabulary(server)["first"]
    assert "PREFIX _e" not in first
    assert solutions(dataset, first) == 3


ODD = [
    "http://example.org/",
    "urn:x",
    "urn:ä:ö",
    "http://example.org/1-a.b%20c",
    "http://example.org/a(b)'c;d",
    "http://example.org/deep/a#",
]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("iri", ODD)
def test_first_query_takes_odd_names(store: str, iri: str) -> None:
    """Whatever classes, predicates and things are called, the query is one of them."""
    dataset = rdflib.Dataset(store=store)
    dataset.bind("x", "http://example.org/")
    dataset.add((E.a, RDF.type, URIRef(iri)))
    for number, predicate in enumerate(ODD):
        dataset.add((E.a, URIRef(predicate), Literal(number)))
    with serving(dataset) as server:
        first = vocabulary(server)["first"]
    assert solutions(dataset, first) == 1, first


def test_first_query_of_nothing_is_none() -> None:
    """An empty graph, and one of blank nodes only, have no query of their own."""
    dataset = rdflib.Dataset(store="Oxigraph")
    with serving(dataset) as server:
        assert vocabulary(server)["first"] == ""
        dataset.add((rdflib.BNode(), E.p, Literal(1)))
        told = settled(server, lambda told: told["triples"] == 1)
    assert told["first"] == ""


class Body(HTMLParser):
    """Finds the attributes of the page's body."""

    found: ClassVar[dict[str, str | None]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note them."""
        if tag == "body":
            self.found = dict(attrs)


def test_page_has_the_prefixes_of_the_data() -> None:
    """All that are bound and that a query can declare, as text only."""
    dataset = rdflib.Dataset(store="Oxigraph")
    odd = {"ä-1": "urn:&quot;'&lt;", "": "http://example.org/"}
    others = {"x": 'urn:"><script>alert(1)</script>', "y": "urn:{nonce}{editor}", "_z": "urn:z", "w": "a b"}
    for prefix, namespace in (odd | others).items():
        dataset.bind(prefix, namespace)
    with serving(dataset) as server, urllib.request.urlopen(f"{server.url}/") as response:
        text = response.read().decode()
    assert "<script>alert" not in text
    body = Body()
    body.feed(text)
    prefixes = json.loads(body.found["data-prefixes"] or "")
    assert prefixes.items() >= odd.items()
    assert not prefixes.keys() & others.keys()
    assert prefixes["rdfs"] == str(RDFS)
    assert body.found["data-rights"] == "read subscribe update"
