"""Keeps a dataset equal to that of a primary, commit by commit and under the same numbers."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import rdflib

from rdflive.api.target import GraphTarget
from rdflive.errors import RdfliveError, ResyncNeeded
from rdflive.feeds import open_lines, read_nquads
from rdflive.http import HttpFault, RetryPace
from rdflive.plugins import manager
from rdflive.server.primary import CommitPlace, Primary, PrimaryCommit
from rdflive.store import Adapter, History

__all__ = ["REPLICA", "Lag", "Replica", "kept_place", "texts_of"]

log = logging.getLogger("rdflive")

REPLICA: Final = "rdflive replica"
"""The name under which a store on disk keeps the place of the primary that it has."""
_EPOCH: Final = "epoch"
_NUMBER: Final = "number"
_JOIN: Final = 10.0
"""Seconds for a commit to complete at the end."""
_FAR: Final = 10.0
"""Seconds without all commits of the primary after which clients should use another server."""
_PACE: Final = RetryPace(longest=5.0)


class Lag(NamedTuple):
    """How far a replica is behind its primary."""

    commits: int
    """Commits that the primary has announced and the replica does not have yet."""
    seconds: float
    """Time since the replica had everything that the primary had; 0 while it has."""


class Replica:
    """Follows the change log of a primary in a thread, between `start` and `close`.

    The dataset must be that of `place`, a state of the primary. `history` is that of a store with a change
    log; it becomes that of the primary. `folder` is a store on disk, which keeps the place with the data, and
    beside which snapshots have room.

    While the primary is away, the replica tries again at a pace. If it cannot continue from its place, it
    takes the primary's snapshot in one commit.
    """

    def __init__(
        self,
        dataset: rdflib.Dataset,
        primary: Primary,
        place: CommitPlace,
        *,
        history: History | None = None,
        folder: str | None = None,
    ) -> None:
        self.primary = primary
        self.history = history or History(place.epoch, number=place.sequence)
        """The primary's numbers, which this replica's ids have too."""
        self.is_connected = False
        """True while the primary's log is followed."""
        self.resyncs = 0
        """Number of snapshots that were taken since the start."""
        self._dataset = dataset
        self._store: Any = manager.store_of(dataset)
        # imports the store's adapter here and not in the thread; see `cli.served_feed`
        self._target = GraphTarget(dataset)
        self._scratch = None if folder is None else Path(os.path.realpath(folder)).parent
        if place != (self.history.number, self.history.epoch):
            with manager.locked(self._store) as adapter:
                self._jump(adapter, place)
        self._announced = place.sequence
        self._equal_at = time.monotonic()
        self._has_been_equal = False
        self._is_taking_snapshot = False
        self._on_history: Callable[[], object] = lambda: None
        self._thread: threading.Thread | None = None

    @property
    def lag(self) -> Lag:
        """How far the replica is behind; the seconds grow while the primary is away."""
        commits = max(0, self._announced - self.history.number)
        is_equal = self.is_connected and not commits
        return Lag(commits, 0.0 if is_equal else time.monotonic() - self._equal_at)

    def unready(self) -> str:
        """Return the reason why clients should use another server; empty without one.

        While the primary is away, no server has later data.
        """
        if self._is_taking_snapshot:
            return "the replica takes a snapshot of its primary, whose change log does not reach back"
        commits, seconds = self.lag
        if not self.is_connected or not commits or (self._has_been_equal and seconds < _FAR):
            return ""
        return f"the replica is {commits:,} commits behind its primary"

    def older(self) -> list[tuple[int, str]]:
        """Return the numbers and patches of the last commits up to this state, if the primary answers.

        Clients that come with older ids need them.
        """
        try:
            return list(self.primary.kept(CommitPlace(self.history.number, self.history.epoch)))
        except (HttpFault, RdfliveError):
            return []

    def start(self, on_history: Callable[[], object]) -> None:
        """Follow from now on; `on_history` is called after the change to another history."""
        self._on_history = on_history
        self._thread = threading.Thread(target=self._run, name="rdflive-replica", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop following, and wait for a running commit. May be repeated."""
        self.primary.close()
        if self._thread is not None:
            self._thread.join(_JOIN)

    def _run(self) -> None:
        tries = 0
        closed = self.primary.closed
        while not closed.is_set():
            before = self.history.number, self.history.epoch
            fault = self._follow()
            self.is_connected = False
            if closed.is_set():
                return
            tries = tries + 1 if before == (self.history.number, self.history.epoch) else 1
            if tries == 1 and fault is not None:
                log.warning("%s: %s; this replica goes on serving, and tries again", self.primary.url, fault)
            closed.wait(_PACE.pause(tries, getattr(fault, "retry_after", 0.0)))

    def _follow(self) -> Exception | None:
        """Follow until the connection ends; return the reason, or None after a snapshot."""
        try:
            for commit in self.primary.follow(CommitPlace(self.history.number, self.history.epoch)):
                self._take(commit)
        except ResyncNeeded as need:
            return self._resync(need)
        except Exception as error:  # noqa: BLE001 - engines raise their own; the thread must go on
            return error
        return HttpFault("it ended the connection")

    def _take(self, commit: PrimaryCommit) -> None:
        self._announced = max(commit.last, commit.place.sequence)
        if commit.changes is not None:
            self._apply(commit)
        elif commit.place != (self.history.number, self.history.epoch):
            raise ResyncNeeded(self.primary.url, f"its log is at {commit.place}, not where this replica is")
        self.is_connected = True
        if self.history.number >= self._announced:
            self._equal_at, self._has_been_equal = time.monotonic(), True

    def _apply(self, commit: PrimaryCommit) -> None:
        """Apply a commit of the primary as one commit with its number."""
        history, place = self.history, commit.place
        with manager.locked(self._store) as adapter:
            if place != (history.number + 1, history.epoch):
                raise ResyncNeeded(
                    self.primary.url, f"commit {place} does not follow {history.id(history.number)}"
                )
            before = adapter.capture.sequence
            with history.numbering(place.sequence):
                self._target.write(commit.changes or (), (), REPLICA, self._kept(place))
            has_changed = adapter.capture.sequence > before
        if not has_changed:
            raise ResyncNeeded(self.primary.url, f"commit {place} changes nothing here, so the data differ")

    def _resync(self, need: ResyncNeeded) -> Exception | None:
        """Replace the data by the primary's snapshot in one commit; return a failure or None."""
        self._is_taking_snapshot = True
        try:
            with TemporaryDirectory(dir=self._scratch) as folder:
                file = Path(folder) / "snapshot.nq"
                place = self.primary.snapshot(file)
                if place.epoch == self.history.epoch and place.sequence < self.history.number:
                    # another replica, which is behind: its commits will come
                    return HttpFault(f"its snapshot {place} is older than the data of this replica")
                with open_lines(str(file)) as lines:
                    quads = list(read_nquads(lines, self.primary.url))
            self._replace(quads, place)
        except Exception as error:  # noqa: BLE001 - as above
            return error
        finally:
            self._is_taking_snapshot = False
        log.warning("%s: %s; this replica has taken its snapshot %s", self.primary.url, need.reason, place)
        return None

    def _replace(self, quads: list[Any], place: CommitPlace) -> None:
        is_other = place.epoch != self.history.epoch
        with manager.locked(self._store) as adapter:
            with self.history.numbering(place.sequence, epoch=place.epoch):
                self._target.replace(quads, REPLICA, self._kept(place))
            self._jump(adapter, place)
        self.resyncs += 1
        self._announced, self._equal_at, self._has_been_equal = place.sequence, time.monotonic(), True
        if is_other:
            self._on_history()

    def _jump(self, adapter: Adapter, place: CommitPlace) -> None:
        """Begin the numbers, and the log of a store on disk, at a place; called under the lock."""
        with self.history.numbering(place.sequence, epoch=place.epoch):
            pass
        if adapter.capture.ahead is not None:
            adapter.capture.ahead.tear()

    def _kept(self, place: CommitPlace) -> dict[str, str]:
        return {} if self._scratch is None else texts_of(place)


def texts_of(place: CommitPlace) -> dict[str, str]:
    """Return the texts that a store on disk keeps for the place of the primary that it has."""
    return {_EPOCH: place.epoch, _NUMBER: str(place.sequence)}


def kept_place(dataset: rdflib.Dataset) -> CommitPlace | None:
    """Return the place of a primary that a store on disk has; None if it never was a replica."""
    kept = GraphTarget(dataset).kept(REPLICA)
    return CommitPlace(int(kept[_NUMBER]), kept[_EPOCH]) if _NUMBER in kept else None
