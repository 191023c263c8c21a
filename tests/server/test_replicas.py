"""Replicas have the data, the commits and the ids of their primary, whatever happens to either."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
import rdflib

from rdflive.api.target import GraphTarget
from rdflive.cli.replica import begin_following, end_following
from rdflive.errors import RdfliveError, ResyncNeeded
from rdflive.http import Address
from rdflive.plugins import manager
from rdflive.server import replica as replica_module
from rdflive.server import service as service_module
from rdflive.server.change_log import CommitLog
from rdflive.server.primary import CommitPlace, Primary
from rdflive.store.history import History
from support.data_updates import data_update
from support.effort import drawn_from, examples
from support.protocol import asked, updated
from support.replicas import Stream, content, reached, replica_of
from support.serving import Serving, serving
from support.waiting import until

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

PREFIX = "PREFIX : <http://e/> "
QUERY = "SELECT ?s ?o { ?s <http://e/p> ?o }"
FOLLOW = "/subscribe?" + urlencode({"query": QUERY})
EPOCH = "0badcafe"


@pytest.fixture
def primary() -> Iterator[Serving]:
    with serving() as served:
        yield served


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let replicas try again without long waits."""
    monkeypatch.setattr(
        replica_module, "_PACE", replica_module.RetryPace(silence=20.0, first=0.01, longest=0.05)
    )


def insert(server: Serving, *objects: object) -> None:
    """Insert one triple per commit."""
    for number in objects:
        assert updated(server, f"{PREFIX}INSERT DATA {{ :s :p {number} }}").status == 204


def on_disk(folder: Path) -> rdflib.Dataset:
    dataset = rdflib.Dataset(store="Oxigraph")
    dataset.open(str(folder))
    return dataset


@pytest.mark.parametrize("number", range(examples(8)))
def test_a_replica_has_the_state_and_the_log_of_its_primary(
    primary: Serving, number: int, tmp_path: Path
) -> None:
    """After random updates the quads, the labels of blank nodes, the ids and the patches are the same."""
    random = drawn_from("replica", number)

    def update() -> None:
        assert updated(primary, data_update(random)).status in (204, 400)

    for _ in range(random.randrange(1, 20)):
        update()
    dataset = on_disk(tmp_path / "store")
    with (
        replica_of(primary.url) as first,
        replica_of(primary.url, dataset, store_path=str(tmp_path / "store")) as second,
        replica_of(first.url) as third,
    ):
        for _ in range(random.randrange(30)):
            update()
        wanted = content(primary)
        patches = asked(primary, "GET", "/changes").body
        for replica in (first, second, third):
            reached(replica, primary)
            assert content(replica) == wanted
            assert asked(replica, "GET", "/changes").body == patches
            assert replica.service.replica is not None
            assert replica.service.replica.resyncs == 0
    dataset.close()


def test_a_client_goes_on_at_another_server(primary: Serving) -> None:
    """The id of an event means the same state at each server, so no event is lost or repeated."""
    insert(primary, 1)
    with replica_of(primary.url) as replica:
        with Stream(primary, FOLLOW) as stream:
            assert stream.next().kind == "initial"
            insert(primary, 2)
            event = stream.next()
            assert event.kind == "update"
        reached(replica, primary)
        with Stream(replica, FOLLOW) as stream:  # opens the topic there, at the same commit
            assert stream.next().id == event.id
        with Stream(replica, FOLLOW, event.id) as stream:
            insert(primary, 3)
            follower = stream.next()
            assert (follower.kind, follower.id) == ("update", primary.service.history.id(3))
        with Stream(primary, FOLLOW, event.id) as stream:
            again = stream.next()
            assert (again.kind, again.id, again.frame[0].text) == (
                "update", follower.id, follower.frame[0].text,
            )  # fmt: skip


def test_an_id_that_a_replica_has_not_reached_waits_for_it(primary: Serving) -> None:
    """A client that was at the primary goes on at a replica that is behind."""
    with replica_of(primary.url) as replica:
        insert(primary, 1)
        reached(replica, primary)
        with Stream(replica, FOLLOW) as stream:
            stream.next()
        with manager.locked(replica.dataset.store):  # the replica cannot apply
            insert(primary, 2)
            ahead = primary.service.history.id(2)
            found: list[str] = []

            def come() -> None:
                with Stream(replica, FOLLOW, ahead) as stream:
                    insert(primary, 3)
                    found.append(stream.next().kind)

            thread = threading.Thread(target=come)
            thread.start()
            until(lambda: replica.service.replica is not None)
        thread.join()
        assert found == ["update"]


def test_writes_are_refused_with_the_address_of_the_primary(primary: Serving) -> None:
    """Updates and previews change nothing at a replica."""
    with replica_of(primary.url) as replica:
        for target in ("/update", "/update?preview"):
            reply = asked(
                replica, "POST", target, b"INSERT DATA { <urn:s> <urn:p> 1 }",
                Content_Type="application/sparql-update",
            )  # fmt: skip
            assert reply.status == 403
            assert reply.json["detail"] == f"this server is a replica: send updates to {primary.url}"
        for method in ("PUT", "POST", "DELETE"):
            reply = asked(
                replica, method, "/store?default", b"<urn:s> <urn:p> 1 .", Content_Type="text/turtle"
            )
            assert reply.status == 403
        assert content(replica) == content(primary)


def test_a_primary_that_comes_back_with_its_history_is_followed_on() -> None:
    """Without it the replica serves, its lag grows, and no client notices the return."""
    dataset, history = rdflib.Dataset(store="Oxigraph"), History(EPOCH)
    with ExitStack() as stack:
        with serving(dataset, history=history) as primary:
            insert(primary, 1)
            replica = stack.enter_context(replica_of(primary.url))
            stream = stack.enter_context(Stream(replica, FOLLOW))
            assert stream.next().kind == "initial"
            insert(primary, 2)
            assert stream.next().kind == "update"
            until(lambda: metric(replica, "rdflive_replica_lag_seconds") == 0)
        until(lambda: metric(replica, "rdflive_replica_connected") == 0)
        before = metric(replica, "rdflive_replica_lag_seconds")
        until(lambda: metric(replica, "rdflive_replica_lag_seconds") > before)
        assert len(content(replica)[1]) == 2
        with serving(dataset, history=history, port=primary.port) as primary:
            insert(primary, 3)
            event = stream.next()
            assert (event.kind, event.id) == ("update", f"3-{EPOCH}")
            until(lambda: metric(replica, "rdflive_replica_connected") == 1)
            assert metric(replica, "rdflive_replica_resyncs") == 0
            assert metric(replica, "rdflive_replica_lag_commits") == 0
            assert asked(replica, "GET", "/health").json["replica"] == {"commits": 0, "seconds": 0.0}


def test_another_history_is_taken_over_in_one_commit() -> None:
    """Clients receive resync, also of queries whose answer is the same, and ids of before are not valid."""
    same = "/subscribe?" + urlencode({"query": "SELECT * { ?s <http://e/same> ?o }"})
    other = rdflib.Dataset()
    # before it is served: a replica that takes an empty dataset first would see changes of both answers
    other.default_graph.parse(data=f"{PREFIX} :s :p 3, 4 . <urn:s> :same 1 .", format="turtle")
    with ExitStack() as stack:
        with serving() as primary:
            insert(primary, 1, 2, 3)
            updated(primary, "INSERT DATA { <urn:s> <http://e/same> 1 }")
            replica = stack.enter_context(replica_of(primary.url))
            streams = [stack.enter_context(Stream(replica, target)) for target in (FOLLOW, same)]
            changes = stack.enter_context(Stream(replica, "/changes"))
            old = [stream.next().id for stream in streams]
            changes.next()
        with serving(other, port=primary.port) as primary:
            for stream in streams:
                assert stream.next().kind == "resync"
            assert changes.next().kind == "resync"
            reached(replica, primary)
            assert content(replica) == content(primary)
            for target, last in zip((FOLLOW, same), old, strict=True):
                with Stream(replica, target, last) as stream:
                    assert stream.next().kind == "resync"
            insert(primary, 5)
            kinds = {changes.next().kind for _ in range(2)}
            assert kinds == {"", "patch"}


def test_a_log_that_does_not_reach_back_costs_no_resync_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replica takes the snapshot of the same history, and its clients receive one update."""
    monkeypatch.setattr(service_module, "CommitLog", lambda *given: CommitLog(*given, entries=2))
    dataset, history = rdflib.Dataset(store="Oxigraph"), History(EPOCH)
    with ExitStack() as stack:
        with serving(dataset, history=history) as primary:
            insert(primary, 1)
            replica = stack.enter_context(replica_of(primary.url))
            stream = stack.enter_context(Stream(replica, FOLLOW))
            stream.next()
            until(lambda: metric(replica, "rdflive_replica_connected"))
        with manager.locked(replica.dataset.store), serving(dataset, history=history) as other:
            insert(other, 2, 3, 4, 5)
        with serving(dataset, history=history, port=primary.port) as primary:
            insert(primary, 6, 7, 8)
            last = [stream.next()]
            while last[-1].id != f"8-{EPOCH}":
                last.append(stream.next())
            assert {event.kind for event in last} == {"update"}
            assert metric(replica, "rdflive_replica_resyncs") >= 1
            assert content(replica) == content(primary)


def test_a_replica_on_disk_goes_on_from_its_place(tmp_path: Path, primary: Serving) -> None:
    """Its snapshot is not read again; without --follow it becomes a store with data of its own."""
    insert(primary, 1)
    path = str(tmp_path / "store")
    source = Primary(Address.parse(primary.url, None))
    dataset = on_disk(tmp_path / "store")
    with replica_of(primary.url, dataset, store_path=path) as replica:
        insert(primary, 2)
        reached(replica, primary)
    dataset.close()
    insert(primary, 3)
    dataset = on_disk(tmp_path / "store")
    assert begin_following(dataset, source, path) == (2, epoch(primary))
    with replica_of(primary.url, dataset, store_path=path) as replica:
        reached(replica, primary)
        assert content(replica) == content(primary)
        assert metric(replica, "rdflive_replica_resyncs") == 0
    # another program may have changed it: then the snapshot replaces its data
    dataset.update(f"{PREFIX}INSERT DATA {{ :s :p 9 }}")
    assert begin_following(dataset, source, path, is_known=False) == (3, epoch(primary))
    assert len(dataset) == 3
    end_following(dataset)
    assert replica_module.kept_place(dataset) is None
    with pytest.raises(RdfliveError, match="the store has data of its own"):
        begin_following(dataset, source, path)
    dataset.close()


def test_a_snapshot_that_was_cut_short_is_read_again(tmp_path: Path, primary: Serving) -> None:
    """A store with a part of it is no store with data of its own, but cannot be served without --follow."""
    insert(primary, 1, 2)
    dataset = on_disk(tmp_path / "store")
    GraphTarget(dataset).write((), (), replica_module.REPLICA, {"loading": primary.url})
    dataset.default_graph.add((rdflib.URIRef("http://e/s"), rdflib.URIRef("http://e/p"), rdflib.Literal(1)))
    dataset.default_graph.add((rdflib.URIRef("http://e/s"), rdflib.URIRef("http://e/p"), rdflib.Literal(9)))
    with pytest.raises(RdfliveError, match="part of the snapshot"):
        end_following(dataset)
    with replica_of(primary.url, dataset, store_path=str(tmp_path / "store")) as replica:
        assert content(replica) == content(primary)
    dataset.close()


class EngineError(Exception):
    """An error of no kind that is expected."""


def failing_once(monkeypatch: pytest.MonkeyPatch, method: str) -> threading.Event:
    """Let the next call of a method of `GraphTarget` raise the error of an engine; return if it has."""
    original, has_failed = getattr(GraphTarget, method), threading.Event()

    def fail(target: GraphTarget, *given: object) -> object:
        if not has_failed.is_set():
            has_failed.set()
            raise EngineError("the engine has failed")
        return original(target, *given)

    monkeypatch.setattr(GraphTarget, method, fail)
    return has_failed


def test_a_snapshot_that_cannot_be_written_leaves_the_old_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the replica would take the commits of the new history onto the data of the old one."""
    with ExitStack() as stack:
        with serving() as primary:
            insert(primary, 1, 2)
            replica = stack.enter_context(replica_of(primary.url))
            reached(replica, primary)
        with serving(port=primary.port) as primary:
            has_failed = failing_once(monkeypatch, "replace")
            insert(primary, 7, 8, 9)
            assert has_failed.wait(60)
            reached(replica, primary)
            assert content(replica) == content(primary)


def test_a_replica_goes_on_after_any_error(primary: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that follows must not end: the replica would never be equal again, and not say so."""
    with replica_of(primary.url) as replica:
        has_failed = failing_once(monkeypatch, "write")
        insert(primary, 1, 2)
        assert has_failed.wait(60)
        reached(replica, primary)
        assert content(replica) == content(primary)


def test_a_replica_that_is_far_behind_is_not_ready(primary: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never had all commits is not either; one whose primary is away goes on."""
    with replica_of(primary.url) as served:
        replica = served.service.replica
        assert replica is not None
        until(lambda: replica.is_connected)
        assert asked(served, "GET", "/ready").status == 200
        with served.service.capture.lock:  # commits cannot be applied
            insert(primary, 1, 2)
            until(lambda: replica._announced > 0)
            assert replica.unready() == ""
            monkeypatch.setattr(replica_module, "_FAR", 0.0)
            answer = asked(served, "GET", "/ready")
            assert answer.status == 503
            assert "behind its primary" in answer.json["reasons"][0]
            monkeypatch.setattr(replica_module, "_FAR", 1e9)
            replica._has_been_equal = False
            assert "behind its primary" in replica.unready()
            replica.is_connected = False
            assert replica.unready() == ""
        reached(served, primary)
        assert asked(served, "GET", "/ready").status == 200


def test_a_replica_that_takes_a_snapshot_is_not_ready(
    primary: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its data are older than the log of the primary."""
    seen: list[str] = []
    with replica_of(primary.url) as served:
        replica = served.service.replica
        assert replica is not None
        snapshot = replica.primary.snapshot

        def looking(path: Path) -> object:
            seen.append(replica.unready())
            return snapshot(path)

        monkeypatch.setattr(replica.primary, "snapshot", looking)
        with served.service.history.numbering(1):
            served.dataset.update(f"{PREFIX}INSERT DATA {{ :s :p 2 }}")
        insert(primary, 1, 2)
        reached(served, primary)
        until(lambda: replica.unready() == "")
        assert "takes a snapshot" in seen[0]


def test_an_older_snapshot_of_the_same_history_is_not_taken(
    primary: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes from a primary that is a replica itself and is behind; its commits will come."""
    with replica_of(primary.url) as served:
        insert(primary, 1, 2)
        reached(served, primary)
        replica, before = served.service.replica, content(served)
        assert replica is not None

        def older(_: Primary, path: Path) -> CommitPlace:
            path.write_text("<http://e/s> <http://e/p> <http://e/old> .\n")
            return CommitPlace(1, served.service.history.epoch)

        monkeypatch.setattr(Primary, "snapshot", older)
        failure = replica._resync(ResyncNeeded(primary.url, "a test"))
        assert "is older than the data of this replica" in str(failure)
        assert (content(served), served.service.history.number) == (before, 2)


def test_data_that_differ_are_replaced(primary: Serving) -> None:
    """A commit that changes nothing at the replica shows that its data are not those of the primary."""
    with replica_of(primary.url) as replica:
        insert(primary, 1)
        reached(replica, primary)
        # unlike a client, a program in the replica's process may write; its commit has a number too
        with replica.service.history.numbering(1):
            replica.dataset.update(f"{PREFIX}INSERT DATA {{ :s :p 2 }}")
        insert(primary, 2)
        until(lambda: metric(replica, "rdflive_replica_resyncs") == 1)
        reached(replica, primary)
        assert content(replica) == content(primary)


def test_a_stream_says_how_far_it_is_behind(primary: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece that does not reach the last commit begins with its number."""
    monkeypatch.setattr("rdflive.server.changes._PIECE", 1)
    insert(primary, 1, 2, 3)
    with Stream(primary, "/changes?since=start") as stream:
        told = [stream.next() for _ in range(6)]
    assert [(event.kind, event.id.partition("-")[0]) for event in told] == [
        ("", "0"), ("behind", "0"), ("patch", "1"), ("behind", "1"), ("patch", "2"), ("patch", "3"),
    ]  # fmt: skip
    assert told[1].frame[0].text == "3"


def metric(server: Serving, name: str) -> float:
    lines = asked(server, "GET", "/metrics").body.decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(name + " "))


Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def answering(answer: Callable[[str], Answer]) -> Iterator[str]:
    """Run a server that is no primary, and gives the answer of a path."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


NQUADS = {"Content-Type": "application/n-quads", "Last-Event-ID": f"1-{EPOCH}"}
EVENTS = {"Content-Type": "text/event-stream"}
BEGIN = f"id: 1-{EPOCH}\n\n".encode()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((404, {}, b"no"), "HTTP 404"),
        ((401, {}, b""), "HTTP 401"),
        ((302, {"Location": "http://127.0.0.1:9/"}, b""), "redirect"),
    ],
)
def test_a_primary_that_refuses_is_an_error(answer: Answer, reason: str) -> None:
    """The message has the address and the reason."""
    with (
        answering(lambda _: answer) as url,
        pytest.raises(RdfliveError, match=rf"--follow {url}: .*{reason}"),
        replica_of(url),
    ):
        pass


@pytest.mark.parametrize(
    "answer",
    [
        (503, {}, b""),
        (200, {"Content-Type": "text/html"}, b"<html>"),
        (200, {"Content-Type": "application/n-quads"}, b""),
        (200, {**NQUADS, "Last-Event-ID": "7"}, b""),
        (200, {**NQUADS, "Content-Length": "1000"}, b"<urn:a> <urn:b> <urn:c> ."),
    ],
)
def test_a_snapshot_that_cannot_be_used_is_read_again(
    answer: Answer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part of a snapshot is never taken for the whole one."""
    answers = iter([answer])
    whole = (200, NQUADS, b"<urn:a> <urn:b> <urn:c> .\n")

    def answered(path: str) -> Answer:
        return next(answers, whole) if path == "/store" else (200, EVENTS, BEGIN)

    with answering(answered) as url, replica_of(url) as replica:
        assert content(replica) == (f"1-{EPOCH}", [b"<urn:a> <urn:b> <urn:c> ."])
    assert "waiting for it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "bad",
    [
        b"id: 2-0badcafe\nevent: patch\ndata: TX .\ndata: A <urn:s> broken\ndata: TC .\n\n",
        b"id: 2-0badcafe\nevent: patch\ndata: TX .\ndata: A <urn:s> <urn:p> 1 .\n",
        b"id: x\n\n",
        b"event: patch\ndata: \xff\n\n",
        b"event: behind\ndata: many\n\n",
    ],
)
def test_a_log_that_cannot_be_read_changes_nothing(bad: bytes) -> None:
    """The replica tries again from its place, and applies the commit once it is whole."""
    good = b"id: 2-0badcafe\nevent: patch\ndata: TX .\ndata: A <urn:s> <urn:p> <urn:o> .\ndata: TC .\n\n"
    tries = 0

    def answered(path: str) -> Answer:
        nonlocal tries
        if path == "/store":
            return 200, NQUADS, b""
        if path != "/changes":  # the older commits
            return 200, EVENTS, BEGIN
        tries += 1
        if tries > 3:
            return 200, EVENTS, BEGIN.replace(b"1-", b"2-")
        return 200, EVENTS, BEGIN + (bad if tries < 3 else good)

    with answering(answered) as url, replica_of(url) as replica:
        until(lambda: content(replica)[0] == f"2-{EPOCH}")
        assert tries >= 3
        assert content(replica)[1] == [b"<urn:s> <urn:p> <urn:o> ."]


def test_older_commits_come_from_the_primary(primary: Serving) -> None:
    """A replica in memory has the log of its primary from the beginning."""
    insert(primary, 1, 2)
    with replica_of(primary.url) as replica, Stream(replica, "/changes", f"1-{epoch(primary)}") as stream:
        assert [stream.next().kind for _ in range(2)] == ["", "patch"]


def epoch(server: Serving) -> str:
    return server.service.history.epoch


def test_the_store_of_rdflib_may_follow_one_of_its_kind() -> None:
    """The snapshot and the commits have the spelling of the store."""
    with (
        serving(rdflib.Dataset()) as primary,
        replica_of(primary.url, rdflib.Dataset()) as replica,
        Stream(replica, FOLLOW) as stream,
    ):
        stream.next()
        insert(primary, 1, "'x'@en", "_:b", "1e0")
        assert json.loads(stream.next().frame[0].text)["added"]
        reached(replica, primary)
        assert content(replica) == content(primary)


def test_two_replicas_in_one_process_are_apart(primary: Serving) -> None:
    """Closing one leaves the other following."""
    with replica_of(primary.url) as first:
        with replica_of(primary.url):
            insert(primary, 1)
        insert(primary, 2)
        reached(first, primary)


@pytest.mark.parametrize("make", [rdflib.Dataset, lambda: rdflib.Dataset(store="Oxigraph")])
def test_an_older_id_goes_on_at_a_replica_that_never_had_the_query(
    make: Callable[[], rdflib.Dataset],
) -> None:
    """The replica undoes its own commits, and those that it has from the primary, and finds each place."""
    random = drawn_from("older", make().store.__class__.__name__)
    held: set[int] = set()
    states: list[set[int]] = [set()]
    with serving(make()) as primary:
        count = 12

        def change() -> None:
            number = random.randrange(6)
            verb = "DELETE" if number in held else "INSERT"
            assert updated(primary, f"{PREFIX}{verb} DATA {{ :s :p {number} }}").status == 204
            held.symmetric_difference_update({number})
            states.append(set(held))

        for _ in range(count):
            change()
        with replica_of(primary.url, make()) as replica:
            for _ in range(count):
                change()
            reached(replica, primary)
            for place in random.sample(range(2 * count + 1), 8):
                with Stream(replica, FOLLOW, f"{place}-{epoch(primary)}") as stream:
                    change()
                    answer = set(states[place])
                    event = stream.next()
                    while True:
                        assert event.kind == "update"
                        told = json.loads(event.frame[0].text)
                        added, removed = (
                            {int(row["o"]["value"]) for row in told[part]} for part in ("added", "removed")
                        )
                        assert not added & answer
                        assert removed <= answer
                        answer = answer - removed | added
                        assert answer == states[told["sequence"]]
                        if told["sequence"] == len(states) - 1:
                            break
                        event = stream.next()
