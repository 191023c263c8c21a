"""The process from which children of a store on disk are forked: without threads and without a store."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import struct
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import rdflib

import rdflive.server.isolation.work  # noqa: F401 - so that no child need import it
from rdflive.server.isolation.confinement import Work, run_child
from rdflive.server.isolation.work import warm_up
from rdflive.server.settings import Limits

__all__ = ["FORK", "KILL", "ORDER", "REAP", "SIZE", "Job", "serve"]

ORDER: Final = struct.Struct(">ci")
"""What it is told, and a child's number; the answer is of the same form.

The first answer comes without an order, when it is ready."""
FORK, KILL, REAP = b"F", b"K", b"R"
"""FORK comes with the child's socket, and is answered with its number, or 0 where there can be none; REAP is
answered when the child has ended. A child's number is its own until it is reaped."""
SIZE: Final = struct.Struct(">I")
"""The number of bytes of a pickled value, sent before it."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a child does, and on which store."""

    path: str
    writes: bool
    prefixes: dict[str, str]
    is_union: bool
    work: Work


def serve(number: int) -> NoReturn:
    """Take orders from the socket of this number until its other end is closed; then end all children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and answers may finish
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
            # the system may have given the number of one that was reaped to a process of somebody else
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
    # the server has gone: nobody reads what they write
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    os._exit(0)


def _prepare() -> None:
    """Import all that children need, and open no store of Oxigraph."""
    import oxrdflib  # noqa: F401 - for the children
    import pyoxigraph  # noqa: F401

    warm_up()


def _order(orders: socket.socket) -> tuple[bytes, int, socket.socket | None] | None:
    """Read an order and what comes with it; None at the end."""
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
    # a checkpoint that others use too is opened for reading only
    native = Store(job.path) if job.writes else Store.read_only(job.path)
    dataset = rdflib.Dataset(OxigraphStore(store=native), default_union=job.is_union)
    for prefix, namespace in job.prefixes.items():
        dataset.bind(prefix, namespace, replace=True)
    return dataset, job.work


def _received(channel: socket.socket) -> Any:
    """Read a pickled value from the parent; nobody else has the other end of the socket."""
    (size,) = SIZE.unpack(_exactly(channel, SIZE.size))
    return pickle.loads(_exactly(channel, size))  # noqa: S301 - the parent's


def _exactly(channel: socket.socket, size: int) -> bytes:
    content = channel.recv(size, socket.MSG_WAITALL)
    if len(content) < size:
        raise EOFError("the parent has ended")
    return content
