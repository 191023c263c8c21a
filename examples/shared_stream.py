"""Many clients of one query that share a subscription: rdflive computes and writes each change once.

Run it with `python examples/shared_stream.py`. In a web application, `follow` gives the events of a response,
the lifespan opens the subscription, and `end` is called at Ctrl-C.
"""

import asyncio

import rdflib

import rdflive
from rdflive.sinks import to_ndjson

DELAY = rdflib.URIRef("urn:delay")
LATE = "SELECT ?train ?minutes { ?train <urn:delay> ?minutes FILTER(?minutes > 5) }"

graph = rdflib.Graph()
queues = set()


async def share(delta):
    """Send a delta to all clients: the callback of their subscription."""
    event = delta.sequence, f"data: {to_ndjson(delta)}\n\n"
    for queue in list(queues):
        if queue.full():
            queues.discard(queue)  # its stream ends; the page comes back, and receives the answer
        else:
            queue.put_nowait(event)


async def follow():
    """Give the events for one client."""
    queue = asyncio.Queue(1000)
    queues.add(queue)  # first, so that it misses nothing
    try:
        with rdflive.subscribe(graph, LATE) as opening:
            answer = await opening.anext()
        yield f"data: {to_ndjson(answer)}\n\n"
        while queue in queues or not queue.empty():
            sequence, text = await queue.get()
            if sequence > answer.sequence:  # else it is in the answer
                yield text
    finally:
        queues.discard(queue)


def end():
    """Let the streams end."""
    for queue in list(queues):
        queues.discard(queue)
        if queue.empty():
            queue.put_nowait((-1, ""))  # wakes it


async def client(name):
    """Print what a client receives."""
    async for event in follow():
        print(name, event.strip())


async def main():
    """Follow the query with two clients, of which one comes later."""
    async with rdflive.subscribe(graph, LATE, share), asyncio.TaskGroup() as clients:
        clients.create_task(client("first "))
        await asyncio.sleep(0.1)
        graph.add((rdflib.URIRef("urn:T101"), DELAY, rdflib.Literal(7)))
        await asyncio.sleep(0.1)
        clients.create_task(client("second"))
        await asyncio.sleep(0.1)
        graph.add((rdflib.URIRef("urn:T201"), DELAY, rdflib.Literal(9)))
        await asyncio.sleep(0.1)
        end()


if __name__ == "__main__":
    asyncio.run(main())
