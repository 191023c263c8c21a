"""Third-party clients: rdflib's stores, YASQE's requests, and curl; test_jena.py has Jena's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import rdflib
from rdflib import Literal, URIRef
from rdflib.compare import isomorphic
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore

from support.protocol import answered, asked, updated
from support.serving import Serving

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

FORM = "application/x-www-form-urlencoded"
UPDATE = "application/sparql-update"
EACH_STORE = pytest.mark.sampled(by="server", always={"server": ["default", "Oxigraph"]})
NAMED = "GRAPH <http://e/g> { <http://e/s> <http://e/p> 1 }"
FILL = f"DROP ALL ; INSERT DATA {{ <http://e/s> <http://e/p> 'default' . {NAMED} }}"


@pytest.fixture
def filled(server: Serving) -> Serving:
    """The server with a triple in the default graph and one in a named graph."""
    assert updated(server, FILL).status == 204
    return server


@EACH_STORE
def test_rdflib_store_reads_and_writes(filled: Serving) -> None:
    """rdflib's SPARQLStore and SPARQLUpdateStore speak to the server."""
    ways: list[tuple[Any, str]] = [("GET", "xml"), ("POST", "json"), ("POST_FORM", "csv")]
    for method, form in ways:
        dataset = rdflib.Dataset(SPARQLStore(f"{filled.url}/query", method=method, returnFormat=form))
        rows = {tuple(map(str, row)) for row in dataset.query("SELECT ?s ?o { ?s ?p ?o }")}
        assert rows == {("http://e/s", "default")}
        store = SPARQLUpdateStore(f"{filled.url}/query", f"{filled.url}/update", method=method)
        graph = rdflib.Graph(store, URIRef("http://e/mine"))
        graph.add((URIRef("http://e/a"), URIRef("http://e/p"), Literal("x")))
        assert set(graph) == {(URIRef("http://e/a"), URIRef("http://e/p"), Literal("x"))}
        graph.remove((None, None, None))
        assert len(graph) == 0


@EACH_STORE
def test_rdflib_dataset_reads_and_writes_graphs(filled: Serving) -> None:
    """Graphs are made, listed, filled, queried together and removed by rdflib's clients alone.

    rdflib has no client of the Graph Store Protocol; its parser reads a graph from its URL. Without
    `default_union` a Dataset sends its default graph as the whole dataset of each query.
    """
    store = SPARQLUpdateStore(f"{filled.url}/query", f"{filled.url}/update")
    remote = rdflib.Dataset(store, default_union=True)
    graph = remote.graph(URIRef("http://e/mine"))
    graph.addN((URIRef(f"http://e/{n}"), URIRef("http://e/p"), Literal(n), graph) for n in range(3))
    assert {str(name) for name in store.contexts()} == {"http://e/g", "http://e/mine"}
    rows = remote.query("SELECT ?g (SUM(?o) AS ?sum) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g")
    assert {(str(row[0]), int(row[1])) for row in rows} == {("http://e/g", 1), ("http://e/mine", 3)}
    remote.update("DELETE { GRAPH ?g { ?s ?p 2 } } WHERE { GRAPH ?g { ?s ?p 2 } }")
    read = rdflib.Graph().parse(f"{filled.url}/store?graph=http://e/mine")
    left = "<http://e/0> <http://e/p> 0 . <http://e/1> <http://e/p> 1 ."
    assert isomorphic(read, rdflib.Graph().parse(data=left))
    remote.remove_graph(graph)
    assert asked(filled, "GET", "/store?graph=http://e/mine").status == 404


SELECT_ACCEPT = "application/sparql-results+json,*/*;q=0.9"
GRAPH_ACCEPT = "application/n-triples,*/*;q=0.9"
UPDATE_ACCEPT = "text/plain,*/*;q=0.9"
RESULTS, TRIPLES = "application/sparql-results+json", "application/n-triples"
SELECT, NAMED_ASK = "SELECT ?o { ?s ?p ?o }", "ASK { GRAPH ?g { ?s ?p 1 } }"
ASKED_BY_YASQE: list[tuple[str, list[tuple[str, str]], str, str, str]] = [
    (SELECT, [], SELECT_ACCEPT, RESULTS, '"value":"default"'),
    (SELECT, [("default-graph-uri", "http://e/g")], SELECT_ACCEPT, RESULTS, '"value":"1"'),
    (NAMED_ASK, [("named-graph-uri", "http://e/g")], SELECT_ACCEPT, RESULTS, '"boolean":true'),
    ("CONSTRUCT WHERE { ?s ?p ?o }", [], GRAPH_ACCEPT, TRIPLES, '<http://e/p> "default" .'),
    ("DESCRIBE <http://e/s>", [], GRAPH_ACCEPT, TRIPLES, '<http://e/p> "default" .'),
]


@EACH_STORE
def test_yasqe_is_answered(filled: Serving) -> None:
    """YASQE 4.6 (YASGUI's editor) sends forms, or parameters of GET where it is set to, with these headers.

    test_origins.py of the page runs YASGUI itself in a browser.
    """
    for text, graphs, accept, kind, part in ASKED_BY_YASQE:
        form = urlencode([("query", text), *graphs])
        posted = asked(filled, "POST", "/query", form.encode(), Content_Type=FORM, Accept=accept)
        got = asked(filled, "GET", f"/query?{form}", Accept=accept)
        assert (posted.status, posted.kind) == (got.status, got.kind) == (200, kind), (text, posted.body)
        assert posted.body == got.body
        assert part in got.body.decode().replace(": ", ":")
    insert = urlencode({"update": "INSERT DATA { <http://e/y> <http://e/p> 'ü & +' }"}).encode()
    assert asked(filled, "POST", "/update", insert, Content_Type=FORM, Accept=UPDATE_ACCEPT).status == 204
    assert answered(filled, "ASK { <http://e/y> <http://e/p> 'ü & +' }").json["boolean"]
    broken = asked(filled, "POST", "/query", b"query=SELECT", Content_Type=FORM, Accept=SELECT_ACCEPT)
    assert (broken.status, broken.kind) == (400, "application/problem+json")


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_reads_and_writes(filled: Serving, tmp_path: Path) -> None:
    """curl sends a form and a file, and is given the answer."""
    (tmp_path / "update.ru").write_text("INSERT DATA { <http://e/c> <http://e/p> 'ü' }", encoding="utf-8")
    curl = ["curl", "-sS", "--fail-with-body", "-H"]
    file = ["--data-binary", f"@{tmp_path / 'update.ru'}"]
    subprocess.run([*curl, f"Content-Type: {UPDATE}", *file, f"{filled.url}/update"], check=True)
    form = ["Accept: text/csv", "--data-urlencode", "query=SELECT ?o { <http://e/c> ?p ?o }"]
    printed = subprocess.run([*curl, *form, f"{filled.url}/query"], check=True, capture_output=True)
    assert printed.stdout == "o\r\nü\r\n".encode()
