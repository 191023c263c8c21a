"""Answers over HTTP are those in process, in every format, on random data and queries."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import canonicalize

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef
from rdflib.compare import isomorphic
from rdflib.namespace import XSD
from rdflib.query import Result

from rdflive.server.sparql.answering import answer
from rdflive.server.sparql.operations import ProtocolOperation
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


class Kept(bytearray):
    """Keeps an answer with its type."""

    kind = ""

    def begin(self, content_type: str) -> None:
        self.kind = content_type

    def write(self, piece: bytes) -> int:
        self += piece
        return len(piece)

    def flush(self) -> None:
        """Do nothing, as Oxigraph wants of a file."""


def engine_answer(dataset: rdflib.Dataset, operation: ProtocolOperation, accept: str) -> Any:
    """Give the answer of a dataset's engine without the server, as what can be compared."""
    output = Kept()
    answer(dataset, operation, accept, output)
    if output.kind == "application/n-triples":
        return folded(rdflib.Graph().parse(data=bytes(output), format="nt"))
    table = Result.parse(io.BytesIO(bytes(output)), format="json")
    # the order of the columns of SELECT * is left open
    return table.askAnswer if table.type == "ASK" else (set(map(str, table.vars or ())), rows(table))


ALIKE = st.sampled_from(
    [
        "SELECT * {{ {} }}",
        "SELECT * FROM <urn:g> FROM NAMED <urn:g> {{ {} }}",
        "SELECT REDUCED ?s {{ {{ SELECT DISTINCT ?s {{ {} }} }} }}",
        "SELECT (COUNT(?o) AS ?n) (COUNT(DISTINCT ?s) AS ?m) {{ {} }}",
        "SELECT * {{ {} }} VALUES ?v {{ 1 }}",
        "SELECT * {{ {{ SELECT * {{ {} }} ORDER BY ?k }} }}",
        "SELECT ?s ?o {{ {} }} VALUES ?s {{ <urn:n0> <urn:n1> }}",
        "BASE <urn:n0> SELECT ?s (IRI('') AS ?t) {{ {} }} ORDER BY ?s ?o ?z LIMIT 3",
        "ASK {{ {} }}",
        "ASK FROM NAMED <urn:g> {{ {} FILTER NOT EXISTS {{ ?s <http://e/q> <urn:n1> }} }}",
        "CONSTRUCT {{ ?s <http://e/r> ?o . ?s <http://e/t> ?z }} WHERE {{ {} }}",
        "CONSTRUCT {{ ?s ?p [ <http://e/r> ?s ] }} WHERE {{ {} }}",
        "CONSTRUCT {{ ?o ?p ?s . ?s ?o ?p . ?s ?p ?z }} WHERE {{ {} }}",
        "DESCRIBE * {{ {} }}",
        "DESCRIBE ?s ?z {{ {} }}",
        "CONSTRUCT WHERE {{ ?s <http://e/p> ?o . ?o ?p ?z }} #{}",
        "CONSTRUCT FROM <urn:g> WHERE {{ ?s ?p ?o }} #{}",
        "DESCRIBE <urn:n0> <urn:n2> #{}",
        "DESCRIBE <urn:n0> FROM <urn:g> #{}",
    ]
)


KEPT = st.lists(
    st.tuples(
        NODES,
        st.sampled_from([URIRef("http://e/p"), URIRef("http://e/q")]),
        st.one_of(
            NODES,
            NODES,
            st.builds(Literal, st.integers(-1, 1)),
            st.builds(Literal, st.text("ab", max_size=2)),
        ),
    ),
    max_size=8,
)
"""Triples that Oxigraph keeps as they are spelled."""


@settings(max_examples=examples(400))
@given(triples=KEPT, named=KEPT, form=ALIKE, pattern=PATTERNS, chosen=st.booleans())
def test_each_form_is_answered_alike_by_both_engines(
    triples: list[Any], named: list[Any], form: str, pattern: str, chosen: bool
) -> None:
    """rdflib evaluates the algebra of the tree, and Oxigraph reads what is written of it."""
    operation = ProtocolOperation(form.format(pattern), ("urn:g",) if chosen else ())
    answers = []
    for store in ("default", "Oxigraph"):
        dataset = rdflib.Dataset(store)
        for triple in triples:
            dataset.default_graph.add(triple)
        for triple in named:
            dataset.graph(URIRef("urn:g")).add(triple)
        answers.append(engine_answer(dataset, operation, "application/n-triples, application/json"))
    one, other = answers
    if isinstance(one, rdflib.Graph):
        assert isomorphic(one, other), (set(one), set(other))
    else:
        assert one == other


def test_csv_keeps_lines_and_quotes(servers: list[Serving]) -> None:
    """Fields with commas, quotes and breaks are quoted, IRIs too, and what is unbound is empty."""
    text = "SELECT ?a ?b ?c { BIND('a,\"b\\r\\n' AS ?a) BIND(<urn:x,y> AS ?c) }"
    for server in servers:
        assert answered(server, text, Accept="text/csv").body == b'a,b,c\r\n"a,""b\r\n",,"urn:x,y"\r\n'
        blank = answered(server, "SELECT ?a (1 AS ?b) { BIND(BNODE() AS ?a) }", Accept="text/csv").body
        assert re.fullmatch(rb"a,b\r\n_:\w+,1\r\n", blank)
        assert answered(server, "SELECT ?a ?b { }", Accept="text/csv").body == b"a,b\r\n,\r\n"
        assert answered(server, "SELECT ?a ?b { FILTER(false) }", Accept="text/csv").body == b"a,b\r\n"
    triple = "SELECT ?a { BIND(<<( <urn:a> <urn:b> 'c' )>> AS ?a) }"
    body = answered(servers[1], triple, Accept="text/csv").body
    assert body == b'a\r\n"<<( <urn:a> <urn:b> ""c"" )>>"\r\n'


def test_what_has_no_value_is_not_bound(servers: list[Serving]) -> None:
    """The SAMPLE of nothing, which rdflib gives as None, is in no solution."""
    for server in servers:
        reply = answered(server, "SELECT (SAMPLE(?x) AS ?y) { OPTIONAL { ?x <urn:none> 1 } }")
        assert reply.json["results"]["bindings"] == [{}]


NEWER = '"a\\t<\\n"@en--ltr', '<<( <urn:a> <urn:b> <<( <urn:c> a "x"@ar--rtl )>> )>>'
"""Terms as SPARQL 1.2 writes them."""


@pytest.mark.parametrize("media", TABLES)
def test_tables_have_terms_of_rdf_1_2(servers: list[Serving], media: str) -> None:
    """Strings with a direction, and triples as terms, are written as Oxigraph writes them."""
    text = f"SELECT * {{ VALUES (?x ?y) {{ ({' '.join(NEWER)}) (<urn:x> UNDEF) }} }}"
    one, other = (answered(server, text, Accept=media).body for server in servers)
    if "json" in media:
        assert json.loads(one) == json.loads(other)
    elif "xml" in media:
        same = [canonicalize(xml_data=body.decode(), strip_text=True) for body in (one, other)]
        assert same[0] == same[1]
    else:
        assert one == other
    assert (b"ltr" in one) is (media != "text/csv")


@pytest.mark.parametrize("media", GRAPHS)
@pytest.mark.parametrize("term", NEWER)
def test_graphs_have_terms_of_rdf_1_2(servers: list[Serving], term: str, media: str) -> None:
    """Oxigraph reads of the answer what it constructs itself, or the format is refused."""
    from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse

    text = f"CONSTRUCT {{ <urn:s> <urn:p> {term} . _:b <urn:q> ?x }} {{ VALUES ?x {{ <urn:x> <urn:y> }} }}"
    reply = answered(servers[0], text, Accept=media)
    if media == "application/rdf+xml" or ("ld+json" in media and "<<" in term):
        assert reply.status == 406
        assert "request Turtle" in reply.json["detail"]
        return
    right = answered(servers[1], text, Accept="application/n-triples").body
    read = Dataset(parse(reply.body, RdfFormat.from_media_type(media)))
    expected = Dataset(parse(right, RdfFormat.N_TRIPLES))
    for each in (read, expected):
        each.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    assert read == expected


def test_what_is_no_rdf_is_not_constructed(servers: list[Serving]) -> None:
    """A literal is no subject and no predicate, and a blank node no predicate (SPARQL 1.1, 16.2)."""
    text = """CONSTRUCT { ?x <urn:p> <urn:o> . <urn:s> ?x <urn:o> . <urn:s> <urn:p> ?x }
    { VALUES ?x { "lit" <urn:x> "a"@en--ltr <<( <urn:a> <urn:b> 1 )>> } }"""
    one, other = (answered(server, text, Accept="application/n-triples").body for server in servers)
    assert sorted(one.splitlines()) == sorted(other.splitlines())
    text = "CONSTRUCT { ?x <urn:p> 1 . <urn:s> ?x 1 } { BIND(BNODE() AS ?x) }"
    for server in servers:
        body = answered(server, text, Accept="application/n-triples").body
        assert re.fullmatch(rb"_:\w+ <urn:p> .*1.*\s+", body)


def test_xml_that_cannot_hold_an_answer_is_not_made(servers: list[Serving]) -> None:
    """A control character is refused by 406 where rdflib's answers are written."""
    reply = answered(
        servers[0], "SELECT ?a { BIND('\\u0007' AS ?a) }", Accept="application/sparql-results+xml"
    )
    assert reply.status == 406
    assert "JSON" in reply.json["detail"]
