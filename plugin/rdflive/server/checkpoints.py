"""A child of a store on disk: a new process that opens a checkpoint.

RocksDB's own threads may hold locks at the moment of a fork, and what the child then reads waits for ever,
also another store of the same engine. A checkpoint shares the files of the store by hard links.
"""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import rdflib

from rdflive import manager
from rdflive.server.answering import native_of
from rdflive.server.confinement import Work, live
from rdflive.server.settings import Limits

__all__ = ["Checkpoints", "read"]

_PROGRAM: Final = "from rdflive.server.checkpoints import read; read()"


class Checkpoints:
    """Makes checkpoints of a dataset's store in a folder, which must be on the disk of the store.

    Otherwise the data are copied. What an earlier process has left in the folder is removed.
    """

    def __init__(self, dataset: rdflib.Dataset, folder: Path | None) -> None:
        self._dataset = dataset
        self._folder = folder
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        self.needed = self._is_on_disk()
        """False for a store in memory, of which there can be none."""

    def begin(self, work: Work, channel: socket.socket, limits: Limits, *, writes: bool) -> _Reader:
        """Start a process that works on the state of this moment."""
        with manager.locked(self._dataset.store):
            folder = self._take()
        prefixes = {prefix: str(namespace) for prefix, namespace in self._dataset.namespaces()}
        job = (
            folder,
            writes,
            prefixes,
            self._dataset.default_union,
            work,
            limits,
            os.getpid(),
            channel.fileno(),
        )
        try:
            process = subprocess.Popen(  # noqa: S603 - this Python itself
                [sys.executable, "-P", "-c", _PROGRAM], stdin=subprocess.PIPE, pass_fds=[channel.fileno()]
            )
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            with process.stdin as pipe:
                pickle.dump(job, pipe)
        except BaseException:
            _remove(folder)
            raise
        return _Reader(process, folder)

    def _take(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="rdflive-query-", dir=self._folder))
        try:
            native_of(self._dataset).backup(str(folder / "store"))
        except BaseException:
            _remove(folder)
            raise
        return folder

    def _is_on_disk(self) -> bool:
        """Tell whether the store can be copied to files, as only one can that has some."""
        if native_of(self._dataset) is None:
            return False
        try:
            _remove(self._take())
        except RuntimeError:
            return False
        return True


class _Reader:
    """A process with its checkpoint."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process = process
        self._folder = folder

    def kill(self) -> None:
        self._process.kill()

    def bury(self) -> None:
        self._process.wait()
        _remove(self._folder)


def read() -> None:
    """Do the work that standard input names, on a checkpoint, in a process of its own."""
    folder, writes, prefixes, is_union, work, limits, parent, number = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent

    def dataset() -> rdflib.Dataset:
        from oxrdflib import OxigraphStore
        from pyoxigraph import Store

        path = str(folder / "store")
        native = Store(path) if writes else Store.read_only(path)
        opened = rdflib.Dataset(OxigraphStore(store=native), default_union=is_union)
        for prefix, namespace in prefixes.items():
            opened.bind(prefix, namespace, replace=True)
        return opened

    live(dataset, work, socket.socket(fileno=number), limits, parent=parent, has_files=True)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
