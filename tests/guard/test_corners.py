"""Names, arguments and moments of guards and previews that are easily forgotten."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import rdflib
from rdflib import RDF, Graph, Namespace

import rdflive

EX = Namespace("http://e/")
NEVER = "SELECT ?s { ?s <http://e/never> ?o }"


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_names_that_sparql_cannot_spell_are_undone_too(where: str, tmp_path: Path) -> None:
    """A graph whose name was read leniently goes with the batch that made it."""
    ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    store = rdflive.LiveStore(ox.Store(str(tmp_path)) if where == "disk" else ox.Store())
    odd = '<http://e/a> <http://e/p> "x" <http://e/n n> .'
    with rdflive.guard(store, NEVER) as guard:
        bad = ox.Quad(ox.NamedNode(EX.a), ox.NamedNode(EX.never), ox.Literal("1"))

        def break_it() -> None:
            with rdflive.batch(store):
                store.load(odd, ox.RdfFormat.N_QUADS, lenient=True)
                store.add(bad)

        with pytest.raises(rdflive.ValidationError):
            break_it()
        assert (list(store), list(store.named_graphs()), list(guard.answers())) == ([], [], [])
        with rdflive.preview(store):
            store.load(odd, ox.RdfFormat.N_QUADS, lenient=True)
        assert (list(store), list(store.named_graphs())) == ([], [])
        store.load(odd, ox.RdfFormat.N_QUADS, lenient=True)
        store.clear()
        assert (list(store), list(store.named_graphs())) == ([], [])


def test_a_guarded_update_leaves_the_graphs_that_it_leaves_unguarded() -> None:
    """One that is filled and emptied in a request stays; and none is taken for the default graph."""
    ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    updates = [
        "INSERT DATA { GRAPH <u:t> { <u:a> <u:p> 1 } } ; DELETE DATA { GRAPH <u:t> { <u:a> <u:p> 1 } }",
        "INSERT { GRAPH <urn:x-rdflive:in> { <u:a> <u:p> <u:c> } } WHERE {}",
        "CREATE GRAPH <u:new> ; COPY <urn:x-rdflive:in> TO <u:copy>",
        "DROP GRAPH <u:t> ; CLEAR GRAPH <u:copy>",
    ]
    plain, guarded = ox.Store(), rdflive.LiveStore()
    with rdflive.guard(guarded, NEVER):
        for update in updates:
            plain.update(update)
            guarded.update(update)
            assert set(guarded) == set(plain)
            assert set(guarded.named_graphs()) == set(plain.named_graphs())


def test_a_graph_that_another_thread_makes_waits_for_a_preview() -> None:
    """It is not taken back with the names of the graphs of the block."""
    dataset = rdflib.Dataset()
    with rdflive.preview(dataset):
        thread = threading.Thread(target=lambda: dataset.graph(EX.other), daemon=True)
        thread.start()
        dataset.graph(EX.mine)
    thread.join(30)
    names = {graph.identifier for graph in dataset.graphs()}
    assert EX.other in names
    assert EX.mine not in names


def test_the_last_guard_may_be_closed_inside_a_preview() -> None:
    """The store is let go of, as when it is closed elsewhere."""
    graph = Graph()
    plain = type(graph.store)
    guard = rdflive.guard(graph, NEVER)
    with rdflive.preview(graph):
        guard.close()
    assert type(graph.store) is plain


def test_turtle_may_have_a_prefix_that_reads_like_a_query() -> None:
    """`ask:` is no ASK."""
    text = """PREFIX ask: <http://e/> PREFIX sh: <http://www.w3.org/ns/shacl#>
        ask:S sh:targetClass ask:Train ; sh:property [ sh:path ask:line ; sh:minCount 1 ] ."""
    graph = Graph()
    with rdflive.guard(graph, text), pytest.raises(rdflive.ValidationError):
        graph.add((EX.IC5, RDF.type, EX.Train))


def test_what_cannot_be_a_guard_or_a_preview_is_refused() -> None:
    """With the reason; the graph can be written afterwards."""
    graph = Graph()
    with pytest.raises(rdflive.UnsupportedQueryError, match="LIMIT"):
        rdflive.guard(graph, f"{NEVER} ORDER BY ?s LIMIT 1")
    with pytest.raises(rdflive.UnsupportedQueryError, match="must stay empty"):
        rdflive.guard(graph, "CONSTRUCT { ?s a ?o } WHERE { ?s ?p ?o }")
    with pytest.raises(ValueError, match="severity"):
        rdflive.guard(graph, NEVER, severity="error")
    with rdflive.batch(graph):
        with pytest.raises(RuntimeError, match="open batch"):
            rdflive.guard(graph, NEVER)
        with pytest.raises(RuntimeError, match="open batch"), rdflive.preview(graph):
            pass
    subscription = rdflive.subscribe(graph, NEVER)
    for given in (5, [5], subscription):
        with pytest.raises(TypeError), rdflive.preview(graph, given):  # type: ignore[arg-type]
            pass
    subscription.close()
    graph.add((EX.a, EX.never, EX.b))
    assert len(graph) == 1
