"""Whether this system can run a query in a process of its own."""

from __future__ import annotations

import os

from rdflive.errors import RdfliveError

__all__ = ["check_fork"]


def check_fork() -> None:
    """Raise `RdfliveError` where queries cannot be isolated.

    >>> check_fork()
    """
    if not hasattr(os, "fork"):
        raise RdfliveError(
            "queries run in processes of their own, which needs os.fork: serve on Linux, macOS or WSL"
        )
