"""Switches off Python's garbage collector during work that produces no garbage."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

__all__ = ["MANY", "uncollected"]

MANY: Final = 1000
"""Number of changes in a commit from which garbage collection is switched off."""

P = ParamSpec("P")
Result = TypeVar("Result")


def uncollected(work: Callable[P, Result]) -> Callable[P, Result]:
    """Switch garbage collection off while a function makes many small objects that will stay.

    These objects would trigger the collector repeatedly, and it would search a large graph without finding
    garbage. That took up to two thirds of the time.

    This is no context manager: Ctrl-C could come between the end of a block and the first line of `__exit__`,
    and garbage collection would stay off.
    """

    @wraps(work)
    def without(*arguments: P.args, **options: P.kwargs) -> Result:
        # if the program has switched it off, it must stay off
        was_on = gc.isenabled()
        try:
            gc.disable()
            return work(*arguments, **options)
        finally:
            if was_on:
                gc.enable()

    return without
