"""Clients with many expensive subscriptions: updates go on, other clients are exact, SIGTERM is obeyed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode

import pytest

from support.served import Served
from support.sinks import Event, listening

pytest.importorskip("starlette", reason="serving needs rdflive[server]")
pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

ALL = "SELECT * { ?s <urn:p> ?o }"
BOUNDLESS = [
    word
    for option in ("commit-seconds", "commit-rows", "kept-rows", "query-seconds")
    for word in (f"--{option}", "1000000" if option == "query-seconds" else "1000000000000")
]
"""Options without which the budget of one subscription would end it."""
TOKENS = "".join(
    f'[{name}]\ntoken = "{name * 5}"\nrights = ["read", "update", "subscribe"]\n'
    for name in ("heavy", "light")
)
DEADLINE = 120
"""Seconds that are ample for a server to end, where an update would take years."""


def heavy(number: int, patterns: int = 3) -> str:
    """A query of its own plan, which looks at nᵏ rows for n triples and k patterns, and finds none."""
    star = " . ".join(f"?s <urn:p> ?v{i}" for i in range(patterns))
    total = " + ".join(f"?v{i}" for i in range(patterns))
    return f"SELECT (COUNT(*) AS ?n{number}) {{ {star} FILTER({total} < 0) }}"


def values(count: int) -> str:
    return "INSERT DATA {" + " ".join(f"<urn:s> <urn:p> {number} ." for number in range(count)) + "}"


def at(served: Served, query: str) -> str:
    return f"{served.url}subscribe?{urlencode({'query': query})}"


def compute(process: int) -> None:
    """Wait until a process and its children have computed for a second, where the system tells that."""
    if sys.platform != "linux":
        return

    def ticks() -> int:
        children = Path(f"/proc/{process}/task").glob("*/children")
        found = {str(process), *(pid for file in children for pid in file.read_text().split())}
        stats = [Path(f"/proc/{pid}/stat") for pid in found]
        return sum(int(stat.read_text().rpartition(")")[2].split()[11]) for stat in stats if stat.exists())

    begin, end = ticks(), time.monotonic() + DEADLINE
    while ticks() < begin + os.sysconf("SC_CLK_TCK"):
        assert time.monotonic() < end, "it does not compute"
        time.sleep(0.05)


def first(events: Iterator[Event], kind: str) -> Event:
    return next(event for event in events if event.kind == kind)


def test_subscription_bomb(tmp_path: Path) -> None:
    """One client has 20 subscriptions that never come to an end; the other has a few cheap ones."""
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS)
    bearer = {name: {"Authorization": f"Bearer {name * 5}"} for name in ("heavy", "light")}
    with Served("--tokens", tokens, "--update-seconds", "2", *BOUNDLESS) as served, ExitStack() as stack:
        fuses = [
            stack.enter_context(listening(at(served, heavy(number, 6)), **bearer["heavy"]))
            for number in range(20)
        ]
        others = [
            stack.enter_context(
                listening(at(served, ALL.replace("}", f"FILTER(?o >= {least}) }}")), **bearer["light"])
            )
            for least in range(5)
        ]
        for events in (*fuses, *others):
            first(events, "initial")
        served.update(values(40), **bearer["light"])
        for least, events in enumerate(others):
            assert len(first(events, "update").data["added"]) == 40 - least
        for events in fuses:
            detail = first(events, "end").data["detail"]
            assert "together would take longer than 2 s for one commit, and those of heavy" in detail
        served.update("DELETE WHERE { ?s ?p ?o }", **bearer["light"])
        for least, events in enumerate(others):
            assert len(first(events, "update").data["removed"]) == 40 - least


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_an_update_that_would_take_years(tmp_path: Path, number: signal.Signals) -> None:
    """The update is acknowledged and in the store, or neither; a queued one likewise."""
    store = tmp_path / "store"
    written: list[int] = []
    options = ["--store-path", store, "--update-seconds", "1000000000", *BOUNDLESS]
    with Served(*options) as served, listening(at(served, heavy(0, 7))) as fuse, listening(at(served, ALL)):
        first(fuse, "initial")

        def update(count: int) -> None:
            with suppress(OSError, HTTPError):
                served.update(f"{values(count)} ; INSERT DATA {{ <urn:t{count}> <urn:t> 1 }}")
                written.append(count)

        updating = [threading.Thread(target=update, args=(count,)) for count in (50, 51)]
        for thread in updating:
            thread.start()
        assert served._process is not None
        compute(served._process.pid)
        served._process.send_signal(number)
        assert served._process.wait(timeout=DEADLINE) in (0, 128 + number, -number)
        for thread in updating:
            thread.join()
    with Served("--store-path", store) as served:
        for count in (50, 51):
            has = f"ASK {{ <urn:t{count}> <urn:t> 1 }}"
            if count in written:
                assert json.loads(served.query(has))["boolean"]
        total = json.loads(served.query("SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o }"))
        assert total["results"]["bindings"][0]["n"]["value"] in ("0", "50", "51")


def test_signal_ends_an_opening_that_would_take_years() -> None:
    """It is tried in a process, which ends with the server."""
    with Served("--update-seconds", "1000000000", *BOUNDLESS) as served:
        served.update(values(50))

        def subscribe() -> None:
            with suppress(OSError, AssertionError), listening(at(served, heavy(0, 7))):
                pass

        opening = threading.Thread(target=subscribe)
        opening.start()
        assert served._process is not None
        compute(served._process.pid)
        served._process.send_signal(signal.SIGTERM)
        served._process.wait(timeout=DEADLINE)
        opening.join()


BLOCKED = """
import signal, sqlite3
from rdflive.cli.ending import ending_within
signal.signal(signal.SIGTERM, lambda *_: None)
with ending_within(0.2):
    print("begins", flush=True)
    # as Oxigraph, it lets other threads run, and no handler of a signal until it returns
    sqlite3.connect(":memory:").execute(
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n"
    )
"""


def test_signal_ends_a_library_that_returns_late() -> None:
    """The process says so, and ends without another signal."""
    process = subprocess.Popen(
        [sys.executable, "-c", BLOCKED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 128 + signal.SIGTERM
    assert "ends in the middle of its work, 0.2 s after the signal" in errors


def test_openings_take_turns() -> None:
    """Of the waiting clients, that with the least time is next; one that leaves gives its turn away."""
    from rdflive.server.opening_turns import OpeningTurns

    async def run() -> list[str]:
        turns, order = OpeningTurns(), list[str]()
        may_end = asyncio.Event()

        async def open_one(client: str, name: str) -> None:
            async with turns.turn(client):
                order.append(name)
                if name == "a1":
                    await may_end.wait()

        named = [("a", "a1"), ("a", "a2"), ("c", "c1"), ("a", "a3"), ("b", "b1")]
        tasks = [asyncio.create_task(open_one(*each)) for each in named]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.sleep(0)
        may_end.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        await open_one("a", "a4")
        return order

    assert asyncio.run(run()) == ["a1", "b1", "a2", "a3", "a4"]


def test_long_opening_leaves_as_much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next waits as long as it took."""
    from rdflive.server.opening_turns import OpeningTurns

    async def run() -> list[float]:
        loop, now, waits = asyncio.get_running_loop(), [100.0], list[float]()
        monkeypatch.setattr(loop, "time", lambda: now[0])
        monkeypatch.setattr(loop, "call_later", lambda seconds, *_: waits.append(seconds))
        turns = OpeningTurns()
        async with turns.turn("a"):
            now[0] += 3
        monkeypatch.undo()
        return waits

    assert asyncio.run(run()) == [3]
