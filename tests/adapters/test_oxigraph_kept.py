"""The reserved graph of an Oxigraph store: no reader sees it, and no writer harms it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rdflib

import rdflive
from rdflive.errors import RdfliveError
from rdflive.store import Transaction, WriteRefusedError

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

from oxrdflib import OxigraphStore
from pyoxigraph import BlankNode, DefaultGraph, Literal, Quad, RdfFormat, Store

from rdflive_stores.oxigraph import LiveStore
from rdflive_stores.oxigraph.kept import KEPT
from support.oxigraph import GRAPHS, KNOWN, NEW, OLD, node

SECRET = Quad(node("a"), node("p"), node("secret"), KEPT)
NAME = rdflib.URIRef(KEPT.value)
CURSOR = {"cursor": "7", "größe": "ü\0'\"\\"}


def kept(native: Store | None = None) -> LiveStore:
    """Make a store that keeps something, and has one triple more in the reserved graph."""
    live = LiveStore(native)
    live.extend(KNOWN)
    live.write(Transaction({}, name="feed", keep=CURSOR))
    live.native.add(SECRET)
    return live


def twin() -> Store:
    store = Store()
    store.extend(KNOWN)
    return store


def rows(result: Any) -> list[str]:
    return sorted(map(str, result))


UNION_VIEW = {"use_default_graph_as_union": True}
QUERIES: dict[str, dict[str, Any]] = {
    "SELECT * { ?s ?p ?o }": {},
    "SELECT ?s ?p ?o { ?s ?p ?o }": UNION_VIEW,
    f"SELECT * {{ GRAPH {KEPT} {{ ?s ?p ?o }} }}": {},
    "SELECT * { graph ?g { ?s ?p ?o } }": {},
    "SELECT ?g { GRAPH ?g {} }": {},
    "SELECT ?s { ?s ?p ?o FILTER EXISTS { GRAPH ?g { ?s ?q <urn:example:secret> } } }": {},
    f"SELECT * FROM {KEPT} {{ ?s ?p ?o }}": {},
    f"SELECT * FROM {KEPT} FROM {GRAPHS['g']} {{ ?s ?p ?o }}": {},
    f"SELECT * FROM NAMED {KEPT} {{ GRAPH ?g {{ ?s ?p ?o }} }}": {},
    f"SELECT * FROM NAMED {KEPT} FROM NAMED {GRAPHS['g']} {{ GRAPH ?g {{ ?s ?p ?o }} }}": {},
    f"SELECT * FROM {GRAPHS['g']} {{ {{ ?s ?p ?o }} UNION {{ GRAPH ?g {{ ?s ?p ?o }} }} }}": {},
    "PREFIX x: <urn:x-rdf> SELECT * FROM x:live:kept { ?s ?p ?o }": {},
    r"SELECT * FROM <urn:x-rdflive:\u006bept> { ?s ?p ?o }": {},
    "SELECT ?s ?o { ?s ?p ?o }": {"default_graph": KEPT},
    "SELECT ?o { ?s ?p ?o }": {"default_graph": [KEPT, DefaultGraph()]},
    "SELECT * { GRAPH ?g { ?s ?p ?o } }": {"named_graphs": [KEPT, GRAPHS["g"]]},
    "SELECT ?from { ?graph ?p ?from }": {},
    # for Oxigraph alone to read
    "SELECT * { VALUES ?from { 1 } LATERAL { GRAPH ?g { ?s ?p ?o } } }": {},
    f"SELECT * FROM NAMED {GRAPHS['g']} {{ VALUES ?x {{ 1 }} LATERAL {{ GRAPH ?g {{ ?s ?p ?o }} }} }}": {},
    "DESCRIBE <urn:example:a>": UNION_VIEW,
}
READS: dict[str, Callable[[Any], Any]] = {
    "len": len,
    "bool": bool,
    "iteration": lambda s: rows(s),
    "in": lambda s: (SECRET in s, OLD in s, NEW in s),
    "all quads": lambda s: rows(s.quads_for_pattern(None, None, None, None)),
    "quads of the graph": lambda s: rows(s.quads_for_pattern(None, None, None, KEPT)),
    "quads of another graph": lambda s: rows(s.quads_for_pattern(None, None, None, GRAPHS["g"])),
    "named graphs": lambda s: rows(s.named_graphs()),
    "contains": lambda s: (s.contains_named_graph(KEPT), s.contains_named_graph(GRAPHS["g"])),
    "dump": lambda s: rows(s.dump(format=RdfFormat.N_QUADS).splitlines()),
    "dump of the graph": lambda s: s.dump(format=RdfFormat.N_QUADS, from_graph=KEPT),
    "ASK": lambda s: bool(s.query("ASK { GRAPH ?g { ?s ?p <urn:example:secret> } }")),
    **{
        text: (lambda s, text=text, options=options: rows(s.query(text, **options)))
        for text, options in QUERIES.items()
    },
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_no_read_of_the_stand_in_sees_what_is_kept(read: Callable[[Any], Any]) -> None:
    """Every read gives what a store without a reserved graph gives."""
    assert read(kept()) == read(twin())


def test_a_store_that_only_keeps_something_is_empty() -> None:
    """Its readers see no data; None forgets a key, and the name of the graph stays hidden."""
    live = LiveStore()
    live.write(Transaction({}, name="feed", keep=CURSOR))
    assert (bool(live), len(live), live.kept("feed")) == (False, 0, CURSOR)
    live.write(Transaction({}, name="feed", keep=dict.fromkeys(CURSOR)))
    assert live.kept("feed") == {}
    assert list(live.native) == list(live.named_graphs()) == []


def test_a_dump_to_a_file_raises_as_natively(tmp_path: Path) -> None:
    """A dump is written where it should be, and refused with the native kind of error."""
    live, path = kept(), tmp_path / "all.nq"
    live.dump(path)
    assert rows(path.read_bytes().splitlines()) == READS["dump"](twin())
    for arguments in ((None, RdfFormat.TURTLE), (tmp_path / "all.xyz",), (), (io.StringIO(), RdfFormat.TRIG)):
        with pytest.raises((ValueError, TypeError)) as mine:
            live.dump(*arguments)
        with pytest.raises(mine.type):
            twin().dump(*arguments)


def test_reads_keep_the_state_of_their_beginning() -> None:
    """What is read is the state when the method was called, as in the native store."""
    live = kept()
    quads, everything = live.quads_for_pattern(None, None, None, None), iter(live)
    live.clear()
    assert len(list(quads)) == len(list(everything)) == len(KNOWN)


RDFLIB_READS: dict[str, Callable[[Any], Any]] = {
    "len": lambda d: (len(d), len(rdflib.Graph(d.store, NAME))),
    "quads": lambda d: set(d.quads()),
    "graphs": lambda d: {graph.identifier for graph in d.graphs()},
    "contexts of a triple": lambda d: {
        c.identifier for c in d.store.contexts((rdflib.URIRef("urn:example:a"), None, None))
    },
    "triples": lambda d: set(rdflib.Graph(d.store, NAME)),
    "union": lambda d: set(rdflib.Dataset(d.store, default_union=True).triples((None, None, None))),
    "query": lambda d: set(d.query("SELECT * { GRAPH ?g { ?s ?p ?o } }")),
    "query the union": lambda d: set(
        rdflib.Dataset(d.store, default_union=True).query("SELECT * { ?s ?p ?o }")
    ),
    "query the graph": lambda d: set(rdflib.Graph(d.store, NAME).query("SELECT * { ?s ?p ?o }")),
    "serialize": lambda d: rows(d.serialize(format="nquads").splitlines()),
}


@pytest.mark.parametrize("read", RDFLIB_READS.values(), ids=RDFLIB_READS)
def test_no_read_of_rdflib_sees_what_is_kept(read: Callable[[Any], Any]) -> None:
    """Whatever oxrdflib reads comes through the stand-in."""
    quads = [q for q in KNOWN if not isinstance(q.graph_name, BlankNode)]
    stores = Store(), Store()
    for store in stores:
        store.extend(quads)
    mirrored, plain = (rdflib.Dataset(OxigraphStore(store=store)) for store in stores)
    with rdflive.batch(mirrored):
        mirrored.store._store.write(Transaction({}, name="feed", keep=CURSOR))
    stores[0].add(SECRET)
    assert read(mirrored) == read(plain)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?s ?p ?o }",
        "SELECT * { GRAPH ?g { ?s ?p ?o } }",
        f"SELECT * {{ GRAPH {KEPT} {{ ?s ?p ?o }} }}",
        f"SELECT * FROM {KEPT} {{ ?s ?p ?o }}",
        f"SELECT * FROM NAMED {KEPT} {{ GRAPH ?g {{ ?s ?p ?o }} }}",
    ],
)
def test_no_subscription_sees_what_is_kept(query: str) -> None:
    """Answers, deltas and the union are without it, before and after something is kept."""
    live = kept()
    deltas: list[Any] = []
    with rdflive.subscribe(live, query, deltas.append, initial=False) as subscription:
        assert not any(
            "secret" in str(answer) or "rdflive:" in str(answer) for answer in subscription.answers()
        )
        live.write(Transaction({}, name="feed", keep={"cursor": "8"}))
        live.update("CLEAR ALL")
        live.write(Transaction({}, name="another", keep={"cursor": "9"}))
        assert subscription.answers() == []
    assert not any("rdflive:" in str(delta) for delta in deltas)
    assert live.kept("feed") == {**CURSOR, "cursor": "8"}


def test_the_union_does_not_hold_a_triple_because_it_is_kept() -> None:
    """A kept triple comes into the union with the first other graph, and goes with the last."""
    live, told = kept(), list[tuple[int, int]]()
    union = rdflib.Dataset(OxigraphStore(store=live), default_union=True)  # type: ignore[arg-type]  # as a store
    query = f"SELECT ?s {{ ?s ?p {SECRET.object} }}"
    rdflive.subscribe(union, query, lambda d: told.append((len(d.added), len(d.removed))), initial=False)
    visible = Quad(SECRET.subject, SECRET.predicate, SECRET.object, GRAPHS["g"])
    live.add(visible)
    live.remove(visible)
    live.extend([visible])
    live.update("CLEAR ALL")
    assert told == [(1, 0), (0, 1)] * 2


WRITES: dict[str, Callable[[Any], Any]] = {
    "clear": lambda s: s.clear(),
    "remove by pattern": lambda s: [s.remove(q) for q in s.quads_for_pattern(None, None, None, None)],
    "load": lambda s: s.load("<urn:a> <urn:b> <urn:c> <urn:d> .", RdfFormat.N_QUADS),
    "bulk load": lambda s: s.bulk_load("<urn:a> <urn:b> <urn:c> <urn:d> .", RdfFormat.N_QUADS),
    "bulk extend": lambda s: s.bulk_extend(iter([NEW])),
    **{
        text: (lambda s, text=text: s.update(text))
        for text in (
            "CLEAR ALL",
            "CLEAR NAMED",
            "DELETE { GRAPH ?g {?s ?p ?o} } WHERE { GRAPH ?g {?s ?p ?o} }",
            "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
            "INSERT { ?s ?p ?g } WHERE { GRAPH ?g { ?s ?p ?o } }",
            "INSERT { ?s ?p ?g } WHERE { GRAPH # all of them\n$g { ?s ?p ?o } }",
            "PREFIX e: <urn:example:> INSERT { GRAPH ?g { e:new e:p e:b } } WHERE { GRAPH ?g { ?s ?p ?o } }",
            "INSERT { GRAPH ?h { ?s ?p ?h } } WHERE { ?s ?p ?o BIND(<urn:example:n> AS ?h) }",
            "COPY DEFAULT TO <urn:example:n>",
            "ADD <urn:example:g> TO <urn:example:n> ; CLEAR DEFAULT",
            "INSERT DATA { GRAPH <urn:example:g> { <urn:a> <urn:b> 'NAMED' } }",
            "INSERT { ?s ?p ?a } USING NAMED <urn:example:g> WHERE { GRAPH ?g { ?s ?p ?a } }",
            "INSERT { ?s ?p ?a } WHERE { VALUES ?x { 1 } LATERAL { GRAPH ?g { ?s ?p ?a } } } # all",
            "INSERT { ?s ?p ?o } WHERE { VALUES (?x ?y) { (1 2) } FILTER(?x<?y#>'''\n)"
            " GRAPH ?g { ?s ?p ?o } # '''\n}",
        )
    },
}


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_no_write_reads_or_harms_what_is_kept(write: Callable[[Any], Any], is_heard: bool) -> None:
    """The data become what they would without a reserved graph, and all is still kept."""
    live, other = kept(), LiveStore(twin())
    if is_heard:
        with rdflive.subscribe(
            live, "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
        ) as subscription:
            write(live)
            assert len(subscription.answers()) == len(live)
    else:
        write(live)
    write(other)
    assert set(live) == set(other)
    assert live.kept("feed") == CURSOR
    assert SECRET in live.native


REFUSED: dict[str, Callable[[Any], Any]] = {
    "add": lambda s: s.add(Quad(*NEW.triple, KEPT)),
    "remove": lambda s: s.remove(SECRET),
    "extend": lambda s: s.extend([OLD, Quad(*NEW.triple, KEPT)]),
    "bulk extend": lambda s: s.bulk_extend([Quad(*NEW.triple, KEPT)]),
    "add graph": lambda s: s.add_graph(KEPT),
    "clear graph": lambda s: s.clear_graph(KEPT),
    "remove graph": lambda s: s.remove_graph(KEPT),
    "load to it": lambda s: s.load("<urn:a> <urn:b> <urn:c> .", RdfFormat.TURTLE, to_graph=KEPT),
    "bulk load to it": lambda s: s.bulk_load("<urn:a> <urn:b> <urn:c> .", RdfFormat.TURTLE, to_graph=KEPT),
    "load quads of it": lambda s: s.load(f"<urn:a> <urn:b> <urn:c> {KEPT} .", RdfFormat.N_QUADS),
    "write": lambda s: s.write(Transaction({(*NEW.triple, KEPT): 1}, name="feed", keep={})),
    **{
        text: (lambda s, text=text: s.update(text))
        for text in (
            f"CLEAR GRAPH {KEPT}",
            f"DROP SILENT GRAPH {KEPT}",
            f"INSERT DATA {{ GRAPH {KEPT} {{ <urn:a> <urn:b> <urn:c> }} }}",
            f"WITH {KEPT} DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o }}",
            f"INSERT {{ ?s ?p ?o }} USING {KEPT} WHERE {{ ?s ?p ?o }}",
            f"COPY DEFAULT TO {KEPT}",
            f"MOVE {KEPT} TO DEFAULT",
            "PREFIX x: <urn:x-rdflive:> CLEAR GRAPH x:kept",
            r"PREFIX x: <urn:> CLEAR GRAPH x:x\-rdflive:kept",
            "BASE <urn:x-rdflive:kept> CLEAR GRAPH <>",
            r"CLEAR GRAPH <urn:x-rdflive:\u006bept>",
        )
    },
}


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.parametrize("write", REFUSED.values(), ids=REFUSED)
def test_a_write_that_names_the_reserved_graph_is_refused(
    write: Callable[[Any], Any], is_heard: bool
) -> None:
    """The error says what the graph is for, and nothing has changed."""
    live = kept()
    with rdflive.subscribe(live, "ASK { GRAPH ?g { ?s ?p ?o } }") as subscription:
        if not is_heard:
            subscription.close()
        before = set(live.native)
        with pytest.raises(WriteRefusedError, match="keeps the cursors") as caught:
            write(live)
        assert isinstance(caught.value, RdfliveError)
        assert set(live.native) == before


@pytest.mark.parametrize("is_entry", [True, False])
@pytest.mark.parametrize("make", [LiveStore, kept])
def test_an_update_that_computes_the_name_leaves_no_trace(
    make: Callable[[], LiveStore], is_entry: bool
) -> None:
    """Its quads in the reserved graph are dropped again, whether there is one or not; the others stay."""
    live = make()
    before = set(live.native)
    text = f"INSERT {{ ?g ?g 1 GRAPH ?g {{ ?g ?g 1 }} }} WHERE {{ BIND({KEPT} AS ?g) }}"
    if is_entry:
        live.write(Transaction({}, updates=[text], name="feed", keep={}))
    else:
        live.update(text)
    assert len(set(live.native) ^ before) == 1
    assert live.native.contains_named_graph(KEPT) == bool(before)


NAMING: dict[str, Callable[[Any], Any]] = {
    "load": lambda s: s.load(
        f"<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> <urn:c> {KEPT} .", RdfFormat.N_QUADS
    ),
    "load in pieces": lambda s: s.load(
        "@prefix x: <urn:x-rdf> . x:live:kept { x:a x:b x:c }", RdfFormat.TRIG
    ),
    "extend": lambda s: s.extend([NEW, Quad(*NEW.triple, KEPT)]),
    "bulk load": lambda s: s.bulk_load(f"<urn:a> <urn:b> <urn:c> {KEPT} .", RdfFormat.N_QUADS),
    "bulk load of a faulty document": lambda s: s.bulk_load(
        "".join(f"<urn:a> <urn:b> <urn:{n}> {KEPT} .\n" for n in range(3_000)) + "nonsense", RdfFormat.N_QUADS
    ),
    "bulk extend": lambda s: s.bulk_extend(iter([Quad(*NEW.triple, KEPT)])),
}


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.parametrize("write", NAMING.values(), ids=NAMING)
def test_quads_of_the_reserved_graph_never_make_it(write: Callable[[Any], Any], is_heard: bool) -> None:
    """Before anything is kept a document with the name is refused whole, or its quads are dropped again."""
    live = LiveStore(twin())
    subscription = rdflive.subscribe(live, "ASK { GRAPH ?g { ?s ?p ?o } }")
    if not is_heard:
        subscription.close()
    with pytest.raises((WriteRefusedError, SyntaxError)):
        write(live)
    assert set(live.native) == set(KNOWN)
    assert not live.native.contains_named_graph(KEPT)


def test_two_texts_for_one_key_are_refused() -> None:
    """Neither reading nor replacing guesses which of them is the last."""
    live = kept()
    first = next(q for q in live.native.quads_for_pattern(None, None, None, KEPT) if q.object.value == '"7"')
    live.native.remove(SECRET)
    live.native.add(Quad(first.subject, first.predicate, Literal('"8"'), KEPT))
    with pytest.raises(WriteRefusedError, match="two texts of 'feed' for 'cursor'"):
        live.kept("feed")
    with pytest.raises(WriteRefusedError, match="two texts"):
        live.write(Transaction({}, name="feed", keep={"cursor": "9"}))


def cursors(live: LiveStore) -> list[Quad]:
    """List the quads that are kept for the key, which none should be two of."""
    return [quad for quad in live.native if quad.graph_name == KEPT and "cursor" in quad.predicate.value]  # type: ignore[union-attr]  # no triple


@pytest.mark.parametrize("keep", [{"cursor": "9"}, {"cursor": "8"}, {"cursor": None}])
@pytest.mark.parametrize("changes", [{}, {tuple(NEW): 1}, {tuple(OLD): -1}])
def test_of_two_texts_the_newer_one_counts(keep: dict[str, str | None], changes: Any) -> None:
    """A program may end when the newer one has come with the data, and before the older one has gone."""
    live = LiveStore(twin())
    for cursor in ("6", "7"):
        live.write(Transaction({}, name="feed", keep={"cursor": cursor}))
    (old,) = cursors(live)
    live.write(Transaction({}, name="feed", keep={"cursor": "8"}))
    live.native.add(old)
    again = LiveStore(live.native)
    assert again.kept("feed") == {"cursor": "8"}
    again.write(Transaction(changes, name="feed", keep=keep))
    assert again.kept("feed") == {key: text for key, text in keep.items() if text is not None}
    assert len(cursors(again)) == len(again.kept("feed"))
    assert set(again) == {
        quad for quad in {*KNOWN, NEW} if changes.get(tuple(quad), 1 if quad in KNOWN else -1) > 0
    }


def test_a_store_without_anything_kept_is_as_before() -> None:
    """Without a reserved graph reads are the native methods; its name is refused all the same."""
    live = LiveStore(twin())
    found, native = (store.quads_for_pattern(None, None, None, None) for store in (live, live.native))
    assert type(found) is type(native)
    assert live.query.__self__ is live.native  # type: ignore[attr-defined]  # a native bound method
    for write in (lambda: live.update(f"CREATE GRAPH {KEPT}"), lambda: live.add_graph(KEPT)):
        with pytest.raises(WriteRefusedError):
            write()


def test_a_store_that_keeps_something_stays_hooked_until_it_is_closed(tmp_path: Path) -> None:
    """Queries without any subscription do not see the cursor; closing the store unlocks its directory."""
    path = str(tmp_path / "store")
    dataset = rdflib.Dataset(OxigraphStore())
    dataset.store.open(path)
    with rdflive.batch(dataset):
        dataset.store._store.write(Transaction({}, name="feed", keep=CURSOR))
        dataset.add((NAME, rdflib.RDF.type, rdflib.RDFS.Class))
    assert len(list(dataset.quads())) == 1
    assert not list(dataset.query("SELECT ?g { GRAPH ?g {} }"))
    dataset.close()
    assert type(dataset.store) is OxigraphStore
    again = Store(path)  # fails while the directory is locked
    assert LiveStore(again).kept("feed") == CURSOR
    assert len(again) == 1 + len(CURSOR)
    del again
    read = rdflib.Dataset(OxigraphStore())
    read.store.open(path)
    with rdflive.subscribe(read, "SELECT * { GRAPH ?g { ?s ?p ?o } }") as subscription:
        assert subscription.answers() == []
    assert not list(read.query("SELECT ?g { GRAPH ?g {} }"))
    read.close()
    Store(path)


def test_a_backup_keeps_what_is_kept(tmp_path: Path) -> None:
    """A native copy of the store goes on from the same cursor."""
    live = kept(Store(str(tmp_path / "store")))
    live.backup(tmp_path / "copy")
    assert LiveStore(Store(str(tmp_path / "copy"))).kept("feed") == CURSOR


class Counting:
    """A native store that counts how often its reserved graph is listed."""

    def __init__(self, native: Store) -> None:
        self._native, self.lists = native, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def __contains__(self, one: object) -> bool:
        return one in self._native

    def quads_for_pattern(self, *pattern: Any) -> Any:
        self.lists += pattern[-1] == KEPT
        return self._native.quads_for_pattern(*pattern)


def test_a_long_feed_lists_the_reserved_graph_once() -> None:
    """An entry costs the same however many came before, and what another stand-in wrote is found out."""
    live = kept()
    live.native = native = Counting(live.native)  # type: ignore[assignment]  # counts for the test
    other = LiveStore(live.native._native)  # type: ignore[attr-defined]  # a second one over the same store
    for number in range(10):
        changes = {(*NEW.triple, DefaultGraph()): 1}
        live.write(Transaction(changes, name="feed", keep={"cursor": str(number), str(number): "x"}))
    assert native.lists == 0
    other.write(Transaction({}, name="feed", keep={"cursor": "other", "größe": None}))
    live.write(Transaction({}, name="feed", keep={"cursor": "last", "größe": "new"}))
    assert native.lists == 1
    assert live.kept("feed") == {**{str(n): "x" for n in range(10)}, "cursor": "last", "größe": "new"}
    live.write(Transaction({}, name="feed", keep=dict.fromkeys(live.kept("feed"))))
    assert set(live.native.quads_for_pattern(None, None, None, KEPT)) == {SECRET}


def test_a_graph_of_oxrdflib_with_a_blank_node_as_name_is_counted() -> None:
    """`len` asks for one graph by name, which may be a blank node."""
    graph = rdflib.Graph(store="Oxigraph")
    rdflive.mirror(graph, io.BytesIO(b"+ <urn:s> <urn:p> <urn:o> ."), "nquads", name="log")
    assert len(graph) == 1
