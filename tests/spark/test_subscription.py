"""Subscriptions on Spark against those of one process."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's documentation calls it
from rdflib import Literal

from rdflive import RdfliveError, UnsupportedQueryError
from rdflive.cli import main
from rdflive_stores.spark.checkpoint import Checkpoint, LocationError
from rdflive_stores.spark.dataflow.state import StateError
from rdflive_stores.spark.running import DataflowError
from rdflive_stores.spark.subscription import subscribe
from support.effort import HUNT, drawn_from, sampled
from support.spark_streams import AT_ONCE, ChangeFiles, Nets, Operation, nets, node, number, operations

ON_SPARK = pytest.mark.hunted("the gate compares some queries on Spark, and the rest without, in dataflow/")
PREDICATES = [node(name) for name in ("p", "q", "r", "value")]
PATH = "SELECT * { ?x <urn:p> ?y . ?y <urn:q> ?z }"
DISTINCT = "SELECT DISTINCT ?x { ?x <urn:p> ?y . ?y <urn:q> ?z }"
QUERIES = {
    "star": "SELECT * { ?x <urn:p> ?y ; <urn:q> ?z ; <urn:value> ?v FILTER (?v > 1 && ?y != ?z) }",
    "path": "SELECT ?w ?z { ?w <urn:p> ?x . ?x <urn:q> ?y . ?y <urn:r> ?z }",
    "triangle": "SELECT * { ?x <urn:p> ?y . ?y <urn:q> ?z . ?z <urn:r> ?x }",
    "product": "SELECT * { ?x <urn:p> ?any . ?y <urn:q> <urn:2> FILTER (?any != <urn:1>) }",
    "self-join": "SELECT ?x ?y { ?x <urn:p> ?z . ?y <urn:p> ?z . ?y ?any ?x }",
    "distinct": DISTINCT,
    "group": "SELECT ?x (COUNT(*) AS ?n) (SUM(?v) AS ?sum) { ?x <urn:p> ?y . ?y <urn:value> ?v } GROUP BY ?x",
    "graphs": "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?x <urn:p> ?y . ?y <urn:q> ?z } } GROUP BY ?g",
}


def stream(folder: Path, batches: list[list[Operation]]) -> ChangeFiles:
    """Write batches into the files of a stream."""
    files = ChangeFiles(folder)
    for batch in batches:
        files.add(batch)
    return files


def run(spark: SparkSession, folder: Path, query: str, batches: list[list[Operation]], sink: Any) -> None:
    """Run a subscription over batches until all are through."""
    changes = stream(folder / "changes", batches).stream(spark)
    subscribe(changes, query, checkpoint=folder / "checkpoint").start(
        sink, trigger=AT_ONCE
    ).awaitTermination()


def links(count: int, seed: int, *, size: int = 30) -> list[list[Operation]]:
    """Make batches of the two predicates of `PATH`."""
    chance = drawn_from("links", seed)
    return [operations(chance, size, PREDICATES[:2]) for _ in range(count)]


def test_nets_are_those_of_one_process(spark: SparkSession, tmp_path: Path) -> None:
    """After every micro-batch nets equal those of the engine; subscriptions may run side by side."""
    chance, queries = drawn_from("nets of one process"), sampled("subscriptions on Spark", QUERIES, 4)
    batches = [operations(chance, 70, PREDICATES, graphs=[None, None, node("g"), node(1)]) for _ in range(4)]
    changes = stream(tmp_path / "changes", batches).stream(spark)
    sinks = {name: Nets() for name in queries}
    running = []
    for place, name in enumerate(queries):
        folder = tmp_path / f"checkpoint of {name}"
        subscription = subscribe(changes, QUERIES[name], checkpoint=folder, partitions=1 + place % 3)
        running.append(subscription.start(sinks[name], trigger=AT_ONCE))
    for query in running:
        query.awaitTermination()
    told = {}
    for name in queries:
        wanted = nets(QUERIES[name], batches)
        assert sinks[name].list == wanted, name
        told[name] = sum(map(bool, wanted))
    # of the two queries of the gate one may stay empty
    assert sum(told.values()) >= 3, told
    assert not HUNT or all(told.values()), told


@ON_SPARK
@pytest.mark.parametrize("reads", ["nothing", "one row", "twice"])
def test_a_sink_need_not_read_a_micro_batch_whole(reads: str, spark: SparkSession, tmp_path: Path) -> None:
    """What a sink leaves unread goes into the state all the same, and what it reads twice goes in once."""
    batches = links(4, 4)
    found = Nets()

    def sink(deltas: DataFrame, batch: int) -> None:
        if batch == 3 or reads == "twice":
            found(deltas, batch)
        if reads == "one row":
            deltas.take(1)
        elif reads == "twice":
            found(deltas, batch)

    run(spark, tmp_path, DISTINCT, batches, sink)
    wanted = nets(DISTINCT, batches)
    assert found.found == ({3: wanted[3]} if reads != "twice" else dict(enumerate(wanted)))


@ON_SPARK
def test_deltas_are_those_of_their_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    """A DataFrame that a sink has kept would be worked out from what the next micro-batch finds."""
    files, kept = ChangeFiles(tmp_path / "changes"), []
    for batch in range(2):
        files.add([Operation("A", node("a"), node("p"), node(batch))])
    query = "SELECT ?x (COUNT(*) AS ?n) { ?x <urn:p> ?y } GROUP BY ?x"

    def sink(deltas: DataFrame, _: int) -> None:
        kept.append(deltas)
        for each in kept:
            each.collect()

    subscription = subscribe(files.stream(spark), query, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(Exception, match="the deltas of micro-batch 0 are read again in micro-batch 1"):
        subscription.start(sink, trigger=AT_ONCE).awaitTermination()


def test_deltas_go_into_the_formats_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """A sink may be the name of a format with its options; a folder with a space is one like others."""
    batches = links(3, 5)
    changes = stream(tmp_path / "changes", batches).stream(spark)
    subscription = subscribe(changes, PATH, checkpoint=(tmp_path / "check point").as_uri())
    query = subscription.start("parquet", trigger=AT_ONCE, path=str(tmp_path / "deltas"))
    query.awaitTermination()
    rows = spark.read.parquet(str(tmp_path / "deltas")).groupBy("x", "y", "z").sum("weight").collect()
    summed = {tuple(row)[:3]: row["sum(weight)"] for row in rows if row["sum(weight)"]}
    total: dict[Any, int] = {}
    for net in nets(PATH, batches):
        total = {row: total.get(row, 0) + net.get(row, 0) for row in total.keys() | net.keys()}
    assert summed == {row: weight for row, weight in total.items() if weight}
    assert summed


IRI = node("a")
BAD_ROWS = {
    "op": (Operation("X", IRI, node("p"), IRI), "'X' is not an operation: op must be A or +, D or -"),
    "null": (Operation("A", None, node("p"), IRI), "the subject of a change is NULL"),
    "term": (Operation("A", IRI, node("p"), "<urn:x y>"), "terms are written as in N-Triples"),
    "spelling": (
        Operation("A", IRI, node("p"), r'"\u0078"'),
        "must be written '\"x\"', so that equal terms have",
    ),
}


@ON_SPARK
def test_a_bad_row_ends_the_query_with_a_plain_error(spark: SparkSession, tmp_path: Path) -> None:
    """The error says in one line what is wrong with the row; what came before it was delivered."""
    good = links(1, 6)
    found = {name: Nets() for name in BAD_ROWS}
    running = {}
    for name, (row, _) in BAD_ROWS.items():
        changes = stream(tmp_path / name, [*good, [row]]).stream(spark)
        subscription = subscribe(changes, PATH, checkpoint=tmp_path / f"checkpoint of {name}", partitions=1)
        running[name] = subscription.start(found[name], trigger=AT_ONCE)
    for name, query in running.items():
        with pytest.raises(DataflowError) as raised:
            query.awaitTermination()
        assert BAD_ROWS[name][1] in str(raised.value)
        assert "\n" not in str(raised.value)
        assert str(query.exception()) == str(raised.value)
        assert "Python worker" in str(raised.value.__cause__)
        assert isinstance(raised.value, StreamingQueryException)
        assert found[name].list == nets(PATH, good)


@ON_SPARK
def test_operations_without_an_order_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Without offsets nothing says which of two operations on a quad was last."""
    batch = [Operation(op, IRI, node("p"), IRI) for op in "AD"]
    changes = stream(tmp_path / "changes", [batch]).stream(spark).drop("offset", "topic", "partition")
    query = subscribe(changes, PATH, checkpoint=tmp_path / "checkpoint").start("noop", trigger=AT_ONCE)
    with pytest.raises(DataflowError, match="inserted and deleted in one micro-batch, in unknown order"):
        query.awaitTermination()
    assert "in unknown order: give changes" in str(query.exception())


def test_the_error_of_a_sink_is_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """What a sink raises reaches the caller as Spark passes it on."""

    def sink(deltas: DataFrame, batch: int) -> None:
        raise LookupError("no such table")

    with pytest.raises(StreamingQueryException, match="no such table") as raised:
        run(spark, tmp_path, PATH, links(1, 7), sink)
    assert not isinstance(raised.value, DataflowError)


def test_what_cannot_be_subscribed_to_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Changes, query, checkpoint and partitions are looked at before anything runs."""
    changes = stream(tmp_path / "changes", []).stream(spark)
    still = spark.createDataFrame([], changes.schema)

    def refused(
        error: type[Exception], match: str, changes: DataFrame = changes, query: str = PATH, **more: Any
    ) -> None:
        with pytest.raises(error, match=match):
            subscribe(changes, query, **{"checkpoint": tmp_path / "checkpoint", **more})

    refused(ValueError, "must be a streaming DataFrame: use spark.readStream", still)
    refused(ValueError, "lacks the column 'op'; it has s, p, o", changes.drop("op"))
    refused(ValueError, "cannot be reached", checkpoint="ftp://host/x")
    for partitions in (0, -1):
        refused(ValueError, f"partitions must be 1 or more, got {partitions}", partitions=partitions)
    refused(
        UnsupportedQueryError,
        "would be a column of the same name as 'weight'",
        query="SELECT (1 AS ?Weight) { ?x ?p ?y }",
    )
    refused(UnsupportedQueryError, "same name as 'x'", query="SELECT ?x ?X { ?x <urn:p> ?X }")
    refused(
        UnsupportedQueryError,
        "the path operator \\* .* cannot be maintained",
        query="SELECT * { ?x <urn:p>* ?y }",
    )
    assert not (tmp_path / "checkpoint").exists()


def test_a_longer_path_ends_the_query(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until the state is rebuilt for more steps; then the micro-batch that was refused comes again."""
    names = [node(name) for name in "abcd"]
    links = [Operation("A", one, node("p"), other) for one, other in pairwise(names)]
    files, place = stream(tmp_path / "changes", [links[:2]]), tmp_path / "checkpoint"
    query, found = "SELECT * { <urn:a> <urn:p>+ ?x }", Nets()

    def run(path_steps: int) -> None:
        subscription = subscribe(files.stream(spark), query, checkpoint=place, path_steps=path_steps)
        subscription.start(found, trigger=AT_ONCE).awaitTermination()

    with pytest.raises(DataflowError, match=r"path_steps=1 reaches <urn:c>"):
        run(1)
    run(2)  # no micro-batch is done yet, so nothing of the first start counts
    files.add(links[2:])
    with pytest.raises(
        DataflowError, match=r"^a path of more steps than path_steps=2 reaches <urn:d>: rebuild the state"
    ):
        run(2)
    with pytest.raises(
        StateError, match="paths of at most 2 steps, but this subscription has 3: use the same"
    ):
        run(3)
    (reached,), commits = place.glob("rdflive/*/*/reached"), place / "commits"
    for note in reached.iterdir():
        note.rename(note.with_name(note.name.replace("-0", "-7")))
    commits.rename(tmp_path / "lost")
    with pytest.raises(
        StateError, match="paths of at most 2 steps, but this subscription has 3: use the same"
    ):
        run(3)  # what Spark has lost is no reason to lose the state
    (tmp_path / "lost").rename(commits)
    for note in reached.iterdir():
        note.rename(note.with_name(note.name.replace("-7", "-0")))
    assert main(["spark", "rebuild", str(place), "--path-steps", "1"]) == 2
    assert "rdflive: error: a path of more steps than path_steps=1 reaches" in capsys.readouterr().err
    assert main(["spark", "rebuild", str(place), "--path-steps", "3"]) == 0
    assert query in capsys.readouterr().out
    run(3)
    files.add([link._replace(op="D") for link in links])
    run(3)
    b, c, d = ((name,) for name in names[1:])
    assert found.list == [{b: 1, c: 1}, {d: 1}, {b: -1, c: -1, d: -1}]


def test_what_takes_no_micro_batches_is_no_sink(spark: SparkSession, tmp_path: Path) -> None:
    """It is refused before anything runs; what may be called with two arguments is taken."""
    changes = stream(tmp_path / "changes", []).stream(spark)
    subscription = subscribe(changes, PATH, checkpoint=tmp_path / "checkpoint")
    told: list[Any] = []

    async def later(deltas: DataFrame, batch: int) -> None:
        pass

    for sink, match in (
        (
            told.append,
            r"sink must be the name of a Spark format, or a function .* cannot be called with these",
        ),
        (lambda deltas: None, "too many positional arguments"),
        (lambda: None, "too many positional arguments"),
        (lambda deltas, batch, more: None, "missing a required argument: 'more'"),
        (told, "of its micro-batch, got list: "),
        (later, "of its micro-batch, got function: "),
        (None, "got NoneType: None"),
    ):
        with pytest.raises(TypeError, match=match):
            subscription.start(sink)  # type: ignore[arg-type]
    assert not (tmp_path / "checkpoint").exists()
    subscription.start(lambda *both: told.append(both), trigger=AT_ONCE).awaitTermination()


def test_what_no_pattern_binds_is_noted(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log, with the nearest variable; parameters bind theirs."""
    changes = stream(tmp_path / "changes", []).stream(spark)
    place = tmp_path / "checkpoint"
    misspelt = "SELECT ?trian { ?train <urn:delay> ?minutes FILTER(?minutes > ?least) }"
    subscribe(changes, misspelt, checkpoint=place, parameters={"least": Literal(5)})
    assert [record.getMessage() for record in caplog.records] == [
        f"no pattern binds ?trian; the nearest variable is ?train; the query is {misspelt!r}"
    ]


@ON_SPARK
def test_a_query_that_runs_is_not_started_again(spark: SparkSession, tmp_path: Path) -> None:
    """A second start is refused while the first runs; after stop it goes on where it stopped."""
    batches = links(3, 8)
    files = stream(tmp_path / "changes", batches[:2])
    subscription = subscribe(files.stream(spark), PATH, checkpoint=tmp_path / "checkpoint")
    found = Nets()
    query = subscription.start(found)
    with pytest.raises(RdfliveError, match="runs already; stop it first"):
        subscription.start(found)
    query.processAllAvailable()
    subscription.stop()
    assert not query.isActive
    files.add(batches[2])
    subscription.start(found, trigger=AT_ONCE).awaitTermination()
    assert found.list == nets(PATH, batches)
    assert set(found.times.values()) == {1}


def test_changes_need_no_columns_but_the_four(spark: SparkSession, tmp_path: Path) -> None:
    """With one operation per quad and micro-batch neither graph nor place is needed; `+` is like `A`."""
    batch = [Operation("+", node(s), node(p), node(o)) for s, p, o in ((1, "p", 2), (2, "q", 3), (2, "q", 4))]
    batches = [batch, [batch[1]._replace(op="-")]]
    files = stream(tmp_path / "changes", batches)
    changes = files.stream(spark).select(F.col("o"), F.col("op"), F.col("p"), F.col("s"))
    found = Nets()
    subscribe(changes, PATH, checkpoint=tmp_path / "checkpoint").start(
        found, trigger=AT_ONCE
    ).awaitTermination()
    one, two, three, four = map(node, range(1, 5))
    assert found.list == [{(one, two, three): 1, (one, two, four): 1}, {(one, two, three): -1}]
    assert number(1) not in str(found.list)


def test_locations_are_looked_at(spark: SparkSession) -> None:
    """A path and a URL of a file are on disk; what no file system can be made of is told."""
    for location, path in (
        ("/a b/c", "/a b/c"),
        ("file:///a%20b/c", "/a b/c"),
        ("here", os.path.abspath("here")),
    ):
        place = Checkpoint(location, spark)
        assert (place.folder.path, place.location) == (path, f"file://{path}")
    s3 = Checkpoint("s3a://bucket/some/folder/", spark)
    assert (s3.folder.path, s3.location) == ("bucket/some/folder", "s3a://bucket/some/folder/")
    for location in ("ftp://host/folder", "dbfs:/folder"):
        with pytest.raises(LocationError, match=r"cannot be reached: .*; give a path that all executors see"):
            Checkpoint(location, spark)
