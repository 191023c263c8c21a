"""Clients that follow queries of `kill.updates`, and check every event: `python -m kill.swarm PORT TOKEN`.

It reads a line of JSON with `clients`, `seed` and `updates`, and prints a line when all have their first
answer. It reads a second line when all updates are sent, waits until all clients have the last answers, and
prints the counts.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import sys
import time
from typing import Any, Final
from urllib.parse import urlencode

from kill.updates import GROUPS, History, query

_TOGETHER: Final = 64
"""Connections that are made at the same time."""


class Swarm:
    """All clients, and what they have found."""

    def __init__(self, port: int, token: str, history: History, seed: int) -> None:
        self.port, self.token, self.history = port, token, history
        self.chance = random.Random(seed)
        self.opening = asyncio.Semaphore(_TOGETHER)
        self.counts = dict.fromkeys(("events", "connections", "resyncs", "wrong", "repeated"), 0)
        self.examples: list[str] = []

    def found(self, what: str, example: str) -> None:
        """Count a finding; the first ones are written to standard error."""
        self.counts[what] += 1
        if len(self.examples) < 10:
            self.examples.append(example)
            print(f"{what}: {example}", file=sys.stderr, flush=True)


class Client:
    """One subscription over any number of connections."""

    def __init__(self, swarm: Swarm, group: int) -> None:
        self._swarm = swarm
        self._group = group
        self._target = f"/subscribe?{urlencode({'query': query(group)})}"
        self.sequence = 0
        self._id = ""
        self._answer: dict[str, str] = {}
        self.reader: asyncio.StreamReader | None = None

    async def run(self) -> None:
        """Follow for ever."""
        while True:
            await self._follow_once()
            await asyncio.sleep(self._swarm.chance.uniform(0.05, 0.5))

    async def _follow_once(self) -> None:
        writer: asyncio.StreamWriter | None = None
        try:
            async with self._swarm.opening:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._swarm.port)
                last = f"Last-Event-ID: {self._id}\r\n" if self._id else ""
                writer.write(
                    f"GET {self._target} HTTP/1.1\r\nHost: example.org\r\n"
                    f"Authorization: Bearer {self._swarm.token}\r\n{last}\r\n".encode()
                )
                head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                assert head[9:12] in (b"502", b"503", b"504"), head  # a process is down
                return
            self._swarm.counts["connections"] += 1
            await self._events(reader)
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            if writer is not None:
                writer.close()

    async def _events(self, reader: asyncio.StreamReader) -> None:
        text = b""
        while True:
            size = int(await reader.readuntil(b"\r\n"), 16)
            if not size:
                return
            text += (await reader.readexactly(size + 2))[:-2]
            *events, text = text.split(b"\n\n")
            for event in events:
                self._take(event.decode())

    def _take(self, event: str) -> None:
        fields = dict(line.split(": ", 1) for line in event.split("\n") if ": " in line)
        kind = fields.get("event", "")
        if kind == "resync":
            self._swarm.found("resyncs", f"{self._id}: {event}")
            self._id, self.sequence = "", 0
            return
        if kind not in ("initial", "update"):
            self._id = fields.get("id", self._id)
            return
        data: dict[str, Any] = json.loads(fields["data"])
        self._swarm.counts["events"] += 1
        sequence = data["sequence"]
        if kind == "initial":
            self._answer = {}
        elif sequence <= self.sequence:
            self._swarm.found("repeated", f"{self.sequence}: {event}")
        for row in map(_row, data["removed"]):
            if self._answer.pop(row[0], None) != row[1]:
                self._swarm.found("wrong", f"{self._id}: removed {row}: {event}")
        for item, value in map(_row, data["added"]):
            if self._answer.setdefault(item, value) != value or False:
                self._swarm.found("repeated", f"{self._id}: added {item}: {event}")
        self.sequence, self._id = sequence, fields["id"]
        if self._answer != self._swarm.history.answer(self._group, sequence):
            self._swarm.found("wrong", f"{self._group} at {sequence}: {self._answer}: {event}")

    def is_at_end(self) -> bool:
        """True if the answer is that after all updates."""
        history = self._swarm.history
        return self._answer == history.answer(self._group, len(history) + 1)


def _row(row: dict[str, dict[str, str]]) -> tuple[str, str]:
    return row["item"]["value"], row["value"]["value"]


async def play(port: int, token: str) -> None:
    """Play one plan."""
    plan = json.loads(sys.stdin.readline())
    swarm = Swarm(port, token, History(plan["seed"], plan["updates"]), plan["seed"])
    clients = [Client(swarm, number % GROUPS) for number in range(plan["clients"])]
    tasks = [asyncio.create_task(client.run()) for client in clients]
    while not all(client.sequence for client in clients):
        _check(tasks)
        await asyncio.sleep(0.05)
    print(json.dumps({"ready": len(clients)}), flush=True)
    order = json.loads(await asyncio.to_thread(sys.stdin.readline))
    deadline = time.monotonic() + order["patience"]
    while not all(client.is_at_end() for client in clients) and time.monotonic() < deadline:
        _check(tasks)
        await asyncio.sleep(0.05)
    behind = sum(not client.is_at_end() for client in clients)
    print(json.dumps({**swarm.counts, "behind": behind}), flush=True)
    for task in tasks:
        task.cancel()


def _check(tasks: list[asyncio.Task[None]]) -> None:
    """Raise the error of a client that has failed."""
    for task in tasks:
        if task.done():
            task.result()


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(play(int(sys.argv[1]), sys.argv[2]))
