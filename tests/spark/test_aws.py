"""Streams of AWS as sources: Kinesis of moto, and a server that answers as Neptune Streams does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import rdflib
from pyspark.sql import SparkSession

import rdflive
from rdflive_stores.spark.aws.kinesis import _Reader as KinesisReader
from rdflive_stores.spark.aws.kinesis import _settings as kinesis_settings
from rdflive_stores.spark.aws.neptune import _Reader as NeptuneReader
from rdflive_stores.spark.aws.neptune import _settings as neptune_settings
from rdflive_stores.spark.mirror import mirror
from support.effort import drawn_from

boto3 = pytest.importorskip("boto3", reason="needs the extra rdflive[spark-aws]")
REGION = "us-east-1"
STREAM = "changes"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give boto3 keys that nobody checks."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    server = pytest.importorskip("moto.server", reason="needs moto, which tox installs").ThreadedMotoServer(
        ip_address="127.0.0.1", port=0, verbose=False
    )
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


class Stream:
    """A stream of Kinesis, and a reader of it that forgets nothing but what Spark would keep."""

    def __init__(self, url: str, name: str, **options: str) -> None:
        self.options = {"streamName": name, "region": REGION, "endpointUrl": url, **options}
        self.kinesis = boto3.client("kinesis", region_name=REGION, endpoint_url=url)
        self.kinesis.create_stream(StreamName=name, ShardCount=2)
        self.name = name

    @property
    def reader(self) -> KinesisReader:
        return KinesisReader(kinesis_settings(self.options))

    def put(self, *keyed: tuple[str, str]) -> None:
        """Write records, each with its key."""
        records = [{"PartitionKey": key, "Data": value.encode()} for key, value in keyed]
        self.kinesis.put_records(StreamName=self.name, Records=records)


def read_all(reader: Any, offset: Any) -> tuple[list[Any], Any]:
    """Read until nothing comes; each step is read again between its offsets, as after a failure."""
    rows: list[Any] = []
    while True:
        found, end = reader.read(offset)
        listed = list(found)
        assert list(reader.readBetweenOffsets(offset, end)) == listed
        if not listed and end == offset:
            return rows, offset
        rows += listed
        offset = end


class Shards:
    """Stands for a client of Kinesis: moto moves the records of a shard that is split to its children."""

    def __init__(self) -> None:
        self.parents: dict[str, list[str]] = {"0": [], "1": []}
        self.records: dict[str, list[dict[str, Any]]] = {"0": [], "1": []}
        self.closed: set[str] = set()
        self._of_key = dict(zip("01234", "00011", strict=True))
        self._count = 0

    def put(self, key: str, value: str) -> None:
        """Write a record to the open shard of its key."""
        self._count += 1
        record = {"PartitionKey": key, "Data": value.encode(), "SequenceNumber": str(self._count)}
        self.records[self._of_key[key]].append(record)

    def replace(self, old: list[str], new: dict[str, str]) -> None:
        """Split a shard, or merge two, into shards with some keys."""
        self.closed.update(old)
        for shard, keys in new.items():
            self.parents[shard], self.records[shard] = old, []
            self._of_key |= dict.fromkeys(keys, shard)

    def get_paginator(self, _: str) -> Shards:
        return self

    def paginate(self, **_: Any) -> list[Any]:
        names = ("ParentShardId", "AdjacentParentShardId")
        shards = [
            {"ShardId": shard} | dict(zip(names, parents, strict=False))
            for shard, parents in self.parents.items()
        ]
        return [{"Shards": shards[::2]}, {"Shards": shards[1::2]}]

    def get_shard_iterator(self, ShardId: str, **asked: Any) -> Any:  # noqa: N803
        after = int(asked.get("StartingSequenceNumber", 0))
        numbers = [int(record["SequenceNumber"]) for record in self.records[ShardId]]
        return {"ShardIterator": f"{ShardId} {sum(number <= after for number in numbers)}"}

    def get_records(self, ShardIterator: str, Limit: int) -> Any:  # noqa: N803
        shard, begin = ShardIterator.split()
        held = self.records[shard]
        end = min(int(begin) + 2, len(held))
        answer = {"Records": held[int(begin) : end], "MillisBehindLatest": 0 if end == len(held) else 1}
        if shard in self.closed and end == len(held):
            return answer
        return answer | {"NextShardIterator": f"{shard} {end}"}


@pytest.mark.parametrize("most", ["1", "3", "10000"])
def test_records_of_kinesis_come_once_and_in_the_order_of_their_keys(
    most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the bound of a micro-batch, and while shards are split and merged."""
    kinesis = Shards()
    monkeypatch.setattr("rdflive_stores.spark.aws.kinesis.client", lambda *_: kinesis)
    reader = KinesisReader(kinesis_settings({"streamName": "s", "maxRecordsPerTrigger": most}))
    random, rows, written = drawn_from("kinesis", most), [], []
    offset: Any = reader.initialOffset()
    for step in range(9):
        for place in range(12):
            written.append((str(random.randrange(5)), f"{step} {place}"))
            kinesis.put(*written[-1])
        if step == 2:
            kinesis.replace(["0"], {"2": "01", "3": "2"})
        if step == 5:
            kinesis.replace(["3", "1"], {"4": "234"})
        if step % 3 != 2:  # what was written before a split or a merge is read behind it
            found, offset = read_all(reader, json.loads(json.dumps(offset)))
            rows += found
    found, offset = read_all(reader, offset)
    rows += found
    for key in "01234":
        assert [row[0] for row in rows if row[1] == key] == [text for name, text in written if name == key]
    assert len(rows) == len(written)
    assert {shard for shard, place in offset.items() if place == "done"} == {"0", "1", "3"}


def test_latest_is_what_comes_from_now_on(moto: str) -> None:
    """What was there when the query began is left out, also where it was started again before more came."""
    stream = Stream(moto, "latest", startingPosition="LATEST")
    stream.put(("a", "old"))
    offset = stream.reader.initialOffset()
    assert list(stream.reader.read(offset)[0]) == []
    stream.put(("a", "new"), ("b", "new"))
    rows, _ = read_all(stream.reader, offset)
    assert [row[0] for row in rows] == ["new", "new"]


def test_a_record_that_is_no_text_is_named(moto: str) -> None:
    stream = Stream(moto, "bytes")
    stream.kinesis.put_record(StreamName="bytes", PartitionKey="a", Data=b"\xff")
    with pytest.raises(rdflive.RdfliveError, match=r"record \d+ of shardId-\d+ is not UTF-8"):
        list(stream.reader.read(stream.reader.initialOffset())[0])


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        (kinesis_settings, {}, "format 'kinesis' needs the option streamName"),
        (kinesis_settings, {"streamName": "s", "stream": "s"}, "has no option 'stream'; it has streamName"),
        (kinesis_settings, {"streamname": "s", "startingposition": "now"}, "one of TRIM_HORIZON, LATEST"),
        (neptune_settings, {}, "format 'neptune_stream' needs the option endpointUrl"),
        (neptune_settings, {"endpointUrl": "u", "maxRecordsPerTrigger": "0"}, "a number above 0, got '0'"),
    ],
)
def test_options_are_looked_at(settings: Any, options: dict[str, str], message: str) -> None:
    """What is unknown, missing or no number is named."""
    with pytest.raises(rdflive.RdfliveError, match=message):
        settings(options)


class Neptune:
    """The stream of a database, as a server gives it."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.page = 10_000
        neptune = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
                after = (-1, -1)
                if asked["iteratorType"] == "AFTER_SEQUENCE_NUMBER":
                    after = int(asked["commitNum"]), int(asked["opNum"])
                rows = [
                    r for r in neptune.records if (r["eventId"]["commitNum"], r["eventId"]["opNum"]) > after
                ]
                rows = rows[: neptune.page]
                if rows:
                    body = {"lastEventId": rows[-1]["eventId"], "records": rows, "totalRecords": len(rows)}
                    self._answer(200, body | {"format": "NQUADS", "lastTrxTimestampInMillis": 1})
                else:
                    self._answer(404, {"code": "StreamRecordsNotFoundException", "detailedMessage": "none"})

            def _answer(self, status: int, body: Any) -> None:
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("x-amzn-errortype", body.get("code", ""))
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def commit(self, *operations: tuple[str, str]) -> None:
        """Add a commit of ADD and REMOVE with lines of N-Quads."""
        number = 1 + max((record["eventId"]["commitNum"] for record in self.records), default=0)
        for place, (op, statement) in enumerate(operations, 1):
            record = {"commitTimestampInMillis": 1, "eventId": {"commitNum": number, "opNum": place}}
            record |= {"data": {"stmt": statement}, "op": op}
            self.records.append(record | ({"isLastOp": True} if place == len(operations) else {}))


@pytest.fixture
def neptune() -> Iterator[Neptune]:
    found = Neptune()
    yield found
    found.server.shutdown()
    found.server.server_close()


def quad(number: int) -> str:
    return f"<urn:{number}> <urn:p> <urn:o> .\n"


@pytest.mark.parametrize("most", ["1", "4", "10000"])
def test_neptune_is_read_in_whole_commits(
    neptune: Neptune, most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However pages and micro-batches are cut; a commit whose end is not there yet waits."""
    monkeypatch.setattr("rdflive_stores.spark.aws.neptune._PAGE", 3)
    neptune.page = 3
    reader = NeptuneReader(
        neptune_settings({"endpointUrl": neptune.url, "region": REGION, "maxRecordsPerTrigger": most})
    )
    offset: Any = reader.initialOffset()
    assert read_all(reader, offset) == ([], offset)
    for size in (1, 5, 2):
        neptune.commit(*(("ADD", quad(n)) for n in range(size)))
    late = neptune.records.pop()
    found, end = reader.read(offset)
    first = list(found)
    assert [row[2:] for row in first] == [(1, 1), *((2, n) for n in range(1, 6))][: {"1": 1}.get(most, 6)]
    neptune.records.append(late)
    rows, _ = read_all(reader, end)
    assert [row[2:] for row in first + rows] == [(1, 1), *((2, n) for n in range(1, 6)), (3, 1), (3, 2)]


def test_a_graph_follows_streams_of_aws(
    moto: str, neptune: Neptune, spark: SparkSession, tmp_path: Path
) -> None:
    """Kinesis with signed lines, Neptune with its records: restarts lose nothing and repeat nothing."""
    stream = Stream(moto, STREAM)
    lines = spark.readStream.format("kinesis").options(**stream.options).load().select("value")
    records = spark.readStream.format("neptune_stream")
    records = records.options(endpointUrl=neptune.url, region=REGION).load()
    one, other = rdflib.Dataset(), rdflib.Dataset()

    def run() -> list[int]:
        for df, graph, form in ((lines, one, "nquads"), (records, other, "neptune")):
            checkpoint = tmp_path / str(form)
            query = mirror(df, graph, form, checkpoint=checkpoint, trigger={"processingTime": "0 seconds"})
            query.processAllAvailable()
            query.stop()
        return [len(one), len(other)]

    stream.put(*(("a", f"+ {quad(n)}") for n in range(4)))
    neptune.commit(("ADD", quad(1)), ("ADD", quad(2)))
    assert run() == [4, 2]
    stream.put(("a", f"- {quad(2)}"), ("b", f"+ {quad(9)}"), ("b", f"- {quad(9)}"))
    neptune.commit(("REMOVE", quad(2)))
    neptune.commit(("ADD", quad(3)), ("ADD", quad(4)))
    assert run() == [3, 3]
    assert run() == [3, 3]
