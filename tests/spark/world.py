"""A stream of changes on Spark, and subscriptions to it, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rdflive_stores.spark.subscription import SparkSubscription, subscribe
from support.effort import drawn_from
from support.spark_streams import AT_ONCE, ChangeFiles, Nets, Operation, nets, node, operations

__all__ = ["GROUPS", "PATH", "PATIENCE", "PREDICATES", "Fails", "World"]

PREDICATES = [node("p"), node("q")]
PATH = "SELECT * { ?x <urn:p> ?y . ?y <urn:q> ?z }"
GROUPS = "SELECT ?x (COUNT(*) AS ?n) { SELECT DISTINCT ?x ?y { ?x <urn:p> ?y . ?y <urn:q> ?z } } GROUP BY ?x"
PATIENCE = 60.0


class World:
    """A stream of changes, and subscriptions to it, one after the other."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        query: str | Mapping[str, str],
        seed: int,
        entailment: str | None = None,
    ) -> None:
        self.spark = spark
        self.query = query
        self.entailment = entailment
        self.files = ChangeFiles(folder / "changes")
        self.checkpoint = folder / "checkpoint"
        self.batches: list[list[Operation]] = []
        self.found = Nets()
        self._chance = drawn_from("recovery", seed)

    def add(self, count: int = 1, size: int = 30) -> None:
        """Write random micro-batches."""
        for _ in range(count):
            self.write(operations(self._chance, size, PREDICATES))

    def write(self, batch: list[Operation]) -> None:
        """Write a micro-batch."""
        self.batches.append(batch)
        self.files.add(batch)

    def subscribe(self, query: str | Mapping[str, str] | None = None, **more: Any) -> SparkSubscription:
        """Make a subscription on the checkpoint."""
        changes = self.files.stream(self.spark)
        options: dict[str, Any] = {"entailment": self.entailment, **more}
        return subscribe(changes, query or self.query, checkpoint=self.checkpoint, **options)

    def run(self, sink: Any = None) -> SparkSubscription:
        """Run a new subscription over all that is there."""
        subscription = self.subscribe()
        subscription.start(sink or self.found, trigger=AT_ONCE).awaitTermination()
        return subscription

    def check(self) -> None:
        """All micro-batches have come, and are those of one process."""
        assert self.found.list == nets(self.query, self.batches, self.entailment)


class Fails:
    """A sink that fails at one micro-batch, after it has read it."""

    def __init__(self, sink: Nets, at: int) -> None:
        self.sink, self.at = sink, at

    def __call__(self, deltas: DataFrame, batch: int) -> None:
        """Take a micro-batch, or not."""
        self.sink(deltas, batch)
        if batch == self.at:
            raise OSError("the disk is full")
