"""The formats that rdflive brings to a session of Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rdflive_stores.spark.aws.kinesis import KinesisDataSource
from rdflive_stores.spark.aws.neptune import NeptuneDataSource
from rdflive_stores.spark.logs.source import RdfPatchDataSource

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Make the formats "rdf_patch", "kinesis" and "neptune_stream" known to a session; may be repeated."""
    for source in (RdfPatchDataSource, KinesisDataSource, NeptuneDataSource):
        spark.dataSource.register(source)
