"""`rdflive serve` as a process that can be killed and restarted, and a network that can be cut."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from urllib.parse import urlencode

from support.event_server import Cable as Network

__all__ = ["RAILWAY", "Network", "Served"]

PATIENCE = 30.0
RAILWAY = """PREFIX : <http://example.org/>
DROP ALL ;
INSERT DATA { :T1 a :Train ; rdfs:label "Dunes"@en ; :delay 4 . :T2 a :Train ; :delay 7 . :T3 a :Train }"""
"""An update that replaces all data by a small graph of trains."""


class Served:
    """A server on its own port, which stays the same after restarts."""

    def __init__(self, *arguments: str | os.PathLike[str], patience: float = PATIENCE) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self._arguments = [os.fspath(argument) for argument in arguments]
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Served:
        """Start the server and wait until it answers."""
        command = [sys.executable, "-m", "rdflive", "serve", "--listen", f"127.0.0.1:{self.port}"]
        self._process = subprocess.Popen([*command, *self._arguments], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + self._patience
        while not self._answers():
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
        return self

    def kill(self) -> None:
        """Kill the server at once, as a power cut does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def update(self, text: str, **headers: str) -> None:
        """Send a SPARQL update."""
        self._ask("update", urlencode({"update": text}).encode(), headers)

    def query(self, text: str, **headers: str) -> bytes:
        """Send a SPARQL query and return its result as JSON."""
        accept = {"Accept": "application/sparql-results+json"}
        return self._ask("query", urlencode({"query": text}).encode(), accept | headers)

    def count(self, triples: int) -> None:
        """Wait until the server has counted the vocabulary of `triples` triples."""
        deadline = time.monotonic() + PATIENCE
        while not self._has_counted(triples):
            assert time.monotonic() < deadline, "the vocabulary is not counted"
            time.sleep(0.05)

    def _has_counted(self, triples: int) -> bool:
        told = json.loads(self._ask("vocabulary"))
        return bool(told["complete"] and told["triples"] == triples)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the server ended"
        with suppress(OSError):
            return bool(self._ask("health"))
        return False

    def _ask(self, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> bytes:
        request = urllib.request.Request(self.url + path, body, headers or {})
        with urllib.request.urlopen(request, timeout=self._patience) as response:
            content: bytes = response.read()
            return content

    def __enter__(self) -> Served:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()
