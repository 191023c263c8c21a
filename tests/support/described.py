"""What a server answers in the tests, held against its OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rdflive.server.openapi import describe_api

LENIENT: Final = frozenset(
    {"/", "/query", "/update", "/login", "/health", "/ready", "/metrics", "/openapi.json"}
)
"""Paths that ignore unknown parameters, as SPARQL clients and browsers send their own."""


def target(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the component that a part of the description refers to, or the part itself."""
    place = part.get("$ref")
    return reduce(getitem, place.removeprefix("#/").split("/"), describe_api()) if place else part


def operation_of(path: str, method: str) -> Mapping[str, Any] | None:
    """Return the operation of a path as routes spell it; HEAD is GET's."""
    found: Mapping[str, Any] | None = (
        describe_api()["paths"].get(path, {}).get(method.lower().replace("head", "get"))
    )
    return found


def types_of(path: str, method: str, status: int) -> set[str] | None:
    """Return the described media types of a response, or None if its status is not described."""
    operation = operation_of(path, method)
    if operation is None or str(status) not in operation["responses"]:
        return None
    return set(target(operation["responses"][str(status)]).get("content", ()))


class Described:
    """Middleware that collects the responses of an application which its description lacks."""

    def __init__(self, app: ASGIApp, routes: list[Any]) -> None:
        self._app = app
        self._routes = [route for route in routes if isinstance(route, Route)]
        self.undescribed: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.undescribed.update(self._faults(scope, message["status"], dict(message["headers"])))
            await send(message)

        await self._app(scope, receive, watched if scope["type"] == "http" else send)

    def _faults(self, scope: Scope, status: int, headers: Mapping[bytes, bytes]) -> Iterator[str]:
        served = next((route.path for route in self._routes if route.matches(scope)[0] is Match.FULL), None)
        # a path of several parts has the same name in the description
        path = None if served is None else served.replace(":path}", "}")
        method = scope["method"]
        if path is None or (status >= 500 and status != 503):
            return  # there is no such operation, or the test is of a fault of the server
        shown = f"{method} {path}: {status}"
        types = types_of(path, method, status)
        if types is None:
            yield shown
            return
        kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip()
        if kind and kind not in types:
            yield f"{shown} {kind}"
        if status < 300 and path not in LENIENT:
            listed = (operation_of(path, method) or {}).get("parameters", ())
            names = {target(each)["name"] for each in listed}
            given = {
                name for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            }
            yield from (f"{shown} ?{name}" for name in given - names)
