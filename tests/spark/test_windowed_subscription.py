"""Windows over streams of Spark: their watermark, what is late, restarts, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's documentation calls it

import rdflive
from dataflow.simulation import Change
from dataflow.test_windowing import Engine
from rdflive_stores.spark import inspect, rebuild
from rdflive_stores.spark.dataflow.windowing import WINDOW
from rdflive_stores.spark.subscription import SparkSubscription, subscribe
from support.effort import drawn_from
from support.spark_streams import AT_ONCE, Nets, node

PATH = "SELECT ?x ?z { ?x <urn:p> ?y . ?y <urn:q> ?z }"
WINDOW_OF_6 = rdflive.Sliding(6, step=2)
SECOND = 1_000_000
_COLUMNS = {"s": "string", "p": "string", "o": "string", "at": "timestamp", "offset": "long"}


class Elements:
    """A folder with a file of elements for each micro-batch."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.batches: list[list[Change]] = []

    def add(self, batch: list[Change]) -> None:
        times = pa.array([change.time for change in batch], pa.timestamp("us", "UTC"))
        columns = {name: [getattr(change, name) for change in batch] for name in ("s", "p", "o", "offset")}
        draft, number = self.folder / ".draft", len(self.batches)
        pq.write_table(pa.table({**columns, "at": times}), draft)
        os.utime(draft, (1_700_000_000 + number,) * 2)  # the source reads files by their times
        draft.rename(self.folder / f"{number:03}.parquet")
        self.batches.append(batch)

    def stream(self, spark: SparkSession) -> DataFrame:
        reader = spark.readStream.schema(", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items()))
        return reader.option("maxFilesPerTrigger", 1).parquet(str(self.folder))

    def draw(self, count: int, size: int = 40) -> None:
        """Write micro-batches of random elements, which come out of order, and some of them late."""
        for _ in range(count):
            chance, number = drawn_from("elements", len(self.batches)), len(self.batches)
            batch = []
            for offset in range(size):
                second = max(0, 100 + 3 * number + chance.choice((0, 1, 2, 2, -1, -3, -4, -9)))
                predicate = chance.choice(["p", "q", "q", "other"])
                quad = node(chance.randrange(6)), node(predicate), node(chance.randrange(6))
                batch.append(Change("A", *quad, offset=offset, time=second * SECOND))
            self.add(batch)


def expected(batches: list[list[Change]], delay: int) -> tuple[list[Any], int]:
    """Give the nets of one process, and how many elements that a pattern matches came late."""
    engine, latest, late, found = Engine(PATH, WINDOW_OF_6), None, 0, []
    for batch in batches:
        watermark = None if latest is None else latest - delay
        found.append(engine.run(batch, watermark))
        if watermark is not None:
            late += sum(c.time < watermark and c.p in (node("p"), node("q")) for c in batch if c.time)
        latest = max([c.time for c in batch if c.time], default=latest)
    engine.close()
    return found, late


@pytest.mark.hunted("the gate compares windows without Spark, in dataflow/, and run the example of the page")
def test_a_window_follows_the_watermark_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Its column and delay are those of withWatermark. It goes on behind a restart, and in other parts, with
    what it holds and with the elements that wait; a row that no pattern matches moves the watermark.
    """
    elements, found, late = Elements(tmp_path / "elements"), Nets(), 0
    checkpoint = tmp_path / "checkpoint"

    def run() -> SparkSubscription:
        nonlocal late
        changes = elements.stream(spark).withWatermark("at", "2 seconds")
        subscription = subscribe(changes, PATH, checkpoint=checkpoint, window=WINDOW_OF_6)
        query = subscription.start(found, trigger=AT_ONCE)
        query.awaitTermination()
        for progress in query.recentProgress:
            if progress.numInputRows:
                late += progress.observedMetrics["rdflive"].late_rows
        return subscription

    elements.draw(3)
    run()
    elements.draw(2)
    assert "Sliding(range=6, step=2) by at, 2 s behind" in run().explain()
    rebuild(checkpoint, spark=spark, partitions=3, sink=(answers := Nets()))
    assert answers.total == found.total
    elements.draw(2)
    # the row of no pattern has all others pass, with the row behind it
    other = [Change("A", node(0), node("other"), node(0), time=second * SECOND) for second in (200, 201)]
    for change in other:
        elements.add([change])
    assert run().partitions == 3
    nets, dropped = expected(elements.batches, 2 * SECOND)
    assert found.list == nets
    assert sum(map(bool, nets)) > 4
    assert late == dropped > 0
    assert not found.total
    assert {part.folder for part in inspect(checkpoint).parts} >= {WINDOW, "live"}


def test_what_is_no_window_over_a_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """The window, the column and the delay are looked at before anything runs."""
    stream = Elements(tmp_path / "elements").stream(spark)
    window = rdflive.Sliding(10)

    def refused(match: str, changes: DataFrame = stream, **given: Any) -> None:
        with pytest.raises(ValueError, match=match):
            subscribe(changes, PATH, **{"checkpoint": tmp_path / "checkpoint", "window": window, **given})

    marked = stream.withWatermark("at", "2 seconds")
    refused("time= and delay= need a window", window=None, time="at")
    refused("time= and delay= need a window", window=None, delay=3)
    refused(r"Count\(size=10\) does not go by time", window=rdflive.Count(10), time="at")
    refused("does not go by time", window=rdflive.Sliding, time="at")
    refused("time= must name the column of times: withWatermark is not set")
    refused("'then' is none of s, p, o, at, offset", time="then")
    refused("of type timestamp, and 's' is of type string", time="s")
    refused("'at' has the delay of withWatermark: leave out delay=", marked, delay="1s")
    twice = marked.withColumn("also", F.col("at"))
    refused("withWatermark is set for at, also", twice)
    refused("lacks the column 's'; it has p, o, at, offset, and must have s, p, o", marked.drop("s"))
    still = spark.createDataFrame([(node(1), node(2), node(3))], ["s", "p", "o"])
    refused("initial= does not go with a window", marked, initial=still)
    assert not (tmp_path / "checkpoint").exists()
    made = subscribe(twice, PATH, checkpoint=tmp_path / "checkpoint", window=window, time="also")
    assert "by also, 2 s behind" in made.explain()
    delayed = subscribe(stream, PATH, checkpoint=tmp_path / "other", window=window, time="at", delay="1.5s")
    assert "by at, 1.5 s behind" in delayed.explain()
    assert (
        "by at, 0 s"
        in subscribe(stream, PATH, checkpoint=tmp_path / "none", window=window, time="at").explain()
    )
