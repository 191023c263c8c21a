"""Disturbs queries and a mirror on a cluster of this machine, and counts what was lost, wrong or ended.

    cd tests; python -m kill.spark_cluster kill --plays queries window --count 10 --seed 1

The cluster is Spark's own `local-cluster`: executors are processes of their own. A child process runs the
plays one after the other. In the middle of a task, at a random point,

- "kill" sends SIGKILL to its executor. In every third case the worker of the task goes on without it, and
  ends some micro-batches later, as one that has lost the network does;
- "decommission" has the executor end as one whose machine is taken away in a minute;
- "allocation" waits, so that Spark gives executors back that have nothing to do, and asks for others then;
- "fail" raises an error, once in each stage of each micro-batch.

"driver" kills the driver while tasks go on, which end when another driver has gone on for two micro-batches.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kill.orders import Orders, cluster
from kill.spark_subscription import check, family, started, tell
from support.spark_queries import PREDICATES, QUERIES
from support.spark_streams import AT_ONCE, ChangeFiles, Nets, operations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["PLAYS", "Outcome", "kill_driver", "run"]

_MOST_STARTS: Final = 5
"""So often a query that has ended is started again."""
_ENOUGH: Final = 4.0
"""Seconds in which Spark gives executors back that do nothing."""
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
        "spark.dynamicAllocation.schedulerBacklogTimeout": "200ms",
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
        "spark.dynamicAllocation.shuffleTracking.enabled": True,
        "spark.dynamicAllocation.shuffleTracking.timeout": "1s",
    },
}
Act: TypeAlias = tuple[Callable[[], Any], list[dict[str, Any]]]
"""Something that is done, and the orders for its tasks."""


@dataclass
class Outcome:
    """What became of plays: every figure is a count."""

    disturbed: int = 0
    """Tasks that an executor was running when it was killed, or that failed or waited."""
    stages: int = 0
    """Kinds of stages in which that was."""
    repeated: int = 0
    """Those of the tasks at which there was another attempt."""
    outrun: int = 0
    """Attempts that went on when their micro-batch was over."""
    removed: int = 0
    """Executors that Spark has lost, or given back."""
    told: int = 0
    """Micro-batches."""
    lost: int = 0
    wrong: int = 0
    ended: int = 0
    """Runs that ended before their time, with an error; another one followed."""


class Play:
    """A query, or a mirror, and what it is told."""

    PARTS = 3

    def __init__(self, spark: SparkSession, folder: Path, chance: random.Random) -> None:
        self.spark, self.folder, self.chance = spark, folder, chance
        self.found = Nets()

    def acts(self, count: int) -> Iterator[Act]:
        """Run micro-batches, of which all but the first are disturbed, then some more."""
        self.write(count + 1)
        yield self.run, [{"batch": number + 1, "stage": self.draw()} for number in range(count)]
        self.write(2)
        yield self.run, []

    def draw(self) -> str:
        """Draw a stage."""
        return self.chance.choice(self.stages())

    def stages(self) -> list[str]:
        """Name the stages."""
        plan = self.subscribe()._flow.plan
        return [
            "match",
            *(["count"] if plan.entailment else []),
            *(f"walk {number}" for number in range(plan.matching.rounds)),
            *(f"finish {number}" for number in range(plan.stages)),
        ]

    def run(self) -> None:
        """Run what is there."""
        self.subscribe().start(self.found, trigger=AT_ONCE).awaitTermination()

    def subscribe(self) -> Any:
        """Make a subscription on the checkpoint."""
        raise NotImplementedError

    def write(self, count: int) -> None:
        """Write the files of micro-batches."""
        raise NotImplementedError

    def wanted(self) -> list[Any]:
        """Give what micro-batches should be."""
        raise NotImplementedError

    def add_up(self, outcome: Outcome) -> None:
        """Compare."""
        found, wanted = self.found.list, self.wanted()
        outcome.told += len(found)
        outcome.lost += len(wanted) - len(found)
        outcome.wrong += sum(one != other for one, other in zip(found, wanted, strict=False))


class Queries(Play):
    """Joins, OPTIONAL and groups in one subscription."""

    TEXTS: Any = {name: QUERIES[name] for name in ("groups", "two optional", "not exists")}
    ENTAILMENT: str | None = None

    def __init__(self, *given: Any) -> None:
        from spark.world import World

        super().__init__(*given)
        seed = self.chance.randrange(1 << 30)
        self.world = World(self.spark, self.folder, self.TEXTS, seed, self.ENTAILMENT)
        self.subscribe = self.world.subscribe  # type: ignore[method-assign]

    def write(self, count: int) -> None:
        for _ in range(count):
            self.world.write(operations(self.chance, 30, PREDICATES))

    def wanted(self) -> list[Any]:
        from support.spark_streams import nets

        return nets(self.TEXTS, self.world.batches, self.ENTAILMENT)


class Entailment(Queries):
    """A query over what RDFS entails."""

    ENTAILMENT = "rdfs"

    def __init__(self, *given: Any) -> None:
        from spark import test_subscription_entailment as entailed

        self.TEXTS = entailed.QUERY
        super().__init__(*given)
        self.commits = iter(entailed.commits(self.chance, 200))

    def write(self, count: int) -> None:
        for _ in range(count):
            self.world.write([operation for _ in range(4) for operation in next(self.commits)])


class Snapshot(Queries):
    """A snapshot, and state that is made again, in other partitions or merged."""

    TEXTS = QUERIES["subselect"]

    def acts(self, count: int) -> Iterator[Act]:
        """Disturb the snapshot, the rebuilding, the merging, and the micro-batches behind each of them."""
        from rdflive_stores.spark import rebuild
        from spark.test_snapshots import as_quads

        self.first = operations(self.chance, 60, PREDICATES)
        live: dict[Any, None] = {}
        for operation in self.first:
            live.pop(operation[1:], None)
            if operation.op == "A":
                live[operation[1:]] = None
        initial = as_quads(self.spark, Counter(list(live)))

        def begin() -> None:
            self.world.subscribe(initial=initial).start(self.found, trigger=AT_ONCE).awaitTermination()

        def part() -> None:
            answer = Nets()
            place = self.world.checkpoint
            rebuild(place, spark=self.spark, partitions=self.chance.randint(2, 4), sink=answer)
            self.answers.append((answer.total, self.found.total))

        self.answers: list[tuple[Any, Any]] = []
        self.write(2)
        snapshot = {"batch": None, "stage": self.draw()}
        yield begin, [snapshot, {"batch": 1, "stage": self.draw()}]
        for number in range(max(1, count // 3)):
            yield part, [{"batch": None, "stage": self.chance.choice(["live_quads", self.draw()])}]
            self.write(2)
            yield self.run, [{"batch": 2 + 4 * number, "stage": self.draw()}]
            yield self.subscribe().compact, [{"batch": None, "stage": "compact"}]
            self.write(2)
            yield self.run, [{"batch": 4 + 4 * number, "stage": self.draw()}]

    def wanted(self) -> list[Any]:
        from support.spark_streams import nets

        return nets(self.TEXTS, [self.first, *self.world.batches])

    def add_up(self, outcome: Outcome) -> None:
        super().add_up(outcome)
        outcome.wrong += sum(one != other for one, other in self.answers)


class Window(Play):
    """A window, whose watermark follows the stream."""

    def __init__(self, *given: Any) -> None:
        from spark.test_windowed_subscription import Elements

        super().__init__(*given)
        self.folder.mkdir()
        self.elements = Elements(self.folder / "elements")

    def subscribe(self) -> Any:
        from rdflive_stores.spark import subscribe
        from spark.test_windowed_subscription import PATH, WINDOW_OF_6

        changes = self.elements.stream(self.spark).withWatermark("at", "2 seconds")
        return subscribe(changes, PATH, checkpoint=self.folder / "checkpoint", window=WINDOW_OF_6)

    def write(self, count: int) -> None:
        self.elements.draw(count)

    def wanted(self) -> list[Any]:
        from spark.test_windowed_subscription import expected

        return expected(self.elements.batches, 2_000_000)[0]


class Parameters(Play):
    """A query for the rows of a second stream."""

    def __init__(self, *given: Any) -> None:
        from spark.test_parameters import LATE, Rows, Told

        super().__init__(*given)
        self.files, self.one = ChangeFiles(self.folder / "changes"), Told(LATE)
        self.rows, self.nets = Rows(self.folder / "rows"), list[Any]()

    def subscribe(self) -> Any:
        from rdflive_stores.spark import subscribe
        from spark.test_parameters import LATE

        changes, rows = self.files.stream(self.spark), self.rows.stream(self.spark)
        return subscribe(changes, LATE, checkpoint=self.folder / "checkpoint", parameters=rows)

    def write(self, count: int) -> None:
        from spark.test_parameters import drawn

        for _ in range(count):
            batch = [*drawn(self.chance, watching=True), *drawn(self.chance, watching=False)]
            self.nets.append(self.one.run(batch))
            self.rows.become(self.one.rows())
            self.files.add([change for change in batch if not change.s.startswith("<urn:u")])

    def wanted(self) -> list[Any]:
        return self.nets


class Mirror(Play):
    """A graph that follows transactions, three files to a micro-batch."""

    def __init__(self, *given: Any) -> None:
        import rdflib

        super().__init__(*given)
        (self.folder / "files").mkdir(parents=True)
        self.graph, self.batches = rdflib.Dataset(), list[Any]()
        self.numbers, self.live, self.wrong = Counter[int](), set[Any](), 0
        self.states: list[Any] = []

    def stages(self) -> list[str]:
        return ["decode"]

    def run(self) -> None:
        from rdflive_stores.spark import mirror

        columns = "value string, topic string, partition int, offset long"
        stream = self.spark.readStream.schema(columns).option("maxFilesPerTrigger", 3)
        mirror(
            stream.parquet(str(self.folder / "files")), self.graph, "rdf-patch",
            checkpoint=self.folder / "checkpoint", name="play", trigger=AT_ONCE, on_batch=self._compare,
        ).awaitTermination()  # fmt: skip

    def _compare(self, batch: Any) -> None:
        from support.spark_mirrors import state

        self.numbers[batch.batch] += 1
        self.wrong += {str(quad) for quad in state(self.graph)} != self.states[batch.batch]

    def write(self, count: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from rdflive.feeds.terms import RowReader
        from rdflive import Quad

        for _ in range(count):
            for _ in range(3):
                batch, number = operations(self.chance, 15, PREDICATES), len(self.batches)
                lines = [f"{op} {s} {p} {o} ." for op, s, p, o, _ in batch]
                table = {
                    "value": ["\n".join(["TX .", *lines, "TC ."])], "topic": ["log"],
                    "partition": pa.array([0], pa.int32()), "offset": pa.array([number], pa.int64()),
                }  # fmt: skip
                path = self.folder / "files" / f"{number:04}.parquet"
                pq.write_table(pa.table(table), path)
                os.utime(path, (1_700_000_000 + number,) * 2)
                self.batches.append(batch)
                for op, *texts, _ in batch:
                    quad = str(Quad(*(RowReader(text).term("term") for text in texts), None))
                    (self.live.add if op == "A" else self.live.discard)(quad)
            self.states.append(set(self.live))

    def add_up(self, outcome: Outcome) -> None:
        outcome.told += len(self.numbers)
        outcome.lost += len(self.states) - len(self.numbers)
        outcome.wrong += self.wrong + sum(times > 1 for times in self.numbers.values())


PLAYS: Final[dict[str, type[Play]]] = {
    "queries": Queries,
    "entailment": Entailment,
    "window": Window,
    "parameters": Parameters,
    "snapshot": Snapshot,
    "mirror": Mirror,
}


@dataclass
class Stage:
    """Where plays are run, and disturbed."""

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
        spark = cluster(self.folder, self.orders, config=_CONFIG.get(self.what, {}))
        if self.what == "fail":
            self.orders.give("fail")
        for name in names:
            play = PLAYS[name](spark, self.folder / name, self.chance)
            for act, ordered in play.acts(count):
                with self._disturbed(ordered if self.what != "fail" else []):
                    self._do(name, act)
            play.add_up(self.outcome)
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
            except Exception as error:  # noqa: BLE001 - whatever it ends with is counted
                self.outcome.ended += 1
                print(f"{name} ended: {type(error).__name__}: {str(error)[:400]!r}", file=sys.stderr)
            else:
                return

    @contextmanager
    def _disturbed(self, ordered: list[dict[str, Any]]) -> Iterator[None]:
        """Disturb tasks as they come, while something is done; in the end no attempt is left."""
        numbers = [
            self.orders.give(
                "stop",
                part=None if order["stage"] == "decode" else self.chance.randrange(2),
                point=self.chance.randrange(-1, 5),
                outlives=self.what == "kill" and place % 3 == 1,
                **order,
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
            self._let_go(self.chance.randrange(2))
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
        """Have attempts go on and end whose executors are gone, all but the newest."""
        while len(self.late) > left:
            number = self.late.pop(0)
            self.orders.go(number)
            assert self.orders.wait("ended", number, lambda: True)
            self.outcome.outrun += 1


def run(folder: Path, what: str, plays: list[str], *, count: int, seed: int) -> Outcome:
    """Have a child run plays; raises AssertionError where it fails by itself."""
    given = (what, "--plays", *plays, "--count", count, "--seed", seed)
    with started("kill.spark_cluster", *given, "--child", folder) as child:
        told, complaints = child.communicate()
    print("\n".join(line for line in complaints.splitlines() if " ended: " in line))
    if child.returncode:
        raise AssertionError(f"the child failed by itself:\n{complaints[-5000:]}")
    return Outcome(**json.loads(told.splitlines()[-1]))


def kill_driver(folder: Path, *, seed: int) -> Outcome:
    """Kill a driver in the middle of a task, which ends when another driver has gone on.

    Raises AssertionError where something is lost or wrong.
    """
    chance = random.Random(seed)
    history = [operations(chance, 40, PREDICATES) for _ in range(7)]
    files, orders = ChangeFiles(folder / "changes"), Orders(folder / "orders")
    for batch in history:
        files.add(batch)
    (folder / "told").mkdir()
    last = orders.give("stop", batch=2, stage="finish 0", part=1, point=chance.randrange(4), outlives=True)
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
    found = check(folder, history, 1)
    return Outcome(1, 1, int(orders.attempts(task) > 1), 1, 0, found.batches)


def _follow(folder: Path) -> None:
    """Be a driver that may be killed."""
    spark = cluster(folder, Orders(folder / "orders"))
    tell(spark, folder)


def main() -> None:
    """Run the program."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["kill", "fail", "decommission", "allocation", "driver"])
    parser.add_argument("--plays", nargs="+", choices=list(PLAYS), default=list(PLAYS))
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
