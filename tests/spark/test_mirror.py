"""A graph that follows a streaming DataFrame."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rdflib
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from rdflib import BNode, Literal, URIRef

import rdflive
from rdflive import Batch, Change, Quad, RdfliveError, ResyncNeeded
from rdflive.api.target import GraphTarget
from rdflive.feeds import debezium
from rdflive.feeds.rdf_patch import encode_rdf_patch
from rdflive_stores.spark.mirror import MirroredBatch, mirror
from rdflive_stores.spark.mirroring.shapes import ShapeError
from rdflive_stores.spark.running import DataflowError
from rdflive_stores.spark.session import register
from support.effort import drawn_from
from support.spark_mirrors import Answers, state
from support.worlds import KINDS

pytestmark = pytest.mark.sampled(3)

CURSOR = pytest.mark.hunted("several runs of Spark; the gate has the cases of test_cursor.py")
PEOPLE = {"people": {"subject": "http://e/{id}", "predicates": {"name": "http://e/name"}}}


@pytest.fixture(autouse=True)
def _registered(spark: SparkSession) -> None:
    register(spark)


class World:
    """A folder of text files that a query reads in their order, a checkpoint and a graph."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.checkpoint = folder / "checkpoint"
        self.graph: Any = rdflib.Dataset()
        self.batches: list[MirroredBatch] = []
        (folder / "texts").mkdir()

    def write(self, *texts: str) -> None:
        """Add files; each becomes a micro-batch, by the times of its change."""
        for text in texts:
            number = len(list((self.folder / "texts").iterdir()))
            path = self.folder / "texts" / f"{number:03}.txt"
            path.write_text(text, encoding="utf-8")
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))

    def texts(self, *, wholetext: bool = False) -> DataFrame:
        reader = self.spark.readStream.option("maxFilesPerTrigger", 1)
        return reader.text(str(self.folder / "texts"), wholetext=wholetext)

    def log(self, limit: int = 1500) -> DataFrame:
        """Follow a log of RDF Patch."""
        reader = self.spark.readStream.format("rdf_patch").option("maxBytesPerTrigger", limit)
        return reader.load(str(self.folder / "log.rdfp"))

    def append(self, batches: list[list[Change]]) -> None:
        with (self.folder / "log.rdfp").open("a", encoding="utf-8", newline="\n") as stream:
            stream.writelines(encode_rdf_patch(Batch(tuple(batch))) for batch in batches)

    def run(self, frame: DataFrame, form: Any = None, **options: Any) -> list[MirroredBatch]:
        """Mirror what is there; give what the micro-batches came to."""
        self.batches.clear()
        options = {"checkpoint": self.checkpoint, "on_batch": self.batches.append, **options}
        query = mirror(frame, self.graph, form, trigger={"availableNow": True}, **options)
        query.awaitTermination()
        return list(self.batches)

    def fail(self, frame: DataFrame, form: Any = None, **options: Any) -> str:
        """Mirror what is there, which fails; give the text of the exception."""
        with pytest.raises(StreamingQueryException) as caught:
            self.run(frame, form, **options)
        return str(caught.value)

    def refuse(self, frame: DataFrame, form: Any = None, **options: Any) -> str:
        """Mirror what is there, which rdflive ends; give the text of the exception, of one line."""
        with pytest.raises(DataflowError) as caught:
            self.run(frame, form, **options)
        text = str(caught.value)
        assert "\n" not in text
        assert "Traceback" in str(caught.value.__cause__)
        return text


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> World:
    return World(spark, tmp_path)


def random_batches(count: int, seed: int) -> list[list[Change]]:
    """Make transactions: a third of the changes are deletes, many redundant; blank nodes and named graphs."""
    chance = drawn_from("transactions", seed)
    nodes = [*(URIRef(f"urn:n{n}") for n in range(6)), BNode("b1"), BNode("b2")]
    values = [*nodes, Literal('a\n"b"', lang="en"), Literal("01", datatype=rdflib.XSD.integer), Literal(1)]
    graphs = [None, None, URIRef("urn:g"), BNode("g")]
    return [
        [
            Change(
                chance.choice([1, 1, -1]),
                Quad(chance.choice(nodes), URIRef("urn:p"), chance.choice(values), chance.choice(graphs)),
            )
            for _ in range(chance.randrange(5))
        ]
        for _ in range(count)
    ]


def expected(batches: list[list[Change]], kind: str = "dataset") -> set[Quad]:
    """Mirror a log without Spark."""
    graph = KINDS[kind]()
    target = GraphTarget(graph)
    for batch in batches:
        target.write(batch, (), "", {})
    return state(graph)


@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("kind", ["dataset", "oxigraph dataset", "live store"])
def test_a_log_through_spark_is_the_log_without(world: World, kind: str) -> None:
    """The same graph, and deltas that add up to the same answers, in two runs of several micro-batches."""
    world.graph = KINDS[kind]()
    answers = Answers(world.graph)
    batches = random_batches(60, 7)
    world.append(batches[:30])
    done = world.run(world.log(700))
    assert len(done) > 2
    assert [batch.batch for batch in done] == list(range(len(done)))
    assert state(world.graph) == expected(batches[:30], kind)
    world.append(batches[30:])
    more = world.run(world.log(700))
    assert more[0].batch == len(done)
    assert state(world.graph) == expected(batches, kind)
    assert 0 < answers.commits <= len(done) + len(more)
    answers.check()
    assert world.run(world.log(700)) == []


def test_another_graph_does_not_continue_a_checkpoint(world: World) -> None:
    """Its rows are below the checkpoint, so Spark would deliver none of them, and the graph stay empty."""
    world.append(random_batches(3, 1))
    world.run(world.log())
    full, world.graph = world.graph, rdflib.Dataset()
    with pytest.raises(ResyncNeeded, match=r"the graph has none of them.*resync: with a new checkpoint"):
        world.run(world.log())
    assert world.run(world.log(), checkpoint=world.folder / "new")
    assert state(world.graph) == state(full)
    world.graph = full
    assert world.run(world.log()) == []


def test_a_single_graph_takes_triples(world: World) -> None:
    """An rdflib.Graph is filled, and what was applied is counted net."""
    world.graph = rdflib.Graph()
    world.write("+ <urn:a> <urn:p> <urn:b> .\n- <urn:a> <urn:p> <urn:b> .\n+ <urn:c> <urn:p> <urn:d> .\n")
    assert world.run(world.texts(wholetext=True), "nquads") == [MirroredBatch(0, 2, 0)]
    assert len(world.graph) == 1


def test_lines_that_take_each_other_back_have_no_order(world: World) -> None:
    """Each line is a row, and rows of files keep none: neither change is applied."""
    world.write("+ <urn:a> <urn:p> <urn:b> .\n- <urn:a> <urn:p> <urn:b> .\n+ <urn:c> <urn:p> <urn:d> .\n")
    found = world.refuse(world.texts(), "nquads")
    assert "<urn:a> <urn:p> <urn:b> . is inserted and deleted in one micro-batch" in found
    assert 'read files by the source "rdf_patch"' in found
    letters = world.folder / "letters"
    done = world.run(
        world.texts(), "nquads", on_bad="skip", dead_letters=letters, checkpoint=world.folder / "other"
    )
    assert done == [MirroredBatch(0, 1, 1)]
    assert "D <urn:a> <urn:p> <urn:b> .\nA <urn:a> <urn:p> <urn:b> ." in letters.read_text()


def test_a_micro_batch_may_mean_nothing(world: World) -> None:
    """It is a commit all the same: the graph has followed the source up to there."""
    world.write("# nothing\n", "", line(1))
    done = world.run(world.texts(wholetext=True), "nquads")
    assert [batch.changes for batch in done] == [0, 0, 1]
    assert json.loads(GraphTarget(world.graph).kept(f"file:{world.checkpoint}")["cursor"])["batch"] == 2


def line(number: int, sign: str = "+") -> str:
    return f'{sign} <urn:s> <urn:p> "{number}" .\n'


def values(graph: Any) -> set[str]:
    return {str(quad.object) for quad in state(graph)}


def test_a_micro_batch_that_spark_repeats_is_applied_once(world: World) -> None:
    """A kill between the commit and Spark's note of it: the same files come again, and nothing happens."""
    world.write(line(1), line(2))
    world.run(world.texts(), "nquads")
    (world.checkpoint / "commits" / "1").unlink()
    GraphTarget(world.graph).write(
        [Change(-1, Quad(URIRef("urn:s"), URIRef("urn:p"), Literal("2")))], (), "", {}
    )
    assert world.run(world.texts(), "nquads") == []
    assert values(world.graph) == {"1"}
    world.write(line(3))
    assert len(world.run(world.texts(), "nquads")) == 1
    assert values(world.graph) == {"1", "3"}


@CURSOR
def test_a_lost_checkpoint_goes_on_where_rows_have_places(world: World) -> None:
    """The new one reads the log from its beginning, cut otherwise; each row is applied once, in its order."""
    batches = random_batches(40, 3)
    answers = Answers(world.graph)
    world.append(batches[:30])
    world.run(world.log(2500))
    commits = answers.commits
    shutil.rmtree(world.checkpoint)
    assert world.run(world.log(1100)) == []
    assert answers.commits == commits
    shutil.rmtree(world.checkpoint)
    world.append(batches[30:])
    world.run(world.log(1700))
    assert state(world.graph) == expected(batches)
    answers.check()


def test_a_lost_checkpoint_is_told_where_rows_have_none(world: World) -> None:
    """Its numbers of micro-batches were used before: nothing is applied, the error says what to do."""
    world.write(line(1), line(2))
    world.run(world.texts(), "nquads")
    shutil.rmtree(world.checkpoint)
    world.write(line(3))
    text = world.refuse(world.texts(), "nquads")
    assert text.startswith("the mirror ")
    assert "its rows have no positions; resync: with a new checkpoint and another name" in text
    assert values(world.graph) == {"1", "2"}


@CURSOR
@pytest.mark.parametrize("is_placed", [True, False])
def test_a_graph_that_is_new_needs_a_resync(world: World, is_placed: bool) -> None:
    """A graph in memory is gone with its process; a new checkpoint brings it back, an old one does not."""
    world.append([[Change(1, Quad(URIRef("urn:s"), URIRef("urn:p"), Literal("1")))]])
    world.write(line(1))
    frame, form = (world.log, None) if is_placed else (world.texts, "nquads")
    world.run(frame(), form)
    world.append([[Change(1, Quad(URIRef("urn:s"), URIRef("urn:p"), Literal("2")))]])
    world.write(line(2))
    world.graph = rdflib.Dataset()
    assert "; resync: " in world.refuse(frame(), form)
    assert state(world.graph) == set()
    shutil.rmtree(world.checkpoint)
    world.run(frame(), form)
    assert values(world.graph) == {"1", "2"}


def test_a_bad_row_stops_the_mirror(world: World) -> None:
    """The graph stays at the last commit; mended, the mirror goes on where it was."""
    world.write(line(1), f"{line(2)}nonsense\n{line(3)}")
    text = world.refuse(world.texts(), "nquads")
    assert text.startswith("micro-batch 1, row")
    assert "a line begins with + or -, not 'nonsense'" in text
    assert values(world.graph) == {"1"}
    os.utime(_rewritten(world, "001.txt", line(2) + line(3)), (1_700_000_001, 1_700_000_001))
    world.run(world.texts(), "nquads")
    assert values(world.graph) == {"1", "2", "3"}


def _rewritten(world: World, name: str, text: str) -> Path:
    path = world.folder / "texts" / name
    path.write_text(text, encoding="utf-8")
    return path


def test_bad_rows_are_put_aside(world: World) -> None:
    """Each in its unit under its reason; the dead letters are a feed of the same format."""
    world.write(f"{line(1)}nonsense\n", f"{line(2)}+ <urn:s> .\n")
    letters = world.folder / "bad.nq"
    done = world.run(world.texts(wholetext=True), "nquads", on_bad="skip", dead_letters=letters)
    assert [(batch.changes, batch.skipped) for batch in done] == [(1, 1), (1, 1)]
    assert values(world.graph) == {"1", "2"}
    lines = letters.read_text(encoding="utf-8").splitlines()
    assert lines[1::2] == ["nonsense", "+ <urn:s> ."]
    assert "line 2: a line begins with" in lines[0]


def test_what_the_store_refuses_is_put_aside_by_itself(world: World) -> None:
    """One graph takes no named ones: each such quad goes to the dead letters, in one commit with the rest."""
    world.graph = rdflib.Graph()
    answers = Answers(world.graph)
    named = [f"+ <urn:s> <urn:p> <urn:{n}> <urn:g> .\n" for n in range(3)]
    world.write(line(1) + named[0] + line(2) + "".join(named[1:]) + line(3))
    text = world.refuse(world.texts(), "nquads", name="mine")
    assert text.startswith("micro-batch 0 of the mirror 'mine': the store refuses it: ")
    assert "the mirror fills a single rdflib.Graph, which cannot hold" in text
    letters = world.folder / "bad.rdfp"
    assert world.run(world.texts(), "nquads", on_bad="skip", dead_letters=letters) == [MirroredBatch(0, 3, 3)]
    assert len(world.graph) == 3
    assert answers.commits == 1
    told = letters.read_text(encoding="utf-8")
    assert told.count("A <urn:s> <urn:p> <urn:") == 3
    assert told.startswith("# micro-batch 0, line 1: the store refuses a quad: ")


def test_debezium_rows_are_remembered_with_the_graph(world: World) -> None:
    """A later query knows the rows of an earlier one, also on disk; its checkpoint may be new."""

    event = Events()

    def store() -> Any:
        dataset = rdflib.Dataset(store="Oxigraph")
        dataset.open(str(world.folder / "store"))
        return dataset

    world.graph = store()
    world.write(event("c", 1, "Anne") + event("c", 2, "Bob"), event("u", 1, "Anna"))
    world.run(world.texts(), debezium(PEOPLE))
    world.graph.close()
    world.graph = store()
    world.write(event("u", 1, "Ann") + event("d", 2, None))
    world.run(world.texts(), debezium(PEOPLE))
    assert values(world.graph) == {"Ann"}
    world.graph.close()


class Events:
    """Writes Debezium's events of the table `people`, each with its place in the log."""

    def __init__(self) -> None:
        self.place = 0

    def __call__(self, op: str, key: int, name: str | None) -> str:
        """Write an event as a line."""
        self.place += 1
        source = {"table": "people", "lsn": 1000 + self.place}
        value = {"op": op, "before": {"id": key}, "after": name and {"id": key, "name": name}}
        return json.dumps({**value, "source": source}) + "\n"


@pytest.mark.parametrize("limit", [1, 3, 9])
def test_event_files_of_any_size_and_age_make_the_table(world: World, limit: int) -> None:
    """Spark packs files into tasks by their size, and into micro-batches by the times of their change."""
    chance = drawn_from("event files", limit)
    event, table = Events(), dict[int, str]()
    for number in range(9):
        lines = []
        for _ in range(chance.choice([1, 5, 40])):
            key = chance.randrange(12)
            name = None if key in table and chance.random() < 0.3 else f"{number}.{len(lines)}"
            lines.append(event("d" if name is None else "u" if key in table else "c", key, name))
            table.pop(key, None)
            table.update({} if name is None else {key: name})
        path = world.folder / "texts" / f"{number}.json"
        path.write_text("".join(lines))
        age = 1_700_000_000 + chance.randrange(100)
        os.utime(path, (age, age))
    frame = world.spark.readStream.option("maxFilesPerTrigger", limit).text(str(world.folder / "texts"))
    world.run(frame, debezium(PEOPLE))
    assert values(world.graph) == set(table.values())


def test_a_late_event_is_told_and_put_aside(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Once per micro-batch in the log, and with on_bad="skip" in the dead letters too."""
    event = Events()
    first, second = event("c", 1, "Anne") + event("c", 2, "Bob"), event("u", 1, "Anna") + event("d", 2, None)
    world.write(second, first)
    letters = world.folder / "letters"
    done = world.run(world.texts(), debezium(PEOPLE), on_bad="skip", dead_letters=letters)
    assert [batch.skipped for batch in done] == [0, 2]
    assert values(world.graph) == {"Anna"}
    (warning,) = (record.getMessage() for record in caplog.records if "are skipped" in record.msg)
    assert "2 events are skipped" in warning
    assert "a later event of the row [1] of people was applied" in warning
    assert all(json.dumps(json.loads(line)) in letters.read_text() for line in first.splitlines())


def test_two_mirrors_of_one_name_are_refused(world: World) -> None:
    """Each would move the other's cursor; another name helps, or the end of the first."""
    world.write(line(1))
    first = mirror(world.texts(), world.graph, "nquads", checkpoint=world.checkpoint)
    try:
        with pytest.raises(RdfliveError, match="is running on this store; pass another name="):
            mirror(world.texts(), world.graph, "nquads", checkpoint=world.checkpoint)
        world.run(world.texts(), "nquads", checkpoint=world.folder / "other", name="second")
    finally:
        first.stop()
    world.run(world.texts(), "nquads")
    assert values(world.graph) == {"1"}


@pytest.mark.parametrize("kind", ["empty", "below a file", "nowhere"])
def test_a_checkpoint_that_cannot_be_is_refused(world: World, kind: str) -> None:
    """In one line, before a query is started; the name is free afterwards."""
    (world.folder / "file").write_text("")
    path = {"empty": "", "below a file": f"{world.folder}/file/x", "nowhere": "nowhere://x/y"}[kind]
    with pytest.raises(RdfliveError, match=r"cannot be a folder: .*; give a path") as caught:
        mirror(world.texts(), world.graph, "nquads", checkpoint=path)
    assert len(str(caught.value)) < 400
    assert str(caught.value).startswith(f"checkpoint={path!r}")


def test_a_cursor_of_a_plain_mirror_is_not_taken_over(world: World) -> None:
    """Its place in a file means nothing to a query."""
    path = world.folder / "log.nq"
    path.write_text(line(1))
    rdflive.mirror(world.graph, path, name="feed")
    with pytest.raises(RdfliveError, match="the cursor of a feed that is not mirrored through Spark"):
        mirror(world.texts(), world.graph, "nquads", checkpoint=world.checkpoint, name="feed")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"on_bad": "ignore"}, "on_bad must be 'stop' or 'skip'"),
        ({"on_bad": "skip"}, "go together"),
        ({"dead_letters": "x"}, "go together"),
    ],
)
def test_options_are_checked_at_once(world: World, options: Any, reason: str) -> None:
    """Before a query is started."""
    with pytest.raises(ValueError, match=reason):
        mirror(world.texts(), world.graph, "nquads", checkpoint=world.checkpoint, **options)
    assert not world.checkpoint.exists()


def test_a_frame_that_does_not_stream_is_refused(world: World) -> None:
    """The message says what does."""
    frame = world.spark.createDataFrame([("x",)], "value string")
    with pytest.raises(ShapeError, match=r"spark\.readStream"):
        mirror(frame, world.graph, "nquads", checkpoint=world.checkpoint)


def test_a_callback_that_fails_ends_the_query_behind_the_commit(world: World) -> None:
    """The micro-batch is applied, and Spark repeats it to no effect."""
    world.write(line(1), line(2))
    calls: list[Callable[..., object]] = []

    def fail(batch: MirroredBatch) -> None:
        calls.append(fail)
        raise RuntimeError("the callback fails")

    assert "the callback fails" in world.fail(world.texts(), "nquads", on_batch=fail)
    assert values(world.graph) == {"1"}
    world.run(world.texts(), "nquads")
    assert values(world.graph) == {"1", "2"}
    assert len(calls) == 1
