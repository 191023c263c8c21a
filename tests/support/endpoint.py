"""A third-party SPARQL endpoint on a free port of this machine, and its content."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
import rdflib
from rdflib.query import Result

_RDFLIB_ENDPOINT = """
import socket, sys, threading, rdflib, uvicorn
from rdflib_endpoint import SparqlEndpoint

app = SparqlEndpoint(graph=rdflib.Dataset(), enable_update=True)
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
threading.Thread(target=lambda: (sys.stdin.read(), setattr(server, "should_exit", True)), daemon=True).start()
server.run([listening])
"""


class RunningEndpoint:
    """The URL of an endpoint, and requests that share no code with rdflive."""

    def __init__(self, url: str) -> None:
        self.url = url

    def update(self, text: str) -> None:
        """Run a SPARQL update."""
        request = Request(self.url, text.encode(), {"Content-Type": "application/sparql-update"})
        with urlopen(request, timeout=60) as response:
            response.read()

    def graph(self) -> rdflib.Graph:
        """Get the default graph."""
        url = f"{self.url}?query={quote('CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }')}"
        with urlopen(Request(url, headers={"Accept": "application/n-triples"}), timeout=60) as response:
            return rdflib.Graph().parse(data=response.read(), format="nt")

    def named(self) -> rdflib.Graph:
        """Get all named graphs as comparable triples, with the graph's name in the predicate."""
        url = f"{self.url}?query={quote('SELECT * WHERE { GRAPH ?g { ?s ?p ?o } }')}"
        with urlopen(
            Request(url, headers={"Accept": "application/sparql-results+json"}), timeout=60
        ) as response:
            rows: Any = Result.parse(response, format="json")
        graph = rdflib.Graph()
        for row in rows:
            graph.add((row.s, mark(row.p, row.g), row.o))
        return graph


def mark(predicate: Any, graph: Any) -> rdflib.URIRef:
    """Put the name of a graph into a predicate."""
    return rdflib.URIRef(f"{predicate}?graph={quote(str(graph), safe='')}")


@contextmanager
def rdflib_endpoint() -> Iterator[RunningEndpoint]:
    """Run rdflib-endpoint over an empty Dataset in a process of its own."""
    pytest.importorskip("rdflib_endpoint", reason="needs rdflib-endpoint")
    command = [sys.executable, "-c", _RDFLIB_ENDPOINT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            assert process.stdout is not None
            yield _ready(f"http://127.0.0.1:{int(process.stdout.readline())}/", process)
        finally:
            process.kill()


def _ready(url: str, process: subprocess.Popen[bytes]) -> RunningEndpoint:
    deadline = time.monotonic() + 120
    while True:
        try:
            with urlopen(f"{url}?query={quote('ASK {}')}", timeout=60) as response:
                json.dumps(response.status)
                return RunningEndpoint(url)
        except URLError:
            assert process.poll() is None, "the endpoint ended"
            assert time.monotonic() < deadline, "the endpoint did not start"
            time.sleep(0.1)
