"""Backups of a store on disk: RocksDB's checkpoints, which are Oxigraph stores themselves."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rdflib

from rdflive.errors import RdfliveError
from rdflive.plugins import manager

__all__ = ["BackupExists", "back_up"]


class BackupExists(RdfliveError):  # noqa: N818 - a state of the folder
    """There is something in the place of a backup."""


def back_up(dataset: rdflib.Dataset, target: Path, *, near: Path | None = None) -> int:
    """Copy the store of a dataset with the positions of its feeds, and return the number of the last commit.

    Writes go on: the store is locked while its checkpoint is made in `near`, a folder on its own disk. The
    backup is opened as a check, and then appears at `target` in one step. Raises `BackupExists`,
    `RdfliveError` for a store in memory, and OSError.
    """
    if os.path.lexists(target):
        raise _exists(target)
    native: Any = getattr(dataset.store, "_inner", None)
    with _folder(near or target.parent) as first, _folder(target.parent) as second:
        with manager.locked(dataset.store) as adapter:
            sequence = adapter.capture.sequence
            try:
                native.backup(str(first / "store"))
            except (AttributeError, RuntimeError) as error:  # rdflib's memory, and Oxigraph's
                raise RdfliveError("only a store on disk has backups; this one is in memory") from error
        copy = second / "store"
        _move(first / "store", copy)
        _open(copy)
        try:
            copy.rename(target)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
            raise _exists(target) from error
    _sync(target.parent)
    return sequence


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
