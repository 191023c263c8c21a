"""Subscriptions on Spark that are stopped, fail, and go on."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from rdflive_stores.spark.dataflow.matching import LIVE
from rdflive_stores.spark.dataflow.state import StateError
from spark.world import GROUPS, PATH, PATIENCE, Fails, World
from support.spark_streams import AT_ONCE

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

    with pytest.raises(StateError, match="has 3 partitions, but this subscription has 2: use the same"):
        world.subscribe(partitions=2).start("noop")
    with pytest.raises(StateError, match=r"belongs to another query: its stages are .* use that query"):
        world.subscribe(PATH).start("noop")
    shutil.rmtree(world.checkpoint / "rdflive")
    with pytest.raises(StateError, match=r"there is no state of the query in .*: it was removed"):
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
