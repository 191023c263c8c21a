"""The life of a child: release the parent's resources, work within limits, and end."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

import rdflib

from rdflive.errors import RdfliveError
from rdflive.server.failures import Problem, problem_of
from rdflive.server.isolation.frames import Frames
from rdflive.server.settings import Limits

with suppress(ImportError):  # Windows has none, and cannot fork
    import resource

__all__ = ["StateWork", "Work", "run_child"]

Work: TypeAlias = Callable[[rdflib.Dataset, Frames], None]
"""The work of a child; it raises `RdfliveError` for errors of the client."""


@dataclass(frozen=True, slots=True)
class StateWork:
    """Work that depends on more of the state than the store holds, such as the answer of a subscription."""

    make: Callable[[], Work]
    """Returns the work for the present state; it is called under the store's lock."""


_GRACE: Final = 1.0
"""Seconds after its time limit when a child ends itself."""
_PR_SET_PDEATHSIG: Final = 1
_libc: Final = ctypes.CDLL(None) if sys.platform == "linux" else None


def run_child(
    begin: Callable[[], tuple[rdflib.Dataset, Work]],
    channel: socket.socket,
    limits: Limits,
    *,
    parent: int,
    has_files: bool,
) -> NoReturn:
    """Do the work on the dataset that `begin` returns, in a child, which ends here.

    It may open no files unless its dataset `has_files`, as a store on disk does.
    """
    frames = Frames(channel)
    try:
        _leave(channel, parent, limits.query_seconds)
        dataset, work = begin()
        _confine(limits.query_bytes, has_files=has_files)
        work(dataset, frames)
        frames.end()
    except BaseException as error:  # noqa: BLE001 - no error may leave the child
        with suppress(BaseException):
            frames.fail(_problem(error))
    finally:
        # not sys.exit: exit handlers of the parent must not run here
        os._exit(0)


def _leave(channel: socket.socket, parent: int, seconds: float) -> None:
    """Release the parent's resources, and arrange to end with the parent or after the time limit."""
    gc.freeze()  # the collector would touch, and so copy, pages shared with the parent
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, but answers may finish
    # SIGALRM ends the process, as the parent's handlers are removed
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # the parent ended before `prctl`
    if os.getppid() != parent:
        os._exit(1)
    # a connection that is open here too would stay open when the server closes it
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):
            if int(name) != channel.fileno() and stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.close(int(name))


def _confine(size: int, *, has_files: bool) -> None:
    """Limit memory, and allow no new file or connection unless the store has files."""
    # a core dump would contain all data
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # the limit comes on top of the memory shared with the parent
    mapped = _mapped()
    if mapped:
        resource.setrlimit(resource.RLIMIT_AS, (mapped + size, mapped + size))
    if not has_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def _mapped() -> int:
    """Return the bytes of this process's address space; zero on systems without /proc."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _problem(error: BaseException) -> Problem:
    """Return the problem of an error of the work."""
    if isinstance(error, RdfliveError):
        return problem_of(error)
    if isinstance(error, MemoryError):
        return Problem(503, "it needs more memory than allowed", headers={"Retry-After": "60"})
    if isinstance(error, RecursionError):
        return Problem(400, "it is nested too deeply")
    return Problem(500, f"it failed: {type(error).__name__}: {error}")
