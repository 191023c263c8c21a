"""One micro-batch: what Spark leaves of it, and what that does, against the plain decoders."""

from __future__ import annotations

import datetime
import json
import signal
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
import rdflib
from pyspark.sql import DataFrame, SparkSession
from rdflib import Literal, URIRef

from rdflive import Batch, Change, Quad, RdfliveError, ResyncNeeded
from rdflive.api.target import GraphTarget
from rdflive.feeds import FeedFormatError, MappingError, debezium, delta_lake, feed_format
from rdflive.feeds.formats import Decoder, FeedFormat
from rdflive.feeds.neptune import NEPTUNE
from rdflive.feeds.nquads import encode_nquads
from rdflive.feeds.terms import write_quad, write_term
from rdflive_stores.spark.mirror import BatchApplier, unapplied
from rdflive_stores.spark.mirroring.cursor import BatchPlan, Cursor, Given, step
from rdflive_stores.spark.mirroring.decoding import DecodingFault, RecordPlace
from rdflive_stores.spark.mirroring.formats import shape_of
from rdflive_stores.spark.mirroring.shapes import Reading, RowShape, ShapeError
from support.decoders import read
from support.effort import drawn_from
from support.spark_mirrors import mirrored, refuse, state

pytestmark = pytest.mark.sampled(3)

PEOPLE = {
    "people": {
        "subject": "http://e/person/{id}",
        "class": "http://e/Person",
        "predicates": {"name": "http://e/name", "born": "http://e/born"},
    }
}
ROWS = "op string, s string, p string, o string, g string, topic string, partition int, offset long"
"""The columns of changes from Kafka."""


def random_changes(count: int, seed: int) -> list[Change]:
    """Make changes of few quads, many of them redundant."""
    chance = drawn_from("changes", seed)
    graphs = [None, URIRef("urn:g")]
    objects = [URIRef("urn:o"), Literal('a\n"b"', lang="en"), Literal(7), rdflib.BNode("b")]
    return [
        Change(
            chance.choice([1, 1, -1]),
            Quad(
                URIRef(f"urn:s{chance.randrange(4)}"),
                URIRef("urn:p"),
                chance.choice(objects),
                chance.choice(graphs),
            ),
        )
        for _ in range(count)
    ]


def change_row(change: Change, offset: int) -> tuple[Any, ...]:
    terms = [None if term is None else write_term(term) for term in change.quad]
    return (("A" if change.sign > 0 else "D"), *terms, "t", 0, offset)


def read_frame(shape: RowShape, frame: DataFrame, report: Any = refuse, *, repeats: bool = False) -> Reading:
    return shape.read(frame, report, repeats=repeats)


def applied(changes: Any) -> set[Quad]:
    held: set[Quad] = set()
    for sign, quad in changes:
        (held.add if sign > 0 else held.discard)(quad)
    return held


@pytest.mark.sampled(by="seed")
@pytest.mark.parametrize("seed", [1, 2])
def test_change_rows_are_net_and_in_order(spark: SparkSession, seed: int) -> None:
    """Shuffled rows with places give each quad once, with its last change."""
    changes = random_changes(60, seed)
    rows = [change_row(change, offset) for offset, change in enumerate(changes)]
    drawn_from("rows", seed).shuffle(rows)
    frame = spark.createDataFrame(rows, ROWS).repartition(3)
    found = read_frame(shape_of(frame, None), frame).changes
    assert len(found) == len({change.quad for change in changes}) == len({change.quad for change in found})
    assert applied(found) == applied(changes)


KAFKA = ", topic string, partition int, offset long"


def spelt_rows(spark: SparkSession, places: str, *rows: tuple[Any, ...]) -> DataFrame:
    """Make change rows of one subject: each an operation, an object and a place."""
    return spark.createDataFrame(
        [(op, "<urn:s>", "<urn:p>", o, *place) for op, o, *place in rows],
        f"op string, s string, p string, o string{places}",
    )


def test_two_spellings_of_a_term_stay_in_order(spark: SparkSession) -> None:
    """Also without the column `g` and with the signs of N-Quads."""
    rows = [("+", '"\\u0041"'), ("A", '"B"'), ("-", '"A"'), ("D", '"B"'), ("+", '"B"')]
    placed = [(*row, "t", 0, offset) for offset, row in enumerate(rows)]
    frame = spelt_rows(spark, KAFKA, *placed)
    found = read_frame(shape_of(frame, None), frame).changes
    assert [(sign, str(quad.object)) for sign, quad in found] == [(1, "A"), (-1, "A"), (1, "B")]


def test_a_quad_is_inserted_and_deleted_only_in_an_order(spark: SparkSession) -> None:
    """Of one partition, shard or log; otherwise neither of the two is applied, and both are told."""
    shard, file = ", shard string, sequence string", ", file string, offset long, part int"
    for places, *rows in [
        ("", ("A", '"A"'), ("+", '"A"')),
        (KAFKA, ("D", '"A"', "t", 0, 1), ("A", '"A"', "t", 0, 2), ("A", '"A"', "t", 1, 3)),
        (shard, ("D", '"A"', "s", "1"), ("A", '"A"', "s", "2")),
        (file, ("D", '"A"', "a", 9, 0), ("A", '"A"', "b", 0, 0)),
    ]:
        frame = spelt_rows(spark, places, *rows).coalesce(1)
        found = read_frame(shape_of(frame, None), frame).changes
        assert [(sign, str(quad.object)) for sign, quad in found] == [(1, "A")]
    for places, *rows in [
        ("", ("D", '"A"'), ("A", '"A"')),
        ("", ("D", '"\\u0041"'), ("A", '"A"')),
        (KAFKA, ("D", '"A"', "t", 0, 1), ("A", '"A"', "t", 1, 2)),
        (shard, ("D", '"A"', "s", "1"), ("A", '"A"', "t", "2")),
    ]:
        frame = spelt_rows(spark, places, *rows).coalesce(1)
        faults: list[DecodingFault] = []
        report = partial(lambda found, place, fault: found.append(fault), faults)
        assert read_frame(shape_of(frame, None), frame, report).changes == []
        assert [fault.text for fault in faults] == ['D <urn:s> <urn:p> "A" .\nA <urn:s> <urn:p> "A" .']
        assert "in unknown order" in faults[0].reason


def test_lines_of_one_row_are_in_order(spark: SparkSession) -> None:
    """A text without a position may insert and delete a quad; two texts may not."""
    text = "+ <urn:s> <urn:p> <urn:o> .\n- <urn:s> <urn:p> <urn:o> .\n"
    frame = spark.createDataFrame([(text,)], "value string")
    assert [sign for sign, _ in read_frame(shape_of(frame, "nquads"), frame).changes] == [-1]
    frame = spark.createDataFrame([(text,), (text[: len(text) // 2],)], "value string")
    faults: list[str] = []
    shape = shape_of(frame, "nquads")
    assert read_frame(shape, frame, lambda _, fault: faults.append(fault.reason)).changes == []
    assert len(faults) == 1


def test_bad_change_rows_are_reported_each(spark: SparkSession) -> None:
    """An unknown operation, a NULL and a malformed term; what stands around them counts."""
    good = ("A", "<urn:s>", "<urn:p>", "<urn:o>", None)
    rows = [("X", *good[1:]), good, ("A", None, *good[2:]), ("A", "urn:s", *good[2:]), (None, *good[1:])]
    frame = spark.createDataFrame([(*row, "t", 0, n) for n, row in enumerate(rows)], ROWS)
    found: list[tuple[RecordPlace, DecodingFault]] = []
    changes = read_frame(shape_of(frame, None), frame, lambda *fault: found.append(fault)).changes
    assert len(changes) == 1
    assert [place.offset for place, _ in found] == [0, 2, 3, 4]
    reasons = [fault.reason for _, fault in found]
    assert "must hold A or D, or + or -, not 'X'" in reasons[0]
    assert reasons[1] == "the column 's' is NULL"
    assert "the subject must be an IRI in angle brackets" in reasons[2]
    assert found[2][1].text == "A urn:s <urn:p> <urn:o> ."


@pytest.mark.parametrize("is_binary", [False, True])
def test_text_is_decoded_on_executors_and_net(spark: SparkSession, is_binary: bool) -> None:
    """Rows of several lines, spread over partitions with their places, make what the feed makes."""
    changes = random_changes(80, 3)
    texts = [encode_nquads(Batch(tuple(changes[n : n + 4]))) for n in range(0, 80, 4)]
    rows = [(text.encode() if is_binary else text, "t", 0, n) for n, text in enumerate(texts)]
    drawn_from("texts").shuffle(rows)
    kind = "binary" if is_binary else "string"
    frame = spark.createDataFrame(
        rows, f"value {kind}, topic string, partition int, offset long"
    ).repartition(3)
    found = read_frame(shape_of(frame, "nquads"), frame).changes
    assert len(found) == len({change.quad for change in changes})
    assert applied(found) == applied(changes)


def test_neptune_commits_are_checked_and_may_be_cut(spark: SparkSession) -> None:
    """Records out of order and repeated are put right, missing ones reported, applied ones passed over."""

    def record(commit: int, operation: int, *, last: bool = False) -> str:
        statement = write_quad(Quad(URIRef(f"urn:{commit}"), URIRef("urn:p"), Literal(operation)))
        told = {
            "eventId": {"commitNum": commit, "opNum": operation},
            "data": {"stmt": statement},
            "op": "ADD",
        }
        return json.dumps({**told, **({"isLastOp": True} if last else {})})

    def taken(shape: RowShape, *values: str, report: Any = refuse) -> tuple[set[str], Reading]:
        frame = spark.createDataFrame([(value,) for value in values], "value string")
        reading = read_frame(shape, frame, report)
        return {f"{str(q.subject)[4:]}.{q.object}" for _, q in reading.changes}, reading

    one = spark.createDataFrame([("",)], "value string")
    shape, kept = shape_of(one, NEPTUNE), {}
    found, reading = taken(shape, record(1, 2, last=True), record(2, 1), record(1, 1), record(1, 1))
    assert found == {"1.1", "1.2", "2.1"}
    kept = dict(reading.kept)
    assert kept == {"commit": "2 1"}
    shape = shape_of(one, NEPTUNE)
    shape.restore({name: text for name, text in kept.items() if text is not None})
    found, reading = taken(shape, record(1, 1), record(2, 1), record(2, 2, last=True))
    assert (found, dict(reading.kept)) == ({"2.2"}, {"commit": "2"})
    assert taken(shape, record(2, 1), record(2, 2, last=True))[0] == set()
    assert not taken(shape, record(4, 1, last=True))[1].overlaps
    faults: list[str] = []
    taken(
        shape, record(6, 1), record(7, 2, last=True), "{", report=lambda _, fault: faults.append(fault.reason)
    )
    assert [reason[:40] for reason in sorted(faults)] == [
        "no record with isLastOp ends commit 6",
        "not JSON: Expecting property name enclos",
        "operation 1 of commit 7 is missing: its ",
    ]
    log = "".join(f"{text}\n" for text in (record(1, 1), record(1, 2, last=True)))
    assert {str(c.quad.object) for entry in read(NEPTUNE, log) for c in entry.batch.changes} == {"1", "2"}


def test_debezium_events_come_through_spark(spark: SparkSession) -> None:
    """Keys and values of a topic, shuffled; a table without a key in the value is named by that of Kafka."""
    form = debezium(PEOPLE)
    events = [
        {"op": "c", "after": {"id": n % 3, "name": str(n), "born": None}, "source": {"table": "people"}}
        for n in range(12)
    ]
    rows = [(json.dumps({"id": n % 3}), json.dumps(event), "t", 0, n) for n, event in enumerate(events)]
    rows.append((json.dumps({"id": 0}), json.dumps({"op": "d", "source": {"table": "people"}}), "t", 0, 12))
    rows.append((json.dumps({"id": 0}), None, "t", 0, 13))
    columns = "key string, value string, topic string, partition int, offset long"
    frame = spark.createDataFrame(rows[::-1], columns).repartition(3)
    reading = read_frame(shape_of(frame, form), frame)
    lines = [json.dumps({"key": json.loads(k), "value": v and json.loads(v)}) for k, v, *_ in rows]
    graph = rdflib.Graph()
    mirrored(graph, form, "\n".join(lines))
    assert applied(reading.changes) == state(graph)
    assert len(reading.changes) == 4


class Deltas:
    """A random history of a Delta table without a key."""

    def __init__(self, seed: int, versions: int = 6) -> None:
        chance = drawn_from("table", seed)
        held: list[tuple[int, str | None]] = []
        self.rows: list[tuple[Any, ...]] = []
        for version in range(1, versions + 1):
            for _ in range(chance.randrange(1, 8)):
                row = (chance.randrange(4), chance.choice(["Anne", "Bob", None]))
                if held and chance.random() < 0.4:
                    old = held.pop(chance.randrange(len(held)))
                    self.rows.append((*old, None, "update_preimage", version))
                    self.rows.append((*row, None, "update_postimage", version))
                    held.append(row)
                elif held and chance.random() < 0.3:
                    self.rows.append((*held.pop(), None, "delete", version))
                else:
                    held.append(row)
                    self.rows.append((*row, None, "insert", version))
            # a version that takes back what it does is not remembered, as if it were missing
            held.append((10 + version, None))
            self.rows.append((*held[-1], None, "insert", version))

    COLUMNS = "id int, name string, born date, _change_type string, _commit_version long"

    def to_text(self) -> str:
        names = ("id", "name", "born", "_change_type", "_commit_version")
        records = (dict(zip(names, row, strict=True)) for row in self.rows)
        return "".join(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n" for r in records)


@pytest.mark.sampled(by="seed")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_delta_rows_are_counted_by_spark(spark: SparkSession, seed: int) -> None:
    """Micro-batches of versions, shuffled, restarted and repeated, make what the feed makes."""
    table = Deltas(seed)
    form = delta_lake(PEOPLE)
    held: set[Quad] = set()
    kept: dict[str, str] = {}
    for versions in ((1, 2, 3), (1, 2, 3, 4), (5, 6)):
        rows = [row for row in table.rows if row[4] in versions]
        drawn_from("versions", seed, len(rows)).shuffle(rows)
        frame = spark.createDataFrame(rows, Deltas.COLUMNS)
        shape = shape_of(frame, form)
        shape.restore(kept)
        reading = read_frame(shape, frame, repeats=4 in versions)
        assert reading.overlaps
        for sign, quad in reading.changes:
            assert (quad in held) is (sign < 0)
            (held.add if sign > 0 else held.remove)(quad)
        for name, text in reading.kept.items():
            kept.pop(name, None)
            if text is not None:
                kept[name] = text
    graph = rdflib.Graph()
    mirrored(graph, form, table.to_text())
    assert held == state(graph)


def test_delta_values_are_exact(spark: SparkSession) -> None:
    """Decimals, times and large integers are spelled as they are, and arrays refused."""
    mapping = {"t": {"subject": "urn:{id}", "predicates": {name: f"urn:{name}" for name in ("d", "t", "n")}}}
    moment = datetime.datetime(2024, 7, 1, 10, 5, 0, 123456, tzinfo=datetime.UTC)
    rows = [(1 << 60, Decimal("1.50"), moment, "insert", 1)]
    columns = "id long, d decimal(5,2), t timestamp, _change_type string, _commit_version long"
    frame = spark.createDataFrame(rows, columns)
    found = read_frame(shape_of(frame, delta_lake(mapping)), frame).changes
    assert {str(quad.object) for _, quad in found} == {"1.50", "2024-07-01T10:05:00.123456Z"}
    assert {str(quad.subject) for _, quad in found} == {f"urn:{1 << 60}"}
    faults: list[str] = []
    frame = spark.createDataFrame(
        [(1, [1], "insert", 1)], "id int, d array<int>, _change_type string, _commit_version int"
    )
    read_frame(shape_of(frame, delta_lake(mapping)), frame, lambda _, fault: faults.append(fault.reason))
    assert "an array" in faults[0]


def test_a_bad_version_is_refused_whole(spark: SparkSession) -> None:
    """One that deletes what is not there, has another kind of change or no number; the others count."""
    rows = [
        (1, "Anne", "insert", 1),
        (2, "Bob", "delete", 2), (3, "Carl", "insert", 2),
        (4, "Dora", "upsert", 3), (5, "Eve", "insert", 3),
        (6, "Finn", "insert", None), (7, "Gil", "insert", -1),
        (8, "Hal", "insert", 4), (8, "Hal", "insert", 4),
    ]  # fmt: skip
    frame = spark.createDataFrame(rows, "id int, name string, _change_type string, _commit_version long")
    faults: list[DecodingFault] = []
    shape = shape_of(frame, delta_lake(PEOPLE))
    reading = read_frame(shape, frame, lambda _, fault: faults.append(fault))
    assert {str(q.object) for _, q in reading.changes if isinstance(q.object, Literal)} == {"Anne", "Hal"}
    reasons = " ".join(fault.reason for fault in faults)
    for reason in (
        "deletes a row that does not exist",
        "'upsert'",
        "0 or more, not None",
        "0 or more, not -1",
    ):
        assert reason in reasons
    (upsert,) = (fault.text for fault in faults if "'upsert'" in fault.reason)
    assert sorted(json.loads(line)["_change_type"] for line in upsert.splitlines()) == ["insert", "upsert"]
    late = spark.createDataFrame([(9, "Ida", "insert", 3)], frame.schema)
    read_frame(shape, late, lambda _, fault: faults.append(fault))
    assert faults[-1].reason == "version 3 comes after version 4"
    again = spark.createDataFrame([(9, "Ida", "insert", 4)], frame.schema)
    read_frame(shape, again, lambda _, fault: faults.append(fault), repeats=True)
    assert "had other rows when it was applied" in faults[-1].reason


def test_a_column_that_a_table_lacks_is_warned_of(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    """When the mirror starts; it counts as NULL, also where it is all there is."""
    frame = spark.createDataFrame([("insert", 1)], "_change_type string, _commit_version long")
    shape = shape_of(frame, delta_lake(PEOPLE))
    assert caplog.text.count("lack the mapped column") == 3
    assert read_frame(shape, frame).changes == []


class Remembering:
    """A decoder that has a state."""

    restore = split = decode = None


@pytest.mark.parametrize(
    ("form", "columns", "error", "reason"),
    [
        (None, "op string, s string, p string", ShapeError, "the column 'o' is missing; a row of changes"),
        (None, "op int, s string, p string, o string", ShapeError, "the column 'op' is of type int"),
        (None, "op string, s string, p string, o string, g int", ShapeError, "the column 'g' is of type int"),
        ("nquads", "line string", ShapeError, "'value' is missing; the format 'nquads' needs value"),
        ("neptune", "value int", ShapeError, "'value' is of type int"),
        (debezium(PEOPLE), "value string, key int", ShapeError, "'key' is of type int"),
        (delta_lake(PEOPLE), "id int, _change_type string", ShapeError, "'_commit_version' is missing"),
        ("debezium", "value string", MappingError, "needs a mapping"),
        ("delta-lake", "value string", MappingError, "needs a mapping"),
        ("sparql-update", "value string", ShapeError, "against the graph.*read it with rdflive.mirror"),
        ("wikidata", "value string", ShapeError, "an update of the graph"),
        ("nonsense", "value string", FeedFormatError, "unknown change-feed format"),
    ],
)  # fmt: skip
def test_rows_of_another_shape_are_refused(
    spark: SparkSession, form: Any, columns: str, error: type[Exception], reason: str
) -> None:
    """The message says what is missing, or why it cannot be."""
    with pytest.raises(error, match=reason):
        shape_of(spark.createDataFrame([], columns), form)


def test_a_format_with_a_state_is_refused(spark: SparkSession) -> None:
    """Executors do not share what a decoder of a plugin remembers."""

    def make() -> Decoder:
        decoder: Any = Remembering()
        return decoder

    with pytest.raises(ShapeError, match="its decoder keeps state"):
        shape_of(spark.createDataFrame([], "value string"), FeedFormat("mine", (), make))
    assert feed_format("nquads").name == "nquads"


def no_file(path: str, end: int, check: int) -> bool:
    """Be asked of none."""
    raise AssertionError(path)


def always() -> bool:
    return True


def kafka_step(stored: list[int], start: list[int] | None, end: list[int]) -> BatchPlan:
    def offsets(ends: list[int]) -> Any:
        return [{"t": {str(partition): end for partition, end in enumerate(ends)}}]

    cursor = Cursor("a", 1, offsets(stored))
    given = Given("b", 1 if start else 0, offsets(start) if start else None, offsets(end))
    found = step(cursor, given, "name", is_positioned=True, is_numbered=False, still_has=no_file)
    assert found is not None
    return found


def kafka_rows(spark: SparkSession, *places: tuple[int, int]) -> DataFrame:
    rows = [("A", "<urn:s>", "<urn:p>", f"<urn:{p}.{o}>", None, "t", p, o) for p, o in places]
    return spark.createDataFrame(rows, ROWS)


def test_rows_that_were_applied_are_left_out(spark: SparkSession) -> None:
    """Those below the kept offset of their partition, and no others."""
    frame = kafka_rows(spark, (0, 3), (0, 4), (0, 5), (1, 3), (1, 4), (2, 0))
    left = unapplied(frame, kafka_step([5, 4], [2, 2], [6, 5, 1]), "name")
    assert {(row.partition, row.offset) for row in left.collect()} == {(0, 5), (1, 4), (2, 0)}
    everything = unapplied(frame, kafka_step([3, 3], [3, 3], [6, 5, 1]), "name")
    assert everything is frame


def test_a_topic_that_begins_behind_the_graph_needs_a_resync(spark: SparkSession) -> None:
    """A new checkpoint may begin at the latest offset, or behind what has expired: its first rows tell."""
    found = kafka_step([5, 4], None, [9, 4])
    assert unapplied(kafka_rows(spark, (0, 5), (0, 8)), found, "name").count() == 2
    assert unapplied(kafka_rows(spark, (0, 0), (0, 8)), found, "name").count() == 1
    for places in ([(0, 6), (0, 8)], [(2, 0)]):
        with pytest.raises(
            ResyncNeeded, match="has 't/0' up to 5, and the query may read it only from a later"
        ):
            unapplied(kafka_rows(spark, *places), found, "name")


class Scripted:
    """A shape whose reading is given, and a checkpoint of one micro-batch."""

    is_positioned, is_numbered = False, False
    path = "here"

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def restore(self, kept: Any) -> None:
        """Remember nothing."""

    def read(self, batch: Any, report: Any, *, repeats: bool) -> Reading:
        """Give the reading."""
        return self.reading

    def given(self, number: int) -> Given:
        """Give the first micro-batch."""
        return Given("a", number, None, [7])


def test_an_interrupt_waits_for_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of it comes behind it, and the micro-batch counts as applied."""
    scripted: Any = Scripted(Reading([Change(1, Quad(URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o")))]))
    graph = rdflib.Dataset()
    applier = BatchApplier(graph, GraphTarget(graph), scripted, scripted, "name", None, always)
    write = GraphTarget.write

    def interrupted(*args: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        write(*args)

    nothing: Any = None
    monkeypatch.setattr(GraphTarget, "write", interrupted)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            applier(nothing, 0)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert len(state(graph)) == 1
    assert applier.stored == Cursor("a", 0, [7])
    monkeypatch.undo()
    applier(nothing, 0)
    again = BatchApplier(graph, GraphTarget(graph), scripted, scripted, "name", None, always)
    assert again.stored == applier.stored


def test_a_mirror_that_was_replaced_commits_no_more() -> None:
    """Its callback may still work when Spark calls it stopped: what it read is not applied."""
    scripted: Any = Scripted(Reading([Change(1, Quad(URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o")))]))
    graph = rdflib.Dataset()
    current = [True]
    applier = BatchApplier(graph, GraphTarget(graph), scripted, scripted, "name", None, current.pop)
    scripted.given = lambda number: Given("a", number, [6 + number] if number else None, [7 + number])
    applier(scripted, 0)
    scripted.reading = Reading([Change(-1, change.quad) for change in scripted.reading.changes])
    current.append(False)
    with pytest.raises(RdfliveError, match=r"micro-batch 1 of the mirror 'name' is not applied: .* stopped"):
        applier(scripted, 1)
    assert len(state(graph)) == 1
    assert Cursor.from_text(GraphTarget(graph).kept("name")["cursor"], "name").batch == 0


def test_an_empty_graph_is_not_the_default_one(spark: SparkSession) -> None:
    """The message says how that is written."""
    frame = spark.createDataFrame([("A", "<urn:s>", "<urn:p>", "<urn:o>", "", "t", 0, 0)], ROWS)
    faults: list[str] = []
    read_frame(shape_of(frame, None), frame, lambda _, fault: faults.append(fault.reason))
    assert faults == ["the graph is ''; NULL stands for the default graph"]
