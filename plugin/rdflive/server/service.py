"""The graph that a server offers, and everything that is open on it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import rdflib

from rdflive.plugins import manager
from rdflive.server.change_log import ChangeLog
from rdflive.server.isolated import Children
from rdflive.server.metrics import Metrics
from rdflive.server.settings import Limits
from rdflive.server.topics import Topics, ending
from rdflive.store.capture import Capture

__all__ = ["FeedState", "Service"]

FeedState: TypeAlias = Literal["following", "ended", "stopped"]
"""What becomes of a change feed: it is read to its end, or no further than an error."""
Result = TypeVar("Result")


class Service:
    """A dataset, the queries that are open on it, and the threads that work: one of them writes."""

    topics: Topics
    """The queries that are kept up to date for clients; made by `running`."""
    changes: ChangeLog
    """The last commits of the dataset; made by `running`."""
    children: Children
    """The processes that queries run in; made by `running`."""
    feed: FeedState | None = None
    """How the change feed is doing that the dataset follows; None without one. Its thread sets it."""

    def __init__(self, dataset: rdflib.Dataset, limits: Limits, scratch: Path | None = None) -> None:
        """Make the service of a dataset; `scratch` is a folder on the disk of its store."""
        self.dataset = dataset
        self.limits = limits
        self.metrics = Metrics()
        self.store: Any = manager.store_of(dataset)
        self._scratch = scratch
        self._writer = ThreadPoolExecutor(1, "rdflive-writer")
        self._worker = ThreadPoolExecutor(2, "rdflive-worker")
        self._tasks: set[asyncio.Future[Any]] = set()
        self._writing: set[asyncio.Future[Any]] = set()
        self._is_stopped = False

    @property
    def capture(self) -> Capture:
        """What sees the changes of the store; its lock is the store's."""
        return manager.attach(self.store).capture

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve inside the block; at its end everything that is open ends."""
        self.children = await self.work(lambda: Children(self, self._scratch))
        self.topics = Topics(self)
        self.changes = ChangeLog(self.dataset)
        self.metrics.watch(self)
        try:
            yield
        finally:
            await self.stop()
            await self.work(self.children.close)
            self._writer.shutdown()
            self._worker.shutdown()

    async def stop(self) -> None:
        """End what clients follow, and wait for updates; queries may still finish. May be repeated."""
        self._is_stopped = True
        await asyncio.gather(*self._writing, return_exceptions=True)  # so that clients are told of it
        await self.topics.close()
        await self.work(self.changes.close)

    async def write(self, function: Callable[[], Result]) -> Result:
        """Run a function in the thread that writes, behind those that were asked for before.

        Raises `Problem` 503 when the server ends; what has been asked for before is done.
        """
        if self._is_stopped:
            raise ending()
        writing = asyncio.get_running_loop().run_in_executor(self._writer, partial(_alone, function))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return await asyncio.shield(writing)

    async def work(self, function: Callable[[], Result]) -> Result:
        """Run a function that may wait for the store's lock, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, partial(_alone, function))

    def start(self, function: Callable[[], object]) -> None:
        """Run a function in a thread, some time."""
        task = asyncio.get_running_loop().run_in_executor(self._worker, partial(_alone, function))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _alone(function: Callable[[], Result]) -> Result:
    """Run a function; what it raises holds nothing that Oxigraph must drop in this thread."""
    try:
        return function()
    except BaseException as error:
        told: BaseException | None = error
        while told is not None:
            traceback.clear_frames(told.__traceback__)
            told = told.__cause__ or told.__context__
        raise
