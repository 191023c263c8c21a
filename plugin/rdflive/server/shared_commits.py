"""Updates of several requests in one commit, where their clients allow it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

import rdflib

from rdflive.server.failures import Problem
from rdflive.server.sparql.updating import run_update
from rdflive.server.threads import Threads

__all__ = ["SharedCommits"]

_Outcome: TypeAlias = int | Problem
"""The number of the commit, or the reason why there is none."""

_MOST: Final = 100
"""The most updates of one commit, as all of them wait for it."""


@dataclass(slots=True)
class _Commit:
    """Updates that will be one commit, in order."""

    texts: list[str] = field(default_factory=list)
    has_begun: bool = False
    outcomes: asyncio.Future[list[_Outcome]] | None = None


class SharedCommits:
    """Runs the updates that wait together as one commit. Used in the event loop's thread.

    If one of them fails or is refused, each runs as a commit of its own.
    """

    def __init__(self, dataset: rdflib.Dataset, threads: Threads) -> None:
        self._dataset = dataset
        self._threads = threads
        self._next = _Commit(has_begun=True)
        self._lock = threading.Lock()
        """Held to add to the next commit, which the writing thread may begin at any time."""

    async def run(self, text: str) -> int:
        """Run an update of data; return the number of its commit, which other updates may share.

        Raises as `run_update` does, and `Problem` 503 while the server is shutting down.
        """
        with self._lock:
            commit = self._next
            if commit.has_begun or len(commit.texts) == _MOST:
                self._next = commit = _Commit()
            commit.texts.append(text)
            place = len(commit.texts) - 1
        if commit.outcomes is None:
            writing = self._threads.write(partial(self._run, commit))
            commit.outcomes = asyncio.ensure_future(writing)
        # a disconnected client ends only its own wait
        outcome = (await asyncio.shield(commit.outcomes))[place]
        if isinstance(outcome, Problem):
            raise outcome
        return outcome

    def _run(self, commit: _Commit) -> list[_Outcome]:
        with self._lock:
            commit.has_begun = True
        texts = commit.texts
        outcome = self._outcome(*texts)
        if isinstance(outcome, Problem) and len(texts) > 1:
            return [self._outcome(text) for text in texts]
        return [outcome] * len(texts)

    def _outcome(self, *texts: str) -> _Outcome:
        try:
            return run_update(self._dataset, *texts)
        except Problem as problem:
            # without frames, whose objects Oxigraph must free in this thread
            return problem.with_traceback(None)
