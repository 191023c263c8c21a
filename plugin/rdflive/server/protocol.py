"""The SPARQL 1.1 Protocol: queries, each in its own process, and updates."""

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
    """Respond to a query; to a GET without one with the service description."""
    service: Service = request.app.state.service
    operation = await read_query(request)
    if operation is None:
        # starts a count if the data have changed, and waits for it only if that is short
        await service.vocabulary.result()
        return describe_service(request, service.vocabulary.totals, is_union=service.dataset.default_union)
    accept = ", ".join(request.headers.getlist("accept"))

    return ChildResponse(service.children, request.state.client.name, AnswerQuery(operation, accept))


async def update(request: Request) -> Response:
    """Run an update as one commit, all or nothing.

    The header Rdflive-Sequence has the number of a commit that includes it, as in deltas. With `?preview` the
    update is rolled back, and the response describes its changes.
    """
    service: Service = request.app.state.service
    client: Client = request.state.client
    operation, is_preview = await read_update(request)
    text, may_take_long = await service.threads.work(partial(checked_update, service.dataset, operation))
    updating = RunUpdate(text)
    # a long update would block the only writing thread
    if may_take_long:
        await service.children.rehearse(client.name, updating, "update", writes=True)
    if is_preview:
        change = await service.threads.write(partial(preview_update, service.dataset, updating.run))
        shown = await service.threads.work(lambda: preview_text(service, change, client))
        return Response(shown, media_type="application/json")
    sequence = await service.threads.write(partial(updating.run, service.dataset))
    return Response(status_code=204, headers={"Rdflive-Sequence": str(sequence)})
