"""The threads of a server, for work that may wait for the store's lock; one thread does all writing."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from rdflive.server.failures import server_ends

__all__ = ["Threads"]

Result = TypeVar("Result")


class Threads:
    """Runs functions for the event loop: updates in order in one thread, other work in two threads."""

    def __init__(self) -> None:
        self._writer = ThreadPoolExecutor(1, "rdflive-writer")
        self._worker = ThreadPoolExecutor(2, "rdflive-worker")
        self._writing: set[asyncio.Future[Any]] = set()
        self._writes_no_more = False
        self._begins_no_more = False

    async def write(self, function: Callable[[], Result]) -> Result:
        """Run a function in the writing thread, after earlier ones.

        Raises `Problem` 503 while the server is shutting down; earlier functions still run until `drop`.
        """
        if self._writes_no_more:
            raise server_ends()
        writing = asyncio.get_running_loop().run_in_executor(
            self._writer, partial(_alone, partial(self._begin, function))
        )
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        # a disconnected client ends only the wait: the function still runs, and `stop_writing` waits for it
        return await asyncio.shield(writing)

    async def work(self, function: Callable[[], Result]) -> Result:
        """Run a function that may wait for the store's lock."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, partial(_alone, function))

    def start(self, function: Callable[[], object]) -> None:
        """Run a function later, without waiting for it."""
        asyncio.get_running_loop().run_in_executor(self._worker, partial(_alone, function))

    async def stop_writing(self) -> None:
        """Accept no more updates, and wait for the accepted ones."""
        self._writes_no_more = True
        await asyncio.gather(*self._writing, return_exceptions=True)

    def drop(self) -> None:
        """Refuse the accepted updates that have not begun, with `Problem` 503."""
        self._begins_no_more = True

    def _begin(self, function: Callable[[], Result]) -> Result:
        if self._begins_no_more:
            raise server_ends()
        return function()

    def close(self) -> None:
        """Wait for running functions, and end."""
        self._writer.shutdown()
        self._worker.shutdown()


def _alone(function: Callable[[], Result]) -> Result:
    """Run a function, and raise its error without frames, whose objects Oxigraph must free in this thread."""
    try:
        return function()
    except BaseException as error:
        raised: BaseException | None = error
        while raised is not None:
            traceback.clear_frames(raised.__traceback__)
            raised = raised.__cause__ or raised.__context__
        raise
