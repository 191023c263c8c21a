"""The results of shapes over HTTP, updates that a guard refuses, and previews of updates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import pytest
import rdflib
from rdflib import RDF, Literal, URIRef
from rdflib.namespace import SH

import rdflive
from rdflive.server.access import RIGHTS, Client, digest
from support.protocol import Reply, asked, updated
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
    """A server with shapes over each kind of store; no guard."""
    dataset = rdflib.Dataset("default" if request.param == "default" else "Oxigraph")
    with ExitStack() as stack:
        if request.param == "disk":
            dataset.open(str(tmp_path_factory.mktemp("disk") / "store"))
            stack.callback(dataset.close)
        yield stack.enter_context(serving(dataset, shapes=SHAPES))


@pytest.fixture
def server(running: Serving) -> Serving:
    """The server with one train that conforms."""
    text = "INSERT DATA { :IC1 a :Train ; :line :S1 ; :late 3 . :S1 :name 'S1' }"
    assert updated(running, f"{P} CLEAR ALL ; {text}").status == 204
    return running


@pytest.fixture
def guarded(server: Serving) -> Iterator[Serving]:
    """The server with a guard."""
    with rdflive.guard(server.dataset, SHAPES):
        yield server


def report_of(reply: Any) -> rdflib.Graph:
    """Read the report of a reply in its format."""
    return rdflib.Graph().parse(data=reply.body, format=REPORTS[reply.kind])


def test_report_is_given_in_each_format(server: Serving) -> None:
    """It tells what conforms now, and a path that is a list."""
    for kind in REPORTS:
        reply = asked(server, "GET", "/validation", Accept=kind)
        assert (reply.status, reply.kind) == (200, kind)
        assert set(report_of(reply).objects(None, SH.conforms)) == {Literal(True)}
    with rdflive.batch(server.dataset):
        server.dataset.add((URIRef("http://e/S1"), URIRef("http://e/name"), Literal("Nine")))
        server.dataset.remove((URIRef("http://e/S1"), URIRef("http://e/name"), Literal("S1")))
    for kind in REPORTS:
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
        text = "DELETE DATA { :S1 :name 'S1' } ; INSERT DATA { :S1 :name 'Long' }"
        assert updated(server, P + text).status == 204
        update = next(event for event in events if event.kind == "update")
        (row,) = update.data["added"]
        assert row["focus"]["value"] == "http://e/IC1"
        assert row["message"]["value"]
        described = asked(server, "GET", "/subscriptions/validation").json
        assert (described["query"], described["rows"], described["clients"]) == ("SHACL validation", 1, 1)
        assert "validation" in [one["id"] for one in asked(server, "GET", "/subscriptions").json]
    with listening(f"{server.url}/validation", last=initial.id, Accept=STREAM) as events:
        assert next(event for event in events if event.kind).data == update.data


def test_refused_update_is_answered_with_the_report(guarded: Serving) -> None:
    """422 in the format that was asked for; nothing has changed, and no event is sent."""
    before, commits = set(guarded.dataset.quads()), guarded.service.capture.sequence
    for (way, update), kind in zip(WAYS.items(), REPORTS, strict=True):
        reply = updated(guarded, P + update, Accept=kind)
        assert (reply.status, reply.kind) == (422, kind), way
        report = report_of(reply)
        (result,) = report.subjects(RDF.type, SH.ValidationResult)
        focus = "IC1" if way == "deletes" else "IC5"
        assert report.value(result, SH.focusNode) == URIRef(f"http://e/{focus}")
        assert (set(guarded.dataset.quads()), guarded.service.capture.sequence) == (before, commits)


NEGOTIATED = {
    "": "text/turtle",
    "*/*": "text/turtle",
    "application/json": "application/problem+json",
    "application/problem+json": "application/problem+json",
    "application/json, text/turtle;q=0.5": "application/problem+json",
    "application/json;q=0.5, text/turtle": "text/turtle",
    "image/png": "application/problem+json",
}
"""The type of a refusal by what is accepted."""


def test_format_of_a_refusal_is_negotiated(guarded: Serving) -> None:
    """A problem document is for who asks for JSON, and for who accepts no report."""
    for accept, kind in NEGOTIATED.items():
        reply = updated(guarded, P + WAYS["data"], **({"Accept": accept} if accept else {}))
        assert (reply.status, reply.kind) == (422, kind), accept
        if kind == "application/problem+json":
            assert reply.json["status"] == 422
            assert "it would add 1 result:\n  :IC5  Violation  :line: " in reply.json["detail"]
            (row,) = reply.json["results"]
            assert row["focus"] == {"type": "uri", "value": "http://e/IC5"}
            assert row["severity"]["value"] == str(SH.Violation)


def test_what_does_not_violate_is_done(guarded: Serving) -> None:
    """Also where a batch mends itself, and where there is a result already."""
    assert (
        updated(guarded, P + "INSERT DATA { :IC5 a :Train } ; INSERT DATA { :IC5 :line :S1 }").status == 204
    )
    assert updated(guarded, P + "INSERT DATA { :S1 :name 'Long' }").status == 204
    assert updated(guarded, P + "INSERT DATA { :S1 :name 'Longer' }").status == 204
    assert updated(guarded, P + "INSERT DATA { :IC7 a :Train }").status == 422


def test_query_that_is_a_guard_has_no_report(server: Serving) -> None:
    """It is answered as a problem with its rows, whatever is accepted."""
    with rdflive.guard(server.dataset, P + "SELECT ?s { ?s :x ?o }"):
        reply = updated(server, P + "INSERT DATA { :a :x 1 }", Accept="text/turtle")
    assert (reply.status, reply.kind) == (422, "application/problem+json")
    assert reply.json["results"] == [{"s": {"type": "uri", "value": "http://e/a"}}]


def test_validation_is_for_those_who_may_subscribe() -> None:
    """Results need the right to subscribe; a refusal goes to clients with the right to update."""
    tokens = {digest(right * 9): Client(right, frozenset({right})) for right in RIGHTS - {"read"}}
    dataset = rdflib.Dataset(store="Oxigraph")
    with rdflive.guard(dataset, SHAPES), serving(dataset, tokens=tokens, shapes=SHAPES) as server:
        for right, status in {"update": 403, "subscribe": 200}.items():
            reply = asked(server, "GET", "/validation", Authorization=f"Bearer {right * 9}")
            assert reply.status == status
        reply = updated(server, P + WAYS["data"], Authorization="Bearer " + "update" * 9)
        assert reply.status == 422


def test_some_shapes_are_used_at_some_nodes() -> None:
    """As `rdflive.validate` takes them."""
    selected = {"use_shapes": ["http://e/Train"], "focus_nodes": ["http://e/a", "http://e/z"]}
    with serving(rdflib.Dataset(store="Oxigraph"), shapes=SHAPES, selected=selected) as server:
        assert updated(server, P + "INSERT DATA { :a :line :S1 . :b a :Train }").status == 204
        reply = asked(server, "GET", "/validation", Accept="application/n-triples")
        report = rdflib.Graph().parse(data=reply.body, format="nt")
        assert {str(each) for each in report.objects(None, SH.focusNode)} == {"http://e/z"}


def test_validation_that_is_too_large_ends() -> None:
    """Its followers are told why, and the report is refused.

    A server that runs again, as the lifespan of an application may, has its shapes; one without says how it
    gets some.
    """
    dataset = rdflib.Dataset(store="Oxigraph")
    with serving(dataset, shapes=SHAPES, rows=2) as server:
        with listening(f"{server.url}/validation", Accept=STREAM) as events:
            assert next(event for event in events if event.kind == "initial").data["added"] == []
            text = P + "INSERT DATA { :a a :Train . :b a :Train . :c a :Train }"
            assert updated(server, text).status == 204
            end = next(event for event in events if event.kind == "end")
            assert "more than 2 solutions" in end.data["detail"]
        reply = asked(server, "GET", "/validation")
        assert (reply.status, "has ended" in reply.json["detail"]) == (503, True)
    with serving(dataset, shapes=SHAPES) as server:
        assert asked(server, "GET", "/validation").status == 200
    with serving(dataset) as server:
        reply = asked(server, "GET", "/validation")
        assert (reply.status, "--shapes" in reply.json["detail"]) == (404, True)


PREVIEW = ("preview", "")


def iri(name: str) -> dict[str, str]:
    return {"type": "uri", "value": f"http://e/{name}"}


def number(text: str) -> dict[str, str]:
    return {"type": "literal", "value": text, "datatype": "http://www.w3.org/2001/XMLSchema#integer"}


def state(server: Serving) -> Any:
    """What nothing may have changed of."""
    log = asked(server, "GET", "/changes", Accept="application/rdf-patch").body
    return set(server.dataset.quads()), server.service.capture.sequence, log


def previewed(server: Serving, update: str, **headers: str) -> Reply:
    """Preview an update, after which all is as before."""
    before = state(server)
    reply = updated(server, P + update, PREVIEW, **headers)
    assert state(server) == before
    return reply


@pytest.mark.parametrize(
    "update",
    [
        "DELETE DATA { :IC1 :late 3 } ; INSERT DATA { :IC1 :late 4 . GRAPH :g { :IC1 :late 5 } }",
        "DELETE { ?s :late 3 } INSERT { ?s :late 4 . GRAPH :g { ?s :late 5 } } WHERE { ?s :late ?x }",
    ],
)
def test_quads_that_would_come_and_go_are_told(server: Serving, update: str) -> None:
    """Those of the default graph have no name; what is there already does not come."""
    told = previewed(server, update + " ; INSERT DATA { :IC1 :line :S1 }").json
    quad = {"subject": iri("IC1"), "predicate": iri("late")}
    assert told["removed"] == [{**quad, "object": number("3")}]
    named = {**quad, "object": number("5"), "graph": iri("g")}
    assert sorted(told["added"], key=str) == sorted([{**quad, "object": number("4")}, named], key=str)
    assert (told["refused"], told["subscriptions"]) == (None, [])


def test_deltas_of_open_subscriptions_are_told(server: Serving) -> None:
    """As events have them: solutions, pairs by a key, a truth, triples, results; no event is sent."""
    asks = {
        "SELECT ?s ?n { ?s <http://e/late> ?n }": "",
        "SELECT ?s ?n  { ?s <http://e/late> ?n }": "&key=s",
        "ASK { ?s <http://e/late> 4 }": "",
        "CONSTRUCT { ?s <http://e/of> ?n } WHERE { ?s <http://e/late> ?n }": "",
        "SELECT ?s { ?s <http://e/other> ?n }": "",
    }
    with ExitStack() as stack:
        streams = []
        for query, options in asks.items():
            url = f"{server.url}/subscribe?query={quote(query)}{options}"
            streams.append(stack.enter_context(listening(url)))
            assert next(event for event in streams[-1] if event.kind == "initial")
        told = previewed(
            server, "DELETE DATA { :IC1 :late 3 ; :line :S1 } ; INSERT DATA { :IC1 :late 4 }"
        ).json
        found = {one["query"]: one for one in told["subscriptions"]}
        rows, keyed, truth, triples, _ = (found.get(query, {}) for query in asks)
        old, new = ({"s": iri("IC1"), "n": number(text)} for text in "34")
        assert (rows["removed"], rows["added"]) == ([old], [new])
        assert (keyed["changed"], keyed["added"], keyed["removed"]) == ([{"old": old, "new": new}], [], [])
        assert truth["boolean"] is True
        assert triples["added"] == [{"subject": iri("IC1"), "predicate": iri("of"), "object": number("4")}]
        assert found["SHACL validation"]["added"][0]["focus"] == iri("IC1")
        assert {one["sequence"] for one in found.values()} == {server.service.capture.sequence + 1}
        assert len(found) == 5
        # the next event is that of what was done
        assert updated(server, P + "INSERT DATA { :IC2 :late 4 }").status == 204
        event = next(event for event in streams[0] if event.kind == "update")
        assert event.data["added"] == [{"s": iri("IC2"), "n": number("4")}]


def test_what_a_guard_would_say_is_told(server: Serving) -> None:
    """With its results; the quads and deltas are told all the same."""
    with rdflive.guard(server.dataset, SHAPES):
        told = previewed(server, "INSERT DATA { :IC5 a :Train }").json
        assert told["refused"]["status"] == 422
        assert told["refused"]["results"][0]["focus"] == iri("IC5")
        assert told["added"][0]["subject"] == iri("IC5")
        assert previewed(server, "INSERT DATA { :IC5 a :Train ; :line :S1 }").json["refused"] is None


def test_failing_update_fails_as_without_a_preview(server: Serving) -> None:
    """Errors are those of the update, with their places."""
    for update in ("INSERT", "INSERT { ?s ?p ?o } WHERE", "LOAD <http://elsewhere.example/>"):
        plain, preview = updated(server, P + update), previewed(server, update)
        assert (preview.status, preview.json) == (plain.status, plain.json)
        assert plain.status in (400, 403)


def test_preview_is_asked_for_in_the_address(server: Serving) -> None:
    """Alone or with a value, of a form too; other values leave it in doubt, so they are refused."""
    before = state(server)
    form = "application/x-www-form-urlencoded"
    for target in ("?preview", "?preview=", "?preview=true"):
        reply = asked(server, "POST", f"/update{target}", b"update=CLEAR+ALL", Content_Type=form)
        assert (reply.status, reply.kind, len(reply.json["removed"])) == (200, "application/json", 4)
    reply = updated(server, "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", ("using-graph-uri", "urn:g"), PREVIEW)
    assert (reply.status, reply.json["removed"]) == (200, [])
    for target in ("?preview=false", "?preview=1", "?preview&preview", "?preview=true&preview="):
        reply = asked(server, "POST", f"/update{target}", b"update=CLEAR+ALL", Content_Type=form)
        assert (reply.status, "leave it out to update" in reply.json["detail"]) == (400, True)
    assert state(server) == before


def test_preview_tells_no_more_than_a_client_may_see() -> None:
    """It takes the right to update; quads are for those who may read, deltas for those who may subscribe."""
    tokens = {}
    for names in ("update", "update read", "update subscribe", "read subscribe"):
        tokens[digest(names)] = Client(names, frozenset(names.split()))  # type: ignore[arg-type]  # they are
    with serving(rdflib.Dataset(store="Oxigraph"), tokens=tokens, shapes=SHAPES) as server:
        members = {}
        for client in tokens.values():
            reply = updated(
                server, P + "INSERT DATA { :a a :Train }", PREVIEW, Authorization=f"Bearer {client.name}"
            )
            members[client.name] = sorted(reply.json) if reply.status == 200 else reply.status
    assert members == {
        "update": ["refused"],
        "update read": ["added", "refused", "removed"],
        "update subscribe": ["refused", "subscriptions"],
        "read subscribe": 403,
    }


def test_preview_has_limits() -> None:
    """Those of an update that is tried, and of the rows that it tells."""
    with serving(rdflib.Dataset(store="Oxigraph"), rows=3) as server:
        assert previewed(server, "INSERT DATA { :a :p 1, 2, 3 }").status == 200
        reply = previewed(server, "INSERT DATA { :a :p 1, 2, 3, 4 }")
        assert reply.status == 403
        assert "more than 3 changes" in reply.json["detail"]


@pytest.mark.parametrize(
    ("shapes", "said"),
    [(SHAPES, "yes"), (SHAPES.replace("sh:targetClass :Train ;", ""), "idle"), (None, "")],
    ids=["with targets", "without", "none"],
)
def test_page_knows_whether_data_can_fail_to_conform(shapes: str | None, said: str) -> None:
    """Where no shape has a target, the page must not say that the data conform."""
    with serving(shapes=shapes) as server, urlopen(server.url) as page:
        assert f'data-shapes="{said}"' in page.read().decode()
