"""Tables of PostgreSQL, mirrored from its log of changes through Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdflib import RDF, XSD, Dataset, Graph, Literal, Namespace, URIRef

import rdflive
from rdflive.feeds import debezium
from support.pgoutput import UNAVAILABLE, Column, Event, Reader, Relation
from support.postgresql import Database, database
from support.rail_tables import CODES, TABLES, Transactions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.hunted("a database and Spark; the gate has the events of test_table_events.py")

E = Namespace("http://rail.example/")
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
MAPPING = {
    "public.trains": {
        "subject": f"{E}train/{{id}}",
        "class": E.Train,
        "predicates": {"name": {"predicate": LABEL, "language": "de"}}
        | {name: E[name] for name in ("price", "since", "seen", "note", "active")},
        "key": ["id"],
    },
    "stations": {
        "subject": f"{E}station/{{code}}",
        "predicates": {name: E[name] for name in ("name", "opened", "height", "note")},
        "graph": f"{E}stations",
    },
    "calls": {
        "subject": f"{E}train/{{train}}",
        "predicates": {"station": {"predicate": E.calls, "object": f"{E}station/{{station}}"}},
        "key": ["train", "place"],
    },
}
QUERY = f"SELECT ?train ?name ?station {{ ?train <{LABEL}> ?name ; <{E.calls}> ?station }}"
COLUMNS = """
SELECT json_build_array(relname,
  json_agg(json_build_array(attname, atttypid::int, atttypmod) ORDER BY attnum))
FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
WHERE attnum > 0 AND NOT attisdropped AND relkind = 'r' AND relnamespace = 'public'::regnamespace
GROUP BY relname
"""
KEYS = """
SELECT json_build_array(relname, json_agg(attname))
FROM pg_index JOIN pg_class ON indrelid = pg_class.oid
JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
WHERE indisprimary AND relnamespace = 'public'::regnamespace GROUP BY relname
"""
MESSAGES = """
SELECT to_json(ARRAY[encode(data, 'hex')]) FROM pg_logical_slot_get_binary_changes(
  'changes', NULL, NULL, 'proto_version', '1', 'publication_names', 'changes')
"""


@pytest.fixture(scope="module")
def shop() -> Iterator[Database]:
    with database() as found:
        found.run(TABLES)
        yield found


class Log:
    """What a connector would have written to Kafka, here in Parquet files: one per transaction."""

    def __init__(self, shop: Database, folder: Path) -> None:
        self.shop = shop
        self.folder = folder
        self.kinds: Counter[str] = Counter()
        """What the events were, so that none of them goes untested."""
        self._written = 0
        self._offsets: Counter[str] = Counter()
        self._reader = Reader(dict(shop.rows(KEYS)))
        folder.mkdir()

    def take_snapshot(self) -> None:
        """Write the rows of the tables as they are."""
        for name, columns in self.shop.rows(COLUMNS):
            relation = Relation("public", name, tuple(Column(*column) for column in columns))
            cells = ", ".join(f"{column.name}::text" for column in relation.columns)
            rows = self.shop.rows(f"SELECT to_json(ARRAY[{cells}]) FROM {name}")
            self._write(self._reader.snapshot(relation, rows))

    def go_on(self) -> None:
        """Write the transactions that have been committed since."""
        messages = (bytes.fromhex(text) for (text,) in self.shop.rows(MESSAGES))
        for events in self._reader.transactions(messages):
            self._write(events)

    def stream(self, spark: SparkSession) -> DataFrame:
        """Read it as it grows."""
        schema = "topic string, partition int, offset long, key string, value string"
        return spark.readStream.schema(schema).parquet(str(self.folder))

    def _write(self, events: list[Event]) -> None:
        if not events:
            return
        rows = []
        for table, key, value in events:
            rows.append(
                {"topic": table, "partition": 0, "offset": self._offsets[table], "key": key, "value": value}
            )
            self._offsets[table] += 1
            self.kinds.update(_kinds(value))
        types = [("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]
        schema = pa.schema([*types, ("key", pa.string()), ("value", pa.string())])
        hidden = self.folder / ".being-written"
        pq.write_table(pa.Table.from_pylist(rows, schema), hidden)
        hidden.rename(self.folder / f"{self._written:05}.parquet")
        self._written += 1


def _kinds(value: str | None) -> Iterator[str]:
    if value is None:
        yield "tombstone"
        return
    event = json.loads(value)["payload"]
    yield event["op"]
    if UNAVAILABLE in (event["after"] or {}).values():
        yield "unavailable"
    if (
        event["op"] == "u"
        and event["source"]["table"] == "calls"
        and event["before"]["place"] != event["after"]["place"]
    ):
        yield "moved"


def selected(shop: Database) -> set[Any]:
    """Make the quads by hand, of what SELECT says."""
    time = """YYYY-MM-DD"T"HH24:MI:SS.US"""
    trains = f"id::text, name, price::text, since::text, to_char(seen, '{time}'), note, active::text"
    stations = f"code, name, to_char(opened, '{time}'), height, note"
    found: set[Any] = set()

    def tell(
        subject: URIRef,
        predicate: Any,
        text: Any,
        datatype: Any = None,
        graph: Any = None,
        lang: str | None = None,
    ) -> None:
        if text is not None:
            found.add((subject, URIRef(predicate), Literal(text, datatype=datatype, lang=lang), graph))

    for number, name, price, since, seen, note, active in shop.rows(
        f"SELECT to_json(ARRAY[{trains}]) FROM trains"
    ):
        train = E[f"train/{number}"]
        found.add((train, RDF.type, E.Train, None))
        tell(train, LABEL, name, lang="de")
        tell(train, E.price, price, XSD.decimal)
        tell(train, E.since, since, XSD.date)
        tell(train, E.seen, _trimmed(seen), XSD.dateTime)
        tell(train, E.note, note)
        tell(train, E.active, active, XSD.boolean)
    for code, name, opened, height, note in shop.rows(f"SELECT json_build_array({stations}) FROM stations"):
        station = E[f"station/{CODES[code]}"]
        tell(station, E.name, name, graph=E.stations)
        tell(station, E.opened, opened and f"{_trimmed(opened)}Z", XSD.dateTime, graph=E.stations)
        tell(station, E.height, height and str(float(height)), XSD.double, graph=E.stations)
        tell(station, E.note, note, graph=E.stations)
    for number, code in shop.rows("SELECT to_json(ARRAY[train::text, station]) FROM calls"):
        found.add((E[f"train/{number}"], E.calls, E[f"station/{CODES[code]}"], None))
    return found


def _trimmed(time: str | None) -> str | None:
    return time and time.rstrip("0").removesuffix(".")


def quads(dataset: Dataset) -> set[Any]:
    """List what a dataset holds."""
    return {(s, p, o, None if g == dataset.default_graph.identifier else g) for s, p, o, g in dataset.quads()}


def answers(found: set[Any]) -> Counter[Any]:
    """Evaluate the query over the default graph with rdflib."""
    graph = Graph()
    for s, p, o, name in found:
        if name is None:
            graph.add((s, p, o))
    return Counter(tuple(row) for row in graph.query(QUERY))  # type: ignore[arg-type]  # SELECT gives rows


def test_a_graph_follows_the_tables_of_a_database(
    spark: SparkSession, shop: Database, tmp_path: Path
) -> None:
    """From its log, a graph has what SELECT says, and a subscription is told what changes in its answers."""
    from rdflive_stores.spark.mirror import mirror

    transactions, log = Transactions(5), Log(shop, tmp_path / "log")
    dataset = Dataset()
    told: Counter[Any] = Counter()

    def take(delta: rdflive.Delta) -> None:
        for solution, weight in delta.weights().items():
            told[solution.train, solution.name, solution.station] += weight

    def check() -> None:
        expected, found = selected(shop), quads(dataset)
        assert (found - expected, expected - found) == (set(), set())
        assert +told == answers(expected)

    rdflive.subscribe(dataset, QUERY, take)
    shop.run(transactions.script(25))
    shop.rows(MESSAGES)  # what the snapshot has already
    log.take_snapshot()
    for truncated in ("", "calls"), ("trains, stations", ""):
        query = mirror(log.stream(spark), dataset, debezium(MAPPING), checkpoint=tmp_path / "checkpoint")
        try:
            query.processAllAvailable()
            check()
            for tables in truncated:
                shop.run(transactions.script(25, truncate=tables))
                log.go_on()
                query.processAllAvailable()
                check()
        finally:
            query.stop()
        shop.run("ALTER TABLE trains ADD COLUMN IF NOT EXISTS colour text DEFAULT 'red'")
        shop.try_at_once(*(transactions.script(10, pause="SELECT pg_sleep(0.005);") for _ in range(2)))
        log.go_on()
    assert log.kinds.keys() == {"r", "c", "u", "d", "t", "tombstone", "unavailable", "moved"}
    assert min(log.kinds.values()) > 1, log.kinds
