"""Connections that send nothing, or a byte now and then, and what another client notices of them.

`python tests/bench/idle_crowd.py [CONNECTIONS]` starts a server, opens the connections from 127.0.0.2, half
of them idle and half with a request that never becomes complete, and prints what requests from 127.0.0.1
take before and meanwhile. It needs as many open files as connections, in each of the two processes.
"""

from __future__ import annotations

import re
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles

if not __package__:  # started by path: let `support` be found
    sys.path[0] = str(Path(__file__).parents[1])

from support.waiting import until

CONNECTIONS = 10_000
REQUESTS = 300
COUNTS = ("rdflive_connections", "rdflive_connections_refused_total")
HEADS = (
    b"GET /query?query=ASK HTTP/1.1\r\nHost: 127",
    b"POST /update HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/sparql-update\r\n"
    b"Content-Length: 900\r\n\r\nIN",
)
"""A head and a body that do not become complete."""
OPTIONS = ("--listen", "127.0.0.1:0", "--header-seconds", "3600", "--body-seconds", "3600")


@contextmanager
def serving(*options: str) -> Iterator[tuple[int, int]]:
    """Run a server; give its port and process."""
    with tempfile.NamedTemporaryFile("r") as errors:
        command = [sys.executable, "-m", "rdflive", "serve", *OPTIONS, *options]
        with subprocess.Popen(command, stderr=open(errors.name, "w")) as process:
            try:
                found = until(lambda: re.search(r"serving http://\S+:(\d+)/", Path(errors.name).read_text()))
                yield int(found[1]), process.pid
            finally:
                process.terminate()


def requests(port: int) -> list[float]:
    """Return the milliseconds of updates and pages of metrics, each on its own connection."""
    times = []
    for number in range(REQUESTS):
        begun = time.perf_counter()
        with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            if number % 10:
                body = f"INSERT DATA {{ <urn:{number}> <urn:p> {time.time_ns()} }}"
                connection.request("POST", "/update", body, {"Content-Type": "application/sparql-update"})
            else:
                connection.request("GET", "/metrics")
            answer = connection.getresponse()
            answer.read()
            assert answer.status in (200, 204), answer.status
        times.append(1000 * (time.perf_counter() - begun))
    return times


def refused_of(port: int, count: int) -> int | None:
    """Return how many connections the server has refused; None until it has seen all."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    counts = [re.search(rf"^{name} (\S+)$", text, re.MULTILINE) for name in COUNTS]
    opened, refused = (int(float(found[1])) for found in counts if found is not None)
    return refused if opened + refused >= count else None


def crowd(stack: ExitStack, port: int, count: int) -> tuple[list[socket.socket], int]:
    """Open connections; return them, and how many the server refused."""
    opened = []
    for number in range(count):
        connection = socket.create_connection(("127.0.0.1", port), 60, source_address=("127.0.0.2", 0))
        stack.enter_context(connection)
        # half of them idle
        if number % 2:
            with suppress(OSError):  # refused already
                connection.sendall(HEADS[number // 2 % 2])
        opened.append(connection)
    found: list[int] = []
    until(lambda: found.extend(each for each in [refused_of(port, count)] if each is not None) or found)
    return opened, found[0]


def megabytes(process: int) -> float:
    """Return the memory of a process."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) / 1000


def show(what: str, times: list[float], process: int, refused: int) -> None:
    """Print a line of the table."""
    last = quantiles(times, n=100)[98]
    memory = megabytes(process)
    print(f"| {what} | {refused:,} | {median(times):.2f} | {last:.1f} | {memory:.0f} |", flush=True)


def main() -> None:
    """Measure without limits for connections, and with the default ones."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CONNECTIONS
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print("| connections | refused | ms, median | ms, 99 % | MB |\n|---|--:|--:|--:|--:|")
    for what, options in (("all accepted", ["--connections", str(2 * count)]), ("the default limits", [])):
        with serving(*options) as (port, process), ExitStack() as stack:
            requests(port)
            show(f"none, {what}", requests(port), process, 0)
            opened, refused = crowd(stack, port, count)
            times = requests(port)
            for connection in opened[1::20]:
                with suppress(OSError):
                    connection.sendall(b"x")
            show(f"{count:,}, {what}", times + requests(port), process, refused)


if __name__ == "__main__":
    main()
