"""The server of an ASGI application: uvicorn, with an end that waits for nobody."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Final

import uvicorn
import uvicorn.lifespan.off  # uvicorn imports these when it runs, and a signal may come then: cli/serve.py
import uvicorn.lifespan.on
import uvicorn.loops.asyncio
import uvicorn.loops.auto

__all__ = ["Server"]

_STEPS: Final = 3
"""Iterations of the event loop between the accepting of a connection and uvicorn's knowing of it."""


class Server(uvicorn.Server):
    """Serves until `should_exit`; then `stop` ends the streams that would never end by themselves."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config)
        self._stop = stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nobody else, end all streams, and close the connections."""
        for listener in sockets or ():
            asyncio.get_running_loop().remove_reader(listener)
        await self._stop()
        for _ in range(_STEPS):  # uvicorn closes the connections that it knows of
            await asyncio.sleep(0)
        await super().shutdown(sockets)
