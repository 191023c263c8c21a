"""Programs that fetch connectors from Maven, which may be unreachable."""

from __future__ import annotations

import subprocess

import pytest

__all__ = ["succeeded"]


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    """Return the output of a program; skip the test if it could not fetch a package."""
    if done.returncode and "unresolved dependency" in done.stderr:
        pytest.skip("a connector cannot be fetched: Maven is not reachable from here")
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
