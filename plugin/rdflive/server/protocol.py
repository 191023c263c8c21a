"""The SPARQL 1.1 Protocol: queries, each in a process of its own, and updates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import rdflib
from starlette.requests import Request
from starlette.responses import Response

from rdflive.server.answered import Answered
from rdflive.server.answering import answer
from rdflive.server.bases import moved_back, with_base
from rdflive.server.description import describe_service
from rdflive.server.frames import Frames
from rdflive.server.guards import refuse_remote
from rdflive.server.operations import Operation, read_query, read_update
from rdflive.server.service import Service
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

    return Answered(request, _Answering(based, accept, added))


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
    updating = _Updating(text, added)
    if may_take_long(service.dataset, text):
        await service.children.rehearse(request.state.client.name, updating, "update", writes=True)
    sequence = await service.write(partial(updating.run, service.dataset))
    return Response(status_code=204, headers={"Rdflive-Sequence": str(sequence)})


@dataclass(frozen=True, slots=True)
class _Answering:
    """A query to answer in a child, behind so many characters that are not the client's."""

    operation: Operation
    accept: str
    added: int

    def __call__(self, dataset: rdflib.Dataset, frames: Frames) -> None:
        with moved_back(self.added):
            answer(dataset, self.operation, self.accept, frames)


@dataclass(frozen=True, slots=True)
class _Updating:
    """An update, to try in a child and then to run."""

    text: str
    added: int

    def __call__(self, dataset: rdflib.Dataset, frames: Frames) -> None:
        self.run(dataset)
        frames.begin("")

    def run(self, dataset: rdflib.Dataset) -> int:
        with moved_back(self.added):
            return run(dataset, self.text)


async def _quickly(service: Service, text: str, function: Callable[[], Result]) -> Result:
    """Run a function on a text, in a thread if that is long."""
    return await service.work(function) if len(text) > _LONG else function()


def _based(request: Request, operation: Operation) -> tuple[Operation, int]:
    """Give the operation with a base, and the number of characters in front of the client's."""
    text = with_base(operation.text, str(request.url.replace(query="", fragment="")))
    return Operation(text, operation.default, operation.named), len(text) - len(operation.text)
