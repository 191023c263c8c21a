"""The answer of a child as a response of HTTP."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rdflive.asgi.connections import CUT
from rdflive.server.isolation.children import Child, Children
from rdflive.server.isolation.confinement import Work

__all__ = ["ChildResponse"]


class ChildResponse(Response):
    """The answer of a child, sent while it comes. It has no end where the child fails on the way."""

    def __init__(self, children: Children, client: str, work: Work) -> None:
        super().__init__()
        self._children = children
        self._client = client
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; a client that goes ends the child."""
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
            async with asyncio.timeout(self._children.limits.query_seconds):
                async with self._children.working(self._client, self._work) as child:
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
                raise self._children.exceeded(error, "query") from error
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
