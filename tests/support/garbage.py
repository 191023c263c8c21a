"""Garbage collection that ignores the objects of earlier tests, which would take many seconds."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["only_new_garbage"]


@contextmanager
def only_new_garbage() -> Iterator[None]:
    """Exclude existing objects from `gc.collect`, here and in later tests; also a decorator."""
    gc.collect()
    gc.freeze()
    yield
