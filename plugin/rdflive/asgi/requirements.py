"""What serving needs of an installation and of the system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rdflive.errors import MissingExtraError, RdfliveError
from rdflive.extras import install_command

__all__ = ["check_fork", "needing_server"]


@contextmanager
def needing_server(what: str) -> Iterator[None]:
    """Have what cannot be imported inside the block name the extra that brings it, as `MissingExtraError`."""
    try:
        yield
    except ImportError as error:
        if error.name is None or error.name.startswith("rdflive"):
            raise  # the installation is broken
        message = f"{what} needs {error.name}: {install_command('server')}"
        raise MissingExtraError(message, name=error.name) from error


def check_fork() -> None:
    """Raise `RdfliveError` where queries cannot run in processes of their own.

    >>> check_fork()
    """
    if not hasattr(os, "fork"):
        raise RdfliveError(
            "queries run in processes of their own, which needs os.fork: serve on Linux, macOS or WSL"
        )
