"""Answers over HTTP are those in process, in every format, on random data and queries."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef
from rdflib.compare import isomorphic
from rdflib.namespace import XSD
from rdflib.query import Result

from support.effort import examples
from support.protocol import answered
from support.serving import Serving, serving

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

TABLES = {
    "application/sparql-results+json": "json",
    "application/sparql-results+xml": "xml",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
}
GRAPHS = {
    "text/turtle": "turtle",
    "application/n-triples": "nt",
    "application/rdf+xml": "xml",
    "application/ld+json": "json-ld",
    "application/trig": "trig",
    "application/n-quads": "nquads",
}


class Servers(list[Serving]):
    __repr__ = object.__repr__  # a dataset warns of its own


@pytest.fixture(scope="module")
def servers() -> Iterator[list[Serving]]:
    """A server over each kind of store in memory."""
    with serving(rdflib.Dataset()) as memory, serving(rdflib.Dataset("Oxigraph")) as oxigraph:
        yield Servers([memory, oxigraph])


NODES = st.sampled_from([URIRef(f"urn:n{i}") for i in range(4)])
LITERALS = st.one_of(
    st.builds(Literal, st.text("aä\"'\\\n\t<&>,;é€😀 ", max_size=4)),
    st.builds(lambda text: Literal(text, lang="en"), st.text("ab\n", max_size=2)),
    st.builds(lambda number: Literal(str(number), datatype=XSD.integer), st.integers(-2, 2)),
    st.sampled_from(
        [
            Literal("false", datatype=XSD.boolean),
            Literal("0.0", datatype=XSD.decimal),
            Literal("1.50", datatype=XSD.decimal),
            Literal("x", datatype=URIRef("urn:type")),
        ]
    ),
)
TRIPLES = st.lists(
    st.tuples(
        NODES, st.sampled_from([URIRef("http://e/p"), URIRef("http://e/q")]), st.one_of(NODES, LITERALS)
    ),
    max_size=8,
)
PATTERNS = st.sampled_from(
    [
        "?s ?p ?o",
        "?s <http://e/p> ?o . ?o ?q ?z",
        "?s <http://e/p> ?o OPTIONAL { ?s <http://e/q> ?z }",
        "{ ?s <http://e/p> ?o } UNION { ?s <http://e/q> ?z }",
        "?s ?p ?o FILTER(isLiteral(?o) && !EXISTS { ?o ?p ?z })",
        "?s (<http://e/p>|<http://e/q>)+ ?o",
        "?s ?p ?o MINUS { ?s <http://e/q> ?z }",
        "VALUES ?s { <urn:n0> <urn:n1> UNDEF } ?s ?p ?o BIND(?o AS ?z)",
        "GRAPH ?g { ?s ?p ?o }",
        "GRAPH <urn:g> { ?s ?p ?z } ?s ?q ?o",
    ]
)
FORMS = st.sampled_from(
    [
        "SELECT ?s ?o ?z {{ {} }}",
        "SELECT DISTINCT ?o ?z {{ {} }}",
        "SELECT ?s (COUNT(?o) AS ?n) {{ {} }} GROUP BY ?s HAVING (COUNT(*) >= 0)",
        "ASK {{ {} }}",
        "CONSTRUCT {{ ?s <http://e/r> ?o . ?s <http://e/t> ?z }} WHERE {{ {} }}",
        "DESCRIBE ?s {{ {} }}",
    ]
)


@settings(max_examples=examples(12))
@given(triples=TRIPLES, named=TRIPLES, form=FORMS, pattern=PATTERNS)
def test_answer_is_that_in_process(
    servers: list[Serving], triples: list[Any], named: list[Any], form: str, pattern: str
) -> None:
    """Every format gives back what the dataset itself answers."""
    text = form.format(pattern)
    for server in servers:
        dataset = server.dataset
        dataset.remove((None, None, None, None))
        for triple in triples:
            dataset.default_graph.add(triple)
        for triple in named:
            dataset.graph(URIRef("urn:g")).add(triple)
        expected = dataset.query(text)
        formats = GRAPHS if expected.type in ("CONSTRUCT", "DESCRIBE") else TABLES
        for media, name in formats.items():
            reply = answered(server, text, Accept=media)
            assert reply.status == 200, (text, media, reply.body)
            check(dataset.query(text), reply.body, name)


def check(expected: Result, body: bytes, form: str) -> None:
    """Compare an answer with what was written of it."""
    if expected.graph is not None:
        plain = {"trig": "turtle", "nquads": "nt"}.get(form, form)  # all is in the default graph
        read = rdflib.Graph().parse(data=body, format=plain)
        assert isomorphic(folded(read), folded(expected.graph)), (form, body)
        found, right = (Counter(map(spelt, graph.objects())) for graph in (read, expected.graph))
        assert found == right, (form, body)
    elif expected.type == "ASK":
        if form in ("json", "xml"):
            assert Result.parse(io.BytesIO(body), format=form).askAnswer is expected.askAnswer
        else:
            assert body.strip() == str(expected.askAnswer).lower().encode()
    elif form == "csv":  # which does not tell terms apart
        names = body.decode().split("\r\n", 1)[0]
        assert names == ",".join(map(str, expected.vars or ()))
    else:
        read_rows = Result.parse(io.BytesIO(body), format=form)
        assert list(map(str, read_rows.vars or ())) == list(map(str, expected.vars or ()))
        assert rows(read_rows) == rows(expected), (form, body)


def folded(graph: rdflib.Graph) -> rdflib.Graph:
    """Drop the datatype of plain strings, which rdflib tells apart."""
    plain = rdflib.Graph()
    for s, p, o in graph:
        plain.add((s, p, Literal(str(o)) if isinstance(o, Literal) and o.datatype == XSD.string else o))
    return plain


def spelt(term: Any) -> Any:
    """Give what tells terms apart, without the labels of blank nodes; plain strings have their datatype."""
    if isinstance(term, Literal):
        return str(term), term.language, "" if term.language else str(term.datatype or XSD.string)
    return "_" if isinstance(term, BNode) else str(term)


def rows(result: Result) -> Counter[Any]:
    return Counter(
        frozenset((str(name), spelt(term)) for name, term in row.items() if term is not None)
        for row in result.bindings
    )


def test_csv_keeps_lines_and_quotes(servers: list[Serving]) -> None:
    """Fields with commas, quotes and breaks are quoted, and what is unbound is empty."""
    text = "SELECT ?a ?b ?c { BIND('a,\"b\\r\\n' AS ?a) BIND(<urn:x> AS ?c) }"
    for server in servers:
        assert answered(server, text, Accept="text/csv").body == b'a,b,c\r\n"a,""b\r\n",,urn:x\r\n'


def test_xml_that_cannot_hold_an_answer_is_not_made(servers: list[Serving]) -> None:
    """A control character is refused by 406 where rdflib's answers are written."""
    reply = answered(
        servers[0], "SELECT ?a { BIND('\\u0007' AS ?a) }", Accept="application/sparql-results+xml"
    )
    assert reply.status == 406
    assert "JSON" in reply.json["detail"]
