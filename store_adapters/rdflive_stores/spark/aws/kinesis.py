"""Spark's data source `kinesis`: the records of an Amazon Kinesis data stream.

    spark.readStream.format("kinesis").option("streamName", "changes").option("region", "eu-west-1").load()

The columns are `value` (the data as text in UTF-8), `key` (the partition key), `shard`, `sequence` (the
sequence number) and `arrived`. Rows of one shard come in their order, and a shard that came of a split or a
merge begins when those that it came of have been read to their end; so rows of one key are in order.

Options: `streamName`; `region`; `endpointUrl`; `startingPosition` (`TRIM_HORIZON`, which is the oldest record
that Kinesis keeps, or `LATEST`); `maxRecordsPerTrigger` (10,000, of all shards together).

It is read in the driver, some ten thousand records a second. A stream that brings more needs a connector in
Java, such as AWS's own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, TypeAlias

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from rdflive.errors import RdfliveError
from rdflive_stores.spark.aws.client import check_options, client, number

__all__ = ["KinesisDataSource"]

_NAME: Final = "kinesis"
_OPTIONS: Final = ("streamName", "region", "endpointUrl", "startingPosition", "maxRecordsPerTrigger")
_LATEST: Final = "LATEST"
_POSITIONS: Final = ("TRIM_HORIZON", _LATEST)
_MOST: Final = 10_000
_PAGE: Final = 10_000
"""The most records that Kinesis gives at once."""
_DONE: Final = "done"
"""Stands for a closed shard that was read to its end."""
_FIRST: Final = "first"
"""Stands for the beginning of a shard."""
_AT: Final = "at "
"""Begins a place that is a time, in seconds of Unix."""
_SCHEMA: Final = StructType(
    [
        *(StructField(name, StringType()) for name in ("value", "key", "shard", "sequence")),
        StructField("arrived", TimestampType()),
    ]
)
_Offset: TypeAlias = dict[str, str]
"""Per shard, the sequence number of the last record that was read, or one of these words."""


class KinesisDataSource(DataSource):
    """The data source; see the module."""

    @classmethod
    def name(cls) -> str:
        """Give the name of the format."""
        return _NAME

    def schema(self) -> StructType:
        """Give the columns, after a look at the options."""
        _settings(self.options)
        return _SCHEMA

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:  # noqa: N802, ARG002
        """Read the stream as it grows."""
        return _Reader(_settings(self.options))


def _settings(options: Any) -> dict[str, str]:
    found = check_options(_NAME, options, _OPTIONS, "streamName")
    number(found, "maxRecordsPerTrigger", _MOST)
    if found.get("startingPosition", _POSITIONS[0]) not in _POSITIONS:
        raise RdfliveError(f"option startingPosition is one of {', '.join(_POSITIONS)}")
    return found


class _Reader(SimpleDataSourceStreamReader):
    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._most = number(options, "maxRecordsPerTrigger", _MOST)

    def initialOffset(self) -> _Offset:  # noqa: N802 - Spark's name
        if self._options.get("startingPosition") != _LATEST:
            return {}  # `_with_children` adds the oldest shards
        return dict.fromkeys(self._shards(client("kinesis", self._options)), f"{_AT}{time.time()}")

    def read(self, start: _Offset) -> tuple[Iterator[tuple[Any, ...]], _Offset]:
        kinesis = client("kinesis", self._options)
        end = self._with_children(kinesis, start)
        open_shards = [shard for shard, place in end.items() if place != _DONE]
        # each has its share, so that none waits for the others to be read to their end
        share = max(self._most // max(len(open_shards), 1), 1)
        rows: list[tuple[Any, ...]] = []
        for shard in open_shards:
            for record in islice(self._records(kinesis, shard, end[shard]), share):
                end[shard] = _DONE if record is None else record["SequenceNumber"]
                rows += [] if record is None else [_row(shard, record)]
        return iter(rows), end

    def readBetweenOffsets(  # noqa: N802 - Spark's name
        self, start: _Offset, end: _Offset
    ) -> Iterator[tuple[Any, ...]]:
        kinesis = client("kinesis", self._options)
        for shard, last in end.items():
            place = start.get(shard, _FIRST)
            if last in (place, _FIRST) or last.startswith(_AT):
                continue
            for record in self._records(kinesis, shard, place):
                if record is None:
                    break
                yield _row(shard, record)
                if record["SequenceNumber"] == last:
                    break

    def _shards(self, kinesis: Any) -> dict[str, set[str]]:
        """List the shards, each with those that it came of."""
        pages = kinesis.get_paginator("list_shards").paginate(StreamName=self._options["streamName"])
        return {
            shard["ShardId"]: {
                shard[name] for name in ("ParentShardId", "AdjacentParentShardId") if shard.get(name)
            }
            for page in pages
            for shard in page["Shards"]
        }

    def _with_children(self, kinesis: Any, offset: _Offset) -> _Offset:
        """Add the shards that may be read now; those that Kinesis has forgotten go."""
        shards = self._shards(kinesis)
        found = {shard: place for shard, place in offset.items() if shard in shards}
        for shard, parents in shards.items():
            held = parents & shards.keys()
            if shard not in found and all(found.get(parent) == _DONE for parent in held):
                found[shard] = _FIRST
        return found

    def _records(self, kinesis: Any, shard: str, place: str) -> Iterator[dict[str, Any] | None]:
        """Give the records of a shard behind a place, up to now; None at the end of a closed shard."""
        asked: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
        if place.startswith(_AT):
            asked = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": float(place.removeprefix(_AT))}
        elif place != _FIRST:
            asked = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": place}
        found = kinesis.get_shard_iterator(StreamName=self._options["streamName"], ShardId=shard, **asked)
        iterator: str | None = found["ShardIterator"]
        while iterator is not None:
            answer = kinesis.get_records(ShardIterator=iterator, Limit=_PAGE)
            yield from answer["Records"]
            iterator = answer.get("NextShardIterator")
            if iterator is not None and not answer["Records"] and not answer["MillisBehindLatest"]:
                return
        yield None


def _row(shard: str, record: dict[str, Any]) -> tuple[Any, ...]:
    try:
        value = record["Data"].decode()
    except UnicodeDecodeError as error:
        raise RdfliveError(
            f"record {record['SequenceNumber']} of {shard} is not UTF-8, as formats of rdflive are: {error}"
        ) from error
    arrived = record.get("ApproximateArrivalTimestamp")
    return value, record["PartitionKey"], shard, record["SequenceNumber"], arrived
