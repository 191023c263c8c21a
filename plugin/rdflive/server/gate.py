"""The middleware before all routes, which authenticates and counts every request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Final

from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rdflive.asgi.connections import CUT
from rdflive.page import show_sign_in
from rdflive.server.access import Access, Client
from rdflive.server.access_log import AccessLog
from rdflive.server.admission import UnderWay
from rdflive.server.failures import Problem, server_fails
from rdflive.server.service import Service

__all__ = ["AccessGate"]

log = logging.getLogger("rdflive")

_OPEN: Final = frozenset({"/health", "/ready", "/login"})
"""Paths that need no token, besides the page's files: browsers request modules of JavaScript without one."""
_LONGEST: Final = 65_536
"""Bytes of the longest path and query of a request."""


_SAFE: Final = {b"x-content-type-options": b"nosniff", b"cross-origin-resource-policy": b"same-origin"}
"""Headers against guessing of media types, and against use by other sites."""


class AccessGate:
    """Finds the client of a request (`request.state.client`), and responds 401 if there is none.

    While the service does not run, every response is 503. `access_log` receives each request at its end.
    """

    def __init__(
        self,
        app: ASGIApp,
        service: Service,
        access: Access,
        paths: frozenset[str],
        access_log: AccessLog | None = None,
    ) -> None:
        self._app = app
        self._service = service
        self._access = access
        self._metrics = service.metrics
        self._paths = paths
        self._access_log = access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":  # a WebSocket has no route, and is closed
            await self._app(scope, receive, send)
            return
        start = perf_counter()
        has_begun = False
        path = "/" + _path(scope).split("/")[1] if _path(scope).startswith("/") else ""
        # else invented paths would each create a counter
        if path not in self._paths:
            path = "other"
        under_way = UnderWay(_address(scope), scope.get(CUT) or _cancelling())

        async def counted(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                under_way.status = message["status"]
                message = {**message, "headers": [*message["headers"], *_missing(message["headers"])]}
                self._metrics.count(path, message["status"], perf_counter() - start)
            else:
                under_way.bytes += len(message.get("body", b""))
            await send(message)

        try:
            await self._pass(scope, receive, counted, under_way)
        except Exception:
            # here, because Starlette would respond outside of all middleware
            if not has_begun:
                await server_fails().response()(scope, receive, counted)
            raise  # the server logs it
        finally:
            if self._access_log is not None:
                self._access_log.add(scope, under_way, _path(scope), perf_counter() - start)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, under_way: UnderWay) -> None:
        """Pass a request on, with its client, or refuse it."""
        try:
            if not self._service.is_running:
                raise _not_running()
            if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > _LONGEST:
                raise Problem(414, f"the URL is longer than {_LONGEST:,} bytes")
            state = scope.setdefault("state", {})
            state["under_way"], state["client"] = under_way, None
            problem = None
            try:
                state["client"] = client = self._client(HTTPConnection(scope))
                if client is not None:
                    under_way.key = client.name
            except Problem as refused:
                problem = refused
            # those without a token count too
            self._service.admission.enter(under_way)
        except Problem as refused:
            await _refuse(refused, scope, receive, send)
            return
        try:
            if problem is None:
                await self._app(scope, receive, send)
            else:
                await _refuse(problem, scope, receive, send)
        finally:
            self._service.admission.leave(under_way)

    def _client(self, connection: HTTPConnection) -> Client | None:
        scope = connection.scope
        headers, path = connection.headers, _path(scope)
        is_own = self._access.check_site(
            headers, scheme=scope["scheme"], method=scope["method"], shared=path != "/login"
        )
        # after `check_site`: other sites may not sign in either
        if path in _OPEN or path.rpartition("/")[0] == "/static":
            return None
        cookies = connection.cookies if is_own and self._access.needs_token else {}
        return self._access.client(headers, cookies, _address(scope))


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "unknown"


def _cancelling() -> Callable[[], object]:
    """Return a function that ends the request, for servers whose connections have no `CUT`."""
    task = asyncio.current_task()
    return task.cancel if task is not None else lambda: None


def _path(scope: Scope) -> str:
    """Return the path of a request as routes see it, without the path of a mounted application."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path.removeprefix(root) if path.startswith(f"{root}/") else path


def _not_running() -> Problem:
    log.error(
        "the application of rdflive.server.make_app received a request, but its lifespan does not run: "
        "servers do not run the lifespan of a mounted application; run it in your own lifespan, by `async "
        "with live.router.lifespan_context(live): yield` (docs/server.md, Mounting in an application)"
    )
    return Problem(503, "this application has not been started; the log of its server has instructions")


def _missing(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = {name.lower() for name, _ in headers}
    return [(name, value) for name, value in _SAFE.items() if name not in given]


async def _refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    response = problem.response()
    request = Request(scope)
    if problem.status == 401 and "text/html" in request.headers.get("accept", ""):
        then = scope["query_string"].decode("latin-1") if _path(scope) == "/" else ""
        await show_sign_in(then=then)(scope, receive, send)
    else:
        await response(scope, receive, send)
