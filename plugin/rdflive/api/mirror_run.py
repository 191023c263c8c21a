"""The loop of a mirror: entries into commits, cursors kept, bad records put aside, snapshots taken."""

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
"""In front of the keys that a feed chose itself, so that none of them is `cursor`."""
_PATIENCE: Final = 3
"""Snapshots without an entry in between, until a feed that asks for another is given up."""


def _forked() -> None:
    """Forget the mirrors of the process that this one was forked from: their threads are not here."""
    _running.clear()
    _mutex.release()


_running: Final[dict[tuple[int, str], MirrorRun]] = {}
"""The mirrors at work, by store and name."""
_mutex: Final = threading.RLock()
"""Held while one comes to them or goes."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_mutex.acquire, after_in_parent=_mutex.release, after_in_child=_forked)


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What a mirror has done when its feed ends."""

    entries: int = 0
    """Entries of the feed that were applied, each as one commit."""
    changes: int = 0
    """Changes in them, as the feed says them; what its SPARQL updates did is not counted."""
    skipped: int = 0
    """Bad records that went to the dead letters."""
    resyncs: int = 0
    """Snapshots that replaced what the graph held."""
    cursor: str | None = None
    """Where the feed goes on the next time; None where nothing was ever read."""


@dataclass(slots=True)
class MirrorRun:
    """One run of a mirror; without a name it keeps nothing."""

    target: GraphTarget
    feed: Feed
    name: str | None
    snapshot: Callable[[], Snapshot] | None
    """Reads the state before the feed's first entry; None where the feed itself has one, or nobody."""
    letters: DeadLetters | None
    on_entry: Callable[[Entry], object] | None
    on_resync: Callable[[Snapshot], object] | None
    done: Mirrored = Mirrored()
    refused: Frame = ()
    """What the store refused last: it may come again where a cursor cannot point behind it."""
    step: threading.RLock = field(default_factory=threading.RLock)
    """Held from before an entry or a snapshot is applied until its callback has returned."""
    is_stopped: bool = False
    """True when nothing more is applied, except by a step that has begun."""
    is_applying: bool = False
    """True inside of a step, and for good after one that failed."""

    def stop(self) -> None:
        """Apply nothing more, and close the feed, if it can be closed. From any thread; it waits for nothing.

        A feed that can be closed comes to its end then. Any other goes on until it gives something; the graph
        stands still when `step` can be taken.
        """
        self.is_stopped = True
        close = getattr(self.feed, "close", None)
        if close is not None:
            close()

    def run(self, cursor: str | None) -> Mirrored:
        """Follow the feed to its end, starting anew from a snapshot where it asks for one."""
        try:
            return self._run(cursor)
        # in what calls the mirror it would end a loop or a generator, and no future of asyncio takes it
        except StopIteration as error:
            raise RuntimeError("a callback, the snapshot or the feed has raised StopIteration") from error

    def _run(self, cursor: str | None) -> Mirrored:
        if cursor is None and self.name is not None:
            cursor = self.target.kept(self.name).get(_CURSOR)
        self.done = replace(self.done, cursor=cursor)
        if cursor is None and self.snapshot is not None:
            self._resync(self._asked(self.snapshot))
        barren = 0
        while not self.is_stopped:
            entries = self.done.entries
            need = self._follow()
            if need is None:
                break
            barren = 0 if self.done.entries > entries else barren + 1
            snapshot = self._asked(self._snapshot)
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
                            f"a mirror named {self.name!r} is at work on this store; give this one another "
                            "name"
                        )
                    with other.step:  # its feed may keep it, but its cursor stands still from here on
                        pass
                before = other
            yield
        finally:
            with _mutex:
                if _running.get(key) is self:
                    del _running[key]

    def _follow(self) -> ResyncNeeded | None:
        """Apply what comes, to the end of the feed or to where it needs a resync."""
        while True:
            entries = self.feed.entries(self.done.cursor, self._own(), self.target)
            try:
                begins_anew, need = self._apply_all(entries)
            finally:
                close = getattr(entries, "close", None)  # a generator may hold a file or a connection
                if close is not None:
                    close()
            if not begins_anew:
                return need

    def _apply_all(self, entries: Iterator[Entry]) -> tuple[bool, ResyncNeeded | None]:
        """Apply entries; tells whether their feed must be taken up again, and whether it needs a resync."""
        begins_anew = False
        while not begins_anew:
            try:
                entry = next(entries)
            except StopIteration:
                return False, None
            except ResyncNeeded as need:
                return False, need
            except Exception:
                if self.is_stopped:  # a feed that is closed may say so in its own way
                    return False, None
                raise
            with self.step:
                if self.is_stopped:
                    return False, None
                self.is_applying = True
                begins_anew = self._apply(entry)
                self.is_applying = False
        return True, None

    def _apply(self, entry: Entry) -> bool:
        """Apply an entry or skip it; true where its feed must be taken up again from what is kept.

        So it is when the store refuses what the decoder has taken for done.
        """
        error, anew = entry.error, False
        try:
            if error is None:
                try:
                    self._write(entry)
                except Exception as cause:
                    if not _is_refusal(cause, entry):
                        raise
                    error = self._refusal(entry, cause)
                    anew = bool(entry.kept) and entry.frame != self.refused
                    # a stream cannot be read again, so it cannot be taken up from what is kept
                    if anew and isinstance(self.feed, FileFeed) and self.feed.is_stream:
                        raise error from cause
                    self.refused = entry.frame
            if error is not None:
                if self.letters is None:
                    raise error
                self.letters(error, entry.frame)
                self._skip(entry)
                if entry.error is None:
                    # without the cause, whose traceback leads here too
                    told = FeedError(error.source, error.line, error.reason, offset=error.offset)
                    entry = Entry(
                        Batch((), entry.batch.sequence), entry.cursor, frame=entry.frame, error=told
                    )
        finally:
            # its traceback leads here: what was interrupted in it would wait for the garbage collector
            del error
        if self.on_entry is not None:
            self.on_entry(entry)
        return anew

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
        # results stand in lines of their own
        text = str(cause) if isinstance(cause, ValidationError) else " ".join(str(cause).split())
        reason = f"the store refuses entry {entry.batch.sequence}: {text}"
        error = FeedError(self.feed.source, line.number, reason, offset=line.start)
        error.__cause__ = cause
        return error

    def _asked(self, read: Callable[[], Snapshot | None]) -> Snapshot | None:
        """Read a snapshot; None where there is none, and where the mirror is stopped meanwhile."""
        try:
            return read()
        except Exception:
            if self.is_stopped:
                return None
            raise

    def _snapshot(self) -> Snapshot | None:
        return self.feed.snapshot(self.target) if self.snapshot is None else self.snapshot()

    def _resync(self, snapshot: Snapshot | None) -> None:
        """Replace what the graph holds in one commit."""
        with self.step:
            if snapshot is not None and not self.is_stopped:
                self.is_applying = True
                self._replace(snapshot)
                self.is_applying = False

    def _replace(self, snapshot: Snapshot) -> None:
        old = {} if self.name is None else self.target.kept(self.name)
        new = {_OWN + key: text for key, text in snapshot.kept.items()}
        # None forgets a key: what the feed kept goes with the state that it was about
        keep = {**dict.fromkeys(old), **new, _CURSOR: snapshot.cursor}
        with interrupt_later():
            self.target.replace(snapshot.quads, self.name or "", keep if self.name is not None else {})
        self.done = replace(self.done, resyncs=self.done.resyncs + 1, cursor=snapshot.cursor)
        if self.on_resync is not None:
            self.on_resync(snapshot)

    def _own(self) -> dict[str, str]:
        """Give what the feed itself has kept."""
        kept = {} if self.name is None else self.target.kept(self.name)
        return {key.removeprefix(_OWN): text for key, text in kept.items() if key.startswith(_OWN)}


def _is_refusal(cause: Exception, entry: Entry) -> bool:
    """Tell what a store says of an entry from what has happened to the store."""
    # these say something of the disk or the store; the next entry would fail too
    if isinstance(cause, OSError | UnsupportedStoreError | ClosedError):
        return False
    if isinstance(cause, ValueError | SyntaxError | RdfliveError | RecursionError):
        return True
    # rdflib's engine raises what it likes for an update
    return bool(entry.updates) and not isinstance(cause, RuntimeError | MemoryError)
