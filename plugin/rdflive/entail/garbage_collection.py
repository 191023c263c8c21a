"""Switches off Python's garbage collector while it would only cost time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collection"]


@contextmanager
def no_collection() -> Iterator[None]:
    """Switch garbage collection off while many small objects are made that will stay.

    They would start it over and over, and it would search a large graph without finding garbage: up to two
    thirds of the time were spent on that.
    """
    # a program that runs without it must not get it switched on
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
