"""A replacement of PySpark's worker whose tasks stop or fail by orders of a test.

Spark loads the worker that `spark.python.worker.module` names, if its name begins with "pyspark". Orders
are in the folder RDFLIVE_ORDERS (`kill.orders`). Each has a point: -1 is before a task reads any row, 0
before the first file that it changes, 1 before the second, and so on. A task that changes fewer files reaches
the point at its end. An order "within" a folder counts the files of this folder only.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pyspark import TaskContext
from pyspark.worker import main as work

from rdflive_stores.spark.dataflow import tasks
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.mirroring import decoding

__all__ = ["main"]

_FOLDER: Final = Path(os.environ["RDFLIVE_ORDERS"])
_CHANGING: Final = ("write_text", "write_table", "remove")
_STAGES: Final = {
    **{
        (tasks, name): name
        for name in ("match", "count", "walk", "finish", "live_quads", "windowed", "compact")
    },
    (decoding, "decode_texts"): "decode",
}
_on_change: Callable[[str], None] | None = None


def main(infile: Any, outfile: Any) -> None:
    """Run PySpark's worker with disturbances."""
    if not hasattr(tasks.match, "is_disturbed"):
        for (module, function), stage in _STAGES.items():
            setattr(module, function, _disturbed(getattr(module, function), stage))
        for name in _CHANGING:
            setattr(Folder, name, _told(getattr(Folder, name)))
    work(infile, outfile)


def _disturbed(function: Any, stage: str) -> Any:
    """Wrap a function of a stage so that it obeys its orders."""

    def run(*given: Any, **named: Any) -> Iterator[Any]:
        number = f" {given[3]}" if stage in ("walk", "finish") else ""
        yield from _run(f"{stage}{number}", function(*given, **named))

    run.is_disturbed = True  # type: ignore[attr-defined]
    return run


def _told(function: Any) -> Any:
    def call(folder: Folder, *given: Any) -> Any:
        if _on_change is not None:
            _on_change(folder.path)
        return function(folder, *given)

    return call


def _run(stage: str, rows: Iterator[Any]) -> Iterator[Any]:
    global _on_change
    context = TaskContext.get()
    assert context is not None
    task = {
        "stage": stage,
        "batch": context.getLocalProperty("streaming.sql.batchId"),
        "part": context.partitionId(),
    }
    _note("log", task | {"attempt": context.attemptNumber()})
    order = _order(task)
    left = None if order is None else int(order["point"])
    if order is None or left is None:
        yield from rows
        return

    def change(path: str) -> None:
        nonlocal left
        if left is None or not path.endswith(order["within"]):
            return
        if left > 0:
            left -= 1
            return
        left = None
        _obey(order, task)

    def now() -> None:
        nonlocal left
        if left is not None:
            left = 0
            change(order["within"])

    try:
        if left == -1:
            now()
        _on_change = change
        yield from rows
        now()
    finally:
        _on_change = None
        _note("ended", {"order": order["number"]})


def _order(task: dict[str, Any]) -> dict[str, Any] | None:
    """Take the first order for a task; each is taken once, or once per stage if it has no stage."""
    for line in (_FOLDER / "orders").read_text().splitlines():
        order = json.loads(line)
        if all(order[name] in (None, task[name]) for name in task):
            name = f"{order['number']}" + (f" {task['stage']}" if order["stage"] is None else "")
            with suppress(FileExistsError), (_FOLDER / f"taken {name}").open("x"):
                if order["point"] is None:
                    order["point"] = random.Random(name).randrange(-1, 5)
                return order  # type: ignore[no-any-return]
    return None


def _obey(order: dict[str, Any], task: dict[str, Any]) -> None:
    if order["what"] == "fail":
        _note("failed", task)
        raise OSError("an order to fail")
    if order["outlives"]:
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
    stopped = {"order": order["number"], "outlives": order["outlives"], "executor": int(daemon[1])}
    _note("stopped", stopped | task)
    # end with the test, too
    while _FOLDER.exists() and not (_FOLDER / f"go {order['number']}").exists():
        time.sleep(0.02)


def _note(name: str, told: dict[str, Any]) -> None:
    """Append a line to a file; short lines of several processes do not mix."""
    with suppress(FileNotFoundError), (_FOLDER / name).open("a") as file:
        file.write(json.dumps(told) + "\n")
