"""The Graph Store Protocol: reads and writes of graphs, on each kind of store."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import quote

import pytest
import rdflib
from rdflib.compare import isomorphic

import rdflive
from rdflive.server.access import Client, digest
from support.protocol import Reply, asked, updated
from support.serving import Serving, serving

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

TURTLE, NT, NQ, TRIG = "text/turtle", "application/n-triples", "application/n-quads", "application/trig"


@pytest.fixture
def empty(server: Serving) -> Serving:
    """The server without triples and graphs."""
    assert updated(server, "DROP ALL").status == 204
    return server


def stored(server: Serving, method: str, target: str, text: str = "", kind: str = TURTLE) -> Reply:
    """Send a document to `/store`."""
    return asked(server, method, "/store" + target, text.encode(), Content_Type=kind)


def read(server: Serving, target: str) -> rdflib.Graph:
    """Return a graph of the server."""
    reply = asked(server, "GET", "/store" + target, Accept=NT)
    assert (reply.status, reply.kind) == (200, NT), reply.body
    return rdflib.Graph().parse(data=reply.body, format="nt")


def lines(reply: Reply) -> list[str]:
    """Return the sorted lines of a response."""
    assert reply.status == 200, reply.body
    return sorted(line for line in reply.body.decode().splitlines() if line)


PERSON = "PREFIX v: <http://example.org/v#> {} a v:Person ; v:card [ v:name '{}' ] ."


def person(name: str, of: str = "<>") -> str:
    return PERSON.replace("{}", of, 1).replace("{}", name, 1)


def test_steps_of_the_w3c_suite(empty: Serving) -> None:
    """The requests that w3c/rdf-tests describes (sparql11/http-rdf-update), in its order, in other words.

    Where the suite expects 200 or 201 for a change of a graph that exists, 204 is as good (Recommendation,
    5.3 to 5.5). The default graph always exists.
    """
    one = f"?graph={quote(empty.url + '/store/person/1')}"
    assert stored(empty, "PUT", one, person("John")).status == 201  # put, initial state
    assert isomorphic(read(empty, one), graph_of(person("John"), empty.url + "/store/person/1"))
    assert stored(empty, "PUT", "/person/1", person("Jane")).status == 204  # put, graph already in store
    assert isomorphic(read(empty, one), graph_of(person("Jane"), empty.url + "/store/person/1"))
    assert stored(empty, "PUT", "?default", person("Alice", "[]")).status == 204  # put, default graph
    assert isomorphic(read(empty, "?default"), graph_of(person("Alice", "[]"), "urn:none"))
    mismatched = stored(empty, "PUT", "?default", person("Jane"), "application/rdf+xml")
    assert mismatched.status == 400
    assert isomorphic(read(empty, "?default"), graph_of(person("Alice", "[]"), "urn:none"))
    assert stored(empty, "PUT", "/person/2", person("Joe")).status == 201
    assert stored(empty, "DELETE", "/person/2").status == 204  # delete, existing graph
    assert asked(empty, "GET", "/store/person/2").status == 404  # get of it
    assert stored(empty, "DELETE", "/person/2").status == 404  # delete, non-existent graph
    more = "<> <http://example.org/v#age> 7 ."
    assert stored(empty, "POST", "/person/1", more).status == 204  # post, existing graph
    both = graph_of(person("Jane") + more, empty.url + "/store/person/1")
    assert isomorphic(read(empty, "/person/1"), both)
    form = asked(empty, "POST", "/store/person/1", b"--x--", Content_Type="multipart/form-data; boundary=x")
    assert form.status == 415  # post, multipart: refused with what is read
    assert "text/turtle" in form.json["detail"]
    created = stored(empty, "POST", "", person("Alice"))  # post, create new graph
    assert created.status == 201
    place = str(created.headers["Location"])
    assert place.startswith(empty.url + "/store/")
    path = place.removeprefix(empty.url + "/store")
    assert isomorphic(read(empty, path), graph_of(person("Alice"), place))
    assert stored(empty, "POST", path).status == 204  # an empty document
    assert isomorphic(read(empty, path), graph_of(person("Alice"), place))
    assert asked(empty, "HEAD", "/store/person/1").status == 200
    assert asked(empty, "HEAD", "/store/person/4").status == 404


def graph_of(text: str, base: str) -> rdflib.Graph:
    return rdflib.Graph().parse(data=text, format="turtle", publicID=base)


BAD = [
    ("GET", "?graph=relative", 400),
    ("GET", "?graph=urn:a&graph=urn:b", 400),
    ("GET", "?graph=urn:a&default", 400),
    ("GET", "?default=1", 400),
    ("GET", "?defalt", 400),
    ("GET", "/x?default", 400),
    ("PUT", "?default&commit=0", 400),
    ("PUT", "?default&commit=1000001", 400),
    ("PUT", "", 400),
    ("DELETE", "", 400),
    ("PATCH", "?default", 405),
]


def test_requests_that_name_no_graph_are_refused(empty: Serving) -> None:
    """Each gets its status and a problem document; nothing changes."""
    for method, target, status in BAD:
        reply = stored(empty, method, target, "<urn:a> <urn:p> 1 .")
        assert (reply.status, reply.kind) == (status, "application/problem+json"), (
            method,
            target,
            reply.body,
        )
    for headers in ({"Content_Type": "text/plain"}, {}, {"Content_Type": TURTLE, "Content_Encoding": "br"}):
        assert asked(empty, "PUT", "/store?default", b"", **headers).status == 415
    assert asked(empty, "GET", "/store?default", Accept="text/html").status == 406
    assert asked(empty, "GET", "/store", Accept=TURTLE).status == 406
    assert lines(asked(empty, "GET", "/store")) == []


def test_formats_hold_the_same_graph(empty: Serving) -> None:
    """What is read in a format can be written in it."""
    text = "<urn:a> <urn:p> 1, 'x'@en, <urn:b> ; <urn:q> [ <urn:p> '''a\n\"b''' ] ."
    assert stored(empty, "PUT", "?graph=urn:g", text).status == 201
    for kind in (TURTLE, NT, "application/rdf+xml", "application/ld+json", NQ, TRIG):
        reply = asked(empty, "GET", "/store?graph=urn:g", Accept=kind)
        assert (reply.status, reply.kind) == (200, kind)
        again = asked(empty, "PUT", "/store?graph=urn:h", reply.body, Content_Type=kind)
        assert again.status in (201, 204), (kind, again.body)
        assert isomorphic(read(empty, "?graph=urn:h"), graph_of(text, "urn:none")), kind


def test_whole_dataset_is_read_and_replaced(empty: Serving) -> None:
    """N-Quads and TriG name their graphs, and hold the default graph too."""
    quads = '<urn:a> <urn:p> "1" .\n<urn:a> <urn:p> <urn:b> <urn:g> .\n'
    assert stored(empty, "PUT", "", quads, NQ).status == 204
    assert lines(asked(empty, "GET", "/store")) == sorted(quads.splitlines())
    trig = asked(empty, "GET", "/store", Accept=TRIG).body.decode()
    assert stored(empty, "PUT", "", '<urn:c> <urn:p> "2" <urn:h> .\n', NQ).status == 204
    assert lines(asked(empty, "GET", "/store")) == ['<urn:c> <urn:p> "2" <urn:h> .']
    assert stored(empty, "POST", "", trig, TRIG).status == 204
    assert lines(asked(empty, "GET", "/store")) == sorted(
        [*quads.splitlines(), '<urn:c> <urn:p> "2" <urn:h> .']
    )
    named = stored(empty, "PUT", "?default", quads, NQ)
    assert named.status == 400
    assert "urn:g" in named.json["detail"]


def test_reading_names_the_commit_of_exactly_its_state(empty: Serving) -> None:
    """The dataset with the changes after Last-Event-ID is the later dataset."""
    for number in range(3):
        stored(empty, "POST", "?graph=urn:g", f"<urn:s{number}> <urn:p> {number} .")
    before = asked(empty, "GET", "/store")
    for number in range(3, 6):
        stored(empty, "POST", "?default", f"<urn:s{number}> <urn:p> {number} .")
    stored(empty, "DELETE", "?graph=urn:g")
    state = set(lines(before))
    patch = asked(empty, "GET", "/changes?since=" + str(before.headers["Last-Event-ID"]))
    for line in patch.body.decode().splitlines():
        if line[:2] in ("A ", "D "):
            (state.add if line[0] == "A" else state.discard)(line[2:])
    after = asked(empty, "GET", "/store")
    assert state == set(lines(after))
    assert str(after.headers["Last-Event-ID"]).partition("-")[0] == str(
        stored(empty, "POST", "?default").headers["Rdflive-Sequence"]
    )


def test_random_requests_do_as_a_model(empty: Serving) -> None:
    """PUT replaces, POST adds, DELETE removes; a subscription receives exactly the differences."""
    chosen, model = random.Random(47), dict[str, set[int]]()
    names = ["?default", "?graph=urn:a", "?graph=urn:b", "/c/d"]
    answer: set[int] = set()

    def apply(delta: rdflive.Delta) -> None:
        answer.difference_update(int(row.o) for row in delta.removed)
        assert answer.isdisjoint(int(row.o) for row in delta.added)
        answer.update(int(row.o) for row in delta.added)

    query = "SELECT ?o { GRAPH <urn:a> { ?s ?p ?o } }"
    with rdflive.subscribe(empty.dataset, query, apply):
        for _ in range(40):
            name, method = chosen.choice(names), chosen.choice(["PUT", "POST", "POST", "DELETE"])
            numbers = set(chosen.sample(range(30), chosen.randrange(1, 12)))
            existed = name in model or name == "?default"
            commit = chosen.choice(["", "&commit=4"]) if "?" in name else ""
            text = "".join(f"<urn:s> <urn:p> {n} ." for n in numbers)
            reply = stored(empty, method, name + (commit if method != "DELETE" else ""), text)
            if method == "DELETE":
                assert reply.status == (204 if existed else 404)
                model.pop(name, None)
            else:
                assert reply.status == (204 if existed else 201), (method, name, reply.body)
                model[name] = numbers | (model.get(name, set()) if method == "POST" else set())
            assert answer == model.get("?graph=urn:a", set())
            for each in names:
                found = asked(empty, "GET", "/store" + each, Accept=NT)
                if each in model:
                    assert {int(o) for o in read(empty, each).objects()} == model[each]
                else:
                    assert found.status == (200 if each == "?default" else 404)
                    assert each != "?default" or lines(found) == []


def test_document_is_one_commit_unless_it_asks_for_more(empty: Serving) -> None:
    """Followers receive one delta for a document, or one for each N triples."""
    deltas: list[Any] = []
    text = "".join(f"<urn:s> <urn:p> {n} ." for n in range(10))
    with rdflive.subscribe(empty.dataset, "SELECT ?o { ?s ?p ?o }", deltas.append, initial=False):
        reply = stored(empty, "PUT", "?default", text)
        assert [len(delta.added) for delta in deltas] == [10]
        assert int(reply.headers["Rdflive-Sequence"]) == deltas[-1].sequence
        stored(empty, "PUT", "?default", text + "<urn:s> <urn:p> 10 .")
        assert [(len(delta.added), len(delta.removed)) for delta in deltas[1:]] == [(1, 0)]
        del deltas[:]
        reply = stored(empty, "PUT", "?default&commit=4", text)
        changes = [(len(delta.added), len(delta.removed)) for delta in deltas]
        assert changes == [(0, 4), (0, 4), (0, 3), (4, 0), (4, 0), (2, 0)]
        assert int(reply.headers["Rdflive-Sequence"]) == deltas[-1].sequence


def test_object_in_another_spelling_stays(empty: Serving) -> None:
    """A document that replaces 1 by 01, which stores take for the same, keeps the triple."""
    for text in ("<urn:s> <urn:p> 1 .", "<urn:s> <urn:p> 01 .", "<urn:s> <urn:p> 1, 01 ."):
        stored(empty, "PUT", "?default", text)
        assert [int(o) for o in read(empty, "?default").objects()] == [1], text


def test_blank_nodes_of_each_document_are_new(empty: Serving) -> None:
    """The same label in two documents, or in two requests, names two nodes."""
    for _ in range(2):
        stored(empty, "POST", "?default", "_:x <urn:p> _:x .", NT)
    assert len(set(read(empty, "?default").subjects())) == 2


def test_empty_graph_is_a_graph(empty: Serving) -> None:
    """It is made by an empty document and by CREATE, and removed by DROP; COPY, MOVE and ADD take it."""
    assert stored(empty, "PUT", "?graph=urn:g").status == 201
    assert asked(empty, "GET", "/store?graph=urn:g").status == 200
    assert updated(empty, "CREATE GRAPH <urn:g>").status == 400
    assert updated(empty, "CREATE SILENT GRAPH <urn:g>").status == 204
    # with a triple elsewhere: on disk, reads share a state until the next commit
    assert updated(empty, "CREATE GRAPH <urn:h> ; INSERT DATA { <urn:s> <urn:p> 1 }").status == 204
    assert asked(empty, "GET", "/store?graph=urn:h").status == 200
    for operation in ("ADD <urn:g> TO <urn:h>", "COPY <urn:g> TO <urn:h>", "MOVE <urn:g> TO <urn:h>"):
        assert updated(empty, operation).status == 204, operation
    assert (
        updated(empty, "CLEAR SILENT GRAPH <urn:h> ; DROP SILENT GRAPH <urn:h> ; CLEAR DEFAULT").status == 204
    )
    assert asked(empty, "GET", "/store?graph=urn:h").status == 404


def test_rights_are_those_of_queries_and_updates() -> None:
    """Reading needs the right to read, and writing that to update."""
    tokens = {}
    for name in ("read", "update"):
        tokens[digest(name * 4)] = Client(name, frozenset({name}))  # type: ignore[arg-type]
    with serving(tokens=tokens) as server:
        for right, methods in (("read", ["GET", "HEAD"]), ("update", ["PUT", "POST", "DELETE"])):
            for method in methods:
                for token in ("read", "update"):
                    reply = asked(
                        server,
                        method,
                        "/store?default",
                        b"",
                        Content_Type=TURTLE,
                        Authorization=f"Bearer {token * 4}",
                    )
                    assert (reply.status == 403) is (token != right), (method, token, reply.body)
        assert asked(server, "GET", "/store").status == 401


def test_guard_refuses_a_document(empty: Serving) -> None:
    """The response is the report of the results, and nothing changes."""
    with rdflive.guard(empty.dataset, "SELECT ?s { ?s <urn:bad> ?o }"):
        for target in ("?default", "?default&commit=1", "?graph=urn:g"):
            reply = stored(empty, "PUT", target, "<urn:s> <urn:bad> 1 .")
            if "graph" in target:
                assert reply.status == 201  # the guard looks at the default graph
            else:
                assert (reply.status, len(reply.json["results"])) == (422, 1), reply.body
        assert lines(asked(empty, "GET", "/store?default", Accept=NT)) == []
        assert stored(empty, "PUT", "?default", "<urn:s> <urn:good> 1 .").status == 204
