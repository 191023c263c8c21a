"""The results of the shapes over HTTP, as events and as reports."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final

from rdflib import Graph
from starlette.requests import Request
from starlette.responses import Response

from rdflive.errors import ClosedError
from rdflive.feeds.event_stream import EVENT_STREAM
from rdflive.server.failures import Problem, Refused
from rdflive.server.service import Service
from rdflive.server.sparql.formats import ALIASES, REPORTS, choose, content_type, write_graph
from rdflive.server.subscribing import follow_topic

__all__ = ["answer_refused", "show_validation"]

_PROBLEM: Final = "application/problem+json"


async def show_validation(request: Request) -> Response:
    """Respond with the present report, or with events of its results if `Accept` names that type."""
    service: Service = request.app.state.service
    validation: Any = service.topics.validation.subscription
    accept = ", ".join(request.headers.getlist("accept"))
    # `*/*` gets the report: only clients that name an endless stream get one
    offered = (EVENT_STREAM, *REPORTS) if EVENT_STREAM in accept.lower() else REPORTS
    kind = choose(accept, offered, ALIASES)
    if kind == EVENT_STREAM:
        return await follow_topic(request, None)
    try:
        return await _written(service, lambda: validation.graph_of(validation.answers()), kind)
    except ClosedError as error:
        raise Problem(503, f"the validation has ended: {error}", headers={"Retry-After": "60"}) from error


async def answer_refused(request: Request, error: Exception) -> Response:
    """Respond to an update that a guard refuses: with the report, or a problem if `Accept` has only JSON."""
    assert isinstance(error, Refused)  # noqa: S101 - registered for this class
    service: Service = request.app.state.service
    accept = ", ".join(request.headers.getlist("accept"))
    try:
        kind = choose(accept, (*REPORTS, _PROBLEM), {**ALIASES, "application/json": _PROBLEM})
    except Problem:  # 406, less important than the refusal
        kind = _PROBLEM
    report = None if kind == _PROBLEM else await service.threads.work(lambda: error.error.graph)
    if report is None:  # guards that are queries have no report
        return await service.threads.work(error.response)
    return await _written(service, lambda: report, kind, error.status)


async def _written(service: Service, graph: Callable[[], Graph], kind: str, status: int = 200) -> Response:
    def write() -> bytes:
        written = io.BytesIO()
        write_graph(graph(), kind, written)
        return written.getvalue()

    # in a thread: reading the results waits for the store's lock
    return Response(
        await service.threads.work(write), status, {"Content-Type": content_type(kind), "Vary": "Accept"}
    )
