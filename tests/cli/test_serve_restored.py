"""A restored backup goes on with the feed from its own position."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

from rdflive.cli import main
from support.cli import QUICK
from support.waiting import until

pytest.importorskip("starlette", reason="serving needs rdflive[server]")
pytest.importorskip("oxrdflib", reason="a store on disk needs rdflive[oxigraph]")
INSERT = urlencode({"update": "INSERT DATA { <urn:x> <urn:p> <urn:o> }"}).encode()
pytestmark = pytest.mark.posix("the server forks")


@contextmanager
def running(
    errors: Path, *options: object, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run `rdflive serve`; give its process and address."""
    command = [sys.executable, *QUICK, "serve", "--listen", "127.0.0.1:0", *map(str, options)]
    with (
        errors.open("wb") as file,
        subprocess.Popen(command, stderr=file, env={**os.environ, **environment}) as process,
    ):
        try:
            found = until(lambda: re.search(r"serving (http://\S+)/ to", errors.read_text()))
            yield process, found[1]
        finally:
            process.kill()


def read(url: str, **options: str) -> str:
    """Return what a path answers."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=options), timeout=30) as answer:
        return str(answer.read().decode())


def content(url: str) -> list[str]:
    """Return the subjects of the graph."""
    query = urlencode({"query": "SELECT ?s { ?s ?p ?o } ORDER BY ?s"})
    rows = json.loads(read(f"{url}/query?{query}", Accept="application/sparql-results+json"))
    return [row["s"]["value"] for row in rows["results"]["bindings"]]


def entries(url: str) -> int:
    """Return the number of applied entries of the feed."""
    found = re.search(r"^rdflive_feed_entries_total (\S+)$", read(f"{url}/metrics"), re.MULTILINE)
    assert found is not None
    return int(float(found[1]))


def history(url: str) -> str:
    """Return the epoch of the last commit."""
    with urllib.request.urlopen(f"{url}/changes", timeout=30) as answer:
        return str(answer.headers["Last-Event-ID"].partition("-")[2])


def written(feed: Path, numbers: range) -> None:
    """Append an entry for each number."""
    with feed.open("a") as file:
        file.writelines(f"TX .\nA <urn:{number}> <urn:p> <urn:o> .\nTC .\n" for number in numbers)


def test_a_restored_store_goes_on_with_the_feed(tmp_path: Path) -> None:
    """After a kill: the copy applies the entries after its own state, and no other ones."""
    feed, folder = tmp_path / "feed.rdfp", tmp_path / "backups"
    following = ("--changes", feed, "--follow")
    written(feed, range(3))
    store = ("--store-path", tmp_path / "store", "--backups", folder)
    with running(tmp_path / "errors", *store, *following) as (process, url):
        until(lambda: entries(url) == 3)
        assert until(lambda: "rdflive_feed_lag_bytes 0.0" in read(f"{url}/metrics"))
        request = urllib.request.Request(f"{url}/backup?name=copy", method="POST")
        urllib.request.urlopen(request, timeout=30).close()
        written(feed, range(3, 5))
        until(lambda: entries(url) == 5)
        before = history(url)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    written(feed, range(5, 6))
    with running(tmp_path / "errors", folder / "copy", *following) as (_, url):
        until(lambda: len(content(url)) == 6)
        assert content(url) == [f"urn:{number}" for number in range(6)]
        assert entries(url) == 3
        # ids of the lost commits name other states than those of the copy
        assert history(url) != before
        urllib.request.urlopen(f"{url}/update", INSERT, timeout=30).close()
        assert content(url)[-1] == "urn:x"


def test_a_backup_in_the_place_of_the_store_begins_another_history(tmp_path: Path) -> None:
    """Also beside the log of the lost store; the command itself leaves the history of a store alone."""
    store, copy, errors = tmp_path / "store", tmp_path / "copy", tmp_path / "errors"
    with running(errors, "--store-path", store) as (process, url):
        urllib.request.urlopen(f"{url}/update", INSERT, timeout=30).close()
        first = history(url)
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert main(["backup", str(store), str(copy)]) == 0
    with running(errors, store) as (process, url):
        assert history(url) == first
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    shutil.rmtree(store)
    copy.rename(store)
    with running(errors, store) as (_, url):
        assert content(url) == ["urn:x"]
        assert history(url) != first


def test_systemd_is_told_when_clients_are_served_and_when_it_ends(tmp_path: Path) -> None:
    """READY after the load, when requests are answered, and STOPPING at the end."""
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(path))
        receiver.settimeout(30)
        with running(tmp_path / "errors", NOTIFY_SOCKET=str(path)) as (process, url):
            assert receiver.recv(100) == b"READY=1"
            assert json.loads(read(f"{url}/ready"))["status"] == "ready"
            process.send_signal(signal.SIGTERM)
            assert receiver.recv(100) == b"STOPPING=1"
            assert process.wait(30) == 143
