"""The answer of a child as a response of HTTP."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rdflive.asgi.connections import CUT, until_gone
from rdflive.server.isolation.children import Child, Children
from rdflive.server.isolation.confinement import Work

__all__ = ["ChildResponse"]

_HEADERS: Final = [(b"vary", b"Accept"), (b"cache-control", b"no-store")]


class ChildResponse(Response):
    """The answer of a child, sent while it comes. It has no end where the child fails on the way."""

    def __init__(self, children: Children, client: str, work: Work) -> None:
        super().__init__()
        self._children = children
        self._client = client
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; a client that goes ends the child."""
        await until_gone(receive, self._stream(scope, send))

    async def _stream(self, scope: Scope, send: Send) -> None:
        has_begun = False
        try:
            async with asyncio.timeout(self._children.limits.query_seconds):
                async with self._children.working(self._client, self._work) as child:
                    content_type = (await child.begin()).encode("latin-1")
                    headers = [(b"content-type", content_type), *_HEADERS]
                    # from here on the status is told, and an error can only break the answer off
                    has_begun = True
                    await send({"type": "http.response.start", "status": 200, "headers": headers})
                    await _send_pieces(child, send)
        except (TimeoutError, EOFError, ConnectionError) as error:
            if not has_begun:
                raise self._children.exceeded(error, "query") from error
            cut = scope.get(CUT)
            if cut is None:
                raise
            # without an end of its own, so that nobody takes what was sent for the whole answer
            cut()


async def _send_pieces(child: Child, send: Send) -> None:
    async for piece in child.pieces():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
