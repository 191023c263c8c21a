"""Failures planted at single lines of the code under test."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from support.effort import HUNT, drawn_from

__all__ = ["QUICK_STEPS", "fail_at", "file_of", "lines"]

QUICK_STEPS = 1 if HUNT else 5
"""The gate plants failures at one of this number of the lines of a hunt."""


def lines(step: int, *names: object) -> Iterator[int]:
    """Yield the numbers of the lines to fail at: every `step`-th in a hunt, else fewer."""
    step *= QUICK_STEPS
    return count(1 if HUNT else drawn_from(*names).randint(1, step), step)


def file_of(frame: Any) -> str:
    """Return the file name of a frame, with slashes."""
    file: str = frame.f_code.co_filename
    return file if os.sep == "/" else file.replace(os.sep, "/")


def fail_at(
    number: int,
    act: Callable[[], object],
    error: type[BaseException],
    *,
    within: Callable[[Any], bool],
) -> bool:
    """Run `act` and raise at the n-th line that it reaches; return False if it reaches fewer lines.

    The lines of a frame count if `within` returns True. A planted KeyboardInterrupt is caught; other errors
    propagate.
    """
    seen = 0

    def trace(frame: Any, event: str, argument: object) -> Any:
        nonlocal seen
        if event == "call":
            return trace if within(frame) else None
        if event == "line":
            seen += 1
            if seen == number:
                sys.settrace(None)
                raise error
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        if error is not KeyboardInterrupt:
            raise
    finally:
        sys.settrace(before)
    return seen >= number
