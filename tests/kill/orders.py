"""Orders for tasks of `pyspark_disturbed`, and a session whose executors run it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["EXECUTORS", "Orders", "cluster"]

EXECUTORS: Final = 2
_TESTS: Final = Path(__file__).parents[1]


@dataclass
class Orders:
    """A folder in which tasks look up orders and record their events."""

    folder: Path
    count: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "orders").touch()
        self.count = len(self.told("orders"))

    def give(
        self,
        what: str,
        *,
        batch: int | None = None,
        stage: str | None = None,
        part: int | None = None,
        point: int | None = None,
        within: str = "",
        outlives: bool = False,
    ) -> int:
        """Order one task, or without a stage one per stage, to "stop" or "fail"; return the order's number.

        None matches any value; `pyspark_disturbed` defines the points. A stopped worker that outlives its
        executor continues after `go`.
        """
        order = {"number": self.count, "what": what, "batch": None if batch is None else str(batch)}
        order |= {"stage": stage, "part": part, "point": point, "within": within, "outlives": outlives}
        with (self.folder / "orders").open("a") as file:
            file.write(json.dumps(order) + "\n")
        self.count += 1
        return self.count - 1

    def told(self, name: str) -> list[dict[str, Any]]:
        """Return the recorded events of a kind: "log", "stopped", "failed" or "ended"."""
        path = self.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait(self, name: str, number: int, go_on: Callable[[], bool]) -> dict[str, Any] | None:
        """Wait for the event of an order and return it; None if it does not come while `go_on` is true."""
        while True:
            may_come = go_on()
            for told in self.told(name):
                if told["order"] == number:
                    return told
            if not may_come:
                return None
            time.sleep(0.05)

    def go(self, number: int) -> None:
        """Let a stopped task continue."""
        (self.folder / f"go {number}").touch()

    def end(self) -> None:
        """Let all stopped tasks continue, so that no worker is left."""
        for order in self.told("orders"):
            self.go(order["number"])

    def attempts(self, task: dict[str, Any]) -> int:
        """Return the number of attempts at a task."""
        return sum(
            all(told[name] == task[name] for name in ("stage", "batch", "part")) for told in self.told("log")
        )


def cluster(folder: Path, orders: Orders, config: Mapping[str, object] | None = None) -> SparkSession:
    """Start a session with separate executors and all files in a folder."""
    import pyspark

    from rdflive_stores.spark.session import session

    # the workers of a cluster on one machine write their logs into the folder of Spark
    home = folder / f"spark-{os.getpid()}"
    home.mkdir(parents=True)
    for path in Path(pyspark.__file__).parent.iterdir():
        (home / path.name).symlink_to(path)
    os.environ["SPARK_HOME"] = str(home)
    paths = (
        _TESTS / "kill" / "executors",
        _TESTS,
        _TESTS.parent / "plugin",
        _TESTS.parent / "store_adapters",
    )
    settings: dict[str, object] = {
        "spark.local.dir": folder / "local",
        "spark.driver.extraJavaOptions": f'"-Djava.io.tmpdir={folder}"',
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.executor.memory": "512m",
        "spark.deploy.maxExecutorRetries": -1,
        "spark.sql.shuffle.partitions": 4,
        "spark.python.worker.module": "pyspark_disturbed",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(map(str, paths)),
        "spark.executorEnv.RDFLIVE_ORDERS": orders.folder,
    }
    return session(f"local-cluster[{EXECUTORS},1,512]", config=settings | dict(config or {}))
