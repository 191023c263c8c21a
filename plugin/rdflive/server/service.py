"""The graph that a server offers, and everything that is open on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import rdflib

from rdflive import manager
from rdflive.capture import Capture
from rdflive.server.change_log import ChangeLog
from rdflive.server.metrics import Metrics
from rdflive.server.settings import Limits
from rdflive.server.topics import Topics

__all__ = ["Service"]

Result = TypeVar("Result")


class Service:
    """A dataset, the queries that are open on it, and the threads that work: one of them writes."""

    topics: Topics
    """The queries that are kept up to date for clients; made by `running`."""
    changes: ChangeLog
    """The last commits of the dataset; made by `running`."""

    def __init__(self, dataset: rdflib.Dataset, limits: Limits) -> None:
        self.dataset = dataset
        self.limits = limits
        self.metrics = Metrics()
        self.store: Any = manager.store_of(dataset)
        self._writer = ThreadPoolExecutor(1, "rdflive-writer")
        self._worker = ThreadPoolExecutor(2, "rdflive-worker")
        self._tasks: set[asyncio.Future[Any]] = set()

    @property
    def capture(self) -> Capture:
        """What sees the changes of the store; its lock is the store's."""
        return manager.attach(self.store).capture

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve inside the block; at its end everything that is open ends."""
        self.topics = Topics(self)
        self.changes = ChangeLog(self.dataset)
        self.metrics.watch(self)
        try:
            yield
        finally:
            await self.stop()
            self._writer.shutdown()
            self._worker.shutdown()

    async def stop(self) -> None:
        """End everything that clients follow. May be repeated."""
        await self.topics.close()
        self.changes.close()
        await self.work(self.changes.close)

    async def write(self, function: Callable[[], Result]) -> Result:
        """Run a function in the thread that writes, behind those that were asked for before."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, function)

    async def work(self, function: Callable[[], Result]) -> Result:
        """Run a function that may wait for the store's lock, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, function)

    async def rehearse(self, function: Callable[[], object]) -> None:
        """Run a function that changes nothing first where it may fail: in a process that is thrown away."""

    def start(self, function: Callable[[], object]) -> None:
        """Run a function in a thread, some time."""
        task = asyncio.get_running_loop().run_in_executor(self._worker, function)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
