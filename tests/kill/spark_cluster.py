"""Disturb queries and a mirror on a cluster of this machine, and count lost, wrong and ended ones.

    cd tests; python -m kill.spark_cluster kill --plays queries window --count 10 --seed 1

The cluster is Spark's own `local-cluster`, whose executors are separate processes. A child process runs the
plays one by one. In the middle of a task, at a random point,

- "kill" sends SIGKILL to its executor. In every third case the worker of the task continues without it and
  ends some micro-batches later, like a worker that lost the network;
- "decommission" makes the executor end as if its machine were to disappear in a minute;
- "allocation" waits, so that Spark releases idle executors and requests new ones;
- "fail" raises an error, once in each stage of two micro-batches, or jobs, of each play.

"driver" kills the driver while tasks run, which end after another driver has run two micro-batches.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from kill.orders import Orders, cluster
from kill.spark_subscription import check, family, started, tell
from support.spark_queries import PREDICATES
from support.spark_streams import ChangeFiles, operations

__all__ = ["PLAYS", "Outcome", "kill_driver", "run"]

PLAYS: Final = ("queries", "entailment", "window", "parameters", "snapshot", "mirror")
"""The names of `kill.cluster_plays`, which needs PySpark."""
_MOST_STARTS: Final = 5
"""Maximal number of starts of a query."""
_ENOUGH: Final = 4.0
"""Seconds in which Spark releases idle executors."""
_CONFIG: Final[dict[str, dict[str, object]]] = {
    "decommission": {
        "spark.decommission.enabled": True,
        "spark.storage.decommission.enabled": True,
        "spark.storage.decommission.shuffleBlocks.enabled": True,
    },
    "allocation": {
        "spark.executor.cores": 1,
        "spark.dynamicAllocation.enabled": True,
        "spark.dynamicAllocation.minExecutors": 1,
        "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
        "spark.dynamicAllocation.shuffleTracking.enabled": True,
        "spark.dynamicAllocation.shuffleTracking.timeout": "1s",
    },
}


@dataclass
class Outcome:
    """The outcome of plays, as counts."""

    disturbed: int = 0
    """Tasks whose executor was killed, or that failed or waited."""
    stages: int = 0
    """Kinds of stages of these tasks."""
    repeated: int = 0
    """Tasks among these with another attempt."""
    outrun: int = 0
    """Attempts that ran beyond the end of their micro-batch."""
    removed: int = 0
    """Executors that Spark lost or released."""
    told: int = 0
    """Delivered micro-batches."""
    lost: int = 0
    wrong: int = 0
    ended: int = 0
    """Runs that ended early with an error, and were restarted."""


@dataclass
class Stage:
    """Runs plays and disturbs them."""

    what: str
    folder: Path
    chance: random.Random
    outcome: Outcome = field(default_factory=Outcome)

    def __post_init__(self) -> None:
        self.orders = Orders(self.folder / "orders")
        self.late: list[int] = []
        self.met: list[dict[str, Any]] = []

    def run(self, names: list[str], count: int) -> Outcome:
        """Run plays."""
        from kill.cluster_plays import PLAYS_BY_NAME

        spark = cluster(self.folder, self.orders, config=_CONFIG.get(self.what, {}))
        for name in names:
            if self.what == "fail":
                for batch in (1, None):  # None: in the snapshot and the first micro-batch
                    self.orders.give("fail", batch=batch)
            play = PLAYS_BY_NAME[name](spark, self.folder / name, self.chance)
            for act, ordered in play.acts(count):
                with self._disturbed(ordered if self.what != "fail" else []):
                    self._do(name, act)
            told, lost, wrong = play.compare()
            self.outcome.told += told
            self.outcome.lost += lost
            self.outcome.wrong += wrong
        met = [*self.met, *self.orders.told("failed")]
        self.outcome.disturbed, self.outcome.stages = len(met), len({each["stage"] for each in met})
        self.outcome.repeated = sum(self.orders.attempts(task) > 1 for task in met)
        executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
        self.outcome.removed = sum(not executors.apply(n).isActive() for n in range(executors.size()))
        spark.stop()
        return self.outcome

    def _do(self, name: str, act: Callable[[], Any]) -> None:
        for _ in range(_MOST_STARTS):
            try:
                act()
            except Exception as error:  # noqa: BLE001 - any error is counted
                self.outcome.ended += 1
                print(f"{name} ended: {_cause(error)[:400]}", file=sys.stderr)
            else:
                return

    @contextmanager
    def _disturbed(self, ordered: list[dict[str, Any]]) -> Iterator[None]:
        """Disturb tasks by orders during the block, and end all attempts after it."""
        numbers = [
            self.orders.give(
                "stop",
                **{"part": self.chance.randrange(3), "point": self.chance.randrange(-1, 5)} | order,
                outlives=self.what == "kill" and place % 3 == 1,
            )
            for place, order in enumerate(ordered)
        ]
        is_over = threading.Event()
        thread = threading.Thread(target=self._disturb, args=(numbers, lambda: not is_over.is_set()))
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
            self._let_go(0)

    def _disturb(self, numbers: list[int], go_on: Callable[[], bool]) -> None:
        for number in numbers:
            task = self.orders.wait("stopped", number, go_on)
            if task is None:
                return
            self.met.append(task)
            self._let_go(1)
            if self.what == "allocation":
                time.sleep(_ENOUGH)
            else:
                with suppress(ProcessLookupError):
                    os.kill(task["executor"], signal.SIGKILL if self.what == "kill" else signal.SIGPWR)
            if task["outlives"]:
                self.late.append(number)
            else:
                self.orders.go(number)

    def _let_go(self, left: int) -> None:
        """Let attempts without executor continue and end, except the newest `left`."""
        while len(self.late) > left:
            number = self.late.pop(0)
            self.orders.go(number)
            assert self.orders.wait("ended", number, lambda: True)
            self.outcome.outrun += 1


def _cause(error: Exception) -> str:
    """Return the innermost message of Spark or rdflive."""
    return ([str(error), *re.findall(r"(?:SparkException|StateError): (.+)", str(error))])[-1]


def run(folder: Path, what: str, plays: list[str], *, count: int, seed: int) -> Outcome:
    """Run plays in a child; raise AssertionError if it fails by itself."""
    given = (what, "--plays", *plays, "--count", count, "--seed", seed)
    try:
        with started("kill.spark_cluster", *given, "--child", folder) as child:
            told, complaints = child.communicate()
    finally:
        Orders(folder / "orders").end()
    print("\n".join(line for line in complaints.splitlines() if " ended: " in line))
    if child.returncode:
        raise AssertionError(f"the child failed by itself:\n{complaints[-5000:]}")
    return Outcome(**json.loads(told.splitlines()[-1]))


def kill_driver(folder: Path, *, seed: int) -> Outcome:
    """Kill a driver in the middle of a task, which ends after another driver has continued.

    Raise AssertionError for a lost or wrong micro-batch.
    """
    chance = random.Random(seed)
    history = [operations(chance, 40, PREDICATES) for _ in range(7)]
    files, orders = ChangeFiles(folder / "changes"), Orders(folder / "orders")
    for batch in history:
        files.add(batch)
    (folder / "told").mkdir()
    try:
        last = orders.give(
            "stop", batch=2, stage="finish 0", part=1, point=chance.randrange(4), outlives=True
        )
        with started("kill.spark_cluster", "driver", "--child", folder) as child:
            task = orders.wait("stopped", last, lambda: child.poll() is None)
            assert task is not None
            for process in family(child.pid) - {task["executor"]}:
                if b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_bytes():
                    os.kill(process, signal.SIGKILL)
        later = orders.give("stop", batch=4, stage="match", part=0, point=0)
        with started("kill.spark_cluster", "driver", "--child", folder) as child:
            assert orders.wait("stopped", later, lambda: child.poll() is None)
            for number in (last, later):
                orders.go(number)
                assert orders.wait("ended", number, lambda: child.poll() is None)
            _, complaints = child.communicate()
        assert child.returncode == 0, complaints[-5000:]
    finally:
        orders.end()
    found = check(folder, history, 1)
    return Outcome(1, 1, int(orders.attempts(task) > 1), 1, 0, found.batches)


def _follow(folder: Path) -> None:
    """Run as a driver that may be killed."""
    spark = cluster(folder, Orders(folder / "orders"))
    tell(spark, folder)


def main() -> None:
    """Run the program."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["kill", "fail", "decommission", "allocation", "driver"])
    parser.add_argument("--plays", nargs="+", choices=PLAYS, default=PLAYS)
    parser.add_argument("--count", type=int, default=8, help="disturbances of each play")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=Path, metavar="FOLDER", help="be the child process")
    given = parser.parse_args()
    if given.child and given.what == "driver":
        _follow(given.child)
    elif given.child:
        stage = Stage(given.what, given.child, random.Random(given.seed))
        print(json.dumps(asdict(stage.run(given.plays, given.count))))
    else:
        with tempfile.TemporaryDirectory() as folder:
            if given.what == "driver":
                print(kill_driver(Path(folder), seed=given.seed))
            else:
                print(run(Path(folder), given.what, given.plays, count=given.count, seed=given.seed))


if __name__ == "__main__":
    main()
