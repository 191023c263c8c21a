"""rdflive on Apache Spark: mirror change feeds into graphs, and maintain subscriptions on a cluster."""

from typing import TYPE_CHECKING

from rdflive_stores.spark.installed import SparkNotFoundError, has_spark, require_spark

if TYPE_CHECKING or has_spark():
    from rdflive_stores.spark.checkpoint import LocationError
    from rdflive_stores.spark.connectors import ConnectorError
    from rdflive_stores.spark.dataflow.state import StateError
    from rdflive_stores.spark.delta_sink import DeltaSink
    from rdflive_stores.spark.graph_changes import ChangeLog, changes
    from rdflive_stores.spark.inspection import Inspection, inspect
    from rdflive_stores.spark.java import JavaNotFoundError
    from rdflive_stores.spark.mirror import MirroredBatch, mirror
    from rdflive_stores.spark.running import DataflowError
    from rdflive_stores.spark.session import SessionError, register, session
    from rdflive_stores.spark.snapshots import rebuild
    from rdflive_stores.spark.subscription import SparkSubscription, subscribe
else:
    # `dataflow` needs no PySpark and stays importable without it

    def __getattr__(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return require_spark()


__all__ = [
    "ChangeLog",
    "ConnectorError",
    "DataflowError",
    "DeltaSink",
    "Inspection",
    "JavaNotFoundError",
    "LocationError",
    "MirroredBatch",
    "SessionError",
    "SparkNotFoundError",
    "SparkSubscription",
    "StateError",
    "changes",
    "inspect",
    "mirror",
    "rebuild",
    "register",
    "session",
    "subscribe",
]
