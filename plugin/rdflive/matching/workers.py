"""Distributes events over processes, in batches, and keeps their order."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import parent_process
from threading import Thread
from typing import Any, Final, TypeAlias

from rdflive.matching.events import Event, EventError, read_event
from rdflive.matching.match import Match
from rdflive.matching.matcher import Matcher
from rdflive.model import rows_unread

__all__ = ["match_in_processes"]

_BATCH: Final = 256
"""Number of events per batch. For a slow stream, one process returns matches sooner."""
_AHEAD: Final = 2
"""Number of batches per process that are read ahead."""
_PATIENCE: Final = 0.5
"""Seconds between two checks that the parent is alive."""

Batch: TypeAlias = list[Event]
Outcome: TypeAlias = "tuple[list[Match], EventError | None]"

_matcher: Matcher | None = None
"""The matcher of a worker process."""


def match_in_processes(make: Callable[[], Matcher], events: Iterator[Any], workers: int) -> Iterator[Match]:
    """Match events in this number of processes; `make` must be picklable.

    If an event cannot be matched or read, its error is raised after the matches of the events before it.
    """
    pool = ProcessPoolExecutor(workers, initializer=_begin, initargs=(make,))
    waiting: deque[tuple[int, Future[Outcome]]] = deque()
    number = 0
    broken: Exception | None = None
    try:
        while True:
            for _ in range(workers * _AHEAD - len(waiting)):
                if broken is not None:
                    break
                batch, broken = _read(events, number)
                # the stream has ended, or the next event cannot be read
                if not batch:
                    break
                waiting.append((number, pool.submit(_match, batch)))
                number += len(batch)
            if not waiting:
                break
            start, future = waiting.popleft()
            yield from _placed(start, *future.result())
        if broken is not None:
            raise broken
    finally:
        # The caller may have stopped iterating in the middle.
        pool.shutdown(wait=True, cancel_futures=True)


def _read(events: Iterator[Any], number: int) -> tuple[Batch, Exception | None]:
    """Read a batch, and return the error that ended it, which may come from the caller's iterator."""
    batch: Batch = []
    try:
        for event in islice(events, _BATCH):
            # in this process: an event may be a generator, which cannot be pickled
            batch.append(read_event(event, number + len(batch)))
    except Exception as error:  # noqa: BLE001 - raised after the batch
        return batch, error
    return batch, None


def _placed(start: int, matches: list[Match], error: EventError | None) -> Iterator[Match]:
    for number, match in enumerate(matches, start):
        match.number = number
        yield match
    if error is not None:
        # each process counts only its own events
        raise EventError(start + len(matches), error.reason) from error


def _begin(make: Callable[[], Matcher]) -> None:
    global _matcher  # kept between batches
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches all processes; the parent shuts the pool down
    Thread(target=_end_with_parent, daemon=True).start()
    with rows_unread():  # the parent has already warned
        _matcher = make()


def _end_with_parent() -> None:
    """End this process soon after its parent, which may have been killed.

    A process forked later may hold the other end of the sentinel, so the parent's process id is checked too.
    """
    parent, number = parent_process(), os.getppid()
    while parent is not None and parent.is_alive() and os.getppid() == number:
        parent.join(_PATIENCE)
    os._exit(1)  # `sys.exit` would end this thread only


def _match(batch: Batch) -> Outcome:
    assert _matcher is not None  # noqa: S101 - the process began with it
    matches: list[Match] = []
    for event in batch:
        try:
            matches.append(_matcher.match(event))
        except EventError as error:
            return matches, error
    return matches, None
