"""States of a store on disk, as checkpoints that other processes open.

A checkpoint shares files with the store by hard links, if it is on the same disk.
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
    """A state of the store, which exists as long as somebody uses it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = str(folder / "store")
        """The folder of a store of Oxigraph."""
        self.users = 0


class Checkpoints:
    """Makes checkpoints of a dataset's store, one for all who only read the same state."""

    def __init__(self, dataset: rdflib.Dataset, folder: Path) -> None:
        self.dataset = dataset
        self._folder = folder
        self._lock = threading.Lock()
        """Taken after the store's lock if both are needed."""
        self._shared: StoreCheckpoint | None = None
        self._state: tuple[Any, int] | None = None
        """The capture and sequence of what is shared."""

    @classmethod
    def of(cls, dataset: rdflib.Dataset, folder: Path | None) -> Checkpoints | None:
        """Give the checkpoints of a store that has files; None for one in memory.

        What an earlier process has left in the folder is removed. Without one, data are copied to a
        temporary folder. Raises `RdfliveError` for a folder that cannot be written.
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
            # a store in memory is told from one on disk by whether it can make a checkpoint
            checkpoints.release(checkpoints.take(alone=True))
        except RuntimeError:  # as Oxigraph says that it is in memory
            checkpoints.close()
            return None
        return checkpoints

    def take(self, *, alone: bool) -> StoreCheckpoint:
        """Give a checkpoint of this moment, which others use too unless `alone`; `release` it."""
        stale = None
        with manager.locked(self.dataset.store) as adapter:
            # with the capture: one that is made anew, when nobody has listened for a while, counts from 0
            state = adapter.capture, adapter.capture.sequence
            with self._lock:
                checkpoint = self._shared
                if alone or checkpoint is None or state != self._state:
                    checkpoint = self._make()
                    if not alone:
                        stale, self._shared, self._state = self._shared, checkpoint, state
                checkpoint.users += 1
        # outside of the store's lock: no writer need wait for files to be removed
        if stale is not None:
            self._drop(stale)
        return checkpoint

    def release(self, checkpoint: StoreCheckpoint) -> None:
        """Stop using a checkpoint. The last user removes it, unless it is the newest."""
        with self._lock:
            checkpoint.users -= 1
        self._drop(checkpoint)

    def close(self) -> None:
        """Remove what is left, and the folder."""
        for left in self._folder.glob(f"{_PREFIX}*"):
            _remove(left)
        with suppress(OSError):  # it holds what is not ours
            self._folder.rmdir()

    def _drop(self, checkpoint: StoreCheckpoint) -> None:
        with self._lock:
            is_over = not checkpoint.users and checkpoint is not self._shared
        if is_over:
            _remove(checkpoint.folder)

    def _make(self) -> StoreCheckpoint:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._folder))
        try:
            native_of(self.dataset).backup(str(folder / "store"))
        except BaseException:
            _remove(folder)
            raise
        return StoreCheckpoint(folder)


def _emptied(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix=_PREFIX))
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{_PREFIX}*"):
        _remove(left)
    return folder


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
