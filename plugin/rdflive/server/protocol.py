"""The SPARQL 1.1 Protocol: queries, each in a process of its own, and updates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from rdflive.server.access import Client
from rdflive.server.isolation.response import ChildResponse
from rdflive.server.isolation.work import AnswerQuery, RunUpdate
from rdflive.server.previews import preview_text, preview_update
from rdflive.server.service import Service
from rdflive.server.sparql.base_iri import columns_moved_back, with_base
from rdflive.server.sparql.guards import refuse_remote
from rdflive.server.sparql.operations import Operation, read_query, read_update
from rdflive.server.sparql.service_description import describe_service
from rdflive.server.sparql.updating import may_take_long, update_text

__all__ = ["query", "update"]

Result = TypeVar("Result")

_LONG: Final = 10_000
"""Characters of a text that is looked at in a thread."""


async def query(request: Request) -> Response:
    """Answer a query; a GET without one, with what the service is."""
    service: Service = request.app.state.service
    operation = await read_query(request)
    if operation is None:
        return describe_service(request, is_union=service.dataset.default_union)
    # on the client's own text, so that the place of SERVICE is right
    await _unblocking(service, operation.text, lambda: refuse_remote(operation.text))
    based, added = _based(request, operation)
    accept = ", ".join(request.headers.getlist("accept"))

    return ChildResponse(service.children, request.state.client.name, AnswerQuery(based, accept, added))


async def update(request: Request) -> Response:
    """Run an update as one commit, all or nothing.

    The header Rdflive-Sequence gives the number of a commit that has it, which deltas are numbered by. With
    `?preview` it is taken back, and the answer says what it would change.
    """
    service: Service = request.app.state.service
    client: Client = request.state.client
    operation, is_preview = await read_update(request)
    await _unblocking(service, operation.text, lambda: refuse_remote(operation.text, is_update=True))
    based, added = _based(request, operation)

    with columns_moved_back(based.text, added):
        text = await _unblocking(service, based.text, lambda: update_text(service.dataset, based))
    updating = RunUpdate(text, added)
    # the one writing thread would hold up all other updates
    if may_take_long(service.dataset, text):
        await service.children.rehearse(client.name, updating, "update", writes=True)
    if is_preview:
        change = await service.threads.write(partial(preview_update, service.dataset, updating.run))
        told = await service.threads.work(lambda: preview_text(service, change, client))
        return Response(told, media_type="application/json")
    sequence = await service.threads.write(partial(updating.run, service.dataset))
    return Response(status_code=204, headers={"Rdflive-Sequence": str(sequence)})


async def _unblocking(service: Service, text: str, function: Callable[[], Result]) -> Result:
    """Run a function on a text; in a thread if that is long, so that nobody waits for it."""
    return await service.threads.work(function) if len(text) > _LONG else function()


def _based(request: Request, operation: Operation) -> tuple[Operation, int]:
    """Give the operation with a base, and the number of characters in front of the client's."""
    text = with_base(operation.text, str(request.url.replace(query="", fragment="")))
    return Operation(text, operation.default, operation.named), len(text) - len(operation.text)
