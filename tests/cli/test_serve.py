"""`rdflive serve` as a command: its options, its errors, and its end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn
from urllib.parse import urlencode

import pytest

from rdflive.cli import main
from support.cli import QUICK

pytest.importorskip("starlette", reason="serving needs rdflive[server]")
pytestmark = pytest.mark.posix("the server forks")

TURTLE = "<http://e/a> <http://e/p> 1 ."
SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> .
<urn:s> a sh:NodeShape ; sh:targetSubjectsOf <http://e/p> ;
    sh:property [ sh:path <http://e/p> ; sh:nodeKind sh:IRI ] ."""
UPDATE = "INSERT { <urn:b> ?p 'x' } WHERE { ?s ?p ?o }"
IMPORTS = """
import sys
import threading
from rdflive.cli import main
from rdflive.asgi.server import AsgiServer

def start(thread):
    if thread.name == "rdflive-feed":
        known.update(sys.modules)
    real(thread)

async def serve_nothing(self):
    pass

known, real = set(), threading.Thread.start
threading.Thread.start = start
AsgiServer.main_loop = serve_nothing
status = main(sys.argv[1:])
print(sorted(sys.modules.keys() - known))
sys.exit(status)
"""
"""Prints the modules that `rdflive serve` imports after the thread of its feed has started."""


@contextmanager
def run(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command on a port of its own; gives it and its address."""
    command = [sys.executable, *QUICK, "serve", "--listen", "127.0.0.1:0", *map(str, arguments)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as process:
        try:
            assert process.stderr is not None
            lines = []
            while not lines or "serving" not in lines[-1]:
                lines.append(process.stderr.readline())
                assert lines[-1], "".join(lines)
            found = re.search(r"http://\S+:\d+", lines[-1])
            assert found is not None, lines
            yield process, found[0]
        finally:
            process.kill()


def count(url: str) -> int:
    """The number of triples of the default graph."""
    query = urlencode({"query": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"})
    request = urllib.request.Request(
        f"{url}/query?{query}", headers={"Accept": "application/sparql-results+json"}
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        return int(json.load(response)["results"]["bindings"][0]["n"]["value"])


def told(url: str) -> tuple[dict[str, str], str]:
    """What /health says, and the value of the gauge of the feed, empty where there is none."""
    with urllib.request.urlopen(f"{url}/health", timeout=20) as response:
        health = json.load(response)
    with urllib.request.urlopen(f"{url}/metrics", timeout=20) as response:
        found = re.search(r"^rdflive_feed_running (\S+)$", response.read().decode(), re.MULTILINE)
    return health, found[1] if found else ""


def eventually(url: str, number: int) -> None:
    deadline = time.monotonic() + 30
    while (found := count(url)) != number:
        assert time.monotonic() < deadline, f"{found} triples, not {number}"
        time.sleep(0.05)


def test_nothing_is_imported_beside_the_thread_of_the_feed(tmp_path: Path) -> None:
    """A signal that interrupts an import can leave its lock taken, and the thread would wait for it."""
    feed = tmp_path / "feed.rdfp"
    feed.write_text("TX .\nA <urn:a> <urn:p> <urn:o> .\nTC .\n")
    arguments = ["serve", "--listen", "127.0.0.1:0", "--changes", str(feed)]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, *arguments], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.sampled(by="store")
@pytest.mark.parametrize("store", ["memory", "oxigraph"])
def test_serve_loads_files_and_ends_on_an_interrupt(tmp_path: Path, store: str) -> None:
    """The address is printed when it can be asked, and Ctrl-C ends it with the code of an interrupt."""
    if store == "oxigraph":
        pytest.importorskip("oxrdflib", reason="the store needs rdflive[oxigraph]")
    data = tmp_path / "data.ttl"
    data.write_text(TURTLE)
    with run(data, "--store", store) as (process, url):
        assert count(url) == 1
        assert told(url) == ({"status": "ok"}, "")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_serve_follows_a_feed_and_goes_on_with_it(tmp_path: Path) -> None:
    """Updates and the feed go into one store on disk, which the next run serves from its folder alone."""
    pytest.importorskip("oxrdflib", reason="the store needs rdflive[oxigraph]")
    feed, store = tmp_path / "feed.rdfp", tmp_path / "store"
    feed.write_text("TX .\nA <urn:a> <urn:p> <urn:o> .\nTC .\n")
    with run("--store-path", store, "--changes", feed, "--follow") as (process, url):
        eventually(url, 1)
        body = urlencode({"update": "INSERT DATA { <urn:b> <urn:p> <urn:o> }"}).encode()
        urllib.request.urlopen(f"{url}/update", body, timeout=20).close()
        with feed.open("a") as more:
            more.write("TX .\nA <urn:c> <urn:p> <urn:o> .\nTC .\n")
        eventually(url, 3)
        assert told(url) == ({"status": "ok", "feed": "following"}, "1.0")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    # the change log stays; what queries needed is removed
    assert [path.name for path in tmp_path.glob("store.*")] == ["store.rdflive-log"]
    with run(store) as (_, url):
        assert count(url) == 3


@pytest.mark.sampled(by="state")
@pytest.mark.parametrize("state", ["stopped", "ended"])
def test_serve_says_what_a_feed_has_come_to(tmp_path: Path, state: str) -> None:
    """Where it is bad, or what was skipped; what was applied is served on, and /health tells the state."""
    feed, letters = tmp_path / "feed.rdfp", tmp_path / "letters"
    feed.write_text("TX .\nA <urn:a> <urn:p> <urn:o> .\nTC .\nnonsense\n")
    skips = ["--on-bad", "skip", "--dead-letters", letters] if state == "ended" else []
    with run("--changes", feed, *skips) as (process, url):
        assert process.stderr is not None
        end = f"the feed has ended: 1 change, 1 bad record skipped into {letters}\n"
        assert (end if skips else "feed.rdfp, line 4") in process.stderr.readline()
        assert count(url) == 1
        assert told(url) == ({"status": "ok", "feed": state}, "0.0")


@pytest.mark.sampled(by="store")
@pytest.mark.parametrize("store", ["memory", "disk"])
def test_serve_refuses_what_would_add_results(tmp_path: Path, store: str) -> None:
    """Of the feed and of updates; what the data themselves have does not matter."""
    if store == "disk":
        pytest.importorskip("oxrdflib", reason="the store needs rdflive[oxigraph]")
    (tmp_path / "shapes.ttl").write_text(SHAPES)
    (tmp_path / "data.ttl").write_text(TURTLE)
    (tmp_path / "feed.nq").write_text('+ <urn:c> <http://e/p> "x" .\n')
    data, feed = tmp_path / "data.ttl", ["--changes", tmp_path / "feed.nq", "--on-bad", "skip"]
    place = ["--store-path", tmp_path / "store"] if store == "disk" else ["--store", "memory"]
    letters = tmp_path / "letters"
    options = [*feed, "--dead-letters", letters, "--shapes", tmp_path / "shapes.ttl", "--guard"]
    with run(data, *place, *options) as (process, url):
        assert process.stderr is not None
        assert process.stderr.readline().startswith(
            "the feed has ended: 0 changes, 1 bad record skipped into "
        )
        assert '\n#   focus <urn:c>, path <http://e/p>, value "x", ' in letters.read_text()
        with pytest.raises(urllib.error.HTTPError, match="422") as caught:
            urllib.request.urlopen(f"{url}/update", urlencode({"update": UPDATE}).encode(), timeout=20)
        assert b"sh:focusNode <urn:b>" in caught.value.read()
        assert count(url) == 1
        with urllib.request.urlopen(f"{url}/validation", timeout=20) as response:
            assert b"sh:focusNode <http://e/a>" in response.read()


def test_feed_that_meets_a_fault_has_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the program itself ends the feed as well, and its trace is shown."""
    states, shown = [], []

    def served(app: Any, **_: object) -> Any:
        def watch(_: object) -> None:
            for thread in threading.enumerate():
                if thread.name == "rdflive-feed":
                    thread.join()
            states.append(app.state.service.feed)

        return SimpleNamespace(run=watch)

    def fail(*_: object, **__: object) -> NoReturn:
        raise ZeroDivisionError

    (tmp_path / "feed.rdfp").touch()
    monkeypatch.setattr("rdflive.server.service.make_server", served)
    monkeypatch.setattr("rdflive.cli.served_feed.mirror", fail)
    monkeypatch.setattr(threading, "excepthook", lambda fault: shown.append(fault.exc_type))
    assert main(["serve", "--listen", "127.0.0.1:0", "--changes", str(tmp_path / "feed.rdfp")]) == 0
    assert (states, shown) == (["stopped"], [ZeroDivisionError])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "no DATA was given"),
        (["none.ttl"], "none.ttl is empty"),
        (["none.ttl", "none.nt"], "the 2 files of DATA are empty"),
        (["--store-path", "store"], "store is empty"),
    ],
)
def test_serve_says_why_the_graph_is_empty(
    arguments: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Files without a triple are not taken for none."""
    if "--store-path" in arguments:
        pytest.importorskip("oxrdflib", reason="the store needs rdflive[oxigraph]")
    for name in ("none.ttl", "none.nt"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "rdflive.server.service.make_server", lambda *_, **__: SimpleNamespace(run=lambda _: None)
    )
    assert main(["serve", "--listen", "127.0.0.1:0", *arguments]) == 0
    assert f"the graph is empty: {reason}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.ttl"], "nowhere.ttl: No such file"),
        (["--listen", "0.0.0.0:0"], "--tokens FILE"),
        (["--listen", "127.0.0.1"], "HOST:PORT"),
        (["--listen", "localhost:65536"], "a port from 1 to 65535, or 0 for any free one"),
        (["--tokens", "nowhere.toml"], "nowhere.toml: cannot be read as a token file"),
        (["--rules", "owl"], "'owl' is not a rule set, a file or an N3 rule"),
        (["--entail", "nowhere.n3"], "nowhere.n3"),
        (["--follow"], "--follow goes with --changes FILE"),
        (["--pace", "1"], "--pace goes with --changes FILE"),
        (["--key", "key.pem"], "--key goes with --certificate"),
        (["--certificate", "nowhere.pem"], "--certificate nowhere.pem: No such file"),
        (["--certificate", "file"], "--certificate file: no certificate with its key in PEM; name a key"),
        (["--certificate", "file", "--key", "file"], "--key file: no certificate with its key in PEM\n"),
        (["--port", "8123"], "unknown option --port, did you mean --listen?"),
        (["--queries", "0"], "a number from 1"),
        (["--guard"], "--guard goes with --shapes FILE"),
        (["--shapes", "empty.ttl", "--guard"], "empty.ttl: guards nothing: no shape has both a target and"),
        (["--shapes", "idle.ttl", "--guard"], "idle.ttl: guards nothing"),
        (["--shapes", "aimless.ttl", "--guard"], "aimless.ttl: guards nothing"),
        (["nowhere.ttl", "--shapes", "good.ttl", "--guard"], "nowhere.ttl: No such file"),
        (
            ["nowhere.ttl", "--shapes", "aimless.ttl", "--guard", "--shape", "urn:s", "--focus", "urn:b"],
            "nowhere.ttl: No such file",
        ),
        (["nowhere.ttl", "--shapes", "empty.ttl"], "nowhere.ttl: No such file"),
        (["--shape", "urn:S"], "--shape and --focus go with --shapes FILE"),
        (["nowhere.ttl", "--shapes", "good.ttl", "--shape", "urn:Nope"], "<urn:Nope> is not a shape"),
        (["nowhere.ttl", "--shapes", "absent.ttl"], "absent.ttl: No such file"),
        (["nowhere.ttl", "--shapes", "shapes.ttl"], "sh:minCount"),
        ([".", "other.ttl"], "a store is served alone"),
        (["."], "is not an Oxigraph store and not empty"),
        (["--changes", "nowhere.rdfp"], "--changes nowhere.rdfp: No such file"),
        (["--follow", "http://e", "--changes", "c.rdfp"], "with --changes, --follow takes no URL"),
        (["--follow", "http://e", "--shapes", "good.ttl", "--guard"], "--guard is for the primary"),
        (["good.ttl", "--follow", "http://e"], "leave DATA out (got good.ttl)"),
        (["--follow", "http://e", "--snapshot", "s.nq"], "--snapshot is for --changes FILE"),
        (["--follow", "http://e", "--pace", "1"], "--pace is for --changes FILE"),
        (["--follow", "ftp://e"], "--follow: expected an http or https URL"),
        (["--follow", "http://a:secret@e"], "the URL of e contains credentials; name a variable"),
        (["--follow", "http://e", "--token-env", "NOWHERE"], "the environment variable NOWHERE"),
        (["--follow", "http://e", "--store-path", "s", "--store", "memory"], "leave --store memory out"),
        (["--token-env", "X"], "--token-env goes with --follow URL"),
        (["--change-log-bytes", "-1"], "a number from 0, not '-1'"),
        (["--store-path", "logged"], "logged.rdflive-log cannot be written: File exists; give it space"),
    ],
)
def test_serve_refuses_what_cannot_be(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each mistake is said in one line, with exit code 2, and nothing is served."""
    (tmp_path / "file").touch()
    (tmp_path / "logged.rdflive-log").touch()
    (tmp_path / "shapes.ttl").write_text(SHAPES.replace("sh:nodeKind sh:IRI", "sh:minCount 'x'"))
    (tmp_path / "good.ttl").write_text(SHAPES)
    (tmp_path / "empty.ttl").touch()
    (tmp_path / "idle.ttl").write_text(
        SHAPES.replace("a sh:NodeShape", "a sh:NodeShape ; sh:deactivated true")
    )
    (tmp_path / "aimless.ttl").write_text(SHAPES.replace("sh:targetSubjectsOf <http://e/p> ;", ""))
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["serve", "--listen", "127.0.0.1:0", *arguments])
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    assert message in capsys.readouterr().err


def test_serve_says_that_a_port_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the address, and how to give another."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--listen", f"127.0.0.1:{port}"]) == 2
    advice = f"Address already in use; choose another with --listen 127.0.0.1:{port + 1}\n"
    assert f"cannot listen on 127.0.0.1 port {port}: {advice}" in capsys.readouterr().err


def test_serve_says_that_a_host_is_none_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A proposal of the same host would fail again."""
    arguments = ["serve", "--listen", "host.invalid:8007", "--tokens", "tokens.toml"]
    monkeypatch.chdir(tmp_path)
    Path("tokens.toml").write_text('[alice]\ntoken = "a-token-of-alice"\nrights = ["read"]\n')
    assert main(arguments) == 2
    assert capsys.readouterr().err.endswith("; choose another with --listen 127.0.0.1:8007\n")
