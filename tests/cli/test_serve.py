"""`rdflive serve` as a command: its options, its errors, and its end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

from rdflive.cli import main

pytest.importorskip("starlette", reason="serving needs rdflive[server]")

TURTLE = "<http://e/a> <http://e/p> 1 ."


@contextmanager
def run(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command on a port of its own; gives it and its address."""
    command = [sys.executable, "-m", "rdflive", "serve", "--listen", "127.0.0.1:0", *map(str, arguments)]
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


def eventually(url: str, number: int) -> None:
    deadline = time.monotonic() + 30
    while (found := count(url)) != number:
        assert time.monotonic() < deadline, f"{found} triples, not {number}"
        time.sleep(0.05)


@pytest.mark.parametrize("store", ["memory", "oxigraph"])
def test_serve_loads_files_and_ends_on_an_interrupt(tmp_path: Path, store: str) -> None:
    """The address is printed when it can be asked, and Ctrl-C ends it with the code of an interrupt."""
    if store == "oxigraph":
        pytest.importorskip("oxrdflib", reason="the store needs rdflive[oxigraph]")
    data = tmp_path / "data.ttl"
    data.write_text(TURTLE)
    with run(data, "--store", store) as (process, url):
        assert count(url) == 1
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
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    assert not list(tmp_path.glob("store.*"))  # what queries needed was put away
    with run(store) as (_, url):
        assert count(url) == 3


def test_serve_says_where_a_feed_is_bad_and_serves_on(tmp_path: Path) -> None:
    """What was applied before is served."""
    feed = tmp_path / "feed.rdfp"
    feed.write_text("TX .\nA <urn:a> <urn:p> <urn:o> .\nTC .\nnonsense\n")
    with run("--changes", feed) as (process, url):
        assert process.stderr is not None
        assert "feed.rdfp, line 4" in process.stderr.readline()
        assert count(url) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.ttl"], "nowhere.ttl: No such file"),
        (["--listen", "0.0.0.0:0"], "--tokens FILE"),
        (["--listen", "127.0.0.1"], "HOST:PORT"),
        (["--tokens", "nowhere.toml"], "nowhere.toml: cannot be read as a file of tokens"),
        (["--follow"], "--follow goes with --changes FILE"),
        (["--pace", "1"], "--pace goes with --changes FILE"),
        (["--key", "key.pem"], "--key goes with --certificate"),
        (["--certificate", "file"], "file: no certificate with its key in PEM"),
        (["--queries", "0"], "a number from 1 on"),
        ([".", "other.ttl"], "a store is served by itself"),
        (["."], "is no store of Oxigraph and not empty"),
        (["--changes", "nowhere.rdfp"], "nowhere.rdfp: No such file"),
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
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["serve", "--listen", "127.0.0.1:0", *arguments])
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    assert message in capsys.readouterr().err


def test_serve_says_that_a_port_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--listen", f"127.0.0.1:{port}"]) == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in capsys.readouterr().err
