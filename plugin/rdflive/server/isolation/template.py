"""The template process, without threads and stores, from which children of a store on disk are forked."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import struct
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import rdflib

import rdflive.server.isolation.work  # noqa: F401 - imported here for all children
from rdflive.plugins import manager
from rdflive.server.isolation.confinement import Work, run_child
from rdflive.server.isolation.work import warm_up
from rdflive.server.settings import Limits

__all__ = ["FORK", "KILL", "ORDER", "REAP", "SIZE", "Job", "serve"]

ORDER: Final = struct.Struct(">ci")
"""An order and a child's process id; responses have the same form.

The first response comes without an order, when the template is ready."""
FORK, KILL, REAP = b"F", b"K", b"R"
"""FORK brings the child's socket; the response has its process id, or 0 if the system allows no process. REAP
gets its response when the child has ended. A process id is unique until it is reaped."""
SIZE: Final = struct.Struct(">I")
"""The number of bytes of a pickled value, sent before it."""


@dataclass(frozen=True, slots=True)
class Job:
    """The work of a child, and its store."""

    path: str
    writes: bool
    prefixes: dict[str, str]
    is_union: bool
    work: Work


def serve(number: int) -> NoReturn:
    """Execute orders from the socket with this descriptor until it closes; then end all children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, but answers may finish
    orders = socket.socket(fileno=number)
    limits: Limits = _received(orders)
    _prepare()
    orders.sendall(ORDER.pack(FORK, 0))
    children: set[int] = set()
    while order := _order(orders):
        kind, pid, channel = order
        if kind == FORK and channel is not None:
            pid = _fork(channel, limits)
            channel.close()
            if pid:
                children.add(pid)
        elif kind == KILL:
            # the system may have reused the id of a reaped child for another process
            if pid in children:
                os.kill(pid, signal.SIGKILL)
            continue
        elif pid in children:
            os.waitpid(pid, 0)
            children.discard(pid)
        try:
            orders.sendall(ORDER.pack(kind, pid))
        except ConnectionError:
            break
    # the server has ended, so their output has no reader
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    os._exit(0)


def _prepare() -> None:
    """Import the modules for children, without opening an Oxigraph store."""
    import oxrdflib  # noqa: F401 - for the children
    import pyoxigraph  # noqa: F401

    warm_up()


def _order(orders: socket.socket) -> tuple[bytes, int, socket.socket | None] | None:
    """Return an order with its socket, if any; None at the end."""
    content, numbers, _, _ = socket.recv_fds(orders, ORDER.size, 1)
    if len(content) < ORDER.size:
        return None
    kind, pid = ORDER.unpack(content)
    return kind, pid, socket.socket(fileno=numbers[0]) if numbers else None


def _fork(channel: socket.socket, limits: Limits) -> int:
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        return 0
    if not pid:
        run_child(lambda: _begun(channel), channel, limits, parent=parent, has_files=True)
    return pid


def _begun(channel: socket.socket) -> tuple[rdflib.Dataset, Work]:
    from oxrdflib import OxigraphStore
    from pyoxigraph import Store

    job: Job = _received(channel)
    # a shared checkpoint is opened read-only
    native = Store(job.path) if job.writes else Store.read_only(job.path)
    dataset = rdflib.Dataset(OxigraphStore(store=native), default_union=job.is_union)
    # hides the graph in which the store keeps the positions of feeds
    manager.attach(dataset.store)
    for prefix, namespace in job.prefixes.items():
        dataset.bind(prefix, namespace, replace=True)
    return dataset, job.work


def _received(channel: socket.socket) -> Any:
    """Return a pickled value; only the parent has the other end of the socket."""
    (size,) = SIZE.unpack(_exactly(channel, SIZE.size))
    return pickle.loads(_exactly(channel, size))  # noqa: S301 - the parent's


def _exactly(channel: socket.socket, size: int) -> bytes:
    content = channel.recv(size, socket.MSG_WAITALL)
    if len(content) < size:
        raise EOFError("the parent has ended")
    return content
