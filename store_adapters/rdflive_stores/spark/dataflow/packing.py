"""Packets of rows: between stages, rows travel as one Arrow stream per destination.

Spark converts every row that leaves Python to its own format and back. A packet is one such row.

A task's output depends on the set of packets that it receives, and not on their order, which no shuffle
keeps: tasks unpack packets in the order of their bytes. When a task runs again, because an executor was lost,
Spark compares its output with the earlier one, and ends the query if they differ.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rdflive_stores.spark.dataflow.runs import Numbers
from rdflive_stores.spark.dataflow.state import Mark

__all__ = [
    "PACKETS",
    "bucket_of",
    "clock",
    "mark",
    "mix",
    "pack",
    "pack_everywhere",
    "spare_collections",
    "unclock",
    "unmark",
    "unpack",
]

PACKETS: Final = "bucket int, kind smallint, packet binary"
"""The columns of packets: the destination, the kind for the stage that unpacks them, and the rows."""
_SCHEMA: Final = pa.schema([("bucket", pa.int32()), ("kind", pa.int16()), ("packet", pa.binary())])
# rows have kinds from 0 up, and solutions from -2 down (`walking.solved`)
_MARK: Final = -1
_CLOCK: Final = -(1 << 15)
# 2**64 divided by the golden ratio, which moves close hashes far apart
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)


def bucket_of(keys: Numbers, buckets: int) -> Numbers:
    """Return the bucket of each key, as Spark's `pmod` does."""
    bucket: Numbers = np.mod(keys, buckets)
    return bucket


def mix(hashes: Iterable[Numbers], length: int) -> Numbers:
    """Combine several hashes into one, row by row; 0 if there are none."""
    mixed = np.zeros(length, np.uint64)
    for column in hashes:
        mixed = (mixed ^ column.view(np.uint64)) * _FACTOR
        mixed ^= mixed >> np.uint64(32)
    return mixed.view(np.int64)


def mark(bucket: int, reached: Mark) -> pa.RecordBatch:
    """Return a packet that reports a bucket's mark to the next stage, even if no rows go there."""
    return _batch([bucket], _MARK, [reached.to_text().encode()])


def unmark(batches: Iterable[pa.RecordBatch], marks: dict[int, Mark]) -> Iterator[pa.RecordBatch]:
    """Pass packets on, and collect the marks among them, by bucket."""
    for batch in batches:
        is_mark = pc.equal(batch.column(1), _MARK)
        buckets, texts = (batch.column(place).filter(is_mark).to_pylist() for place in (0, 2))
        marks.update((bucket, Mark.from_text(text)) for bucket, text in zip(buckets, texts, strict=True))
        yield batch.filter(pc.invert(is_mark))


def clock(time: int | None) -> pa.RecordBatch:
    """Return a packet that reports the largest time of a task's elements; all go to one bucket."""
    return _batch([0], _CLOCK, [json.dumps(time).encode()])


def unclock(batches: Iterable[pa.RecordBatch], times: list[int | None]) -> Iterator[pa.RecordBatch]:
    """Pass packets on, and collect the times among them."""
    for batch in batches:
        is_clock = pc.equal(batch.column(1), _CLOCK)
        times += map(json.loads, batch.column(2).filter(is_clock).to_pylist())
        yield batch.filter(pc.invert(is_clock))


def pack(rows: pa.Table, kind: int, bucket: Numbers) -> Iterator[pa.RecordBatch]:
    """Send each row to its bucket."""
    if not len(bucket):
        return
    order = np.argsort(bucket, kind="stable")
    rows = rows.take(pa.array(order)).combine_chunks()
    found, begins = np.unique(bucket[order], return_index=True)
    ends = [*begins[1:], len(order)]
    packets = [_write(rows.slice(begin, end - begin)) for begin, end in zip(begins, ends, strict=True)]
    yield _batch([int(number) for number in found], kind, packets)


def pack_everywhere(rows: pa.Table, kind: int, buckets: int) -> Iterator[pa.RecordBatch]:
    """Send all rows to every bucket."""
    if rows.num_rows:
        yield _batch(list(range(buckets)), kind, [_write(rows)] * buckets)


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, dict[int, pa.Table]]]:
    """Yield, per bucket, its rows by kind; the result does not depend on their order of arrival."""
    packets: dict[int, dict[int, list[bytes]]] = {}
    for batch in batches:
        for bucket, kind, packet in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            packets.setdefault(bucket, {}).setdefault(kind, []).append(packet)
    for bucket, kinds in sorted(packets.items()):
        yield bucket, {kind: _read(sorted(kinds[kind])) for kind in sorted(kinds)}


def _read(packets: Iterable[bytes]) -> pa.Table:
    return pa.concat_tables(pa.ipc.open_stream(packet).read_all() for packet in packets).combine_chunks()


def _write(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    packet: bytes = sink.getvalue().to_pybytes()
    return packet


def _batch(numbers: list[int], kind: int, packets: list[bytes]) -> pa.RecordBatch:
    columns = [numbers, [kind] * len(numbers), packets]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA
    )


_FIRST: Final = 16
"""Number of tasks in a process that load modules which later tasks use."""
_tasks: Final = count()


def spare_collections() -> None:
    """Exclude a worker's loaded modules from its garbage collections.

    PySpark's workers collect all garbage after each task. With rdflib, pandas and PyArrow loaded that took 60
    ms, more than most tasks of a small micro-batch.
    """
    # not in each task, as frozen objects are never collected; and not in the program that runs Spark
    spark = sys.modules.get("pyspark")  # workers have imported it; stages also run without it
    if spark is not None and spark.TaskContext.get() is not None and next(_tasks) < _FIRST:
        gc.freeze()
