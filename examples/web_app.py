"""A web application whose page follows a query, by the server of rdflive mounted in it.

Run it with `python examples/web_app.py` or `uvicorn --app-dir examples web_app:app`, and open
http://127.0.0.1:8000/. It needs the extra `server`, and `pip install fastapi websockets`.
"""

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from typing import Annotated

import rdflib
import uvicorn
from fastapi import FastAPI, Query, WebSocket, WebSocketDisconnect
from fastapi.responses import HTMLResponse

import rdflive
from rdflive.server import make_app
from rdflive.sinks import to_ndjson

RAIL = rdflib.Namespace("http://example.org/railway/")
LATE = "SELECT ?train ?minutes { ?train :delay ?minutes FILTER(?minutes > 5) }"
PAGE = """<!doctype html>
<title>Late trains</title>
<h1>Late trains</h1>
<ul></ul>
<script type="module">
import { subscribe } from "./sparql/static/client.js"

const query = `PREFIX : <http://example.org/railway/> %s`
const late = subscribe(query, () => {
  document.querySelector("ul").replaceChildren(...late.answers().map(({ train, minutes }) => {
    const item = document.createElement("li")
    item.textContent = `${train.value}: ${minutes.value} minutes`
    return item
  }))
})
</script>"""

log = logging.getLogger("uvicorn.error")
graph = rdflib.Dataset()
graph.bind("", RAIL)
live = make_app(graph)


async def warn(delta):
    """Log the trains that became late; the coroutine runs in the event loop, and may await."""
    for train, minutes in delta.added:
        log.warning("%s is %s minutes late", train, minutes)


@asynccontextmanager
async def lifespan(app):
    """Subscribe to the query while the application runs; no server runs the lifespan of what is mounted."""
    async with live.router.lifespan_context(live), rdflive.subscribe(graph, LATE, warn) as app.state.late:
        yield


app = FastAPI(lifespan=lifespan)
app.mount("/sparql", live)


@app.get("/")
def page() -> HTMLResponse:
    """Show the live answer."""
    return HTMLResponse(PAGE % LATE)


@app.post("/delay")
def delay(train: Annotated[str, Query(pattern=r"^\w+$")], minutes: int):
    """Set the delay of a train."""
    with rdflive.batch(graph):  # `set` removes and adds: one delta
        graph.set((RAIL[train], RAIL.delay, rdflib.Literal(minutes)))


@app.get("/late")
def late():
    """List the trains that are late now."""
    return app.state.late.answers().to_dicts()


@app.websocket("/socket")
async def socket(client: WebSocket):
    """Follow them over a WebSocket; a second task receives, so that it detects a client that leaves."""
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
