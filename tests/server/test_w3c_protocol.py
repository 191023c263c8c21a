"""The protocol tests of w3c/rdf-tests (sparql11/protocol), under their names and in other words.

All 34 apply. The suite sends queries and updates to one URL, and here each has its own: `/query` and
`/update`. In `query_multiple_dataset` the suite escapes the `&` between two graphs, so that they are one IRI;
here they are two, as its title says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

import pytest
import rdflib

from support.protocol import Reply, asked, updated
from support.serving import Serving

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

FORM = "application/x-www-form-urlencoded"
QUERY, UPDATE = "application/sparql-query", "application/sparql-update"
UTF_16 = "; charset=UTF-16"
NONE, ONE, TWO, THREE = (f"http://example.org/data{number}" for number in range(4))
OUT = "http://example.org/out"
FILL = " ".join(f"GRAPH <{graph}> {{ <{graph}> a <urn:Document> }}" for graph in (ONE, TWO, THREE))
"""What the suite's first updates insert, and its queries find."""
IN_DEFAULT = f"ASK {{ <{ONE}> a ?type . <{TWO}> a ?type }}"
IN_NAMED = f"ASK {{ GRAPH ?g {{ <{ONE}> a ?type }} GRAPH ?h {{ <{TWO}> a ?type }} }}"
IN_BOTH = IN_NAMED.replace("{", f"{{ <{THREE}> a ?type ", 1)


def found(triples: str, missing: str) -> str:
    """A query: does the graph have these triples, and nothing about this subject?"""
    inside = f"GRAPH <{OUT}> {{ {triples} }}"
    return f"ASK {{ {inside} FILTER NOT EXISTS {{ GRAPH <{OUT}> {{ <{missing}> ?p ?o }} }} }}"


ONLY_ONE = found(f"<{ONE}> a <urn:Found>", TWO)
NOT_THREE = found(f"<{ONE}> a <urn:Found> . <{TWO}> a <urn:Found>", THREE)
WHERE_FOUND = found(f"<{ONE}> <urn:in> 'default' . <{TWO}> <urn:in> <{TWO}>", THREE)


def succeeded(reply: Reply) -> bool:
    return 200 <= reply.status < 400


def refused(reply: Reply) -> bool:
    return 400 <= reply.status < 500


def is_true(reply: Reply) -> bool:
    return succeeded(reply) and reply.json["boolean"] is True


def is_table(reply: Reply) -> bool:
    return succeeded(reply) and "bindings" in reply.json["results"]


def is_graph(reply: Reply) -> bool:
    return succeeded(reply) and rdflib.Graph().parse(data=reply.body, format=reply.kind) is not None


def is_boolean(reply: Reply) -> bool:
    return succeeded(reply) and isinstance(reply.json["boolean"], bool)


def is_resolved(reply: Reply) -> bool:
    (row,) = reply.json["results"]["bindings"]
    return bool(row["o"]["type"] == "uri" and ":" in row["o"]["value"])


@dataclass(frozen=True)
class Step:
    """A request, and what its response has to be."""

    expected: Callable[[Reply], bool]
    target: str
    body: bytes | None = None
    kind: str | None = None
    method: str = "POST"


def get(expected: Callable[[Reply], bool], target: str, *parameters: tuple[str, str]) -> Step:
    return Step(expected, f"{target}?{urlencode(parameters)}", method="GET")


def query(text: str, *parameters: tuple[str, str], expected: Callable[[Reply], bool] = is_true) -> Step:
    return Step(expected, f"/query?{urlencode(parameters)}", text.encode(), QUERY)


def update(text: str, *parameters: tuple[str, str], expected: Callable[[Reply], bool] = succeeded) -> Step:
    return Step(expected, f"/update?{urlencode(parameters)}", text.encode(), UPDATE)


def copied(pattern: str, template: str = "?s a <urn:Found>") -> str:
    """An update of several operations, the last of which reads the dataset of the protocol."""
    last = f"INSERT {{ GRAPH <{OUT}> {{ {template} }} }} WHERE {{ {pattern} }}"
    return f"DROP ALL ; INSERT DATA {{ {FILL} }} ; {last}"


DEFAULT_ONE, DEFAULT_TWO, DEFAULT_THREE = (("default-graph-uri", graph) for graph in (ONE, TWO, THREE))
NAMED_ONE, NAMED_TWO = (("named-graph-uri", graph) for graph in (ONE, TWO))
USING_ONE, USING_TWO = (("using-graph-uri", graph) for graph in (ONE, TWO))
USING_NAMED_ONE, USING_NAMED_TWO = (("using-named-graph-uri", graph) for graph in (ONE, TWO))
NO_DATA = ("default-graph-uri", NONE)
DOCUMENT = "?s a <urn:Document>"
IN_WHICH = f"{{ GRAPH ?g {{ {DOCUMENT} }} BIND(?g AS ?in) }} UNION {{ {DOCUMENT} BIND('default' AS ?in) }}"
CONFLICT = "WITH <urn:g> DELETE { ?s <urn:p> 1 } INSERT { ?s <urn:p> 2 } WHERE { ?s <urn:p> 1 }"
RELATIVE = f"CLEAR SILENT GRAPH <{OUT}> ; INSERT DATA {{ GRAPH <{OUT}> {{ <urn:s> <urn:p> <test> }} }}"

CASES: dict[str, list[Step]] = {
    "query_post_form": [Step(is_true, "/query?" + urlencode([NO_DATA]), b"query=ASK%20%7B%7D", FORM)],
    "query_dataset_default_graphs_get": [
        get(is_true, "/query", ("query", IN_DEFAULT), DEFAULT_ONE, DEFAULT_TWO)
    ],
    "query_dataset_default_graphs_post": [query(IN_DEFAULT, DEFAULT_ONE, DEFAULT_TWO)],
    "query_dataset_named_graphs_post": [query(IN_NAMED, NAMED_ONE, NAMED_TWO)],
    "query_dataset_named_graphs_get": [get(is_true, "/query", ("query", IN_NAMED), NAMED_ONE, NAMED_TWO)],
    "query_dataset_full": [query(IN_BOTH, DEFAULT_THREE, NAMED_ONE, NAMED_TWO)],
    "query_multiple_dataset": [query(IN_NAMED.replace("{", f"FROM <{THREE}> {{", 1), NAMED_ONE, NAMED_TWO)],
    "query_get": [get(is_true, "/query", ("query", "ASK {}"), NO_DATA)],
    "query_content_type_select": [query("SELECT (1 AS ?value) {}", NO_DATA, expected=is_table)],
    "query_content_type_ask": [query("ASK {}", NO_DATA, expected=is_boolean)],
    "query_content_type_describe": [query("DESCRIBE <http://example.org/>", NO_DATA, expected=is_graph)],
    "query_content_type_construct": [query("CONSTRUCT { <s> <p> 1 } WHERE {}", NO_DATA, expected=is_graph)],
    "update_dataset_default_graph": [update(copied(DOCUMENT), USING_ONE), query(ONLY_ONE)],
    "update_dataset_default_graphs": [update(copied(DOCUMENT), USING_ONE, USING_TWO), query(NOT_THREE)],
    "update_dataset_named_graphs": [
        update(copied(f"GRAPH ?g {{ {DOCUMENT} }}"), USING_NAMED_ONE, USING_NAMED_TWO),
        query(NOT_THREE),
    ],
    "update_dataset_full": [
        update(copied(IN_WHICH, "?s <urn:in> ?in"), USING_ONE, USING_NAMED_TWO),
        query(WHERE_FOUND),
    ],
    "update_post_form": [Step(succeeded, "/update", b"update=CLEAR+ALL", FORM)],
    "update_post_direct": [update("CLEAR ALL")],
    "update_base_uri": [
        update(RELATIVE),
        query(f"SELECT ?o {{ GRAPH <{OUT}> {{ <urn:s> <urn:p> ?o }} }}", expected=is_resolved),
    ],
    "query_post_direct": [query("ASK {}")],
    "bad_query_method": [Step(refused, "/query?query=ASK%20%7B%7D", kind=FORM, method="PUT")],
    "bad_multiple_queries": [get(refused, "/query", ("query", "ASK {}"), ("query", "SELECT * {}"))],
    "bad_query_wrong_media_type": [Step(refused, "/query", b"ASK {}", "text/plain")],
    "bad_query_missing_form_type": [Step(refused, "/query", b"query=ASK%20%7B%7D")],
    "bad_query_missing_direct_type": [Step(refused, "/query", b"ASK {}")],
    "bad_query_non_utf8": [Step(refused, "/query", "ASK {}".encode("utf-16"), QUERY + UTF_16)],
    "bad_query_syntax": [get(refused, "/query", ("query", "ASK {"))],
    "bad_update_get": [get(refused, "/update", ("update", "CLEAR ALL"))],
    "bad_multiple_updates": [Step(refused, "/update", b"update=CLEAR%20NAMED&update=CLEAR%20DEFAULT", FORM)],
    "bad_update_wrong_media_type": [Step(refused, "/update", b"CLEAR NAMED", "text/plain")],
    "bad_update_missing_form_type": [Step(refused, "/update", b"update=CLEAR%20NAMED")],
    "bad_update_non_utf8": [Step(refused, "/update", "CLEAR NAMED".encode("utf-16"), UPDATE + UTF_16)],
    "bad_update_syntax": [Step(refused, "/update", b"update=CLEAR%20XYZ", FORM)],
    "bad_update_dataset_conflict": [
        update(CONFLICT, ("using-named-graph-uri", "http://example.org/people"), expected=refused)
    ],
}  # fmt: skip


def stored(server: Serving) -> list[bytes]:
    return sorted(asked(server, "GET", "/store").body.splitlines())


@pytest.mark.sampled(by="server", always={"server": ["default", "Oxigraph"]})
@pytest.mark.parametrize("name", CASES)
def test_protocol_of_the_w3c_suite(server: Serving, name: str) -> None:
    """Each response is one that the suite accepts, and a request that is refused changes nothing."""
    assert updated(server, f"DROP ALL ; INSERT DATA {{ {FILL} }}").status == 204
    before = stored(server)
    for step in CASES[name]:
        headers = {"Content_Type": step.kind} if step.kind else {}
        reply = asked(server, step.method, step.target, step.body, **headers)
        assert step.expected(reply), (step, reply)
        if step.expected is refused:
            assert stored(server) == before
