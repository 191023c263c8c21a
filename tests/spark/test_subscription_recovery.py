"""Subscriptions on Spark that are stopped, fail, and go on."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from rdflive_stores.spark.dataflow.matching import LIVE
from rdflive_stores.spark.dataflow.state import StateError
from rdflive_stores.spark.dataflow.walking import ARRANGED
from spark.world import GROUPS, PATH, PATIENCE, PREDICATES, Fails, World
from support.effort import drawn_from
from support.spark_streams import AT_ONCE, Nets, Operation, nets, node, rows_held

pytestmark = pytest.mark.hunted("the gate kills a subscription, and repeats micro-batches in dataflow/")


def test_a_subscription_goes_on_where_another_stopped(spark: SparkSession, tmp_path: Path) -> None:
    """A new subscription on the checkpoint of another reads its state, and knows its partitions."""
    world = World(spark, tmp_path, GROUPS, 31)
    world.add(2)
    first = world.subscribe(partitions=3)
    first.start(world.found, trigger=AT_ONCE).awaitTermination()
    world.add(2)
    assert world.run().partitions == 3
    world.check()
    assert set(world.found.times.values()) == {1}

    with pytest.raises(StateError, match="is in 3 partitions, and this subscription has 2: take that again"):
        world.subscribe(partitions=2).start("noop")
    with pytest.raises(StateError, match=r"that of another query: its stages are .* take that query again"):
        world.subscribe(PATH).start("noop")
    shutil.rmtree(world.checkpoint / "rdflive")
    with pytest.raises(
        StateError, match=r"the state of the query should be in .* and is not: it was removed"
    ):
        world.subscribe().start("noop")


def test_a_micro_batch_that_failed_comes_again(spark: SparkSession, tmp_path: Path) -> None:
    """After a failure of the sink its micro-batch comes again with equal rows, also after a compaction."""
    world = World(spark, tmp_path, GROUPS, 32)
    world.add(5)
    for attempt in range(2):
        with pytest.raises(StreamingQueryException, match="the disk is full"):
            world.run(Fails(world.found, 2))
        world.subscribe().compact()
        assert world.found.times[2] == attempt + 1
    world.run()
    world.check()
    assert world.found.times == {0: 1, 1: 1, 2: 3, 3: 1, 4: 1}


def test_two_sinks_do_not_disturb_each_other(spark: SparkSession, tmp_path: Path) -> None:
    """Each query over the same deltas has a state of its own, so that they may run at different times."""
    world = World(spark, tmp_path, GROUPS, 33)
    world.add(3)
    subscription = world.subscribe()
    second = Nets()
    writer = subscription.deltas.writeStream.foreachBatch(second).trigger(**AT_ONCE)
    writer = writer.option("checkpointLocation", str(tmp_path / "second"))
    running = [subscription.start(world.found, trigger=AT_ONCE), writer.start()]
    running[1].awaitTermination()
    running[0].awaitTermination()
    world.add()
    writer.start().awaitTermination()
    world.add()
    subscription.start(world.found, trigger=AT_ONCE).awaitTermination()
    world.check()
    assert second.list == nets(world.query, world.batches)[:4]


def test_state_is_compacted_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    """Compaction stops a query between micro-batches, merges its files, and lets it go on."""
    world = World(spark, tmp_path, GROUPS, 34)
    world.add(2)
    subscription = world.subscribe()
    assert subscription.state_size == 0
    subscription.compact()
    first = subscription.start(world.found)
    first.processAllAvailable()
    before = subscription.state_size
    world.add(2)
    subscription.compact()
    assert not first.isActive
    deadline = time.monotonic() + PATIENCE
    while len(world.found.found) < 4:
        assert time.monotonic() < deadline, "it goes on"
        time.sleep(0.05)
        assert subscription.state_size > 0
    subscription.stop()
    subscription.compact()
    assert all(len(list(path.glob("*.arrow"))) <= 2 for path in world.checkpoint.glob(f"rdflive/*/{LIVE}/*"))
    assert subscription.state_size < 2 * before
    world.check()


def test_state_is_in_proportion_to_what_is_live(spark: SparkSession, tmp_path: Path) -> None:
    """A graph that churns does not grow its state; when all is deleted, nothing is kept."""
    for name in ("churned", "fresh"):
        (tmp_path / name).mkdir()
    world = World(spark, tmp_path / "churned", PATH, 35)
    chance = drawn_from("churn")
    live: dict[Operation, None] = {}
    updates = 0
    for _ in range(6):
        gone = chance.sample(list(live), len(live) * 5 // 6)
        new = [Operation("A", _node(chance), chance.choice(PREDICATES), _node(chance)) for _ in range(1500)]
        new = [operation for operation in dict.fromkeys(new) if operation not in live]
        live = dict.fromkeys([*(live.keys() - set(gone)), *new])
        world.write([*(operation._replace(op="D") for operation in gone), *new])
        updates += len(gone) + len(new)
    assert updates > 8 * len(live)
    subscription = world.run("noop")
    for name in (LIVE, ARRANGED):
        assert len(live) <= sum(rows_held(world.checkpoint, name)) < updates / 2
    subscription.compact()
    assert sum(rows_held(world.checkpoint, LIVE)) == sum(rows_held(world.checkpoint, ARRANGED)) == len(live)

    fresh = World(spark, tmp_path / "fresh", PATH, 37)
    fresh.write(list(live))
    assert subscription.state_size < 1.2 * fresh.run("noop").state_size

    world.write([operation._replace(op="D") for operation in live])
    subscription = world.run("noop")
    subscription.compact()
    assert sum(rows_held(world.checkpoint, LIVE)) == sum(rows_held(world.checkpoint, ARRANGED)) == 0


def _node(chance: Random) -> str:
    return node(chance.randrange(2000))
