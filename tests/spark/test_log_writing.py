"""The format `rdf_patch` as a sink: each write is a file with one transaction, which its source reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import rdflib
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

import rdflive
from rdflive_stores.spark.logs.writing import _checked, _Piece, _Pieces
from rdflive_stores.spark.session import register
from rdflive_stores.spark.snapshots import rebuild
from rdflive_stores.spark.subscription import subscribe
from support.spark_streams import AT_ONCE, ChangeFiles, Operation, node, number

A = (node("a"), node("p"), '"x y"@en')
B = (node("b"), node("p"), number(7))


@pytest.fixture(autouse=True)
def _registered(spark: SparkSession) -> None:
    register(spark)


def as_changes(spark: SparkSession, rows: list[Any]) -> Any:
    return spark.createDataFrame(rows, "op string, s string, p string, o string, g string")


def write(changes: Any, folder: Path) -> None:
    changes.write.format("rdf_patch").mode("append").save(str(folder))


def mirrored(folder: Path) -> rdflib.Dataset:
    """Replay a folder of logs, one file after the other."""
    graph = rdflib.Dataset()
    for path in sorted(folder.iterdir()):
        rdflive.mirror(graph, path)
    return graph


def test_each_write_is_a_file_with_a_transaction(spark: SparkSession, tmp_path: Path) -> None:
    """What is written is read by the format itself and by `mirror`; nothing else stays in the folder."""
    log = tmp_path / "log"
    write(as_changes(spark, [("A", *A, None), ("+", *B, node("g")), ("A", *B, None)]), log)
    write(as_changes(spark, [("-", *B, node("g")), ("D", *A, None)]), log)
    write(as_changes(spark, []), log)
    assert sorted(os.listdir(log)) == ["000000000000-000.rdfp", "000000000000-001.rdfp"]
    for path in log.iterdir():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert (lines[0], lines[-1], lines.count("TX .")) == ("TX .", "TC .", 1)
    read = spark.read.format("rdf_patch").load(str(log)).collect()
    assert {(row.op, row.s, row.o, row.g) for row in read} == {
        ("A", A[0], A[2], None), ("A", B[0], B[2], node("g")), ("A", B[0], B[2], None),
        ("D", B[0], B[2], node("g")), ("D", A[0], A[2], None),
    }  # fmt: skip
    graph = mirrored(log)
    assert [tuple(term.n3() for term in quad[:3]) for quad in graph.quads()] == [B]


def test_deltas_of_a_subscription_become_a_log(spark: SparkSession, tmp_path: Path) -> None:
    """A SELECT DISTINCT ?s ?p ?o gives a log of the graph that it derives, a file for each micro-batch."""
    files = ChangeFiles(tmp_path / "changes")
    files.add([Operation("A", node(n), node("p"), node(n % 2)) for n in range(4)])
    files.add([Operation("D", node(0), node("p"), node(0))])
    files.add([Operation("D", node(2), node("p"), node(0)), Operation("A", node(9), node("q"), node(9))])
    query = "SELECT DISTINCT ?s ?p ?o { ?x <urn:p> ?s BIND(<urn:has> AS ?p) BIND(1 AS ?o) }"
    deltas = subscribe(files.stream(spark), query, checkpoint=tmp_path / "checkpoint")
    log = tmp_path / "log"
    log.mkdir()
    (log / "_1-5e.tmp").touch()  # an attempt that was killed, or ended late
    for _ in range(2):
        deltas.start("rdf_patch", trigger=AT_ONCE, path=str(log)).awaitTermination()
    assert sorted(os.listdir(log)) == ["000000000000.rdfp", "000000000002.rdfp"]
    assert [str(s) for s in mirrored(log).subjects()] == ["urn:1"]
    # another checkpoint begins with number 0 again, and would overwrite what is there
    others = ChangeFiles(tmp_path / "others")
    others.add([Operation("A", node(1), node("p"), node(5))])
    other = subscribe(others.stream(spark), query, checkpoint=tmp_path / "other")
    running = other.start("rdf_patch", trigger=AT_ONCE, path=str(log))
    with pytest.raises(Exception, match=r"000000000000.rdfp has other changes than this micro-batch"):
        running.awaitTermination()
    assert [str(s) for s in mirrored(log).subjects()] == ["urn:1"]


def test_a_log_begins_with_the_snapshot_and_goes_on_behind_a_rebuilding(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What is written by no stream stands between the micro-batches: nothing takes the name of another."""
    files, log = ChangeFiles(tmp_path / "changes"), tmp_path / "log"
    query, checkpoint = "SELECT DISTINCT ?s ?p ?o { ?s ?p ?o FILTER(?p = <urn:p>) }", tmp_path / "checkpoint"
    initial = spark.createDataFrame([(node(1), node("p"), node(1))], "s string, p string, o string")

    def run(*batches: list[Operation], **more: Any) -> None:
        for batch in batches:
            files.add(batch)
        subscription = subscribe(files.stream(spark), query, checkpoint=checkpoint, **more)
        subscription.start("rdf_patch", trigger=AT_ONCE, path=str(log)).awaitTermination()

    run([Operation("A", node(2), node("p"), node(2))], initial=initial)
    rebuild(checkpoint, spark=spark, partitions=3, sink="rdf_patch", path=str(log))
    run([Operation("A", node(3), node("p"), node(3))], [Operation("D", node(1), node("p"), node(1))])
    names = ["0-000", "0", "1-000", "1", "2"]
    assert sorted(os.listdir(log)) == [f"{'0' * 11}{name}.rdfp" for name in names]
    assert sorted(str(s) for s in mirrored(log).subjects()) == ["urn:2", "urn:3"]
    read = spark.read.format("rdf_patch").load(str(log)).orderBy("file", "offset", "part").collect()
    assert [(row.op, row.s) for row in read][-1] == ("D", node(1))


def test_a_log_takes_what_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    """Without DISTINCT a triple could go although another solution still gives it."""
    files = ChangeFiles(tmp_path / "changes")
    files.add([Operation("A", node(n), node("p"), node(0)) for n in range(2)])
    query = "SELECT ?s ?p ?o { ?x <urn:p> ?s BIND(<urn:has> AS ?p) BIND(1 AS ?o) }"
    subscription = subscribe(files.stream(spark), query, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(ValueError, match="without DISTINCT a solution may count twice"):
        subscription.start("rdf_patch", path=str(tmp_path / "log"))
    writer = subscription.deltas.writeStream.format("rdf_patch").trigger(**AT_ONCE)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(Exception, match="a solution counts twice"):
        writer.start(str(tmp_path / "log")).awaitTermination()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("B", *A), "op must be A or D"),
        ((None, *A), "op must be A or D"),
        (("A", None, *A[1:]), "s, p and o must not be NULL"),
        (("A", '"x"', *A[1:]), "subject"),
        (("A", A[0], "_:b", A[2]), "predicate"),
        (("A", *A, '"x"'), "graph"),
        (("A", *A[:2], "x"), "'x"),
        (("A", *A[:2], '"x" . <urn:a>'), "is not a change"),
    ],
)
def test_what_is_no_change_is_not_written(row: Any, message: str) -> None:
    """A row that no reader of a log would take is refused by the task that has it."""
    with pytest.raises(rdflive.RdfliveError, match=message):
        _checked(row[0], row[1:])


def test_a_failed_write_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Of rows of which one is bad, none is in the log."""
    with pytest.raises(Exception, match="op must be A or D"):
        write(as_changes(spark, [("A", *A, None), ("B", *B, None)]), tmp_path / "log")
    assert not [name for name in os.listdir(tmp_path / "log") if not name.startswith("_")]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("'A' AS op, 'x' AS s, 'y' AS p", {}, "the columns s, p, o and optionally g"),
        ("'x' AS s, 'y' AS p, 'z' AS o", {}, "op .A or D. or weight"),
        ("'A' AS op, 'x' AS s, 'y' AS p, 1 AS o", {}, "the columns s, p, o and optionally g"),
        ("'A' AS op, 'x' AS s, 'y' AS p, 'z' AS o", {"feed": "nquads"}, "no option 'feed' when it writes"),
    ],
)
def test_the_columns_and_options_are_looked_at(
    columns: str, options: dict[str, str], message: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Before a task runs, the error says what the format writes."""
    rows = spark.range(1).selectExpr(*columns.split(", "))
    with pytest.raises(Exception, match=message):
        rows.write.format("rdf_patch").options(**options).mode("append").save(str(tmp_path / "log"))
    with pytest.raises(Exception, match="only adds to a log: use mode"):
        as_changes(spark, []).write.format("rdf_patch").mode("overwrite").save(str(tmp_path / "log"))


@pytest.mark.parametrize(("name", "left"), [("000000000003.rdfp", 0), ("000000000004-000.rdfp", 1)])
def test_a_file_that_was_begun_is_removed_by_a_later_micro_batch(
    name: str, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of a write of its own, which may still be at work."""
    columns = StructType.fromDDL("op string, s string, p string, o string")
    pieces = _Pieces(str(tmp_path), columns)
    (tmp_path / "_3-5e.tmp").write_text("A <urn:a> <urn:p> <urn:b> .\n")

    def die(*_: Any) -> None:
        raise SystemExit

    monkeypatch.setattr(os, "replace", die)
    with pytest.raises(SystemExit):
        pieces.join([_Piece(str(tmp_path / "_3-5e.tmp"), 1)], name)
    pieces.drop_hidden(4)
    assert len([*tmp_path.iterdir()]) == left
