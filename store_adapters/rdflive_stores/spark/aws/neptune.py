"""Spark's data source `neptune_stream`: the changes of an Amazon Neptune database, by Neptune Streams.

    spark.readStream.format("neptune_stream").option("endpointUrl", "https://….neptune.amazonaws.com:8182").load()

The column `value` holds a record as JSON, which `mirror(..., format="neptune")` reads. `file` (the endpoint),
`offset` (the number of the commit) and `part` (that of the operation in it) are its position, with any
checkpoint. A micro-batch ends with a complete commit.

Options: `endpointUrl`; `region`; `maxRecordsPerTrigger` (10,000: a micro-batch ends with the commit that
reaches it). A stream begins at the oldest record that Neptune keeps. Read a database whose stream was enabled
later as a snapshot first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from rdflive.errors import ResyncNeeded
from rdflive_stores.spark.aws.client import Pause, check_options, client, number, resync

__all__ = ["NeptuneDataSource"]

_NAME: Final = "neptune_stream"
_OPTIONS: Final = ("endpointUrl", "region", "maxRecordsPerTrigger")
_MOST: Final = 10_000
_PAGE: Final = 10_000
"""The most records per request; Neptune returns fewer if they have more than 10 MB."""
_BEGINNING: Final = {"commit": 0, "operation": 0}
_SCHEMA: Final = StructType(
    [
        StructField("value", StringType()),
        StructField("file", StringType()),
        StructField("offset", LongType()),
        StructField("part", IntegerType()),
    ]
)


class NeptuneDataSource(DataSource):
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
        return _NeptuneReader(_settings(self.options))


def _settings(options: Any) -> dict[str, str]:
    found = check_options(_NAME, options, _OPTIONS, "endpointUrl")
    number(found, "maxRecordsPerTrigger", _MOST)
    return found


class _NeptuneReader(SimpleDataSourceStreamReader):
    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._most = number(options, "maxRecordsPerTrigger", _MOST)
        self._pause = Pause()

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return dict(_BEGINNING)

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, ...]], dict[str, int]]:
        self._pause.wait()
        rows: list[tuple[Any, ...]] = []
        end, whole = start, 0
        for record in self._records(start):
            rows.append(self._row(record))
            if record.get("isLastOp"):
                end, whole = {"commit": rows[-1][2], "operation": rows[-1][3]}, len(rows)
                if whole >= self._most:
                    break
        self._pause.looked(found=whole > 0)
        # the remaining rows belong to a commit whose end has not been read yet
        return iter(rows[:whole]), end

    def readBetweenOffsets(  # noqa: N802
        self, start: dict[str, int], end: dict[str, int]
    ) -> Iterator[tuple[Any, ...]]:
        if start == end:
            return
        last = end["commit"], end["operation"]
        for record in self._records(start):
            row = self._row(record)
            if row[2:] > last:
                break
            yield row
            if row[2:] == last:
                return
        raise self._resync(f"the end of a micro-batch, {end}, no longer exists")

    def _row(self, record: dict[str, Any]) -> tuple[Any, ...]:
        place = record["eventId"]
        return (
            json.dumps(record),
            self._options["endpointUrl"],
            int(place["commitNum"]),
            int(place["opNum"]),
        )

    def _resync(self, reason: str) -> ResyncNeeded:
        return resync(f"the stream of {self._options['endpointUrl']}", reason)

    def _records(self, start: dict[str, int]) -> Iterator[dict[str, Any]]:
        """Yield all records after a place, page by page; raise `ResyncNeeded` if they have expired."""
        neptune = client("neptunedata", self._options)
        commit, operation = start["commit"], start["operation"]
        while True:
            request: dict[str, Any] = {"limit": _PAGE, "iteratorType": "TRIM_HORIZON"}
            if commit:
                request |= {
                    "iteratorType": "AFTER_SEQUENCE_NUMBER", "commitNum": commit, "opNum": operation
                }  # fmt: skip
            try:
                answer = neptune.get_sparql_stream(**request)
            except neptune.exceptions.StreamRecordsNotFoundException:
                return  # no record yet
            except neptune.exceptions.ExpiredStreamException as error:
                raise self._resync(f"the records after {start} have expired ({error})") from error
            if not answer["records"]:
                return
            # a page may be shorter than the limit even if more records follow
            yield from answer["records"]
            place = answer["records"][-1]["eventId"]
            commit, operation = int(place["commitNum"]), int(place["opNum"])
