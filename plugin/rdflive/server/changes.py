"""A dataset's changes over HTTP: as a stream of events, or as a document of the kept commits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from rdflive.feeds.event_stream import EVENT_STREAM
from rdflive.server.change_log import CommitLog
from rdflive.server.failures import Problem
from rdflive.server.service import Service
from rdflive.server.sparql.formats import choose
from rdflive.sinks.events.event import heartbeat
from rdflive.sinks.events.stream import HEARTBEAT, STREAM_HEADERS, PatientStream

__all__ = ["changes"]

RDF_PATCH: Final = "application/rdf-patch"
_START: Final = "start"
"""In place of an id: the place before the last commits."""
_TOGETHER: Final = 1000
"""Commits of a document that are sent together."""
_PIECE: Final = 1 << 18
"""Approximate bytes of the log that are written together."""


async def changes(request: Request) -> Response:
    """Respond with the log: a stream of events if `Accept` names that type, else a document of RDF Patch.

    `Last-Event-ID`, or `since=` in the URL, is the id of the last commit that the client has seen; `start`
    is a place up to 10,000 commits back. If later commits are gone, a stream sends `resync`, and a
    document is refused with 410. An event `behind` has the number of the last commit in the log, if the
    events after it do not come to it yet.
    """
    service: Service = request.app.state.service
    since = request.headers.get("last-event-id") or request.query_params.get("since") or None
    accept = request.headers.get("accept", "")
    # `*/*` gets the document: only clients that name an endless stream get one
    offered = [EVENT_STREAM, RDF_PATCH] if EVENT_STREAM in accept.lower() else [RDF_PATCH]
    if choose(accept, offered, {}) == EVENT_STREAM:
        if request.method == "HEAD":
            return Response(headers=STREAM_HEADERS, media_type=EVENT_STREAM)
        stack = AsyncExitStack()
        stack.enter_context(_counted(service, request.state.client.name))
        return PatientStream(_events(service.changes, since), stack)
    return await _document(service.changes, since)


@contextmanager
def _counted(service: Service, name: str) -> Iterator[None]:
    followers, most = service.changes.followers, service.limits.subscriptions
    if followers[name] >= most:
        raise Problem(
            429,
            f"{name} already follows the changes {most:,} times, the limit of a client",
            headers={"Retry-After": "60"},
        )
    followers[name] += 1
    try:
        yield
    finally:
        followers[name] -= 1
        if not followers[name]:
            del followers[name]


async def _document(log: CommitLog, since: str | None) -> Response:
    def written() -> tuple[int, list[str]]:
        commits = log.behind(None if since is None else log.place(since))
        return (commits[-1].sequence if commits else log.last), [log.text(commit) for commit in commits]

    # all before the first byte: a commit that cannot be written makes the status 410
    last, texts = await asyncio.to_thread(written)
    response = PatientStream(_joined(texts), AsyncExitStack(), RDF_PATCH)
    response.headers["Last-Event-ID"] = log.id(last)
    return response


async def _joined(texts: list[str]) -> AsyncIterator[str]:
    for start in range(0, len(texts), _TOGETHER):
        yield "".join(texts[start : start + _TOGETHER])


async def _events(log: CommitLog, since: str | None) -> AsyncIterator[str]:
    """Yield the events of a stream, first its start, so that a client can resume there."""
    place, epoch = log.last, log.epoch
    resync = ""
    try:
        # a stream is not refused: the client receives `resync`, and follows from here on
        place = place if since is None else log.start if since == _START else log.place(since)
    except Problem as problem:
        resync = _resync(problem)
    yield f"{resync}id: {log.id(place)}\n\n"
    while not log.is_closed:
        try:
            # in a thread: a large commit takes long to write
            text, place = await asyncio.to_thread(_written, log, place, epoch)
        except Problem as problem:
            place, epoch = log.last, log.epoch
            text = f"{_resync(problem)}id: {log.id(place)}\n\n"
        if text:
            yield text
        elif not await log.wait(place, HEARTBEAT):
            yield heartbeat(log.id(place), place).decode()


def _written(log: CommitLog, place: int, epoch: str) -> tuple[str, int]:
    """Return the text of some events after a place, and the place after them."""
    events: list[str] = []
    size = 0
    for commit in log.behind(place, epoch):
        events.append(_event(log.id(commit.sequence), log.text(commit)))
        place = commit.sequence
        size += commit.size
        if size > _PIECE:
            break
    if events and place < log.last:
        events.insert(0, f"event: behind\ndata: {log.last}\n\n")
    return "".join(events), place


def _event(name: str, patch: str) -> str:
    # not splitlines: a literal may contain other line breaks than those of event streams
    lines = "".join(f"data: {line}\n" for line in patch.removesuffix("\n").split("\n"))
    return f"id: {name}\nevent: patch\n{lines}\n"


def _resync(problem: Problem) -> str:
    return f"event: resync\ndata: {json.dumps({'reason': problem.detail})}\n\n"
