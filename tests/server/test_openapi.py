"""The published description is valid, complete and true of a running server.

`support.serving` holds every response of the other tests of the server against it.
"""

from __future__ import annotations

import asyncio
import re
from importlib.metadata import version
from typing import get_args

import pytest
import rdflib
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from rdflive.server.access import COOKIE
from rdflive.server.app import make_app
from rdflive.server.openapi import describe_api
from rdflive.server.service import FeedState
from rdflive.server.sparql.formats import GRAPHS, REPORTS, TABLES
from support.described import Described, types_of


@pytest.mark.posix("the server forks")
def test_description_has_every_route_and_no_other() -> None:
    """Paths and methods are those of the application; HEAD is GET's."""
    described = {
        (path, method.upper())
        for path, operations in describe_api()["paths"].items()
        for method in operations
    }
    served = {
        (route.path.replace(":path}", "}"), method)
        for route in make_app(rdflib.Dataset()).routes
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert described == served


def test_description_is_openapi_3_1() -> None:
    """A third-party validator accepts the description."""
    validator = pytest.importorskip("openapi_spec_validator", reason="needs openapi-spec-validator")
    validator.validate(describe_api())


def test_states_of_a_feed_are_described() -> None:
    """Those that /health may tell, and no others."""
    feed = describe_api()["components"]["schemas"]["Health"]["properties"]["feed"]
    assert feed == {"enum": list(get_args(FeedState))}


def test_description_names_what_the_server_writes() -> None:
    """The media types that clients may choose from, the cookie and the version."""
    for method in ("GET", "POST"):
        assert types_of("/query", method, 200) == {*TABLES, *GRAPHS}
    assert types_of("/validation", "GET", 200) == {*REPORTS, "text/event-stream"}
    assert types_of("/update", "POST", 422) == {*REPORTS, "application/problem+json"}
    assert describe_api()["components"]["securitySchemes"]["cookie"]["name"] == COOKIE
    assert describe_api()["info"]["version"] == version("rdflive")


def test_every_component_is_used() -> None:
    """A component that no operation refers to is left over."""
    described = describe_api()
    components = {
        f"#/components/{kind}/{name}"
        for kind, named in described["components"].items()
        if kind != "securitySchemes"
        for name in named
    }
    assert set(re.findall(r"#/components/[^']+", str(described))) == components


@pytest.mark.posix("the server forks")
def test_a_response_that_the_description_lacks_is_noticed() -> None:
    """Its status, its type, or the parameter that it answers; other paths and faults are not described."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", scope["kind"])]
        await send({"type": "http.response.start", "status": scope["status"], "headers": headers})

    async def ask(target: str, status: int, kind: bytes) -> None:
        path, _, query = target.partition("?")
        asked = {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}
        await described(asked | {"status": status, "kind": kind}, receive, sent)

    async def receive() -> Message:
        return {"type": "http.request"}

    async def sent(message: Message) -> None:
        pass

    described = Described(respond, make_app(rdflib.Dataset()).routes)
    for path in ("/query?a=b", "/nothing"):
        for status, kind in (
            (200, b"text/csv"),
            (200, b"text/html"),
            (402, b"text/csv"),
            (500, b"text/plain"),
        ):
            asyncio.run(ask(path, status, kind))
    asyncio.run(ask("/vocabulary?a=b", 200, b"application/json"))
    assert described.undescribed == {
        "GET /query: 200 text/html",
        "GET /query: 402",
        "GET /vocabulary: 200 ?a",
    }
