"""What the state of a subscription holds, as the command says it, and as Spark's progress does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rdflive.cli import main
from rdflive_stores.spark.dataflow.state import StateError
from rdflive_stores.spark.inspection import inspect
from spark.world import GROUPS, World
from support.spark_streams import AT_ONCE, live_quads


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
    assert (found.query, found.format, found.partitions, found.committed) == (GROUPS, 3, 2, 2)
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
    assert shown[:2] == [GROUPS, "micro-batch 2 done; 2 partitions, format 3, generation 0"]
    assert [line.split()[0] for line in shown[2:]] == ["arranged", "live", "stage-0", "stage-1"]
    assert main(["spark", "inspect", str(world.checkpoint), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parts"][0]["held"] == held[0]._asdict()

    assert main(["spark", "repartition", str(world.checkpoint), "3"]) == 0
    assert "3 partitions, format 3, generation 1" in capsys.readouterr().out
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


def test_a_folder_without_state_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with exit code 2; of an earlier version it shows what can be told."""
    assert main(["spark", "inspect", str(tmp_path)]) == 2
    assert f"{tmp_path} holds no state of a subscription" in capsys.readouterr().err
    with pytest.raises(StateError, match="holds no state"):
        inspect(tmp_path)
    (tmp_path / "metadata").write_text(json.dumps({"id": "query"}))
    (tmp_path / "rdflive" / "query").mkdir(parents=True)
    for text in ("{}", "[]", "{"):
        (tmp_path / "rdflive" / "query" / "plan.json").write_text(text)
        assert main(["spark", "inspect", str(tmp_path)]) == 2
        assert "plan.json is damaged" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "rdflive")
    shutil.copytree(Path(__file__).parent / "written" / "state-1-whole", tmp_path / "rdflive" / "query")
    assert main(["spark", "inspect", str(tmp_path)]) == 0
    assert "`rdflive spark rebuild` makes it one of this version" in capsys.readouterr().out
