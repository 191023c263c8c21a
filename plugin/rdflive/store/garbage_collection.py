"""Switches off Python's garbage collector while it would only cost time."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

__all__ = ["MANY", "uncollected"]

MANY: Final = 1000
"""Changes in one commit from which they are taken together, without garbage collection."""

P = ParamSpec("P")
Result = TypeVar("Result")


def uncollected(work: Callable[P, Result]) -> Callable[P, Result]:
    """Switch garbage collection off while a function makes many small objects that will stay.

    They would start it over and over, and it would search a large graph without finding garbage: up to two
    thirds of the time were spent on that.

    A function and no context manager: Ctrl-C could come between the end of a block and the first line of its
    `__exit__`, and garbage would never be collected again.
    """

    @wraps(work)
    def without(*arguments: P.args, **options: P.kwargs) -> Result:
        # a program that runs without it must not get it switched on
        was_on = gc.isenabled()
        try:
            gc.disable()
            return work(*arguments, **options)
        finally:
            if was_on:
                gc.enable()

    return without
