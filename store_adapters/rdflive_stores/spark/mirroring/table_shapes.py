"""Rows that describe changes of table rows: Debezium's events, Delta Lake's change data feed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rdflive.feeds import Line, RowError, RowMapping
from rdflive.feeds.json_lines import read_object
from rdflive.feeds.tables.debezium import DEBEZIUM
from rdflive.feeds.tables.delta_lake import DELTA_LAKE, SIGNS, DeltaLakeDecoder, RowCount
from rdflive.feeds.tables.event_order import EventOrder
from rdflive.feeds.tables.gaps import MappingGaps
from rdflive.feeds.tables.held_rows import HeldRows, RowEdit, RowName
from rdflive.feeds.tables.row_events import RowEvent
from rdflive.model import Change
from rdflive_stores.spark.change_rows import is_one_stream, stream_columns
from rdflive_stores.spark.mirroring.arranging import Placed, arrange
from rdflive_stores.spark.mirroring.decoding import POSITION, DecodingFault, RecordPlace
from rdflive_stores.spark.mirroring.row_orders import OrderedEdit, RowOrders, title
from rdflive_stores.spark.mirroring.shapes import Reading, Report, placed, require_columns
from rdflive_stores.spark.mirroring.table_events import EVENTS, decode_events

__all__ = ["DebeziumEvents", "DeltaRows"]

_OFFSET: Final = "offset "
_UNNUMBERED: Final = "unnumbered"
_INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")
_JSON: Final = {
    "ignoreNullFields": "true",
    "timeZone": "UTC",
    # the default format cuts microseconds off
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


class DebeziumEvents:
    """Rows whose column `value` holds an event of Debezium; this shape keeps the rows of its tables.

    Each event is a unit of its own, even inside a transaction. For events without a position, the shape also
    keeps the order of each row's last event.
    """

    def __init__(self, frame: DataFrame, mapping: RowMapping) -> None:
        self._payload = ["value", *(["key"] if "key" in frame.columns else [])]
        require_columns(frame, "the format 'debezium'", *self._payload, types=("string", "binary"))
        self.is_positioned = stream_columns(frame) is not None
        self._is_one = is_one_stream(frame)
        self._mapping = mapping
        self._rows = HeldRows(mapping, DEBEZIUM.name)
        self._orders = RowOrders()
        self._gaps = MappingGaps(DEBEZIUM.name, mapping)
        self._offsets: dict[str, int] = {}
        self._had_unnumbered = False

    @property
    def is_numbered(self) -> bool:
        """True if all records so far had their position in Kafka."""
        return bool(self._offsets) and not self._had_unnumbered

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the rows, their last events, and the position in each partition."""
        self._rows.restore(kept)
        self._orders.restore(kept)
        self._offsets = {
            key.removeprefix(_OFFSET): int(text) for key, text in kept.items() if key.startswith(_OFFSET)
        }
        self._had_unnumbered = _UNNUMBERED in kept

    def read(self, batch: DataFrame, report: Report, *, repeats: bool) -> Reading:  # noqa: ARG002 - uses numbers
        """Decode the events, apply them to the stored rows, and return the resulting changes."""

        def decode(*, is_net: bool, with_orders: bool = False) -> pa.Table:
            function = partial(
                decode_events,
                mapping=self._mapping,
                is_net=is_net,
                is_one=self._is_one,
                with_orders=with_orders,
            )
            return placed(batch, *self._payload).mapInArrow(function, EVENTS).toArrow()

        return self.fold(decode, report)

    def fold(self, decode: Callable[..., pa.Table], report: Report) -> Reading:
        """Apply decoded events to the rows; `decode` takes `is_net` and `with_orders` of `decode_events`."""
        is_net = not self._orders.moved
        decoded = _read(decode(is_net=is_net))
        # An event that moves a row may need a value from an event that netting has dropped.
        if is_net and any(note["moves"] for note in decoded.notes):
            is_net, decoded = False, _read(decode(is_net=False))
        arranged = arrange(decoded.events, is_net=is_net, is_one=self._is_one)
        with_orders = arranged.lacks_orders
        if with_orders:
            decoded = _read(decode(is_net=is_net, with_orders=True))
            arranged = arrange(decoded.events, is_net=is_net, is_one=self._is_one)
        if is_net and arranged.faults:
            # earlier events count, and netting has dropped them
            decoded = _read(decode(is_net=False, with_orders=with_orders))
            arranged = arrange(decoded.events, is_net=False, is_one=self._is_one)
        for row, fault in decoded.faults:
            report(_place(row), fault)
        for (row, event), reason in arranged.faults:
            report(_place(row), DecodingFault(1, f"{title(event)}: {reason}", row["value"] or row["event"]))
        edit = RowEdit(self._rows)
        ordered = OrderedEdit(self._orders, edit)
        late: dict[RecordPlace, DecodingFault] = {}
        for row, event in arranged.events:
            # records up to this offset were applied before
            if row["offset"] > self._offsets.get(row["stream"], -1):
                place = _place(row)
                try:
                    if not _apply(row, event, edit, ordered):
                        late[place] = DecodingFault(
                            1, f"a later event of {title(event)} was applied", row["value"]
                        )
                except RowError as error:
                    report(place, DecodingFault(1, str(error), row["value"]))
        done = edit.finish()
        kept = {**({} if done is None else done.kept), **ordered.finish()}
        overlaps = self._take_numbers(decoded.notes, kept)
        self._warn(decoded.notes)
        return Reading([] if done is None else list(done.changes), kept, overlaps, late=late)

    def _take_numbers(self, notes: list[dict[str, Any]], kept: dict[str, str | None]) -> bool:
        """Advance to the last record of each partition; return False if one begins after a gap."""
        overlaps = True
        for note in notes:
            for name, (least, most) in note["numbers"].items():
                had = self._offsets.get(name, -1)
                overlaps = overlaps and (least <= had + 1 or had < 0)
                if most > had:
                    self._offsets[name] = most
                    kept[_OFFSET + name] = str(most)
            if note["unnumbered"] and not self._had_unnumbered:
                self._had_unnumbered = True
                kept[_UNNUMBERED] = "1"
        return overlaps

    def _warn(self, notes: list[dict[str, Any]]) -> None:
        for note in notes:
            for table, lacking, seen in note["gaps"]:
                if lacking is None:
                    self._gaps.warn_of_table(tuple(table))
                else:
                    self._gaps.warn_of_columns(tuple(table), lacking, seen)


class DeltaRows:
    """Rows of a table's change data feed; this shape counts equal rows, and keeps the counts.

    A version is a unit. A version that the source cuts is applied in two steps, which is right if none of its
    rows is deleted before it is inserted.
    """

    is_positioned = False
    """Rows have a version instead."""
    is_numbered = True

    def __init__(self, frame: DataFrame, decoder: DeltaLakeDecoder) -> None:
        require_columns(frame, "the format 'delta-lake'", "_change_type")
        require_columns(frame, "the format 'delta-lake'", "_commit_version", types=_INTEGERS)
        ((name, table),) = decoder.mapping.tables.items()
        lacking = [column for column in table.columns if column not in frame.columns]
        MappingGaps(DELTA_LAKE.name, decoder.mapping).warn_of_columns((name,), lacking, frame.columns)
        self._columns = [column for column in table.columns if column not in lacking]
        self._decoder = decoder

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the rows and the last version."""
        self._decoder.restore(kept)

    def read(self, batch: DataFrame, report: Report, *, repeats: bool) -> Reading:
        """Count the rows of each version, and apply the net counts version by version."""
        decoder = self._decoder
        changes: list[Change] = []
        kept: dict[str, str | None] = {}
        first = decoder.applied
        counted = (
            _counted(batch, self._columns).toArrow().sort_by([("version", "ascending"), ("row", "ascending")])
        )
        versions = [(version, list(rows)) for version, rows in groupby(counted.to_pylist(), key=_version)]
        overlaps = not versions or first < 0 or (versions[0][0] or 0) <= first + 1
        for version, rows in versions:
            try:
                net = _net(decoder, version, rows)
                if repeats and decoder.is_applied(version, net):
                    continue
                if version < decoder.applied:
                    raise RowError(f"version {version} comes after version {decoder.applied}")
                decoded = decoder.apply(version, net)
            except RowError as error:
                report(
                    RecordPlace("", version),
                    DecodingFault(error.line or 1, str(error), "\n".join(map(_line, rows))),
                )
                continue
            if decoded is not None:
                changes += decoded.changes
                kept.update(decoded.kept)
        return Reading(changes, kept, overlaps, repeats and decoder.applied <= first)


class _Decoded(NamedTuple):
    events: list[Placed]
    """By position."""
    faults: list[tuple[Mapping[str, Any], DecodingFault]]
    notes: list[dict[str, Any]]


def _read(table: pa.Table) -> _Decoded:
    """Sort decoded rows by position, and separate events from notes."""
    decoded = _Decoded([], [], [])
    for row in table.sort_by([(name, "ascending") for name in POSITION]).to_pylist():
        note = None if row["note"] is None else json.loads(row["note"])
        if note is None:
            decoded.events.append((row, RowEvent.from_text(row["event"])))
        elif "fault" in note:
            decoded.faults.append((row, DecodingFault(*note["fault"])))
        else:
            decoded.notes.append(note)
    return decoded


def _apply(row: Mapping[str, Any], event: RowEvent, edit: RowEdit, ordered: OrderedEdit) -> bool:
    """Apply an event to the rows; return False if it is late. Raises `RowError`."""
    if not row["stream"]:
        return ordered.apply(event, EventOrder.from_json(json.loads(row["order"])))
    event.apply(edit)  # raises only for an incomplete one
    return True


def _place(row: Mapping[str, Any]) -> RecordPlace:
    return RecordPlace(*(row[name] for name in RecordPlace._fields))


def _counted(batch: DataFrame, columns: list[str]) -> DataFrame:
    """Count equal rows per version, inserts and deletes apart; bad rows are kept singly."""
    kind = F.col("_change_type")
    sign = F.when(kind.isin(*(k for k, n in SIGNS.items() if n > 0)), 1)
    sign = sign.when(kind.isin(*(k for k, n in SIGNS.items() if n < 0)), -1)
    is_bad = sign.isNull() | ~F.coalesce(F.col("_commit_version") >= 0, F.lit(False))
    # quoted, because Spark reads a dot in a name as a field of a struct
    named = [F.col(f"`{column}`") for column in columns]
    rows = batch.select(
        F.col("_commit_version").cast("long").alias("version"),
        (F.to_json(F.struct(*named), _JSON) if named else F.lit("{}")).alias("row"),
        sign.alias("sign"),
        F.when(sign.isNull(), F.coalesce(kind, F.lit("NULL"))).alias("kind"),
        F.when(is_bad, F.monotonically_increasing_id()).alias("single"),
    )
    found = rows.groupBy("version", "row", "kind", "single").agg(F.sum("sign").alias("count"))
    return found.where(F.col("single").isNotNull() | (F.col("count") != 0))


def _net(decoder: DeltaLakeDecoder, version: int | None, rows: list[dict[str, Any]]) -> list[RowCount]:
    """Read the rows of a version; equal rows may be written in two ways."""
    net: dict[RowName, RowCount] = {}
    for number, row in enumerate(rows, start=1):
        if version is None or version < 0:
            raise RowError(f"'_commit_version' of the row must be 0 or more, not {version}", number)
        if row["kind"] is not None:
            accepted = ", ".join(SIGNS)
            raise RowError(
                f"'_change_type' of the row must be one of {accepted}, not {row['kind'][:40]!r}", number
            )
        line = Line(row["row"], number)
        try:
            name, cells = decoder.to_row(read_object(line))
        except RowError as error:
            raise RowError(str(error), number) from error
        before = net[name].change if name in net else 0
        net[name] = RowCount(name, cells, before + row["count"], line)
    return [row for row in net.values() if row.change]


def _line(row: Mapping[str, Any]) -> str:
    """Return a counted row as a line of a feed, repeated by its count."""
    count = row["count"] or 1
    kind = row["kind"] or ("insert" if count > 0 else "delete")
    line = {**json.loads(row["row"]), "_change_type": kind, "_commit_version": row["version"]}
    return "\n".join([json.dumps(line, ensure_ascii=False)] * abs(count))


def _version(row: Mapping[str, Any]) -> int:
    version: int = row["version"]
    return version
