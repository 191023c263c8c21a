"""The Spark connectors for pipelines: their packages, versions and settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rdflive.errors import RdfliveError
from rdflive.extras import install_command

__all__ = ["CONNECTORS", "PACKAGES", "Connector", "ConnectorError", "connecting"]

_PYSPARK: Final = "4.2.0"
"""The newest PySpark for which all connectors exist; the extras require it."""
PACKAGES: Final = "spark.jars.packages"
"""The Spark setting that names Maven artifacts."""


class ConnectorError(RdfliveError, ValueError):
    """An unknown connector, or one that the installed Spark does not have."""


@dataclass(frozen=True, slots=True)
class Connector:
    """The settings of a session that reads one kind of source."""

    package: str
    """The Maven artifact. Spark downloads it and its dependencies when the session starts."""
    config: Mapping[str, str] = field(default_factory=dict)


CONNECTORS: Final = {
    "kafka": Connector(f"org.apache.spark:spark-sql-kafka-0-10_2.13:{_PYSPARK}"),
    "delta": Connector(
        "io.delta:delta-spark_4.2_2.13:4.4.0",
        {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        },
    ),
    "s3": Connector("org.apache.hadoop:hadoop-aws:3.5.0"),
}
"""The connectors by name: Spark formats, and `s3` for locations in `s3a:`."""


def connecting(names: Iterable[str], config: Mapping[str, str], pyspark: str) -> dict[str, str]:
    """Return the settings that add connectors to a session with the settings `config`.

    Raises `ConnectorError` for unknown names, and for a PySpark without tested connectors.

    >>> connecting(["kafka"], {"spark.jars.packages": "org.example:other:1"}, "4.2.0")
    {'spark.jars.packages': 'org.example:other:1,org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0'}
    """
    settings: dict[str, str] = {}
    packages = [each for each in config.get(PACKAGES, "").split(",") if each]
    for name in names:
        connector = CONNECTORS.get(name)
        if connector is None:
            raise ConnectorError(f"{name!r} is not a connector; choose from {', '.join(sorted(CONNECTORS))}")
        if pyspark != _PYSPARK:
            raise ConnectorError(
                f"PySpark {pyspark} has no tested connector {name!r}: {_PYSPARK} is the newest that has all "
                f"connectors; run {install_command('spark')}"
            )
        packages.append(connector.package)
        settings |= connector.config
    return settings | ({PACKAGES: ",".join(packages)} if packages else {})
