"""The loop of a mirror: it applies entries, keeps cursors, puts bad records aside and takes snapshots."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from rdflive.api.interrupts import interrupt_later
from rdflive.api.target import GraphTarget
from rdflive.errors import (
    ClosedError,
    FeedError,
    RdfliveError,
    ResyncNeeded,
    UnsupportedStoreError,
    ValidationError,
)
from rdflive.feeds import Entry, Feed, Frame, Line, Snapshot
from rdflive.feeds.entries import DeadLetters
from rdflive.feeds.files import FileFeed
from rdflive.model import Batch, Change

__all__ = ["MirrorRun", "Mirrored"]

_CURSOR: Final = "cursor"
_OWN: Final = "feed "
"""Prefix of a feed's own keys, so that none of them is `cursor`."""
_PATIENCE: Final = 3
"""Number of consecutive snapshots without an entry after which a feed is given up."""


def _forked() -> None:
    """Discard the mirrors of the parent process, whose threads a fork does not have."""
    _running.clear()
    _mutex.release()


_running: Final[dict[tuple[int, str], MirrorRun]] = {}
"""The running mirrors, by store and name."""
_mutex: Final = threading.RLock()
"""Held while a mirror is added or removed."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_mutex.acquire, after_in_parent=_mutex.release, after_in_child=_forked)


@dataclass(frozen=True, slots=True)
class Mirrored:
    """The result of a mirror at the end of its feed."""

    entries: int = 0
    """Number of applied entries, each one commit."""
    changes: int = 0
    """Number of changes listed in them, without the effects of SPARQL updates."""
    skipped: int = 0
    """Number of bad records that went to the dead letters."""
    resyncs: int = 0
    """Number of snapshots that replaced the graph's content."""
    cursor: str | None = None
    """The position from which the next run continues; None if nothing was ever read."""


@dataclass(slots=True)
class MirrorRun:
    """One run of a mirror; without a name it keeps no cursor."""

    target: GraphTarget
    feed: Feed
    name: str | None
    snapshot: Callable[[], Snapshot] | None
    """Reads the state before the first entry. None if the feed supplies its own snapshot, or none exists."""
    letters: DeadLetters | None
    on_entry: Callable[[Entry], object] | None
    on_resync: Callable[[Snapshot], object] | None
    done: Mirrored = Mirrored()
    refused: Frame = ()
    """The last entry that the store refused. It may come again if a cursor cannot point after it."""
    step: threading.RLock = field(default_factory=threading.RLock)
    """Held from before an entry or a snapshot is applied until its callback has returned."""
    is_stopped: bool = False
    """True after `stop`: only a step that has started still applies changes."""
    is_applying: bool = False
    """True inside a step, and permanently after a failed step."""

    def stop(self) -> None:
        """Apply no more entries, and close the feed if possible. Returns at once; callable from any thread.

        A closed feed ends. Any other feed runs until it returns something. The graph no longer changes once
        `step` can be acquired.
        """
        self.is_stopped = True
        close = getattr(self.feed, "close", None)
        if close is not None:
            close()

    def run(self, cursor: str | None) -> Mirrored:
        """Follow the feed to its end, and restart from a snapshot whenever it requests one."""
        try:
            return self._run(cursor)
        # in the caller it would end a generator, and a future of asyncio cannot hold it
        except StopIteration as error:
            raise RuntimeError("a callback, the snapshot or the feed has raised StopIteration") from error

    def _run(self, cursor: str | None) -> Mirrored:
        if cursor is None and self.name is not None:
            cursor = self.target.kept(self.name).get(_CURSOR)
        self.done = replace(self.done, cursor=cursor)
        if cursor is None and self.snapshot is not None:
            self._resync(self._requested(self.snapshot))
        barren = 0
        while not self.is_stopped:
            entries = self.done.entries
            need = self._follow()
            if need is None:
                break
            barren = 0 if self.done.entries > entries else barren + 1
            snapshot = self._requested(self._snapshot)
            if self.is_stopped:
                break
            if snapshot is None or barren == _PATIENCE:
                raise need
            self._resync(snapshot)
        return self.done

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Refuse a second mirror of the name: each would move the other's cursor."""
        if self.name is None:
            yield
            return
        key = self.target.identity, self.name
        try:
            before: MirrorRun | None = None
            while True:
                with _mutex:
                    other = _running.get(key)
                    if other is before:
                        _running[key] = self
                        break
                if other is not None:
                    if not other.is_stopped:
                        raise RdfliveError(
                            f"a mirror named {self.name!r} is running on this store; give this one another "
                            "name"
                        )
                    with other.step:  # its thread may wait in the feed, but its cursor no longer changes
                        pass
                before = other
            yield
        finally:
            with _mutex:
                if _running.get(key) is self:
                    del _running[key]

    def _follow(self) -> ResyncNeeded | None:
        """Apply entries until the feed ends or needs a resync."""
        while True:
            entries = self.feed.entries(self.done.cursor, self._own(), self.target)
            try:
                restarts, need = self._apply_all(entries)
            finally:
                close = getattr(entries, "close", None)  # a generator may hold a file or a connection
                if close is not None:
                    close()
            if not restarts:
                return need

    def _apply_all(self, entries: Iterator[Entry]) -> tuple[bool, ResyncNeeded | None]:
        """Apply entries. Returns true if the feed must restart from its cursor, and the need of a resync."""
        restarts = False
        while not restarts:
            try:
                entry = next(entries)
            except StopIteration:
                return False, None
            except ResyncNeeded as need:
                return False, need
            except Exception:
                if self.is_stopped:  # a closed feed may raise any error
                    return False, None
                raise
            with self.step:
                if self.is_stopped:
                    return False, None
                self.is_applying = True
                restarts = self._apply(entry)
                self.is_applying = False
        return True, None

    def _apply(self, entry: Entry) -> bool:
        """Apply an entry or skip it. Returns true if the feed must restart from its kept state.

        That is the case if the store refuses an entry that the decoder has taken as applied.
        """
        error, restarts = entry.error, False
        try:
            if error is None:
                try:
                    self._write(entry)
                except Exception as cause:
                    if not _is_refusal(cause, entry):
                        raise
                    error = self._refusal(entry, cause)
                    restarts = bool(entry.kept) and entry.frame != self.refused
                    # a stream cannot be read again, so it cannot restart
                    if restarts and isinstance(self.feed, FileFeed) and self.feed.is_stream:
                        raise error from cause
                    self.refused = entry.frame
            if error is not None:
                if self.letters is None:
                    raise error
                self.letters(error, entry.frame)
                self._skip(entry)
                if entry.error is None:
                    # without the cause, whose traceback refers to this frame
                    reported = FeedError(error.source, error.line, error.reason, offset=error.offset)
                    entry = Entry(
                        Batch((), entry.batch.sequence), entry.cursor, frame=entry.frame, error=reported
                    )
        finally:
            # its traceback refers to this frame: interrupted frames would wait for the garbage collector
            del error
        if self.on_entry is not None:
            self.on_entry(entry)
        return restarts

    def _write(self, entry: Entry) -> None:
        keep = {_OWN + key: text for key, text in entry.kept.items()}
        with interrupt_later():
            self._keep(entry.batch.changes, entry.updates, {**keep, _CURSOR: entry.cursor})
        done = self.done
        changes = done.changes + len(entry.batch.changes)
        self.done = replace(done, entries=done.entries + 1, changes=changes, cursor=entry.cursor)

    def _skip(self, entry: Entry) -> None:
        """Move the cursor over a bad record."""
        self._keep((), (), {_CURSOR: entry.cursor})
        self.done = replace(self.done, skipped=self.done.skipped + 1, cursor=entry.cursor)

    def _keep(
        self, changes: Iterable[Change], updates: tuple[str, ...], keep: Mapping[str, str | None]
    ) -> None:
        self.target.write(changes, updates, self.name or "", keep if self.name is not None else {})

    def _refusal(self, entry: Entry, cause: Exception) -> FeedError:
        line = entry.frame[0] if entry.frame else Line("", 0)
        # validation results keep their lines
        text = str(cause) if isinstance(cause, ValidationError) else " ".join(str(cause).split())
        reason = f"the store refuses entry {entry.batch.sequence}: {text}"
        error = FeedError(self.feed.source, line.number, reason, offset=line.start)
        error.__cause__ = cause
        return error

    def _requested(self, read: Callable[[], Snapshot | None]) -> Snapshot | None:
        """Read a snapshot; None if there is none, or if the mirror is stopped meanwhile."""
        try:
            return read()
        except Exception:
            if self.is_stopped:
                return None
            raise

    def _snapshot(self) -> Snapshot | None:
        return self.feed.snapshot(self.target) if self.snapshot is None else self.snapshot()

    def _resync(self, snapshot: Snapshot | None) -> None:
        """Replace the graph's content in one commit."""
        with self.step:
            if snapshot is not None and not self.is_stopped:
                self.is_applying = True
                self._replace(snapshot)
                self.is_applying = False

    def _replace(self, snapshot: Snapshot) -> None:
        old = {} if self.name is None else self.target.kept(self.name)
        new = {_OWN + key: text for key, text in snapshot.kept.items()}
        # None removes a key: the feed's kept texts belong to the replaced state
        keep = {**dict.fromkeys(old), **new, _CURSOR: snapshot.cursor}
        with interrupt_later():
            self.target.replace(snapshot.quads, self.name or "", keep if self.name is not None else {})
        self.done = replace(self.done, resyncs=self.done.resyncs + 1, cursor=snapshot.cursor)
        if self.on_resync is not None:
            self.on_resync(snapshot)

    def _own(self) -> dict[str, str]:
        """Return the texts that the feed keeps."""
        kept = {} if self.name is None else self.target.kept(self.name)
        return {key.removeprefix(_OWN): text for key, text in kept.items() if key.startswith(_OWN)}


def _is_refusal(cause: Exception, entry: Entry) -> bool:
    """True if an exception is about the entry, and not about the store."""
    # errors of the disk or the store, which the next entry would raise too
    if isinstance(cause, OSError | UnsupportedStoreError | ClosedError):
        return False
    if isinstance(cause, ValueError | SyntaxError | RdfliveError | RecursionError):
        return True
    # rdflib's engine raises many kinds of exceptions for an update
    return bool(entry.updates) and not isinstance(cause, RuntimeError | MemoryError)
