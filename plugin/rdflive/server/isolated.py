"""Queries in processes of their own: each sees one state of the store, and can be ended at any moment.

A store in memory is forked under its lock, so no thread of this process is inside it. A child of a store on
disk opens a checkpoint.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import warnings
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

from rdflive.errors import RdfliveError
from rdflive.server.answering import warm_up
from rdflive.server.checkpoints import Checkpoints
from rdflive.server.confinement import Work, live
from rdflive.server.failures import Problem
from rdflive.server.frames import FRAME, PIECE
from rdflive.server.service import Service

__all__ = ["Child", "Children", "check_fork"]

_TOTAL: Final = 32
"""Children at once, whoever asks."""


def check_fork() -> None:
    """Raise `RdfliveError` where queries cannot be isolated."""
    if not hasattr(os, "fork"):
        raise RdfliveError(
            "queries run in processes of their own, which needs os.fork: serve on Linux, macOS or WSL"
        )


class Child:
    """A child at work, as the event loop sees it. End it in any case."""

    def __init__(self, process: Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.process = process
        self._reader = reader
        self._writer = writer

    async def begin(self) -> str:
        """Wait for the type of the answer, empty for none; raises `Problem`."""
        kind, content = await self._frame()
        if kind == b"P":
            status, detail, told = json.loads(content)
            raise Problem(status, detail, **told)
        return content.decode()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Give the pieces of the answer; raises `EOFError` where it breaks off."""
        while (frame := await self._frame())[0] != b"E":
            yield frame[1]

    async def _frame(self) -> tuple[bytes, bytes]:
        """Read a frame; raises `EOFError` (asyncio's) where the child has ended without one."""
        kind, length = FRAME.unpack(await self._reader.readexactly(FRAME.size))
        return kind, await self._reader.readexactly(length)

    def kill(self) -> None:
        """Let go of the child; it must be waited for."""
        self._writer.transport.abort()
        self.process.kill()


class Children:
    """The children of a server, and how many each client has."""

    def __init__(self, service: Service, folder: Path | None = None) -> None:
        """Make the children of a service, whose store may be on the disk that `folder` is on."""
        check_fork()
        warm_up()
        self._service = service
        self._checkpoints = Checkpoints(service.dataset, folder)
        self._running: Counter[str] = Counter()

    @asynccontextmanager
    async def working(self, client: str, work: Work, *, writes: bool = False) -> AsyncIterator[Child]:
        """Have a child do some work inside the block; raises `Problem` 429 or 503 for one too many.

        What the child `writes` to the store is seen by nobody else.
        """
        limits = self._service.limits
        if self._running[client] >= limits.queries:
            raise Problem(429, f"more than {limits.queries} queries at once", headers={"Retry-After": "1"})
        if self._running.total() >= max(_TOTAL, limits.queries):
            raise Problem(503, "too many queries are running", headers={"Retry-After": "1"})
        self._running[client] += 1
        child: Child | None = None
        try:
            child = await self._start(work, writes)
            yield child
        finally:
            self._running[client] -= 1
            if not self._running[client]:
                del self._running[client]
            if child is not None:
                self._end(child)

    async def _start(self, work: Work, writes: bool) -> Child:
        ours, theirs = socket.socketpair()
        starting = asyncio.ensure_future(self._service.work(lambda: self._begin(work, theirs, writes)))
        try:
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_end_late)
            ours.close()
            raise
        except BaseException:
            ours.close()
            raise
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=PIECE)
        return Child(process, reader, writer)

    def _begin(self, work: Work, theirs: socket.socket, writes: bool) -> Process:
        """Start a process; runs in a thread that lives as long as the service."""
        with theirs:
            if self._checkpoints.needed:
                return self._checkpoints.begin(work, theirs, self._service.limits, writes=writes)
            return self._fork(work, theirs)

    def _fork(self, work: Work, theirs: socket.socket) -> Process:
        service, parent = self._service, os.getpid()
        warnings.filterwarnings(  # the child runs the forking thread only, and takes no lock of another
            "ignore", "This process .* is multi-threaded", DeprecationWarning, __name__.replace(".", r"\.")
        )
        with service.capture.lock:
            pid = os.fork()
            if not pid:
                live(lambda: service.dataset, work, theirs, service.limits, parent=parent, has_files=False)
        return _Forked(pid)

    def _end(self, child: Child) -> None:
        child.kill()
        try:
            self._service.start(child.process.bury)
        except RuntimeError:  # the service has ended
            child.process.bury()


class Process(Protocol):
    """A process that a child runs in."""

    def kill(self) -> None:
        """End it, whatever it does."""

    def bury(self) -> None:
        """Wait for its end and leave nothing of it."""


class _Forked:
    def __init__(self, pid: int) -> None:
        self._pid = pid

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def bury(self) -> None:
        os.waitpid(self._pid, 0)


def _end_late(starting: asyncio.Future[Process]) -> None:
    """End a child that nobody waits for any more."""
    if not starting.cancelled() and not starting.exception():
        starting.result().kill()
        starting.result().bury()
