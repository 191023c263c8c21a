"""The programs on the first screen of the README."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from support.pages import blocks
from support.shared import ROOT

__all__ = ["README", "USES", "running"]

README = ROOT / "README.md"
USES = [block for block in blocks(README) if block.language == "python"]
"""A graph in a program, a SPARQL endpoint, and change data capture with Spark."""


@contextmanager
def running(program: str) -> Iterator[Iterator[str]]:
    """Run a program that follows a feed until Ctrl-C; yield the lines that it prints."""
    command = [sys.executable, "-u", "-c", program]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            yield (line.rstrip("\n") for line in process.stdout)
        finally:
            process.kill()
