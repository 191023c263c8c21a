"""What clients, queries and replicas cost a server, for docs/sizing.md: `python tests/bench/sizing.py`.

Each case starts a server of 1,000 triples in memory, connects clients, and sends updates one by one: the next
one when every client that it concerns has the event of the last. So no events are merged, and the time of
other processes does not count, as the figures are processor time and memory of the server's process.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

if not __package__:  # started by path: let `bench` be found beside it
    sys.path[0] = str(Path(__file__).parents[1])

from bench.child import resident
from support.served import Served

__all__ = ["measure"]

_SENSORS: Final = 1000
_ONE: Final = "SELECT ?sensor ?value { ?sensor <urn:value> ?value }"
_TOGETHER: Final = 100
_PATIENCE: Final = 600.0


class _Clients:
    """Connections that follow queries, and count what comes."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._opening = asyncio.Semaphore(_TOGETHER)
        self.events = self.bytes = 0
        self.changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, queries: list[str]) -> None:
        self._tasks = [asyncio.create_task(self._follow(query)) for query in queries]
        await self.reach(len(queries))
        self.events = self.bytes = 0

    async def reach(self, events: int) -> None:
        """Wait until so many events have come."""
        while self.events < events:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), _PATIENCE)

    async def _follow(self, query: str) -> None:
        async with self._opening:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            target = f"/subscribe?{urlencode({'query': query})}"
            writer.write(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
        text = b""
        while True:
            size = int(await reader.readuntil(b"\r\n"), 16)
            text += (await reader.readexactly(size + 2))[:-2]
            *events, text = text.split(b"\n\n")
            for event in events:
                if b"event: heartbeat" not in event:
                    self.events += 1
                    self.bytes += len(event) + 2
                    self.changed.set()

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


@contextmanager
def _server(*options: str) -> Iterator[tuple[Served, int]]:
    served = Served("--subscriptions", "100000", *options, patience=_PATIENCE)
    try:
        served.start()
        process: Any = served._process
        yield served, process.pid
    finally:
        served.kill()


def _cpu(pid: int) -> float:
    """Seconds of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


async def _play(served: Served, pid: int, queries: list[str], updates: int, each: int) -> dict[str, float]:
    """Send updates, each of which concerns `each` clients; return the figures of the server."""
    clients = _Clients(served.port)
    await clients.open(queries)
    memory, cpu = resident(pid), _cpu(pid)
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=_PATIENCE)
    for number in range(updates):
        sensor = number % _SENSORS
        old, new = number // _SENSORS, number // _SENSORS + 1
        text = (
            f"DELETE DATA {{ <urn:s{sensor}> <urn:value> {old} }} ; "
            f"INSERT DATA {{ <urn:s{sensor}> <urn:value> {new} }}"
        )
        connection.request("POST", "/update", text, {"Content-Type": "application/sparql-update"})
        answer = connection.getresponse()
        assert answer.status == 204, answer.read()
        answer.read()
        await clients.reach((number + 1) * each)
    connection.close()
    figures = {
        "memory": memory / 2**20,
        "cpu": (_cpu(pid) - cpu) / updates * 1000,
        "bytes": clients.bytes / clients.events if clients.events else 0.0,
    }
    clients.close()
    return figures


def _fill(served: Served) -> None:
    rows = " . ".join(f"<urn:s{i}> <urn:value> 0" for i in range(_SENSORS))
    served.update(f"INSERT DATA {{ {rows} }}")


def measure(clients: tuple[int, ...], updates: int) -> list[dict[str, Any]]:
    """Return a row of figures for each case."""
    rows: list[dict[str, Any]] = []
    for count in (0, *clients):
        with _server() as (served, pid):
            _fill(served)
            figures = asyncio.run(_play(served, pid, [_ONE] * count, updates, count))
            rows.append({"case": "one query for all", "clients": count, **figures})
    for count in clients:
        queries = [f"SELECT ?value {{ <urn:s{i}> <urn:value> ?value }}" for i in range(count)]
        with _server() as (served, pid):
            _fill(served)
            # only the first sensors have a query
            figures = asyncio.run(_play(served, pid, queries, min(updates, count), 1))
            rows.append({"case": "a query for each", "clients": count, **figures})
    with ExitStack() as stack:
        served, pid = stack.enter_context(_server())
        _fill(served)
        replica, other = stack.enter_context(_server("--follow", served.url))
        before = _cpu(other)
        figures = asyncio.run(_play(served, pid, [], updates, 0))
        deadline = time.monotonic() + _PATIENCE
        while not _has(replica, updates + 1):
            assert time.monotonic() < deadline, "the replica does not follow"
            time.sleep(0.1)
        rows.append({"case": "a primary with one replica", "clients": 0, **figures})
        cpu = (_cpu(other) - before) / updates * 1000
        rows.append(
            {"case": "the replica", "clients": 0, "memory": resident(other) / 2**20, "cpu": cpu, "bytes": 0}
        )
    return rows


def _has(replica: Served, number: int) -> bool:
    text = replica._ask("metrics").decode()
    return f"\nrdflive_commits {number}.0" in text


def main() -> None:
    """Measure, and print the rows as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(tuple(options.clients), options.updates)
    if options.json:
        print(json.dumps(rows))
        return
    print("| case | clients | memory, MB | CPU per update, ms | bytes per event |\n|---|---|---|---|---|")
    for row in rows:
        print("| {case} | {clients:,} | {memory:.0f} | {cpu:.2f} | {bytes:.0f} |".format(**row))


if __name__ == "__main__":
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    main()
