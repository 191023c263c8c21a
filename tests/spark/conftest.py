"""One Spark session for all tests of Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Give the session of the run, on two threads; skip (or fail, with RDFLIVE_STRICT=1) without a Java."""
    from rdflive_stores.spark.java import JavaNotFoundError
    from rdflive_stores.spark.session import session

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        os.environ.setdefault(name, "test")  # workers have the environment in which the JVM started
    folder = tmp_path_factory.mktemp("spark with a space")
    config: dict[str, object] = {
        "spark.local.dir": folder / "local",
        "spark.sql.warehouse.dir": folder / "warehouse",
        # For what the JVM unpacks and, when it is killed, leaves behind.
        "spark.driver.extraJavaOptions": f'"-Djava.io.tmpdir={folder}"',
    }
    try:
        started = session("local[2]", config=config)
    except JavaNotFoundError as error:
        if os.environ.get("RDFLIVE_STRICT") == "1":
            pytest.fail(str(error))
        pytest.skip(str(error))
    yield started
    started.stop()
