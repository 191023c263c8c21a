"""The SPARQL 1.1 Protocol, with raw requests."""

from __future__ import annotations

from itertools import product
from typing import Any
from urllib.parse import urlencode

import pytest
import rdflib
from rdflib import URIRef
from rdflib.compare import isomorphic

import rdflive
from support.effort import sampled
from support.protocol import Reply, answered, asked, updated
from support.serving import Serving, serving
from support.waiting import until

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"
GRAPHS = [f"http://e/data{i}" for i in range(4)]
EACH_STORE = pytest.mark.sampled(by="server", always={"server": ["default", "Oxigraph"]})
"""For tables of cases: the gate tries some of them on disk too, where children are made in another way."""
SEEN = "SELECT (GROUP_CONCAT(STR(?o)) AS ?seen) { { SELECT ?o { %s } ORDER BY ?o } }"


NAMED_DATA = " ".join(f"GRAPH <{g}> {{ <http://e/s{i}> <http://e/p> {i} }}" for i, g in enumerate(GRAPHS))
FILL = f"CLEAR ALL ; INSERT DATA {{ <http://e/s> <http://e/p> 'default' . {NAMED_DATA} }}"


@pytest.fixture
def filled(server: Serving) -> Serving:
    """The server with a graph without a name and four with one."""
    assert updated(server, FILL).status == 204
    return server


def test_query_is_taken_in_three_ways(filled: Serving) -> None:
    """GET, POST of a form and of the query itself give the same answer; strange parameters are ignored."""
    text = "SELECT ?s { ?s ?p ?o }"
    replies = [
        answered(filled, text),
        answered(filled, text, ("format", "json"), ("output", "json")),
        asked(filled, "POST", "/query", urlencode({"query": text}).encode(), Content_Type=FORM),
        asked(filled, "POST", "/query", text.encode(), Content_Type=QUERY),
        asked(filled, "POST", "/query", text.encode(), Content_Type=f"{QUERY}; charset=UTF-8"),
    ]
    for reply in replies:
        assert (reply.status, reply.kind) == (200, "application/sparql-results+json")
        assert reply.json["results"]["bindings"] == [{"s": {"type": "uri", "value": "http://e/s"}}]


USING = b"INSERT { ?s ?p 1 } USING <urn:g> WHERE { ?s ?p ?o }"
WITH = b"WITH <urn:g> INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }"
BAD: list[tuple[str, str, bytes | None, str, int]] = [
    ("GET", "/query?query=ASK%20%7B%7D&query=ASK%20%7B%7D", None, "", 400),
    ("GET", "/query?default-graph-uri=http://e/", None, "", 400),
    ("GET", "/query?query=", None, "", 400),
    ("GET", "/query?query=ASK%20%7B", None, "", 400),
    ("GET", "/query?query=%ff", None, "", 400),
    ("GET", "/query?query=ASK%20%7B%7D&default-graph-uri=relative", None, "", 400),
    ("GET", "/query?query=ASK%20%7B%7D&named-graph-uri=http://e/%3E", None, "", 400),
    ("PUT", "/query?query=ASK%20%7B%7D", None, "", 405),
    ("DELETE", "/query", None, "", 405),
    ("POST", "/query", b"query=ASK%20%7B%7D&query=ASK%20%7B%7D", FORM, 400),
    ("POST", "/query?query=ASK%20%7B%7D", b"ASK {}", QUERY, 400),
    ("POST", "/query", b"update=CLEAR%20ALL", FORM, 400),
    ("POST", "/query", b"ASK {}", "text/plain", 415),
    ("POST", "/query", b"ASK {}", "application/sparql-update", 415),
    ("POST", "/query", b"query=ASK%20%7B%7D", "", 415),
    ("POST", "/query", "ASK {}".encode("utf-16"), f"{QUERY}; charset=UTF-16", 415),
    ("POST", "/query", "ASK {}".encode("utf-16"), QUERY, 400),
    ("POST", "/query", b"ASK { ?s ?p 'a\0b' }", QUERY, 400),
    ("GET", "/update?update=CLEAR%20ALL", None, "", 405),
    ("POST", "/update", b"update=CLEAR%20ALL&update=CLEAR%20ALL", FORM, 400),
    ("POST", "/update", b"query=ASK%20%7B%7D", FORM, 400),
    ("POST", "/update", b"CLEAR ALL", "text/plain", 415),
    ("POST", "/update", b"update=CLEAR%20ALL", "", 415),
    ("POST", "/update", "CLEAR ALL".encode("utf-16"), UPDATE, 400),
    ("POST", "/update", b"CLEAR SOME", UPDATE, 400),
    ("POST", "/update", b"INSERT DATA { <urn:a> <urn:p> }", UPDATE, 400),
    ("POST", "/update", b"DELETE { ?s x:p 1 } WHERE { ?s ?p 1 }", UPDATE, 400),
    ("POST", "/update?using-graph-uri=relative", b"CLEAR ALL", UPDATE, 400),
    ("POST", "/update?using-graph-uri=http://e/", USING, UPDATE, 400),
    ("POST", "/update?using-named-graph-uri=http://e/", WITH, UPDATE, 400),
]  # fmt: skip


@EACH_STORE
def test_malformed_request_is_refused_with_a_problem(server: Serving) -> None:
    """What the protocol does not allow gets the status that says so, and a problem document."""
    for method, target, body, kind, status in BAD:
        reply = asked(server, method, target, body, **({"Content_Type": kind} if kind else {}))
        case = (method, target, body, kind, reply.body)
        assert (reply.status, reply.kind) == (status, "application/problem+json"), case
        assert reply.json["status"] == status, case
        assert reply.json["detail"], case
    reply = asked(server, "POST", "/query", b"x", Content_Type=QUERY, Content_Encoding="gzip")
    assert reply.status == 415  # a body is not unpacked


CALLED_FORMS = [
    ("/update", b"INSERT DATA { <urn:a> <urn:p> 1 }"),
    ("/update", b"INSERT DATA { <urn:a> <urn:p> 'a=b' }"),
    ("/query", b"ASK {}"),
    ("/query", b"ASK { ?s ?p ?o FILTER(?o = 1) }"),
    ("/subscribe", b"SELECT * { ?s ?p ?o }"),
]


def test_text_that_is_called_a_form_is_refused_with_the_ways_to_send_it(server: Serving) -> None:
    """So clients send it that are not told of a type; the text may look like a field."""
    for target, body in CALLED_FORMS:
        reply = asked(server, "POST", target, body, Content_Type=FORM)
        name = "update" if target == "/update" else "query"
        assert reply.status == 400, body
        assert reply.json["detail"].endswith(
            f"; send {name}=…, URL-encoded, or the {name} itself as application/sparql-{name}"
        )


MISPLACED = [
    ("ASK { ?s ?p ?o }\n  ]", 2, 3),
    ("ASK { ?s <p> ?o }\n  ]", 2, 3),
    ("ASK { ?s <p> 'a }", 1, 14),
    ("PREFIX : <urn:>\nASK {\r\n\t?s :p unknown:o }", 3, 8),
]


@EACH_STORE
def test_syntax_error_has_its_place(server: Serving) -> None:
    """The line and the column of what was sent are told, and the line is shown."""
    for text, line, column in MISPLACED:
        posted = asked(server, "POST", "/query", text.encode(), Content_Type=QUERY)
        pattern = text.replace("ASK {", "INSERT { ?s ?p 1 } WHERE {")
        moved = column + len(pattern) - len(text) if line == 1 else column
        for reply, at in (
            (answered(server, text), column),
            (posted, column),
            (updated(server, pattern), moved),
        ):
            assert (reply.status, reply.json["line"], reply.json["column"]) == (400, line, at), reply.body
            assert f"line {line}, column {at}" in reply.json["detail"]
            assert reply.json["detail"].endswith("^")


def test_what_oxigraph_alone_refuses_is_shown() -> None:
    """An IRI that is none has no place there, so the end of what Oxigraph could read is told."""
    with serving() as server:
        for reply in (
            answered(server, "SELECT *\n{ ?s ?p <http://e/%zz> }"),
            updated(server, "INSERT DATA {\n <urn:s> <urn:p> <http://e/%zz> }"),
        ):
            assert reply.status == 400
            assert "<http://e/%zz>" in reply.json["detail"]
            assert "line" not in reply.json


SELECT, GRAPH = "SELECT ?s { ?s ?p ?o }", "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }"
ACCEPTED = [
    (SELECT, "", "application/sparql-results+json"),
    (SELECT, "*/*", "application/sparql-results+json"),
    (SELECT, "application/sparql-results+xml", "application/sparql-results+xml"),
    (SELECT, "text/csv;q=0.2, text/tab-separated-values", "text/tab-separated-values"),
    (SELECT, "text/*", "text/csv"),
    (SELECT, "text/csv;q=0, text/*;q=0.5, */*;q=0.1", "text/tab-separated-values"),
    (SELECT, "application/json", "application/sparql-results+json"),
    (SELECT, "text/html, application/xml;q=0.9, */*;q=0.8", "application/sparql-results+xml"),
    ("ASK {}", "application/sparql-results+xml", "application/sparql-results+xml"),
    ("ASK {}", "text/csv", "text/csv"),
    (GRAPH, "", "text/turtle"),
    (GRAPH, "application/n-triples", "application/n-triples"),
    (GRAPH, "application/rdf+xml, text/turtle;q=0.9", "application/rdf+xml"),
    (GRAPH, "application/ld+json", "application/ld+json"),
    (GRAPH, "application/n-quads", "application/n-quads"),
    (GRAPH, "application/trig", "application/trig"),
    ("DESCRIBE <http://e/s>", "", "text/turtle"),
]


@EACH_STORE
def test_answer_has_the_format_that_is_wanted_most(filled: Serving) -> None:
    """Quality, ranges and aliases of Accept decide; text is said to be UTF-8."""
    for text, accept, kind in ACCEPTED:
        reply = answered(filled, text, **({"Accept": accept} if accept else {}))
        assert (reply.status, reply.kind) == (200, kind), (text, accept, reply.body)
        assert reply.headers.get_content_charset() == ("utf-8" if kind.startswith("text/") else None)


def test_unknown_format_is_refused_with_what_there_is(filled: Serving) -> None:
    """406 lists the formats."""
    for text, accept in ((SELECT, "text/turtle"), (SELECT, "*/*;q=0"), (GRAPH, "text/csv")):
        reply = answered(filled, text, Accept=accept)
        assert reply.status == 406
        assert ("text/csv" if text == SELECT else "text/turtle") in reply.json["detail"]


def seen(reply: Reply) -> str:
    assert reply.status == 200, reply.body
    return str(reply.json["results"]["bindings"][0].get("seen", {}).get("value", ""))


DEFAULT, NAMED = SEEN % "?s ?p ?o", SEEN % "GRAPH ?g { ?s ?p ?o }"
FROM = "FROM <http://e/data1> FROM NAMED <http://e/data2>"
DATASETS: list[tuple[str, list[int], list[int], str]] = [
    (DEFAULT, [], [], "default"),
    (NAMED, [], [], "0 1 2 3"),
    (DEFAULT, [1], [], "1"),
    (NAMED, [1], [], ""),
    (DEFAULT, [1, 2], [3], "1 2"),
    (NAMED, [1, 2], [3, 0], "0 3"),
    (DEFAULT, [], [3], ""),
    (NAMED, [], [3], "3"),
    (DEFAULT.replace("{", FROM + " {", 1), [], [], "1"),
    (NAMED.replace("{", FROM + " {", 1), [], [], "2"),
    (DEFAULT.replace("{", FROM + " {", 1), [3], [], "3"),
    (NAMED.replace("{", FROM + " {", 1), [3], [], ""),
    (NAMED.replace("{", FROM + " {", 1), [3], [0], "0"),
    (SEEN % "GRAPH <http://e/data2> { ?s ?p ?o }", [1], [3], ""),
]


@EACH_STORE
def test_dataset_of_the_protocol_wins_over_that_of_the_query(filled: Serving) -> None:
    """Graphs named by the request, or by FROM where it names none, are the whole dataset."""
    for text, default, named, expected in DATASETS:
        parameters = [("default-graph-uri", GRAPHS[i]) for i in default]
        parameters += [("named-graph-uri", GRAPHS[i]) for i in named]
        form = urlencode([("query", text), *parameters])
        ways: list[tuple[str, str, bytes | None, dict[str, str]]] = [
            ("GET", "/query?" + form, None, {}),
            ("POST", "/query", form.encode(), {"Content_Type": FORM}),
            ("POST", "/query?" + urlencode(parameters), text.encode(), {"Content_Type": QUERY}),
        ]
        for method, target, body, headers in sampled(form, ways, 3):
            assert seen(asked(filled, method, target, body, **headers)) == expected, (text, default, named)


MATCHES = [("GRAPH ?g { ?s ?p ?o }", NAMED), ("?s ?p ?o", DEFAULT)]
CHOICES: list[tuple[list[int], list[int]]] = [([], []), ([1], []), ([1, 2], []), ([], [3]), ([1, 2], [3, 0])]


@EACH_STORE
def test_update_matches_the_dataset_of_the_protocol(filled: Serving) -> None:
    """What an update's patterns see is what a query sees with the same graphs."""
    using = {"default": "using-graph-uri", "named": "using-named-graph-uri"}
    # the first case alone sees graphs that others fill
    for number, ((pattern, query), (default, named)) in enumerate(product(MATCHES, CHOICES)):
        graphs = [("default", GRAPHS[i]) for i in default] + [("named", GRAPHS[i]) for i in named]
        expected = seen(answered(filled, query, *((f"{kind}-graph-uri", name) for kind, name in graphs)))
        out = URIRef(f"http://e/out{number}")
        text = f"INSERT {{ GRAPH <{out}> {{ ?s ?p ?o }} }} WHERE {{ {pattern} }}"
        assert updated(filled, text, *((using[kind], name) for kind, name in graphs)).status == 204
        found = sorted(map(str, filled.dataset.graph(out).objects()))
        assert " ".join(found) == expected, (pattern, default, named)


@EACH_STORE
def test_update_with_a_dataset_deletes_by_the_short_form(filled: Serving) -> None:
    """DELETE WHERE matches the graphs of the protocol and deletes from those that it names."""
    text = "DELETE WHERE { ?s ?p ?o } ; INSERT { ?s ?p 9 } WHERE { ?s ?p 1 }"
    assert updated(filled, "INSERT DATA { <http://e/s1> <http://e/p> 1 }").status == 204
    assert updated(filled, text, ("using-graph-uri", GRAPHS[1])).status == 204
    assert seen(answered(filled, DEFAULT)) == "9 default"
    assert seen(answered(filled, NAMED)) == "0 1 2 3"
    text = "DELETE WHERE { GRAPH ?g { ?s ?p ?o } GRAPH ?other { } }"
    assert updated(filled, text, ("using-named-graph-uri", GRAPHS[2])).status == 204
    assert seen(answered(filled, NAMED)) == "0 1 3"


NAMED_TWICE = [
    ("CLEAR ALL ;\nINSERT { ?s ?p 1 } USING NAMED <urn:g> USING <urn:h> WHERE { ?s ?p ?o }", "USING", 2, 20),
    ("CLEAR ALL ; WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "WITH", 1, 13),
]


def test_dataset_that_text_and_protocol_name_is_refused_with_its_place(filled: Serving) -> None:
    """The first clause of the text that names one is told, and nothing is done."""
    for text, word, line, column in NAMED_TWICE:
        reply = updated(filled, text, ("using-graph-uri", GRAPHS[1]))
        assert (reply.status, reply.json["line"], reply.json["column"]) == (400, line, column), text
        assert f"both using-graph-uri and {word} (line {line}, column {column})" in reply.json["detail"]
    assert seen(answered(filled, DEFAULT)) == "default"


def test_update_is_one_commit_and_tells_its_number(filled: Serving) -> None:
    """A request of several operations is one delta, whose sequence the response gives."""
    deltas: list[Any] = []
    with rdflive.subscribe(filled.dataset, "SELECT ?o { ?s ?p ?o }", deltas.append, initial=False):
        text = "INSERT DATA { <http://e/a> <http://e/p> 1 } ; DELETE { ?s ?p 'default' } "
        text += "WHERE { ?s ?p 'default' }"
        reply = updated(filled, text)
        assert (reply.status, reply.body) == (204, b"")
        assert [(len(delta.added), len(delta.removed)) for delta in deltas] == [(1, 1)]
        assert int(reply.headers["Rdflive-Sequence"]) == deltas[0].sequence


def test_update_that_fails_changes_nothing(filled: Serving) -> None:
    """The operations before one that fails are taken back."""
    deltas: list[Any] = []
    with rdflive.subscribe(filled.dataset, "SELECT ?o { ?s ?p ?o }", deltas.append, initial=False):
        for last in ("CREATE GRAPH <http://e/data1>", "LOAD <http://e/>", "INSERT DATA { <a> }"):
            text = "DELETE WHERE { ?s ?p ?o } ; INSERT DATA { <http://e/a> <http://e/p> 1 } ; " + last
            assert updated(filled, text).status in (400, 403)
        assert not deltas
    assert seen(answered(filled, DEFAULT)) == "default"


def test_relative_iris_are_resolved_against_the_request(filled: Serving) -> None:
    """The base of a text without BASE is the address of the endpoint; bound prefixes need no declaration."""
    filled.dataset.bind("nice", "http://nice/")
    assert updated(filled, "INSERT DATA { <http://e/x> nice:q <rel> }").status == 204
    reply = answered(filled, "SELECT ?o { <http://e/x> <http://nice/q> ?o }")
    assert reply.json["results"]["bindings"][0]["o"]["value"] == f"{filled.url}/rel"
    assert answered(filled, "ASK { ?s nice:q <../rel> }").json["boolean"] is True


def test_service_is_described(server: Serving) -> None:
    """A GET without a query gives the service description, in the format that is wanted."""
    sd = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
    graphs = []
    formats = {"text/turtle": "turtle", "application/rdf+xml": "xml", "application/ld+json": "json-ld"}
    for accept, form in formats.items():
        reply = asked(server, "GET", "/query", Accept=accept)
        assert (reply.status, reply.kind) == (200, accept)
        graphs.append(rdflib.Graph().parse(data=reply.body, format=form))
        assert isomorphic(graphs[-1], graphs[0])
    assert (None, sd.endpoint, URIRef(f"{server.url}/query")) in graphs[0]
    assert (None, sd.supportedLanguage, sd.SPARQL11Update) in graphs[0]


def test_service_description_counts_as_void_does() -> None:
    """The numbers of triples, predicates and classes are those of the last count of the vocabulary."""
    data = "INSERT DATA { <urn:a> a <urn:C> ; <urn:p> 1, 2 . <urn:b> a <urn:D> }"
    with serving() as server:
        assert updated(server, data).status == 204

        def counted() -> dict[str, int]:
            reply = asked(server, "GET", "/query", Accept="application/n-triples")
            graph = rdflib.Graph().parse(data=reply.body, format="nt")
            names = ("triples", "properties", "classes")
            return {name: int(o) for name in names for o in graph.objects(None, rdflib.VOID[name])}

        until(lambda: counted() == {"triples": 4, "properties": 2, "classes": 2})


@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_union_is_the_default_graph_where_the_dataset_says_so(store: str) -> None:
    """With default_union queries without a dataset see all graphs, and updates never match fewer silently."""
    dataset = rdflib.Dataset(store, default_union=True)
    dataset.parse(data=NAMED_DATA, format="trig")
    with serving(dataset) as server:
        assert seen(answered(server, DEFAULT)) == "0 1 2 3"
        assert seen(answered(server, DEFAULT.replace("{", FROM + " {", 1))) == "1"
        assert seen(answered(server, DEFAULT, ("default-graph-uri", GRAPHS[2]))) == "2"
        assert updated(server, "INSERT DATA { <http://e/s> <http://e/p> 8 }").status == 204
        reply = updated(server, "INSERT { <http://e/s> <http://e/q> ?o } WHERE { ?s <http://e/p> ?o }")
        if store == "default":
            assert reply.status == 204
            assert seen(answered(server, SEEN % "?s <http://e/q> ?o")) == "0 1 2 3 8"
        else:
            assert (reply.status, reply.json["column"]) == (400, 47)
            reply = updated(server, "DELETE WHERE { ?s ?p ?o }")
            assert (reply.status, reply.json["column"]) == (400, 14)
        text = f"INSERT {{ <http://e/s> <http://e/r> ?o }} USING <{GRAPHS[3]}> WHERE {{ ?s <http://e/p> ?o }}"
        assert updated(server, text).status == 204
        assert seen(answered(server, SEEN % "?s <http://e/r> ?o")) == "3"
