"""`/update?preview`: what an update would change, and that it changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import pytest
import rdflib

import rdflive
from rdflive.server.access import Client, digest
from support.protocol import Reply, asked, updated
from support.serving import Serving, serving
from support.sinks import listening

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

P = "PREFIX : <http://e/> "
SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
:Train a sh:NodeShape ; sh:targetClass :Train ; sh:property [ sh:path :line ; sh:minCount 1 ] ."""
PREVIEW = ("preview", "")


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
    assert updated(running, "CLEAR ALL").status == 204
    assert updated(running, P + "INSERT DATA { :IC1 a :Train ; :line :S1 ; :late 3 }").status == 204
    return running


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
    """As their events have them: solutions, pairs by a key, a truth, triples, results; nobody is told."""
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


@pytest.mark.parametrize(
    "target", ["?preview", "?preview=", "?preview=true", "?using-graph-uri=urn:g&preview"]
)
def test_preview_is_asked_for_in_the_address(server: Serving, target: str) -> None:
    """Alone or with a value, of a form too."""
    before = state(server)
    body, form = b"update=CLEAR+ALL", "application/x-www-form-urlencoded"
    if "using" in target:
        body = b"update=DELETE+%7B+%3Fs+%3Fp+%3Fo+%7D+WHERE+%7B+%3Fs+%3Fp+%3Fo+%7D"
    reply = asked(server, "POST", f"/update{target}", body, Content_Type=form)
    assert (reply.status, reply.kind) == (200, "application/json")
    assert len(reply.json["removed"]) == (0 if "using" in target else 3)
    assert state(server) == before


@pytest.mark.parametrize(
    "target", ["?preview=false", "?preview=1", "?preview&preview", "?preview=true&preview="]
)
def test_other_values_are_refused(server: Serving, target: str) -> None:
    """Nobody is left in doubt whether the update was done."""
    before = state(server)
    reply = asked(server, "POST", f"/update{target}", b"CLEAR ALL", Content_Type="application/sparql-update")
    assert reply.status == 400
    assert "leave it out to update" in reply.json["detail"]
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
