"""The console script `rdflive`."""

from __future__ import annotations

from rdflive.cli.command import main

__all__ = ["main"]
