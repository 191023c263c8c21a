"""Children for a store in memory: forks of this process, made under the store's lock.

The lock ensures that no thread of this process is inside the store at that moment.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import warnings
from functools import cached_property
from typing import Any

import rdflib

from rdflive.plugins import manager
from rdflive.server.isolation.confinement import StateWork, Work, run_child
from rdflive.server.settings import Limits

__all__ = ["MemoryForks"]


class MemoryForks:
    """Makes forks of this process. A fork ends with the thread that made it."""

    def __init__(self, dataset: rdflib.Dataset, limits: Limits) -> None:
        self._dataset = dataset
        self._limits = limits
        self._properties = _with_locks()
        warnings.filterwarnings(  # the child runs only the forking thread, and takes no other thread's locks
            "ignore", "This process .* is multi-threaded", DeprecationWarning, __name__.replace(".", r"\.")
        )

    def begin(
        self,
        work: Work | StateWork,
        ours: socket.socket,  # noqa: ARG002 - unused, as a fork inherits the work
        theirs: socket.socket,
        *,
        writes: bool,  # noqa: ARG002 - unused, as any fork may write
    ) -> _Fork:
        """Fork, and do the work there."""
        # before the fork: afterwards the child cannot know
        parent = os.getpid()
        with manager.locked(self._dataset.store) as adapter:
            made = work.make() if isinstance(work, StateWork) else work
            sequence = adapter.capture.sequence
            pid = os.fork()
            if not pid:
                run_child(
                    lambda: (self._freed(), made),
                    theirs,
                    self._limits,
                    parent=parent,
                    has_files=False,
                )
        return _Fork(pid, sequence)

    def close(self) -> None:
        """Do nothing: forks are reaped individually."""

    def _freed(self) -> rdflib.Dataset:
        """Return the dataset without its listeners; replace locks that other threads held at the fork."""
        for cached in self._properties:
            cached.lock = threading.RLock()
        manager.attach(self._dataset.store).capture.forget_others()
        return self._dataset


class _Fork:
    def __init__(self, pid: int, sequence: int) -> None:
        self._pid = pid
        self.sequence = sequence

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def reap(self) -> None:
        os.waitpid(self._pid, 0)


def _with_locks() -> list[Any]:
    """Return the cached properties, each of which has one lock for its class (Python 3.11).

    Not by `gc.get_objects`: it would also list a tuple that another thread is building from a generator, and
    that thread would fail with SystemError.
    """
    classes, waiting = {object}, [object]
    while waiting:
        for derived in type.__subclasses__(waiting.pop()):
            if derived not in classes:
                classes.add(derived)
                waiting.append(derived)
    members = [member for found in classes for member in list(vars(found).values())]
    return [member for member in members if type(member) is cached_property and hasattr(member, "lock")]
