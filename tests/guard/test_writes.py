"""Every way to write: refused alone and in batches, by methods of pyoxigraph, by feeds, by two threads."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import BNode

import rdflive
from guard.worlds import STORES, guarded, make_store
from rdflive.testing.operations import DATASET_OPERATIONS, EX, GRAPH_OPERATIONS, Operation, World, term
from support.effort import sampled

OPERATIONS = {each.name: each for each in (*GRAPH_OPERATIONS, *DATASET_OPERATIONS)}


def run(operation: Callable[[World], object], world: World) -> Exception | None:
    """Run an operation, and give what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # rdflib's engine uses what rdflib deprecates
        try:
            operation(world)
        except Exception as error:  # noqa: BLE001 - whatever the store raises
            return error
    return None


def in_batch(operation: Operation) -> Callable[[World], None]:
    """Run an operation in the inner one of two batches, between other writes."""

    def write(world: World) -> None:
        with rdflive.batch(world.graph):
            world.graph.add(term("new p b"))
            with rdflive.batch(world.graph), suppress(Exception):
                operation.run(world)
            if world.dataset is not None:
                world.dataset.graph(term("new p b")[0]).add(term("new p b"))

    return write


def in_failing_batch(operation: Operation) -> Callable[[World], None]:
    """Run an operation in a batch that raises."""

    def write(world: World) -> None:
        with rdflive.batch(world.graph):
            in_batch(operation)(world)
            raise KeyError("behind the writes")

    return write


WAYS: dict[str, Callable[[Operation], Callable[[World], object]]] = {
    "alone": lambda operation: operation.run,
    "in a batch": in_batch,
    "in a batch that raises": in_failing_batch,
}


@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", STORES)
def test_a_refused_write_leaves_everything_as_it_was(kind: str, way: str, tmp_path: Path) -> None:
    """The guard refuses every change, subscribers receive nothing, and the error lists the change."""
    wrong = {}
    for number, name in enumerate(sampled(f"{kind} {way}", OPERATIONS, 8)):
        operation = WAYS[way](OPERATIONS[name])
        folder = tmp_path / str(number)
        folder.mkdir()
        with guarded(kind, folder, name) as made:
            if OPERATIONS[name] in DATASET_OPERATIONS and not made.world.graph_aware:
                continue
            guards = made.refuse_everything()
            before = made.state()
            error = run(operation, made.world)
            found = made.state()
            for guard in guards:
                guard.close()
            made.begin_anew()
            run(operation, made.world)
            changed = differences(before["content"], made.content())
            if isinstance(error, rdflive.ValidationError):
                wanted = changed if OPERATIONS[name].one_commit else set()
                results = set(map(tuple, error.results))
                if not results or wanted - results:
                    wrong[name] = f"results {results} instead of {wanted}"
            else:
                if changed and OPERATIONS[name].one_commit:
                    wrong[name] = f"{error!r}, and without a guard {changed}"
                for key in ("names", "rollback"):  # nothing else can have changed
                    found[key] = before[key]
            if differ := [key for key in before if before[key] != found[key]]:
                wrong[name] = f"{differ} are others"
    assert wrong == {}


def differences(before: list[set[Any]], after: list[set[Any]]) -> set[Any]:
    """Give the triples that come or go anywhere; blank nodes are others each time."""
    changed = {triple for one, other in zip(before, after, strict=True) for triple in one ^ other}
    return {triple for triple in changed if not any(isinstance(term, BNode) for term in triple)}


def quad(text: str, graph: str | None = None) -> Any:
    """Make a quad of pyoxigraph from local names."""
    ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    s, p, o = (ox.NamedNode(f"{EX}{name}") for name in text.split())
    return ox.Quad(s, p, o, ox.NamedNode(EX + graph) if graph else ox.DefaultGraph())


def native_writes() -> dict[str, Callable[[Any], object]]:
    """List the ways to write by pyoxigraph's own methods; each changes a graph."""
    ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    text = b"<urn:example:n> <urn:example:p> <urn:example:m> .\n" * 2
    quads = f"<{EX}n> <{EX}p> <{EX}m> <{EX}g> .\n<{EX}n> <{EX}p> <{EX}m> .\n"
    blank = ox.BlankNode("graph")

    def rename(store: Any) -> None:
        with rdflive.batch(store):
            store.remove_graph(blank)
            store.add_graph(ox.BlankNode("other"))
            store.clear_graph(ox.NamedNode(EX + "g"))

    return {
        "add": lambda store: store.add(quad("n p m")),
        "remove": lambda store: store.remove(quad("a p b")),
        "extend": lambda store: store.extend([quad("n p m", "g"), quad("a p b")]),
        "bulk_extend": lambda store: store.bulk_extend([quad("n p m"), quad("a p b")]),
        "load": lambda store: store.load(text, ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(EX + "new")),
        "load of quads": lambda store: store.load(quads.encode(), ox.RdfFormat.N_QUADS),
        "bulk_load": lambda store: store.bulk_load(text, ox.RdfFormat.N_TRIPLES),
        "bulk_load of quads": lambda store: store.bulk_load(quads.encode(), ox.RdfFormat.N_QUADS),
        "update": lambda store: store.update(f"INSERT {{ ?o <{EX}r> [] }} WHERE {{ ?s ?p ?o }}"),
        "clear": lambda store: store.clear(),
        "clear_graph": lambda store: store.clear_graph(ox.NamedNode(EX + "g")),
        "remove_graph": lambda store: store.remove_graph(ox.NamedNode(EX + "g")),
        "remove_graph of a blank node": lambda store: store.remove_graph(blank),
        "graphs in a batch": rename,
        "an entry": lambda store: rdflive.mirror(
            store, BytesIO(f"TX .\nA <{EX}n> <{EX}p> <{EX}m> .\nTC .\n".encode()), "rdf-patch", name="a feed"
        ),
    }


NATIVE = native_writes() if find_spec("pyoxigraph") else {}


@pytest.mark.sampled(by="place")
@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize("way", NATIVE)
def test_a_write_by_pyoxigraph_is_refused_or_made_as_without_a_guard(
    way: str, place: str, tmp_path: Path
) -> None:
    """Refused alone and in a batch, with names of graphs left alone; and made as without a guard."""
    import pyoxigraph as ox

    def make(folder: str) -> rdflive.LiveStore:
        store = rdflive.LiveStore(ox.Store(tmp_path / folder) if place == "disk" else ox.Store())
        store.extend(
            [quad("a p b"), quad("a p b", "g"), ox.Quad(*quad("a p b").triple, ox.BlankNode("graph"))]
        )
        store.add_graph(ox.NamedNode(EX + "empty"))
        return store

    def look(store: rdflive.LiveStore) -> tuple[set[Any], set[Any]]:
        return {*store.quads_for_pattern(None, None, None, None)}, {*store.named_graphs()}

    store, twin = make("store"), make("twin")
    told: list[rdflive.Delta] = []
    subscription = rdflive.subscribe(store, "SELECT * { ?s ?p ?o }", told.append, initial=False)
    before = look(store)
    everything = "{ ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } }"
    gone = (
        f"ASK {{ {{ FILTER NOT EXISTS {{ <{EX}a> ?p ?o }} }} UNION "
        f"{{ FILTER NOT EXISTS {{ GRAPH <{EX}g> {{ ?s ?p ?o }} }} }} UNION "
        f"{{ FILTER(2 != ?n) {{ SELECT (COUNT(DISTINCT ?g) AS ?n) {{ GRAPH ?g {{ ?s ?p ?o }} }} }} }} }}"
    )
    for write in (NATIVE[way], in_a_batch(NATIVE[way])):
        with rdflive.guard(store, f"SELECT * {{ {everything} }}"), rdflive.guard(store, gone):
            with pytest.raises((rdflive.ValidationError, rdflive.FeedError), match="the commit is refused"):
                write(store)
            assert look(store) == before
            assert told == []
            assert subscription.stats.updates == 0
    assert store.kept("a feed") == {}
    with rdflive.guard(store, f"SELECT * {{ {everything} FILTER(?p = <urn:never>) }}"):
        NATIVE[way](store)
    NATIVE[way](twin)
    assert len(store) == len(twin)
    assert look(store)[1] == look(twin)[1]
    assert store.kept("a feed") == twin.kept("a feed")
    names = [set(each.native.named_graphs()) for each in (store, twin)]
    assert names[0] == names[1]


def in_a_batch(write: Callable[[Any], object]) -> Callable[[Any], None]:
    """Run a write in a batch that also makes an empty graph."""

    def run(store: Any) -> None:
        import pyoxigraph as ox

        with rdflive.batch(store):
            store.add_graph(ox.NamedNode(EX + "made"))
            write(store)
            store.add_graph(ox.BlankNode("made"))

    return run


TWICE = f"SELECT ?s {{ ?s <{EX}p> ?a, ?b FILTER(STR(?a) < STR(?b)) }}"
ENTRIES = (
    [f"A <{EX}s{n % 5}> <{EX}p> <{EX}o{n}> ." for n in range(8)]
    + [f"D <{EX}s1> <{EX}p> <{EX}o1> .", f"A <{EX}s1> <{EX}p> <{EX}new> .", f"A <{EX}s0> <{EX}q> <{EX}o0> ."]
)  # fmt: skip
FEED = "".join(f"TX .\n{entry}\nTC .\n" for entry in ENTRIES).encode()


@pytest.mark.parametrize("kind", STORES)
def test_entries_of_a_feed_that_are_refused_go_to_the_dead_letters(kind: str, tmp_path: Path) -> None:
    """The others are applied; without dead letters the feed stops there, and goes on there."""
    letters, path = tmp_path / "letters", tmp_path / "feed.rdfp"
    path.write_bytes(FEED)
    folders = [tmp_path / name for name in ("skipping", "stopping")]
    for folder in folders:
        folder.mkdir()
    with make_store(kind, folders[0]) as store, make_store(kind, folders[1]) as other:
        graph, stopping = (rdflib.Graph(each, rdflib.URIRef(EX + "g")) for each in (store, other))
        with rdflive.guard(graph, TWICE), rdflive.guard(stopping, TWICE):
            done = rdflive.mirror(graph, path, on_bad="skip", dead_letters=letters)
            assert (done.entries, done.skipped) == (8, 3)
            assert [text for text in ENTRIES if text in letters.read_text(encoding="utf-8")] == ENTRIES[5:8]
            for _ in range(2):
                with pytest.raises(rdflive.FeedError, match="it would add 1 row"):
                    rdflive.mirror(stopping, path)
                assert len(stopping) == 5
            again = rdflive.mirror(graph, path)
            assert (again.entries, again.cursor) == (0, done.cursor)
        held = {(str(s)[-1], str(o).removeprefix(EX)) for s, p, o in graph if str(p) == EX + "p"}
        assert held == {("0", "o0"), ("1", "new"), *((f"{n}", f"o{n}") for n in (2, 3, 4))}


@pytest.mark.parametrize("kind", STORES)
def test_two_threads_that_write_at_once_cannot_break_a_guard_together(kind: str, tmp_path: Path) -> None:
    """Of two writes that only together break a guard one is refused."""
    with make_store(kind, tmp_path) as store:
        graph = rdflib.Graph(store, rdflib.URIRef(EX + "g"))
        refused: list[str] = []

        def write(name: str) -> None:
            for number in range(30):
                triple = rdflib.URIRef(f"{EX}s{number}"), rdflib.URIRef(EX + "p"), rdflib.URIRef(EX + name)
                try:
                    if number % 2:
                        graph.add(triple)
                    else:
                        with rdflive.batch(graph):
                            graph.add((triple[0], triple[1], triple[1]))
                            graph.add(triple)
                            graph.remove((triple[0], triple[1], triple[1]))
                except rdflive.ValidationError:
                    refused.append(name)

        with rdflive.guard(graph, TWICE):
            threads = [threading.Thread(target=write, args=(name,)) for name in "xy"]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        assert len(refused) == len(graph) == len({s for s, _, _ in graph}) == 30


def test_a_subclass_that_comes_breaks_a_guard() -> None:
    """An instance of it is one of the class whose instances the shape is about."""
    shapes = f"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <{EX}> .
    :S sh:targetClass :Train ; sh:property [ sh:path :line ; sh:minCount 1 ] ."""
    graph = rdflib.Graph()
    train, kind, fast = (rdflib.URIRef(EX + name) for name in ("IC5", "Train", "Fast"))
    with rdflive.guard(graph, shapes):
        graph.add((train, rdflib.RDF.type, fast))
        with pytest.raises(rdflive.ValidationError, match="it would add 1 result"):
            graph.add((fast, rdflib.RDFS.subClassOf, kind))
        graph.add((train, rdflib.URIRef(EX + "line"), fast))
        graph.add((fast, rdflib.RDFS.subClassOf, kind))
