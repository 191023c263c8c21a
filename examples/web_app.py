"""A web application with live rows: pages that follow a query, until Ctrl-C.

Run it with `python examples/web_app.py` or `uvicorn --app-dir examples web_app:app`, and open
http://127.0.0.1:8000/. It needs the extra `server`, and `pip install fastapi`.
"""

import asyncio
import logging
import signal
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Annotated

import rdflib
import uvicorn
from fastapi import FastAPI, Query, WebSocket, WebSocketDisconnect
from fastapi.responses import HTMLResponse, StreamingResponse

import rdflive
from rdflive.sinks import to_ndjson

RAIL = rdflib.Namespace("http://example.org/railway/")
LATE = "SELECT ?train ?minutes { ?train :delay ?minutes FILTER(?minutes > 5) }"
PAGE = """<!doctype html>
<title>Late trains</title>
<h1>Late trains</h1>
<ul></ul>
<script>
const rows = []  // a row may occur more than once
new EventSource("live").onmessage = ({ data }) => {
  const delta = JSON.parse(data)
  if (delta.initial) rows.length = 0
  for (const row of delta.removed) rows.splice(rows.indexOf(JSON.stringify(row)), 1)
  for (const row of delta.added) rows.push(JSON.stringify(row))
  document.querySelector("ul").replaceChildren(...rows.map(text => {
    const { train, minutes } = JSON.parse(text), item = document.createElement("li")
    item.textContent = `${train.value}: ${minutes.value} minutes`
    return item
  }))
}
</script>"""

log = logging.getLogger("uvicorn.error")
graph = rdflib.Graph()
graph.bind("", RAIL)


class Streams:
    """The subscriptions of the clients that are connected."""

    def __init__(self):
        self.open, self.ending = set(), False

    async def follow(self, query):
        """Give the answer, then each change, as server-sent events, until the client or the server ends."""
        async with rdflive.subscribe(graph, query) as subscription:
            self.open.add(subscription)
            try:
                if self.ending:
                    return
                async for delta in subscription:
                    yield f"data: {to_ndjson(delta)}\n\n"
            finally:
                self.open.discard(subscription)

    def end(self):
        """Close all subscriptions, so that the streams end, and so do those that begin now."""
        self.ending = True
        for subscription in list(self.open):
            subscription.close()


@contextmanager
def on_signals(function):
    """Call a function in the event loop at Ctrl-C and SIGTERM, beside what the server does then."""
    if threading.current_thread() is not threading.main_thread():
        yield  # as in tests: signals are for the main thread
        return
    loop = asyncio.get_running_loop()
    servers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number, frame):
        loop.call_soon_threadsafe(function)
        if callable(servers[number]):
            servers[number](number, frame)

    for number in servers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in servers.items():
            signal.signal(number, handler)


async def warn(delta):
    """Log which trains have become late; it runs in the event loop, and may wait there."""
    for train, minutes in delta.added:
        log.warning("%s is %s minutes late", train, minutes)


@asynccontextmanager
async def lifespan(app):
    """Follow the query for as long as the application runs."""
    app.state.streams = Streams()
    async with rdflive.subscribe(graph, LATE, warn) as app.state.late:
        with on_signals(app.state.streams.end):  # the server waits for open streams
            yield


app = FastAPI(lifespan=lifespan)


@app.get("/")
def page() -> HTMLResponse:
    """Show the answer as it changes."""
    return HTMLResponse(PAGE)


@app.post("/delay")
def delay(train: Annotated[str, Query(pattern=r"^\w+$")], minutes: int):
    """Say how late a train is."""
    with rdflive.batch(graph):  # `set` removes and adds: one delta
        graph.set((RAIL[train], RAIL.delay, rdflib.Literal(minutes)))


@app.get("/late")
def late():
    """List the trains that are late now."""
    return app.state.late.answers().to_dicts()


@app.get("/live")
async def live():
    """Follow the trains that are late."""
    events = app.state.streams.follow(LATE)
    return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@app.websocket("/socket")
async def socket(client: WebSocket):
    """Follow them over a WebSocket; a task receives, so that the application notices a client that leaves."""
    await client.accept()
    async with rdflive.subscribe(graph, LATE) as subscription:

        async def until_gone():
            async for _ in client.iter_text():
                pass
            subscription.close()

        leaving = asyncio.create_task(until_gone())
        with suppress(WebSocketDisconnect):
            async for delta in subscription:
                await client.send_text(to_ndjson(delta))
        leaving.cancel()


if __name__ == "__main__":
    uvicorn.run(app)
