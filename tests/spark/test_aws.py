"""Streams of AWS as sources: Kinesis of moto, and a server that answers as Neptune Streams does."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import rdflib
from pyspark.sql import SparkSession

import rdflive
from rdflive_stores.spark.aws.kinesis import _KinesisReader
from rdflive_stores.spark.aws.kinesis import _settings as kinesis_settings
from rdflive_stores.spark.aws.neptune import _NeptuneReader
from rdflive_stores.spark.aws.neptune import _settings as neptune_settings
from rdflive_stores.spark.mirror import mirror
from rdflive_stores.spark.running import DataflowError
from support.effort import drawn_from, rounds

boto3 = pytest.importorskip("boto3", reason="needs the extra rdflive[spark-aws]")
REGION = "us-east-1"
STREAM = "changes"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give boto3 keys that no server checks."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have readers of this process look again at once."""
    monkeypatch.setattr("rdflive_stores.spark.aws.client._SECONDS", 0.0)


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
    def reader(self) -> _KinesisReader:
        return _KinesisReader(kinesis_settings(self.options))

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


HOUR = 3600
ARRIVED = "ApproximateArrivalTimestamp"


class RefusedError(Exception):
    """What a client raises."""


class Shards:
    """Stands for a client of Kinesis, in a time of its own.

    moto moves the records of a shard that is split to its children, and lets none expire.
    """

    exceptions = SimpleNamespace(
        ResourceNotFoundException=RefusedError, InvalidArgumentException=RefusedError
    )

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parents: dict[str, list[str]] = {"0": [], "1": []}
        self.records: dict[str, list[dict[str, Any]]] = {"0": [], "1": []}
        self.closed: dict[str, float] = {}
        self.now = 1e9
        self.hours = 24
        self.behind = 0
        """Seconds by which the clock of the service is behind."""
        self.expired: dict[str, int] = {}
        self.is_strict = False
        """Whether numbers of records that expired are refused; it is not documented."""
        self.asked: Counter[str] = Counter()
        self._of_key = dict(zip("01234", "00011", strict=True))
        self._count = 95  # the texts of sequence numbers are not in their order
        monkeypatch.setattr("rdflive_stores.spark.aws.kinesis.client", lambda *_: self)
        monkeypatch.setattr("rdflive_stores.spark.aws.kinesis.time", lambda: self.now)

    def reader(self, **options: str) -> _KinesisReader:
        return _KinesisReader(kinesis_settings({"streamName": "s", **options}))

    def put(self, key: str, value: str) -> None:
        """Write a record to the open shard of its key."""
        self._count += 1
        record = {"PartitionKey": key, "Data": value.encode(), "SequenceNumber": str(self._count)}
        self.records[self._of_key[key]].append(record | {ARRIVED: self.now - self.behind})

    def replace(self, old: list[str], new: dict[str, str]) -> None:
        """Split a shard, or merge two, into shards with some keys."""
        self.closed |= dict.fromkeys(old, self.now)
        for shard, keys in new.items():
            self.parents[shard], self.records[shard] = old, []
            self._of_key |= dict.fromkeys(keys, shard)

    def wait(self, hours: float) -> None:
        """Let time pass, and records and closed shards expire."""
        self.now += hours * HOUR
        horizon = self.now - self.hours * HOUR
        for shard in [shard for shard, closed in self.closed.items() if closed < horizon]:
            self.parents.pop(shard, None)
        for shard, records in self.records.items():
            self.records[shard] = [r for r in records if r[ARRIVED] >= horizon]
            gone = [int(r["SequenceNumber"]) for r in records if r[ARRIVED] < horizon]
            self.expired[shard] = max([self.expired.get(shard, 0), *gone])

    def list_shards(self, **asked: str) -> Any:
        """Give a page of one shard."""
        (given,) = asked.items()  # not the stream and a token together
        place = int(given[1]) if given[0] == "NextToken" else 0
        shard, parents = list(self.parents.items())[place]
        names = ("ParentShardId", "AdjacentParentShardId")
        page = {"Shards": [{"ShardId": shard} | dict(zip(names, parents, strict=False))]}
        return page | ({"NextToken": str(place + 1)} if place + 1 < len(self.parents) else {})

    def describe_stream_summary(self, **_: str) -> Any:
        self.asked["retention"] += 1
        return {"StreamDescriptionSummary": {"RetentionPeriodHours": self.hours}}

    def get_shard_iterator(self, ShardId: str, ShardIteratorType: str, **asked: Any) -> Any:  # noqa: N803
        after = int(asked.get("StartingSequenceNumber", 0)) - (ShardIteratorType == "AT_SEQUENCE_NUMBER")
        is_unknown = self.is_strict and asked and 0 < after < self.expired.get(ShardId, 0)
        if ShardId not in self.parents or is_unknown:
            raise RefusedError(f"no shard {ShardId}, or no {after} in it")
        if ShardIteratorType == "AT_TIMESTAMP":
            before = [r for r in self.records[ShardId] if r[ARRIVED] < asked["Timestamp"]]
            after = max((int(r["SequenceNumber"]) for r in before), default=0)
        return {"ShardIterator": f"{ShardId} {after}"}

    def get_records(self, ShardIterator: str, Limit: int) -> Any:  # noqa: N803
        self.asked["records"] += 1
        shard, after = ShardIterator.split()
        held = [r for r in self.records[shard] if int(r["SequenceNumber"]) > int(after)]
        answer = {"Records": held[:2], "MillisBehindLatest": int(len(held) > 2)}
        if shard in self.closed and len(held) <= 2:
            return answer
        last = held[:2][-1]["SequenceNumber"] if held else after
        return answer | {"NextShardIterator": f"{shard} {last}"}


@pytest.mark.parametrize("most", ["1", "3", "10000"])
def test_records_of_kinesis_come_once_and_in_the_order_of_their_keys(
    most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the bound of a micro-batch, and while shards are split and merged."""
    kinesis = Shards(monkeypatch)
    reader = kinesis.reader(maxRecordsPerTrigger=most)
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
    assert {shard for shard, place in offset.items() if place.startswith("done")} == {"0", "1", "3"}


@pytest.mark.parametrize("most", ["2", "10000"])
@pytest.mark.parametrize("hours", [24, 72])
def test_nothing_expires_unnoticed(most: str, hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that is written to, split, left alone, and read by one reader after the other.

    Either all records were read, or a resync is asked for; and that only where it was not read to its end
    for as long as it keeps records.
    """
    refused = 0
    turns = rounds(60)
    for turn in range(turns):
        random = drawn_from("expiry", most, str(hours), str(turn))
        kinesis = Shards(monkeypatch)
        kinesis.hours, kinesis.is_strict, kinesis.behind = hours, bool(turn % 2), random.randrange(-900, 900)
        rows: list[Any] = []
        written: list[tuple[str, str]] = []
        offset: Any = {}
        last = kinesis.now
        for step in range(12):
            reader = kinesis.reader(maxRecordsPerTrigger=most)
            try:
                if step == 0 or random.randrange(2):
                    found, offset = read_all(reader, offset)
                    last = kinesis.now
                else:
                    found, offset = reader.read(offset)
            except rdflive.ResyncNeeded:
                assert kinesis.now - last > (hours - 2) * HOUR
                refused += 1
                break
            rows += found
            for key in "01234":
                texts = [row[0] for row in rows if row[1] == key]
                all_texts = [text for name, text in written if name == key]
                assert texts == (all_texts if last == kinesis.now else all_texts[: len(texts)])
            for _ in range(random.choice([0, 0, 1, 7])):
                written.append((str(random.randrange(5)), str(len(written))))
                kinesis.put(*written[-1])
            if step == 4:
                kinesis.replace(["0"], {"2": "01", "3": "2"})
            if step == 8:
                kinesis.replace(["3", "1"], {"4": "234"})
            kinesis.wait(random.choice([0.5, 1, 2, 5, 8, random.choice([3, 3, 30, 80])]))
    assert 0 < refused < turns


def test_a_quiet_stream_is_not_taken_for_one_that_lost_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is looked at its last record may expire; a time is noted once an hour."""
    kinesis = Shards(monkeypatch)
    kinesis.is_strict, kinesis.behind = True, 60
    kinesis.put("0", "read")
    reader = kinesis.reader()
    found, offset = reader.read({})
    assert [row[0] for row in found] == ["read"]
    changes = 0
    for _ in range(200):
        kinesis.wait(0.25)
        rows, end = reader.read(offset)
        assert not list(rows)
        changes += end != offset
        offset = end
    assert changes == 50
    assert not kinesis.asked["retention"]
    kinesis.put("0", "new")
    assert [row[0] for row in read_all(kinesis.reader(), offset)[0]] == ["new"]


def test_a_shard_that_expired_unread_asks_for_a_resync(monkeypatch: pytest.MonkeyPatch) -> None:
    kinesis = Shards(monkeypatch)
    kinesis.put("0", "read")
    _, offset = kinesis.reader().read({})
    kinesis.put("0", "not read")
    kinesis.replace(["0"], {"2": "01", "3": "2"})
    kinesis.put("0", "of a child")
    kinesis.wait(25)
    with pytest.raises(
        rdflive.ResyncNeeded, match=r"the stream 's': 0 has expired, and was not read to its "
    ):
        kinesis.reader().read(offset)


def test_a_generation_of_shards_that_expired_unseen_asks_for_a_resync(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was read to its end has children that came and went between two looks."""
    kinesis = Shards(monkeypatch)
    kinesis.hours = 48
    kinesis.replace(["0"], {"2": "01", "3": "2"})
    _, offset = kinesis.reader().read({})
    assert {shard for shard, place in offset.items() if place.startswith("done")} == {"0"}
    kinesis.replace(["2"], {"5": "0", "6": "1"})
    kinesis.wait(49)
    with pytest.raises(rdflive.ResyncNeeded, match=r"2 has expired, and was not read to its end; resync"):
        kinesis.reader().read(offset)


def test_records_that_expired_behind_the_last_one_ask_for_a_resync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether others are left or not; but not where the last one is still there."""
    kinesis = Shards(monkeypatch)
    kinesis.put("0", "read")
    kinesis.put("3", "of another shard")
    _, offset = kinesis.reader().read({})
    kinesis.put("0", "not read")
    kinesis.hours = 72
    kinesis.wait(71.5)
    assert [row[0] for row in kinesis.reader().read(offset)[0]] == ["not read"]
    kinesis.wait(1)
    with pytest.raises(rdflive.ResyncNeeded, match=r"96, the last read record of 0, has expired"):
        kinesis.reader().read(offset)
    kinesis.put("0", "later")
    with pytest.raises(rdflive.ResyncNeeded, match=r"96, the last read record of 0, has expired"):
        kinesis.reader().read(offset)


def test_a_replay_gives_all_that_was_planned_or_asks_for_a_resync(monkeypatch: pytest.MonkeyPatch) -> None:
    kinesis = Shards(monkeypatch)
    for value in "abc":
        kinesis.put("0", value)
    _, end = kinesis.reader().read({})
    kinesis.put("0", "d")
    assert [row[0] for row in kinesis.reader().readBetweenOffsets({}, end)] == ["a", "b", "c"]
    with_later = kinesis.records["0"]
    for left in (with_later[3:], []):
        kinesis.records["0"] = left
        with pytest.raises(
            rdflive.ResyncNeeded, match=r"records of 0 up to 98, which a micro-batch had, have"
        ):
            list(kinesis.reader().readBetweenOffsets({}, end))
    kinesis.replace(["0"], {"2": "012"})
    kinesis.wait(25)
    with pytest.raises(rdflive.ResyncNeeded, match=r"0 cannot be read from its last position: no "):
        list(kinesis.reader().readBetweenOffsets({}, end))


def test_a_look_ends_with_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when nothing comes any more: a shard may be asked five times a second."""
    kinesis = Shards(monkeypatch)
    kinesis.put("0", "a")
    kinesis.reader().read({})
    assert kinesis.asked["records"] == 2  # one for each shard


def test_latest_is_what_comes_from_now_on(moto: str) -> None:
    """What was there when the query began is left out, also where it was started again before more came."""
    stream = Stream(moto, "latest", startingPosition="LATEST")
    stream.put(("a", "old"))
    offset = stream.reader.initialOffset()
    assert list(stream.reader.read(offset)[0]) == []
    stream.put(("a", "new"), ("b", "new"))
    rows, _ = read_all(stream.reader, offset)
    assert [row[0] for row in rows] == ["new", "new"]


def test_a_record_that_is_no_text_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    kinesis = Shards(monkeypatch)
    kinesis.put("0", "text")
    kinesis.records["0"][0]["Data"] = b"\xff"
    with pytest.raises(rdflive.RdfliveError, match=r"record 96 of 0 is not UTF-8"):
        list(kinesis.reader().read({})[0])


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
        self.has_expired = False
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
                if neptune.has_expired:
                    self._answer(400, {"code": "ExpiredStreamException", "detailedMessage": "too old"})
                elif rows:
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
def test_neptune_is_read_in_whole_commits(neptune: Neptune, most: str) -> None:
    """However pages and micro-batches are cut; a commit whose end is not there yet waits."""
    neptune.page = 3  # as ten megabytes end a page, whatever was asked for
    reader = _NeptuneReader(
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


def test_a_stream_of_neptune_that_expired_asks_for_a_resync(neptune: Neptune) -> None:
    """Also where a micro-batch is read again, and its end is gone."""
    reader = _NeptuneReader(neptune_settings({"endpointUrl": neptune.url, "region": REGION}))
    neptune.commit(("ADD", quad(1)), ("ADD", quad(2)))
    start = reader.initialOffset()
    _, end = reader.read(start)
    neptune.records.pop()
    with pytest.raises(
        rdflive.ResyncNeeded, match=r"the end of a micro-batch, {'commit': 1, 'operation': 2}, no longer"
    ):
        list(reader.readBetweenOffsets(start, end))
    neptune.has_expired = True
    with pytest.raises(
        rdflive.ResyncNeeded, match=r"stream of http://\S+: the records after .* have expired .*; resync: "
    ):
        reader.read(end)


def test_a_source_waits_a_second_where_nothing_is_new(
    neptune: Neptune, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a look that found nothing, and only there."""
    kinesis, seconds = Shards(monkeypatch), "rdflive_stores.spark.aws.client._SECONDS"
    of_neptune = _NeptuneReader(neptune_settings({"endpointUrl": neptune.url, "region": REGION}))
    for reader, write in (
        (kinesis.reader(), lambda: kinesis.put("0", "x")),
        (of_neptune, lambda: neptune.commit(("ADD", quad(1)))),
    ):
        monkeypatch.setattr(seconds, 0.3)
        _, offset = reader.read(reader.initialOffset())
        began = monotonic()
        reader.read(offset)
        write()
        rows, offset = reader.read(offset)
        assert len(list(rows)) == 1  # the wait is in front of the look
        assert monotonic() - began >= 0.25
        monkeypatch.setattr(seconds, 60)
        write()
        assert len(list(reader.read(offset)[0])) == 1


@pytest.mark.hunted("Spark and a server of Kinesis; the gate has the readers without Spark")
def test_a_graph_follows_streams_of_aws(
    moto: str, neptune: Neptune, spark: SparkSession, tmp_path: Path
) -> None:
    """Kinesis with signed lines, Neptune with its records: restarts lose nothing and repeat nothing.

    What expired ends the query, with a sentence that says so.
    """
    stream = Stream(moto, STREAM)
    lines = spark.readStream.format("kinesis").options(**stream.options).load()
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
    neptune.has_expired = True
    with pytest.raises(
        DataflowError, match=r"^the stream of http\S+: the records after .* have expired .*; resync: "
    ):
        run()
