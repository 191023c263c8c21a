"""Requirements of serving: optional packages, and processes by fork."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rdflive.errors import MissingExtraError, RdfliveError
from rdflive.extras import install_command

__all__ = ["check_fork", "needing_server"]


@contextmanager
def needing_server(what: str) -> Iterator[None]:
    """Raise `MissingExtraError`, which names the extra to install, if an import inside the block fails."""
    try:
        yield
    except ImportError as error:
        if error.name is None or error.name.startswith("rdflive"):
            raise  # the installation is broken
        message = f"{what} needs {error.name}: {install_command('server')}"
        raise MissingExtraError(message, name=error.name) from error


def check_fork() -> None:
    """Raise `RdfliveError` if the system cannot run queries in their own processes.

    >>> check_fork()
    """
    if not hasattr(os, "fork"):
        raise RdfliveError(
            "queries run in their own processes, which needs os.fork: serve on Linux, macOS or WSL"
        )
