"""Children for a store on disk: forks of a template process, each of which opens a checkpoint.

RocksDB's own threads may hold locks at the moment of a fork. Reads in the child would then wait for ever,
even from another store of the same engine. So children are forked from a template, a process without threads
and without an open store.
"""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Final

from rdflive.plugins import manager
from rdflive.server.isolation.checkpoints import Checkpoints, StoreCheckpoint
from rdflive.server.isolation.confinement import StateWork, Work
from rdflive.server.isolation.template import FORK, KILL, ORDER, REAP, SIZE, Job
from rdflive.server.settings import Limits

__all__ = ["DiskForks"]

_PROGRAM: Final = "import sys; from rdflive.server.isolation.template import serve; serve(int(sys.argv[1]))"


class DiskForks:
    """Makes children by a template, and starts a new template if it has ended."""

    def __init__(self, checkpoints: Checkpoints, limits: Limits) -> None:
        self._checkpoints = checkpoints
        self._limits = limits
        self._lock = threading.Lock()
        self._template = _Template(limits)

    def begin(
        self, work: Work | StateWork, ours: socket.socket, theirs: socket.socket, *, writes: bool
    ) -> _DiskFork:
        """Start a child on the present state; raise `OSError` if the system allows no process."""
        dataset = self._checkpoints.dataset
        if isinstance(work, StateWork):
            with manager.locked(dataset.store):
                made, checkpoint = work.make(), self._checkpoints.take(alone=writes)
        else:
            made, checkpoint = work, self._checkpoints.take(alone=writes)
        try:
            prefixes = {prefix: str(namespace) for prefix, namespace in dataset.namespaces()}
            job = Job(checkpoint.path, writes, prefixes, dataset.default_union, made)
            # the fork first: a pickled job may exceed the socket's buffer, and needs a reader
            template, pid = self._fork(theirs)
            fork = _DiskFork(template, pid, self._checkpoints, checkpoint)
        except BaseException:
            self._checkpoints.release(checkpoint)
            raise
        theirs.close()  # an open copy would hide the end of the child
        _send(ours, job)
        return fork

    def close(self) -> None:
        """End the template, and remove the checkpoints."""
        self._template.close()
        self._checkpoints.close()

    def _fork(self, channel: socket.socket) -> tuple[_Template, int]:
        with self._lock:
            template = self._template
        try:
            return template, template.fork(channel)
        except (EOFError, ConnectionError):
            with self._lock:
                # several threads may notice its end; the first one starts another
                if self._template is template:
                    template.close()
                    self._template = _Template(self._limits)
                template = self._template
            return template, template.fork(channel)


class _Template:
    """The template process, ready after construction, and the socket for its orders."""

    def __init__(self, limits: Limits) -> None:
        self._orders, theirs = socket.socketpair()
        self._lock = threading.Lock()
        """Held from an order to its response."""
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this Python itself
                # -P: files in the working folder must not be imported as modules
                [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        _send(self._orders, limits)
        self._answer()

    def fork(self, channel: socket.socket) -> int:
        """Fork the template, and return the process id of the child."""
        with self._lock:
            socket.send_fds(self._orders, [ORDER.pack(FORK, 0)], [channel.fileno()])
            pid = self._answer()
        if not pid:
            raise BlockingIOError("the system allows no more processes")
        return pid

    def kill(self, pid: int) -> None:
        """Kill a child, without the lock: orders are short enough to arrive unmixed."""
        with suppress(OSError):  # its children end with it
            self._orders.sendall(ORDER.pack(KILL, pid))

    def reap(self, pid: int) -> None:
        """Wait for the end of a child."""
        with suppress(OSError, EOFError), self._lock:
            self._orders.sendall(ORDER.pack(REAP, pid))
            self._answer()

    def close(self) -> None:
        """End the template and its children."""
        self._orders.close()
        self._process.wait()

    def _answer(self) -> int:
        answer = self._orders.recv(ORDER.size, socket.MSG_WAITALL)
        if len(answer) < ORDER.size:
            raise EOFError("the template has ended")
        return int(ORDER.unpack(answer)[1])


class _DiskFork:
    """A child with its checkpoint."""

    def __init__(
        self, template: _Template, pid: int, checkpoints: Checkpoints, checkpoint: StoreCheckpoint
    ) -> None:
        self._template = template
        self._pid = pid
        self._checkpoints = checkpoints
        self._checkpoint = checkpoint
        self.sequence = checkpoint.sequence

    def kill(self) -> None:
        self._template.kill(self._pid)

    def reap(self) -> None:
        self._template.reap(self._pid)
        self._checkpoints.release(self._checkpoint)


def _send(channel: socket.socket, value: object) -> None:
    """Send a value; ignore a receiver that has ended, which is noticed elsewhere."""
    content = pickle.dumps(value)
    with suppress(ConnectionError):
        channel.sendall(SIZE.pack(len(content)) + content)
