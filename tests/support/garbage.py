"""Garbage of one test alone: in a long run, looking through what other tests left takes many seconds."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["only_new_garbage"]


@contextmanager
def only_new_garbage() -> Iterator[None]:
    """Have `gc.collect` leave out what is there already, here and in later tests; a decorator too."""
    gc.collect()
    gc.freeze()
    yield
