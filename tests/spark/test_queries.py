"""One subscription of queries of all operators on Spark, against each of them in one process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from rdflive_stores.spark.dataflow.query_plan import plan_queries
from spark.world import Fails, World
from support.effort import HUNT, drawn_from
from support.spark_queries import GRAPHS, PREDICATES, QUERIES, TELLING
from support.spark_streams import Operation, by_query, live_quads, operations


def test_one_subscription_keeps_many_queries_up_to_date(spark: SparkSession, tmp_path: Path) -> None:
    """It is stopped, a micro-batch fails and comes again, and at last everything is deleted."""
    draw, world = drawn_from("queries on Spark"), World(spark, tmp_path, QUERIES, 41)
    live: dict[Operation, None] = {}

    def write(batch: list[Operation]) -> None:
        world.write(batch)
        for operation in batch:
            live.pop(operation._replace(op="A"), None)
            if operation.op == "A":
                live[operation] = None

    def drawn(size: int) -> list[Operation]:
        return operations(draw, size, PREDICATES, nodes=5, graphs=GRAPHS)

    for batch in (TELLING, drawn(40), drawn(10)):
        write(batch)
    world.run()
    for size in (20, 0, 10) if HUNT else (20,):
        write(drawn(size))
    with pytest.raises(StreamingQueryException, match="the disk is full"):
        world.run(Fails(world.found, 3))
    world.run()
    world.write([operation._replace(op="D") for operation in live])
    world.run()
    world.check()
    assert world.found.times[3] == 2

    plan = plan_queries(QUERIES)
    told = {name for net in world.found.list for name, part in by_query(plan, net).items() if part}
    assert told == QUERIES.keys()
    empty = World(spark, tmp_path / "empty", QUERIES, 0)
    empty.write([])
    empty.run()
    assert world.found.total == empty.found.total
    assert live_quads(world.checkpoint) == Counter()
