"""uvicorn for ASGI applications with endless streams, which are ended at shutdown."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

import uvicorn
import uvicorn.lifespan.off  # uvicorn imports these late, when a signal may come: cli/served_feed.py
import uvicorn.lifespan.on
import uvicorn.loops.asyncio
import uvicorn.loops.auto

__all__ = ["AsgiServer", "ending_at_signals", "tell_systemd"]

_STEPS: Final = 3
"""Iterations of the event loop until uvicorn knows an accepted connection."""


class AsgiServer(uvicorn.Server):
    """Serves until `should_exit`; then `stop` ends the endless streams. `on_hangup` is called at SIGHUP."""

    def __init__(
        self,
        config: uvicorn.Config,
        stop: Callable[[], Awaitable[None]],
        on_hangup: Callable[[AsgiServer], object] | None = None,
    ) -> None:
        super().__init__(config)
        self._stop = stop
        self._on_hangup = on_hangup

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections, and tell systemd so."""
        if self._on_hangup is not None:
            # by the loop, so that the function runs between two tasks and not in the middle of one
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._on_hangup, self)
        await super().startup(sockets)
        if self.started:
            tell_systemd("READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, end all streams, and close the connections."""
        tell_systemd("STOPPING=1")
        for listener in sockets or ():
            asyncio.get_running_loop().remove_reader(listener)
        await self._stop()
        for _ in range(_STEPS):  # uvicorn closes only the connections that it knows
            await asyncio.sleep(0)
        await super().shutdown(sockets)


def tell_systemd(state: str) -> None:
    """Send a state of the service to systemd, if it has started the process with `Type=notify`."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection, suppress(OSError):
        connection.sendto(state.encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)


@contextmanager
def ending_at_signals(end: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """Run `end` in the event loop when SIGINT or SIGTERM arrives inside the block.

    For an application under another server, which waits for streams before it ends the lifespan. That
    server's handlers still run. Signals without a handler, and other threads than the main one, are ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Future[None]] = []  # a loop has only weak references to its tasks

    def begin() -> None:
        tasks.append(asyncio.ensure_future(end()))

    def handle(before: Callable[..., Any], number: int, frame: Any) -> None:
        loop.call_soon_threadsafe(begin)
        before(number, frame)

    put = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        before = signal.getsignal(number)
        # an interactive prompt continues after Ctrl-C; `AsgiServer` ends the streams itself
        is_left = before is signal.default_int_handler or isinstance(
            getattr(before, "__self__", None), AsgiServer
        )
        if callable(before) and not is_left:
            put[number] = before, partial(handle, before)
            signal.signal(number, put[number][1])
    try:
        yield
    finally:
        for number, (before, handler) in put.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, before)
