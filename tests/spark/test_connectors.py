"""Connectors by name: what a session is started with, and what is told where one is missing."""

from __future__ import annotations

import re
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest

from rdflive_stores.spark.connectors import CONNECTORS, ConnectorError, connecting
from rdflive_stores.spark.session import SessionError, _check_connectors

PYSPARK = "4.2.0"


def test_packages_and_settings_are_put_together() -> None:
    """Several connectors, beside packages that the program names itself."""
    found = connecting(["kafka", "delta"], {"spark.jars.packages": "org.example:other:1"}, PYSPARK)
    packages = found.pop("spark.jars.packages").split(",")
    assert packages == ["org.example:other:1", CONNECTORS["kafka"].package, CONNECTORS["delta"].package]
    assert found == CONNECTORS["delta"].config
    assert connecting([], {}, "4.3.0") == {}


@pytest.mark.parametrize(
    ("names", "pyspark", "message"),
    [
        (["kafak"], PYSPARK, "'kafak' is no connector: there are delta, kafka, s3"),
        (
            ["kafka"],
            "4.3.0",
            r"PySpark 4.3.0 has no connector 'kafka' that was tried: 4.2.0 .*install.*spark",
        ),
    ],
)
def test_what_there_is_not_is_told_with_the_line_to_add(names: Any, pyspark: str, message: str) -> None:
    """Before a JVM is started, which would end with less."""
    with pytest.raises(ConnectorError, match=message):
        connecting(names, {}, pyspark)


def test_a_running_session_without_a_connector_is_told() -> None:
    """However it was started: by packages of other versions, or by jars."""
    conf: dict[str, str] = {"spark.jars": "/jars/spark-sql-kafka-0-10_2.13-4.2.1.jar"}
    running: Any = SimpleNamespace(conf=conf)
    _check_connectors(["kafka"], running)
    with pytest.raises(
        SessionError, match=r"without the connector 'delta': .*session\(connectors=\['delta'\]\)"
    ):
        _check_connectors(["delta"], running)
    conf["spark.jars.packages"] = "io.delta:delta-spark_4.2_2.13:4.4.0"
    _check_connectors(["kafka", "delta"], running)


def test_the_extras_pin_what_the_connectors_are_made_for() -> None:
    """One PySpark for all of them, and Delta's library of the version of its package."""
    required = [re.sub(r"[ ()]", "", text) for text in metadata.requires("rdflive") or ()]
    assert any(text.startswith(f"pyspark[sql]=={PYSPARK};") for text in required)
    version = CONNECTORS["delta"].package.rpartition(":")[2]
    assert any(text.startswith(f"delta-spark=={version};") for text in required)
    assert CONNECTORS["kafka"].package.endswith(f":{PYSPARK}")
