"""The log of a dataset's last commits, as transactions of RDF Patch."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, TypeAlias

import rdflib

from rdflive.api.live import subscribe
from rdflive.api.target import to_feed
from rdflive.feeds.rdf_patch import encode_rdf_patch
from rdflive.model import Batch, Change, Quad
from rdflive.plugins import manager
from rdflive.plugins.hookspecs import hookimpl
from rdflive.server.failures import Problem
from rdflive.sinks.sink import to_rdflib
from rdflive.store import DurableStore, History, LogGapError, StoredLog

__all__ = ["Commit", "CommitLog"]

_WATCHED: Final = "ASK { GRAPH <urn:x-rdflive:log> { <urn:x-rdflive:log> a <urn:x-rdflive:log> } }"
"""A query without cost: a store reports its batches only while it has a subscription."""
_SYNTAX: Final = 100
"""Estimated bytes of a row beside its terms, with a datatype and the graph."""

_Waiting: TypeAlias = "tuple[asyncio.AbstractEventLoop, asyncio.Event]"


@dataclass(slots=True)
class Commit:
    """One commit of the log; its text is written at the first read."""

    sequence: int
    size: int
    """Estimated size in bytes."""
    content: Batch | str | bytes
    """The captured batch, its transaction, or its entry in the log on disk."""


class CommitLog:
    """Keeps the last commits of a dataset for followers, and never waits for a follower.

    It keeps at most `entries` commits of together about `size` bytes. It does not keep a larger commit:
    followers that have not seen it must read the dataset again. The id of a commit is `number-epoch`, from
    the history of the store.

    It logs every change of the store until `close`. Blank nodes keep the labels of the store. Language tags,
    which ignore case, are written in lower case.

    >>> dataset = rdflib.Dataset()
    >>> log = CommitLog(dataset)
    >>> _ = dataset.update("INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> <urn:o> } }")
    >>> print(*map(log.text, log.behind(None)))
    TX .
    A <urn:s> <urn:p> <urn:o> <urn:g> .
    TC .
    <BLANKLINE>
    >>> log.close()
    """

    def __init__(
        self,
        dataset: rdflib.Dataset,
        history: History | None = None,
        stored: StoredLog | None = None,
        *,
        entries: int = 10_000,
        size: int = 16 << 20,
    ) -> None:
        """Log the commits from now on; `history` numbers them, by default a new one.

        With the log on disk of the store (`stored`) followers may also come back to older commits.
        """
        self._store = manager.store_of(dataset)
        self.stored = stored
        self._most = entries, size
        self._lock = threading.Lock()
        self._commits: deque[Commit] = deque()
        self._size = 0
        self._oldest = self._sequence = 0
        self._waiting: list[_Waiting] = []
        self.is_closed = False
        self.followers: Counter[str] = Counter()
        """The number of streams of each client."""
        with manager.batch(self._store), manager.locked(self._store) as adapter:
            # the batch holds the lock, so no commit happens between reading the number and listening
            capture = adapter.capture
            self.history = history or History(sequence=capture.sequence)
            self._epoch = self.history.epoch
            self._oldest = self._sequence = self.history.number
            # with all attributes, as pluggy reads the properties too
            manager.register_plugin(self)
            try:
                self._subscription = subscribe(dataset, _WATCHED, initial=False)
            except BaseException:
                manager.unregister_plugin(self)
                raise
            self._owns_history = capture.history is None
            capture.history = self.history

    @property
    def last(self) -> int:
        """The number of the last commit."""
        return self._sequence

    @property
    def oldest(self) -> int:
        """The number of the oldest commit that a follower can come back to."""
        with self._lock:
            stored = self.stored
            is_one = stored is not None and stored.epoch == self._epoch
            return min(self._oldest, stored.oldest) if stored is not None and is_one else self._oldest

    def id(self, sequence: int) -> str:
        """Return the id of a commit."""
        return f"{sequence}-{self._epoch}"

    @property
    def now(self) -> str:
        """The id of the present state; read under the store's lock, it is that of the content."""
        return self.history.id(self.history.number)

    def place(self, name: str) -> int:
        """Return the number of the commit with an id; raise `Problem` 410 if later commits are gone."""
        self.renew()
        sequence = self.history.place(name)
        if sequence is None:
            raise _gone(f"{name!r} is not an id of this log")
        if not self.oldest <= sequence <= self._sequence:
            raise _gone(f"the commits after {name!r} are no longer kept")
        return sequence

    @property
    def epoch(self) -> str:
        """The history of the commits."""
        return self._epoch

    @property
    def start(self) -> int:
        """The place before the last commits, as many as are kept in memory at most."""
        return max(self.oldest, self._sequence - self._most[0])

    def renew(self) -> None:
        """Begin again if the dataset has another history, and end all waits."""
        with self._lock:
            if self._epoch != self.history.epoch:
                self._begin(self.history.number)
                self._wake()

    def prepend(self, commits: Iterable[tuple[int, str]]) -> None:
        """Put older commits, by number and text, before the others, as many as the log may keep.

        They are ignored unless they end where the log begins.
        """
        with self._lock:
            for number, text in sorted(commits, reverse=True):
                size, (entries, most) = len(text), self._most
                if number != self._oldest or len(self._commits) == entries or self._size + size > most:
                    return
                self._commits.appendleft(Commit(number, size, text))
                self._size += size
                self._oldest = number - 1

    def behind(self, place: int | None, epoch: str | None = None) -> list[Commit]:
        """Return the commits after a place, or all in memory; raise `Problem` 410 if some are gone.

        `epoch` is the history of the place, by default the present one. From the log on disk it returns only
        the first commits, of about as many bytes as are kept in memory.
        """
        with self._lock:
            if place is None:
                return list(self._commits)
            if epoch not in (None, self._epoch):
                raise _gone(f"the commits after {place}-{epoch} are no longer kept")
            oldest, last = self._oldest, self._sequence
        if place < oldest:
            return self._behind_stored(place, last)
        with self._lock:
            if place < self._oldest:
                raise _gone(f"the commits after {self.id(place)!r} are no longer kept")
            # from the end: followers are near it, and there may be ten thousand commits
            newer = list(takewhile(lambda commit: commit.sequence > place, reversed(self._commits)))
        return newer[::-1]

    def forked(self, place: int) -> list[tuple[int, Batch | str]]:
        """Return the commits in memory after a place up to the last one; raise `Problem` 410 if one is gone.

        For a process that was forked under the lock of the store, in which the log is of no other use.
        """
        # another thread may have held it at the fork
        self._lock, self.is_closed = threading.Lock(), True
        found = [(one.sequence, one.content) for one in self._commits if one.sequence > place]
        if [number for number, _ in found] != list(range(place + 1, self.history.number + 1)):
            raise _gone(f"the commits after {self.id(place)!r} are no longer kept")
        return [(number, content) for number, content in found if not isinstance(content, bytes)]

    def _behind_stored(self, place: int, last: int) -> list[Commit]:
        found: list[Commit] = []
        size = 0
        try:
            if self.stored is None or place < self.oldest:
                raise LogGapError
            for number, content in self.stored.since(place, last):
                found.append(Commit(number, len(content), content))
                size += len(content)
                if size > self._most[1]:
                    break
        except LogGapError as error:
            raise _gone(f"the commits after {self.id(place)!r} are no longer kept") from error
        return found

    def text(self, commit: Commit) -> str:
        """Return a commit as RDF Patch; discard one that cannot be written, and raise `Problem` 410.

        Takes long for a large commit.
        """
        content = commit.content
        if isinstance(content, bytes):
            content = self._read(commit.sequence, content)
        if isinstance(content, Batch):
            try:
                content = encode_rdf_patch(_lower_case(to_feed(self._store, content)))
            except ValueError as error:
                # with the commits before it, so that followers that need it learn of the gap
                self._discard(commit.sequence)
                raise _gone(
                    f"the commit {self.id(commit.sequence)!r} cannot be written as RDF Patch: {error}"
                ) from error
            commit.content = content
        return content

    def _read(self, number: int, content: bytes) -> Batch:
        with manager.locked(self._store) as adapter:
            assert isinstance(adapter, DurableStore)  # noqa: S101 - only such a store has the log
            changes = adapter.read_changes(content)
        return Batch(tuple(Change(sign, Quad(*quad)) for quad, sign in changes.items()), number)

    async def wait(self, place: int, timeout: float) -> bool:
        """Wait for a commit after a place, or for `close`; return False after `timeout` seconds."""
        changed = asyncio.Event()
        waiting = asyncio.get_running_loop(), changed
        with self._lock:
            # under the lock of `rdflive_batch`: no commit can happen before `_waiting` has the event
            if self._sequence > place or self.is_closed:
                return True
            self._waiting.append(waiting)
        try:
            async with asyncio.timeout(timeout):
                return await changed.wait()
        except TimeoutError:
            return False
        finally:
            # after a commit `_wake` has removed it
            with self._lock, suppress(ValueError):
                self._waiting.remove(waiting)

    async def reach(self, number: int, timeout: float) -> bool:
        """Wait for the commit with a number, or for `close`; return False after `timeout` seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while self._sequence < number and not self.is_closed:
            if not await self.wait(self._sequence, end - loop.time()):
                return False
        return True

    def close(self) -> None:
        """Stop watching, discard all commits, and end all waits. May be repeated."""
        with self._lock:
            if self.is_closed:
                return
            self.is_closed = True
            self._commits.clear()
            self._oldest = self._sequence
            self._wake()
        manager.unregister_plugin(self)
        self._subscription.close()
        if self._owns_history:
            with manager.locked(self._store) as adapter:
                adapter.capture.history = None

    @hookimpl
    def rdflive_batch(self, store: Any, batch: Batch) -> None:
        """Keep a commit of the dataset."""
        # the hook receives batches of every store of the process
        if store is not self._store or not batch.changes:
            return
        history = self.history
        commit = Commit(history.number_of(batch.sequence), _size(batch), batch)
        with self._lock:
            if self.is_closed:
                return
            # after an interrupted write the changes of a commit are unknown, and a replica may leave some out
            if commit.sequence != self._sequence + 1 or self._epoch != history.epoch:
                self._begin(commit.sequence - 1)
            self._commits.append(commit)
            self._sequence = commit.sequence
            self._size += commit.size
            most, size = self._most
            self._drop_while(lambda: len(self._commits) > most or self._size > size)
            self._wake()

    def _begin(self, number: int) -> None:
        self._epoch = self.history.epoch
        self._commits.clear()
        self._size, self._oldest, self._sequence = 0, number, number

    def _drop_while(self, is_too_much: Callable[[], bool]) -> None:
        while self._commits and is_too_much():
            commit = self._commits.popleft()
            self._size -= commit.size
            self._oldest = commit.sequence

    def _discard(self, sequence: int) -> None:
        with self._lock:
            self._drop_while(lambda: self._commits[0].sequence <= sequence)

    def _wake(self) -> None:
        for loop, changed in self._waiting:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(changed.set)
        self._waiting.clear()


def _size(batch: Batch) -> int:
    # the str of a term is about as long as its text in the log
    return sum(_SYNTAX + len(str(s)) + len(str(p)) + len(str(o)) for _, (s, p, o, _) in batch.changes)


def _lower_case(batch: Batch) -> Batch:
    def lower(quad: Quad) -> Quad:
        return quad._replace(object=to_rdflib(quad.object))

    return Batch(tuple(Change(sign, lower(quad)) for sign, quad in batch.changes), batch.sequence)


def _gone(detail: str) -> Problem:
    return Problem(410, f"{detail}; read the dataset again, and continue from the log's present id")
