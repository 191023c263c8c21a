"""Child processes for queries; each reads one state of the store and can be killed at any time."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, Protocol
from weakref import WeakValueDictionary

import rdflib
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rdflive.asgi.connections import CUT, until_gone
from rdflive.server.failures import Problem
from rdflive.server.isolation.checkpoints import Checkpoints
from rdflive.server.isolation.confinement import Work
from rdflive.server.isolation.disk_forks import DiskForks
from rdflive.server.isolation.frames import FRAME, PIECE
from rdflive.server.isolation.memory_forks import MemoryForks
from rdflive.server.isolation.work import warm_up
from rdflive.server.settings import Limits

__all__ = ["Child", "ChildResponse", "Children", "Process", "StateResponse"]

_TOTAL: Final = 32
"""Concurrent children of all clients."""
_STARTING: Final = 4
"""Threads that start and reap children; a start may wait for the store's lock."""


class Process(Protocol):
    """The process of a child."""

    sequence: int
    """The number of the last commit in the state that the child reads."""

    def kill(self) -> None:
        """Kill the process, without waiting."""

    def reap(self) -> None:
        """Wait for the end of the process, and free its resources."""


class Maker(Protocol):
    """Makes processes. It is called in threads that live as long as the maker."""

    def begin(self, work: Work, ours: socket.socket, theirs: socket.socket, *, writes: bool) -> Process:
        """Start a process that works on the present state and writes to the other end of `ours`."""

    def close(self) -> None:
        """Free all resources."""


class Child:
    """A running child process, as the event loop sees it; it must always be ended."""

    def __init__(self, process: Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.process = process
        self._reader = reader
        self._writer = writer

    async def begin(self) -> str:
        """Return the media type of the answer, empty without an answer; raise `Problem`."""
        # an error before the first piece arrives as a problem, so the status is still open
        kind, content = await self._frame()
        if kind == b"P":
            status, detail, members = json.loads(content)
            raise Problem(status, detail, **members)
        return content.decode()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the answer; raise `EOFError` if it is incomplete."""
        while (frame := await self._frame())[0] != b"E":
            yield frame[1]

    async def _frame(self) -> tuple[bytes, bytes]:
        """Return a frame; raise asyncio's `EOFError` if the child has ended without one."""
        kind, length = FRAME.unpack(await self._reader.readexactly(FRAME.size))
        return kind, await self._reader.readexactly(length)

    def kill(self) -> None:
        """Kill the child; it must still be reaped."""
        self._writer.transport.abort()
        self.process.kill()


class Children:
    """The children of a server, and their number per client. Made and closed outside the event loop."""

    def __init__(self, dataset: rdflib.Dataset, limits: Limits, folder: Path | None) -> None:
        """Prepare for children of a dataset; `folder` is for checkpoints, on the disk of the store."""
        warm_up()
        self.limits = limits
        checkpoints = Checkpoints.of(dataset, folder)
        self._maker: Maker = (
            MemoryForks(dataset, limits) if checkpoints is None else DiskForks(checkpoints, limits)
        )
        self.are_copies = checkpoints is None
        """True if children have a copy of this process's memory."""
        self._threads = ThreadPoolExecutor(_STARTING, "rdflive-children")
        self._processes: set[Process] = set()
        self._running: Counter[str] = Counter()
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._all = asyncio.Semaphore(max(_TOTAL, limits.queries))

    def __len__(self) -> int:
        return len(self._processes)

    def close(self) -> None:
        """End all children."""
        for process in tuple(self._processes):
            process.kill()
        self._threads.shutdown()
        while self._processes:
            self._processes.pop().reap()
        self._maker.close()

    @asynccontextmanager
    async def working(self, client: str, work: Work) -> AsyncIterator[Child]:
        """Run work in a child inside the block; raise `Problem` 429 or 503 beyond the limits."""
        limit = self.limits.queries
        if self._running[client] >= limit:
            raise Problem(429, f"more than {limit} queries at once", headers={"Retry-After": "1"})
        # refused, not queued: the time limit of `ChildResponse` is already running
        if self._all.locked():
            raise Problem(503, "too many queries are running", headers={"Retry-After": "1"})
        self._running[client] += 1
        try:
            async with self._all, self._child(work, writes=False) as child:
                yield child
        finally:
            self._running[client] -= 1
            if not self._running[client]:
                del self._running[client]

    async def rehearse(self, client: str, work: Work, what: str, *, writes: bool = False) -> bytes:
        """Try work in a child before this process does it, and return its answer; raise `Problem` if that
        fails.

        Changes of the child (`writes`) stay invisible. The time limit counts from the start of the child.
        """
        turns = self._turns.get(client)
        if turns is None:
            self._turns[client] = turns = asyncio.Semaphore(self.limits.queries)
        # waits, is not refused: a client may reconnect with many subscriptions at once
        async with turns, self._all:
            try:
                async with asyncio.timeout(self.limits.query_seconds):
                    async with self._child(work, writes=writes) as child:
                        await child.begin()
                        return b"".join([piece async for piece in child.pieces()])
            except (TimeoutError, EOFError, ConnectionError) as error:
                raise self.exceeded(error, what) from error

    def exceeded(self, error: Exception, what: str) -> Problem:
        """Return the problem of the limit that a child without an answer has exceeded."""
        if isinstance(error, TimeoutError):
            detail = f"the {what} takes longer than {self.limits.query_seconds:g} s"
        else:
            size = f"{self.limits.query_bytes:,} bytes of memory"
            detail = f"the {what} needs more than {size}, or its engine failed"
        return Problem(503, detail, headers={"Retry-After": "60"})

    @asynccontextmanager
    async def _child(self, work: Work, *, writes: bool) -> AsyncIterator[Child]:
        ours, theirs = socket.socketpair()
        loop = asyncio.get_running_loop()
        starting = loop.run_in_executor(self._threads, partial(self._begin, work, ours, theirs, writes))
        try:
            # the thread cannot be stopped; `_end_late` ends a child that it still starts
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(partial(self._end_late, ours))
            raise
        except OSError as error:
            ours.close()
            raise Problem(
                503, f"no process can be started: {error}", headers={"Retry-After": "60"}
            ) from error
        except BaseException:
            ours.close()
            raise
        try:
            child = Child(process, *await asyncio.open_unix_connection(sock=ours, limit=PIECE))
        except BaseException:
            ours.close()
            self._end(process)
            raise
        try:
            yield child
        finally:
            child.kill()
            self._end(process)

    def _begin(self, work: Work, ours: socket.socket, theirs: socket.socket, writes: bool) -> Process:
        # closed here once the child has it: an open copy would hide the end of the child
        with theirs:
            process = self._maker.begin(work, ours, theirs, writes=writes)
        self._processes.add(process)
        return process

    def _end(self, process: Process) -> None:
        """End a process, and reap it in a thread."""
        process.kill()
        try:
            self._threads.submit(self._reap, process)
        except RuntimeError:  # the server has ended all processes
            return

    def _reap(self, process: Process) -> None:
        if process in self._processes:
            process.reap()
            self._processes.discard(process)

    def _end_late(self, ours: socket.socket, starting: asyncio.Future[Process]) -> None:
        """End a child whose request was cancelled during the start."""
        ours.close()
        if not starting.cancelled() and not starting.exception():
            self._end(starting.result())


_HEADERS: Final = [(b"vary", b"Accept"), (b"cache-control", b"no-store")]


class ChildResponse(Response):
    """The streamed answer of a child. It stays without its end if the child fails midway."""

    def __init__(self, children: Children, client: str, work: Work) -> None:
        super().__init__()
        self._children = children
        self._client = client
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; end the child if the client disconnects."""
        await until_gone(receive, self._stream(scope, send))

    async def _stream(self, scope: Scope, send: Send) -> None:
        has_begun = False
        try:
            async with asyncio.timeout(self._children.limits.query_seconds) as limit:
                async with self._children.working(self._client, self._work) as child:
                    content_type = (await child.begin()).encode("latin-1")
                    headers = [(b"content-type", content_type), *_HEADERS, *self._state(child)]
                    # from here on the status is sent, and an error can only cut the answer
                    has_begun = True
                    await send({"type": "http.response.start", "status": 200, "headers": headers})
                    if scope["method"] != "HEAD":
                        async for piece in child.pieces():
                            await send({"type": "http.response.body", "body": piece, "more_body": True})
                            self._sent(limit)
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (TimeoutError, EOFError, ConnectionError) as error:
            if not has_begun:
                raise self._children.exceeded(error, "query") from error
            cut = scope.get(CUT)
            if cut is None:
                raise
            # without an end, so that clients do not take the sent part for the full answer
            cut()

    def _state(self, child: Child) -> list[tuple[bytes, bytes]]:  # noqa: ARG002 - for `StateResponse`
        """Return the headers that describe the state that the child reads."""
        return []

    def _sent(self, limit: asyncio.Timeout) -> None:
        """Do nothing: the time limit is that of the whole answer."""


class StateResponse(ChildResponse):
    """The graphs of one state of the dataset, with the id of its last commit as the header Last-Event-ID.

    `name` returns the id of a commit. The time limit holds for each piece, as a dataset may be of any size.
    """

    def __init__(self, children: Children, client: str, work: Work, name: Callable[[int], str]) -> None:
        super().__init__(children, client, work)
        self._name = name

    def _state(self, child: Child) -> list[tuple[bytes, bytes]]:
        return [(b"last-event-id", self._name(child.process.sequence).encode())]

    def _sent(self, limit: asyncio.Timeout) -> None:
        limit.reschedule(asyncio.get_running_loop().time() + self._children.limits.query_seconds)
