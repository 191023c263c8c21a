"""Subscriptions on Spark run in its tasks, and a hub does not stop them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from rdflive_stores.spark.dataflow.matching import LIVE
from rdflive_stores.spark.dataflow.walking import ARRANGED
from rdflive_stores.spark.subscription import subscribe
from support.effort import drawn_from
from support.spark_streams import AT_ONCE, ChangeFiles, Nets, Operation, node, rows_held

pytestmark = pytest.mark.hunted("it measures; the gate counts the rows that are made, in dataflow/")

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
