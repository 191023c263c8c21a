"""The shape of a DataFrame's rows, by their format."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from rdflive.feeds import FeedFormat, StatelessDecoder, feed_format
from rdflive.feeds.neptune import NeptuneDecoder
from rdflive.feeds.tables.debezium import DebeziumDecoder
from rdflive.feeds.tables.delta_lake import DeltaLakeDecoder
from rdflive_stores.spark.mirroring.quad_shapes import ChangeRows, NeptuneRecords, Texts
from rdflive_stores.spark.mirroring.shapes import RowShape, ShapeError
from rdflive_stores.spark.mirroring.table_shapes import DebeziumEvents, DeltaRows

__all__ = ["shape_of"]

_REFUSED: Final = {
    "sparql-update": "its requests are evaluated against the graph, one after the other",
    "wikidata": "deleting an entity is an update of the graph, and the applied edits tell which are late",
}


def shape_of(frame: DataFrame, form: str | FeedFormat | None) -> RowShape:
    """Return the shape of a DataFrame's rows; raise `ShapeError` if they do not fit the format.

    Also raises `FeedFormatError` for an unknown format and `MappingError` for one that lacks its mapping.
    """
    if form is None:
        return ChangeRows(frame)
    form = feed_format(form) if isinstance(form, str) else form
    decoder = form.decoder()
    if isinstance(decoder, DebeziumDecoder):
        return DebeziumEvents(frame, decoder.mapping)
    if isinstance(decoder, DeltaLakeDecoder):
        return DeltaRows(frame, decoder)
    if isinstance(decoder, NeptuneDecoder):
        return NeptuneRecords(frame)
    if isinstance(decoder, StatelessDecoder) and form.name not in _REFUSED:
        return Texts(frame, form)
    reason = _REFUSED.get(form.name, "its decoder keeps state, which executors do not")
    raise ShapeError(
        f"the format {form.name!r} cannot be mirrored through Spark: {reason}; read it with rdflive.mirror"
    )
