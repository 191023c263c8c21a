"""States of a store on disk, as checkpoints that other processes open.

On the same disk a checkpoint shares files with the store by hard links.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import rdflib

from rdflive.errors import RdfliveError
from rdflive.plugins import manager
from rdflive.server.sparql.answering import native_of

__all__ = ["Checkpoints", "StoreCheckpoint"]

_PREFIX: Final = "rdflive-"


class StoreCheckpoint:
    """A state of the store, which exists while it has users."""

    def __init__(self, folder: Path, sequence: int) -> None:
        self.folder = folder
        self.sequence = sequence
        """The number of the last commit in the state."""
        self.path = str(folder / "store")
        """The folder of an Oxigraph store."""
        self.users = 0


class Checkpoints:
    """Makes checkpoints of a dataset's store, one for all readers of the same state."""

    def __init__(self, dataset: rdflib.Dataset, folder: Path) -> None:
        self.dataset = dataset
        self._folder = folder
        self._lock = threading.Lock()
        """A thread that needs both locks takes the store's lock first."""
        self._shared: StoreCheckpoint | None = None
        self._state: tuple[Any, int] | None = None
        """The capture and sequence of the shared checkpoint."""

    @classmethod
    def of(cls, dataset: rdflib.Dataset, folder: Path | None) -> Checkpoints | None:
        """Return the checkpoints of a store on disk; None for a store in memory.

        Removes checkpoints of earlier processes from the folder. Without a folder, data are copied to a
        temporary one. Raises `RdfliveError` for a folder that cannot be written.
        """
        if native_of(dataset) is None:
            return None
        try:
            folder = _emptied(folder)
        except OSError as error:
            raise RdfliveError(
                f"{error.filename}: {error.strerror}; queries need a folder to write to beside the store"
            ) from error
        checkpoints = cls(dataset, folder)
        try:
            # only a store on disk can make a checkpoint
            checkpoints.release(checkpoints.take(alone=True))
        except RuntimeError:  # the error of a store in memory
            checkpoints.close()
            return None
        return checkpoints

    def take(self, *, alone: bool) -> StoreCheckpoint:
        """Return a checkpoint of the present state, shared unless `alone`; the caller must `release` it."""
        stale = None
        with manager.locked(self.dataset.store) as adapter:
            # with the capture: a new one, after a time without listeners, counts from 0 again
            state = adapter.capture, adapter.capture.sequence
            with self._lock:
                checkpoint = self._shared
                if alone or checkpoint is None or state != self._state:
                    checkpoint = self._make(adapter.capture.sequence)
                    if not alone:
                        stale, self._shared, self._state = self._shared, checkpoint, state
                checkpoint.users += 1
        # outside the store's lock, so that writers do not wait for the removal of files
        if stale is not None:
            self._drop(stale)
        return checkpoint

    def release(self, checkpoint: StoreCheckpoint) -> None:
        """Stop using a checkpoint. The last user removes it, unless it is the newest."""
        with self._lock:
            checkpoint.users -= 1
        self._drop(checkpoint)

    def close(self) -> None:
        """Remove the remaining checkpoints, and the folder."""
        for left in self._folder.glob(f"{_PREFIX}*"):
            _remove(left)
        with suppress(OSError):  # it has other files
            self._folder.rmdir()

    def _drop(self, checkpoint: StoreCheckpoint) -> None:
        with self._lock:
            is_over = not checkpoint.users and checkpoint is not self._shared
        if is_over:
            _remove(checkpoint.folder)

    def _make(self, sequence: int) -> StoreCheckpoint:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._folder))
        try:
            native_of(self.dataset).backup(str(folder / "store"))
        except BaseException:
            _remove(folder)
            raise
        return StoreCheckpoint(folder, sequence)


def _emptied(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix=_PREFIX))
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{_PREFIX}*"):
        _remove(left)
    return folder


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
