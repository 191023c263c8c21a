"""Subscriptions over server-sent events."""

from __future__ import annotations

from contextlib import AsyncExitStack

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rdflive.feeds.event_stream import EVENT_STREAM
from rdflive.server.admission import UnderWay
from rdflive.server.isolation.children import ChildResponse
from rdflive.server.isolation.work import ExplainQuery
from rdflive.server.live_query import LiveQuery, read_live_query
from rdflive.server.service import Service
from rdflive.sinks.events.stream import STREAM_HEADERS, stream_events

__all__ = ["describe_topic", "explain_query", "follow_topic", "list_topics", "subscribe"]


async def subscribe(request: Request) -> Response:
    """Respond with the events of a query until the client disconnects."""
    return await follow_topic(request, await read_live_query(request))


async def follow_topic(request: Request, live_query: LiveQuery | None) -> Response:
    """Respond with the events of a query; None means the validation."""
    service: Service = request.app.state.service
    # the stream is endless, and a subscription would have no reader
    if request.method == "HEAD":
        return Response(headers=STREAM_HEADERS, media_type=EVENT_STREAM)
    stack = AsyncExitStack()
    last = request.headers.get("last-event-id")
    follower = await stack.enter_async_context(service.topics.follow(live_query, request.state.client, last))
    under_way: UnderWay = request.state.under_way

    def count() -> None:
        service.metrics.events.inc()
        under_way.count_event()

    return stream_events(request.scope, follower, stack, on_event=count)


async def explain_query(request: Request) -> Response:
    """Respond with the plan of a query, also as a picture."""
    given = await read_live_query(request)
    service: Service = request.app.state.service
    explaining = ExplainQuery(given.query, given.entailment, given.bindings)
    return ChildResponse(service.children, request.state.client.name, explaining)


async def list_topics(request: Request) -> Response:
    """Respond with all open subscriptions."""
    service: Service = request.app.state.service
    topics = list(service.topics)
    return JSONResponse(await service.threads.work(lambda: [topic.describe() for topic in topics]))


async def describe_topic(request: Request) -> Response:
    """Respond with one open subscription."""
    service: Service = request.app.state.service
    topic = service.topics.find(request.path_params["name"])
    return JSONResponse(await service.threads.work(topic.describe))
