"""State that was lost, put back, or is of another query is refused, not guessed."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from rdflive_stores.spark.dataflow import matching, tasks
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.identity import PLAN, check, describe, missing
from rdflive_stores.spark.dataflow.query_plan import JointPlan, plan_queries
from rdflive_stores.spark.dataflow.state import Mark, StateError, TaskMoment, note
from rdflive_stores.spark.running import DataflowError
from rdflive_stores.spark.subscription import subscribe
from spark.world import PATH, Fails, World
from support.spark_streams import AT_ONCE, ChangeFiles, Nets, Operation, nets, node

ON_SPARK = pytest.mark.hunted("the gate has the checks behind it, without Spark, below and in dataflow/")
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
def test_a_subscription_goes_on_with_what_another_one_has_made(spark: SparkSession, tmp_path: Path) -> None:
    """Both failed in their first micro-batch; then the older one runs, and one that was compacted goes on."""
    world = World(spark, tmp_path, PATH, 61)
    world.add()
    older, newer = world.subscribe(), world.subscribe()
    for fails in (older, newer):
        with pytest.raises(Exception, match="the disk is full"):
            fails.start(Fails(Nets(), 0), trigger=AT_ONCE).awaitTermination()
    older.start(world.found, trigger=AT_ONCE).awaitTermination()
    world.add()
    older.start(world.found, trigger=AT_ONCE).awaitTermination()
    newer.compact()
    world.add()
    older.start(world.found, trigger=AT_ONCE).awaitTermination()
    assert world.found.list == nets(PATH, world.batches)


@ON_SPARK
@pytest.mark.oldest_spark
def test_lost_folders_are_noticed(spark: SparkSession, tmp_path: Path) -> None:
    """A part of the state that was removed between two runs ends the query."""
    files = ChangeFiles(tmp_path / "changes")
    files.add(change(0))
    subscription = subscribe(files.stream(spark), QUERY, checkpoint=tmp_path / "checkpoint")
    subscription.start(Nets(), trigger=AT_ONCE).awaitTermination()
    (folder,) = (tmp_path / "checkpoint" / "rdflive").iterdir()
    shutil.rmtree(folder / "0" / "arranged" / "1")
    files.add(change(1))
    again = subscribe(files.stream(spark), QUERY, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(DataflowError, match=r"arranged/1/state-1\.json is missing"):
        again.start(Nets(), trigger=AT_ONCE).awaitTermination()


@pytest.mark.parametrize(("reached", "batch"), [(None, 1), (0, 2), (4, 3), (5, 3), (9, 3), (1, 0), (5, 0)])
def test_a_part_must_stand_at_its_micro_batch(reached: int | None, batch: int, tmp_path: Path) -> None:
    """State ahead of Spark's logs, or behind them, is refused."""

    def run(number: int, folder: str) -> None:
        note(TaskMoment(Folder.local(str(tmp_path / folder)), number, {0: Mark(number)}), 0)

    def begin(folder: str) -> Mark:
        return tasks.begin_part(
            TaskMoment(Folder.local(str(tmp_path / folder)), batch), 0, is_first=not batch
        )

    for number in range(-1 if reached is None else reached + 1):
        run(number, "other")
    with pytest.raises(StateError, match=f"but Spark is at {batch}"):
        begin("other")
    for number in range(batch + 1):
        run(number, "its own")
        if number >= batch - 1:
            assert begin("its own").batch == batch


def told(one: JointPlan, other: JointPlan) -> str | None:
    """Say why the state of one plan does not serve another; None if it does."""
    with tempfile.TemporaryDirectory() as folder:
        tasks.claim(one, Folder.local(folder), 2)
        try:
            check(Folder.local(folder), describe(other, 2))
        except StateError as error:
            return str(error)
    return None


@pytest.mark.parametrize(
    ("query", "prefixes"),
    [
        ("#  the same\nSELECT  ?x (COUNT(*) AS ?n)\n{ ?x <urn:p> ?y. ?y <urn:q> ?z }\nGROUP BY ?x #", None),
        ("PREFIX u: <urn:> SELECT ?x (COUNT(*) AS ?n) { ?x u:p ?y . ?y u:q ?z } GROUP BY ?x", None),
        ("SELECT ?x (count(*) as ?n) where { ?x v:p ?y . ?y v:q ?z } GROUP BY ?x", {"v": "urn:"}),
    ],
    ids=["spaces", "prefixes", "initNs"],
)
def test_another_text_of_one_query_is_that_query(query: str, prefixes: dict[str, str] | None) -> None:
    """Comments, spaces, prefixes and the case of keywords are not what state depends on."""
    assert told(plan_queries(QUERY), plan_queries(query, prefixes)) is None


@pytest.mark.parametrize(
    ("query", "differs"),
    [
        (QUERY.replace("COUNT(*)", "COUNT(DISTINCT *)"), "stages"),
        (QUERY.replace("COUNT(*)", "SUM(?z)"), "stages"),
        (QUERY + " HAVING(COUNT(*) > 1)", "stages"),
        (QUERY.replace("?n)", "?m)"), "stages"),
        (QUERY.replace("<urn:q>", "<urn:r>"), "patterns"),
        (QUERY.replace("?z }", "?z FILTER(?z > 1) }"), "patterns"),
        (QUERY.replace("?z }", "?z FILTER(?z > ?x) }"), "conditions"),
        ("SELECT ?x ?y { ?x <urn:p> ?y . ?y <urn:q> ?z }", "stages"),
    ],
)
def test_another_query_is_told_apart(query: str, differs: str) -> None:
    """Whatever may change the answer makes another query; the error says what, and how to go on."""
    message = told(plan_queries(QUERY), plan_queries(query))
    assert message is not None
    assert f"its {differs} are" in message
    assert "rdflive spark rebuild, or begin again with another checkpoint" in message


def test_columns_are_told_apart() -> None:
    """The same solutions with other columns are another stream of deltas."""
    one, other = (plan_queries(f"SELECT {names} {{ ?x <urn:p> ?y }}") for names in ("?x ?y", "?y ?x"))
    assert "its columns are ['x', 'y'], not ['y', 'x']" in str(told(one, other))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?a ?b {{ {} <urn:p> {} }}",
        "SELECT DISTINCT ?a {{ {} <urn:p> {} }}",
        "SELECT ?a (COUNT(*) AS ?n) {{ {} <urn:p> {} }} GROUP BY ?a",
        "SELECT * {{ GRAPH {} {{ {} <urn:p> ?c }} }}",
    ],
)
def test_variables_that_change_places_make_another_query(text: str) -> None:
    """The patterns are the same then, and the columns too."""
    one, other = plan_queries(text.format("?a", "?b")), plan_queries(text.format("?b", "?a"))
    assert told(one, other) is not None


def test_queries_that_change_places_make_another_subscription() -> None:
    """By name, by the patterns that are theirs, and by their filters."""
    path = "SELECT ?a ?c { ?a <urn:p> ?b . ?b <urn:q> ?c }"
    filtered = path.replace("?c }", "?c FILTER(?a != ?c) }")
    one = plan_queries({"first": path, "second": filtered})
    assert told(one, plan_queries({"first": path, "second": filtered})) is None
    for other in ({"first": filtered, "second": path}, {"second": filtered, "first": path}):
        assert told(one, plan_queries(other)) is not None
    # the same three patterns, of which the one in the middle is that of the other query
    count = "SELECT (COUNT(*) AS ?n) {{ {} }}".format
    one = plan_queries({"first": count("?a <urn:p> ?b . ?c <urn:p> ?d"), "second": count("?e <urn:p> ?f")})
    other = {"first": count("?a <urn:p> ?b"), "second": count("?c <urn:p> ?d . ?e <urn:p> ?f")}
    assert "its pattern groups are" in str(told(one, plan_queries(other)))


def test_other_prefixes_make_another_query() -> None:
    """The same text with another meaning does not go on with the state."""
    one, other = (plan_queries("SELECT * { ?x e:p ?y }", {"e": f"urn:{name}:"}) for name in ("one", "other"))
    assert "its patterns are" in str(told(one, other))
    filtered = [
        plan_queries(f"SELECT * {{ ?x ?p ?y FILTER(?y = e:{name}) }}", {"e": "urn:"}) for name in "ab"
    ]
    assert "its patterns are" in str(told(*filtered))


@pytest.mark.parametrize(
    ("old", "new", "lacks"),
    [
        ("?x <urn:p> ?y", "?y <urn:p> ?x", 0),
        ("?x <urn:p> ?y", "?y <urn:p> <urn:a>", 0),
        ("?x <urn:p> ?y", "?y <urn:p> ?y", 0),
        ("?x <urn:p> ?x", "?x <urn:p> ?y", 1),
        ("?x <urn:p> ?x", "<urn:a> <urn:p> <urn:a>", 0),
        ("?x <urn:p> ?x", "<urn:a> <urn:p> ?y", 1),
        ("?x <urn:p> <urn:a>", "?x <urn:p> ?y", 1),
        ("?x <urn:p> ?y . ?y <urn:q> ?z", "?y <urn:q> ?z", 0),
        ("?x <urn:p> ?y", "?x <urn:p> ?y . ?y <urn:q> ?z", 1),
        ("?x ?p ?y", "?x <urn:p> ?y . ?y <urn:q> ?z", 0),
        ("?x ?p ?y", "GRAPH <urn:g> { ?x <urn:p> ?y }", 1),
        ("GRAPH ?g { ?x <urn:p> ?y }", "GRAPH <urn:g> { ?x <urn:p> ?y }", 0),
        ("GRAPH ?g { ?x <urn:p> ?y }", "?x <urn:p> ?y", 1),
        ("?x <urn:p> ?y FILTER(?y > 3)", "?x <urn:p> ?y", 0),
    ],
)
def test_what_quads_a_query_lacks(old: str, new: str, lacks: int) -> None:
    """State holds the quads that its patterns match, before filters; others must come from elsewhere."""
    held = describe(plan_queries(f"SELECT * {{ {old} }}"), 2)
    assert len(missing(plan_queries(f"SELECT * {{ {new} }}"), held)) == lacks


def test_the_state_of_another_version_is_refused(tmp_path: Path) -> None:
    """Its files may mean something else."""
    folder, plan = Folder.local(str(tmp_path)), describe(plan_queries(QUERY), 1)
    folder.write_text(PLAN, json.dumps(plan | {"format": 1}))
    with pytest.raises(StateError, match=r"has format 1, .* use the version that made it"):
        check(folder, plan)


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
