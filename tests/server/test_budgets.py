"""No subscription can freeze the server, nor take its memory: it ends with the reason, others go on."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from support.bombs import BOMBS
from support.effort import sampled
from support.served import Served
from support.sinks import Event, listening

pytest.importorskip("starlette", reason="serving needs rdflive[server]")
pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")
asks_proc = pytest.mark.linux("asks /proc for the memory of the server")

BOUND = 1 << 30
"""Bytes that the process has at most, whatever a subscription asks for."""
ALL = "SELECT * { ?s ?p ?o }"


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """A server with the default limits; in the end its memory has never been above the bound."""
    with Served() as served:
        yield served
        assert served._process is not None
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{served._process.pid}/status").read_text())
        assert peak is not None
        assert int(peak[1]) * 1024 < BOUND


def at(served: Served, query: str) -> str:
    return f"{served.url}subscribe?{urlencode({'query': query})}"


def initial(events: Iterator[Event]) -> Event:
    return next(event for event in events if event.kind == "initial")


@asks_proc
@pytest.mark.parametrize("name", sampled("bombs", BOMBS, 8))
def test_bomb_ends_alone(server: Served, name: str) -> None:
    """The update is done, other clients have its rows, the topic is told why it ended, /health answers."""
    bomb = BOMBS[name]
    server.update("DROP ALL")
    with ExitStack() as stack:
        fuse = stack.enter_context(listening(at(server, bomb.query)))
        others = stack.enter_context(listening(at(server, ALL)))
        assert initial(fuse)
        assert initial(others).data["added"] == []
        answers = []

        def ask() -> None:
            while not over.is_set():
                with urlopen(f"{server.url}health", timeout=30) as response:
                    answers.append(response.status)

        over = threading.Event()
        asking = threading.Thread(target=ask)
        asking.start()
        try:
            server.update(bomb.update)
        finally:
            over.set()
            asking.join()
        assert set(answers) == {200}
        update = next(event for event in others if event.kind == "update")
        found = json.loads(server.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"))
        assert len(update.data["added"]) == int(found["results"]["bindings"][0]["n"]["value"]) > 0
        if bomb.told:
            end = next(event for event in fuse if event.kind == "end")
            assert re.search(f"the subscription has ended: it .*({bomb.told})", end.data["detail"]), end


@asks_proc
def test_bomb_that_has_its_data_is_not_opened(server: Served) -> None:
    """403 says which limit it is; a pattern that RE2 cannot match is refused with 400."""
    server.update("DROP ALL")
    server.update(BOMBS["concat"].update)
    for query, status, detail in (
        (BOMBS["concat"].query, 403, "strings of more than 100,000,000 characters"),
        (ALL.replace("?o }", '?o FILTER REGEX(?o, "(a)\\\\1") }'), 400, "in linear time"),
        (ALL.replace("?o }", "?o FILTER REGEX(?o, STR(?s)) }"), 400, "not constants"),
    ):
        with pytest.raises(HTTPError) as caught:
            urlopen(at(server, query), timeout=30)
        assert caught.value.code == status
        assert detail in json.load(caught.value)["detail"]
        caught.value.close()


def test_sigterm_ends_a_server_that_computes() -> None:
    """The update that sets the bomb off is asked for, and the server told to end, whatever it is at."""
    bomb = BOMBS["lookahead"]
    with Served() as served, listening(at(served, bomb.query)) as events:
        assert initial(events)

        def update() -> None:
            with suppress(OSError):
                served.update(bomb.update)

        asking = threading.Thread(target=update)
        asking.start()
        assert served._process is not None
        served._process.send_signal(signal.SIGTERM)
        served._process.wait(timeout=60)
        asking.join()
