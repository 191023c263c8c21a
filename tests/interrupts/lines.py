"""Raise exceptions at any line of rdflive that an operation runs."""

from __future__ import annotations

import contextlib
import dis
import signal
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import rdflive
import rdflive_stores
from support.effort import HUNT, drawn_from, rounds

__all__ = ["LineRun", "acting_at", "drawn", "lines_of", "raising_at"]

PACKAGES = (
    *(str(Path(str(package.__file__)).parent) for package in (rdflive, rdflive_stores)),
    str(contextlib.__file__),
)
LineRun = tuple[str, int, int]
"""A file, a line of it, and the number of earlier runs of the line."""


def lines_of(operation: Callable[[], object]) -> list[LineRun]:
    """List the lines that an operation runs, in order."""
    places: list[LineRun] = []
    _traced(operation, places.append)
    return places


def drawn(places: list[LineRun], most: int, *names: object) -> list[LineRun]:
    """Return all places in a hunt, and in the gate a sample drawn by names: a share of `most`."""
    return places if HUNT else drawn_from(*names).sample(places, min(len(places), rounds(most)))


def raising_at(place: LineRun, error: type[BaseException], operation: Callable[[], object]) -> bool:
    """Run an operation and raise an error at a line; return True if the operation reached it.

    The handler of Ctrl-C must be the same afterwards.
    """
    came: list[LineRun] = []
    handler = signal.getsignal(signal.SIGINT)

    def look(at: LineRun) -> None:
        if at == place:
            came.append(at)
            raise error("injected")

    try:
        _traced(operation, look)
    except BaseException:
        if not came:
            raise
    assert signal.getsignal(signal.SIGINT) is handler, place
    return bool(came)


def acting_at(place: LineRun, act: Callable[[], object], operation: Callable[[], object]) -> bool:
    """Run an operation, and `act` at a line of it like a signal handler; return True if it ran."""
    came: list[LineRun] = []

    def look(at: LineRun) -> None:
        if at == place and not came:
            came.append(at)
            act()

    _traced(operation, look)
    return bool(came)


def _traced(operation: Callable[[], object], look: Callable[[LineRun], None]) -> None:
    seen: dict[tuple[str, int], int] = {}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGES):
            return None
        if event == "line" and not (_is_whole(frame.f_code, frame.f_lasti) or _is_leaving(frame)):
            line = frame.f_code.co_filename, frame.f_lineno
            seen[line] = seen.get(line, -1) + 1
            look((*line, seen[line]))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        operation()
    finally:
        sys.settrace(before)


def _is_leaving(frame: FrameType) -> bool:
    """Return True if a `with` statement is about to end the generator of its block.

    After an interrupt there, the generator continues when Python frees it: at once in the interrupted thread.
    If the garbage collector frees it in another thread, its lock cannot be released (see `Capture.batch`).
    """
    code = frame.f_code
    is_exit = code.co_name == "__exit__" and code.co_filename == contextlib.__file__
    return is_exit and frame.f_locals.get("typ") is None and frame.f_lineno <= code.co_firstlineno + 3


@cache
def _is_whole(code: CodeType, at: int) -> bool:
    """Return True if no signal can come between the previous instruction and the next one.

    Python checks for signals at none of these places: the end of a `with` block (three None, behind the
    return value, and a call), whose call of a lock is native; an exception that leaves such a block; the word
    `try`, which is an empty instruction; and the close of a generator at a `yield from`, which Python 3.13
    reports as a line.
    """
    rest = [i for i in dis.get_instructions(code) if i.offset >= at and i.opname not in ("CACHE", "SWAP")]
    if rest[0].opname in ("NOP", "CLEANUP_THROW") or [i.opname for i in rest[:2]] == [
        "PUSH_EXC_INFO",
        "WITH_EXCEPT_START",
    ]:
        return True
    following = rest[:3]
    return len(following) == 3 and all(i.opname == "LOAD_CONST" and i.argval is None for i in following)
