"""Backups of a store on disk: RocksDB's checkpoints, which are Oxigraph stores themselves."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import rdflib

from rdflive.errors import RdfliveError
from rdflive.plugins import manager
from rdflive.store.stored_log import mark_copy

with suppress(ImportError):  # Windows has none, and no server
    import fcntl

__all__ = ["BackupExists", "StoreIsOpen", "back_up", "back_up_closed"]


class BackupExists(RdfliveError):  # noqa: N818 - a state of the folder
    """There is something in the place of a backup."""


class StoreIsOpen(RdfliveError):  # noqa: N818 - a state of the store
    """Another program has the store open, and must make the backup."""


def back_up(dataset: rdflib.Dataset, target: Path, *, near: Path | None = None) -> int:
    """Copy the store of a dataset with the positions of its feeds, and return the number of the last commit.

    Writes go on: the store is locked while its checkpoint is made in `near`, a folder on its own disk. The
    backup is opened as a check, and then appears at `target` in one step. Raises `BackupExists`,
    `RdfliveError` for a store in memory, and OSError.
    """
    native: Any = getattr(dataset.store, "_inner", None)
    with _folder(near or target.parent) as folder, _appearing(target) as copy:
        with manager.locked(dataset.store) as adapter:
            number = adapter.capture.number
            try:
                native.backup(str(folder / "store"))
            except (AttributeError, RuntimeError) as error:  # rdflib's memory, and Oxigraph's
                raise RdfliveError("only a store on disk has backups; this one is in memory") from error
        _move(folder / "store", copy)
    return number


def back_up_closed(store: Path, target: Path) -> None:
    """Copy the folder of a store that no program has open, as `back_up` does.

    The store itself is not opened, which would begin another history of its commits for the clients of its
    server. Raises `StoreIsOpen`, `BackupExists`, `RdfliveError` and OSError.
    """
    with open(store / "LOCK", "ab") as lock, _appearing(target) as copy:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreIsOpen(f"{store}: is open in another program") from error
        copy.mkdir()
        for path in store.iterdir():
            if path.name != "LOCK":
                _copy(path, copy / path.name)
        _sync(copy)


def _copy(path: Path, target: Path) -> None:
    # RocksDB never changes tables, so the copy may share them
    if path.suffix == ".sst":
        try:
            target.hardlink_to(path)
        except OSError:  # another disk, or one without links
            pass
        else:
            return
    shutil.copy2(path, target)
    _sync(target)


@contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """Give a place for a copy, which after the block is checked, and appears at `target`."""
    if os.path.lexists(target):
        raise _exists(target)
    with _folder(target.parent) as folder:
        yield folder / "store"
        mark_copy(folder / "store")
        _open(folder / "store")
        try:
            (folder / "store").rename(target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
            raise _exists(target) from error
    _sync(target.parent)


def _open(folder: Path) -> None:
    """Open a copy, as its next server will; raise `RdfliveError` if that fails."""
    copy = rdflib.Dataset(store="Oxigraph")
    try:
        copy.open(str(folder))
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError for corrupt files
        raise RdfliveError(f"the backup cannot be opened, and was discarded: {error}") from error
    copy.close()


def _exists(target: Path) -> BackupExists:
    return BackupExists(f"{target.name} exists already; name another backup")


@contextmanager
def _folder(parent: Path) -> Iterator[Path]:
    parent.mkdir(parents=True, exist_ok=True)
    # the name lets `Checkpoints` remove what a killed process leaves beside the store
    folder = Path(tempfile.mkdtemp(prefix="rdflive-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copytree(source, target)
        for path in (*target.iterdir(), target):
            _sync(path)


def _sync(path: Path) -> None:
    """Write a file or folder to its disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
