"""rdflive on Apache Spark: change feeds mirrored into graphs, and subscriptions past one machine."""

from rdflive_stores.spark.installed import SparkNotFoundError, require_spark

require_spark()  # what follows imports PySpark

from rdflive_stores.spark.checkpoint import LocationError  # noqa: E402
from rdflive_stores.spark.connectors import ConnectorError  # noqa: E402
from rdflive_stores.spark.dataflow.state import StateError  # noqa: E402
from rdflive_stores.spark.delta_sink import DeltaSink  # noqa: E402
from rdflive_stores.spark.graph_changes import ChangeLog, changes  # noqa: E402
from rdflive_stores.spark.inspection import Inspection, inspect  # noqa: E402
from rdflive_stores.spark.java import JavaNotFoundError  # noqa: E402
from rdflive_stores.spark.mirror import MirroredBatch, mirror  # noqa: E402
from rdflive_stores.spark.running import DataflowError  # noqa: E402
from rdflive_stores.spark.session import SessionError, session  # noqa: E402
from rdflive_stores.spark.snapshots import rebuild  # noqa: E402
from rdflive_stores.spark.sources import register  # noqa: E402
from rdflive_stores.spark.subscription import SparkSubscription, subscribe  # noqa: E402

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
