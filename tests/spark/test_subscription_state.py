"""State that was lost, put back, or is of another query is refused, not guessed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from rdflive_stores.spark.dataflow import matching, tasks
from rdflive_stores.spark.dataflow.query_plan import plan_query
from rdflive_stores.spark.dataflow.state import Bucket, Moment, StateError
from rdflive_stores.spark.running import DataflowError
from rdflive_stores.spark.subscription import subscribe
from support.spark_streams import AT_ONCE, ChangeFiles, Nets, Operation, node

ON_SPARK = pytest.mark.deep("quick runs have the checks behind it, without Spark, below and in dataflow/")
QUERY = "SELECT ?x (COUNT(*) AS ?n) { ?x <urn:p> ?y . ?y <urn:q> ?z } GROUP BY ?x"


def change(number: int) -> list[Operation]:
    """Make a micro-batch of one solution."""
    return [
        Operation("A", node(f"a{number}"), node("p"), node(f"b{number}")),
        Operation("A", node(f"b{number}"), node("q"), node(f"c{number}")),
    ]


@ON_SPARK
def test_a_micro_batch_that_was_not_read_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    """Behind a micro-batch of which a function of foreachBatch reads nothing, the next one says so."""
    files = ChangeFiles(tmp_path / "changes")
    for number in range(4):
        files.add(change(number))
    deltas = subscribe(files.stream(spark), QUERY, checkpoint=tmp_path / "checkpoint").deltas
    found = Nets()

    def skip_one(batch: Any, number: int) -> None:
        if number != 1:
            found(batch, number)

    writer = deltas.writeStream.foreachBatch(skip_one).option("checkpointLocation", str(tmp_path / "other"))
    query = writer.trigger(**AT_ONCE).start()
    with pytest.raises(Exception, match="did not read the deltas to the end"):
        query.awaitTermination()
    assert len(found.list) == 1


@ON_SPARK
@pytest.mark.oldest_spark
def test_lost_folders_are_noticed(spark: SparkSession, tmp_path: Path) -> None:
    """A part of the state that was removed between two runs ends the query."""
    files = ChangeFiles(tmp_path / "changes")
    files.add(change(0))
    subscription = subscribe(files.stream(spark), QUERY, checkpoint=tmp_path / "checkpoint")
    subscription.start(Nets(), trigger=AT_ONCE).awaitTermination()
    (folder,) = (tmp_path / "checkpoint" / "rdflive").iterdir()
    shutil.rmtree(folder / "arranged" / "1")
    files.add(change(1))
    again = subscribe(files.stream(spark), QUERY, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(DataflowError, match="has lost its folder arranged/1"):
        again.start(Nets(), trigger=AT_ONCE).awaitTermination()


@pytest.mark.parametrize(("reached", "batch"), [(None, 1), (0, 2), (5, 3), (5, 0)])
def test_a_part_must_stand_at_its_micro_batch(reached: int | None, batch: int, tmp_path: Path) -> None:
    """State ahead of Spark's logs, or behind them, is refused."""
    plan, now = plan_query(QUERY), Moment(str(tmp_path), batch)
    tasks._claim(plan, now.folder, 1)
    if reached is not None:
        tasks._note(Moment(now.folder, reached), 0)
    with pytest.raises(StateError, match=f"and Spark is at {batch}"):
        tasks._check_part(plan, now, 0)
    for fine in (batch, batch - 1) if batch else (0,):
        tasks._note(Moment(now.folder, fine), 0)
        tasks._check_part(plan, now, 0)


def test_other_prefixes_make_another_query(tmp_path: Path) -> None:
    """The same text with another meaning does not go on with the state."""
    one, other = (plan_query("SELECT * { ?x e:p ?y }", {"e": f"urn:{name}:"}) for name in ("one", "other"))
    tasks._claim(one, str(tmp_path), 2)
    tasks.check(str(tmp_path), tasks.signature(one, 2))
    with pytest.raises(StateError, match="was made with patterns"):
        tasks.check(str(tmp_path), tasks.signature(other, 2))
    filtered = [plan_query(f"SELECT * {{ ?x ?p ?y FILTER(?y = e:{name}) }}", {"e": "urn:"}) for name in "ab"]
    assert tasks.signature(filtered[0], 2) != tasks.signature(filtered[1], 2)


def test_the_state_of_earlier_versions_is_read(tmp_path: Path) -> None:
    """`written/` holds what a version of rdflive has written; another format is refused with the way out."""
    folder = tmp_path / "state"
    shutil.copytree(Path(__file__).parent / "written" / "state-1", folder)
    mine = tasks.signature(plan_query(QUERY), 1)
    tasks.check(str(folder), mine)
    bucket = Bucket.of(Moment(str(folder), 3), matching.LIVE, 0, matching.LAYOUT)
    held = [(row["v0"], row["weight"]) for run in bucket.before(3) for row in run.table.to_pylist()]
    assert held == [("<urn:1>", 1), ("<urn:2>", 1), ("<urn:1>", -1)]
    for other in (0, 2):
        with pytest.raises(
            StateError, match=r"is of format 1, .* use the version that made it, or start anew"
        ):
            tasks.check(str(folder), mine | {"format": other})


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """Bytes that are no table end the micro-batch with the path of the file."""
    bucket = Bucket.of(Moment(str(tmp_path), 0), "live", 0, matching.LAYOUT)
    path = tmp_path / "live" / "0" / "delta-0.arrow"
    path.write_bytes(b"not a table at all")
    with pytest.raises(StateError, match="is damaged: "):
        bucket.before(1)


def test_rows_without_a_place_are_refused() -> None:
    """A NULL among offsets would put other rows in any order."""
    names = ("op", "s", "p", "o", "g", "stream")
    texts = {name: pa.array(["A", "A"]) for name in names}
    table = pa.table(texts | {"offset": pa.array([1, None], pa.int64()), "part": pa.array([0, 0])})
    with pytest.raises(matching.ChangeError, match="the offset of a change is NULL"):
        matching._check(table)


@ON_SPARK
def test_large_texts_are_taken(spark: SparkSession, tmp_path: Path) -> None:
    """A session that gives Python large strings gives the same deltas; columns of other types are refused."""
    files = ChangeFiles(tmp_path / "changes")
    for number in range(2):
        files.add(change(number))
    name, found = "spark.sql.execution.arrow.useLargeVarTypes", Nets()
    spark.conf.set(name, "true")
    try:
        subscription = subscribe(files.stream(spark), QUERY, checkpoint=tmp_path / "checkpoint")
        subscription.start(found, trigger=AT_ONCE).awaitTermination()
    finally:
        spark.conf.unset(name)
    assert len(found.list) == 2
    with pytest.raises(ValueError, match="the column 's' of changes must hold strings, not int"):
        subscribe(files.stream(spark).selectExpr("op", "1 AS s", "p", "o"), QUERY, checkpoint=tmp_path / "c")
