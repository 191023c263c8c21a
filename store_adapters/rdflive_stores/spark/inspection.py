"""Inspect the state of a subscription from its files, without Spark, even while it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from rdflive_stores.spark.checkpoint import Checkpoint
from rdflive_stores.spark.dataflow import tasks
from rdflive_stores.spark.dataflow.identity import FORMAT
from rdflive_stores.spark.dataflow.matching import LIVE
from rdflive_stores.spark.dataflow.runs import Layout
from rdflive_stores.spark.dataflow.state import Bucket, Held, StateError, TaskMoment

__all__ = ["Inspection", "PartitionState", "inspect"]


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The state of one partition in one folder."""

    folder: str
    """`live`: quads that match a pattern. `window`: elements by quad and by time. `arranged`: matches of the
    patterns. `stage-0` and so on: counts of rows, groups and join sides. With entailment also `schema` and
    `entailed`, the entailed triples."""
    partition: int
    held: Held


@dataclass(frozen=True, slots=True)
class Inspection:
    """The state of a subscription."""

    query: str | Mapping[str, str]
    """The text of its query, or of its queries by name."""
    format: int
    partitions: int
    generation: int
    """Number of times that it was built from a snapshot, rebuilt or compacted."""
    committed: int | None
    """The last micro-batch in Spark's commit log; None before the first."""
    parts: tuple[PartitionState, ...]


def inspect(checkpoint: str | os.PathLike[str], spark: SparkSession | None = None) -> Inspection:
    """Return the state of a subscription after the last committed micro-batch.

    Pass a session for locations that need its settings. Raises `StateError` if there is no state, or if a
    part of it is lost.
    """
    place = Checkpoint(checkpoint, spark)
    state, held, last = place.state, place.held, place.committed
    if state is None or held is None:
        raise StateError(f"{place.folder} holds no state of a subscription")
    generation = place.home.generation
    parts = []
    if held["format"] == FORMAT and last is not None:
        now = TaskMoment(state / generation, last)
        for partition in range(held["partitions"]):
            tasks.part_behind(now, partition)
        for name in sorted({LIVE}.union(*(mark.before for mark in now.marks.values()))):
            buckets = (Bucket.of(now, name, partition, Layout(0)) for partition in now.marks)
            parts += [
                PartitionState(name, partition, bucket.held()) for partition, bucket in enumerate(buckets)
            ]
    number = int(generation.partition("-")[0])
    return Inspection(held["query"], held["format"], held["partitions"], number, last, tuple(parts))
