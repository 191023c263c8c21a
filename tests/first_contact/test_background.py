"""A mirror beside the program: in the background, or awaited."""

from __future__ import annotations

import asyncio
import contextvars
import io
import itertools
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import rdflib

import rdflive
from rdflive.api import background
from rdflive.feeds import Entry, Feed, Snapshot, Target
from support.effort import drawn_from
from support.mirrors import DATASETS, Deltas, append, literal, objects, patch, row
from support.misbehaving import Asked, Reply, Server, rows, serve
from support.set_target import EVERYTHING, line
from support.waiting import until

PATIENCE = 20.0


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as server:
        yield server


@pytest.fixture(params=DATASETS)
def dataset(request: pytest.FixtureRequest) -> Any:
    return DATASETS[request.param]()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    append(tmp_path / "log.nq", f"+ {row('1')}\n", f"+ {row('2')}\n")
    return tmp_path / "log.nq"


class Silent:
    """A feed that gives one entry, then nothing for ever, and does not end when it is closed."""

    source = "silent"

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.waits = threading.Event()

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        for number in itertools.count(int(cursor or 0) + 1):
            yield Entry(rdflive.Batch((literal(1, str(number)),), number), str(number))
            self.waits.set()
            self.goes_on.wait()

    def snapshot(self, target: Target) -> Snapshot | None:
        return None

    def close(self) -> None:
        pass


class Closable(Silent):
    """The same, which ends when it is closed, and says so in its own way."""

    def close(self) -> None:
        self.goes_on.set()

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        yield next(super().entries(cursor, kept, target))
        self.waits.set()
        self.goes_on.wait()
        raise OSError("bad file descriptor")


# --- the handle


def test_a_mirror_in_the_background_does_what_one_in_the_foreground_does(
    tmp_path: Path, dataset: Any
) -> None:
    """Random entries, stopped and started again several times: the same graph, each entry once."""
    choose = drawn_from("background")
    path = append(
        tmp_path / "log.rdfp",
        *(
            patch(*(f"{choose.choice('AD')} {row(str(choose.randrange(8)))}" for _ in range(3)))
            for _ in range(200)
        ),
    )
    expected = type(dataset)()
    told = Deltas(expected)
    assert rdflive.mirror(expected, path).entries == 200
    applied, deltas = 0, Deltas(dataset)
    while applied < 200:
        turn = threading.Event()
        running = rdflive.mirror(dataset, path, background=True, on_entry=lambda _: turn.set())  # noqa: B023
        turn.wait(PATIENCE)
        running.stop()
        applied += running.wait(PATIENCE).entries
    assert applied == 200
    assert objects(dataset) == objects(expected)
    assert deltas.take() == told.take()


def test_the_call_returns_while_the_feed_goes_on(log: Path, dataset: Any) -> None:
    """What is appended is applied beside the program, and a subscription is told."""
    subscription = rdflive.subscribe(dataset, "SELECT * { ?s ?p ?o }", initial=False)
    with rdflive.mirror(dataset, log, follow=0.001, background=True):
        for number in range(3, 6):
            append(log, f"+ {row(str(number))}\n")
        told = [len(subscription.next(timeout=PATIENCE).added) for _ in range(5)]
    assert told == [1] * 5
    append(log, f"+ {row('6')}\n")
    assert objects(dataset) == {"1", "2", "3", "4", "5"}


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"source": "log.unknown", "on_bad": "skip", "dead_letters": "letters"},
        rdflive.RdfliveError,
        "log.unknown: no change-feed format",
    ),
    ({"source": "http://h/sparql"}, ValueError, r"give rdflive\.endpoint\(url\) .*got 'http://h/sparql'"),
    ({"source": "http://h/sparql", "format": "nquads"}, ValueError, r"give rdflive\.endpoint\(url\)"),
    ({"on_bad": "skip"}, ValueError, "dead_letters"),
    ({"graph": 7}, rdflive.UnsupportedStoreError, "no adapter"),
    ({"background": "no"}, TypeError, "background must be True or False, got 'no'"),
    ({"on_entry": asyncio.sleep, "background": False}, TypeError, r"rdflive\.amirror"),
    ({"on_entry": asyncio.sleep, "background": True}, TypeError, r"rdflive\.amirror"),
    *(
        ({"follow": wrong}, ValueError, f"follow must be a number of seconds above 0, got {wrong!r}")
        for wrong in (0, -1, float("inf"))
    ),
    *(
        (given, TypeError, said)
        for given, said in (
            ({"follow": "1s"}, "follow must be a number of seconds above 0 or None, got '1s'"),
            ({"follow": True}, "follow must be a number of seconds above 0 or None, got True"),
            ({"cursor": 3}, "cursor must be a cursor that mirror returned, .*got 3"),
            ({"format": 3}, "format must be the name of a format, a FeedFormat or None, got 3"),
            ({"name": 3}, "name must be a text or None, got 3"),
            ({"snapshot": 3}, "snapshot must be the path .*, a function that returns quads or None, got 3"),
            ({"dead_letters": 3, "on_bad": "skip"}, "dead_letters must be the path of a file or None, got 3"),
            ({"on_entry": 3}, "on_entry must be a function of an Entry or None, got 3"),
            ({"on_resync": "x"}, "on_resync must be a function of a Snapshot or None, got 'x'"),
        )
    ),
]


@pytest.mark.parametrize(("given", "error", "said"), WRONG)
def test_a_wrong_argument_is_refused_by_the_call(
    log: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], error: type[Exception], said: str
) -> None:
    """Of every form, before an entry is applied or a file begun; it is not what ends a mirror later."""
    monkeypatch.chdir(log.parent)
    graph = rdflib.Dataset()
    arguments: dict[str, Any] = {"graph": graph, "source": log, **given}
    forms: list[Callable[..., Any]] = [rdflive.mirror]
    if "background" not in given:
        forms += partial(rdflive.mirror, background=True), lambda **args: asyncio.run(rdflive.amirror(**args))
    for form in forms:
        with pytest.raises(error, match=said):
            form(**arguments)
    assert len(graph) == 0
    assert list(log.parent.iterdir()) == [log]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"url": 3}, TypeError, "url must be the http or https URL of a SPARQL endpoint, got 3"),
        ({"every": "1s"}, TypeError, "every must be a number of seconds from 0, or None, got '1s'"),
        ({"every": -1}, ValueError, "^every must be a number of seconds from 0, or None, got -1"),
        ({"every": float("inf")}, ValueError, "every must be a number of seconds from 0, or None, got inf"),
        ({"timeout": 0}, ValueError, "^timeout must be a number of seconds above 0, got 0"),
        ({"timeout": None}, TypeError, "timeout must be a number of seconds above 0, got None"),
        ({"page": 1.5}, ValueError, "page must be a whole number from 1, got 1.5"),
        ({"tries": "6"}, TypeError, "tries must be a whole number from 1, got '6'"),
        ({"backoff": -1}, ValueError, "backoff must be a number of seconds from 0, got -1"),
    ],
)
def test_a_wrong_option_of_an_endpoint_names_itself(
    given: dict[str, Any], error: type[Exception], said: str
) -> None:
    """One option in one message."""
    with pytest.raises(error, match=said):
        rdflive.endpoint(**{"url": "http://127.0.0.1:9/sparql", **given})


@pytest.mark.parametrize("timeout", ["1", float("nan")])
def test_wait_takes_a_number(log: Path, timeout: Any) -> None:
    """Also when the mirror has ended; any number of seconds may be waited."""
    running = rdflive.mirror(rdflib.Dataset(), log, background=True)
    assert running.wait(float("inf")).entries == 2
    with pytest.raises(TypeError, match=rf"timeout must be a number of seconds or None, got {timeout!r}"):
        running.wait(timeout)


def test_a_second_mirror_of_the_name_is_refused_by_the_call(log: Path) -> None:
    """As in the foreground; when the first has ended, its name is free."""
    graph = rdflib.Dataset()
    with rdflive.mirror(graph, log, follow=0.01, background=True) as first:
        with pytest.raises(rdflive.RdfliveError, match="is running on this store"):
            rdflive.mirror(graph, log, background=True)
        until(lambda: first.lag is not None)  # all is applied
        with rdflive.mirror(graph, log, name="other", background=True) as other:
            assert other.wait(PATIENCE).entries == 2
    assert rdflive.mirror(graph, log).entries == 0


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), KeyboardInterrupt()])
@pytest.mark.parametrize("begins", [True, False])
def test_a_call_that_fails_leaves_nothing(
    log: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, begins: bool
) -> None:
    """Whether the thread has begun or not, there is no mirror, and its name is free."""
    graph, start = rdflib.Dataset(), threading.Thread.start
    kind = type(graph.store)

    def fail(thread: threading.Thread) -> None:
        if begins:
            start(thread)
        raise error

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(type(error)):
        rdflive.mirror(graph, log, follow=3600, background=True)
    with pytest.raises(type(error)):
        asyncio.run(rdflive.amirror(graph, log, follow=3600))
    monkeypatch.undo()
    until(lambda: all(thread.name != "rdflive-mirror" for thread in threading.enumerate()))
    rdflive.mirror(graph, log)
    assert objects(graph) == {"1", "2"}
    assert type(graph.store) is kind


def test_callbacks_see_the_context_of_the_call(log: Path) -> None:
    """A variable of `contextvars` has the value that it had there, and the handle need not be kept."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    variable.set("mine")
    seen: list[str] = []
    rdflive.mirror(rdflib.Dataset(), log, background=True, on_entry=lambda _: seen.append(variable.get()))
    until(lambda: len(seen) == 2)
    assert seen == ["mine", "mine"]


# --- stop()


def closes_quickly(running: rdflive.BackgroundMirror) -> rdflive.Mirrored:
    begin = time.monotonic()
    running.stop()
    done = running.wait(PATIENCE)
    assert time.monotonic() - begin < 0.9, "it was left behind, not ended"
    running._thread.join(PATIENCE)
    return done


def test_stop_ends_the_wait_at_a_file_at_once(log: Path) -> None:
    """However seldom it is looked at."""
    graph = rdflib.Dataset()
    running = rdflive.mirror(graph, log, follow=3600, background=True)
    until(lambda: running.lag is not None)
    assert closes_quickly(running) == rdflive.Mirrored(2, 2, cursor=rdflive.mirror(graph, log).cursor)


@pytest.mark.parametrize("wait", ["between polls", "for an answer", "for an event"])
def test_stop_ends_what_an_endpoint_is_waited_for(server: Server, wait: str) -> None:
    """The pause between polls, a server that does not answer, and a log that says nothing."""
    silence = threading.Event()

    def hang() -> Iterator[bytes]:
        yield b"id: 1\n\n"
        silence.wait(PATIENCE)

    events = Reply(200, hang(), {"Content-Type": "text/event-stream"})
    answers: dict[str, Callable[[Asked], Reply]] = {
        "between polls": rows([line(1)]),
        "for an answer": lambda asked: Reply(200, hang(), {"Content-Type": "application/n-triples"}),
        "for an event": lambda asked: events if asked.path == "/log" else rows([line(1)])(asked),
    }
    server.answer(answers[wait])
    log = server.url.replace("/sparql", "/log") if wait == "for an event" else None
    feed = rdflive.endpoint(server.url, queries=["SELECT * { ?s ?p ?o }"], every=3600, log=log)
    graph = rdflib.Graph()
    running = rdflive.mirror(graph, feed, background=True)
    until(lambda: len(graph) == 1 if wait == "between polls" else server.asked)
    time.sleep(0.05)
    closes_quickly(running)
    silence.set()
    assert running.error is None


def test_stop_finishes_the_entry_that_is_being_applied(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It returns at once; `wait` returns when the entry and its callback are done. Nothing comes after."""
    monkeypatch.setattr(background, "_GRACE", 0.01)
    graph, began, goes_on = rdflib.Dataset(), threading.Event(), threading.Event()

    def applied(entry: Entry) -> None:
        began.set()
        goes_on.wait(PATIENCE)

    running = rdflive.mirror(graph, log, background=True, on_entry=applied)
    began.wait(PATIENCE)
    running.stop()
    running.stop()
    with pytest.raises(TimeoutError, match=r"has not ended within 0\.1 s"):
        running.wait(0.1)
    goes_on.set()
    assert running.wait(PATIENCE).entries == len(graph) == 1
    assert rdflive.mirror(graph, log).entries == 1


def test_a_callback_can_stop_its_mirror_and_does_not_wait_for_it(log: Path) -> None:
    """A wait there, and in a batch of the graph, would never end: it is refused."""
    graph = rdflib.Dataset()
    failed: list[Exception] = []
    handle: list[rdflive.BackgroundMirror] = []
    given = threading.Event()

    def applied(entry: Entry) -> None:
        given.wait(PATIENCE)
        handle[0].stop()
        try:
            handle[0].wait()
        except rdflive.WaitError as error:
            failed.append(error)

    handle.append(rdflive.mirror(graph, log, background=True, on_entry=applied))
    with rdflive.batch(graph), pytest.raises(rdflive.WaitError, match="outside of callbacks"):
        handle[0].wait(PATIENCE)
    given.set()
    assert handle[0].wait(PATIENCE).entries == len(failed) == 1


def test_a_feed_that_does_not_end_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it gives later is not applied, and the next mirror of the name goes on from the cursor."""
    monkeypatch.setattr(background, "_GRACE", 0.01)
    graph, feed = rdflib.Dataset(), Silent()
    running = rdflive.mirror(graph, feed, background=True)
    assert feed.waits.wait(PATIENCE)
    running.stop()
    assert running.wait(PATIENCE) == rdflive.Mirrored(1, 1, cursor="1")
    again = Silent()
    with rdflive.mirror(graph, again, background=True) as second:
        assert again.waits.wait(PATIENCE)
        feed.goes_on.set()
        running._thread.join(PATIENCE)
        # who comes back late does not take the name with it
        with pytest.raises(rdflive.RdfliveError, match="is running"):
            rdflive.mirror(graph, Silent())
    again.goes_on.set()
    second._thread.join(PATIENCE)
    assert objects(graph) == {"1", "2"}


def test_a_snapshot_that_is_read_when_it_is_stopped_is_not_applied(log: Path) -> None:
    """The graph stays as it was."""
    graph, reads, goes_on = rdflib.Dataset(), threading.Event(), threading.Event()

    def snapshot() -> list[rdflive.Quad]:
        reads.set()
        goes_on.wait(PATIENCE)
        return [literal(1, "0").quad]

    running = rdflive.mirror(graph, log, snapshot=snapshot, background=True)
    assert reads.wait(PATIENCE)
    running.stop()
    goes_on.set()
    assert running.wait(PATIENCE) == rdflive.Mirrored()
    assert len(graph) == 0


# --- wait() and error


def test_wait_gives_what_was_done_when_the_feed_ends(log: Path) -> None:
    """The same as the call in the foreground; a stop afterwards changes nothing."""
    running = rdflive.mirror(rdflib.Dataset(), log, background=True)
    assert running.wait(PATIENCE) == rdflive.mirror(rdflib.Dataset(), log)
    running.stop()
    assert running.wait(0).entries == 2
    assert running.error is None
    assert repr(running) == f"<BackgroundMirror of {str(log)!r}, 2 entries applied, ended>"


def test_wait_raises_what_has_ended_the_mirror(
    log: Path, dataset: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Entries applied before the error stay; `error` and the log have the error."""
    append(log, "+ nonsense\n", f"+ {row('3')}\n")
    running = rdflive.mirror(dataset, log, background=True)
    for _ in range(2):
        with pytest.raises(rdflive.FeedError, match="line 3") as raised:
            running.wait(PATIENCE)
    assert running.error is raised.value
    assert objects(dataset) == {"1", "2"}
    (record,) = caplog.records
    assert (record.levelno, "has ended: " in record.getMessage()) == (logging.ERROR, True)


@pytest.mark.parametrize("error", [KeyError("mine"), TimeoutError("mine"), SystemExit(3)])
def test_wait_raises_what_a_callback_raises(log: Path, error: BaseException) -> None:
    """Of any kind; the entry that it was told of stays."""

    def fail(entry: Entry) -> None:
        raise error

    graph = rdflib.Dataset()
    running = rdflive.mirror(graph, log, background=True, on_entry=fail)
    with pytest.raises(type(error)) as raised:
        running.wait(PATIENCE)
    assert raised.value is running.error is error
    assert len(graph) == 1


def test_an_entry_that_fails_after_stop_is_told(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the mirror would have been left behind meanwhile."""
    monkeypatch.setattr(background, "_GRACE", 0.01)
    began = threading.Event()

    def fail(entry: Entry) -> None:
        began.set()
        time.sleep(0.1)
        raise KeyError("mine")

    running = rdflive.mirror(rdflib.Dataset(), log, background=True, on_entry=fail)
    assert began.wait(PATIENCE)
    running.stop()
    with pytest.raises(KeyError, match="mine"):
        running.wait(PATIENCE)


def test_the_block_raises_what_has_ended_the_mirror(log: Path) -> None:
    """Unless it raises something itself."""
    append(log, "+ nonsense\n")
    with pytest.raises(rdflive.FeedError), rdflive.mirror(rdflib.Dataset(), log, background=True) as running:
        until(lambda: running.error)
    running = rdflive.mirror(rdflib.Dataset(), log, background=True)
    until(lambda: running.error)
    with pytest.raises(KeyError, match="mine"), running:
        raise KeyError("mine")
    assert isinstance(running.error, rdflive.FeedError)


# --- lag


def test_the_lag_of_a_followed_file_is_the_time_since_the_last_look(log: Path) -> None:
    """It is small while the mirror keeps up, and grows while it does not; None until a look is applied."""
    began, goes_on = threading.Event(), threading.Event()

    def applied(entry: Entry) -> None:
        began.set()
        goes_on.wait(PATIENCE)

    with rdflive.mirror(rdflib.Dataset(), log, follow=0.001, background=True, on_entry=applied) as running:
        assert began.wait(PATIENCE)
        assert running.lag is None
        goes_on.set()
        until(lambda: running.lag is not None)
        until(lambda: (running.lag or 0) < 0.1)
        goes_on.clear()
        append(log, f"+ {row('3')}\n")
        until(lambda: (running.lag or 0) > 0.3)
        goes_on.set()
        until(lambda: (running.lag or 0) < 0.1)


@pytest.mark.posix("renames a file that is open")
def test_the_lag_grows_while_a_rotated_file_is_waited_for(tmp_path: Path) -> None:
    """Between the file that was read and the one at the path a number is missing: more is known to wait."""
    log = tmp_path / "log.nq"
    append(log, f"+ {row('1')}\n")
    graph = rdflib.Dataset()
    with rdflive.mirror(graph, log, follow=0.01, background=True) as running:
        until(lambda: running.lag is not None)
        log.rename(tmp_path / "log.nq.3")
        append(tmp_path / "log.nq.1", f"+ {row('3')}\n")
        append(log, f"+ {row('4')}\n")
        until(lambda: (running.lag or 0) > 0.5)
        # whole at once, as files come by rotation: an empty one would be taken for all that there is
        append(tmp_path / "missing", f"+ {row('2')}\n")
        (tmp_path / "missing").rename(tmp_path / "log.nq.2")
        # the lag is small as soon as the missing file is there, and the one behind it is still to be read
        until(lambda: (running.lag or 0) < 0.1 and len(graph) == 4)
        running.stop()
        assert running.wait(PATIENCE).entries == 4


@pytest.mark.parametrize("way", ["polled", "log"])
def test_the_lag_of_an_endpoint_is_the_time_since_the_last_poll(server: Server, way: str) -> None:
    """Also behind a log of RDF Patch; another mirror of the feed does not count."""
    answering = threading.Event()
    answering.set()

    def answer(asked: Asked) -> Reply:
        answering.wait(PATIENCE)
        if asked.path == "/log":
            return Reply(200, b"", {"Content-Type": "application/rdf-patch"})
        return rows([line(1)])(asked)

    server.answer(answer)
    log = server.url.replace("/sparql", "/log") if way == "log" else None
    feed = rdflive.endpoint(server.url, patterns=EVERYTHING, every=0.001, log=log)
    graph = rdflib.Graph()
    running = rdflive.mirror(graph, feed, background=True)
    until(lambda: running.lag is not None)
    assert len(graph) == 1
    until(lambda: (running.lag or 0) < 0.1)
    answering.clear()
    until(lambda: (running.lag or 0) > 0.3)
    later = rdflive.mirror(rdflib.Graph(), feed, background=True, name="later")
    assert later.lag is None
    for mirror in (later, running):
        mirror.stop()
    answering.set()
    for mirror in (later, running):
        mirror.wait(PATIENCE)


def test_the_lag_of_a_feed_that_cannot_tell_is_none() -> None:
    """A stream can tell at its end; another feed never. What one says when it is closed is no error."""
    running = rdflive.mirror(rdflib.Dataset(), feed := Closable(), background=True)
    assert feed.waits.wait(PATIENCE)
    assert running.lag is None
    assert closes_quickly(running).entries == 1
    assert (running.lag, running.error) == (None, None)
    ended = rdflive.mirror(rdflib.Dataset(), io.BytesIO(b""), "nquads", background=True)
    ended.wait(PATIENCE)
    assert ended.lag is not None
    assert 0 <= ended.lag < PATIENCE


# --- Ctrl-C, forks, and the end of the process


def program(text: str, *arguments: object, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    text = f"import rdflive, rdflib, sys, time\n{text}"
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


FOLLOWS = """
graph = rdflib.Dataset(store=sys.argv[2])
m = rdflive.mirror(graph, sys.argv[1], follow=3600, background=True)
while m.lag is None: time.sleep(0.001)
print(len(graph), flush=True)
"""


@pytest.mark.posix("sends SIGINT to a program")
def test_ctrl_c_is_for_the_main_thread(log: Path) -> None:
    """`wait` raises KeyboardInterrupt, the mirror goes on, and the program can stop it."""
    text = f"""{FOLLOWS}
try:
    m.wait()
except KeyboardInterrupt:
    assert m.error is None
    try:
        m.wait(0)
    except TimeoutError:
        m.stop()
        print(m.wait(20).entries)
"""
    running = program(text, log, "default")
    assert running.stdout is not None
    assert running.stdout.readline() == "2\n"
    time.sleep(0.2)  # so that it waits
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE)
    assert (out, err, running.returncode) == ("2\n", "", 0)


def test_the_process_ends_at_a_commit(tmp_path: Path) -> None:
    """The entry that is being applied is finished, with its callback, and the next one is not begun."""
    log = tmp_path / "long.nq"
    append(log, *(f"+ {row(str(number))}\n" for number in range(50)))
    text = """
def applied(entry):
    print("began", flush=True)
    time.sleep(0.3)
    print("ended", flush=True)
rdflive.mirror(rdflib.Dataset(), sys.argv[1], background=True, on_entry=applied)
time.sleep(0.4)
"""
    out, err = (running := program(text, log)).communicate(timeout=PATIENCE)
    assert (err, running.returncode) == ("", 0)
    assert out.split() == ["began", "ended"] * (len(out.split()) // 2)
    assert 1 <= len(out.split()) // 2 < 50


def test_the_next_process_goes_on_where_one_has_ended(tmp_path: Path) -> None:
    """A store on disk has the cursor of what was applied, wherever the mirror was."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    log = append(
        tmp_path / "log.nq", *(f"{'+-'[n % 3 == 2]} {row(f'{n % 7} {n // 50}')}\n" for n in range(2_000))
    )
    folder = tmp_path / "store"
    text = """
graph = rdflib.Dataset(store="Oxigraph")
graph.open(sys.argv[1], create=True)
rdflive.mirror(graph, sys.argv[2], background=True)
while len(graph) < 50: time.sleep(0.001)
"""
    out, err = (running := program(text, folder, log)).communicate(timeout=PATIENCE)
    assert (out, err, running.returncode) == ("", "", 0)
    graph, expected = rdflib.Dataset(store="Oxigraph"), rdflib.Dataset()
    graph.open(str(folder))
    try:
        left = rdflive.mirror(graph, log, background=True).wait(PATIENCE).entries
        rdflive.mirror(expected, log)
        assert 0 < left < 2_000
        assert objects(graph) == objects(expected)
    finally:
        graph.close()


@pytest.mark.sampled(by="source")
@pytest.mark.parametrize("source", ["'-'", "sys.stdin.buffer"])
def test_the_process_ends_while_a_mirror_reads_standard_input(source: str) -> None:
    """The read cannot be ended: it is left behind, whether the mirror was stopped or not."""
    stopped = source != "'-'"
    text = f"""
graph = rdflib.Dataset()
m = rdflive.mirror(graph, {source}, "nquads", background=True)
while not len(graph): time.sleep(0.001)
if sys.argv[1] == "True":
    m.stop()
    print(m.wait(20).entries, flush=True)
"""
    running = program(text, stopped, stdin=subprocess.PIPE)
    assert running.stdin is not None
    running.stdin.write(f"+ {row('1')}\n")
    running.stdin.flush()
    running.wait(PATIENCE)
    assert running.stdout is not None
    assert running.stderr is not None
    assert (running.stdout.read(), running.stderr.read(), running.returncode) == ("1\n" * stopped, "", 0)
    for stream in (running.stdin, running.stdout, running.stderr):
        stream.close()


@pytest.mark.posix("forks")
def test_a_forked_process_has_no_mirror(log: Path) -> None:
    """Its handle says so, its name is free, and both processes end at once.

    A socket that is shut down there is so in the parent: the handle's block leaves the feed alone.
    """
    text = f"""{FOLLOWS}
import os
feed, close = m._run.feed, m._run.feed.close
feed.close = lambda: (print("closed", flush=True), close())
if not os.fork():
    print(m, m.lag, flush=True)
    try:
        with m: pass
    except rdflive.RdfliveError as error:
        print(error, flush=True)
    print(rdflive.mirror(graph, sys.argv[1]).entries, flush=True)
    sys.exit()
os.wait()
print("parent", m.error, flush=True)
"""
    out, err = (running := program(text, log, "default")).communicate(timeout=PATIENCE)
    said = "<BackgroundMirror, failed> None\nthe mirror runs in the process that started it\n0\n"
    assert out == f"2\n{said}parent None\nclosed\n"
    assert ("Traceback" in err, running.returncode) == (False, 0)


# --- await


async def soon(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.002)


def test_cancelled_amirror_has_ended_when_it_is_left(log: Path) -> None:
    """No thread is left, the feed is closed, and the cursor is in the graph; a loop's end cancels too."""
    graph = rdflib.Dataset()
    kind = type(graph.store)

    async def main() -> asyncio.Task[Any]:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await rdflive.amirror(graph, log, follow=3600)
        assert type(graph.store) is kind
        append(log, f"+ {row('3')}\n")
        task = asyncio.create_task(rdflive.amirror(graph, log, follow=3600))
        await soon(lambda: len(graph) == 3)
        return task

    before = threading.active_count()
    assert asyncio.run(main()).cancelled()
    assert rdflive.mirror(graph, log).entries == 0
    until(lambda: threading.active_count() <= before)


def test_amirror_raises_what_is_wrong(log: Path) -> None:
    """With the arguments, with the feed, and in a coroutine that it calls."""
    append(log, "+ nonsense\n")

    async def fail(entry: Entry) -> None:
        raise KeyError("mine")

    async def main() -> None:
        with pytest.raises(KeyError, match="mine"):
            await rdflive.amirror(rdflib.Dataset(), log, on_entry=fail)
        with pytest.raises(ValueError, match="dead_letters"):
            await rdflive.amirror(rdflib.Graph(), log, on_bad="skip")
        with pytest.raises(rdflive.FeedError, match="line 3"):
            await rdflive.amirror(graph, log)

    graph = rdflib.Dataset()
    asyncio.run(main())
    assert len(graph) == 2


def test_callbacks_may_be_coroutine_functions(log: Path) -> None:
    """They run in the loop, and the mirror goes on when they have returned."""
    seen: list[tuple[int, str]] = []
    graph = rdflib.Dataset()

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def applied(entry: Entry) -> None:
            assert asyncio.get_running_loop() is loop
            await asyncio.sleep(0.01)
            seen.append((len(graph), threading.current_thread().name))

        async def replaced(snapshot: Snapshot) -> None:
            seen.append((len(graph), threading.current_thread().name))

        await rdflive.amirror(graph, log, snapshot=list, on_entry=applied, on_resync=replaced)

    asyncio.run(main())
    assert seen == [(number, threading.main_thread().name) for number in range(3)]


def test_a_coroutine_that_is_under_way_is_cancelled_with_its_mirror(log: Path) -> None:
    """A full queue without a reader does not keep the mirror open; the reported entry stays."""
    graph = rdflib.Dataset()

    async def main() -> None:
        queue: asyncio.Queue[Entry] = asyncio.Queue(maxsize=1)
        task = asyncio.create_task(rdflive.amirror(graph, log, on_entry=queue.put))
        await soon(lambda: len(graph) == 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, PATIENCE)
        assert queue.qsize() == 1

    asyncio.run(main())
    assert rdflive.mirror(graph, log).entries == 0


@pytest.mark.parametrize("given", ["on_entry", "on_resync", "snapshot"])
@pytest.mark.parametrize("form", ["called", "in the background", "awaited"])
def test_stop_iteration_ends_a_mirror_and_not_its_caller(log: Path, given: str, form: str) -> None:
    """No future can carry it, and a loop around the call would take it for its own end."""
    graph, names = rdflib.Dataset(), iter(())
    options: dict[str, Any] = {"snapshot": list, given: lambda *_: next(names)}

    async def awaited() -> None:
        async with asyncio.timeout(PATIENCE):
            await rdflive.amirror(graph, log, **options)

    calls: dict[str, Callable[[], object]] = {
        "called": lambda: rdflive.mirror(graph, log, **options),
        "in the background": lambda: rdflive.mirror(graph, log, background=True, **options).wait(PATIENCE),
        "awaited": lambda: asyncio.run(awaited()),
    }
    with pytest.raises(RuntimeError, match="has raised StopIteration"):
        calls[form]()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_is_closed_leaves_no_callback_waiting(log: Path) -> None:
    """Who closes it without cancelling its tasks leaves no thread behind: nothing will end the callback."""
    graph = rdflib.Dataset()
    kind = type(graph.store)
    loop = asyncio.new_event_loop()
    began = asyncio.Event()

    async def applied(entry: Entry) -> None:
        began.set()
        await asyncio.sleep(3600)

    task = loop.create_task(rdflive.amirror(graph, log, on_entry=applied))
    loop.run_until_complete(began.wait())
    loop.close()
    until(lambda: all(thread.name != "rdflive-mirror" for thread in threading.enumerate()))
    assert type(graph.store) is kind
    assert not task.done()
    assert rdflive.mirror(graph, log).entries == 1


def test_aendpoint_gives_what_endpoint_gives(server: Server) -> None:
    """A feed, with the options checked, which amirror follows until it is cancelled."""
    server.answer(rows([line(1)]))
    graph = rdflib.Graph()

    async def main() -> None:
        with pytest.raises(TypeError, match="no option 'evry'"):
            await rdflive.aendpoint(server.url, evry=1)
        feed = await rdflive.aendpoint(server.url, queries=["SELECT * { ?s ?p ?o }"], every=0.01)
        assert isinstance(feed, Feed)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(rdflive.amirror(graph, feed))
            await soon(lambda: len(graph) == 1)
            server.answer(rows([line(1), line(2)]))
            await soon(lambda: len(graph) == 2)
            task.cancel()

    asyncio.run(main())
    once = rdflive.endpoint(server.url, patterns=EVERYTHING, every=None)
    assert rdflive.mirror(graph, once, background=True).wait(PATIENCE).entries == 0
