"""The meaning of a mirrored DataFrame's rows, and the changes of a micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rdflive.errors import RdfliveError
from rdflive.model import Change
from rdflive_stores.spark.change_rows import is_sharded, stream_columns
from rdflive_stores.spark.mirroring.decoding import POSITION, DecodingFault, RecordPlace

__all__ = ["Reading", "Report", "RowShape", "ShapeError", "placed", "require_columns"]

Report: TypeAlias = Callable[[RecordPlace, DecodingFault], None]
"""Receives the fault of a row; raises if that ends the mirror."""


class ShapeError(RdfliveError, ValueError):
    """A DataFrame does not have the columns that its format needs, or the format cannot be read from rows."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The effect of a micro-batch on the graph."""

    changes: list[Change]
    """In order."""
    kept: Mapping[str, str | None] = field(default_factory=dict)
    """The entries that `RowShape.restore` must receive after a restart; None removes a key."""
    overlaps: bool = True
    """True if it continues or overlaps the records read before, by their numbers."""
    repeats: bool = False
    """True if records may follow that were read before."""
    late: Mapping[RecordPlace, DecodingFault] = field(default_factory=dict)
    """Records that were skipped, because an earlier micro-batch had later ones of the same row."""


class RowShape(Protocol):
    """One meaning of rows. It lives as long as a query, and may keep state."""

    is_positioned: bool
    """True if the rows have a stream and an offset."""

    @property
    def is_numbered(self) -> bool:
        """True if records have numbers, by which known ones are skipped."""
        ...

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the sum of all `Reading.kept`; called once, before anything else."""

    def read(self, batch: DataFrame, report: Report, *, repeats: bool) -> Reading:
        """Read a micro-batch: Spark decodes and nets it, and this process puts the rest in order.

        `repeats` is true if it may contain records that were read before.
        """
        ...


def placed(batch: DataFrame, *payload: str) -> DataFrame:
    """Select columns, and the position of each row (`decoding.RecordPlace`)."""
    if (columns := stream_columns(batch)) is not None:
        stream, offset, part = columns.stream, columns.offset, columns.part
    else:
        stream = F.col("shard") if is_sharded(batch) else F.lit("")
        offset = part = F.lit(0)
    place = (stream.cast("string"), offset.cast("long"), part.cast("long"), F.monotonically_increasing_id())
    # the last name, `step`, belongs to decoded rows
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
