"""Change rows: the columns that changes of a graph have in every DataFrame, and the position of a row.

The columns `op` ("A" or "D", as in RDF Patch), `s`, `p`, `o` and `g` hold the terms in N-Triples; `g` is NULL
for the default graph. If its source has positions, a row also tells its own:
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
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
"""The columns of a change that a file holds."""


PLACES: Final = ("file", "topic", "partition", "offset", "part")
"""The columns by which a row may tell its position."""


_FILES: Final = {"file", "offset", "part"}


class StreamColumns(NamedTuple):
    """The position of a DataFrame's rows, as expressions."""

    stream: Column
    """The name of the stream."""
    offset: Column
    part: Column


def stream_columns(changes: DataFrame) -> StreamColumns | None:
    """Find the columns that tell the position of a row; None if the source has none."""
    columns = set(changes.columns)
    if columns >= _FILES:
        return StreamColumns(F.col("file"), F.col("offset"), F.col("part"))
    if columns >= {"topic", "partition", "offset"}:
        stream = F.concat_ws("/", F.col("topic"), F.col("partition").cast("string"))
        return StreamColumns(stream, F.col("offset"), F.lit(0))
    return None


def is_one_stream(changes: DataFrame) -> bool:
    """Tell whether all streams are one, in the order of their names, as the files of a log are."""
    return set(changes.columns) >= _FILES


def is_sharded(changes: DataFrame) -> bool:
    """Tell whether the streams are shards of Kinesis, whose records come in their order."""
    return {"shard", "sequence"} <= set(changes.columns)


def stream_offsets(offset: Mapping[str, Any]) -> dict[str, int]:
    """Read an offset of Spark's offset log: per stream name, up to where it has been read.

    Raises `RdfliveError` if it is neither an offset of our files nor Kafka's.

    >>> stream_offsets({"log.rdfp": {"end": 120, "check": 7, "path": "/logs/log.rdfp"}})
    {'log.rdfp': 120}
    >>> stream_offsets({"changes": {"0": 23, "1": 5}})
    {'changes/0': 23, 'changes/1': 5}
    """
    found: dict[str, int] = {}
    for name, places in offset.items():
        if not isinstance(places, Mapping):
            raise RdfliveError(
                f"{dict(offset)!r} is no offset of a positioned source: expected that of format "
                '"rdf_patch", {file: {"end": …, "check": …, "path": …}}, or of Kafka, {topic: {partition: '
                "offset}}"
            )
        # ours; Kafka has an offset for each partition
        if places.keys() >= {"end", "check"}:
            found[name] = places["end"]
        else:
            found.update((f"{name}/{partition}", place) for partition, place in places.items())
    return found
