"""Failures planted at single lines of the code under test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["fail_at"]


def fail_at(
    number: int,
    act: Callable[[], object],
    error: type[BaseException],
    *,
    within: Callable[[Any], bool],
) -> bool:
    """Run something and raise at the n-th line that it reaches in some frames; false if there is none.

    `within` tells of a frame whether its lines count. An interrupt ends here; what else is raised goes on.
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
