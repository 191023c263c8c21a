"""What a worker has loaded is not looked at again by its garbage collections."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from rdflive_stores.spark.workers import spare_collections


def frozen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    spare_collections()
    for batch in batches:
        counts = pa.array([gc.get_freeze_count()] * batch.num_rows, pa.int64())
        yield pa.RecordBatch.from_arrays([counts], ["frozen"])


def test_a_worker_freezes_what_it_has_loaded(spark: SparkSession) -> None:
    """For ever, or each task would look at all of it; in the program itself nothing is frozen."""
    rows = spark.range(2).mapInArrow(frozen, "frozen long").collect()
    assert min(row.frozen for row in rows) > 10_000
    before = gc.get_freeze_count()
    spare_collections()
    assert gc.get_freeze_count() == before
