"""Children for a store on disk: forks of a template process, each of which opens a checkpoint.

RocksDB's own threads may hold locks at the moment of a fork. Then whatever the child reads waits for ever,
even from another store of the same engine. So children are forked from a template, a process without threads
that has no store open.
"""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Final

from rdflive.server.isolation.checkpoints import Checkpoints, StoreCheckpoint
from rdflive.server.isolation.confinement import Work
from rdflive.server.isolation.template import FORK, KILL, ORDER, REAP, SIZE, Job
from rdflive.server.settings import Limits

__all__ = ["DiskForks"]

_PROGRAM: Final = "import sys; from rdflive.server.isolation.template import serve; serve(int(sys.argv[1]))"


class DiskForks:
    """Lets a template make children, and starts a new template if it has ended."""

    def __init__(self, checkpoints: Checkpoints, limits: Limits) -> None:
        self._checkpoints = checkpoints
        self._limits = limits
        self._lock = threading.Lock()
        self._template = _Template(limits)

    def begin(self, work: Work, ours: socket.socket, theirs: socket.socket, *, writes: bool) -> _DiskFork:
        """Have a child work on the state of this moment; raises `OSError` where there can be none."""
        dataset = self._checkpoints.dataset
        checkpoint = self._checkpoints.take(alone=writes)
        try:
            prefixes = {prefix: str(namespace) for prefix, namespace in dataset.namespaces()}
            job = Job(checkpoint.path, writes, prefixes, dataset.default_union, work)
            # the fork first, then the job: pickled, it may be more than the socket holds while nobody reads
            template, pid = self._fork(theirs)
            fork = _DiskFork(template, pid, self._checkpoints, checkpoint)
        except BaseException:
            self._checkpoints.release(checkpoint)
            raise
        theirs.close()  # a second open end would hide that the child has ended
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
                # several threads may find out that it has ended, and the first starts another
                if self._template is template:
                    template.close()
                    self._template = _Template(self._limits)
                template = self._template
            return template, template.fork(channel)


class _Template:
    """The template process, ready when this object is made, and the socket on which it takes orders."""

    def __init__(self, limits: Limits) -> None:
        self._orders, theirs = socket.socketpair()
        self._lock = threading.Lock()
        """Held from an order to its answer."""
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this Python itself
                # -P: a file in the folder where the server was started is no module of Python's
                [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        _send(self._orders, limits)
        self._answer()

    def fork(self, channel: socket.socket) -> int:
        """Have it fork, and give the number of the child."""
        with self._lock:
            socket.send_fds(self._orders, [ORDER.pack(FORK, 0)], [channel.fileno()])
            pid = self._answer()
        if not pid:
            raise BlockingIOError("the system allows no more processes")
        return pid

    def kill(self, pid: int) -> None:
        """Have it kill a child; orders are short enough to come whole, whoever else sends some."""
        with suppress(OSError):  # where it has ended its children have too
            self._orders.sendall(ORDER.pack(KILL, pid))

    def reap(self, pid: int) -> None:
        """Have it wait for a child."""
        with suppress(OSError, EOFError), self._lock:
            self._orders.sendall(ORDER.pack(REAP, pid))
            self._answer()

    def close(self) -> None:
        """End it, and its children with it."""
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

    def kill(self) -> None:
        self._template.kill(self._pid)

    def reap(self) -> None:
        self._template.reap(self._pid)
        self._checkpoints.release(self._checkpoint)


def _send(channel: socket.socket, value: object) -> None:
    """Send a value; who does not take it has ended, as its own end will tell."""
    content = pickle.dumps(value)
    with suppress(ConnectionError):
        channel.sendall(SIZE.pack(len(content)) + content)
