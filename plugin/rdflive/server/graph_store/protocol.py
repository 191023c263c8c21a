"""The routes of the Graph Store Protocol: `/store`, and `/store/…` for graphs named by their URL."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from rdflive.server.graph_store.dumping import DumpGraph
from rdflive.server.graph_store.graphs import read_target
from rdflive.server.isolation.children import StateResponse
from rdflive.server.service import Service

__all__ = ["read_graph"]


async def read_graph(request: Request) -> Response:
    """Respond with a graph, or with the whole dataset.

    The header Last-Event-ID is the id of the last commit of exactly this state, for `/changes`.
    """
    service: Service = request.app.state.service
    target = read_target(request)
    accept = ", ".join(request.headers.getlist("accept"))
    dump = DumpGraph(target.graph, accept, service.limits.query_seconds)
    history = service.history
    return StateResponse(
        service.children,
        request.state.client.name,
        dump,
        history.id_of,
    )
