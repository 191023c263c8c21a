"""A dataset's changes over HTTP: followed by a mirror, resumed, or read as a document."""

from __future__ import annotations

import http.client
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import rdflib
from rdflib import BNode, Literal, URIRef

import rdflive
from rdflive.feeds import read_entries, to_lines
from rdflive.feeds.event_stream import read_events
from rdflive.feeds.rdf_patch import RDF_PATCH
from rdflive.server import service
from rdflive.server.change_log import CommitLog
from support.mirror_thread import following
from support.protocol import Reply, asked
from support.serving import Serving, serving
from support.waiting import until

pytestmark = pytest.mark.posix("the server forks")

P = URIRef("http://e/p")
GRAPH = URIRef("http://e/g")


def put(dataset: rdflib.Dataset, *objects: Any, graph: URIRef = GRAPH) -> None:
    """Add triples to a named graph, in one commit."""
    with rdflive.batch(dataset):
        for term in objects:
            dataset.graph(graph).add(
                (URIRef("http://e/s"), P, Literal(term) if isinstance(term, str) else term)
            )


def get(served: Serving, path: str = "/changes", **headers: str) -> Reply:
    return asked(served, "GET", path, Accept="application/rdf-patch", **headers)


@contextmanager
def events(
    served: Serving, last: str = "", path: str = "/changes"
) -> Iterator[Iterator[tuple[str, str, str]]]:
    """Follow the stream; gives (id, event, data) of each event."""
    headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    assert response.status == 200
    assert response.headers["Content-Type"].startswith("text/event-stream")
    try:
        yield (
            (event.id, event.kind, "\n".join(line.text for line in event.frame))
            for event in read_events(to_lines(response, "changes"))  # type: ignore[arg-type]
        )
    finally:
        response.close()
        connection.close()


@pytest.fixture
def served() -> Iterator[Serving]:
    with serving(rdflib.Dataset()) as served:
        yield served


def test_stream_says_where_it_begins_and_then_each_commit(served: Serving) -> None:
    """The present id comes at once, alone; then a transaction for each commit, with its own id."""
    put(served.dataset, "before")
    with events(served) as told:
        begin, kind, text = next(told)
        assert (kind, text) == ("", "")
        put(served.dataset, "a\u2028b")
        first, kind, text = next(told)
        assert kind == "patch"
        assert text == 'TX .\nA <http://e/s> <http://e/p> "a\u2028b" <http://e/g> .\nTC .'
        served.dataset.remove_graph(GRAPH)
        second, _, text = next(told)
        assert sorted(text.split("\n"))[:2] == [
            'D <http://e/s> <http://e/p> "a\u2028b" <http://e/g> .',
            'D <http://e/s> <http://e/p> "before" <http://e/g> .',
        ]
    numbers = [int(name.partition("-")[0]) for name in (begin, first, second)]
    assert numbers == sorted(set(numbers))
    assert len({name.partition("-")[2] for name in (begin, first, second)}) == 1


def test_stream_goes_on_from_where_a_client_was(served: Serving) -> None:
    """Who comes back is told each commit that it missed, and none that it has seen."""
    with events(served) as told:
        seen = next(told)[0]
    for number in range(5):
        put(served.dataset, f"{number}")
    for header, path in ((seen, "/changes"), ("", f"/changes?since={seen}")):
        with events(served, header, path) as told:
            assert next(told) == (seen, "", "")
            missed = [next(told) for _ in range(5)]
        assert [re.findall('"(.)"', text) for _, _, text in missed] == [["0"], ["1"], ["2"], ["3"], ["4"]]
    with events(served, missed[2][0]) as told:
        next(told)
        assert [next(told) for _ in range(2)] == missed[3:]


def test_stream_tells_who_cannot_go_on(served: Serving) -> None:
    """An id that is not of this run is told as resync, and the stream goes on from the present."""
    for last in ("0-00000000", "nonsense", "999999-00000000"):
        with events(served, last) as told:
            _, kind, text = next(told)
            assert kind == "resync"
            assert "read the dataset again" in json.loads(text)["reason"]
            present, kind, text = next(told)
            assert (kind, text) == ("", "")
            put(served.dataset, last)
            name, kind, _ = next(told)
            assert kind == "patch"
            assert name.partition("-")[2] == present.partition("-")[2]


def test_stream_tells_of_a_commit_that_is_too_large_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A following client receives `resync` for a commit that exceeds the log, and continues."""
    monkeypatch.setattr(service, "CommitLog", partial(CommitLog, size=1000))
    with serving(rdflib.Dataset()) as served, events(served) as told:
        next(told)
        put(served.dataset, "x" * 2000)
        assert next(told)[1] == "resync"
        next(told)
        put(served.dataset, "small")
        assert "small" in next(told)[2]


def test_heartbeat_says_where_a_client_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """When nothing happens there is a heartbeat with the id to go on from."""
    monkeypatch.setattr("rdflive.server.changes.HEARTBEAT", 0.01)
    with serving(rdflib.Dataset()) as served, events(served) as told:
        place = next(told)[0]
        assert next(told)[:2] == (place, "heartbeat")


def test_document_holds_what_is_kept(served: Serving) -> None:
    """The document is RDF Patch of all kept commits, and says the id of the last."""
    for number in range(3):
        put(served.dataset, f"{number}")
    document = get(served)
    assert document.kind == "application/rdf-patch"
    entries = list(read_entries(RDF_PATCH, to_lines(io.BytesIO(document.body), "log"), "log"))
    assert [len(entry.batch.changes) for entry in entries] == [1, 1, 1]
    put(served.dataset, "later")
    last = document.headers["Last-Event-ID"]
    later = get(served, f"/changes?since={last}")
    assert b'"later"' in later.body
    assert later.body.count(b"TX .") == 1
    assert later.headers["Last-Event-ID"] != last
    assert get(served, **{"Last-Event-ID": last}).body == later.body
    # a place that is not kept is 410, a type that there is not 406, both as problems
    for path, accept, status in (("?since=7-00000000", "*/*", 410), ("", "text/html", 406)):
        reply = asked(served, "GET", f"/changes{path}", Accept=accept)
        assert (reply.status, reply.json["status"]) == (status, status)


ACCEPTED = {
    "": "application/rdf-patch",
    "*/*": "application/rdf-patch",
    "text/event-stream": "text/event-stream",
    "Text/Event-Stream, application/rdf-patch, */*;q=0.1": "text/event-stream",
    "text/event-stream;q=0.5, application/rdf-patch": "application/rdf-patch",
    "text/event-stream;q=0, */*": "application/rdf-patch",
}


def test_events_are_given_to_those_who_ask_for_them(served: Serving) -> None:
    """Only a client that names the event stream gets one; HEAD says what GET would give, and ends."""
    for accept, given in ACCEPTED.items():
        reply = asked(served, "HEAD", "/changes", **({"Accept": accept} if accept else {}))
        assert (reply.status, reply.kind, reply.body) == (200, given, b""), accept


def test_streams_of_one_client_are_counted() -> None:
    """A client follows the changes no more often than it may; a stream that ends makes room."""
    with serving(rdflib.Dataset(), subscriptions=2) as served:
        with events(served) as first, events(served) as second:
            next(first), next(second)
            assert asked(served, "GET", "/changes", Accept="text/event-stream").status == 429
        put(served.dataset, "a")
        until(lambda: not served.service.changes.followers)
        with events(served) as first:
            next(first)


MIRRORED = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"


def same(one: rdflib.Dataset, other: rdflib.Dataset) -> bool:
    """Compare datasets, labels of blank nodes included; Oxigraph gives strings their datatype."""
    return _quads(one) == _quads(other)


def _quads(dataset: rdflib.Dataset) -> set[Any]:
    return {
        (s, p, Literal(str(o)) if isinstance(o, Literal) and o.datatype == rdflib.XSD.string else o, g)
        for s, p, o, g in dataset.quads()
    }


@pytest.mark.parametrize("kind", ["default", "Oxigraph"])
def test_mirror_over_http_equals_the_dataset(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mirror that follows the log has named graphs and blank nodes, also after a restart of the server."""
    monkeypatch.setattr("rdflive.server.changes.HEARTBEAT", 0.05)  # with which a mirror sees that it is over
    source, target = rdflib.Dataset(store=kind), rdflib.Dataset()
    node = BNode("knot")
    with rdflive.subscribe(target, MIRRORED):
        with serving(source) as served:
            port = served.port
            put(source, "begin", node)
            with following(target, _feed(served)) as mirrored:
                mirrored.until(lambda: same(source, target))
                for number in range(20):
                    put(source, f"{number}", BNode(), graph=URIRef(f"http://e/{number % 3}"))
                    source.default_graph.add((node, P, Literal("colour", lang="en-GB")))
                source.graph(GRAPH).remove((None, P, node))
                mirrored.until(lambda: same(source, target))
            put(source, "while no mirror ran")
            with following(target, _feed(served)) as mirrored:
                mirrored.until(lambda: same(source, target))
        put(source, "while no server ran")
        with serving(source, port=port) as served, following(target, _feed(served)) as mirrored:
            mirrored.until(lambda: same(source, target))
            put(source, "at last")
            mirrored.until(lambda: same(source, target))
    assert len(list(target.quads())) == len(list(source.quads())) > 20


def _feed(served: Serving) -> Any:
    return rdflive.endpoint(
        f"{served.url}/query", log=f"{served.url}/changes", stable_labels=True, backoff=0.01, timeout=20
    )
