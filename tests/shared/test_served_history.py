"""The history of schema.org from a feed through `watch` and `serve` to a client in another process."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rdflib

import rdflive
from rdflive.model import Delta
from support.effort import HUNT
from support.history import history
from support.served import Served

pytest.importorskip("starlette", reason="serving needs rdflive[server]")
pytestmark = pytest.mark.posix("the server forks")

QUERIES = [
    "SELECT ?s ?label { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?label }",
    "SELECT (COUNT(*) AS ?n) { ?s a <http://www.w3.org/2000/01/rdf-schema#Class> }",
    "SELECT ?c ?parent { ?c <http://www.w3.org/2000/01/rdf-schema#subClassOf> ?parent "
    "FILTER NOT EXISTS { ?parent <http://www.w3.org/2000/01/rdf-schema#subClassOf> ?above } }",
]
PATIENCE = 120.0


@pytest.mark.shared
def test_the_history_of_schema_org_reaches_clients_across_a_restart(tmp_path: Path) -> None:
    """`watch` writes a log, `serve` follows it and is killed half-way; clients add up to rdflib's answers."""
    served = history("served")
    base, changes = served.files(tmp_path)
    log = tmp_path / "log.rdfp"
    log.touch()
    copy = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
    watch = [sys.executable, "-m", "rdflive", "watch", base, "--query", copy, "--changes", changes]
    options = ["--to", "patch", "--out", log, "--pace", "0.05"]
    server = Served("--store-path", tmp_path / "store", "--changes", log, "--follow")
    told: list[list[Delta]] = [[] for _ in QUERIES]
    with server, subprocess.Popen([*map(str, watch), *map(str, options)], stderr=subprocess.PIPE) as writing:
        connection = rdflive.connect(server.url)
        subscriptions = [
            connection.subscribe(query, deltas.append) for query, deltas in zip(QUERIES, told, strict=True)
        ]
        half = len(served.batches) // 2
        _until(lambda: len(told[0]) > 1 and log.read_bytes().count(b"\nTC .") > half)
        server.kill()
        server.start()
        assert writing.wait(PATIENCE) == 0, writing.stderr
        final = _final(base, changes)
        expected = [_rows(final.query(query)) for query in QUERIES]
        _until(lambda: [_listed(subscription) for subscription in subscriptions] == expected)
        for subscription, deltas, rows in zip(subscriptions, told, expected, strict=True):
            assert subscription.last_error is None
            assert [delta.initial for delta in deltas] == [True] + [False] * (len(deltas) - 1)
            assert _sum(deltas) == rows
            subscription.close()
    assert not HUNT or len(told[0]) > 6


def _until(condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def _final(base: Path, changes: Path) -> rdflib.Graph:
    """What rdflib makes of the whole history."""
    final = rdflib.Dataset()
    for target, path, form in ((final.default_graph, base, "nt"), (final, changes, "patch")):
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as content:
            target.parse(content, format=form)
    return final.default_graph


def _rows(result: Any) -> Counter[Any]:
    return Counter(tuple(row) for row in result)


def _listed(subscription: Any) -> Counter[Any]:
    return Counter(subscription.answers())


def _sum(deltas: list[Delta]) -> Counter[Any]:
    total: Counter[Any] = Counter()
    for delta in deltas:
        total.update(delta.added)
        total.subtract(delta.removed)
    assert min(total.values(), default=0) >= 0
    return +total
