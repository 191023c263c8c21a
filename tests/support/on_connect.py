"""Run a subscription on Spark Connect, client and server on this machine, and print figures as JSON.

It is a separate program, because a process has either a classic session or one of Spark Connect.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import rdflive
from rdflive_stores.spark import rebuild
from rdflive_stores.spark.java import find_java
from rdflive_stores.spark.running import DataflowError
from spark.world import GROUPS, World
from support.spark_streams import AT_ONCE, Operation, nets, node

__all__ = ["main"]


def main() -> None:
    """Run micro-batches into a table, continue, repartition the state, and fail."""
    os.environ |= {"JAVA_HOME": str(find_java().home), "PYSPARK_PYTHON": sys.executable}
    builder: Any = SparkSession.builder
    spark = builder.remote("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
    folder = Path(tempfile.mkdtemp())
    world = World(spark, folder, GROUPS, 81)

    def run() -> Any:
        query = world.subscribe().start("parquet", trigger=AT_ONCE, path=str(folder / "out"))
        query.awaitTermination()
        return query

    world.add(3)
    run()
    world.subscribe().compact()
    world.add(1)
    run()
    rebuild(world.checkpoint, spark=spark, partitions=3)
    world.add(1)
    state = run().recentProgress[-1].observedMetrics["rdflive"]
    told: Counter[Any] = Counter()
    for row in spark.read.parquet(str(folder / "out")).collect():
        told[row.x, row.n] += row.weight
    expected: Counter[Any] = Counter()
    for net in nets(GROUPS, world.batches):
        for row, weight in net.items():
            expected[row] += weight
    refused = ""
    try:
        world.subscribe().start(print)
    except rdflive.RdfliveError as error:
        refused = str(error)
    failed = ""
    world.write([Operation("B", node(0), node("p"), node(0))])
    try:
        run()
    except DataflowError as error:
        failed = str(error)
    answer = {row: n for row, n in told.items() if n} == {row: n for row, n in expected.items() if n}
    print(json.dumps({"answer": answer, "refused": refused, "failed": failed, "rows": state["values"][0]}))
    spark.stop()


if __name__ == "__main__":
    main()
