"""Subscriptions over WebSocket, with the messages of the SPARQL Event Processing Architecture.

The messages follow "SPARQL 1.1 Subscribe Language", http://vaimee.org/TR/sparql11-subscribe.html . Errors
have the members that its present clients read: `error`, `status_code`, `error_description` and the alias.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import uuid4

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from rdflive.asgi.connections import CUT
from rdflive.errors import RdfliveError
from rdflive.server.access import Access, Client
from rdflive.server.failures import Problem, problem_of
from rdflive.server.live_query import LiveQuery, check_length
from rdflive.server.service import Service
from rdflive.sinks.events.event import ServedEvent

__all__ = ["follow_sepa"]

log = logging.getLogger("rdflive")

_IDLE: Final = 3600.0
"""Seconds of one wait for an event; pings of the socket detect lost clients."""
_PATIENCE: Final = 60.0
"""Seconds for a client to read a message."""
_TOLERATED: Final = 20
"""Consecutive bad messages that get an error; one more ends the connection."""
_LONGEST_ALIAS: Final = 1000
_PRIMITIVES: Final = ("subscribe", "unsubscribe")
_GRAPHS: Final = ("default-graph-uri", "named-graph-uri")


async def follow_sepa(socket: WebSocket) -> None:
    """Serve a socket with any number of subscriptions, until the client disconnects or misbehaves."""
    session = _Session(socket)
    with suppress(WebSocketDisconnect, WebSocketDisconnected):
        await socket.accept()
        try:
            await session.run()
        finally:
            await session.close()


@dataclass(slots=True)
class _SepaSubscription:
    """One subscription of a socket, and the number of its last notification."""

    alias: str | None
    uri: str = field(default_factory=lambda: _new_uri())
    task: asyncio.Task[None] | None = None
    _sequence: int = -1
    _names: str = "[]"

    def notification(self, event: ServedEvent) -> str:
        """Return an event as a message; raise `Problem` 400 for an ASK query, which has no bindings."""
        if event.boolean is not None:
            raise Problem(400, "a notification has bindings, and an ASK query has none: use SELECT")
        self._sequence += 1
        if event.kind == "initial":
            self._names = json.dumps(_members(event)["head"]["vars"])
            removed = "{}"  # as in the specification
        else:
            removed = self._results(event.removed)
        head = json.dumps({"spuid": self.uri, **_named(self.alias), "sequence": self._sequence})
        added = self._results(event.added)
        return f'{{"notification": {head[:-1]}, "addedResults": {added}, "removedResults": {removed}}}}}'

    def restart(self) -> None:
        """Take a new URI, for an answer that replaces the client's."""
        self.uri = _new_uri()
        self._sequence = -1

    def _results(self, solutions: tuple[str, ...]) -> str:
        bindings = ", ".join(solutions)
        return f'{{"head": {{"vars": {self._names}}}, "results": {{"bindings": [{bindings}]}}}}'


class _Session:
    """The subscriptions of one socket."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._service: Service = socket.app.state.service
        self._access: Access = socket.app.state.access
        self._open: dict[str, _SepaSubscription] = {}
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        """Process messages in order; end a socket that shows no token in time."""
        loop, limits = asyncio.get_running_loop(), self._service.limits
        is_known = self._socket.state.client is not None
        try:
            # a socket without a token occupies a file and a buffer, as a request without its head does
            async with asyncio.timeout_at(None if is_known else loop.time() + limits.header_seconds) as wait:
                await self._process(partial(wait.reschedule, None))
        except TimeoutError:
            await self._end(1008, "no token was sent in time")

    async def _process(self, known: Callable[[], None]) -> None:
        refused = 0
        while (message := await self._socket.receive())["type"] != "websocket.disconnect":
            alias = None
            try:
                name, members = _read(message.get("text"))
                alias = _alias(members)
                client = self._client(members)
                known()
                if name == "subscribe":
                    self._subscribe(members, alias, client)
                else:
                    await self._unsubscribe(members)
                refused = 0
            except Problem as problem:
                await self._send(_error(problem, alias))
                refused += 1
            if refused > _TOLERATED:
                await self._end(1008, "too many bad messages")
                return

    async def close(self) -> None:
        """End all subscriptions."""
        tasks = [opened.task for opened in self._open.values() if opened.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _client(self, members: Mapping[str, Any]) -> Client:
        """Return the sender of a message, by its own token or that of the opening request."""
        given = _text(members, "authorization")
        client: Client | None = self._socket.state.client
        if given is not None or client is None:
            scheme, _, token = (given or "").partition(" ")
            token = token if scheme.lower() == "bearer" else scheme
            address = self._socket.client.host if self._socket.client else "unknown"
            client = self._access.holder(token or None, address)
        self._socket.state.under_way.use(client, "subscribe")
        return client

    def _subscribe(self, members: Mapping[str, Any], alias: str | None, client: Client) -> None:
        query = _text(members, "sparql")
        if not query:
            raise Problem(400, "'subscribe' must have a query as 'sparql'")
        check_length(query)
        for name in _GRAPHS:
            if members.get(name):
                raise Problem(400, f"{name!r} is not supported: write FROM or FROM NAMED in the query")
        # here too, although `Topics.follow` counts: else any number of tasks could wait to be refused there
        if len(self._open) >= self._service.limits.subscriptions:
            raise Problem(429, f"the socket has {len(self._open):,} subscriptions, the limit of a client")
        subscription = _SepaSubscription(alias)
        self._open[subscription.uri] = subscription
        subscription.task = asyncio.create_task(self._follow(subscription, query, client))

    async def _unsubscribe(self, members: Mapping[str, Any]) -> None:
        subscription = self._open.pop(_text(members, "spuid") or "", None)
        if subscription is None or subscription.task is None:
            raise Problem(404, f"this socket has no subscription {members.get('spuid')!r}")
        subscription.task.cancel()
        # so that no notification follows the response
        await asyncio.wait([subscription.task])
        ended = {"spuid": subscription.uri, **_named(subscription.alias)}
        await self._send(json.dumps({"unsubscribed": ended}))

    async def _follow(self, subscription: _SepaSubscription, query: str, client: Client) -> None:
        try:
            with suppress(WebSocketDisconnect, WebSocketDisconnected):
                try:
                    await self._notify(subscription, query, client)
                except (WebSocketDisconnect, WebSocketDisconnected):
                    raise
                except Exception as error:  # the client must learn that the subscription has ended
                    if not isinstance(error, RdfliveError):
                        log.exception("the subscription %s failed", subscription.uri)
                        error = Problem(500, "the subscription failed")
                    await self._send(_error(problem_of(error), subscription.alias, subscription.uri))
        finally:
            self._open.pop(subscription.uri, None)

    async def _notify(self, subscription: _SepaSubscription, query: str, client: Client) -> None:
        async with self._service.topics.follow(LiveQuery(query), client) as follower:
            follower.cut = self._socket.scope.get(CUT, follower.stop)
            while True:
                event = await follower.take(_IDLE)
                # 1012 is "service restart": clients reconnect
                if event is None and follower.is_over:  # the server is shutting down
                    await self._end(1012)
                    return
                if event is None:
                    continue
                if event.kind == "end":
                    raise Problem(503, _members(event)["detail"])
                if event.kind == "resync":
                    del self._open[subscription.uri]
                    subscription.restart()
                    self._open[subscription.uri] = subscription
                else:
                    await self._send(lambda: subscription.notification(event))  # noqa: B023 - called at once
                    self._service.metrics.events.inc()

    async def _send(self, message: str | Callable[[], str]) -> None:
        """Send a message after those being sent; a function builds a large message only then."""
        async with self._sending, self._patience():
            await self._socket.send_text(message if isinstance(message, str) else message())

    async def _end(self, code: int, reason: str = "") -> None:
        async with self._patience():
            await self._socket.close(code, reason)

    @asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        """Treat a client that reads nothing as disconnected."""
        try:
            async with asyncio.timeout(_PATIENCE):
                yield
        except TimeoutError as error:
            # `close` would wait for the client to read
            self._socket.scope.get(CUT, lambda: None)()
            raise WebSocketDisconnect(1006) from error


def _new_uri() -> str:
    return f"sepa://subscription/{uuid4()}"


def _read(text: str | None) -> tuple[str, Mapping[str, Any]]:
    """Return the name of the primitive in a message, and its members."""
    try:
        message = json.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"a message must be a JSON object in text: {error}") from error
    names = [name for name in _PRIMITIVES if isinstance(message, dict) and name in message]
    if len(names) != 1 or not isinstance(message[names[0]], dict):
        raise Problem(400, "a message must have 'subscribe' or 'unsubscribe', with an object")
    return names[0], message[names[0]]


def _alias(members: Mapping[str, Any]) -> str | None:
    alias = _text(members, "alias")
    if alias is not None and len(alias) > _LONGEST_ALIAS:
        raise Problem(400, f"'alias' is longer than {_LONGEST_ALIAS:,} characters")
    return alias


def _text(members: Mapping[str, Any], name: str) -> str | None:
    value = members.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Problem(400, f"{name!r} must be a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Problem(400, f"{name!r} contains half a surrogate pair") from error
    return value


def _error(problem: Problem, alias: str | None, uri: str | None = None) -> str:
    members = problem.members()
    shown = {"error": members.pop("title"), "status_code": members.pop("status")}
    shown |= {"error_description": members.pop("detail"), **members, **_named(alias)}
    return json.dumps(shown if uri is None else {**shown, "spuid": uri})


def _named(alias: str | None) -> dict[str, str]:
    return {} if alias is None else {"alias": alias}


def _members(event: ServedEvent) -> dict[str, Any]:
    members: dict[str, Any] = json.loads(f"{{{event.about.rstrip(', ')}}}")
    return members
