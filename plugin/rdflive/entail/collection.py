"""Python's garbage collector, where it only costs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collection"]


@contextmanager
def no_collection() -> Iterator[None]:
    """Put garbage collection off while many small objects are made that stay.

    They would set it off over and over, to search a large graph for garbage that is not there: up to two
    thirds of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
