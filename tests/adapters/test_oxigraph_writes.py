"""Entries of feeds in Oxigraph: any term, any text of an update, one native transaction."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

import rdflive
from rdflive.plugins import manager
from rdflive.store import Transaction, WriteRefusedError

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

import pyoxigraph as ox
from oxrdflib import OxigraphStore
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, Store, Triple

from rdflive_stores.oxigraph import LiveStore
from rdflive_stores.oxigraph.update import Request
from support.effort import examples
from support.oxigraph import GRAPHS, KNOWN, NEW, OLD, followed, node, quad, typed

DEFAULT = DefaultGraph()
EX = {"e": "urn:example:"}


def write(
    live: LiveStore, changes: Any = (), *, prefixes: dict[str, str] | None = None, **entry: Any
) -> None:
    given = {tuple(one): sign for one, sign in dict(changes).items()}
    live.write(Transaction(given, **{"name": "feed", "keep": {}, **entry}), prefixes)


blanks = st.sampled_from([BlankNode("b"), BlankNode("c1.x"), BlankNode("0")])
iris = st.sampled_from([node("a"), NamedNode("http://e/ü'%27(x)/../y?z#w"), NamedNode("a:b")])
texts = st.text(max_size=8) | st.sampled_from(
    ["'''", '"""', "\\u0022", "\\", "} ;", "\r\n\t\b\f\0", "\U0001f600"]
)
literals = st.one_of(
    texts.map(ox.Literal),
    st.builds(lambda text, tag: ox.Literal(text, language=tag), texts, st.sampled_from(["en", "de-at-1996"])),
    st.builds(lambda text: ox.Literal(text, language="ar", direction=ox.BaseDirection.RTL), texts),
    st.builds(lambda text, kind: ox.Literal(text, datatype=kind), texts, iris),
    st.sampled_from(
        [typed("01"), typed("1"), typed("+1"), typed("x"), typed("1.0", "decimal"), typed("1E0", "double")]
    ),
)
terms = st.recursive(
    blanks | iris | literals, lambda inner: st.builds(Triple, blanks | iris, iris, inner), max_leaves=2
)
graphs = st.sampled_from([DEFAULT, *GRAPHS.values()])
quads = st.builds(Quad, blanks | iris, iris, terms, graphs)
entries = st.dictionaries(quads, st.sampled_from([1, -1]), max_size=5)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(entries, max_size=5), st.booleans())
def test_entries_give_what_single_writes_give(
    given: list[dict[Quad, Literal[1, -1]]], is_update: bool
) -> None:
    """Any quads, blank nodes with their labels, give the same store as `add` and `remove`, exactly told."""
    live, follower = followed()
    twin = Store()
    twin.extend(KNOWN)
    for entry in given:
        is_cleared = is_update and twin.contains_named_graph(GRAPHS["g"])
        write(live, entry, updates=["CLEAR GRAPH <urn:example:g>"] * is_cleared)
        if is_cleared:
            twin.clear_graph(GRAPHS["g"])
        for one, sign in entry.items():  # spellings of one literal are one quad, which the last one decides
            (twin.add if sign > 0 else twin.remove)(one)
        assert follower.check() <= 1
        assert set(live) == set(twin)


def test_a_term_that_was_read_leniently_can_be_written() -> None:
    """An IRI that SPARQL cannot spell goes in and out as any other term."""
    source = r"""<http://e/%zz> <http://e/p> "1" .
<http://e/a> <http://e/p\u003E\u0020x> <http://e/\u007D> .
<http://e/a> <http://e/p> "x"@toolonglanguage .
<relative> <http://e/p> "x" ."""
    strange = list(ox.parse(source, RdfFormat.N_TRIPLES, lenient=True))
    assert len(strange) == 4
    live, follower = followed()
    write(live, dict.fromkeys(strange, 1))
    assert set(strange) <= set(live)
    write(live, dict.fromkeys([*strange, OLD], -1) | {NEW: 1}, updates=["INSERT DATA { <urn:a> <urn:b> 1 }"])
    assert not set(strange) & set(live)
    assert NEW in live
    assert OLD not in live
    assert follower.check() == 2


def test_a_huge_entry_is_one_write() -> None:
    """Thousands of quads, ground ones and others, fit into one request."""
    live = LiveStore()
    ground = {(node(f"s{i}"), node("p"), typed(str(i)), GRAPHS["g"]): 1 for i in range(20_000)}
    others = {(BlankNode(f"b{i}"), node("p"), node("o"), DEFAULT): 1 for i in range(2_000)}
    live.write(Transaction({**ground, **others}, name="feed", keep={"cursor": "1"}))
    assert len(live) == 22_000
    live.write(Transaction(dict.fromkeys({**ground, **others}, -1), name="feed", keep={"cursor": "2"}))
    assert len(live) == 0


ABOUT = "<urn:example:a> <urn:example:p> <urn:example:b>"
ONE, TWO = "<urn:1:a> <urn:1:p> <urn:1:b>", "<urn:2:a> <urn:2:p> <urn:2:b>"
JOINED: dict[str, tuple[list[str], set[str]]] = {
    "prefixes of each": (
        [
            "PREFIX x: <urn:1:> INSERT DATA { x:a x:p x:b }",
            "prefix x: <urn:2:> INSERT DATA { x:a x:p x:b }",
            "INSERT DATA { e:a e:p e:b } # the graph's own",
        ],
        {ONE, TWO, ABOUT},
    ),
    "the graph's prefix behind another": (
        ["PREFIX e: <urn:1:> INSERT DATA { e:a e:p e:b };", "INSERT DATA { e:a e:p e:b }"],
        {ONE, ABOUT},
    ),
    "bases": (
        [
            "BASE <http://1/> INSERT DATA { <a> <p> <b> }",
            "# none\nBASE <http://2/x/> INSERT DATA { <a> <../p> <> }",
        ],
        {"<http://1/a> <http://1/p> <http://1/b>", "<http://2/x/a> <http://2/p> <http://2/x/>"},
    ),
    "escapes": (
        [
            r"PREFIX x: <urn:1:> INSERT DATA { x:a\,b x:p '\u0041x:y' }",
            r"INSERT DATA { <urn:\u0061> e:p '_:a # \'' }",
        ],
        {'<urn:1:a,b> <urn:1:p> "Ax:y"', '<urn:a> <urn:example:p> "_:a # \'"'},
    ),
    "prologue alone": (["PREFIX x: <urn:1:>", "", "# nothing", "INSERT DATA { e:a e:p e:b }"], {ABOUT}),
    "names of keywords": (
        ["PREFIX prefix: <urn:1:> # BASE <x>\nINSERT DATA { prefix:a prefix:base 'PREFIX' }"],
        {'<urn:1:a> <urn:1:base> "PREFIX"'},
    ),
    "ends": (
        [
            "INSERT DATA { e:a e:p 1 };",
            "INSERT DATA { e:a e:p 2 } # x",
            "INSERT DATA { e:a e:p 3 } ; # y ;",
            " CLEAR SILENT GRAPH e:g\n",
        ],
        {f"<urn:example:a> <urn:example:p> {typed(n)}" for n in "123"},
    ),
}


@pytest.mark.parametrize(("updates", "expected"), JOINED.values(), ids=JOINED)
def test_updates_do_not_see_each_other(updates: list[str], expected: set[str]) -> None:
    """Each text has its own prefixes and base, however it begins and ends."""
    live = LiveStore()
    write(live, {NEW: 1}, updates=updates, prefixes=EX)
    assert {str(q.triple) for q in live} == expected | {str(NEW.triple)}
    one_by_one = LiveStore()
    for update in updates:
        one_by_one.update(update, prefixes=EX)
    assert {str(q.triple) for q in one_by_one} == expected


def test_blank_nodes_of_updates_are_new_ones_of_each() -> None:
    """The same label in two texts is two nodes, in one text one node, and stored ones are left alone."""
    live = LiveStore()
    text = "INSERT DATA { _:b e:p 1 . _:b e:q 2 . GRAPH e:g { _:b e:p _:c } }"
    write(live, {Quad(BlankNode("b"), node("p"), node("o")): 1}, updates=[text, text], prefixes=EX)
    subjects = {q.subject for q in live}
    assert len(subjects) == 3
    assert len(live) == 7
    assert BlankNode("b") in subjects


@pytest.mark.parametrize(
    ("updates", "error"),
    [
        (["INSERT DATA { e:a e:p nope:b }"], SyntaxError),
        (["PREFIX nope: <urn:1:> CLEAR DEFAULT", "INSERT DATA { e:a e:p nope:b }"], SyntaxError),
        (["BASE <http://b/> CLEAR DEFAULT", "INSERT DATA { <a> e:p e:b }"], SyntaxError),
        (["INSERT DATA { e:a e:p '''", "''' }"], SyntaxError),
        (["INSERT DATA { e:a e:p '''"], SyntaxError),
        (["CLEAR DEFAULT }"], SyntaxError),
        (["CLEAR DEFAULT ;;"], SyntaxError),
        (["INSERT {"], SyntaxError),
        (["SELECT * { ?s ?p ?o }"], SyntaxError),
        (["CLEAR DEFAULT", "CLEAR GRAPH e:nowhere"], WriteRefusedError),
        (["CLEAR DEFAULT", "INSERT { e:a e:p ?x } WHERE { BIND(e:f(1) AS ?x) }"], WriteRefusedError),
        (["CLEAR DEFAULT", "LOAD <file:///nowhere.ttl>"], (OSError, ValueError, RuntimeError)),
        (["CLEAR ALL", "INSERT { ?s ?p ?s } WHERE { ?s ?p ?o FILTER(?s<?o#>\n) } ; CLEAR"], SyntaxError),
        ([7], TypeError),
    ],
)
def test_an_update_that_fails_is_as_if_it_were_alone(updates: list[str], error: Any) -> None:
    """Nothing of the entry happens, and the native error comes with its place in the text."""
    live, follower = followed()
    live.write(Transaction({}, name="feed", keep={"cursor": "1"}))
    follower.native = live  # type: ignore[assignment]  # what can be seen of the store
    before = set(live.native)
    with pytest.raises(error) as caught:
        write(live, {NEW: 1, OLD: -1}, updates=updates, prefixes=EX, keep={"cursor": "2"})
    assert set(live.native) == before
    assert follower.check() == 0
    if error is SyntaxError and len(updates) == 1:
        with pytest.raises(SyntaxError) as alone:
            Store().update(updates[0], prefixes=EX)
        assert str(caught.value) == str(alone.value)


def test_a_store_that_takes_no_update_is_not_refusing_this_one(tmp_path: Path) -> None:
    """What Oxigraph says of the store stays its own error, and so does what `update` raises."""
    native = Store(str(tmp_path))
    native.add(OLD)
    native.flush()
    del native
    dataset = rdflib.Dataset(OxigraphStore(store=Store.read_only(str(tmp_path))))
    update = Transaction({}, updates=["DROP GRAPH <urn:nowhere>"], name="feed", keep={})
    with manager.locked(dataset.store) as locked:
        adapter: Any = locked
        with pytest.raises(RuntimeError, match="read-write"):
            adapter.write(dataset, update)
    with pytest.raises(RuntimeError, match="does not exist"):
        LiveStore().update("DROP GRAPH <urn:nowhere>")


@pytest.mark.parametrize("place", range(4))
def test_what_is_no_quad_is_refused(place: int) -> None:
    """A term in a place where Oxigraph cannot hold it is refused by name, and nothing is written."""
    live, follower = followed()
    terms: list[Any] = [node("s"), node("p"), node("o"), DEFAULT]
    terms[place] = ox.Variable("x") if place == 2 else ox.Literal("x")
    with pytest.raises(WriteRefusedError, match="not a quad"):
        live.write(Transaction({tuple(NEW): 1, tuple(terms): 1}, name="feed", keep={"cursor": "1"}))
    assert live.kept("feed") == {}
    assert follower.check() == 0
    assert NEW not in live


def test_updates_need_the_dataset_that_oxigraph_runs_them_on() -> None:
    """A named graph and a union cannot run native updates; changes they can take."""
    store = OxigraphStore()
    named = rdflib.Graph(store, rdflib.URIRef("urn:example:g"))
    union = rdflib.Dataset(store, default_union=True)
    for target in (named, union):
        with manager.locked(store) as adapter:
            with pytest.raises(rdflive.UnsupportedStoreError, match="without default_union"):
                adapter.write(target, Transaction({}, updates=["CLEAR ALL"], name="feed", keep={}))
            adapter.write(target, Transaction({tuple(NEW): 1}, name="feed", keep={}))
    assert len(named) == 1
    dataset = rdflib.Dataset(store)
    dataset.bind("mine", "urn:example:")
    update = "INSERT DATA { mine:a mine:p mine:b }"
    with manager.locked(store) as adapter:
        adapter.write(dataset, Transaction({}, updates=[update], name="feed", keep={}))
    assert (rdflib.URIRef("urn:example:a"), None, None) in dataset


def test_a_check_executes_nothing() -> None:
    """Checking a text neither loads what it names nor keeps what it inserts for the next check."""
    for _ in range(2):
        assert Request(["CREATE GRAPH <urn:once>"]).texts == ["CREATE  GRAPH <urn:once>"]
    assert Request(["LOAD <file:///nowhere.ttl>"]).texts == ["LOAD  <file:///nowhere.ttl>"]
    assert Request([]).texts == []


def test_data_and_cursor_are_both_on_disk_or_neither(tmp_path: Path) -> None:
    """A process that is killed while it writes leaves the data of the cursor that it leaves."""
    path = str(tmp_path / "store")
    program = f"""
import sys
from pyoxigraph import *
from rdflive.store import Transaction
from rdflive_stores.oxigraph import LiveStore
live = LiveStore(Store({path!r}))
p = NamedNode("urn:p")
for n in range(100000):
    quads = [(BlankNode("b"), p, Literal(number), DefaultGraph()) for number in (n - 1, n)]
    live.write(Transaction(dict(zip(quads, (-1, 1))), name="feed", keep={{"cursor": str(n)}}))
    if n == 20:
        print("go", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == b"go"
        child.kill()
    live = LiveStore(Store(path))
    held = list(live.quads_for_pattern(None, None, None, None))
    assert [q.object.value for q in held] == [live.kept("feed")["cursor"]]
    assert held[0].subject == BlankNode("b")
    assert quad("a p b -") not in live
