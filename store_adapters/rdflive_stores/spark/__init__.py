"""rdflive on Apache Spark: change feeds mirrored into graphs, and subscriptions past one machine."""

from rdflive_stores.spark.installed import require_spark

require_spark()
