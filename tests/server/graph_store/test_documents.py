"""Documents that are made to harm the server, and requests that end in the middle."""

from __future__ import annotations

import gzip
import io
import socket
import threading
from collections.abc import Iterator

import pytest
import rdflib
from rdflib.compare import isomorphic
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from rdflive.server.graph_store.parsing import ParsingOrder, by_oxigraph, by_rdflib
from support.protocol import Reply, asked
from support.serving import Serving, serving

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

RDF_XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="urn:s">'
    '<p xmlns="urn:">{}</p></rdf:Description></rdf:RDF>'
)
NESTED = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
DEEP = 200_000
HOSTILE = [
    (
        "a nested entity",
        "application/rdf+xml",
        f'<!DOCTYPE r [<!ENTITY e0 "boom">{NESTED}]>' + RDF_XML.format("&e11;"),
    ),
    (
        "an external entity",
        "application/rdf+xml",
        '<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + RDF_XML.format("&e;"),
    ),
    (
        "a remote context",
        "application/ld+json",
        '{"@context": "http://127.0.0.1:9/", "@id": "urn:s", "p": 1}',
    ),
    ("an import", "application/ld+json", '{"@context": {"@import": "http://127.0.0.1:9/"}, "@id": "urn:s"}'),
    ("nested objects", "application/ld+json", '{"urn:p":' * DEEP),
    ("nested lists", "text/turtle", "<urn:s> <urn:p> " + "(" * DEEP),
    (
        "nested triple terms",
        "application/n-triples",
        "<urn:s> <urn:p> " + "<<( <urn:s> <urn:p> " * DEEP + "<urn:o>" + " )>>" * DEEP + " .",
    ),
    ("a long literal", "text/turtle", f'<urn:s> <urn:p> "{"x" * 17_000_000}" .'),
    ("no UTF-8", "text/turtle", "<urn:s> <urn:p> '\udcff' ."),
    ("a label that is no label", "application/n-quads", "_:é& <urn:p> <urn:o> ."),
]


@pytest.fixture(scope="module", params=["default", "Oxigraph"])
def server(request: pytest.FixtureRequest) -> Iterator[Serving]:
    """A server with tight limits for documents."""
    with serving(
        rdflib.Dataset(request.param),
        store_bytes=30_000_000,
        store_triples=1000,
    ) as running:
        yield running


def put(
    server: Serving, body: bytes, kind: str = "text/turtle", target: str = "?default", **more: str
) -> Reply:
    return asked(server, "PUT", "/store" + target, body, Content_Type=kind, **more)


@pytest.mark.parametrize(("what", "kind", "text"), HOSTILE, ids=[case[0] for case in HOSTILE])
def test_hostile_document_is_refused(server: Serving, what: str, kind: str, text: str) -> None:
    """It ends at most the process that parses it; the data stay, and the next document is taken."""
    assert put(server, b"<urn:s> <urn:p> 1 .").status == 204
    reply = put(server, text.encode(errors="surrogateescape"), kind)
    assert reply.status in (400, 413), (what, reply.status, reply.body[:300])
    assert reply.json["detail"]
    assert b"root:" not in reply.body
    state = asked(server, "GET", "/store?default", Accept="application/n-triples").body
    assert state.strip().endswith(b"<http://www.w3.org/2001/XMLSchema#integer> .")
    assert state.count(b"\n") <= 2


def test_gzip_is_bounded(server: Serving) -> None:
    """The bound holds for what comes out; a broken or cut stream is an error of the client."""
    line = b"<urn:s> <urn:p> <urn:o> .\n"
    fair = gzip.compress(line * 1000)
    assert put(server, fair, "application/n-triples", Content_Encoding="gzip").status == 204
    bomb = gzip.compress(line * 2_000_000)
    assert len(bomb) < 1_000_000
    for body, status in ((bomb, 413), (fair[:-20], 400), (line, 400), (b"", 400)):
        reply = put(server, body, "application/n-triples", Content_Encoding="gzip")
        # a stream without any byte is an empty document
        assert reply.status == (204 if body == b"" else status), (len(body), reply.body)


def test_commit_has_a_bound(server: Serving) -> None:
    """A document of more triples is refused as a whole, and taken in several commits."""
    text = "".join(f"<urn:s> <urn:p> {n} .\n" for n in range(1500)).encode()
    assert put(server, b"<urn:s> <urn:p> 1 .").status == 204
    reply = put(server, text)
    assert (reply.status, "commit=N" in reply.json["detail"]) == (413, True)
    assert put(server, text, target="?default&commit=700").status == 204
    assert asked(server, "GET", "/store?default", Accept="application/n-triples").body.count(b" .\n") == 1500
    # to replace them takes too many changes for one commit, too
    assert put(server, b"<urn:s> <urn:p> 1 .").status == 413


def test_error_after_the_first_commits_says_what_is_written(server: Serving) -> None:
    """The commits before the place of the error stay, as the client has asked for several."""
    assert put(server, b"", target="?default&commit=1000").status == 204
    good = "".join(f"<urn:s> <urn:p> <urn:o{n}> .\n" for n in range(5000))
    reply = put(server, (good + "no triple").encode(), target="?default&commit=500")
    assert (reply.status, reply.json["line"]) == (400, 5001), reply.body
    held = asked(server, "GET", "/store?default", Accept="application/n-triples").body.count(b" .\n")
    assert held % 500 == 0
    assert f"its first {held:,} triples are written" in reply.json["detail"]


OPEN = (
    b"PUT /store?default HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/turtle\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def send_for_ever(connection: socket.socket, chunk: bytes) -> None:
    while True:
        connection.sendall(chunk)


def test_endless_body_ends(server: Serving) -> None:
    """A large declared length is refused before the body arrives, and another body at the bound."""
    assert put(server, b"", Content_Length="1000000000000").status == 413
    chunk = b"10000\r\n# " + b"x" * 65_534 + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(OPEN)
        # the server closes the connection; else the sending has no end
        with pytest.raises(OSError):  # noqa: PT011 - a reset or a broken pipe
            send_for_ever(connection, chunk)


def test_slow_body_ends() -> None:
    """A body that makes no progress is refused in time."""
    with (
        serving(body_seconds=0.3) as slow,
        socket.create_connection(("127.0.0.1", slow.port), timeout=60) as connection,
    ):
        connection.sendall(OPEN)
        assert connection.recv(1 << 16).split()[1] == b"408"


def test_cut_connection_changes_nothing(server: Serving) -> None:
    """A document that did not arrive as a whole is not written, although its first lines are complete."""
    assert put(server, b"<urn:s> <urn:p> <urn:kept> .", target="?graph=urn:cut").status == 201
    for headers in (b"Content-Length: 1000", b"Transfer-Encoding: chunked"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            body = b"<urn:s> <urn:p> <urn:new> .\n"
            chunk = b"%x\r\n%s\r\n" % (len(body), body)
            connection.sendall(
                b"PUT /store?graph=urn:cut HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/turtle\r\n"
                + headers
                + b"\r\n\r\n"
                + (body if b"Length" in headers else chunk)
            )
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1 << 16)
    state = asked(server, "GET", "/store?graph=urn:cut", Accept="application/n-triples").body
    assert b"urn:kept" in state
    assert b"urn:new" not in state


def test_concurrent_documents_do_not_mix(server: Serving) -> None:
    """Of several that replace a graph at the same time the last one is there, whole."""
    replies: list[Reply] = []

    def send(number: int) -> None:
        text = "".join(f"<urn:s> <urn:p{number}> {n} .\n" for n in range(200))
        replies.append(put(server, text.encode(), target="?graph=urn:g"))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(reply.status for reply in replies) == [201, 204, 204, 204]
    state = asked(server, "GET", "/store?graph=urn:g", Accept="application/n-triples").body
    kinds = {line.split()[1] for line in state.splitlines() if line}
    assert (len(kinds), state.count(b" .\n")) == (1, 200)


ALIKE = [
    ("text/turtle", "<s> <p> 1, 'x'@en, <o> ; <q> [ <p> 'a\\nb' ] ."),
    ("application/n-triples", '<urn:s> <urn:p> "é\\n"@en .\n_:x <urn:p> _:y .'),
    ("application/rdf+xml", RDF_XML.format("x")),
    ("application/ld+json", '{"@context": {"p": "urn:p"}, "@id": "s", "p": ["x", {"@id": "o"}]}'),
    ("application/n-quads", "<urn:s> <urn:p> <urn:o> <urn:g> .\n<urn:s> <urn:p> <urn:o> ."),
    ("application/trig", "<s> <p> <o> . <g> { <s> <p> 1 }"),
]


@pytest.mark.parametrize(("kind", "text"), ALIKE, ids=[kind for kind, _ in ALIKE])
def test_both_parsers_read_the_same(kind: str, text: str) -> None:
    """Without pyoxigraph rdflib parses."""
    order = ParsingOrder(kind, "http://example.org/g", False, True, 10**6, 1 << 30, 10.0)
    read = []
    for parse in (by_oxigraph, by_rdflib):
        lines = b"".join(parse(io.BytesIO(text.encode()), order)).decode()
        read.append(rdflib.Dataset().parse(data=lines, format="nquads"))
    for name in ("urn:g", "http://example.org/g", str(DATASET_DEFAULT_GRAPH_ID)):
        first, second = (dataset.graph(rdflib.URIRef(name)) for dataset in read)
        assert isomorphic(first, second), name
