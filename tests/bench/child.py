"""Calls the benchmarks in processes of their own, JSON in and JSON out, and tells what a process occupies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["apart", "call_module", "resident"]

HAS_PROCESSES = True
"""False in tests, where functions are called in the same process."""


def apart(function: Callable[..., Any], *, seconds: float | None = None, **arguments: Any) -> Any:
    """Call a function of a module in a process of its own, where what it measures is not disturbed.

    What iterates is given as a list.

    Raises `subprocess.TimeoutExpired` where it takes longer than so many seconds.
    """
    if not HAS_PROCESSES and seconds is None:
        return json.loads(json.dumps(function(**json.loads(json.dumps(arguments))), default=list))
    task = {"module": function.__module__, "function": function.__name__, "arguments": arguments}
    return call_module("bench.child", task, seconds=seconds)


def call_module(
    module: str, task: object, *, python: str = sys.executable, seconds: float | None = None
) -> Any:
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
    return json.loads(result.stdout.splitlines()[-1])


def resident(pid: int | str = "self") -> int:
    """Give the bytes of memory that a process occupies; 0 where the system does not tell."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    task = json.load(sys.stdin)
    work = getattr(import_module(task["module"]), task["function"])
    print(json.dumps(work(**task["arguments"]), default=list))
