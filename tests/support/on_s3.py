"""Run a subscription with its checkpoint in an object store: read its address as JSON, print figures.

It is a separate program, because a session gets its connectors when it starts.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException

from rdflive_stores.spark import inspect, rebuild, session
from spark.world import GROUPS, Fails, World
from support.spark_streams import AT_ONCE, Nets

CHECKPOINT = "s3a://state/checkpoint"


class Remote(World):
    """A world with its checkpoint in the object store."""

    def __init__(self, spark: Any, folder: Path) -> None:
        super().__init__(spark, folder, GROUPS, 71)
        self.checkpoint: Any = CHECKPOINT


def main() -> None:
    """Fail, continue, compact, repartition the state and continue again."""
    prefix = "spark.hadoop.fs.s3a."
    options = {
        "endpoint": json.load(sys.stdin)["url"],
        "access.key": "test",
        "secret.key": "test",
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
    }
    spark = session(connectors=["s3"], config={prefix + name: value for name, value in options.items()})
    world = Remote(spark, Path(tempfile.mkdtemp()))
    world.add(3)
    with suppress(StreamingQueryException):
        world.run(Fails(world.found, 1))
    world.run()
    world.subscribe().compact()
    world.add(1)
    world.run()
    answer = Nets()
    rebuild(CHECKPOINT, spark=spark, partitions=3, sink=answer)
    world.add(1)
    query = world.subscribe().start(world.found, trigger=AT_ONCE)
    query.awaitTermination()
    world.check()
    found = inspect(CHECKPOINT, spark)
    state = query.recentProgress[-1].observedMetrics["rdflive"]
    figures = {
        "batches": len(world.found.list),
        "repeated": sum(times > 1 for times in world.found.times.values()),
        "partitions": found.partitions,
        "rows": [sum(part.held.rows for part in found.parts), state.state_rows],
        "rebuilt": sum(answer.total.values()),
    }
    spark.stop()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
