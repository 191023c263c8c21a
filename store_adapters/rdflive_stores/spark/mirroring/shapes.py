"""What the rows of a mirrored DataFrame mean, and how a micro-batch becomes changes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rdflive.errors import RdfliveError
from rdflive.model import Change
from rdflive_stores.spark.change_rows import is_sharded, stream_columns
from rdflive_stores.spark.mirroring.decoding import POSITION, DecodingFault, RecordPlace

__all__ = ["Reading", "Report", "RowShape", "ShapeError", "placed", "require_columns"]

Report: TypeAlias = Callable[[RecordPlace, DecodingFault], None]
"""Takes what is wrong with a row; raises if that ends the mirror."""


class ShapeError(RdfliveError, ValueError):
    """A DataFrame does not have the columns that its format needs, or the format cannot be read from rows."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a micro-batch does to the graph."""

    changes: list[Change]
    """In order."""
    kept: Mapping[str, str | None] = field(default_factory=dict)
    """What `RowShape.restore` must get after a restart; None forgets a key."""
    overlaps: bool = True
    """Whether it continues or overlaps what was read before, by the numbers of its records."""
    repeats: bool = False
    """Whether records may follow that were read before."""
    late: Mapping[RecordPlace, DecodingFault] = field(default_factory=dict)
    """Records that were passed over, because what they are about had later ones in an earlier micro-batch."""


class RowShape(Protocol):
    """One meaning of rows. It lives as long as a query, and may remember things."""

    is_positioned: bool
    """Whether the rows tell their stream and offset."""

    @property
    def is_numbered(self) -> bool:
        """Whether records have numbers, by which known ones are skipped."""
        ...

    def restore(self, kept: Mapping[str, str]) -> None:
        """Take over the sum of all `Reading.kept`; called once, before anything else."""

    def read(self, batch: DataFrame, report: Report, *, repeats: bool) -> Reading:
        """Read a micro-batch: Spark decodes and nets it, and the rest is put in order here.

        `repeats` tells that it may contain records that were read before.
        """
        ...


def placed(batch: DataFrame, *payload: str) -> DataFrame:
    """Select columns, and beside them where each row stands (`decoding.Place`)."""
    if (columns := stream_columns(batch)) is not None:
        stream, offset, part = columns.stream, columns.offset, columns.part
    else:
        stream = F.col("shard") if is_sharded(batch) else F.lit("")
        offset = part = F.lit(0)
    place = (stream.cast("string"), offset.cast("long"), part.cast("long"), F.monotonically_increasing_id())
    # the last name, `step`, is for what a row is decoded to
    named = (column.alias(name) for column, name in zip(place, POSITION, strict=False))
    return batch.select(*(F.col(f"`{name}`") for name in payload), *named)


def require_columns(frame: DataFrame, form: str, *wanted: str, types: tuple[str, ...] = ("string",)) -> None:
    """Raise `ShapeError` unless a DataFrame has columns of one of some types."""
    found = dict(frame.dtypes)
    for name in wanted:
        if found.get(name) not in types:
            what = f"is of type {found[name]}" if name in found else "is missing"
            raise ShapeError(
                f"the column {name!r} {what}; {form} needs {', '.join(wanted)} of type {' or '.join(types)}, "
                f"and the DataFrame has: {', '.join(f'{n} {kind}' for n, kind in found.items())[:200]}"
            )
