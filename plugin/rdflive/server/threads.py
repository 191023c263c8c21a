"""The threads of a server, for work that may wait for the store's lock; one thread does all writing."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import Any, Final, TypeAlias, TypeVar

from rdflive.server.failures import server_ends

__all__ = ["Threads"]

Result = TypeVar("Result")

_Asked: TypeAlias = tuple[asyncio.Future[Any], Callable[[], object]]
_Answer: TypeAlias = tuple[asyncio.Future[Any], Any, BaseException | None]

_HELD: Final = 0.01
"""Seconds for which the results of earlier functions may wait for those of later ones."""


class Threads:
    """Runs functions for the event loop: updates in order in one thread, other work in two threads."""

    def __init__(self) -> None:
        self._writer = _WritingThread()
        self._worker = ThreadPoolExecutor(2, "rdflive-worker")
        self._writes_no_more = False
        self._begins_no_more = False

    @property
    def is_ending(self) -> bool:
        """True while the server is shutting down."""
        return self._writes_no_more

    async def write(self, function: Callable[[], Result]) -> Result:
        """Run a function in the writing thread, after earlier ones.

        Raises `Problem` 503 while the server is shutting down; earlier functions still run until `drop`.
        """
        if self._writes_no_more:
            raise server_ends()
        # a disconnected client ends only the wait: the function still runs, and `stop_writing` waits for it
        result: Result = await self._writer.put(partial(self._begin, function))
        return result

    async def work(self, function: Callable[[], Result]) -> Result:
        """Run a function that may wait for the store's lock."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, partial(_alone, function))

    def start(self, function: Callable[[], object]) -> None:
        """Run a function later, without waiting for it."""
        asyncio.get_running_loop().run_in_executor(self._worker, partial(_alone, function))

    async def stop_writing(self) -> None:
        """Accept no more updates, and wait for the accepted ones."""
        self._writes_no_more = True
        # it runs after all earlier functions
        await self._writer.put(lambda: None)

    def drop(self) -> None:
        """Refuse the accepted updates that have not begun, with `Problem` 503."""
        self._begins_no_more = True

    def _begin(self, function: Callable[[], Result]) -> Result:
        if self._begins_no_more:
            raise server_ends()
        return function()

    def close(self) -> None:
        """Wait for running functions, and end."""
        self._writer.close()
        self._worker.shutdown()


class _WritingThread:
    """A thread that takes all functions that wait, runs them in order, and answers them together.

    So under load one switch between the threads serves several updates. Used in the event loop's thread.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "rdflive-writer")
        self._waiting: list[_Asked] = []
        self._is_running = False

    def put(self, function: Callable[[], object]) -> asyncio.Future[Any]:
        """Run a function later; to cancel the future does not stop it."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((future, function))
        if not self._is_running:
            self._begin()
        return future

    def close(self) -> None:
        """Wait for running functions, and end."""
        self._thread.shutdown()

    def _begin(self) -> None:
        asked, self._waiting = self._waiting, []
        self._is_running = bool(asked)
        if asked:
            self._thread.submit(self._run, asyncio.get_running_loop(), asked)

    def _run(self, loop: asyncio.AbstractEventLoop, asked: list[_Asked]) -> None:
        answers: list[_Answer] = []
        begin = perf_counter()
        for future, function in asked:
            answers.append((future, *_outcome(function)))
            if perf_counter() - begin > _HELD:
                loop.call_soon_threadsafe(_answer, answers)
                answers, begin = [], perf_counter()
        loop.call_soon_threadsafe(self._go_on, answers)

    def _go_on(self, answers: list[_Answer]) -> None:
        _answer(answers)
        self._begin()


def _answer(answers: list[_Answer]) -> None:
    for future, result, error in answers:
        if future.done():  # its client has disconnected
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _outcome(function: Callable[[], object]) -> tuple[object, BaseException | None]:
    try:
        return _alone(function), None
    except BaseException as error:  # noqa: BLE001 - the event loop raises it
        return None, error


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
