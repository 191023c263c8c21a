"""The SPARQL 1.1 Protocol: queries, each in a process of its own, and updates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import rdflib
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rdflive import manager
from rdflive.server.answering import answer
from rdflive.server.bases import moved_back, with_base
from rdflive.server.confinement import Work
from rdflive.server.description import describe_service
from rdflive.server.failures import Problem
from rdflive.server.frames import Frames
from rdflive.server.guards import refuse_remote
from rdflive.server.isolated import Child, Children
from rdflive.server.operations import Operation, read_query, read_update
from rdflive.server.service import Service
from rdflive.server.subscribing import CUT
from rdflive.server.updating import may_take_long, run, update_text

__all__ = ["query", "update"]

Result = TypeVar("Result")

_LONG: Final = 10_000
"""Characters of a text that is looked at in a thread, so that nobody waits for that."""


async def query(request: Request) -> Response:
    """Answer a query; a GET without one, with what the service is."""
    service: Service = request.app.state.service
    operation = await read_query(request)
    if operation is None:
        return describe_service(request, is_union=service.dataset.default_union)
    await _quickly(service, operation.text, lambda: refuse_remote(operation.text))
    based, added = _based(request, operation)
    accept = ", ".join(request.headers.getlist("accept"))

    return _Answered(request, partial(_answer, based, accept, added))


async def update(request: Request) -> Response:
    """Run an update as one commit, all or nothing.

    The header Rdflive-Sequence gives the number of a commit that has it, which deltas are numbered by.
    """
    service: Service = request.app.state.service
    operation = await read_update(request)
    await _quickly(service, operation.text, lambda: refuse_remote(operation.text, is_update=True))
    based, added = _based(request, operation)

    with moved_back(added):
        text = await _quickly(service, based.text, lambda: update_text(service.dataset, based))
    if may_take_long(service.dataset, text):
        await _rehearse(request, partial(_try, text, added))
    sequence = await service.write(partial(_run, text, added, service.dataset))
    return Response(status_code=204, headers={"Rdflive-Sequence": str(sequence)})


def _answer(operation: Operation, accept: str, added: int, dataset: rdflib.Dataset, frames: Frames) -> None:
    """Answer a query, in a child."""
    with moved_back(added):
        answer(dataset, operation, accept, frames)


def _run(text: str, added: int, dataset: rdflib.Dataset) -> int:
    """Run an update."""
    with moved_back(added):
        return run(dataset, text)


def _try(text: str, added: int, dataset: rdflib.Dataset, frames: Frames) -> None:  # noqa: ARG001 - nothing is answered
    """Run an update in a child, whose store is thrown away."""
    capture = manager.attach(dataset.store).capture
    capture.listeners.clear()
    capture.on_batch = None
    _run(text, added, dataset)


async def _quickly(service: Service, text: str, function: Callable[[], Result]) -> Result:
    """Run a function on a text, in a thread if that is long."""
    return await service.work(function) if len(text) > _LONG else function()


def _based(request: Request, operation: Operation) -> tuple[Operation, int]:
    """Give the operation with a base, and the number of characters in front of the client's."""
    text = with_base(operation.text, str(request.url.replace(query="", fragment="")))
    return Operation(text, operation.default, operation.named), len(text) - len(operation.text)


def _children(request: Request) -> Children:
    """Give the children of the server, the same for all requests."""
    state = request.app.state
    if not hasattr(state, "children"):
        state.children = Children(state.service, getattr(state, "scratch", None))
    children: Children = state.children
    return children


async def _rehearse(request: Request, work: Work) -> None:
    """Have a child run an update, and raise what is wrong with it."""
    service: Service = request.app.state.service
    try:
        async with asyncio.timeout(service.limits.query_seconds):
            async with _children(request).working(request.state.client.name, work, writes=True) as child:
                await child.begin()
    except (TimeoutError, EOFError, ConnectionError) as error:
        raise _exceeded(error, service, "update") from error


def _exceeded(error: Exception, service: Service, what: str) -> Problem:
    """Say which limit a child without an answer has met."""
    limits = service.limits
    if isinstance(error, TimeoutError):
        detail = f"the {what} takes longer than {limits.query_seconds:g} s"
    else:
        detail = f"the {what} needs more than {limits.query_bytes:,} bytes of memory, or its engine failed"
    return Problem(503, detail, headers={"Retry-After": "60"})


class _Answered(Response):
    """The answer of a child, sent while it comes. It has no end where the child fails on the way."""

    def __init__(self, request: Request, work: Work) -> None:
        super().__init__()
        self._request = request
        self._service: Service = request.app.state.service
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tasks = asyncio.create_task(self._stream(scope, send)), asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done():
                tasks[0].result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _stream(self, scope: Scope, send: Send) -> None:
        has_begun = False
        try:
            async with asyncio.timeout(self._service.limits.query_seconds):
                children, name = _children(self._request), self._request.state.client.name
                async with children.working(name, self._work) as child:
                    headers = {
                        "content-type": await child.begin(),
                        "vary": "Accept",
                        "cache-control": "no-store",
                    }
                    has_begun = True
                    await send({"type": "http.response.start", "status": 200, "headers": _raw(headers)})
                    await _send_pieces(child, send)
        except (TimeoutError, EOFError, ConnectionError) as error:
            if not has_begun:
                raise _exceeded(error, self._service, "query") from error
            cut = scope.get(CUT)
            if cut is None:
                raise
            cut()


async def _send_pieces(child: Child, send: Send) -> None:
    async for piece in child.pieces():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


async def _gone(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
