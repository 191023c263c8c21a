"""State made of a snapshot, or rebuilt for other partitions or another query; what it holds."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rdflive.cli import main
from rdflive_stores.spark.dataflow.identity import FORMAT
from rdflive_stores.spark.dataflow.state import StateError
from rdflive_stores.spark.inspection import inspect
from rdflive_stores.spark.snapshots import rebuild
from spark.world import GROUPS, PATH, Fails, World
from support.spark_streams import AT_ONCE, Nets, Operation, live_quads, nets, node

ON_SPARK = pytest.mark.hunted("the gate has one snapshot on Spark, and what it is made of in dataflow/")
GRAPHS = "SELECT ?g (COUNT(?y) AS ?n) { GRAPH ?g { ?x <urn:p> ?y . ?y <urn:q> ?z } } GROUP BY ?g"


def as_quads(spark: SparkSession, live: Counter[Any]) -> DataFrame:
    """Give the quads of a state as a snapshot; the default graph is NULL."""
    rows = [(*quad[:3], quad[3] or None) for quad in live]
    return spark.createDataFrame(rows, "s string, p string, o string, g string")


def test_a_snapshot_comes_before_the_changes(spark: SparkSession, tmp_path: Path) -> None:
    """Its answer is number -1; from there on each micro-batch is the net of the same graph in one process.

    The changes may begin before the snapshot: to apply again what it has does nothing.
    """
    earlier, world = World(spark, tmp_path / "earlier", GROUPS, 51), World(spark, tmp_path, GROUPS, 52)
    earlier.add(2)
    earlier.run()
    initial = as_quads(spark, live_quads(earlier.checkpoint))
    world.write(earlier.batches[1])
    world.add(2)
    subscription = world.subscribe(initial=initial, partitions=3)
    subscription.start(world.found, trigger=AT_ONCE).awaitTermination()
    assert world.found.found[-1] == earlier.found.total
    expected = nets(GROUPS, [*earlier.batches, *world.batches])
    assert world.found.list == [earlier.found.total, *expected[2:]]
    assert not world.found.found[0]
    # later starts go on, and do not look at it
    world.add()
    again = world.subscribe(initial=initial.where("false"))
    again.start(world.found, trigger=AT_ONCE).awaitTermination()
    assert again.partitions == 3
    assert world.found.list[-1] == nets(GROUPS, [*earlier.batches, *world.batches])[-1]
    assert set(world.found.times.values()) == {1}


@ON_SPARK
def test_a_snapshot_that_was_interrupted_comes_again(spark: SparkSession, tmp_path: Path) -> None:
    """A sink that fails at it gets it again; nothing of the first attempt stays."""
    world = World(spark, tmp_path, PATH, 53)
    rows = [(node("a"), node("p"), node("b")), (node("b"), node("q"), node("c"))]
    initial = spark.createDataFrame(rows, "s string, p string, o string")
    with pytest.raises(OSError, match="the disk is full"):
        world.subscribe(initial=initial).start(Fails(world.found, -1), trigger=AT_ONCE)
    with pytest.raises(StateError, match=r"a start with initial= in .* was interrupted: pass initial= again"):
        world.subscribe()
    world.write([Operation("D", *rows[1])])
    subscription = world.subscribe(initial=initial)
    subscription.start(world.found, trigger=AT_ONCE).awaitTermination()
    row = (node("a"), node("b"), node("c"))
    assert world.found.list == [{row: 1}, {row: -1}]
    assert world.found.times == {-1: 2, 0: 1}
    assert not live_quads(world.checkpoint) - Counter({(*rows[0], ""): 1})


def test_initial_is_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    """A stream, and a DataFrame without the columns, are refused before anything runs."""
    world = World(spark, tmp_path, PATH, 55)
    with pytest.raises(ValueError, match="initial must not be a streaming DataFrame"):
        world.subscribe(initial=world.files.stream(spark))
    with pytest.raises(ValueError, match="lacks the column 'o'"):
        world.subscribe(initial=spark.createDataFrame([("a", "b")], "s string, p string"))


@ON_SPARK
@pytest.mark.parametrize("query", [PATH, GROUPS, GRAPHS])
def test_state_is_put_into_other_partitions(query: str, spark: SparkSession, tmp_path: Path) -> None:
    """With other partitions the next micro-batches are those of one process, as if nothing had happened."""
    world = World(spark, tmp_path, query, 56)
    for partitions in (3, 1, 4):
        world.add(2)
        world.run()
        answer = Nets()
        rebuild(world.checkpoint, spark=spark, partitions=partitions, sink=answer)
        assert answer.total == world.found.total
        assert world.subscribe().partitions == partitions
    world.add(2)
    world.run()
    world.check()
    (state,) = (world.checkpoint / "rdflive").iterdir()
    (made, pointer) = sorted(os.listdir(state))
    assert (made[:2], pointer) == ("3-", "generation")


@ON_SPARK
def test_state_is_made_for_another_query(spark: SparkSession, tmp_path: Path) -> None:
    """Its whole answer comes first; what the old state does not hold is told."""
    world = World(spark, tmp_path, PATH, 57)
    world.add(3)
    world.run()
    other = "SELECT DISTINCT ?x { ?x <urn:p> ?y . ?y <urn:q> ?z FILTER(?x != ?z) }"
    with pytest.raises(StateError, match="belongs to another query"):
        world.subscribe(other).start("noop")
    answer = Nets()
    rebuild(world.checkpoint, other, spark=spark, sink=answer)
    assert answer.total == sum(map(Counter, nets(other, world.batches)), Counter())
    with pytest.raises(StateError, match="belongs to another query"):
        world.subscribe().start("noop")
    world.add(2)
    found = Nets()
    world.subscribe(other).start(found, trigger=AT_ONCE).awaitTermination()
    assert found.list == nets(other, world.batches)[3:]
    with pytest.raises(StateError, match=r"does not hold the quads of \?x <urn:r> \?y; begin again"):
        rebuild(world.checkpoint, "SELECT * { ?x <urn:r> ?y }", spark=spark)


@ON_SPARK
def test_a_rebuilding_that_fails_leaves_the_state(spark: SparkSession, tmp_path: Path) -> None:
    """Until the new state is whole, the subscription goes on with the old one."""
    world = World(spark, tmp_path, GROUPS, 58)
    world.add(2)
    world.run()
    with pytest.raises(OSError, match="the disk is full"):
        rebuild(world.checkpoint, spark=spark, partitions=5, sink=Fails(Nets(), 1))
    world.add()
    assert world.run().partitions == 2
    rebuild(world.checkpoint, spark=spark, partitions=5)
    world.add()
    assert world.run().partitions == 5
    world.check()


def test_a_folder_has_an_answer_once(spark: SparkSession, tmp_path: Path) -> None:
    """Readers of a stream's files pass over others, and what is written twice counts twice."""
    world = World(spark, tmp_path, PATH, 60)
    world.add()
    initial = spark.createDataFrame([(node("a"), node("p"), node("b"))], "s string, p string, o string")
    for sink in ("parquet", "memory"):
        with pytest.raises(ValueError, match=f"the format '{sink}' would hide the answer of the snapshot"):
            world.subscribe(initial=initial).start(sink, path=str(tmp_path / "deltas"))
    deltas, answer = str(tmp_path / "deltas"), str(tmp_path / "answer")
    world.subscribe().start("parquet", trigger=AT_ONCE, path=deltas).awaitTermination()
    with pytest.raises(ValueError, match="holds the files of a stream"):
        rebuild(world.checkpoint, spark=spark, sink="parquet", path=deltas)
    rebuild(world.checkpoint, spark=spark, sink="parquet", path=answer)
    with pytest.raises(Exception, match="already exists"):
        rebuild(world.checkpoint, spark=spark, sink="parquet", path=answer)
    assert spark.read.parquet(answer).exceptAll(spark.read.parquet(deltas)).isEmpty()


@pytest.mark.parametrize("lost", ["live/1", "live", "reached"])
def test_damaged_state_is_not_rebuilt(lost: str, spark: SparkSession, tmp_path: Path) -> None:
    """It would look sound afterwards; the command that shows it tells what is lost, too."""
    world = World(spark, tmp_path, PATH, 62)
    world.add(2)
    world.run()
    (state,) = (world.checkpoint / "rdflive").iterdir()
    shutil.rmtree(state / "0" / lost)
    told = r"live/\d/state-\d\.json is missing|has run no micro-batch"
    with pytest.raises(StateError, match=told):
        inspect(world.checkpoint)
    with pytest.raises(Exception, match=told):
        rebuild(world.checkpoint, spark=spark, partitions=3)
    assert (state / "0").is_dir()


def test_a_query_that_runs_is_told_of_a_rebuilding(spark: SparkSession, tmp_path: Path) -> None:
    """It ends at its next micro-batch; a new subscription goes on."""
    world = World(spark, tmp_path, PATH, 63)
    world.add()
    query = world.subscribe().start(world.found)
    query.processAllAvailable()
    rebuild(world.checkpoint, spark=spark, partitions=3)
    world.add()
    with pytest.raises(Exception, match="was replaced by another start, rebuild"):
        query.processAllAvailable()
    query.stop()
    world.run()
    world.check()


def test_state_of_another_query_is_not_compacted(spark: SparkSession, tmp_path: Path) -> None:
    """What the other query keeps would be left behind."""
    world = World(spark, tmp_path, PATH, 64)
    world.add(2)
    world.run()
    with pytest.raises(StateError, match="belongs to another query"):
        world.subscribe(GROUPS).compact()
    world.subscribe().compact()
    world.add()
    world.run()
    world.check()


def test_rebuilding_needs_a_state(spark: SparkSession, tmp_path: Path) -> None:
    """A folder without one, and partitions that are none, are told."""
    with pytest.raises(StateError, match="holds no state of a subscription with a committed micro-batch"):
        rebuild(tmp_path, spark=spark)
    with pytest.raises(ValueError, match="partitions must be 1 or more, got 0"):
        rebuild(tmp_path, spark=spark, partitions=0)


def test_what_state_holds_is_told(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows, bytes and runs of each folder, by the command as well; progress has the sums per micro-batch."""
    world = World(spark, tmp_path, GROUPS, 61)
    world.add(3)
    subscription = world.subscribe()
    query = subscription.start(world.found, trigger=AT_ONCE)
    query.awaitTermination()
    found = inspect(world.checkpoint)
    assert (found.query, found.format, found.partitions, found.committed) == (GROUPS, FORMAT, 2, 2)
    live = [part.held for part in found.parts if part.folder == "live"]
    assert sum(held.rows for held in live) >= len(live_quads(world.checkpoint)) > 0
    assert {part.folder for part in found.parts} == {"live", "arranged", "stage-0", "stage-1"}

    last = query.recentProgress[-1].observedMetrics["rdflive"]
    held = [part.held for part in found.parts]
    assert last.state_rows == sum(each.rows for each in held)
    assert last.state_bytes == sum(each.bytes for each in held) < subscription.state_size
    assert last.state_runs == sum(each.runs for each in held)
    assert 0 < last.state_written <= last.state_bytes

    assert main(["spark", "inspect", str(world.checkpoint)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[:2] == [GROUPS, f"micro-batch 2 committed; 2 partitions, format {FORMAT}, generation 0"]
    assert [line.split()[0] for line in shown[2:]] == ["arranged", "live", "stage-0", "stage-1"]
    assert main(["spark", "inspect", str(world.checkpoint), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parts"][0]["held"] == held[0]._asdict()

    assert main(["spark", "repartition", str(world.checkpoint), "3"]) == 0
    assert f"3 partitions, format {FORMAT}, generation 1" in capsys.readouterr().out
    query = tmp_path / "other.rq"
    query.write_text("SELECT DISTINCT ?x { ?x <urn:p> ?y . ?y <urn:q> ?z }")
    answer = tmp_path / "answer"
    rebuild = ["spark", "rebuild", str(world.checkpoint), "--query", str(query), "--answer", str(answer)]
    assert main([*rebuild[:4], "none.rq"]) == 2
    assert "none.rq" in capsys.readouterr().err
    assert main(rebuild) == 0
    assert "SELECT DISTINCT ?x" in capsys.readouterr().out
    rows = spark.read.parquet(str(answer)).collect()
    assert {row.x for row in rows} == {x for (x, _), n in world.found.total.items() if n}
    assert {row.weight for row in rows} == {1}


def test_a_folder_without_state_is_told(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with exit code 2; of another version it shows what can be told."""
    assert main(["spark", "inspect", str(tmp_path)]) == 2
    assert f"{tmp_path} holds no state of a subscription" in capsys.readouterr().err
    with pytest.raises(StateError, match="holds no state"):
        inspect(tmp_path)
    (tmp_path / "metadata").write_text(json.dumps({"id": "query"}))
    plan = tmp_path / "rdflive" / "query" / "0" / "plan.json"
    plan.parent.mkdir(parents=True)
    for text in ("{}", "[]", "{"):
        plan.write_text(text)
        assert main(["spark", "inspect", str(tmp_path)]) == 2
        assert "plan.json is damaged" in capsys.readouterr().err
    plan.write_text(json.dumps({"format": 1, "partitions": 2, "query": PATH}))
    assert main(["spark", "inspect", str(tmp_path)]) == 0
    assert "written by another version of rdflive" in capsys.readouterr().out
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").touch()
    with pytest.raises(StateError, match=f"has format 1, but this rdflive writes {FORMAT}"):
        rebuild(tmp_path, spark=spark)
