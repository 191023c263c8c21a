"""Queries in processes of their own: limits, consistency, and nothing left behind."""

from __future__ import annotations

import gc
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from string import ascii_lowercase
from urllib.parse import urlencode

import pytest
import rdflib

import rdflive
from rdflive.server.access import RIGHTS, Client, digest
from rdflive.server.isolation import children as children_module
from rdflive.server.isolation.memory_forks import _with_locks
from support.effort import rounds
from support.protocol import answered, asked, updated
from support.serving import Serving, serving
from support.waiting import until

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.linux("macOS has no limits of memory, and no /proc to look for processes in")

ROWS = 2000
CROSS = "{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
BOMBS = {
    "cross": f"SELECT (COUNT(*) AS ?n) {CROSS}",
    "sort": f"SELECT * {CROSS} ORDER BY ?c ?f ?i LIMIT 1",
    "replace": f"SELECT (SUM(STRLEN(REPLACE(CONCAT(STR(?c), STR(?f)), '.*1.*', 'x'))) AS ?n) {CROSS}",
    "construct": f"CONSTRUCT {{ ?a ?e ?i }} {CROSS}",
    "path": "SELECT (COUNT(*) AS ?n) { ?a (<urn:p>|!<urn:p>)* ?b . ?c ?d ?e . ?f ?g ?h . ?i ?j ?k }",
}


def filled(store: str, folder: Path | None = None) -> rdflib.Dataset:
    dataset = rdflib.Dataset("Oxigraph" if store == "disk" else store)
    if store == "disk":
        dataset.open(str(folder))
    dataset.parse(data="\n".join(f"<urn:s{i}> <urn:p> {i} ." for i in range(ROWS)), format="turtle")
    return dataset


@pytest.fixture(scope="module", params=["default", "Oxigraph", "disk"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server whose queries may take a second and a hundred megabytes."""
    dataset = filled(request.param, tmp_path_factory.mktemp("isolated") / "store")
    with serving(dataset, query_seconds=1.0, query_bytes=100_000_000, queries=2) as running:
        yield running
    dataset.close()


def children(parent: int | None = None) -> list[int]:
    """List the processes of queries that are not reaped; a template is none, but has some.

    They are forks, so they have the command of this program. What other tests have started has another.
    """
    found = []
    own = told_of(parent or os.getpid())
    for task in Path(f"/proc/{parent or os.getpid()}/task").iterdir():
        below = ""
        with suppress(ProcessLookupError, FileNotFoundError):  # a thread that has ended meanwhile
            below = (task / "children").read_text()
        for pid in map(int, below.split()):
            with suppress(ProcessLookupError, FileNotFoundError):  # it has gone meanwhile
                command, name = told_of(pid)
                if (command, name) == own or (not command and name == own[1]):  # one that has ended has none
                    found.append(pid)
                elif parent is None and b"template" in command:
                    found += children(pid)
    return found


def told_of(pid: int) -> tuple[bytes, bytes]:
    """Give the command of a process, and the name of its program."""
    return Path(f"/proc/{pid}/cmdline").read_bytes(), Path(f"/proc/{pid}/comm").read_bytes()


def files() -> int:
    """Count what is open, but for the data of the store on disk, which is in more files or fewer at times."""
    count = 0
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of this directory is closed meanwhile
            path = link.readlink()
            count += "store" not in path.parts or path.suffix not in (".sst", ".log")
    return count


def test_a_server_holds_nothing_that_threads_are_making(monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds the locks that a fork must free without a list of all objects."""
    gc.unfreeze()  # what is frozen is in no list
    held = {id(o) for o in gc.get_objects() if type(o) is cached_property and hasattr(o, "lock")}
    gc.freeze()
    monkeypatch.delattr(gc, "get_objects")
    assert {id(found) for found in _with_locks()} == held
    assert bool(held) == (sys.version_info < (3, 12))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_query_is_ended_at_its_limit_of_time(server: Serving, bomb: str) -> None:
    """A query that takes for ever is answered with 503, or cut where it has begun; its process is gone."""
    try:
        reply = answered(server, bomb)
    except (http.client.IncompleteRead, ConnectionError):
        assert bomb == BOMBS["construct"]  # of which Oxigraph gives what it has
    else:
        assert reply.status == 503, reply.body
        assert "1 s" in reply.json["detail"] or "memory" in reply.json["detail"]
        assert int(reply.headers["Retry-After"]) > 0
    assert answered(server, "ASK {}").status == 200
    until(lambda: not children())


@pytest.mark.sampled(by="store")
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_query_is_ended_at_its_limit_of_memory(store: str) -> None:
    """A query that outgrows its memory is answered with 503, and nothing else fails."""
    with serving(filled(store), query_bytes=30_000_000) as server:
        reply = answered(server, BOMBS["sort"])
        assert reply.status == 503, reply.body
        assert "memory" in reply.json["detail"]
        assert answered(server, "ASK {}").status == 200


@pytest.mark.sampled(by="server")
def test_update_is_tried_before_it_runs(server: Serving) -> None:
    """An update whose pattern takes for ever is refused with 503, and nothing has changed."""
    before = server.service.capture.sequence
    text = f"DELETE {{ ?s <urn:p> 1 }} WHERE {{ ?s <urn:p> 1 {{ {BOMBS['cross']} }} }}"
    assert updated(server, text).status == 503
    assert server.service.capture.sequence == before
    assert updated(server, "INSERT DATA { <urn:y> <urn:q> 1 } ; DELETE WHERE { <urn:y> ?p ?o }").status == 204
    until(lambda: not children())


SUBSCRIPTION = f"SELECT * {CROSS}"


@pytest.mark.sampled(by="server")
@pytest.mark.parametrize("entailment", ["", "rdfs"])
def test_subscription_is_tried_before_it_is_opened(server: Serving, entailment: str) -> None:
    """One that takes for ever is refused with 503, and the server serves on."""
    fields = {"query": SUBSCRIPTION} | ({"entailment": entailment} if entailment else {})
    # with as little memory as `server` gives, or few rows, a quick machine meets that limit first
    with serving(server.dataset, query_seconds=1.0, query_bytes=10**10, kept_rows=10**12) as roomy:
        reply = asked(roomy, "GET", "/subscribe?" + urlencode(fields))
        assert reply.status == 503, reply.body
        assert "opening of the subscription takes longer than 1 s" in reply.json["detail"]
        assert answered(roomy, "ASK {}").status == 200
        until(lambda: not children())


DOUBLED = " ".join(f"BIND(CONCAT(?{a}, ?{a}) AS ?{b})" for a, b in pairwise(ascii_lowercase + "A"))


@pytest.mark.sampled(by="server")
def test_subscription_that_outgrows_its_memory_is_refused(server: Serving) -> None:
    """Too long a text is no error of SPARQL, which would leave a variable unbound, but 503.

    The budget allows the text here; else it may refuse it first.
    """
    query = f"SELECT ?N {{ <urn:s1> <urn:p> ?O BIND('aa' AS ?a) {DOUBLED} BIND(STRLEN(?A) AS ?N) }}"
    with serving(
        server.dataset, query_seconds=1.0, query_bytes=100_000_000, kept_characters=10**12
    ) as verbose:
        reply = asked(verbose, "GET", "/subscribe?" + urlencode({"query": query}))
        assert reply.status == 503, reply.body
        assert "memory" in reply.json["detail"] or "1 s" in reply.json["detail"]
        assert answered(verbose, "ASK {}").status == 200
    until(lambda: not children())


@pytest.mark.sampled(by="server")
def test_subscription_whose_answer_is_too_large_is_refused(server: Serving) -> None:
    """403 says how many solutions it may have; nothing of it stays open."""
    with serving(server.dataset, rows=ROWS - 1) as small:
        reply = asked(small, "GET", "/subscribe?" + urlencode({"query": "SELECT * { ?s ?p ?o }"}))
        assert (reply.status, f"{ROWS - 1:,} solutions" in reply.json["detail"]) == (403, True)
        assert not len(small.service.topics)


@pytest.mark.sampled(by="server")
def test_rehearsals_take_turns(server: Serving) -> None:
    """A client that opens more at once than it may have queries waits, and is refused nothing."""
    replies: list[int] = []

    def follow(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", patient.port, timeout=60)
        query = f"SELECT * {{ ?s <urn:p> {number} . ?s ?p ?o }}"
        connection.request("GET", "/subscribe?" + urlencode({"query": query}))
        replies.append(connection.getresponse().status)
        connection.close()

    with serving(server.dataset, queries=2) as patient:
        threads = [threading.Thread(target=follow, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert replies == [200] * 20


@pytest.mark.sampled(by="server")
def test_nothing_is_left_behind(server: Serving) -> None:
    """After queries that answer, fail, and are given up, there are as many files as before, and no child."""
    texts = ("SELECT * { ?s ?p ?o }", "ASK {", "ASK { SERVICE <urn:a> {} }", "CONSTRUCT WHERE { ?s ?p ?o }")
    with serving(server.dataset) as patient:

        def ask_all() -> None:
            for text in texts:
                answered(patient, text)
            updated(patient, "INSERT { ?s ?p 1 } WHERE { ?s ?p 1 }")
            abandon(patient, BOMBS["cross"])
            abandon(patient, "SELECT * { ?s ?p ?o . ?a ?b ?c }", read=1000)

        ask_all()
        until(lambda: not children())
        gc.collect()
        before = files()
        for _ in range(rounds(5, share=2)):
            ask_all()
        until(lambda: not children())
        gc.collect()
        until(lambda: files() <= before)


def abandon(server: Serving, text: str, read: int = 0) -> None:
    """Ask, read so many bytes, and close the connection."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(
            f"GET /query?{urlencode({'query': text})} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        if read:
            connection.recv(read)
        else:
            until(children)


@pytest.mark.sampled(by="server")
def test_answer_that_is_cut_off_has_no_end(server: Serving) -> None:
    """An answer that breaks off at the limit of time is never taken for a whole one.

    A slow reader holds no more than pipes hold.
    """
    for kind in ("text/csv", "application/sparql-results+json"):
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            answered(server, f"SELECT * {CROSS}", Accept=kind)
    with closing(http.client.HTTPConnection("127.0.0.1", server.port)) as connection:
        connection.request("GET", "/query?" + urlencode({"query": "SELECT * { ?s ?p ?o . ?a ?b ?c }"}))
        response = connection.getresponse()
        assert response.status == 200
        assert response.read(1000)
        until(lambda: not children())
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            response.read()
    assert answered(server, "ASK {}").status == 200


def test_answer_that_its_format_cannot_hold_has_no_end() -> None:
    """What fails in the child itself, behind a part that was sent, is no whole answer either."""
    text = "SELECT ?s ?o { { ?s ?p ?o } UNION { BIND('\\u0007' AS ?o) } }"
    with serving(filled("default")) as server, pytest.raises(http.client.IncompleteRead):
        answered(server, text, Accept="application/sparql-results+xml")


@pytest.mark.sampled(by="server")
def test_each_client_has_so_many_queries_at_once(server: Serving) -> None:
    """One more than the limit is refused with 429, and none is when they have ended."""
    replies: list[int] = []
    threads = [
        threading.Thread(target=lambda: replies.append(answered(server, BOMBS["cross"]).status))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(children()) == 2)
    reply = answered(server, "ASK {}")
    assert (reply.status, reply.headers["Retry-After"]) == (429, "1")
    for thread in threads:
        thread.join()
    assert replies == [503, 503]
    assert answered(server, "ASK {}").status == 200


def test_the_server_has_so_many_queries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of processes of all clients is bounded."""
    monkeypatch.setattr(children_module, "_TOTAL", 1)
    tokens = {digest(name): Client(name, RIGHTS) for name in ("a", "b")}
    with serving(filled("default"), tokens=tokens, queries=1) as server:
        first = threading.Thread(target=lambda: answered(server, BOMBS["cross"], Authorization="Bearer a"))
        first.start()
        until(children)
        reply = answered(server, "ASK {}", Authorization="Bearer b")
        assert (reply.status, reply.headers["Retry-After"]) == (503, "1")
        os.kill(children()[0], signal.SIGKILL)
        first.join()
        assert answered(server, "ASK {}", Authorization="Bearer b").status == 200


@pytest.mark.sampled(by="server")
def test_writer_does_not_wait_for_a_query(server: Serving) -> None:
    """An update is done while a query that began before it is running."""
    with serving(server.dataset) as patient:
        thread = threading.Thread(target=lambda: answered(patient, BOMBS["cross"]))
        thread.start()
        until(children)
        text = "INSERT DATA { <urn:z> <urn:q> 1 } ; DELETE DATA { <urn:z> <urn:q> 1 }"
        assert updated(patient, text).status == 204
        (child,) = children()
        os.kill(child, signal.SIGKILL)
        thread.join()


@pytest.mark.sampled(by="server")
def test_queries_see_one_state(server: Serving) -> None:
    """What a writer changes together is seen together, also while a store is compacted."""
    ended = threading.Event()
    seen: list[str] = []
    optimize = getattr(getattr(server.dataset.store, "_inner", None), "optimize", lambda: None)

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            with rdflive.batch(server.dataset):
                for i in range(20):
                    pair = rdflib.URIRef(f"urn:pair{i}"), rdflib.URIRef("urn:n"), rdflib.Literal(number)
                    server.dataset.default_graph.set(pair)
            if not number % 20:
                optimize()

    def ask() -> None:
        query = "SELECT (COUNT(DISTINCT ?n) AS ?c) (COUNT(*) AS ?rows) { ?s <urn:n> ?n }"
        seen.extend(answered(patient, query, Accept="text/csv").body.decode() for _ in range(rounds(30)))

    with serving(server.dataset) as patient:
        writer, *askers = (threading.Thread(target=function) for function in (write, ask, ask))
        for thread in (writer, *askers):
            thread.start()
        for thread in askers:
            thread.join()
        ended.set()
        writer.join()
    assert set(seen) <= {"c,rows\r\n1,20\r\n", "c,rows\r\n0,0\r\n"}
    server.dataset.remove((None, rdflib.URIRef("urn:n"), None, None))


ORPHAN = """
import sys, rdflib, threading, time
sys.path[:0] = {path!r}
from support.serving import serving
from support.protocol import answered
dataset = rdflib.Dataset({store!r})
dataset.parse(data="".join(f"<urn:s{{i}}> <urn:p> {{i}} ." for i in range(2000)), format="turtle")
with serving(dataset) as server:
    threading.Thread(target=lambda: answered(server, {bomb!r}), daemon=True).start()
    while not server.service.children._processes:
        time.sleep(0.01)
    time.sleep(0.2)
    print(next(iter(server.service.children._processes))._pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.sampled(by="store")
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_query_ends_with_its_server(store: str) -> None:
    """When the server is killed, so are its queries."""
    program = ORPHAN.format(path=sys.path, store=store, bomb=BOMBS["cross"])
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
    until(lambda: has_ended(child))


def has_ended(pid: int) -> bool:
    """Return True if a process has ended, also if it is not reaped."""
    try:
        return "Z (zombie)" in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return True
