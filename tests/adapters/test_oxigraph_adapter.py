"""rdflib graphs over Oxigraph are captured exactly, and left as they were."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ReadOnlyGraphAggregate

from rdflive.errors import UnsupportedStoreError
from rdflive.store import UNION

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

from oxrdflib import OxigraphStore
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, Store

from rdflive_stores.oxigraph import LiveStore, rdflive_attach, rdflive_wrap
from support.oxigraph import EX, KNOWN, Follower, quad

A, B, C, P, Q, G = (rdflib.URIRef(EX + name) for name in "abcpqg")
TTL = f"@prefix e: <{EX}> . e:t e:p 01, 1, [] ."
TRIG = f"{TTL} e:g {{ e:a e:p e:b . e:t e:q e:t }}"


class World:
    """A watched store, an unwatched twin, and the same graphs over either."""

    def __init__(self) -> None:
        native = Store()
        native.extend(KNOWN)
        self.store = OxigraphStore(store=native)
        self.dataset = rdflib.Dataset(self.store)
        self.graph = rdflib.Graph(self.store, G)
        self.blank = rdflib.Graph(self.store, rdflib.BNode("h"))
        for graph in (self.dataset, self.graph):
            graph.bind("e", EX)


def once(*quads: Any) -> Iterator[Any]:
    yield from quads


# name -> operation; beside what the contract suite tries on any store
OPERATIONS: dict[str, Callable[[World], Any]] = {
    "add again": lambda w: w.graph.add((A, P, B)),
    "add a literal": lambda w: w.graph.add((A, P, rdflib.Literal("01", datatype=rdflib.XSD.integer))),
    "addN from a generator": lambda w: w.graph.addN(once((A, P, C, w.graph), (A, Q, C, w.graph))),
    "remove from a blank graph": lambda w: w.blank.remove((None, P, None)),
    "parse natively": lambda w: w.graph.parse(data=TTL, format="ox-turtle"),
    "parse natively in bulk": lambda w: w.graph.parse(data=TTL, format="ox-turtle", transactional=False),
    "parse quads natively": lambda w: w.dataset.parse(data=TRIG, format="ox-trig"),
    "update with prefixes": lambda w: w.dataset.update("INSERT DATA { e:a e:p e:c, e:d, 07 }"),
    "update a named graph": lambda w: w.graph.update("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }"),
    "update with bindings": lambda w: w.dataset.update("INSERT DATA { e:a e:p e:z }", initBindings={"x": A}),
    "make a graph": lambda w: w.dataset.graph(rdflib.URIRef(EX + "new")),
    "refused syntax": lambda w: w.dataset.update("DELETE WHERE { ?s ?p }"),
    "refused triple": lambda w: w.graph.add((rdflib.Literal("x"), P, A)),
    "refused document": lambda w: w.graph.parse(data="e:t", format="ox-turtle"),
    "refused pattern": lambda w: w.graph.remove((rdflib.Literal("x"), None, None)),
}


def outcome(operation: Callable[[World], Any], world: World) -> Any:
    try:
        operation(world)
    except Exception as error:  # noqa: BLE001 - whatever rdflib and oxrdflib raise
        return type(error), str(error)
    return None


def sizes(world: World) -> dict[str, int]:
    return {
        str(g): len(rdflib.Graph(world.store, g)) for g in (G, rdflib.BNode("h"), DATASET_DEFAULT_GRAPH_ID)
    }


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_an_rdflib_operation_is_captured_exactly(operation: Callable[[World], Any]) -> None:
    """What changes arrives in one commit; outcome and content are the plain store's."""
    world, twin = World(), World()
    adapter = rdflive_attach(store=world.store)
    assert adapter is not None
    follower = Follower(adapter, world.store._inner.native)
    for _ in range(2):
        before = set(follower.native)
        assert outcome(operation, world) == outcome(operation, twin)
        assert follower.check() == (before != set(follower.native))
        assert sizes(world) == sizes(twin)
    assert set(adapter.triples(UNION, (None, None, None))) == {tuple(q.triple) for q in follower.native}


def test_a_store_over_a_live_store_shares_its_capture() -> None:
    """rdflib graphs over a LiveStore, and the LiveStore itself, are captured together."""
    live = LiveStore()
    store = OxigraphStore(store=live)  # type: ignore[arg-type]  # it takes the store's place
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    assert adapter.capture is live.capture
    follower = Follower(adapter, live.native)
    rdflib.Graph(store).add((A, P, B))
    live.add(quad("c p d g"))
    assert follower.check() == 2
    adapter.detach()
    assert store._store is live


def test_a_bare_store_is_refused_and_can_be_wrapped() -> None:
    """A `pyoxigraph.Store` cannot be watched; the message names the stand-in, which wraps it."""
    native = Store()
    with pytest.raises(UnsupportedStoreError, match=r"live = rdflive\.LiveStore\(store\)"):
        rdflive_attach(store=native)
    live = rdflive_wrap(store=native)
    assert isinstance(live, LiveStore)
    assert live.native is native


@pytest.mark.parametrize("other", [object(), None, rdflib.Graph().store, OxigraphStore, Quad])
def test_other_stores_are_left_to_other_adapters(other: Any) -> None:
    """What is no store of Oxigraph is neither attached nor wrapped."""
    assert rdflive_attach(store=other) is None
    assert rdflive_wrap(store=other) is None


def test_the_plugin_loads_without_pyoxigraph() -> None:
    """The entry point can be imported and asked where neither pyoxigraph nor oxrdflib is installed."""
    program = """if True:
        import sys
        sys.modules["pyoxigraph"] = sys.modules["oxrdflib"] = None
        from rdflib.plugins.stores.memory import Memory
        from rdflive_stores import oxigraph
        from rdflive_stores.rdflib import memory as rdflib_memory
        memory = Memory()
        rdflib_memory.rdflive_attach(store=memory)
        assert oxigraph.rdflive_attach(store=memory) is None
        assert oxigraph.rdflive_wrap(store=memory) is None
        assert not hasattr(oxigraph, "nothing")
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_graphs_are_named_by_what_their_queries_see() -> None:
    """A plain graph is itself, a Dataset its default graph, and one with `default_union` the union."""
    store = OxigraphStore()
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    assert adapter.graph_key(rdflib.Graph(store, G)) == NamedNode(G)
    assert adapter.graph_key(rdflib.Graph(store, rdflib.BNode("h"))) == BlankNode("h")
    assert adapter.graph_key(rdflib.Graph(store, DATASET_DEFAULT_GRAPH_ID)) == DefaultGraph()
    assert adapter.graph_key(rdflib.Dataset(store)) == DefaultGraph()
    assert adapter.graph_key(rdflib.Dataset(store).graph(G)) == NamedNode(G)
    assert adapter.graph_key(rdflib.Dataset(store, default_union=True)) is UNION
    assert adapter.graph_key(rdflib.ConjunctiveGraph(store)) is UNION
    for refused in (ReadOnlyGraphAggregate([rdflib.Graph(store)]), LiveStore(), store):
        with pytest.raises(UnsupportedStoreError):
            adapter.graph_key(refused)
    live = LiveStore()
    own = rdflive_attach(store=live)
    assert own is not None
    assert own.graph_key(live) == DefaultGraph()
    with pytest.raises(UnsupportedStoreError, match="LiveStore"):
        own.graph_key(rdflib.Graph(store))


def test_what_is_no_dataset_has_no_default_graph() -> None:
    """A single rdflib graph is refused; a LiveStore is a dataset itself; a relative IRI names no graph."""
    store, live = OxigraphStore(), LiveStore()
    adapter, own = rdflive_attach(store=store), rdflive_attach(store=live)
    assert adapter is not None
    assert own is not None
    with pytest.raises(UnsupportedStoreError, match="subscribe to the Dataset that holds the named graphs"):
        adapter.default_graph(rdflib.Graph(store, G))
    assert own.default_graph(live) == DefaultGraph()
    with pytest.raises(UnsupportedStoreError, match="expected a LiveStore"):
        own.default_graph(rdflib.Graph(store))
    with pytest.raises(UnsupportedStoreError, match="an absolute IRI or a blank node"):
        adapter.graph_key(rdflib.Graph(store, "relative"))
