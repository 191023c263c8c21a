"""Topics of a Kafka broker, mirrored; `support.kafka` says what makes these tests run."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest
import rdflib
from pyspark.errors import StreamingQueryException
from rdflib import Literal, URIRef

from rdflive import Quad
from rdflive.feeds import FeedFormat, debezium
from rdflive_stores.spark.mirror import MirroredBatch, mirror
from support.kafka import broker, needs_kafka
from support.spark_mirrors import Answers, state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    needs_kafka,
    pytest.mark.hunted("a broker and Spark; the gate has rows with the places of topics without a broker"),
]
PARTITIONS = 3
PEOPLE = {
    "shop.people": {
        "subject": "http://e/{id}",
        "predicates": {"name": "http://e/name", "note": "http://e/note"},
    }
}
LEFT_OUT = "__debezium_unavailable_value"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker(tmp_path_factory.mktemp("kafka"), partitions=PARTITIONS) as found:
        yield found


class Record(NamedTuple):
    """A record, before it has an offset."""

    partition: int
    key: bytes | None
    value: bytes | None


class World:
    """A topic, and a graph that follows it."""

    def __init__(self, spark: SparkSession, address: str, folder: Path) -> None:
        self.graph: Any = rdflib.Dataset()
        self.answers = Answers(self.graph)
        self.checkpoint = folder / "checkpoint"
        self._spark, self._server, self._topic = spark, address, folder.name

    def produce(self, records: Sequence[Record]) -> None:
        """Write records, those of a partition in their order; the broker makes the topic."""
        types = {"partition": pa.int32(), "key": pa.binary(), "value": pa.binary()}
        table = pa.Table.from_pylist([record._asdict() for record in records], pa.schema(list(types.items())))
        writer = self._spark.createDataFrame(table).coalesce(1).write.format("kafka")
        writer.option("kafka.bootstrap.servers", self._server).option("topic", self._topic).save()

    def run(self, form: FeedFormat | str, limit: int, starting: str = "earliest") -> list[MirroredBatch]:
        """Mirror what is there, in micro-batches of so many records; give what they came to."""
        batches: list[MirroredBatch] = []
        options: dict[str, Any] = {"checkpoint": self.checkpoint, "on_batch": batches.append}
        stream = self._stream(limit, starting)
        query = mirror(stream, self.graph, form, trigger={"availableNow": True}, **options)
        query.awaitTermination()
        return batches

    def fail(self, form: FeedFormat | str, starting: str = "earliest") -> str:
        """Mirror what is there, which fails; give the text of the exception."""
        with pytest.raises(StreamingQueryException) as caught:
            self.run(form, 100, starting)
        return str(caught.value)

    def starting_at(self, offset: int) -> str:
        """Write the option that begins at an offset of every partition."""
        return json.dumps({self._topic: {str(partition): offset for partition in range(PARTITIONS)}})

    def _stream(self, limit: int, starting: str) -> DataFrame:
        options = {"kafka.bootstrap.servers": self._server, "subscribe": self._topic}
        more = {"startingOffsets": starting, "maxOffsetsPerTrigger": str(limit)}
        return self._spark.readStream.format("kafka").options(**options, **more).load()


@pytest.fixture
def world(address: str, spark: SparkSession, tmp_path: Path) -> World:
    return World(spark, address, tmp_path)


class People:
    """A table that changes at random, and what Debezium says of it."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._rows: dict[int, dict[str, Any]] = {}
        self.kinds: Counter[str] = Counter()

    def records(self, count: int) -> list[Record]:
        """Make so many changes; the records of a row are all in one partition."""
        return [record for _ in range(count) for record in self._change(self._random.randint(1, 12))]

    def quads(self) -> set[Quad]:
        """List the quads of the table by hand."""
        return {
            Quad(URIRef(f"http://e/{key}"), URIRef(f"http://e/{column}"), Literal(row[column]))
            for key, row in self._rows.items()
            for column in ("name", "note")
            if row[column] is not None
        }

    def _change(self, key: int) -> Iterator[Record]:
        old = self._rows.get(key)
        kind = self._random.choice(("delete", "put", "put", "large"))
        if kind == "delete" and old is not None:
            before = self._random.choice(({"id": key}, None))
            yield self._record(key, "d", before, None)
            yield self._record(key, "d", before, None)._replace(value=None)
            del self._rows[key]
        else:
            name, note = (self._random.choice(("Ann", "Bö\n\"b'", "", None)) for _ in range(2))
            is_large = kind == "large" and old is not None and old["note"] is not None
            row = {"id": key, "name": name, "note": old["note"] if is_large and old else note}
            shown = {**row, "note": LEFT_OUT} if is_large else row
            yield self._record(key, "c" if old is None else "u", None, shown)
            self._rows[key] = row
            kind = "large" if is_large else "put"
        self.kinds[kind] += 1

    def _record(self, key: int, op: str, before: Any, after: Any) -> Record:
        source = {"connector": "postgresql", "db": "db", "schema": "shop", "table": "people"}
        value = {"op": op, "before": before, "after": after, "source": source, "ts_ms": 1}
        named = json.dumps({"schema": None, "payload": {"id": key}})
        return Record(
            key % PARTITIONS, named.encode(), json.dumps({"schema": None, "payload": value}).encode()
        )


def lines(sign: str, numbers: range) -> list[Record]:
    """Write quads of a graph, and spread them over the partitions."""
    return [
        Record(number % PARTITIONS, None, f'{sign} <urn:s> <urn:p> "{number}" <urn:g> .'.encode())
        for number in numbers
    ]


def numbers(graph: Any) -> Counter[int]:
    return Counter(int(str(quad.object)) for quad in state(graph))


def test_events_of_debezium_reach_a_graph_through_kafka(world: World) -> None:
    """With keys and tombstones, from three partitions, across a lost checkpoint: the table and its deltas."""
    people, form = People(3), debezium(PEOPLE)
    for is_lost in (False, False, True):
        if is_lost:
            shutil.rmtree(world.checkpoint)
        before = world.answers.commits
        world.produce(people.records(60))
        batches = world.run(form, 40)
        assert state(world.graph) == people.quads()
        world.answers.check()
        assert len(batches) > 1
        assert world.answers.commits - before <= len(batches)
    assert min(people.kinds[kind] for kind in ("put", "large", "delete")) > 5


def test_a_lost_checkpoint_applies_no_record_of_a_topic_again(world: World) -> None:
    """Nothing that was inserted and deleted before comes back, not even for a moment."""
    world.produce(lines("+", range(30)))
    world.produce(lines("-", range(30)))
    world.run("nquads", 100)
    assert numbers(world.graph) == Counter()
    for limit, begin in ((100, 100), (7, 200)):
        shutil.rmtree(world.checkpoint)
        world.produce(lines("+", range(begin, begin + 10)))
        batches = world.run("nquads", limit)
        assert sum(batch.changes for batch in batches) == 10
    assert numbers(world.graph) == Counter([*range(100, 110), *range(200, 210)])
    shutil.rmtree(world.checkpoint)
    assert world.run("nquads", 100) == []


def test_records_that_were_passed_over_ask_for_a_resync(world: World) -> None:
    """A query that begins behind what the graph has, or a graph made anew under a checkpoint, is refused."""
    world.produce(lines("+", range(30)))
    world.run("nquads", 100)
    world.produce(lines("+", range(30, 60)))
    shutil.rmtree(world.checkpoint)
    assert "; resync: " in world.fail("nquads", world.starting_at(15))
    assert numbers(world.graph) == Counter(range(30))
    shutil.rmtree(world.checkpoint)
    world.run("nquads", 100, world.starting_at(10))
    assert numbers(world.graph) == Counter(range(60))
    world.graph = rdflib.Dataset()
    world.produce(lines("+", range(60, 63)))
    assert "; resync: " in world.fail("nquads")
    assert numbers(world.graph) == Counter()
