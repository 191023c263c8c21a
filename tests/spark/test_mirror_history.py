"""The change history of schema.org's vocabulary through Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import rdflive
from rdflive.api.target import GraphTarget
from rdflive.feeds import decode, feed_format, open_lines, read_nquads
from rdflive_stores.spark.mirror import mirror
from rdflive_stores.spark.sources import register
from support.shared import shared
from support.spark_mirrors import Answers, state
from support.worlds import KINDS

pytestmark = [
    pytest.mark.shared,
    pytest.mark.hunted("the gate mirrors it without Spark, and other logs with it"),
]

FOLDER = ("data", "history", "schemaorg")


@pytest.mark.parametrize("kind", ["dataset", "live store"])
def test_history_through_spark(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """The state of the history, and deltas that add up to the answers, in several micro-batches."""
    register(spark)
    base, changes = shared(*FOLDER, "base.nt.gz"), str(shared(*FOLDER, "changes.rdfp.gz"))
    with open_lines(changes) as lines:
        batches = list(decode(feed_format("rdf-patch"), lines, changes))
    graph: Any = KINDS[kind]()
    answers = Answers(graph)
    with open_lines(str(base)) as lines:
        held = set(read_nquads(lines, str(base)))
    GraphTarget(graph).write([rdflive.Change(1, quad) for quad in held], (), "", {})
    form = feed_format("rdf-patch")
    assert form.encode is not None
    (tmp_path / "log.rdfp").write_text("".join(map(form.encode, batches)), encoding="utf-8", newline="\n")
    size = (tmp_path / "log.rdfp").stat().st_size
    frame = spark.readStream.format("rdf_patch").option("maxBytesPerTrigger", size // 4)
    query = mirror(
        frame.load(str(tmp_path / "log.rdfp")),
        graph,
        checkpoint=tmp_path / "cp",
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    for batch in batches:
        for sign, quad in batch.changes:
            (held.add if sign > 0 else held.discard)(quad)
    assert state(graph) == held
    assert answers.commits > 2
    answers.check()
