"""Entries of feeds in rdflib's own stores."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.plugins.stores.auditable import AuditableStore
from rdflib.plugins.stores.memory import Memory, SimpleMemory

import rdflive
from rdflive.errors import UnsupportedQueryError
from rdflive.model import TripleTerm
from rdflive.plugins import manager
from rdflive.store import UNION, Transaction, WriteRefusedError
from rdflive.testing.operations import NAMES, World, term
from support.effort import examples

A, B = term("a p b"), term("b q 1")


def write(graph: Any, changes: Any = (), **entry: Any) -> None:
    with manager.locked(graph.store) as adapter:
        adapter.write(graph, Transaction(dict(changes), **{"name": "feed", "keep": {}, **entry}))


def kept(store: Any) -> Any:
    with manager.locked(store) as adapter:
        return adapter.kept("feed")


def test_what_is_kept_goes_with_the_store() -> None:
    """A pickle and a copy of the store have what it keeps, watched or not, and unwatched it is plain."""
    graph = rdflib.Graph(Memory(), NAMES[0])
    with rdflive.subscribe(graph, "ASK { ?s ?p ?o }"):
        write(graph, {(*A, NAMES[0]): 1}, keep={"cursor": "1"})
        twins = [pickle.loads(pickle.dumps(graph.store)), copy.deepcopy(graph.store)]
    assert type(graph.store) is Memory
    twins += [pickle.loads(pickle.dumps(graph.store)), graph.store]
    write(graph, keep={"cursor": "2"})
    assert [kept(store)["cursor"] for store in twins] == ["1", "1", "1", "2"]
    assert all(A in rdflib.Graph(store, NAMES[0]) for store in twins)


A_PATTERN, NO_TERM, NO_NAME = (None, None, None, NAMES[0]), ("urn:a", *A[1:], NAMES[0]), (*A, "g")


@pytest.mark.parametrize(
    "quad",
    [A_PATTERN, (*A[:2], None, NAMES[0]), NO_TERM, ([], *A[1:], NAMES[0]), (*A, None), NO_NAME, (*A, UNION)],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_no_quad_is_refused(quad: Any, sign: int) -> None:
    """Neither a pattern nor a foreign term gets into the store, or takes anything out of it."""
    world = World(Memory())
    world.prepare()
    before = [set(graph) for graph in world.views()]
    with pytest.raises((WriteRefusedError, TypeError)):
        write(world.graph, {(*B, NAMES[0]): -1, quad: sign}, keep={"cursor": "1"})
    assert [set(graph) for graph in world.views()] == before
    assert kept(world.store) == {}


def test_a_store_of_one_graph_refuses_named_ones() -> None:
    """A named graph in an entry for SimpleMemory is refused before anything is written."""
    graph = rdflib.Graph(SimpleMemory())
    graph.add(A)
    for changes in ({(*A, NAMES[0]): 1}, {(*B, None): 1, (*A, NAMES[0]): -1}):
        with pytest.raises(WriteRefusedError, match="single graph"):
            write(graph, changes, keep={"cursor": "1"})
    assert (set(graph), kept(graph.store)) == ({A}, {})


def test_a_failed_update_gives_names_of_graphs_back() -> None:
    """Graphs without triples that an entry made or dropped are as before when it fails."""
    dataset = rdflib.Dataset()
    dataset.graph(NAMES[0])
    dataset.graph(NAMES[1]).add(A)
    before = {graph.identifier for graph in dataset.graphs()}
    updates = [
        "DROP ALL ; INSERT DATA { GRAPH <urn:new> { <urn:a> <urn:b> <urn:c> } }",
        "LOAD <file:///nowhere.ttl>",
    ]
    with pytest.raises(Exception, match="Could not load"):
        write(dataset, updates=updates)
    assert {graph.identifier for graph in dataset.graphs()} == before
    assert set(dataset.graph(NAMES[1])) == {A}


def test_a_rollback_leaves_entries_and_their_cursor_together() -> None:
    """What a feed wrote to an AuditableStore is not part of its user's transaction."""
    store = AuditableStore(Memory())
    graph = rdflib.Graph(store, NAMES[0])
    graph.add(B)
    write(graph, {(*A, NAMES[0]): 1}, keep={"cursor": "1"})
    graph.rollback()
    assert set(graph) == {A}
    assert kept(store) == kept(store.store) == {"cursor": "1"}


UPDATES = (
    "INSERT DATA { :a :p :b . :a :p :n GRAPH :g1 { :a :p :n } }",
    "DELETE DATA { :a :p :b . GRAPH :g2 { :d :p :e } }",
    "DELETE WHERE { ?s :p :b }",
    "DELETE { ?s :p ?o } INSERT { ?o :r ?s } WHERE { ?s :p ?o }",
    "WITH :g1 DELETE { ?s :p ?o } INSERT { ?o :r ?s } WHERE { ?s :p ?o FILTER(isIRI(?o)) }",
    "CLEAR DEFAULT",
    "CLEAR NAMED",
    "DROP DEFAULT",
    "CLEAR GRAPH :g1",
    "COPY DEFAULT TO :g1",
    "COPY :g1 TO DEFAULT",
    "MOVE :g1 TO DEFAULT",
    "ADD :g1 TO DEFAULT",
    "COPY :g1 TO :g2",
    "INSERT { ?s :in ?g } WHERE { GRAPH ?g { ?s ?p ?o } }",
    "DELETE { ?s ?p ?o } INSERT { ?o ?p ?s } WHERE { VALUES (?s ?p ?o) { (:x :y :z) (:z :y :x) } }",
    "INSERT { ?s :p ?o } WHERE { VALUES (?s ?o) { (:x :y) (:y :x) } } ; "
    "DELETE { ?s :p ?o } INSERT { ?o :p ?s } WHERE { ?s :p ?o }",
    "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
    "DELETE WHERE { ?s ?p ?o . GRAPH ?g { ?s ?p ?o } }",
    "DELETE WHERE { GRAPH ?g { :a ?p ?o } GRAPH :g2 { ?s ?p ?o } }",
    "DELETE WHERE { GRAPH :nowhere { ?s ?p ?o } }",
    "DELETE { GRAPH ?g { ?s ?p ?o } } INSERT { ?o ?p ?s } WHERE { GRAPH ?g { ?s ?p ?o } }",
    "INSERT { GRAPH ?g { ?s ?p ?o } } WHERE { ?s ?p ?o OPTIONAL { ?s :nothing ?g } }",
    "INSERT { GRAPH ?o { ?s ?p ?o } } WHERE { ?s ?p ?o }",
    "INSERT { ?o ?p ?s . ?s ?o ?p } WHERE { GRAPH ?g { ?s ?p ?o } }",
    "INSERT { ?s :used ?o } USING :g1 WHERE { ?s ?p ?o }",
    "INSERT { ?s :used ?o } USING :g1 USING :g2 WHERE { ?s ?p ?o }",
    "INSERT { ?s :used ?g } USING NAMED :g1 WHERE { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }",
    "WITH :g2 DELETE { ?s ?p ?o } INSERT { ?s :used ?o } USING :g1 WHERE { ?s ?p ?o }",
    "WITH :g1 INSERT { ?s :in ?g } WHERE { ?s ?p ?o GRAPH ?g { ?s ?q ?r } }",
    "INSERT { ?s :used ?o } USING :nowhere WHERE { ?s ?p ?o }",
    "CREATE GRAPH :new",
    "CREATE SILENT GRAPH :g1; CREATE GRAPH :new; INSERT DATA { GRAPH :new { :a :p :b } }",
    "PREFIX x: <urn:example:>",
    "INSERT { :a :p ?r } WHERE { BIND(COALESCE(IRI('rel'), :none) AS ?r) }",
    "BASE <http://e/x> INSERT { :a :p ?r } WHERE { BIND(COALESCE(URI('rel'), :none) AS ?r) }",
    "INSERT { :a :p ?r } WHERE { VALUES ?v { 'http://e/ b' 'urn:b' :c 'urn:d'@en } BIND(IRI(?v) AS ?r) }",
    "INSERT { :a :p ?r } WHERE { BIND(COALESCE(REGEX('a', '('), :none) AS ?r) }",
    "INSERT { :a :p ?r } WHERE { BIND(COALESCE(SUBSTR('abc', 2, 1e300), :none) AS ?r) }",
)


INSERT = f"INSERT DATA {{ GRAPH {NAMES[0].n3()} {{ <urn:a> <urn:p> 1 }} }}"
SWAPS = tuple(
    update for update in UPDATES if "INSERT { ?o ?p ?s } WHERE { VALUES" in update or " ; " in update
)
"""Updates that delete what they insert for another solution."""


def test_an_update_deletes_before_it_inserts() -> None:
    """What one solution inserts is not deleted for another one: a swap leaves both triples."""
    dataset = rdflib.Dataset()
    dataset.bind("", "urn:example:")
    for update in SWAPS:
        write(dataset, updates=["CLEAR ALL", update])
        assert len(dataset) == 2


@cache
def oxigraph_swaps() -> bool:
    """Tell if this Oxigraph is a judge of swaps: older ones delete and insert solution by solution."""
    store = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]").Store()
    store.update("INSERT DATA { <urn:x> <urn:p> <urn:y> . <urn:y> <urn:p> <urn:x> }")
    store.update("DELETE { ?s <urn:p> ?o } INSERT { ?o <urn:p> ?s } WHERE { ?s <urn:p> ?o }")
    return len(store) == 2


@pytest.mark.parametrize("update", UPDATES)
def test_an_update_of_a_dataset_does_what_sparql_says(update: str) -> None:
    """rdflib's engine, which takes a dataset for its union in places, gives what Oxigraph gives."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    if update in SWAPS and not oxigraph_swaps():
        pytest.skip("this Oxigraph deletes and inserts solution by solution, so it is no judge here")
    contents = []
    for store in (Memory(), rdflib.plugin.get("Oxigraph", rdflib.store.Store)()):
        World(store).prepare()
        dataset = rdflib.Dataset(store)
        dataset.bind("", "urn:example:")
        write(dataset, updates=[update])
        contents.append({name: set(rdflib.Graph(store, name)) for name in (DATASET_DEFAULT_GRAPH_ID, *NAMES)})
    assert contents[0] == contents[1]


@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_a_graph_that_is_there_cannot_be_created(store: str) -> None:
    """CREATE fails for it, and with it the whole entry, as on Oxigraph."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    dataset = rdflib.Dataset(store)
    dataset.graph(NAMES[0]).add(A)
    create = f"CREATE GRAPH {NAMES[0].n3()}"
    with pytest.raises((WriteRefusedError, RuntimeError), match=r"already"):
        write(dataset, updates=[f"CREATE GRAPH <urn:new> ; CLEAR ALL ; {INSERT} ; {create}"])
    assert {quad[:3] for quad in dataset.quads()} == {A}


names = st.sampled_from([":a", ":b", ":c"])
graph_names = st.sampled_from([":g1", ":g2"])


def templates(variables: list[str]) -> st.SearchStrategy[str]:
    """Write blocks of quads over a few terms, and over variables where there are any."""
    places = names | st.sampled_from(variables) if variables else names
    triple = st.builds("{} {} {}".format, places, st.sampled_from([":p", ":q"]), places)
    named = st.sampled_from(["?g", *variables]) | graph_names if variables else graph_names
    block = triple | st.builds("GRAPH {} {{ {} }}".format, named, triple)
    return st.lists(block, min_size=1, max_size=2).map(" . ".join)


ground, patterns = templates([]), templates(["?s", "?o"])
clauses = st.lists(st.sampled_from(["USING :g1", "USING :g2", "USING NAMED :g1"]), max_size=2).map(" ".join)
updates_of_datasets = st.one_of(
    st.builds("INSERT DATA {{ {} }}".format, ground),
    st.builds("INSERT DATA {{ {} }}".format, ground),
    st.builds("DELETE DATA {{ {} }}".format, ground),
    st.builds("DELETE WHERE {{ {} }}".format, patterns),
    st.builds(
        "{} DELETE {{ {} }} INSERT {{ {} }} {} WHERE {{ {} }}".format,
        st.sampled_from(["", "WITH :g1"]),
        patterns,
        patterns,
        clauses,
        patterns,
    ),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(updates_of_datasets, min_size=2, max_size=6))
def test_any_updates_give_what_oxigraph_gives(updates: list[str]) -> None:
    """Two independent engines come to the same dataset, each update as an entry of its own."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    contents = []
    for store in (Memory(), rdflib.plugin.get("Oxigraph", rdflib.store.Store)()):
        dataset = rdflib.Dataset(store)
        dataset.bind("", "urn:example:")
        for update in updates:
            write(dataset, updates=[update])
        contents.append(set(dataset.quads()))
    assert contents[0] == contents[1]


def test_a_graph_of_using_is_never_fetched(tmp_path: Path) -> None:
    """USING names a graph of the dataset, though a file has the same name."""
    path = tmp_path / "local.ttl"
    path.write_text("<urn:example:a> <urn:example:secret> <urn:example:b> .")
    for clause in ("USING", "USING NAMED"):
        dataset = rdflib.Dataset()
        where = f"{{ ?s ?p ?o }} UNION {{ GRAPH <{path.as_uri()}> {{ ?s ?p ?o }} }}"
        write(dataset, updates=[f"INSERT {{ ?s ?p ?o }} {clause} <{path.as_uri()}> WHERE {{ {where} }}"])
        assert set(dataset.quads()) == set()


@pytest.mark.parametrize(
    "text",
    [
        "INSERT { GRAPH :g2 { ?s ?p ?o } } WHERE { ?s ?p ?o }",
        "DELETE { GRAPH :g2 { ?s ?p ?o } } WHERE { ?s ?p ?o }",
        "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
        "WITH :g2 INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "INSERT { ?s ?p ?g } WHERE { GRAPH ?g { ?s ?p ?o } }",
        "CLEAR DEFAULT ; INSERT { ?s ?p ?o } USING :g WHERE { ?s ?p ?o }",
    ],
)
@pytest.mark.parametrize("make", [Memory, SimpleMemory])
def test_an_update_of_a_single_graph_reaches_no_other(make: Any, text: str) -> None:
    """Naming a graph in it is an error, whatever else the store holds."""
    graph = rdflib.Graph(make(), NAMES[0])
    graph.bind("", "urn:example:")
    graph.add(A)
    if make is Memory:
        rdflib.Graph(graph.store, NAMES[1]).add(A)
    before = len(graph.store)
    with pytest.raises(Exception, match=r"requiring a dataset|USING names graphs of a dataset"):
        write(graph, updates=[text], keep={"cursor": "1"})
    assert (len(graph.store), set(graph), kept(graph.store)) == (before, {A}, {})


def test_a_label_in_a_template_is_one_new_node_per_solution() -> None:
    """The node is the same in all graphs of one solution, and another in the next."""
    dataset = rdflib.Dataset()
    dataset.add(A)
    dataset.add(B)
    dataset.bind("", "urn:example:")
    write(dataset, updates=["INSERT { _:x :of ?s . GRAPH :g1 { _:x :of ?s } } WHERE { ?s ?p ?o }"])
    made = set(dataset.triples((None, rdflib.URIRef("urn:example:of"), None)))
    assert {o for _, _, o in made} == {A[0], B[0]}
    assert len({s for s, _, _ in made}) == 2
    assert set(rdflib.Graph(dataset.store, NAMES[0])) == made


LABELLED = (
    "INSERT DATA { _:alice <urn:p> <urn:x> }",
    "INSERT DATA { _:bob <urn:p> <urn:x> ; <urn:q> _:bob }",
    "INSERT DATA { [] <urn:p> <urn:x> }",
    "INSERT DATA { _:c <urn:p> <urn:x> ; <urn:q> <<( _:c <urn:r> 1 )>> }",
)
TAKEN = BNode("b000000")
"""A node that is called as the reader calls the first label of a request."""


@pytest.mark.parametrize("way", ["entries", "update"])
def test_labels_in_data_are_new_nodes_of_each_request(way: str) -> None:
    """They are one node within a request, also inside of a triple term, and none that exists."""
    graph = rdflib.Graph()
    graph.add((TAKEN, P, TAKEN))
    with rdflive.subscribe(graph, "ASK { ?s ?p ?o }"):
        for text in LABELLED:
            if way == "entries":
                write(graph, updates=[text])
            else:
                graph.update(text)
    nodes = set(graph.subjects(P, rdflib.URIRef("urn:x")))
    assert len(nodes) == 4
    assert TAKEN not in nodes
    assert all(s in (o, *getattr(o, "parts", ())) for s, o in graph.subject_objects(Q))


P, Q = rdflib.URIRef("urn:p"), rdflib.URIRef("urn:q")
TRIPLE = TripleTerm(rdflib.URIRef("urn:a"), P, rdflib.Literal("x"))
SAID = f"INSERT DATA {{ <urn:s> <urn:p> {TRIPLE.n3()} , 'y' }}"


def test_triple_terms_go_through_updates() -> None:
    """Solutions bind them, DELETE WHERE removes them, and templates make new ones of what is bound."""
    dataset = rdflib.Dataset()
    write(dataset, updates=[SAID, "INSERT { ?s <urn:q> ?o } WHERE { ?s <urn:p> ?o }"])
    assert set(dataset.objects(None, Q)) == {TRIPLE, rdflib.Literal("y")}
    write(dataset, updates=[f"DELETE WHERE {{ ?s <urn:q> {TRIPLE.n3()} }}", "DELETE WHERE { ?s <urn:p> ?o }"])
    assert set(dataset.triples((None, None, None))) == {(rdflib.URIRef("urn:s"), Q, rdflib.Literal("y"))}
    update = "INSERT { _:n <urn:p> <<( ?s ?p <<( _:n ?p ?o )>> )>> , <<( ?o ?p ?s )>> } WHERE { ?s ?p ?o }"
    write(dataset, updates=[update])
    ((node, _, made),) = dataset.triples((None, P, None))  # that with a literal as its subject is none
    inner = TripleTerm(node, Q, rdflib.Literal("y"))
    assert made == TripleTerm(rdflib.URIRef("urn:s"), Q, inner)
    assert isinstance(node, BNode)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "INSERT { ?s <urn:q> 1 } WHERE { ?s <urn:p> <<( ?a <urn:p> 'x' )>> }",
            r"cannot fill in or match <<\(",
        ),
        ("DELETE WHERE { ?s <urn:p> <<( ?a <urn:p> 'x' )>> }", r"cannot fill in or match <<\("),
        ("DELETE WHERE { GRAPH ?g { ?s <urn:p> <<( ?a <urn:p> 'x' )>> } }", r"cannot fill in or match <<\("),
        ("DELETE { ?s <urn:p> ?o } WHERE { ?s <urn:p> ?o FILTER(isTRIPLE(?o)) }", "the function ISTRIPLE"),
        ("INSERT { ?s <urn:q> ?t } WHERE { ?s <urn:p> ?o BIND(LANGDIR(?o) AS ?t) }", "the function LANGDIR"),
        ("INSERT { ?s <urn:q> ?t } WHERE { ?s ?p ?o BIND(<<( ?s ?p ?o )>> AS ?t) }", "the function TRIPLE"),
    ],
)
def test_what_rdflib_cannot_evaluate_is_refused(text: str, reason: str) -> None:
    """Nothing of the entry happens, and the message names what is not known."""
    dataset = rdflib.Dataset()
    write(dataset, updates=[SAID])
    before = set(dataset.quads())
    with pytest.raises(WriteRefusedError, match=reason):
        write(dataset, updates=["CLEAR ALL", text], keep={"cursor": "1"})
    assert (set(dataset.quads()), kept(dataset.store)) == (before, {})


@pytest.mark.parametrize(
    "text",
    [
        "INSERT { ?s <urn:q> <<( ?s <urn:p> ?o )>> } WHERE { ?s <urn:p> ?o }",
        "DELETE { ?s <urn:p> <<( ?s <urn:p> ?o )>> } WHERE { ?s <urn:p> ?o }",
    ],
)
def test_templates_that_rdflib_would_not_fill_in_are_refused(text: str) -> None:
    """Updates of a watched graph itself are done by rdflib, which would write the variables."""
    graph = rdflib.Graph()
    graph.add(A)
    with rdflive.subscribe(graph, "ASK { ?s ?p ?o }"), pytest.raises(UnsupportedQueryError, match="fill in"):
        graph.update(text)
    assert set(graph) == {A}


def test_silent_does_not_swallow_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a silent operation ends the entry, which leaves nothing."""
    dataset = rdflib.Dataset()
    dataset.graph(NAMES[0]).add(A)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "remove_graph", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(dataset, updates=["INSERT DATA { <urn:a> <urn:p> 1 } ; DROP SILENT ALL"], keep={"cursor": "1"})
    assert {quad[:3] for quad in dataset.quads()} == {A}
    assert kept(dataset.store) == {}
    write(dataset, updates=["LOAD SILENT <file:///nowhere.ttl>"], keep={"cursor": "2"})
    assert kept(dataset.store) == {"cursor": "2"}


def test_updates_of_a_graph_subclass_are_those_of_a_graph() -> None:
    """rdflib's engine takes a subclass of Graph for a dataset; a LiveGraph is updated all the same."""
    graph = rdflive.LiveGraph(bind_namespaces="none")
    graph.bind("mine", "urn:example:")
    prefixes = set(graph.namespaces())
    graph.add(A)
    write(graph, updates=["DELETE { ?s ?p ?o } INSERT { ?o mine:r ?s } WHERE { ?s ?p ?o }"])
    assert set(graph) == {term("b r a")}
    assert set(graph.namespaces()) == prefixes
