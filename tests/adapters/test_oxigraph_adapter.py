"""rdflib graphs over Oxigraph are captured exactly, and left as they were."""

from __future__ import annotations

import itertools
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
from support.oxigraph import EX, GRAPHS, KNOWN, Follower, node, quad, typed

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


# name -> operation, and whether it is one commit
OPERATIONS: dict[str, tuple[Callable[[World], Any], bool]] = {
    "add": (lambda w: w.graph.add((A, P, C)), True),
    "add again": (lambda w: w.graph.add((A, P, B)), True),
    "add a literal": (lambda w: w.graph.add((A, P, rdflib.Literal("01", datatype=rdflib.XSD.integer))), True),
    "add to the default graph": (lambda w: w.dataset.add((A, P, C)), True),
    "add a quad": (lambda w: w.dataset.add((A, Q, C, w.graph)), True),
    "addN": (lambda w: w.graph.addN([(A, P, C, w.graph), (A, Q, C, w.graph), (A, P, C, w.graph)]), True),
    "addN from a generator": (lambda w: w.graph.addN(once((A, P, C, w.graph), (A, Q, C, w.graph))), True),
    "add a graph": (lambda w: w.graph.__iadd__(rdflib.Graph().add((C, P, A)).add((C, Q, A))), True),
    "remove": (lambda w: w.graph.remove((A, P, B)), True),
    "remove by pattern": (lambda w: w.graph.remove((None, None, None)), True),
    "remove from all graphs": (lambda w: w.dataset.remove((A, None, None, None)), True),
    "remove from a blank graph": (lambda w: w.blank.remove((None, P, None)), True),
    "set": (lambda w: w.graph.set((A, P, C)), False),
    "parse": (lambda w: w.graph.parse(data=TTL, format="turtle"), True),
    "parse quads": (lambda w: w.dataset.parse(data=TRIG, format="trig"), True),
    "parse natively": (lambda w: w.graph.parse(data=TTL, format="ox-turtle"), True),
    "parse natively in bulk": (
        lambda w: w.graph.parse(data=TTL, format="ox-turtle", transactional=False),
        True,
    ),
    "parse quads natively": (lambda w: w.dataset.parse(data=TRIG, format="ox-trig"), True),
    "update": (
        lambda w: w.dataset.update("DELETE { ?s ?p ?o } INSERT { ?o ?p ?s } WHERE { ?s ?p ?o }"),
        True,
    ),
    "update with prefixes": (lambda w: w.dataset.update("INSERT DATA { e:a e:p e:c, e:d, 07 }"), True),
    "update all graphs": (lambda w: w.dataset.update("DELETE WHERE { GRAPH ?g { e:a ?p ?o } }"), True),
    "update a named graph": (lambda w: w.graph.update("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }"), True),
    "update with bindings": (
        lambda w: w.dataset.update("INSERT DATA { e:a e:p e:z }", initBindings={"x": A}),
        True,
    ),
    "clear by update": (lambda w: w.dataset.update("CLEAR ALL"), True),
    "remove a graph": (lambda w: w.dataset.remove_graph(w.graph), True),
    "remove the default graph": (lambda w: w.dataset.remove_graph(w.dataset.default_graph), True),
    "make a graph": (lambda w: w.dataset.graph(rdflib.URIRef(EX + "new")), True),
    "refused syntax": (lambda w: w.dataset.update("DELETE WHERE { ?s ?p }"), True),
    "refused triple": (lambda w: w.graph.add((rdflib.Literal("x"), P, A)), True),
    "refused document": (lambda w: w.graph.parse(data="e:t", format="ox-turtle"), True),
    "refused pattern": (lambda w: w.graph.remove((rdflib.Literal("x"), None, None)), True),
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


@pytest.mark.parametrize(("operation", "one_commit"), OPERATIONS.values(), ids=OPERATIONS)
def test_an_rdflib_operation_is_captured_exactly(operation: Callable[[World], Any], one_commit: bool) -> None:
    """What changes arrives, in one commit where it is one; outcome and content are the plain store's."""
    world, twin = World(), World()
    adapter = rdflive_attach(store=world.store)
    assert adapter is not None
    follower = Follower(adapter, world.store._inner.native)
    for _ in range(2):
        before = set(follower.native)
        assert outcome(operation, world) == outcome(operation, twin)
        commits = follower.check()
        if one_commit:
            assert commits == (before != set(follower.native))
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
        from rdflive_stores import oxigraph, rdflib_memory
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


def test_the_default_graph_is_the_native_one_for_every_dataset() -> None:
    """`GRAPH ?g` of Oxigraph sees all named graphs, a ConjunctiveGraph's own one too."""
    for make in (rdflib.Dataset, lambda s: rdflib.Dataset(s, default_union=True), rdflib.ConjunctiveGraph):
        store = OxigraphStore()
        dataset = make(store)
        dataset.add((A, P, B))
        rdflib.Graph(store, G).add((A, P, B))
        rdflib.Graph(store, DATASET_DEFAULT_GRAPH_ID).add((A, P, C))
        adapter = rdflive_attach(store=store)
        assert adapter is not None
        default = adapter.default_graph(dataset)
        assert default == DefaultGraph()
        answer = {adapter.to_native(row[0]) for row in dataset.query("SELECT ?g { GRAPH ?g { ?s ?p ?o } }")}
        assert answer == {key for *_, key in adapter.quads((None, None, None))} - {default}


def test_what_is_no_dataset_has_no_default_graph() -> None:
    """A single rdflib graph is refused; a LiveStore is a dataset itself, and takes nothing else."""
    store, live = OxigraphStore(), LiveStore()
    adapter, own = rdflive_attach(store=store), rdflive_attach(store=live)
    assert adapter is not None
    assert own is not None
    with pytest.raises(UnsupportedStoreError, match="subscribe to the Dataset that holds the named graphs"):
        adapter.default_graph(rdflib.Graph(store, G))
    assert own.default_graph(live) == DefaultGraph()
    with pytest.raises(UnsupportedStoreError, match="expected a LiveStore"):
        own.default_graph(rdflib.Graph(store))


def test_a_graph_with_a_name_that_oxigraph_cannot_hold_is_refused() -> None:
    """A relative IRI names no graph, as oxrdflib says on the first write."""
    store = OxigraphStore()
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    with pytest.raises(UnsupportedStoreError, match="an absolute IRI or a blank node"):
        adapter.graph_key(rdflib.Graph(store, "relative"))


def test_quads_match_patterns() -> None:
    """The quads of all graphs come as tuples, each once; an impossible pattern matches nothing."""
    live = LiveStore()
    live.extend(KNOWN)
    adapter = rdflive_attach(store=live)
    assert adapter is not None
    for s, p, o in itertools.product((None, node("a")), (None, node("p")), (None, node("b"))):
        found = list(adapter.quads((s, p, o)))
        assert len(found) == len(set(found))
        assert set(found) == {
            tuple(q)
            for q in KNOWN
            if s in (None, q.subject) and p in (None, q.predicate) and o in (None, q.object)
        }
    assert not list(adapter.quads((typed("1"), None, None)))


def test_triples_match_patterns_and_are_distinct() -> None:
    """A graph's triples are its own, the union's distinct; an impossible pattern matches nothing."""
    live = LiveStore()
    live.extend(KNOWN)
    adapter = rdflive_attach(store=live)
    assert adapter is not None
    keys = (*GRAPHS.values(), UNION)
    for key, s, p, o in itertools.product(keys, (None, node("a")), (None, node("p")), (None, node("b"))):
        expected = [
            tuple(q.triple)
            for q in KNOWN
            if key in (UNION, q.graph_name)
            and s in (None, q.subject)
            and p in (None, q.predicate)
            and o in (None, q.object)
        ]
        found = list(adapter.triples(key, (s, p, o)))
        assert len(found) == len(set(found))
        assert set(found) == set(expected)
    for pattern in ((typed("1"), None, None), (None, BlankNode("x"), None), (None, typed("1"), None)):
        assert not list(adapter.triples(UNION, pattern))


def test_terms_go_back_to_the_users_library() -> None:
    """Subscribers of rdflib graphs get rdflib terms, those of a LiveStore the store's own."""
    adapter, own = rdflive_attach(store=OxigraphStore()), rdflive_attach(store=LiveStore())
    assert adapter is not None
    assert own is not None
    from_native = adapter.from_native()
    assert from_native is not None
    assert from_native(typed("1")) == rdflib.Literal(1)
    assert own.from_native() is None
    for to_rdflib in (adapter.to_rdflib(), own.to_rdflib()):
        assert to_rdflib is not None
        assert to_rdflib(typed("1")) == rdflib.Literal(1)
    assert own.to_native(rdflib.Literal(1)) == adapter.to_native(rdflib.Literal(1)) == typed("1")
