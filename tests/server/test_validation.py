"""The results of shapes over HTTP, and updates that a guard refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import rdflib
from rdflib import RDF, Literal, URIRef
from rdflib.namespace import SH

import rdflive
from rdflive.server.access import Client, digest
from support.protocol import asked, updated
from support.serving import Serving, serving
from support.sinks import listening

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

P = "PREFIX : <http://e/> "
SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
:Train a sh:NodeShape ; sh:targetClass :Train ; sh:property [ sh:path :line ; sh:minCount 1 ] ,
  [ sh:path ( :line :name ) ; sh:maxLength 3 ; sh:severity sh:Warning ] ."""
STREAM = "text/event-stream"
REPORTS = {
    "text/turtle": "turtle",
    "application/n-triples": "nt",
    "application/rdf+xml": "xml",
    "application/ld+json": "json-ld",
}
WAYS = {
    "data": "INSERT DATA { :IC5 a :Train }",
    "pattern": "INSERT { :IC5 a ?class } WHERE { ?s a ?class }",
    "two": "INSERT DATA { :IC6 :x 1 } ; INSERT DATA { :IC5 a :Train }",
    "deletes": "DELETE WHERE { ?s :line ?line }",
}
"""Updates that would add one result."""


@pytest.fixture(scope="module", params=["default", "Oxigraph", "disk"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A guarded server over each kind of store."""
    dataset = rdflib.Dataset("default" if request.param == "default" else "Oxigraph")
    with ExitStack() as stack:
        if request.param == "disk":
            dataset.open(str(tmp_path_factory.mktemp("disk") / "store"))
            stack.callback(dataset.close)
        stack.enter_context(rdflive.guard(dataset, SHAPES))
        yield stack.enter_context(serving(dataset, shapes=SHAPES))


@pytest.fixture
def server(running: Serving) -> Serving:
    """The server with one train that conforms."""
    assert updated(running, "CLEAR ALL").status == 204
    assert updated(running, P + "INSERT DATA { :IC1 a :Train ; :line :S1 . :S1 :name 'S1' }").status == 204
    return running


def report_of(reply: Any) -> rdflib.Graph:
    """Read the report of a reply in its format."""
    kind = reply.kind.partition(";")[0]
    return rdflib.Graph().parse(data=reply.body, format=REPORTS[kind])


def held(server: Serving) -> set[Any]:
    return set(server.dataset.quads())


@pytest.mark.parametrize("kind", REPORTS)
def test_report_is_given_in_each_format(server: Serving, kind: str) -> None:
    """It tells what conforms now, and a path that is a list."""
    reply = asked(server, "GET", "/validation", Accept=kind)
    assert (reply.status, reply.kind.partition(";")[0]) == (200, kind)
    assert set(report_of(reply).objects(None, SH.conforms)) == {Literal(True)}
    with rdflive.batch(server.dataset):
        server.dataset.add((URIRef("http://e/S1"), URIRef("http://e/name"), Literal("Nine")))
        server.dataset.remove((URIRef("http://e/S1"), URIRef("http://e/name"), Literal("S1")))
    report = report_of(asked(server, "GET", "/validation", Accept=kind))
    assert set(report.objects(None, SH.conforms)) == {Literal(False)}
    (result,) = report.subjects(RDF.type, SH.ValidationResult)
    assert report.value(result, SH.resultSeverity) == SH.Warning
    path = report.value(result, SH.resultPath)
    assert list(report.items(path)) == [URIRef("http://e/line"), URIRef("http://e/name")]


def test_results_are_followed_like_a_query(server: Serving) -> None:
    """Events have the columns of results, ids lead back, and the list of subscriptions has it."""
    with listening(f"{server.url}/validation", Accept=STREAM) as events:
        initial = next(event for event in events if event.kind == "initial")
        assert (initial.data["subscription"], initial.data["added"]) == ("validation", [])
        assert initial.data["head"]["vars"][:3] == ["focus", "path", "value"]
        assert (
            updated(server, P + "DELETE DATA { :S1 :name 'S1' } ; INSERT DATA { :S1 :name 'Long' }").status
            == 204
        )
        update = next(event for event in events if event.kind == "update")
        (row,) = update.data["added"]
        assert row["focus"]["value"] == "http://e/IC1"
        assert row["message"]["value"]
        described = asked(server, "GET", "/subscriptions/validation").json
        assert (described["query"], described["rows"], described["clients"]) == ("SHACL validation", 1, 1)
        assert "validation" in [one["id"] for one in asked(server, "GET", "/subscriptions").json]
    with listening(f"{server.url}/validation", last=initial.id, Accept=STREAM) as events:
        assert next(event for event in events if event.kind).data == update.data


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", REPORTS)
def test_refused_update_is_answered_with_the_report(server: Serving, way: str, kind: str) -> None:
    """422 in the format that was asked for; nothing has changed, and nobody is told."""
    before, commits = held(server), server.service.capture.sequence
    reply = updated(server, P + WAYS[way], Accept=kind)
    assert (reply.status, reply.kind.partition(";")[0]) == (422, kind)
    report = report_of(reply)
    (result,) = report.subjects(RDF.type, SH.ValidationResult)
    focus = "IC1" if way == "deletes" else "IC5"
    assert report.value(result, SH.focusNode) == URIRef(f"http://e/{focus}")
    assert (held(server), server.service.capture.sequence) == (before, commits)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "text/turtle"),
        ("*/*", "text/turtle"),
        ("application/json", "application/problem+json"),
        ("application/problem+json", "application/problem+json"),
        ("application/json, text/turtle;q=0.5", "application/problem+json"),
        ("application/json;q=0.5, text/turtle", "text/turtle"),
        ("image/png", "application/problem+json"),
    ],
)
def test_format_of_a_refusal_is_negotiated(server: Serving, accept: str, kind: str) -> None:
    """A problem document is for who asks for JSON, and for who accepts no report."""
    reply = updated(server, P + WAYS["data"], **({"Accept": accept} if accept else {}))
    assert (reply.status, reply.kind.partition(";")[0]) == (422, kind)
    if kind == "application/problem+json":
        assert reply.json["status"] == 422
        assert "it would add 1 result:\n  :IC5  Violation  :line: " in reply.json["detail"]
        (row,) = reply.json["results"]
        assert row["focus"] == {"type": "uri", "value": "http://e/IC5"}
        assert row["severity"]["value"] == str(SH.Violation)


def test_what_does_not_violate_is_done(server: Serving) -> None:
    """Also where a batch mends itself, and where there is a result already."""
    assert updated(server, P + "INSERT DATA { :IC5 a :Train } ; INSERT DATA { :IC5 :line :S1 }").status == 204
    assert updated(server, P + "INSERT DATA { :S1 :name 'Long' }").status == 204
    assert updated(server, P + "INSERT DATA { :S1 :name 'Longer' }").status == 204
    assert updated(server, P + "INSERT DATA { :IC7 a :Train }").status == 422


def test_query_that_is_a_guard_has_no_report(server: Serving) -> None:
    """It is answered as a problem with its rows, whatever is accepted."""
    with rdflive.guard(server.dataset, P + "SELECT ?s { ?s :x ?o }"):
        reply = updated(server, P + "INSERT DATA { :a :x 1 }", Accept="text/turtle")
    assert (reply.status, reply.kind) == (422, "application/problem+json")
    assert reply.json["results"] == [{"s": {"type": "uri", "value": "http://e/a"}}]


def test_server_without_shapes_has_no_validation() -> None:
    """It says how it gets one."""
    with serving() as server:
        reply = asked(server, "GET", "/validation")
        assert reply.status == 404
        assert "--shapes" in reply.json["detail"]


def test_validation_is_for_those_who_may_subscribe() -> None:
    """As all that follows the data; a refusal is told to whoever may update."""
    rights = {"update-0123456789abc": "update", "subscribe-0123456789": "subscribe"}
    tokens = {digest(token): Client(right, frozenset({right})) for token, right in rights.items()}  # type: ignore[arg-type]  # they are rights
    dataset = rdflib.Dataset(store="Oxigraph")
    with rdflive.guard(dataset, SHAPES), serving(dataset, tokens=tokens, shapes=SHAPES) as server:
        status = {
            right: asked(server, "GET", "/validation", Authorization=f"Bearer {token}").status
            for token, right in rights.items()
        }
        assert status == {"update": 403, "subscribe": 200}
        token = {right: token for token, right in rights.items()}["update"]
        assert updated(server, P + WAYS["data"], Authorization=f"Bearer {token}").status == 422


def test_validation_that_is_too_large_ends() -> None:
    """Its followers are told why, and the report is refused."""
    dataset = rdflib.Dataset(store="Oxigraph")
    with serving(dataset, shapes=SHAPES, rows=2) as server:
        with listening(f"{server.url}/validation", Accept=STREAM) as events:
            assert next(event for event in events if event.kind == "initial").data["added"] == []
            assert (
                updated(server, P + "INSERT DATA { :a a :Train . :b a :Train . :c a :Train }").status == 204
            )
            end = next(event for event in events if event.kind == "end")
            assert "more than 2 solutions" in end.data["detail"]
        reply = asked(server, "GET", "/validation")
        assert reply.status == 503
        assert re.search("has ended", reply.json["detail"])


def test_server_runs_again_with_its_shapes() -> None:
    """The lifespan of an application may be repeated."""
    dataset = rdflib.Dataset(store="Oxigraph")
    for _ in range(2):
        with serving(dataset, shapes=SHAPES) as server:
            assert asked(server, "GET", "/validation").status == 200
