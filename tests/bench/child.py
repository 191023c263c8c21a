"""Runs a module of the benchmarks in a process of its own: JSON in, JSON out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["call_module"]


def call_module(
    module: str, task: object, *, python: str = sys.executable, seconds: float | None = None
) -> dict[str, Any]:
    """Give the task to the module's standard input, and read the last line that it prints.

    Raises `subprocess.TimeoutExpired` where it takes longer than so many seconds.
    """
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    result = subprocess.run(
        [python, "-m", module],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        env={**os.environ, "PYTHONPATH": path},
    )
    if result.returncode:
        raise RuntimeError(f"{module} failed: {result.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return answer
