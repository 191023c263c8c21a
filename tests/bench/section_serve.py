"""(q) Many clients of one server: one query for all, many different ones, and some that never read."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import urlencode

from bench.child import resident
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import Sizes
from bench.worlds import EX

VALUE: Final = f"<{EX}value>"
ONE: Final = f"SELECT ?sensor ?value {{ ?sensor {VALUE} ?value }}"
SENSORS: Final = 1000
RATE: Final = 1000
"""Updates per second that most cases request."""
FAST: Final = 1500
FILTERS: Final = 300
"""Different filters."""
MATCHING: Final = 0.3
"""The share of updates with DELETE WHERE in the case with those."""
WRITERS: Final = 8
"""Connections over which updates come."""
PATIENCE: Final = 60.0
OXIGRAPH: Final = str(Path(sys.executable).with_name("oxigraph"))
"""The program of the package `oxigraph`, which is not installed everywhere."""
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}

PAGE = Page(
    "q",
    "Many clients of one server",
    "Writers request 1,000 or 1,500 updates a second, while clients follow queries, all on two cores; each "
    "update deletes a triple and inserts one.",
    "Delays are those of clients that read more slowly than the server delivers: the server merges what "
    "they have not read.",
    "case together asked done update clients each median slowest",
)


def run(sizes: Sizes) -> Section:
    """Write to a server while a crowd follows it; every client must have the answer in the end."""
    section = Section(
        "serve",
        f"{sizes.clients:,} clients of a server, {RATE:,} or {FAST:,} updates per second requested",
        sizes.clients,
        "case | together: updates per request | asked: updates per second requested | "
        "done: updates per second | events: events per second | median: median delay, ms | "
        "slowest: 99th percentile, ms | wrong: clients with a wrong answer | "
        "before: memory with all clients, MB | after: memory at the end, MB | "
        "update: server's CPU per update, ms | clients: CPU of clients and writers, % of a core | "
        "each: memory per client, KB",
    )
    count = sizes.clients
    all_same, each = [ONE] * count, [_query(i) for i in range(count)]
    compared, filtered = ([text(i) for i in range(min(FILTERS, count))] for text in (_compared, _filtered))
    for case, plan, pace in (
        ("one client, one query", _Plan([ONE]), _Pace()),
        ("one query for all", _Plan(all_same), _Pace()),
        ("one query for all", _Plan(all_same), _Pace(rate=FAST)),
        ("one query for all", _Plan(all_same), _Pace(together=10)),
        ("one query for all, shared commits", _Plan(all_same), _Pace(rate=FAST, prefers="shared-commit")),
        ("one query for all, 30 % DELETE WHERE", _Plan(all_same), _Pace(matching=MATCHING)),
        ("one query for all, and 10 that never read", _Plan(all_same, stalled=10), _Pace(together=10)),
        ("a query for each", _Plan(each), _Pace()),
        ("a query for each", _Plan(each), _Pace(together=10)),
        (f"{len(compared)} filters that compare with other terms", _Plan(compared), _Pace()),
        (f"{len(filtered)} filters with other functions", _Plan(filtered), _Pace()),
    ):
        section.rows.append({"case": case, **_measure(plan, pace, sizes.serving)})
    section.rows.append({"case": f"polled by {WRITERS} clients instead", **_polled(sizes.serving)})
    if shutil.which(OXIGRAPH):
        section.rows.append({"case": "Oxigraph's own server, no client", **_unfollowed(sizes.serving)})
    return section


def _query(i: int) -> str:
    return f"SELECT ?value {{ <{EX}sensor{i}> {VALUE} ?value }}"


def _compared(i: int) -> str:
    return f"SELECT ?value {{ ?sensor {VALUE} ?value FILTER(?sensor = <{EX}sensor{i}>) }}"


def _filtered(i: int) -> str:
    return f'SELECT ?value {{ ?sensor {VALUE} ?value FILTER(STRENDS(STR(?sensor), "/sensor{i}")) }}'


@dataclass(frozen=True)
class _Pace:
    """How updates are sent."""

    together: int = 1
    """Updates in a request."""
    rate: int = RATE
    """Updates per second."""
    matching: float = 0.0
    """The share of updates that delete by a pattern."""
    prefers: str = ""
    """The header Prefer."""


@dataclass(frozen=True)
class _Plan:
    """What a crowd does, see `crowd.py`."""

    queries: list[str]
    stalled: int = 0


@dataclass
class _Writers:
    """Sends updates at a rate, as far as the server keeps up, and knows what the graph holds then."""

    port: int
    pace: _Pace
    values: dict[int, str] = field(default_factory=dict)
    commits: dict[int, int] = field(default_factory=dict)
    """The number of the last commit of each sensor."""
    sent: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    """Seconds of the processor that the writers took."""

    async def run(self, seconds: float) -> None:
        start, self.cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(self._write(number, start, start + seconds) for number in range(WRITERS)))
        self.seconds, self.cpu = time.perf_counter() - start, time.process_time() - self.cpu

    async def _write(self, number: int, start: float, end: float) -> None:
        """Keep to sensors of its own, whose updates then come in order."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        sensor, random, together = number, Random(number), self.pace.together
        prefer = f"Prefer: {self.pace.prefers}\r\n" if self.pace.prefers else ""
        while time.perf_counter() < end:
            early = start + self.sent / self.pace.rate - time.perf_counter()
            if early > 0:
                await asyncio.sleep(early)
            self.sent += together
            value = f"at {time.time():.5f}"
            changed = [(sensor + i * WRITERS) % SENSORS for i in range(together)]
            text = " ; ".join(
                self._update(each, value, matches=random.random() < self.pace.matching) for each in changed
            )
            head = f"POST /update HTTP/1.1\r\nHost: 127.0.0.1\r\n{prefer}Content-Length: {len(text)}\r\n"
            writer.write(f"{head}Content-Type: application/sparql-update\r\n\r\n{text}".encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            found = re.search(rb"rdflive-sequence: (\d+)", answer)
            assert answer.startswith(b"HTTP/1.1 204"), answer
            sequence = 0 if found is None else int(found[1])  # another server has none
            for each in changed:
                self.values[each], self.commits[each] = value, sequence
            sensor = (changed[-1] + WRITERS) % SENSORS
        writer.close()

    def figures(self, events: int) -> dict[str, Cell]:
        """Say how many updates were sent, and how many events came meanwhile."""
        rates = cells(done=self.sent / self.seconds, events=events / self.seconds)
        return {"together": self.pace.together, "asked": self.pace.rate, **rates}

    def reached(self, plan: _Plan) -> list[float]:
        """Give the sequence to which each subscription of a plan must come."""
        if plan.queries[0] == ONE:
            return [max(self.commits.values())] * len(plan.queries)
        return [self.commits.get(i, 0) for i in range(len(plan.queries))]

    def _update(self, sensor: int, value: str, *, matches: bool) -> str:
        node, old = f"<{EX}sensor{sensor}> {VALUE}", self.values.get(sensor)
        insert = f'INSERT DATA {{ {node} "{value}" }}'
        if old is None:
            return insert
        return (
            f"DELETE WHERE {{ {node} ?old }} ; {insert}"
            if matches
            else f'DELETE DATA {{ {node} "{old}" }} ; {insert}'
        )


def _measure(plan: _Plan, pace: _Pace, seconds: float) -> dict[str, Cell]:
    with _server() as (port, process):
        empty = resident(process.pid)
        with _crowd(port, asdict(plan)) as (crowd, followers):
            before, cpu, theirs = resident(process.pid), _cpu(process.pid), _cpu(followers)
            writers = _Writers(port, pace)
            asyncio.run(writers.run(seconds))
            cpu = _cpu(process.pid) - cpu
            clients = (_cpu(followers) - theirs + writers.cpu) / writers.seconds
            after = resident(process.pid)
            has_one = plan.queries[0] == ONE
            outcome = crowd({"reached": writers.reached(plan), "patience": PATIENCE})
        wrong = 0
        for client, number in enumerate(outcome["answers"]):
            values = sorted(row[-1] for row, _ in outcome["distinct"][number])
            right = (
                sorted(writers.values.values()) if has_one else [*filter(None, [writers.values.get(client)])]
            )
            wrong += values != right or any(count != 1 for _, count in outcome["distinct"][number])
        delays = {key: outcome[key] * 1000 for key in ("median", "slowest")}
        held = cells(
            before=before / 2**20,
            after=after / 2**20,
            # that of one client is mostly what the first subscription imports
            each=(before - empty) / 2**10 / len(plan.queries) if len(plan.queries) > 1 else None,
            update=cpu / writers.sent * 1000,
            clients=clients * 100,
            wrong=wrong + outcome["lost"],
        )
        return {**writers.figures(outcome["events"]), **delays, **held}


def _polled(seconds: float) -> dict[str, Cell]:
    with _server("--queries", str(WRITERS)) as (port, process):
        writers, answers = _Writers(port, _Pace(together=10)), [0] * WRITERS
        before, cpu = resident(process.pid) / 2**20, _cpu(process.pid)
        end = time.monotonic() + seconds

        def poll(number: int) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            while time.monotonic() < end:
                connection.request("POST", "/query", urlencode({"query": ONE}), FORM)
                connection.getresponse().read()
                answers[number] += 1
            connection.close()

        threads = [threading.Thread(target=poll, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        asyncio.run(writers.run(seconds))
        for thread in threads:
            thread.join()
        after, update = resident(process.pid) / 2**20, (_cpu(process.pid) - cpu) / writers.sent * 1000
        return {**writers.figures(sum(answers)), **cells(before=before, after=after, update=update)}


def _unfollowed(seconds: float) -> dict[str, Cell]:
    """Write to Oxigraph's own server, which has no subscriptions."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        [OXIGRAPH, "serve", "--bind", f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL
    ) as process:
        try:
            while not _answers(port):
                time.sleep(0.05)
            before, cpu = resident(process.pid) / 2**20, _cpu(process.pid)
            writers = _Writers(port, _Pace(rate=FAST))
            asyncio.run(writers.run(seconds))
            update = (_cpu(process.pid) - cpu) / writers.sent * 1000
            after, clients = resident(process.pid) / 2**20, writers.cpu / writers.seconds * 100
            return {**writers.figures(0), **cells(before=before, after=after, update=update, clients=clients)}
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _server(*options: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "rdflive", "serve", "--listen", "127.0.0.1:0", "--subscriptions", "5000"]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            found = next(
                filter(None, (re.search(r"serving .*:(\d+)/", line) for line in process.stderr)), None
            )
            assert found is not None, "the server has ended"
            yield int(found[1]), process
        finally:
            process.terminate()


@contextmanager
def _crowd(port: int, plan: Any) -> Iterator[Any]:
    """Open a crowd; give a function that stops it and returns its outcome, and the crowd's process id."""
    command = [sys.executable, str(Path(__file__).with_name("crowd.py")), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def told(message: Any) -> Any:
            print(json.dumps(message), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())  # type: ignore[union-attr]  # asserted above

        try:
            told(plan)
            yield told, process.pid
        finally:
            process.terminate()


def _cpu(pid: int) -> float:
    """Seconds of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
