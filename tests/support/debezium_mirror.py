"""The stages of a Debezium mirror on Spark, run without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from rdflive.feeds import read_mapping
from rdflive_stores.spark.mirroring.decoding import DecodingFault
from rdflive_stores.spark.mirroring.shapes import Reading
from rdflive_stores.spark.mirroring.table_events import decode_events
from rdflive_stores.spark.mirroring.table_shapes import DebeziumEvents
from support.debezium_logs import MAPPING, Logged
from support.spark_mirrors import arrow_rows, refuse

__all__ = ["READ", "Mirror", "Partitions"]

READ = read_mapping(MAPPING)
Partitions = Sequence[Sequence[tuple[int, Logged]]]
"""The events of a micro-batch per task, each with its offset in the stream."""


class Frame:
    """A stub of a DataFrame that has only columns."""

    columns = ("key", "value")
    dtypes = (("key", "string"), ("value", "string"))


class Mirror:
    """Folds micro-batches into quads and stored texts, as the driver does."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.quads: set[Any] = set()
        self.faults: list[DecodingFault] = []
        self.restart()

    def restart(self) -> None:
        """Continue from the stored texts."""
        frame: Any = Frame()
        self.shape = DebeziumEvents(frame, READ)
        self.shape.restore(self.kept)

    def take(
        self,
        partitions: Partitions,
        *,
        is_placed: bool = True,
        streams: Sequence[Sequence[str]] = (),
        is_one: bool = False,
        report: Any = refuse,
    ) -> Reading:
        """Apply a micro-batch; `is_placed` is True if its records have offsets in their `streams`."""
        self.shape._is_one = is_one

        def decode(**how: bool) -> pa.Table:
            found = []
            for number, partition in enumerate(partitions):
                places = [place for place, _ in partition]
                stream = streams[number] if streams else ["t/0"] * len(places)
                more = {"stream": stream, "offset": places} if is_placed else {}
                seq = [(number << 33) + n for n in range(len(places))]
                rows = arrow_rows(
                    [record.value for _, record in partition],
                    key=pa.array([record.key for _, record in partition], pa.string()),
                    seq=seq,
                    **more,
                )
                found += decode_events(_slices(rows), mapping=READ, is_one=is_one, **how)
            return pa.Table.from_batches(found)

        reading = self.shape.fold(decode, report)
        for sign, quad in reading.changes:
            assert (quad in self.quads) is (sign < 0)
            (self.quads.add if sign > 0 else self.quads.remove)(quad)
        for key, text in reading.kept.items():
            self.kept.pop(key, None)
            if text is not None:
                self.kept[key] = text
        return reading


def _slices(rows: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [rows.slice(begin, 3) for begin in range(0, max(rows.num_rows, 1), 3)]
