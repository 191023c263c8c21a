"""The connectors of Spark that pipelines use: which packages, in which versions, for which PySpark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rdflive.errors import RdfliveError
from rdflive.extras import install_command

__all__ = ["CONNECTORS", "PACKAGES", "Connector", "ConnectorError", "connecting"]

_PYSPARK: Final = "4.2.0"
"""The newest PySpark for which all connectors exist; the extras ask for it."""
PACKAGES: Final = "spark.jars.packages"
"""The setting of Spark that names artifacts of Maven."""


class ConnectorError(RdfliveError, ValueError):
    """A connector that is not known, or not made for the Spark that is installed."""


@dataclass(frozen=True, slots=True)
class Connector:
    """What a session needs to read one kind of source."""

    package: str
    """The artifact of Maven. Spark fetches it, with what it needs, when the session starts."""
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
"""The connectors by name: the formats of Spark, and `s3` for locations in `s3a:`."""


def connecting(names: Iterable[str], config: Mapping[str, str], pyspark: str) -> dict[str, str]:
    """Give the settings of a session that has some connectors; those of `config` are added to.

    Raises `ConnectorError` for names that there are not, and for a PySpark that they are not made for.

    >>> connecting(["kafka"], {"spark.jars.packages": "org.example:other:1"}, "4.2.0")
    {'spark.jars.packages': 'org.example:other:1,org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0'}
    """
    settings: dict[str, str] = {}
    packages = [each for each in config.get(PACKAGES, "").split(",") if each]
    for name in names:
        connector = CONNECTORS.get(name)
        if connector is None:
            raise ConnectorError(f"{name!r} is no connector: there are {', '.join(sorted(CONNECTORS))}")
        if pyspark != _PYSPARK:
            raise ConnectorError(
                f"PySpark {pyspark} has no connector {name!r} that was tried: {_PYSPARK} is the newest that "
                f"has all of them; run {install_command('spark')}"
            )
        packages.append(connector.package)
        settings |= connector.config
    return settings | ({PACKAGES: ",".join(packages)} if packages else {})
