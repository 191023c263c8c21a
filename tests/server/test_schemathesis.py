"""What is published is what is served: requests made from the description, good and bad ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")

import requests  # noqa: E402 - comes with it
from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

import rdflive  # noqa: E402 - as above
from rdflive.server.access import Client, digest  # noqa: E402 - as above
from rdflive.server.openapi import describe_api  # noqa: E402
from support.effort import HUNT, examples  # noqa: E402
from support.serving import serving  # noqa: E402

pytestmark = pytest.mark.posix("the server forks")

TOKEN = "everything-0123456789"
QUERIES = ["ASK { ?s ?p ?o }", "SELECT * { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o }"]
UPDATES = [
    "INSERT DATA { <http://e/s> <http://e/p> 1 }",
    "DELETE WHERE { <http://e/s> ?p ?o }",
    "CLEAR DEFAULT",
    "INSERT DATA { <http://e/t> <http://e/p> 'no number' }",
]
SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<urn:S> sh:targetSubjectsOf <http://e/p> ; sh:property [ sh:path <http://e/p> ; sh:datatype xsd:integer ] .
<urn:S> a sh:NodeShape ."""
"""Refuse the last one."""

schemathesis.openapi.format("sparql-query", st.sampled_from(QUERIES))
schemathesis.openapi.format("sparql-update", st.sampled_from(UPDATES))


class Session(requests.Session):
    """Takes the beginning of a stream that has no end."""

    def send(self, request: Any, **options: Any) -> requests.Response:
        response = super().send(request, **{**options, "stream": True})
        if response.headers.get("Content-Type", "").startswith("text/event-stream"):
            response._content = next(response.iter_content(None), b"")
            response.close()
        return response


@pytest.fixture(scope="module")
def api() -> Iterator[Any]:
    rights = frozenset({"read", "update", "subscribe"})
    dataset, tokens = rdflib.Dataset(store="Oxigraph"), {digest(TOKEN): Client("all", rights)}
    with (
        rdflive.guard(dataset, SHAPES),
        serving(dataset, tokens=tokens, shapes=SHAPES, rules=["rdfs"]) as served,
    ):
        headers = {"Authorization": f"Bearer {TOKEN}"}
        yield schemathesis.openapi.from_url(f"{served.url}/openapi.json", headers=headers)


DESCRIBED = {
    (path, method): operation
    for path, operations in describe_api()["paths"].items()
    for method, operation in operations.items()
}
REQUESTS = [
    *((*place, "POSITIVE") for place in DESCRIBED),
    *(
        (*place, "NEGATIVE")
        for place, part in DESCRIBED.items()
        if {"parameters", "requestBody"} & part.keys()
    ),
]
REFUSABLE = {
    ("/query", "get"),
    ("/changes", "get"),
    ("/subscribe", "get"),
    ("/subscribe", "post"),
    ("/update", "post"),
    *(("/store", method) for method in ("put", "post", "delete")),
    *(("/store/{path}", method) for method in ("get", "put", "post", "delete")),
}
"""Graphs need a query beside them, a place in the log is one that it gave, a key is of variables of the
query, a guard looks at the data, a graph is named by exactly one of three ways and by an IRI, and a document
has the grammar of its format: no schema can say so."""


@pytest.mark.parametrize(("path", "method", "mode"), REQUESTS)
def test_server_does_as_it_is_described(api: Any, path: str, method: str, mode: str) -> None:
    """Every response has a described status, type and form, and only a token gives access."""
    excluded = [positive_data_acceptance] if (path, method) in REFUSABLE else []

    @given(api[path][method].as_strategy(generation_mode=schemathesis.GenerationMode[mode]))
    @settings(max_examples=examples(15), derandomize=HUNT, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with Session() as session:
            case.call_and_validate(session=session, headers=headers, excluded_checks=excluded)

    ask()
