"""Graphs of rdflib's own stores are told apart as rdflib does, whatever names them."""

from __future__ import annotations

from typing import Any

import pytest
import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, QuotedGraph, ReadOnlyGraphAggregate
from rdflib.plugins.stores.auditable import AuditableStore
from rdflib.plugins.stores.memory import Memory, SimpleMemory

from rdflive.errors import UnsupportedStoreError
from rdflive.plugins import manager
from rdflive.store import NAMED, UNION

ANYTHING = (None, None, None)
A, G = rdflib.URIRef("urn:example:a"), rdflib.URIRef("urn:example:g")


class Name(rdflib.URIRef):
    """An IRI of a class of its own: no other term to rdflib."""


class Log:
    """A listener that keeps the changes it hears."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def apply(self, sign: int, change: tuple[Any, ...], /) -> bool:
        self.heard.append((sign, change))
        return False

    def apply_all(self, changes: Any) -> bool:
        return max(tuple(self.apply(*change) for change in changes))

    def commit(self, sequence: int) -> None:
        raise AssertionError("no change left a trace")


@pytest.fixture
def store() -> Any:
    return Memory()


@pytest.mark.parametrize(
    "name", [G, Name("urn:example:g"), rdflib.BNode("g"), rdflib.URIRef("relative"), "text"]
)
def test_the_key_of_a_graph_is_the_term_for_its_name(store: Any, name: Any) -> None:
    """What names a graph is its key in quads, in `graph_key`, for listeners, and in an answer."""
    graph = rdflib.Graph(store, name)
    with manager.locked(store) as adapter:
        adapter.capture.listeners[NAMED] = log = Log()
        graph.add((A, A, A))
        key = adapter.graph_key(graph)
        (answer,) = rdflib.Dataset(store).query("SELECT ?g { GRAPH ?g { ?s ?p ?o } }")
        assert key == graph.identifier == answer[0]
        assert list(adapter.quads(ANYTHING)) == [(A, A, A, key)]
        assert log.heard == [(1, (A, A, A, key))]
        assert (adapter.to_native(G) == key) is (type(name) is rdflib.URIRef and name == G)
        del adapter.capture.listeners[NAMED]


@pytest.mark.parametrize("wrap", [Memory, lambda: AuditableStore(Memory())])
@pytest.mark.parametrize("name", [None, G])
def test_a_conjunctive_graph_leaves_its_own_default_graph_out(wrap: Any, name: Any) -> None:
    """Its default graph is its own; the one that datasets share is a named graph to it, as in rdflib."""
    store = wrap()
    graph = rdflib.ConjunctiveGraph(store, name)
    graph.add((A, A, A))
    rdflib.Graph(store, DATASET_DEFAULT_GRAPH_ID).add((A, A, A))
    adapter = manager.attach(store)
    answer = {row[0] for row in graph.query("SELECT ?g { GRAPH ?g { ?s ?p ?o } }")}
    assert answer == {key for *_, key in adapter.quads(ANYTHING)} - {adapter.default_graph(graph)}
    assert answer == {DATASET_DEFAULT_GRAPH_ID}


def test_a_conjunctive_graph_is_refused_where_two_graphs_would_be_left_out() -> None:
    """Behind an AuditableStore rdflib leaves out one graph, Oxigraph another: no key says both."""
    oxrdflib = pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    store = AuditableStore(oxrdflib.OxigraphStore())
    with pytest.raises(UnsupportedStoreError, match="a named graph of the store inside"):
        manager.attach(store).default_graph(rdflib.ConjunctiveGraph(store))


def test_what_is_no_dataset_has_no_default_graph(store: Any) -> None:
    """A graph of a dataset, a formula, an aggregate and a store of one graph are refused with advice."""
    adapter = manager.attach(store)
    for refused in (rdflib.Graph(store, G), rdflib.Dataset(store).graph(G)):
        with pytest.raises(
            UnsupportedStoreError, match="subscribe to the Dataset that holds the named graphs"
        ):
            adapter.default_graph(refused)
    for refused in (QuotedGraph(store, G), ReadOnlyGraphAggregate([rdflib.Graph(store)])):
        with pytest.raises(UnsupportedStoreError, match="its triples are not asserted"):
            adapter.default_graph(refused)
    single = SimpleMemory()
    with pytest.raises(UnsupportedStoreError, match=r"the SimpleMemory store .* holds a single graph"):
        manager.attach(single).default_graph(rdflib.Graph(single))


def test_a_formula_is_no_graph(store: Any) -> None:
    """The statements of an N3 formula are in no quad."""
    graph = rdflib.Graph(store, G)
    graph.parse(data="@prefix e: <urn:example:> . { e:x e:y e:z } e:implies { e:z e:y e:x } .", format="n3")
    quads = list(manager.attach(store).quads(ANYTHING))
    assert [(p, key) for _, p, _, key in quads] == [(rdflib.URIRef("urn:example:implies"), G)]


def test_what_is_written_past_every_graph_is_in_the_union_alone(store: Any) -> None:
    """A triple added to the store under no graph changes no quad, and the union both ways."""
    with manager.locked(store) as adapter:
        listeners = adapter.capture.listeners
        listeners[NAMED], listeners[UNION] = quads, union = Log(), Log()
        store.add((A, A, A), None)
        assert list(adapter.quads(ANYTHING)) == []
        store.remove((A, A, A), None)
        assert quads.heard == []
        assert union.heard == [(1, (A, A, A)), (-1, (A, A, A))]
        listeners.clear()
