"""What goes wrong where a command writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["STDOUT", "naming", "reason"]

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


def reason(error: Exception) -> str:
    """Say in one line what went wrong, with the name of the file that the system could not use.

    >>> reason(OSError(2, "No such file or directory", "data.ttl"))
    'data.ttl: No such file or directory'
    """
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)
