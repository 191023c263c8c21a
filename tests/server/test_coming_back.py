"""Clients that come back with the id of their last event, to a server that was restarted meanwhile."""

from __future__ import annotations

import http.client
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pyoxigraph as ox
import pytest
import rdflib

from rdflive.server.isolation import catching_up
from rdflive.server.live_query import LiveQuery
from support.effort import drawn_from, rounds
from support.protocol import answered, asked, updated
from support.serving import Serving, serving
from support.stored import stored

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

PREFIX = "PREFIX : <http://e/> "
PLAIN = PREFIX + "SELECT ?s ?n { ?s :n ?n }"
QUERIES = [
    PLAIN,
    PREFIX + "SELECT ?n (COUNT(?s) AS ?many) { ?s :n ?n ; :in ?g } GROUP BY ?n",
    PREFIX + "SELECT ?s ?id { ?s :n ?n OPTIONAL { ?s :id ?id FILTER(?n > 2) } }",
    PREFIX + "SELECT DISTINCT ?s { ?s :n ?n FILTER NOT EXISTS { ?s :in :g1 } }",
    PREFIX + "SELECT ?s ?n { ?s :n ?n } ORDER BY ?n LIMIT 3",
    PREFIX + "SELECT ?s ?o { ?s :in* ?o }",
    PREFIX + "SELECT ?g (SUM(?n) AS ?sum) { GRAPH ?g { ?s :n ?n } } GROUP BY ?g",
]
CHANGING = PREFIX + 'SELECT ?s { ?s :n ?n FILTER(NOW() > "2020-01-01T00:00:00Z"^^xsd:dateTime) }'


@contextmanager
def running(folder: Path, **options: Any) -> Iterator[Serving]:
    """Serve the store in a folder."""
    with (
        stored(folder) as store,
        serving(
            store.dataset, history=store.history, stored=store.log, scratch=folder / "queries", **options
        ) as server,
    ):
        yield server


class Stream:
    """The events of a query, after the last one of an earlier stream."""

    def __init__(self, server: Serving, target: str, last: str = "") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        self._connection.request("GET", target, headers=headers)
        self._response = self._connection.getresponse()
        assert self._response.status == 200, self._response.read()
        self.last = last

    def next(self) -> tuple[str, Any]:
        """Return the kind and the data of the next event, without heartbeats and reports of a lag."""
        kind, data = "", []
        while line := self._response.readline().decode().rstrip("\n"):
            name, _, text = line.partition(": ")
            if name == "id":
                self.last = text
            elif name == "event":
                kind = text
            else:
                data.append(text)
        if kind in ("heartbeat", "behind"):
            return self.next()
        return kind, json.loads("".join(data)) if kind and kind != "patch" else data

    def close(self) -> None:
        """Disconnect."""
        self._response.close()
        self._connection.close()


def follow(server: Serving, query: str, last: str = "") -> Stream:
    """Follow a query."""
    return Stream(server, "/subscribe?query=" + quote(query), last)


def answer(store: ox.Store, query: str) -> Counter[str]:
    """Compute an answer."""
    found: Any = store.query(query)
    names = [variable.value for variable in found.variables]
    return Counter(text({n: {"value": row[n].value} for n in names if row[n] is not None}) for row in found)


def text(row: Any) -> str:
    """Write a solution of an event."""
    return str(sorted((name, term["value"]) for name, term in row.items()))


def change(held: Counter[str], members: Any) -> Counter[str]:
    """Apply an event to an answer."""
    now = held + Counter(map(text, members["added"]))
    now.subtract(map(text, members["removed"]))
    assert min(now.values(), default=0) >= 0
    return +now


def random_update(chance: Random) -> str:
    """Draw an update."""
    s, n, g = chance.randrange(12), chance.randrange(6), chance.randrange(3)
    return PREFIX + chance.choice(
        [
            f"INSERT DATA {{ :s{s} :n {n} ; :in :g{g} }}",
            f"INSERT DATA {{ :g{g} :in :s{s} . GRAPH :h{g} {{ :s{s} :n {n} }} }}",
            f"DELETE DATA {{ :s{s} :n {n} }}",
            f"DELETE WHERE {{ :s{s} ?p ?o }}",
            f"DELETE {{ ?s :id ?old }} INSERT {{ ?s :id ?id }} WHERE {{ ?s :n {n} OPTIONAL {{ ?s :id ?old }} "
            "BIND(UUID() AS ?id) }",
        ]
    )


@pytest.mark.sampled(by="seed")
@pytest.mark.parametrize("seed", range(3))
def test_after_restarts_a_client_goes_on_from_any_commit(seed: int, tmp_path: Path) -> None:
    """The first event leads from the answer at the id to the present one, for random updates and restarts."""
    chance = drawn_from("coming back", seed)
    states: dict[str, ox.Store] = {}
    for run in range(max(3, rounds(6))):
        with running(tmp_path) as server:
            for _ in range(chance.randrange(8) if run else 12):
                sequence = updated(server, random_update(chance)).headers["Rdflive-Sequence"]
                store = ox.Store()
                store.extend(ox.parse(dump(server), format=ox.RdfFormat.N_QUADS))
                states[server.service.history.id(int(sequence))] = store
            ids = list(states)
            for query in chance.sample(QUERIES, 3):
                tried = [(name, follow(server, query, name)) for name in chance.sample(ids, min(4, len(ids)))]
                fresh = follow(server, query)
                assert fresh.next()[0] == "initial"
                # an event for every client, also where nothing has changed since
                updated(
                    server,
                    PREFIX + f"INSERT DATA {{ :end{run} :n 0 ; :in :g0 . GRAPH :e {{ :s :n {run} }} }}",
                )
                fresh.close()
                now = ox.Store()
                now.extend(ox.parse(dump(server), format=ox.RdfFormat.N_QUADS))
                wanted = answer(now, query)
                for name, stream in tried:
                    held = answer(states[name], query)
                    while held != wanted:
                        kind, members = stream.next()
                        assert kind == "update", (query, name, members)
                        held = change(held, members)
                    stream.close()


def dump(server: Serving) -> bytes:
    """Return the content of the store."""
    native: Any = server.dataset.store._inner  # type: ignore[attr-defined]
    content: bytes = native.dump(format=ox.RdfFormat.N_QUADS)
    return content


def test_the_log_of_a_topic_is_filled_once_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients at many places share the work of one child."""
    with running(tmp_path) as server:
        names = []
        for number in range(6):
            updated(server, PREFIX + f"INSERT DATA {{ :s{number} :n {number} }}")
            names.append(server.service.history.id(number + 1))
    with running(tmp_path) as server:
        works: list[Any] = []
        rehearse = server.service.children.rehearse

        async def counted(client: str, work: Any, *arguments: Any, **options: Any) -> bytes:
            works.append(work)
            return await rehearse(client, work, *arguments, **options)

        monkeypatch.setattr(server.service.children, "rehearse", counted)
        streams = [follow(server, PLAIN, name) for name in names]
        for number, stream in enumerate(streams[:-1]):
            kind, members = stream.next()
            assert (kind, len(members["added"])) == ("update", 5 - number)
            assert members["first_sequence"] == number + 2
            assert stream.last == names[-1]
        updated(server, PREFIX + "INSERT DATA { :last :n 9 }")
        for stream in streams:
            assert [row["s"]["value"] for row in stream.next()[1]["added"]] == ["http://e/last"]
            stream.close()
        catching = [work for work in works if isinstance(work, catching_up.CatchUp)]
        assert min(work.place for work in catching) == 1
        assert len(catching) <= len(streams) - 1


def test_a_topic_that_is_older_than_the_client_goes_back_from_its_own_place(tmp_path: Path) -> None:
    """What the topic has seen itself is not counted again."""
    with running(tmp_path) as server:
        for number in range(3):
            updated(server, PREFIX + f"INSERT DATA {{ :s{number} :n {number} }}")
        first = server.service.history.id(1)
    with running(tmp_path) as server:
        fresh = follow(server, PLAIN)
        assert len(fresh.next()[1]["added"]) == 3
        updated(server, PREFIX + "INSERT DATA { :s3 :n 3 } ; DELETE DATA { :s1 :n 1 }")
        fresh.next()
        stream = follow(server, PLAIN, first)
        kind, members = stream.next()
        assert (kind, members["removed"]) == ("update", [])
        assert sorted(row["s"]["value"] for row in members["added"]) == ["http://e/s2", "http://e/s3"]
        fresh.close()
        stream.close()


@pytest.mark.parametrize("last", ["1", "1-00000000", "7-{epoch}", "999999999999999999-{epoch}"])
def test_an_id_of_no_commit_gets_the_whole_answer(
    last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other epochs, and commits that do not come in time."""
    monkeypatch.setattr("rdflive.server.topics._PATIENCE", 0.05)
    with running(tmp_path) as server:
        updated(server, PREFIX + "INSERT DATA { :s :n 1 }")
        stream = follow(server, PLAIN, last.format(epoch=server.service.history.epoch))
        assert [stream.next()[0], stream.next()[0]] == ["resync", "initial"]
        stream.close()


def test_an_id_ahead_waits_for_its_commit(tmp_path: Path) -> None:
    """A client of a server that is ahead gets only what comes after its id."""
    with running(tmp_path) as server:
        updated(server, PREFIX + "INSERT DATA { :s :n 1 }")
        with_id = server.service.history.id(2)
        # the request waits for commit 2, so the response comes after it
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("GET", "/subscribe?query=" + quote(PLAIN), headers={"Last-Event-ID": with_id})
        updated(server, PREFIX + "INSERT DATA { :s :n 2 }")
        response = connection.getresponse()
        updated(server, PREFIX + "INSERT DATA { :s :n 3 }")
        lines = [response.readline().decode() for _ in range(3)]
        assert lines[:2] == [f"id: {server.service.history.id(3)}\n", "event: update\n"]
        assert [row["n"]["value"] for row in json.loads(lines[2][6:])["added"]] == ["3"]
        response.close()
        connection.close()


@pytest.mark.parametrize("query", [CHANGING, PREFIX + "CONSTRUCT { [] :of ?s } { ?s :n ?n }"])
def test_an_answer_of_more_than_the_graph_is_sent_whole(query: str, tmp_path: Path) -> None:
    """Its answer at a commit is not known after a restart."""
    with running(tmp_path) as server:
        updated(server, PREFIX + "INSERT DATA { :s :n 1 }")
        stream = follow(server, query)
        assert stream.next()[0] == "initial"
        last = stream.last
        stream.close()
    with running(tmp_path) as server:
        again = follow(server, query, last)
        assert [again.next()[0], again.next()[0]] == ["resync", "initial"]
        again.close()


def test_what_an_answer_depends_on() -> None:
    """Only plans of the graph alone share ids; entailment by RDFS is one."""
    prefixes = {"xsd": str(rdflib.XSD), "": "http://e/"}

    def depends(query: str, entailment: str | None = None) -> bool:
        return LiveQuery(query, entailment).depends_on_graph_alone(prefixes)

    for query in QUERIES:
        assert depends(query)
        assert depends(query, "rdfs")
        assert not depends(query, "rules")
    assert depends("CONSTRUCT { ?s :p ?o } { ?s :n ?o FILTER(xsd:integer(?o) > STRLEN('x')) }")
    for query in (
        CHANGING,
        "SELECT ?x { ?s :n ?n BIND(RAND() AS ?x) }",
        "SELECT ?x { { SELECT ?x { ?s :n ?n BIND(UUID() AS ?x) } } }",
        "SELECT * { ?s :n ?n FILTER(:own(?n)) }",
        "CONSTRUCT { ?s :p _:new } { ?s :n ?o }",
        "CONSTRUCT { ?s :p [ :q ?o ] } { ?s :n ?o }",
        "SELECT nonsense",
    ):
        assert not depends(query), query


def test_the_changes_go_on_after_a_restart(tmp_path: Path) -> None:
    """As events and as a document, from any commit of the log on disk."""
    with running(tmp_path) as server:
        for number in range(3):
            updated(server, PREFIX + f"INSERT DATA {{ :s{number} :n {number}, '\\n' }}")
        document = asked(server, "GET", "/changes").body.decode()
        name = server.service.history.id
        first, last = name(1), name(3)
    with running(tmp_path) as server:
        whole = asked(server, "GET", f"/changes?since={name(0)}")
        assert blocks(whole.body.decode()) == blocks(document)
        assert whole.headers["Last-Event-ID"] == last
        with closing(Stream(server, "/changes", first)) as stream:
            assert stream.next() == ("", [])
            updated(server, PREFIX + "INSERT DATA { :s4 :n 4 }")
            received = [stream.next() for _ in range(3)]
            assert [kind for kind, _ in received] == ["patch"] * 3
            assert stream.last == name(4)


def blocks(document: str) -> list[list[str]]:
    """Return the transactions of a patch; the order of their rows is free."""
    return [sorted(block.splitlines()) for block in document.split("TC .\n")]


def test_without_its_log_everything_begins_again(tmp_path: Path) -> None:
    """A store that was copied without its log, as for a backup, has another history."""
    with running(tmp_path) as server:
        updated(server, PREFIX + "INSERT DATA { :s :n 1 }")
        last = server.service.history.id(1)
    shutil.rmtree(tmp_path / "store.rdflive-log")
    with running(tmp_path) as server:
        stream = follow(server, PLAIN, last)
        assert [stream.next()[0], stream.next()[0]] == ["resync", "initial"]
        assert asked(server, "GET", f"/changes?since={last}").status == 410
        stream.close()


def test_a_preview_and_what_keeps_the_number_are_no_changes(tmp_path: Path) -> None:
    """A preview is undone, and no query sees the number of the commit."""
    insert = PREFIX + "INSERT DATA { :s :n 1 . GRAPH :g { :s :n 2 } }"
    with running(tmp_path) as server:
        assert updated(server, insert, ("preview", "")).status == 200
        assert updated(server, insert).headers["Rdflive-Sequence"] == "1"
        assert updated(server, insert).headers["Rdflive-Sequence"] == "1"
        patch = PREFIX + "DELETE { ?s :n ?n } INSERT { ?s :m ?n } WHERE { ?s :n ?n }"
        assert updated(server, patch, ("preview", "")).status == 200
        assert updated(server, patch).headers["Rdflive-Sequence"] == "2"
        found = answered(server, "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }", Accept="text/csv").body
        assert found.split() == [b"g", b"http://e/g"]
        every = answered(
            server, "SELECT (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
        ).json
        assert every["results"]["bindings"][0]["n"]["value"] == "2"


def test_a_client_far_behind_gets_the_whole_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log beyond the bounds of a child costs more than the answer."""
    with running(tmp_path) as server:
        for number in range(4):
            updated(server, PREFIX + f"INSERT DATA {{ :s{number} :n {number} }}")
        first = server.service.history.id(1)
    with running(tmp_path, rows=2) as server:
        updated(server, PREFIX + "DELETE DATA { :s1 :n 1 } ; DELETE DATA { :s2 :n 2 }")
        stream = follow(server, PLAIN, first)
        assert [stream.next()[0], stream.next()[0]] == ["resync", "initial"]
        stream.close()


def test_an_update_that_cannot_be_logged_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the status for a full disk, and without an effect."""
    with stored(tmp_path) as store:
        options = {"history": store.history, "stored": store.log, "scratch": tmp_path / "queries"}
        with serving(store.dataset, **options) as server:  # type: ignore[arg-type]

            def fail(*_: object) -> int:
                raise OSError(28, "No space left on device")

            with monkeypatch.context() as failing:
                failing.setattr("os.pwrite", fail)
                reply = updated(server, PREFIX + "INSERT DATA { :s :n 1 }")
            assert (reply.status, "No space left" in reply.body.decode()) == (507, True)
            assert not store.quads()
            assert updated(server, PREFIX + "INSERT DATA { :s :n 1 }").status == 204
