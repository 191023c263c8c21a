"""Spark's data source `kinesis`: the records of an Amazon Kinesis data stream.

    spark.readStream.format("kinesis").option("streamName", "changes").option("region", "eu-west-1").load()

The columns are `value` (the data as text in UTF-8), `key` (the partition key), `shard`, `sequence` (the
sequence number) and `arrived`. Rows of one shard come in order. A shard that results from a split or a merge
begins after its parents have been read to their end, so rows of one key are in order.

Options: `streamName`; `region`; `endpointUrl`; `startingPosition` (`TRIM_HORIZON`, the oldest record that
Kinesis keeps, or `LATEST`); `maxRecordsPerTrigger` (10,000, over all shards).

Records expire, by default a day after their arrival. If any may have expired unread, the query ends with
`ResyncNeeded`. Per shard, the offset has the last read record, and optionally a time: all records that
arrived up to this time were read. Nothing is missing while the time is younger than the retention period.
With an older time, or none, the last read record must still exist. In a shard without new records for an
hour, a time replaces the record, and a micro-batch without rows renews it each hour. So a quiet shard whose
last record has expired differs from one that lost records, unless no query ran for as long as the retention
period: then the shard is refused. The first request at `TRIM_HORIZON` takes all existing records.

The driver reads the stream, about ten thousand records per second. A larger stream needs a connector in Java,
such as AWS's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from time import time
from typing import Any, Final, NamedTuple, TypeAlias

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from rdflive.errors import RdfliveError, ResyncNeeded
from rdflive_stores.spark.aws.client import Pause, check_options, client, number, resync

__all__ = ["KinesisDataSource"]

_NAME: Final = "kinesis"
_OPTIONS: Final = ("streamName", "region", "endpointUrl", "startingPosition", "maxRecordsPerTrigger")
_LATEST: Final = "LATEST"
_POSITIONS: Final = ("TRIM_HORIZON", _LATEST)
_MOST: Final = 10_000
_PAGE: Final = 10_000
"""The most records in one response of Kinesis."""
_DONE: Final = "done"
"""Represents a closed shard that was read to its end."""
_FIRST: Final = "first"
"""Represents the beginning of a shard."""
_AT: Final = "at "
"""The start of a place that is a time, in seconds of Unix."""
_SEEN: Final = " seen "
"""Separates a place from a time of the same kind."""
_HOUR: Final = 3600
_SHORTEST: Final = 24
"""The shortest retention period of Kinesis, in hours."""
_SCHEMA: Final = StructType(
    [
        *(StructField(name, StringType()) for name in ("value", "key", "shard", "sequence")),
        StructField("arrived", TimestampType()),
    ]
)
_Offset: TypeAlias = dict[str, str]
"""The place in each shard, as text."""


class _Place(NamedTuple):
    """The position in a shard."""

    at: str
    """The sequence number of the last read record, or one of the words above."""
    seen: float | None = None
    """All records that arrived up to this time were read; None if unknown."""

    @classmethod
    def of(cls, text: str) -> _Place:
        at, _, seen = text.partition(_SEEN)
        return cls(at, float(seen) if seen else None)

    def __str__(self) -> str:
        return self.at if self.seen is None else f"{self.at}{_SEEN}{self.seen}"


class KinesisDataSource(DataSource):
    """The data source; see the module."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return _NAME

    def schema(self) -> StructType:
        """Return the columns, after checking the options."""
        _settings(self.options)
        return _SCHEMA

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:  # noqa: N802, ARG002
        """Read the stream as it grows."""
        return _KinesisReader(_settings(self.options))


def _settings(options: Any) -> dict[str, str]:
    found = check_options(_NAME, options, _OPTIONS, "streamName")
    number(found, "maxRecordsPerTrigger", _MOST)
    if found.get("startingPosition", _POSITIONS[0]) not in _POSITIONS:
        raise RdfliveError(f"option startingPosition is one of {', '.join(_POSITIONS)}")
    return found


class _KinesisReader(SimpleDataSourceStreamReader):
    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._most = number(options, "maxRecordsPerTrigger", _MOST)
        self._pause = Pause()

    def initialOffset(self) -> _Offset:  # noqa: N802 - Spark's name
        if self._options.get("startingPosition") != _LATEST:
            return {}  # `_with_children` adds the oldest shards
        now = time()
        return dict.fromkeys(
            self._shards(client("kinesis", self._options)), str(_Place(f"{_AT}{now}", seen=now))
        )

    def read(self, start: _Offset) -> tuple[Iterator[tuple[Any, ...]], _Offset]:
        self._pause.wait()
        kinesis = client("kinesis", self._options)
        now = time()
        places = self._with_children(kinesis, start)
        kept = self._kept_since(kinesis, places.values())
        open_shards = [shard for shard, place in places.items() if place.at != _DONE]
        # each has its share, so that none waits until the others are read to their end
        share = max(self._most // max(len(open_shards), 1), 1)
        rows: list[tuple[Any, ...]] = []
        for shard in open_shards:
            found = list(islice(self._records(kinesis, shard, places[shard], kept), share))
            at, seen = places[shard]
            if found:
                at = _DONE if found[-1] is None else found[-1]["SequenceNumber"]
                seen = now if len(found) < share or at == _DONE else None
            elif seen is None:
                seen = now
            elif now - seen >= _HOUR:
                # a time stays valid where the number would expire; nothing came in that hour, by any clock
                at, seen = f"{_AT}{now - _HOUR / 2}", now
            places[shard] = _Place(at, seen)
            rows += [_row(shard, record) for record in found if record is not None]
        end = {shard: str(place) for shard, place in places.items()}
        self._pause.looked(found=end != start)
        return iter(rows), end

    def readBetweenOffsets(  # noqa: N802 - Spark's name
        self, start: _Offset, end: _Offset
    ) -> Iterator[tuple[Any, ...]]:
        kinesis = client("kinesis", self._options)
        places = {shard: _Place.of(text) for shard, text in start.items()}
        kept = self._kept_since(kinesis, places.values())
        for shard, text in end.items():
            place, last = places.get(shard, _Place(_FIRST)), _Place.of(text).at
            if last != place.at and not last.startswith(_AT):
                records = self._records(kinesis, shard, place, kept, is_replay=True)
                yield from self._up_to(last, shard, records)

    def _up_to(
        self, last: str, shard: str, records: Iterator[dict[str, Any] | None]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield rows up to a record, or to the end of a closed shard; raise `ResyncNeeded` if it is gone."""
        for record in records:
            if record is None:
                if last == _DONE:
                    return
                break
            if last != _DONE and int(record["SequenceNumber"]) > int(last):
                break
            yield _row(shard, record)
            if record["SequenceNumber"] == last:
                return
        raise self._resync(f"the records of {shard} up to {last}, which a micro-batch had, have expired")

    def _resync(self, reason: str) -> ResyncNeeded:
        return resync(f"the stream {self._options['streamName']!r}", reason)

    def _shards(self, kinesis: Any) -> dict[str, set[str]]:
        """Return the shards, each with its parents."""
        found = {}
        request = {"StreamName": self._options["streamName"]}
        while request:
            page = kinesis.list_shards(**request)
            for shard in page["Shards"]:
                parents = (shard.get(name) for name in ("ParentShardId", "AdjacentParentShardId"))
                found[shard["ShardId"]] = {parent for parent in parents if parent}
            # not by boto3's paginator, which repeats the name of the stream; Kinesis refuses that
            request = {"NextToken": page["NextToken"]} if page.get("NextToken") else {}
        return found

    def _with_children(self, kinesis: Any, offset: _Offset) -> dict[str, _Place]:
        """Add the shards that may be read now, and drop those that were read and have expired.

        Raises `ResyncNeeded` if a shard has expired before it was read.
        """
        shards = self._shards(kinesis)
        known = {shard: _Place.of(text) for shard, text in offset.items()}
        new = {shard: parents for shard, parents in shards.items() if shard not in known}
        waited_for = {parent for parents in new.values() for parent in parents}
        # before the first request nothing can be missing
        missing = waited_for - shards.keys() - known.keys() if known else set()
        missing |= {shard for shard, place in known.items() if shard not in shards and place.at != _DONE}
        if missing:
            raise self._resync(f"{min(missing)} has expired, and was not read to its end")
        found = {shard: place for shard, place in known.items() if shard in shards or shard in waited_for}
        for shard, parents in new.items():
            held = parents & (shards.keys() | known.keys())
            if all(parent in known and known[parent].at == _DONE for parent in held):
                seen = [known[parent].seen for parent in held]
                found[shard] = _Place(_FIRST, min((each for each in seen if each is not None), default=None))
        return found

    def _kept_since(self, kinesis: Any, places: Iterable[_Place]) -> float:
        """Return a time since which no record has expired."""
        hours, now = _SHORTEST, time()
        seen = [place.seen for place in places if place.seen is not None and place.at != _DONE]
        if min(seen, default=now) < now - (hours - 1) * _HOUR:
            found = kinesis.describe_stream_summary(StreamName=self._options["streamName"])
            hours = found["StreamDescriptionSummary"]["RetentionPeriodHours"]
        return now - (hours - 1) * _HOUR  # an hour less, for clocks that differ

    def _records(
        self, kinesis: Any, shard: str, place: _Place, kept: float, *, is_replay: bool = False
    ) -> Iterator[dict[str, Any] | None]:
        """Yield the records of a shard after a place, up to now; None at the end of a closed shard.

        Raises `ResyncNeeded` if some may have expired.
        """
        request: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
        is_kept = place.seen is not None and place.seen >= kept
        is_number = place.at != _FIRST and not place.at.startswith(_AT)
        if is_number:
            kind = "AFTER_SEQUENCE_NUMBER" if is_kept else "AT_SEQUENCE_NUMBER"
            request = {"ShardIteratorType": kind, "StartingSequenceNumber": place.at}
        elif place.seen is not None and not is_kept:
            raise self._resync(f"records of {shard} may have expired before they were read")
        elif place.at != _FIRST:
            request = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": float(place.at.removeprefix(_AT))}
        records = self._behind(kinesis, shard, request, is_replay=is_replay)
        if is_number and not is_kept:
            record = next(records, None)
            if record is None or record["SequenceNumber"] != place.at:
                raise self._resync(
                    f"{place.at}, the last read record of {shard}, has expired, and others may have"
                )
        yield from records

    def _behind(
        self, kinesis: Any, shard: str, request: dict[str, Any], *, is_replay: bool
    ) -> Iterator[dict[str, Any] | None]:
        try:
            found = kinesis.get_shard_iterator(
                StreamName=self._options["streamName"], ShardId=shard, **request
            )
        except (
            kinesis.exceptions.ResourceNotFoundException,
            kinesis.exceptions.InvalidArgumentException,
        ) as error:
            raise self._resync(f"{shard} cannot be read from its last position: {error}") from error
        iterator: str | None = found["ShardIterator"]
        while iterator is not None:
            answer = kinesis.get_records(ShardIterator=iterator, Limit=_PAGE)
            yield from answer["Records"]
            iterator = answer.get("NextShardIterator")
            is_at_end = not answer["MillisBehindLatest"] and not (is_replay and answer["Records"])
            if iterator is not None and is_at_end:
                return
        yield None


def _row(shard: str, record: dict[str, Any]) -> tuple[Any, ...]:
    try:
        value = record["Data"].decode()
    except UnicodeDecodeError as error:
        raise RdfliveError(
            f"record {record['SequenceNumber']} of {shard} is not UTF-8, which rdflive needs: {error}"
        ) from error
    arrived = record.get("ApproximateArrivalTimestamp")
    return value, record["PartitionKey"], shard, record["SequenceNumber"], arrived
