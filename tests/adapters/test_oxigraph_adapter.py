"""rdflib graphs over Oxigraph are captured exactly, and left as they were."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ReadOnlyGraphAggregate

from rdflive.errors import UnsupportedStoreError
from rdflive.store import UNION

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

from oxrdflib import OxigraphStore
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store

from rdflive_stores.oxigraph import LiveStore, rdflive_attach, rdflive_wrap
from rdflive_stores.oxigraph_terms import canonical, to_native
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


def test_the_same_adapter_comes_back_while_the_store_is_watched() -> None:
    """Attaching twice gives one adapter and one stand-in; after detaching there is a new one."""
    store = OxigraphStore()
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    stand_in = store._inner
    assert rdflive_attach(store=store) is adapter
    assert store._inner is stand_in
    adapter.detach()
    adapter.detach()
    assert rdflive_attach(store=store) is not adapter
    live = LiveStore()
    mine = rdflive_attach(store=live)
    assert mine is not None
    mine.detach()
    assert rdflive_attach(store=live) is mine


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
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)})


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


TYPES = (
    *("integer", "decimal", "double", "float", "boolean", "int", "string", "anyURI"),
    *("date", "dateTime", "time", "gYear", "duration"),
)


def random_literal(choice: random.Random) -> Literal:
    """Make a literal of a type that Oxigraph stores by value, often in an unusual spelling or invalid."""
    number = f"{choice.choice(('', '-', '+', '0'))}{choice.randrange(10 ** choice.randrange(1, 19))}"
    fraction = f"{number}.{choice.randrange(10 ** choice.randrange(1, 10))}"
    date = f"{choice.randrange(10000):04}-{choice.randrange(14):02}-{choice.randrange(33):02}"
    seconds = choice.choice(("00", "59", "60", "1.50", "01.5", "00.000001"))
    zone = choice.choice(("", "Z", "+00:00", "-00:00", "+05:30", "-14:00", "+15:00"))
    time = f"{choice.randrange(25):02}:{choice.randrange(61):02}:{seconds}"
    fractions = (fraction, fraction + "e3", repr(choice.random()))
    value = choice.choice((number, *fractions, date, f"{date}T{time}", time, "true", "x"))
    return typed(value + choice.choice(("", zone)), choice.choice(TYPES))


EDGES = (
    *("1.50 decimal", "1. decimal", ".5 decimal", "-0 decimal", "-0.0 decimal", "123456789.1234567 decimal"),
    *("1.50 double", "1.0 double", "-0 double", "1e3 double", "NaN double", "12345678.1234567 double"),
    *("9627436350621.312 double", "1.0000076293945312 double", "-0 integer", "+1 integer", "1 boolean"),
    *("2020-01-01T24:00:00 dateTime", "2020-01-01T00:00:00+00:00 dateTime", "0000-01-01 date"),
    *("2020-01-01T00:00:00.10 dateTime", "2020-02-30 date", "2020-01-01-00:00 date", "P12M duration"),
)


def test_canonical_terms_are_as_the_store_gives_them_back() -> None:
    """For edge cases and 20,000 random literals `canonical` says what a store makes of them."""
    choice = random.Random(5)
    edges = [typed(*edge.split()) for edge in EDGES]
    for literal in (*edges, *(random_literal(choice) for _ in range(20_000))):
        store = Store()
        store.add(Quad(node("s"), node("p"), literal))
        (stored,) = store
        assert canonical(literal) == stored.object, literal


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (A, node("a")),
        (rdflib.BNode("x"), BlankNode("x")),
        (DATASET_DEFAULT_GRAPH_ID, NamedNode(str(DATASET_DEFAULT_GRAPH_ID))),
        (rdflib.Literal("x"), Literal("x")),
        (rdflib.Literal("x", datatype=rdflib.XSD.string), Literal("x")),
        (rdflib.Literal("x", lang="EN"), Literal("x", language="en")),
        (rdflib.Literal("01", datatype=rdflib.XSD.byte), typed("1")),
        (rdflib.Literal("x", datatype=A), Literal("x", datatype=node("a"))),
        (rdflib.Literal(1.5), typed("1.5", "double")),
        (typed("+1"), typed("1")),
        (node("a"), node("a")),
    ],
)
def test_terms_of_both_libraries_become_canonical(term: Any, expected: Any) -> None:
    """A query's terms, of rdflib or pyoxigraph, become those that the store holds."""
    assert to_native(term) == expected
    assert to_native(to_native(term)) == expected


@pytest.mark.parametrize("term", [rdflib.Variable("x"), rdflib.URIRef("relative"), 5, None])
def test_what_no_store_can_hold_is_no_term(term: Any) -> None:
    """Variables, relative IRIs and values of Python are refused."""
    with pytest.raises(ValueError, match=r"\w"):
        to_native(term)


def test_terms_go_back_to_the_users_library() -> None:
    """Subscribers of rdflib graphs get rdflib terms, those of a LiveStore the store's own."""
    adapter, own = rdflive_attach(store=OxigraphStore()), rdflive_attach(store=LiveStore())
    assert adapter is not None
    assert own is not None
    from_native = adapter.from_native()
    assert from_native is not None
    assert from_native(typed("1")) == rdflib.Literal(1)
    assert own.from_native() is None
    assert own.to_native(rdflib.Literal(1)) == adapter.to_native(rdflib.Literal(1)) == typed("1")


class Mine(OxigraphStore):
    """A store of a user's own, whose `add` makes two native writes."""

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
        super().add(triple, context, quoted)
        super().add((triple[2], triple[1], triple[0]), context, quoted)


@pytest.mark.parametrize("plain", [OxigraphStore, Mine])
def test_detaching_leaves_no_trace(plain: type[OxigraphStore]) -> None:
    """Class, native store and attributes are afterwards what they were."""
    native = Store()
    store = plain(store=native)
    before = dict(vars(store))
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    assert isinstance(store, plain)
    rdflib.Graph(store, G).add((A, P, B))
    adapter.detach()
    assert type(store) is plain
    assert vars(store) == before
    assert store._store is native
    assert len(native) == (1 if plain is OxigraphStore else 2)


def test_what_a_subclass_does_in_one_operation_is_one_commit() -> None:
    """Several native writes of an overridden method make one batch."""
    store = Mine()
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    follower = Follower(adapter, store._inner.native)
    rdflib.Graph(store, G).add((A, P, B))
    assert len(follower.quads) == 2
    assert follower.check() == 1


def test_copying_and_pickling_are_as_on_a_plain_store() -> None:
    """A copy is plain, its writes are seen; a pickle fails with the error of the native store."""
    store, plain = OxigraphStore(), OxigraphStore(store=Store())
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    follower = Follower(adapter, store._inner.native)
    twin = copy.copy(store)
    assert type(twin) is OxigraphStore
    assert vars(twin).keys() == vars(plain).keys()
    rdflib.Graph(twin, G).add((A, P, B))
    assert follower.check() == 1
    for attempt in (pickle.dumps, copy.deepcopy):
        errors = []
        for one in (store, plain):
            with pytest.raises(TypeError) as caught:
                attempt(one)
            errors.append(str(caught.value))
        assert errors[0] == errors[1]


class Picklable(OxigraphStore):
    """A store of a user's own that knows how to be pickled."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_store": None, "saved": list(self._inner)}


def test_a_picklable_store_stays_so_while_watched() -> None:
    """A subclass that can be pickled is restored as a plain store of its class."""
    store = Picklable()
    rdflib.Graph(store, G).add((A, P, B))
    assert rdflive_attach(store=store) is not None
    restored = pickle.loads(pickle.dumps(store))
    assert type(restored) is Picklable
    assert [q.graph_name for q in restored.saved] == [node("g")]
    assert not hasattr(restored, "_rdflive")


def test_closing_a_watched_store_unlocks_its_directory(tmp_path: Path) -> None:
    """`Graph.close` frees the native store also while its adapter is held, and no later detach fails."""
    graph = rdflib.Graph(OxigraphStore(), G)
    graph.open(str(tmp_path / "store"), create=True)
    adapter = rdflive_attach(store=graph.store)
    assert adapter is not None
    graph.add((A, P, B))
    graph.close()
    assert type(graph.store) is OxigraphStore
    assert len(Store(str(tmp_path / "store"))) == 1
    adapter.detach()
    with pytest.raises(UnsupportedStoreError, match="closed"):
        rdflive_attach(store=graph.store)


def test_threads_that_attach_at_once_get_one_adapter() -> None:
    """However many threads subscribe first, the store is hooked once."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(50):
            store, found = OxigraphStore(), []
            barrier = threading.Barrier(4)

            def attach(store: Any = store, found: Any = found, barrier: Any = barrier) -> None:
                barrier.wait()
                found.append(rdflive_attach(store=store))

            threads = [threading.Thread(target=attach) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(set(map(id, found))) == 1
    finally:
        sys.setswitchinterval(interval)


def test_detaching_waits_for_a_batch_of_another_thread() -> None:
    """The store stays hooked until the open batch has ended, so none of its changes is lost."""
    store = OxigraphStore()
    adapter = rdflive_attach(store=store)
    assert adapter is not None
    thread = threading.Thread(target=adapter.detach)
    with adapter.capture as capture:
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        rdflib.Graph(store, G).add((A, P, B))
        assert capture.pending(node("g"))
    thread.join()
    assert type(store) is OxigraphStore


def test_no_write_is_lost_while_a_store_is_attached_and_detached() -> None:
    """Threads write all the time; hooking and unhooking the store neither fails nor loses a quad."""
    store = OxigraphStore(store=Store())  # oxrdflib makes one lazily, and two threads may make two
    graph = rdflib.Graph(store, G)
    done = threading.Event()
    errors: list[Exception] = []

    def write(name: str) -> None:
        try:
            for number in range(400):
                triple = (rdflib.URIRef(f"{EX}{name}{number}"), P, A)
                graph.add(triple)
                if number % 2:
                    graph.remove((triple[0], None, None))
        except Exception as error:  # noqa: BLE001 - reported below
            errors.append(error)

    def toggle() -> None:
        while not done.is_set():
            adapter = rdflive_attach(store=store)
            assert adapter is not None
            adapter.detach()

    writers = [threading.Thread(target=write, args=(name,)) for name in "xyz"]
    toggler = threading.Thread(target=toggle)
    for thread in (toggler, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    toggler.join()
    assert not errors
    assert len(graph) == 600
    assert type(store) is OxigraphStore
