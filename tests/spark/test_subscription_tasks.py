"""Subscriptions on Spark run in its tasks, and a hub does not stop them."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from rdflive_stores.spark.dataflow.matching import LIVE
from rdflive_stores.spark.dataflow.walking import ARRANGED
from rdflive_stores.spark.subscription import subscribe
from support.effort import drawn_from
from support.spark_streams import AT_ONCE, ChangeFiles, Nets, Operation, node, rows_held

pytestmark = pytest.mark.hunted("it measures; the gate counts the rows that are made, in dataflow/")

HUB = int(os.environ.get("RDFLIVE_HUB", "100000"))
"""The neighbours of a hub."""
PARTITIONS = 4


class Stage(NamedTuple):
    """What Spark says of the tasks of a stage."""

    result_bytes: list[int]
    """What came to the driver."""
    rows_read: list[int]


def stages(spark: SparkSession, query: Any) -> list[Stage]:
    """List the stages of all jobs of a run of a query."""
    context: Any = spark.sparkContext
    scala = context._jsc.sc()
    scala.listenerBus().waitUntilEmpty()
    tracker, found = context.statusTracker(), []
    for job in sorted(tracker.getJobIdsForGroup(query.runId)):
        for number in sorted(tracker.getJobInfo(job).stageIds):
            stage = scala.statusStore().lastStageAttempt(number)
            tasks = scala.statusStore().taskList(number, stage.attemptId(), 1000)
            metrics = [tasks.apply(place).taskMetrics().get() for place in range(tasks.size())]
            rows = [m.shuffleReadMetrics().recordsRead() + m.inputMetrics().recordsRead() for m in metrics]
            found.append(Stage([m.resultSize() for m in metrics], rows))
    return found


def test_subscription_runs_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """No change row comes to the driver; stages run in several tasks, and all buckets hold state."""
    chance = drawn_from("tasks")
    files, size = ChangeFiles(tmp_path / "changes"), 400

    def add() -> None:
        long = [node(chance.randbytes(500).hex()) for _ in range(size)]
        batch = [Operation("A", s, node("p"), node(place % 20)) for place, s in enumerate(long)]
        files.add([*batch, *(Operation("A", node(place), node("q"), long[place]) for place in range(20))])

    text = "SELECT DISTINCT * { ?x <urn:p> ?y . ?y <urn:q> ?z }"
    checkpoint = tmp_path / "checkpoint"
    subscription = subscribe(files.stream(spark), text, checkpoint=checkpoint, partitions=PARTITIONS)
    add()
    query = subscription.start("parquet", trigger=AT_ONCE, path=str(tmp_path / "deltas"))
    query.awaitTermination()
    found = stages(spark, query)
    assert max(max(stage.result_bytes) for stage in found) < 32_000, (
        "a task reports its metrics and those of the state; its part of the rows would be 100,000"
    )

    shuffles = re.search(r"(\d) shuffles per micro-batch, state in 4 partitions", subscription.explain())
    assert shuffles is not None
    assert len(found) == 1 + int(shuffles[1])
    for stage in found[1:]:
        assert len(stage.rows_read) == PARTITIONS
        assert sum(map(bool, stage.rows_read)) > 1
    for name in (LIVE, ARRANGED, "stage-0"):
        held = rows_held(checkpoint, name)
        assert len(held) == PARTITIONS
        assert all(held)
    plan = query._jsq.explainInternal(False)
    assert len(re.findall("Exchange ", plan)) == int(shuffles[1])
    assert "Broadcast" not in plan

    add()  # a sink that does collect the rows, to see that the measure sees it
    query = subscription.start(Nets(), trigger=AT_ONCE)
    query.awaitTermination()
    assert sum(stages(spark, query)[-1].result_bytes) > size * 1000


class Counts:
    """A sink that counts solutions by their weight, on Spark."""

    def __init__(self) -> None:
        self.found: dict[int, dict[int, int]] = {}

    def __call__(self, deltas: DataFrame, batch: int) -> None:
        """Take a micro-batch."""
        rows = deltas.groupBy("weight").count().collect()
        self.found[batch] = {row["weight"]: row["count"] for row in rows}


HUBS = {
    "star": (
        "SELECT ?x ?y ?z { <urn:hub> <urn:p> ?x . ?hub <urn:p> ?x ; <urn:q> ?y ; <urn:r> ?z }",
        [
            [Operation("A", node("hub"), node("q"), node(1))],
            [Operation("A", node("hub"), node("p"), node("more"))],
            [Operation("A", node("hub"), node("r"), node(place)) for place in (2, 3)],
            [Operation("D", node("hub"), node("q"), node(1))],
        ],
        [{}, {}, {}, {1: 2 * HUB + 2}, {-1: 2 * HUB + 2}],
    ),
    "path": (
        "SELECT * { ?x <urn:q> ?hub . ?hub <urn:p> ?y . ?y <urn:r> ?z }",
        [
            [Operation("A", node(7), node("r"), node("end"))],
            [Operation("A", node(f"start{place}"), node("q"), node("hub")) for place in range(5)],
            [Operation("A", node(place), node("r"), node("end")) for place in (8, 9)],
            [Operation("D", node("hub"), node("p"), node(place)) for place in range(8, 1000)],
        ],
        [{}, {}, {1: 5}, {1: 10}, {-1: 10}],
    ),
}


@pytest.mark.parametrize("name", HUBS)
def test_a_hub_is_no_obstacle(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """Changes at a node with very many neighbours give what they should, in workers of bounded memory."""
    query, batches, wanted = HUBS[name]
    files = ChangeFiles(tmp_path / "changes")
    files.add([Operation("A", node("hub"), node("p"), node(place)) for place in range(HUB)])
    for batch in batches:
        files.add(batch)
    counts = Counts()
    subscription = subscribe(files.stream(spark), query, checkpoint=tmp_path / "checkpoint")
    subscription.start(counts, trigger=AT_ONCE).awaitTermination()
    assert counts.found == dict(enumerate(wanted))
    memory = worker_memory(spark)
    assert memory, "there are workers"
    assert max(memory.values()) < 250_000 + 2 * HUB, "kilobytes"


def worker_memory(spark: SparkSession) -> dict[int, int]:
    """Give the most memory that each Python worker of a session ever took, in kilobytes."""
    context: Any = spark.sparkContext
    family = {context._jvm.java.lang.ProcessHandle.current().pid()}
    found: Counter[int] = Counter()
    for _ in range(3):  # the JVM, its daemon, the daemon's workers
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
            except OSError:  # ended meanwhile
                continue
            if int(lines["PPid"]) in family and "VmHWM" in lines and "python" in lines["Name"]:
                family.add(int(lines["Pid"]))
                found[int(lines["Pid"])] = int(lines["VmHWM"].split()[0])
    return found
