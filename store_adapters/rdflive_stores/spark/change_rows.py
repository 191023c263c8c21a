"""Change rows: the columns of a graph's changes in every DataFrame, and the position of a row.

The columns `op` ("A" or "D", as in RDF Patch), `s`, `p`, `o` and `g` hold the terms in N-Triples; `g` is NULL
for the default graph. Rows of a source with positions also have columns of `PLACES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from rdflive.errors import RdfliveError

__all__ = [
    "CHANGES",
    "PLACES",
    "POSITIONED",
    "StreamColumns",
    "is_one_stream",
    "is_sharded",
    "stream_columns",
    "stream_offsets",
]

CHANGES: Final = StructType([StructField(name, StringType()) for name in ("op", "s", "p", "o", "g")])
"""The columns of a change."""
POSITIONED: Final = StructType(
    [
        *CHANGES.fields,
        StructField("file", StringType()),
        StructField("offset", LongType()),
        StructField("part", IntegerType()),
    ]
)
"""The columns of a change in a file."""


PLACES: Final = ("file", "topic", "partition", "offset", "part")
"""The columns that may hold the position of a row."""


_FILES: Final = {"file", "offset", "part"}


class StreamColumns(NamedTuple):
    """The position of a DataFrame's rows, as expressions."""

    stream: Column
    """The name of the stream."""
    offset: Column
    part: Column


def stream_columns(changes: DataFrame) -> StreamColumns | None:
    """Return the columns with the position of a row; None if the source has none."""
    columns = set(changes.columns)
    if columns >= _FILES:
        return StreamColumns(F.col("file"), F.col("offset"), F.col("part"))
    if columns >= {"topic", "partition", "offset"}:
        stream = F.concat_ws("/", F.col("topic"), F.col("partition").cast("string"))
        return StreamColumns(stream, F.col("offset"), F.lit(0))
    return None


def is_one_stream(changes: DataFrame) -> bool:
    """True if all streams are one, ordered by name, as the files of a log are."""
    return set(changes.columns) >= _FILES


def is_sharded(changes: DataFrame) -> bool:
    """True if the streams are shards of Kinesis, whose records arrive in order."""
    return {"shard", "sequence"} <= set(changes.columns)


def stream_offsets(offset: Mapping[str, Any]) -> dict[str, int]:
    """Return the end of each stream in an offset of Spark's offset log, by the name of the stream.

    Raises `RdfliveError` if the offset is neither one of rdflive's files nor Kafka's.

    >>> stream_offsets({"log.rdfp": {"end": 120, "check": 7, "path": "/logs/log.rdfp"}})
    {'log.rdfp': 120}
    >>> stream_offsets({"changes": {"0": 23, "1": 5}})
    {'changes/0': 23, 'changes/1': 5}
    """
    found: dict[str, int] = {}
    for name, places in offset.items():
        if not isinstance(places, Mapping):
            raise RdfliveError(
                f"{dict(offset)!r} is not an offset of a positioned source: expected that of format "
                '"rdf_patch", {file: {"end": …, "check": …, "path": …}}, or of Kafka, {topic: {partition: '
                "offset}}"
            )
        # rdflive's own; Kafka has an offset per partition
        if places.keys() >= {"end", "check"}:
            found[name] = places["end"]
        else:
            found.update((f"{name}/{partition}", place) for partition, place in places.items())
    return found
