"""What goes wrong where a command writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["STDOUT", "naming"]

STDOUT: Final = "standard output"


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Put the name of what is written into an error of the system that has none; a closed pipe stays.

    >>> with naming("standard output"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'standard output'
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise
