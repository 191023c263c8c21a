"""The routes of the Graph Store Protocol: `/store`, and `/store/…` for graphs named by their URL."""

from __future__ import annotations

from functools import partial
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response

from rdflive.server.access import Client
from rdflive.server.failures import Problem
from rdflive.server.graph_store.documents import received
from rdflive.server.graph_store.dumping import DumpGraph
from rdflive.server.graph_store.graphs import StoreTarget, read_target
from rdflive.server.graph_store.loads import Load
from rdflive.server.graph_store.writing import GraphWriter
from rdflive.server.isolation.children import StateResponse
from rdflive.server.service import Service

__all__ = ["graph_store"]


async def graph_store(request: Request) -> Response:
    """Respond with a graph or the whole dataset, or change it.

    The header Last-Event-ID is the id of the last commit of exactly the state that is read, for `/changes`.
    After a change, Rdflive-Sequence has the number of a commit that includes it.
    """
    service: Service = request.app.state.service
    client: Client = request.state.client
    is_read = request.method in ("GET", "HEAD")
    service.admit(request.state.under_way, client, "read" if is_read else "update")
    target = read_target(request)
    if is_read:
        return _read(request, service, target)
    if request.method == "DELETE":
        return await _delete(service, target)
    with service.loads.admitted(client.name):
        return await _write(request, service, target)


def _read(request: Request, service: Service, target: StoreTarget) -> Response:
    accept = ", ".join(request.headers.getlist("accept"))
    dump = DumpGraph(target.graph, accept, service.limits.query_seconds)
    history = service.history
    return StateResponse(
        service.children,
        request.state.client.name,
        dump,
        history.id_of,
    )


async def _delete(service: Service, target: StoreTarget) -> Response:
    if target.graph is None:
        raise Problem(400, "name the graph to delete: graph=IRI, default, or a path below /store/")
    writer = GraphWriter(service.dataset, target.graph, service.limits.store_triples)
    sequence = await service.threads.write(partial(writer.drop))
    return Response(status_code=204, headers={"Rdflive-Sequence": str(sequence)})


async def _write(request: Request, service: Service, target: StoreTarget) -> Response:
    """Replace a graph by the document of a request (PUT), or add the document to it (POST)."""
    most = service.limits.store_triples
    if target.together is not None and target.together > most:
        raise Problem(400, f"commit may be at most {most:,} here, got {target.together:,}")
    graph, base, headers = target.graph, target.base, {}
    document = await received(request, service.scratch)
    with document.file:
        if graph is None and not document.is_dataset:
            if request.method == "PUT":
                raise Problem(
                    400,
                    "name the graph to replace: graph=IRI, default, or a path below /store/; only N-Quads "
                    "and TriG replace the whole dataset",
                )
            # the Recommendation, 5.5: the server names the new graph
            graph = base = headers["Location"] = f"{target.base.rstrip('/')}/{uuid4().hex}"
        load = Load(document, base, graph, request.method == "PUT", target.together)
        written = await service.loads.run(load)
    headers["Rdflive-Sequence"] = str(written.sequence)
    return Response(status_code=201 if written.is_new else 204, headers=headers)
