"""The SPARQL 1.1 Protocol: queries, each in a process of its own, and updates."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from rdflive.server.access import Client
from rdflive.server.isolation.children import ChildResponse
from rdflive.server.isolation.work import AnswerQuery, RunUpdate
from rdflive.server.previews import preview_text, preview_update
from rdflive.server.service import Service
from rdflive.server.sparql.operations import read_query, read_update
from rdflive.server.sparql.service_description import describe_service
from rdflive.server.sparql.updating import checked_update

__all__ = ["query", "update"]


async def query(request: Request) -> Response:
    """Answer a query; a GET without one, with what the service is."""
    service: Service = request.app.state.service
    operation = await read_query(request)
    if operation is None:
        return describe_service(request, is_union=service.dataset.default_union)
    accept = ", ".join(request.headers.getlist("accept"))

    return ChildResponse(service.children, request.state.client.name, AnswerQuery(operation, accept))


async def update(request: Request) -> Response:
    """Run an update as one commit, all or nothing.

    The header Rdflive-Sequence gives the number of a commit that has it, which deltas are numbered by. With
    `?preview` it is taken back, and the answer says what it would change.
    """
    service: Service = request.app.state.service
    client: Client = request.state.client
    operation, is_preview = await read_update(request)
    text, may_take_long = await service.threads.work(partial(checked_update, service.dataset, operation))
    updating = RunUpdate(text)
    # the one writing thread would hold up all other updates
    if may_take_long:
        await service.children.rehearse(client.name, updating, "update", writes=True)
    if is_preview:
        change = await service.threads.write(partial(preview_update, service.dataset, updating.run))
        told = await service.threads.work(lambda: preview_text(service, change, client))
        return Response(told, media_type="application/json")
    sequence = await service.threads.write(partial(updating.run, service.dataset))
    return Response(status_code=204, headers={"Rdflive-Sequence": str(sequence)})
