"""The SPARQL 1.1 Protocol: queries, each in its own process, and updates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from rdflive.server.access import Client
from rdflive.server.isolation.children import ChildResponse
from rdflive.server.isolation.work import AnswerQuery, RunUpdate
from rdflive.server.previews import preview_text, preview_update
from rdflive.server.service import Service
from rdflive.server.sparql.operations import ProtocolOperation, read_query, read_update
from rdflive.server.sparql.service_description import describe_service
from rdflive.server.sparql.updating import (
    FailedUpdate,
    checked_update,
    is_data,
    run_update,
    run_update_of_few,
)

__all__ = ["query", "update"]

_SHORT: Final = 5_000
"""The most characters of an update that the event loop looks through itself."""
_SHARED: Final = "shared-commit"
"""The preference that allows updates of several requests in one commit."""


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
    update is rolled back, and the response describes its changes. With `Prefer: shared-commit` updates of
    data that wait together may be one commit.
    """
    service: Service = request.app.state.service
    operation, is_preview = await read_update(request)
    if is_preview:
        return await _preview(request, operation)
    if await _is_data(service, operation):
        with suppress(FailedUpdate):  # `_run_checked` knows the reason
            if _SHARED in preferences(request.headers.getlist("prefer")):
                sequence = await service.shared_commits.run(operation.text)
                return _done(sequence, {"Preference-Applied": _SHARED})
            return _done(await service.threads.write(partial(run_update, service.dataset, operation.text)))
    return _done(await _run_checked(request, operation))


async def _is_data(service: Service, operation: ProtocolOperation) -> bool:
    """Return True for an update that needs no check; a long text is read in another thread."""
    if len(operation.text) <= _SHORT:
        return is_data(operation)
    return await service.threads.work(partial(is_data, operation))


async def _run_checked(request: Request, operation: ProtocolOperation) -> int:
    """Check an update and run it, after a trial if it may block the only writing thread for long."""
    service: Service = request.app.state.service
    write = service.threads.write
    checked = await service.threads.work(partial(checked_update, service.dataset, operation))
    if checked.patterns:
        sequence = await write(partial(run_update_of_few, service.dataset, checked))
        if sequence is not None:
            return sequence
    updating = RunUpdate(checked.text)
    if checked.may_take_long:
        await service.children.rehearse(request.state.client.name, updating, "update", writes=True)
    return await write(partial(updating.run, service.dataset))


async def _preview(request: Request, operation: ProtocolOperation) -> Response:
    service: Service = request.app.state.service
    client: Client = request.state.client
    checked = await service.threads.work(partial(checked_update, service.dataset, operation))
    updating = RunUpdate(checked.text)
    if checked.may_take_long:
        await service.children.rehearse(client.name, updating, "update", writes=True)
    change = await service.threads.write(partial(preview_update, service.dataset, updating.run))
    shown = await service.threads.work(lambda: preview_text(service, change, client))
    return Response(shown, media_type="application/json")


def _done(sequence: int, headers: Mapping[str, str] = MappingProxyType({})) -> Response:
    return Response(status_code=204, headers={"Rdflive-Sequence": str(sequence), **headers})


def preferences(headers: Iterable[str]) -> set[str]:
    """Return the names of the preferences of a request (RFC 7240).

    >>> sorted(preferences(["Shared-Commit, wait=10", "return=minimal; x=y"]))
    ['return', 'shared-commit', 'wait']
    """
    items = (item for header in headers for item in header.split(","))
    return {re.split("[=;]", item)[0].strip().lower() for item in items}
