"""Readiness, metrics and the dashboard."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import urllib.request
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

import pytest
import rdflib
from prometheus_client.parser import text_string_to_metric_families

from support.pages import DOCS
from support.raw_requests import HOST, raw, status
from support.serving import Serving, serving
from support.waiting import until

pytestmark = pytest.mark.posix("the server forks")

SERVICE = DOCS.parent / "examples" / "service"
QUERY = quote("SELECT * { ?s <urn:p> ?o }")


def told(served: Serving, path: str) -> tuple[int, Any]:
    """Return the status and the JSON of a path."""
    try:
        with urllib.request.urlopen(f"{served.url}{path}", timeout=30) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def metrics(served: Serving) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the values of all metrics, by name and by the values of their labels."""
    with urllib.request.urlopen(f"{served.url}/metrics", timeout=30) as answer:
        found: dict[str, dict[tuple[str, ...], float]] = {}
        for family in text_string_to_metric_families(answer.read().decode()):
            for sample in family.samples:
                found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
        return found


def test_a_server_is_ready_while_clients_should_use_it() -> None:
    """Not while its feed has stopped, although it is alive; the gauge tells the same."""
    with serving() as served:
        service = served.service
        assert told(served, "/ready") == (200, {"status": "ready", "reasons": []})
        assert metrics(served)["rdflive_ready"] == {(): 1.0}
        for feed, code in (("following", 200), ("ended", 200), ("stopped", 503)):
            service.feed = feed  # type: ignore[assignment]
            assert told(served, "/ready")[0] == code
        assert told(served, "/ready")[1]["reasons"] == [
            "the feed has stopped: the log of the server has the reason"
        ]
        assert metrics(served)["rdflive_ready"] == {(): 0.0}
        assert told(served, "/health") == (200, {"status": "ok", "feed": "stopped"})


def test_a_server_that_shuts_down_is_not_ready() -> None:
    """While an accepted update is still running."""
    with serving() as served:
        service, go_on = served.service, threading.Event()
        loop = service.topics._pace._loop
        entered = threading.Event()

        def waits() -> None:
            entered.set()
            go_on.wait()

        writing = asyncio.run_coroutine_threadsafe(service.threads.write(waits), loop)
        assert entered.wait(30)
        stopping = asyncio.run_coroutine_threadsafe(service.stop(), loop)
        try:
            until(lambda: service.is_stopping)
            assert told(served, "/ready") == (
                503, {"status": "not ready", "reasons": ["the server is shutting down"]},
            )  # fmt: skip
        finally:
            go_on.set()
        writing.result(30)
        stopping.result(30)


def test_the_lag_of_clients_is_in_buckets() -> None:
    """Of a client that waits and of one that has read nothing for three commits."""
    with serving() as served:
        service = served.service
        request = f"GET /subscribe?query={QUERY} HTTP/1.1\r\n".encode() + HOST + b"\r\n"
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
            connection.sendall(request)
            assert until(lambda: b"initial" in connection.recv(4096))
            name = "rdflive_subscriber_lag_commits"
            found = metrics(served)
            assert found[f"{name}_bucket"][("0",)] == found[f"{name}_bucket"][("+Inf",)] == 1.0
            (topic,) = service.topics
            reader = next(iter(topic.followers._followers)).reader
            place = reader.place
            for number in range(3):
                body = f"INSERT DATA {{ <urn:{number}> <urn:p> 1 }}".encode()
                assert (
                    status(served, "POST", "/update", body, Content_Type="application/sparql-update") == 204
                )
            until(lambda: reader.place == place + 3)
            reader.place = place
            found = metrics(served)
            assert [found[f"{name}_bucket"][(bound,)] for bound in ("0", "1", "10", "+Inf")] == [
                0,
                0,
                1,
                1,
            ]
            assert found[f"{name}_max"] == {(): 3.0}
            assert found["rdflive_connections"][()] == 2.0
            assert found["rdflive_request_seconds_count"][("/update",)] == 3.0
            reader.place = place + 3


def test_bytes_in_flight_are_counted() -> None:
    """A body that has not arrived in full, and none afterwards."""
    half = (
        b"POST /update HTTP/1.1\r\n"
        + HOST
        + b"Content-Length: 9\r\nContent-Type: application/sparql-update\r\n\r\n1234"
    )
    with serving(rdflib.Dataset()) as served:
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
            connection.sendall(half)
            until(lambda: metrics(served)["rdflive_body_bytes"][()] == 4.0)
        until(lambda: metrics(served)["rdflive_body_bytes"][()] == 0.0)


def test_every_metric_of_the_dashboard_exists() -> None:
    """The names in its expressions are those of a server with a feed, and of a replica."""
    dashboard = json.loads((SERVICE / "grafana.json").read_text())
    texts = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    names = {name for text in texts for name in re.findall(r"\b(?:rdflive|process)_\w+", text)}
    assert len(names) > 10
    with serving() as served:
        served.service.feed, served.service.feed_lag = "following", lambda: 0
        lag = SimpleNamespace(commits=0, seconds=0.0)
        served.service.replica = SimpleNamespace(
            lag=lag, is_connected=True, resyncs=0, close=lambda: None, unready=str
        )
        assert status(served, "GET", f"/query?query={QUERY}") == 200
        assert names - set(metrics(served)) == set()
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))


def test_names_of_metrics_are_those_of_prometheus() -> None:
    """Counters end in _total, units are in base units, and there is no series for each client."""
    with serving() as served:
        for _ in range(3):
            raw(served, f"GET /subscribe?query={QUERY} HTTP/1.1\r\n".encode() + HOST + b"\r\n")
        found = metrics(served)
        own = {name: values for name, values in found.items() if name.startswith("rdflive_")}
        assert not [name for name in own if re.search(r"milli|_ms\b|_kb\b|_mb\b", name)]
        assert max(map(len, own.values())) < 60
