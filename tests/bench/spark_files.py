"""The changes of (k) and (x) as files that Spark reads: Parquet in the order of the names, and RDF Patch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from bench.spark_stream import Update
from bench.stream import SEED

__all__ = ["FILES", "parts_of", "read", "size_of", "to_table", "write", "write_growth", "write_log"]

FILES = 2
"""Files per micro-batch, so that two cores read."""
_LOADED = 500_000
"""The triples that one micro-batch loads."""


def to_table(rows: Sequence[Update]) -> pa.Table:
    """Make a table of changes."""
    return pa.table(dict(zip(("op", "s", "p", "o"), map(list, zip(*rows, strict=True)), strict=True)))


def parts_of(rows: Sequence[Update], batch: int) -> Iterator[pa.Table]:
    """Cut changes into the files of micro-batches."""
    share = -(-batch // FILES)
    return (to_table(rows[start : start + share]) for start in range(0, len(rows), share))


def write(folder: Path, tables: Iterable[pa.Table], *, has_times: bool = False) -> None:
    """Write a file for each table; rows are numbered through all of them, one for each second."""
    (folder / "changes").mkdir(parents=True)
    start = 0
    for number, part in enumerate(tables):
        offsets = pa.array(range(start, start + len(part)), pa.int64())
        table = part.append_column("offset", offsets)
        if has_times:
            table = table.append_column("at", offsets.cast(pa.timestamp("s", "UTC")))
        pq.write_table(table, folder / "changes" / f"{number:06d}.parquet")
        start += len(part)


def write_growth(
    folder: Path, size: int, batches: list[int], *, has_graphs: bool = False, has_times: bool = False
) -> int:
    """Write micro-batches of one file each that load a graph and then change it; give how many load it."""
    rng = np.random.default_rng(SEED)
    kinds = [("node", max(size // 6, 1)), ("predicate", 3), ("node", max(size // 6, 1))]
    kinds += [("graph", 2)] * has_graphs

    def made(count: int) -> list[Any]:
        texts = ((name, pa.array(rng.integers(most, size=count)).cast("string")) for name, most in kinds)
        return [pc.binary_join_element_wise(f"<http://example.org/{name}/", t, ">", "") for name, t in texts]

    parts = [made(min(_LOADED, size - start)) for start in range(0, size, _LOADED)]
    files = [(["A"] * len(part[0]), part) for part in parts]
    gone_by = 0
    for half in (batch // 2 for batch in batches):
        begin = gone_by % max(len(parts[0][0]) - half, 1)
        gone_by += half
        gone, come = [column.slice(begin, half) for column in parts[0]], made(half)
        if has_times:  # what goes is not written
            files.append((["A"] * half, come))
        else:
            both = [pa.concat_arrays(pair) for pair in zip(gone, come, strict=True)]
            files.append((["D"] * half + ["A"] * half, both))
    names = ["op", "s", "p", "o", *["g"] * has_graphs]
    tables = (pa.Table.from_arrays([pa.array(ops), *columns], names) for ops, columns in files)
    write(folder, tables, has_times=has_times)
    return len(parts)


def write_log(path: Path, rows: list[Update], size: int = 10) -> None:
    """Write RDF Patch with so many rows in a transaction."""
    with path.open("w", encoding="utf-8") as log:
        for start in range(0, len(rows), size):
            lines = "".join(f"{' '.join(row)} .\n" for row in rows[start : start + size])
            log.write(f"TX .\n{lines}TC .\n")


def read(spark: SparkSession, folder: Path, files: int, more: str = "") -> DataFrame:
    """Read so many files in a micro-batch."""
    for number, file in enumerate(sorted((folder / "changes").iterdir())):
        os.utime(file, (number + 1, number + 1))  # Spark takes files by their age
    reader = spark.readStream.schema(f"op string, s string, p string, o string, offset long{more}")
    return reader.option("maxFilesPerTrigger", files).parquet(str(folder / "changes"))


def size_of(folder: Path) -> int:
    """Give the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
