"""A web application: the example and its page, and `make_app` in another server."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import rdflib
from rdflib import Literal, Namespace

import rdflive
from support.pages import DOCS, blocks
from support.shared import ROOT
from support.waiting import until

E = Namespace("http://example.org/railway/")
SELECT = "SELECT ?train ?minutes { ?train <http://example.org/railway/delay> ?minutes }"
PATIENCE = 30.0
FORKS = pytest.mark.posix("the server forks")
NEEDS_FASTAPI = "needs fastapi, which tox installs"


# the example


class Running:
    """A web application in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self._log = log
        found = until(lambda: process.poll() is not None or re.search(r"127\.0\.0\.1:(\d+)", self.log))
        assert isinstance(found, re.Match), self.log
        self.port = int(found[1])

    @property
    def log(self) -> str:
        """What it has printed."""
        return self._log.read_text(encoding="utf-8")

    def ask(self, path: str, method: str = "GET") -> Any:
        """Request something, and read the JSON of its answer."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            text = response.read().decode()
        return json.loads(text) if "json" in response.headers["Content-Type"] else text

    def delay(self, train: str, minutes: int) -> None:
        """Say how late a train is."""
        self.ask(f"/delay?train={train}&minutes={minutes}", "POST")

    def end(self, number: signal.Signals = signal.SIGINT) -> str:
        """Send a signal as a terminal does, wait for the end, and give what was printed."""
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        return self.log


class Following:
    """A client of a stream of events."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._connection.request("GET", "/live")
        self._response: HTTPResponse = self._connection.getresponse()
        assert self._response.headers["Content-Type"].startswith("text/event-stream")

    def next(self) -> Any:
        """Give the next event: which trains went, and which came, with their minutes; None at the end."""
        line = self._response.readline().decode()
        if not line:
            self.leave()
            return None
        assert self._response.readline() == b"\n"
        delta = json.loads(line.removeprefix("data: "))
        return [
            (sign, row["train"]["value"].removeprefix(str(E)), int(row["minutes"]["value"]))
            for sign, rows in (("-", delta["removed"]), ("+", delta["added"]))
            for row in rows
        ]

    def leave(self) -> None:
        self._response.close()
        self._connection.close()


@contextmanager
def running(folder: Path, *module: str) -> Iterator[Running]:
    """Run a module of Python in a process of its own, until the block ends."""
    log = folder / "log"
    # rdflib's Dataset warns of its own calls
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning:rdflib.graph", "-m", *module]
    with (
        log.open("w") as out,
        subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, text=True) as process,
    ):
        try:
            yield Running(process, log)
        finally:
            process.kill()


def example(folder: Path) -> AbstractContextManager[Running]:
    """Run the example as its users do."""
    pytest.importorskip("fastapi", reason=NEEDS_FASTAPI)
    return running(folder, "uvicorn", "--port", "0", "--app-dir", str(ROOT / "examples"), "web_app:app")


@FORKS
@pytest.mark.sampled(by="number")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_example_answers_its_clients_and_ends(tmp_path: Path, number: signal.Signals) -> None:
    """Each post is one delta; a client is connected at the end, which does not wait; no traceback."""
    with example(tmp_path) as served:
        with pytest.raises(urllib.error.HTTPError, match="422"):
            served.delay("%3Ex%20", 7)  # what users send does not become an IRI as it is
        late = "SELECT ?train ?minutes { ?train :delay ?minutes FILTER(?minutes > 5) }"
        server = rdflive.connect(f"http://127.0.0.1:{served.port}/sparql")
        with server.subscribe(late, initNs={"": str(E)}) as following:
            deltas = following.deltas(timeout=PATIENCE)
            assert next(deltas).initial
            served.delay("T101", 7)
            assert [row.train for row in next(deltas).added] == [E.T101]
            served.delay("T101", 9)
            served.delay("T102", 3)
            assert served.ask("/late") == [{"train": str(E.T101), "minutes": 9}]
            delta = next(deltas)
            assert [int(row.minutes) for part in (delta.removed, delta.added) for row in part] == [7, 9]
            served.delay("T102", 6)
            assert [row.train for row in next(deltas).added] == [E.T102]
            assert "./sparql/static/client.js" in served.ask("/")
            assert "export function subscribe" in served.ask("/sparql/static/client.js")
            log = served.end(number)
        assert "T102 is 6 minutes late" in log
        assert "Traceback" not in log
        assert "Finished server process" in log
        assert served.process.returncode in (0, -number)


@pytest.fixture
def web_app() -> SimpleNamespace:
    """The names of the example, in this process."""
    pytest.importorskip("fastapi", reason=NEEDS_FASTAPI)
    names: dict[str, Any] = {"__name__": "web_app"}
    exec(compile((ROOT / "examples" / "web_app.py").read_text(encoding="utf-8"), "web_app.py", "exec"), names)
    return SimpleNamespace(**names)


# the programs of the page


SERVERS = {
    "fastapi": ("uvicorn", "--port", "0", "--timeout-graceful-shutdown", "1", "trains:app"),
    "flask": ("flask", "--app", "trains", "run", "--port", "0"),
    "django": ("uvicorn", "--port", "0", "--timeout-graceful-shutdown", "1", "trains:application"),
}


@pytest.mark.posix("Windows has no SIGINT for one process")
@pytest.mark.parametrize("framework", SERVERS)
def test_the_programs_of_the_page_do_the_same(framework: str, tmp_path: Path) -> None:
    """What the page says of them is run as it says, and follows, answers and ends."""
    pytest.importorskip(framework, reason=f"needs {framework}, which tox installs")
    programs = (block.code for block in blocks(DOCS / "web.md") if block.language == "python")
    (program,) = (code for code in programs if f"import {framework}" in code or f"from {framework}." in code)
    (tmp_path / "trains.py").write_text(program, encoding="utf-8")
    with running(tmp_path, *SERVERS[framework]) as served:
        client = Following(served.port)
        assert client.next() == []
        served.ask("/delay/T101/7", "POST")
        assert client.next() == [("+", "T101", 7)]
        served.ask("/delay/T101/9", "POST")
        served.ask("/delay/T102/3", "POST")
        assert client.next() == [("-", "T101", 7), ("+", "T101", 9)]
        assert served.ask("/late") == [{"train": str(E.T101), "minutes": 9}]
        client.leave()
        served.end()
        assert "Error" not in served.log


# the example of a shared stream


def shared_stream() -> dict[str, Any]:
    """Give the names of the example, fresh."""
    code = (ROOT / "examples" / "shared_stream.py").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "shared_stream"}
    exec(compile(code, "shared_stream.py", "exec"), names)
    return names


def minutes(event: str) -> list[tuple[str, str]]:
    delta = json.loads(event.removeprefix("data: "))
    signs = (("-", delta["removed"]), ("+", delta["added"]))
    return [(sign, row["minutes"]["value"]) for sign, rows in signs for row in rows]


def test_clients_of_one_query_share_a_subscription() -> None:
    """Each is told the answer, then each change once, whenever it comes; at the end each stream ends."""
    page = shared_stream()
    graph, follow, queues = page["graph"], page["follow"], page["queues"]

    def late(amount: int) -> None:
        with rdflive.batch(graph):
            graph.set((E.T1, rdflib.URIRef("urn:delay"), Literal(amount)))

    async def program() -> None:
        async with rdflive.subscribe(graph, page["LATE"], page["share"]):
            late(7)
            clients = [follow(), follow()]
            assert [minutes(await anext(client)) for client in clients] == [[("+", "7")]] * 2
            await asyncio.sleep(0.01)  # the callback is told of 7 after the clients have come
            late(8)
            assert [minutes(await anext(client)) for client in clients] == [[("-", "7"), ("+", "8")]] * 2
            await clients.pop().aclose()
            assert len(queues) == 1
            waiting = asyncio.create_task(anext(clients[0], None))
            await asyncio.sleep(0.01)
            page["end"]()
            assert await waiting is None

    asyncio.run(program())


def test_a_client_that_takes_nothing_is_let_go() -> None:
    """Its queue does not grow without bounds, and its stream ends."""
    page = shared_stream()
    graph = page["graph"]

    async def program() -> None:
        async with rdflive.subscribe(graph, page["LATE"], page["share"]):
            await asyncio.sleep(0.01)  # the callback is told the answer
            client = page["follow"]()
            await anext(client)
            for amount in range(6, 1100):
                graph.add((E.T1, rdflib.URIRef("urn:delay"), Literal(amount)))
                await asyncio.sleep(0)
            for _ in range(100):
                await asyncio.sleep(0.001)
            assert not page["queues"]
            assert len([event async for event in client]) == 1000

    asyncio.run(program())


def subscriptions_of(graph: rdflib.Graph) -> set[rdflive.Subscription]:
    """Find the open subscriptions of a graph."""
    return {s for s in gc.get_objects() if type(s) is rdflive.Subscription and s._graph is graph}


@FORKS
def test_a_websocket_tells_the_same(web_app: SimpleNamespace) -> None:
    """Its subscription closes when the client leaves, and no client holds up the end of the server."""
    import uvicorn
    from websockets.sync.client import connect

    server = uvicorn.Server(uvicorn.Config(web_app.app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        before = subscriptions_of(web_app.graph)
        with connect(f"ws://127.0.0.1:{port}/socket") as socket:
            assert json.loads(socket.recv(PATIENCE))["initial"]
            web_app.graph.add((E.T1, E.delay, Literal(7)))
            assert json.loads(socket.recv(PATIENCE))["added"][0]["minutes"]["value"] == "7"
            (opened,) = subscriptions_of(web_app.graph) - before
        until(lambda: opened.closed)
        with connect(f"ws://127.0.0.1:{port}/socket") as socket:
            assert json.loads(socket.recv(PATIENCE))["initial"]
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def test_a_subscription_lives_until_it_is_closed() -> None:
    """A subscription without a reference to it stays open."""
    graph, told = rdflib.Graph(), []
    rdflive.subscribe(graph, SELECT, told.append, initial=False)
    gc.collect()
    graph.add((E.T1, E.delay, Literal(1)))
    assert len(told) == 1


def test_async_with_closes_a_subscription() -> None:
    """Likewise when the block raises."""
    graph = rdflib.Graph()

    async def program() -> rdflive.Subscription:
        async with rdflive.subscribe(graph, SELECT) as late:
            async for delta in late:
                assert delta.initial
                break
        assert late.closed
        with pytest.raises(KeyError):
            async with rdflive.subscribe(graph, SELECT) as late:
                raise KeyError
        return late

    assert asyncio.run(program()).closed


# make_app in another server


async def request(app: Any, path: str, *, host: str = "localhost") -> tuple[int, bytes]:
    """Ask an application as a server does; gives the status and the body."""
    told: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        told.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
    scope |= {"scheme": "http", "headers": [(b"host", host.encode())]}
    await app({**scope, "http_version": "1.1"}, receive, send)
    return told[0]["status"], b"".join(message.get("body", b"") for message in told)


@FORKS
def test_an_application_whose_lifespan_was_not_run_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """Every request is answered 503, and the log names what to write."""
    from starlette.applications import Starlette

    from rdflive.server import make_app

    app = Starlette()
    app.mount("/sparql", make_app(rdflib.Dataset()))
    for path in ("/sparql/health", "/sparql/query"):
        status, body = asyncio.run(request(app, path))
        assert status == 503
        assert json.loads(body)["detail"].startswith("this application has not been started")
        assert "async with live.router.lifespan_context(live): yield" in caplog.text
        caplog.clear()


@FORKS
def test_the_recipe_serves_what_is_mounted(caplog: pytest.LogCaptureFixture) -> None:
    """Twice, as the tests of a program do; then its requests are refused again."""
    pytest.importorskip("fastapi", reason=NEEDS_FASTAPI)
    (code,) = (b.code for b in blocks(DOCS / "server.md") if "lifespan_context" in b.code)
    names: dict[str, Any] = {"__name__": "snippet"}
    exec(compile(code, "server.md", "exec"), names)
    app = names["app"]

    async def program() -> None:
        async with app.router.lifespan_context(app):
            assert await request(app, "/sparql/health") == (200, b'{"status":"ok"}')
            status, metrics = await request(app, "/sparql/metrics")
            assert status == 200
            assert b'rdflive_requests_total{path="/health",status="200"}' in metrics
            assert metrics.count(b"\nrdflive_subscriptions 0") == 1
            status, page = await request(app, "/sparql/")
            assert status == 200
            assert b"<html" in page

    for _ in range(2):
        asyncio.run(program())
    assert not caplog.records
    assert asyncio.run(request(app, "/sparql/health"))[0] == 503


@FORKS
def test_an_application_that_is_run_again_counts_anew() -> None:
    """Its metrics name the subscriptions once, not those of each run."""
    from rdflive.server import make_app

    live = make_app(rdflib.Dataset())

    async def program() -> bytes:
        async with live.router.lifespan_context(live):
            status, metrics = await request(live, "/metrics")
            assert status == 200
            return metrics

    for _ in range(2):
        assert asyncio.run(program()).count(b"\nrdflive_subscriptions 0") == 1


@FORKS
def test_a_mounted_server_asks_for_tokens_where_it_is_mounted() -> None:
    """`/health` needs none there either, and no other path passes for it."""
    from starlette.applications import Starlette

    from rdflive.server import Client, make_app
    from rdflive.server.access import digest

    live = make_app(rdflib.Dataset(), tokens={digest("t" * 16): Client("me", frozenset({"read"}))})
    app = Starlette()
    app.mount("/sparql", live)
    app.mount("/health", live)

    async def program() -> list[int]:
        async with live.router.lifespan_context(live):
            paths = (
                "/sparql/health",
                "/sparql/query",
                "/sparql/sparql/health",
                "/health/query",
                "/health/health",
            )
            return [(await request(app, path))[0] for path in paths]

    assert asyncio.run(program()) == [200, 401, 401, 401, 200]


@FORKS
@pytest.mark.parametrize("given", [rdflib.Graph(), "trains.ttl", None], ids=["a graph", "a path", "nothing"])
def test_make_app_refuses_what_is_no_dataset(given: Any) -> None:
    """At once, and not when it starts."""
    from rdflive.server import make_app

    with pytest.raises(TypeError) as refused:
        make_app(given)
    assert str(refused.value) == f"dataset must be an rdflib.Dataset, got {type(given).__name__}"


def test_importing_the_server_without_its_extra_names_the_command() -> None:
    """As an ImportError, which programs that do without it expect, and an error of rdflive."""
    code = """
import importlib, re, sys
import rdflive
for missing in ("starlette", "prometheus_client", "uvicorn"):
    for module in ("rdflive.server", "rdflive.server.app"):
        for name in list(sys.modules):
            if name.startswith((missing, "rdflive.server", "rdflive.asgi")):
                del sys.modules[name]
        sys.modules[missing] = None
        try:
            importlib.import_module(module)
            raise AssertionError((missing, module))
        except ImportError as error:
            assert isinstance(error, rdflive.MissingExtraError), error
            assert isinstance(error, rdflive.RdfliveError)
            said = rf"rdflive\\.server needs {missing}\\S*: .*pip install .*server"
            assert re.match(said, str(error)), error
        del sys.modules[missing]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE * 2)
    assert done.returncode == 0, done.stderr
