"""Many clients of a server at once, in a process of their own: `python crowd.py PORT < plan > outcome`.

The plan is a line of JSON: `queries`, one for each client; `stalled`, how many more follow the first query
and never read. When all have their first answer it prints a line, and waits for one that says to which
sequence each is to come. Then it prints the outcome: what the events add up to, and how late they were.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from functools import lru_cache
from time import time
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

Row: TypeAlias = dict[str, dict[str, str]]
Values: TypeAlias = tuple[str, ...]

_SENT: Final = re.compile(rb'"value": "at ([0-9.]+)"')
_EVENT: Final = re.compile(rb"(?:^|\n)event: (\w+)\n")
_CHUNK: Final = re.compile(rb"([0-9a-f]+)\r\n")
_KEPT: Final = 256
"""Events whose outcome is remembered."""


class Client(asyncio.Protocol):
    """One connection: takes the chunks apart, and the events in them."""

    def __init__(self, crowd: Crowd, query: str) -> None:
        super().__init__()
        self.crowd = crowd
        self.query = query
        self.answer: dict[Values, int] = {}
        self.reached = -1.0
        self.events = 0
        self.has_begun = False
        self._raw = bytearray()
        self._text = bytearray()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        target = f"/subscribe?{urlencode({'query': self.query})}"
        transport.write(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        raw, text = self._raw, self._text
        if self.has_begun and not raw and not text:
            events = self.crowd.whole(data)
            if events is not None:
                for event in events:
                    self._take(event)
                return
        raw += data
        if not self.has_begun:
            head, end, rest = raw.partition(b"\r\n\r\n")
            if not end:
                return
            if not head.startswith(b"HTTP/1.1 200"):
                self.crowd.failure = bytes(raw)
                return
            self.has_begun = True
            raw[:] = rest
        place = 0
        while (size := _CHUNK.match(raw, place)) is not None:
            end = size.end() + int(size[1], 16)
            if len(raw) < end + 2:
                break
            text += raw[size.end() : end]
            place = end + 2
        del raw[:place]
        end = text.rfind(b"\n\n")
        if end >= 0:
            for event in bytes(text[:end]).split(b"\n\n"):
                self._take(event)
            del text[: end + 2]

    def connection_lost(self, exc: Exception | None) -> None:
        self.crowd.lost += 1

    def _take(self, event: bytes) -> None:
        kind = _EVENT.search(event)
        if kind is None or kind[1] == b"heartbeat":
            return
        assert kind[1] in (b"initial", b"update"), event[:500]
        self.events += 1
        self.reached = self.crowd.take(self.answer, event)


class Crowd:
    """All clients. An event that many receive is read once."""

    def __init__(self) -> None:
        self.delays: list[float] = []
        self.lost = 0
        self.failure = b""
        self._read = lru_cache(maxsize=_KEPT)(_read)
        self.whole = lru_cache(maxsize=_KEPT)(_whole)

    def take(self, answer: dict[Values, int], event: bytes) -> int:
        """Apply an event to the answer of a client, and note how old its newest change is; return its
        sequence.
        """
        is_initial, added, removed, sequence, newest = self._read(event)
        if newest:
            self.delays.append(time() - newest)
        if is_initial:
            answer.clear()
        for row in added:
            answer[row] = answer.get(row, 0) + 1
        for row in removed:
            count = answer.pop(row, 0)
            assert count, "a row was removed that was not there"
            if count > 1:
                answer[row] = count - 1
        return sequence


def _read(event: bytes) -> tuple[bool, list[Values], list[Values], int, float]:
    line = next(line for line in event.split(b"\n") if line.startswith(b"data: "))
    data: dict[str, Any] = json.loads(line[6:])
    newest = 0.0 if data["initial"] else max(map(float, _SENT.findall(line)), default=0.0)
    added, removed = ([*map(_values, data[name])] for name in ("added", "removed"))
    return data["initial"], added, removed, data["sequence"], newest


def _whole(data: bytes) -> list[bytes] | None:
    """Return the events of a piece that is one chunk of whole events, as all receive it; else None."""
    size = _CHUNK.match(data)
    if size is None or len(data) != size.end() + int(size[1], 16) + 2 or data[-4:] != b"\n\n\r\n":
        return None
    return data[size.end() : -4].split(b"\n\n")


def _values(row: Row) -> Values:
    return tuple([term["value"] for term in row.values()])


async def run(port: int) -> None:
    """Play one plan."""
    plan = json.loads(sys.stdin.readline())
    loop = asyncio.get_running_loop()
    crowd = Crowd()
    stalled = [await _stall(port, plan["queries"][0]) for _ in range(plan["stalled"])]
    clients: list[Client] = []
    for query in plan["queries"]:
        _, client = await loop.create_connection(
            lambda q=query: Client(crowd, q),  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        clients.append(client)
    while any(client.reached < 0 for client in clients):
        await asyncio.sleep(0.02)
        assert not crowd.failure, crowd.failure
    crowd.delays.clear()
    print(json.dumps({"ready": len(clients)}), flush=True)
    order = json.loads(await asyncio.to_thread(sys.stdin.readline))
    wanted = order["reached"]
    deadline = time() + order["patience"]
    while time() < deadline and any(
        client.reached < want for client, want in zip(clients, wanted, strict=True)
    ):
        await asyncio.sleep(0.02)
    delays = sorted(crowd.delays) or [0.0]
    answers = [frozenset(client.answer.items()) for client in clients]
    places = {answer: place for place, answer in enumerate(dict.fromkeys(answers))}
    print(
        json.dumps(
            {
                "answers": [places[answer] for answer in answers],
                "distinct": [sorted(answer) for answer in places],
                "events": sum(client.events for client in clients),
                "lost": crowd.lost,
                "median": delays[len(delays) // 2],
                "slowest": delays[int(len(delays) * 0.99)],
            }
        ),
        flush=True,
    )
    for client in clients:
        client.transport.close()
    for writer in stalled:
        writer.close()


async def _stall(port: int, query: str) -> Any:
    """Ask for events and never read any."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
    writer.write(f"GET /subscribe?{urlencode({'query': query})} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    reader._transport.pause_reading()  # type: ignore[attr-defined]
    return writer


if __name__ == "__main__":
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(run(int(sys.argv[1])))
