"""The stages of queries are imported without PySpark; what runs on Spark names what to install."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["pyspark"] = None  # as where it is not installed
import rdflive_stores.spark.dataflow.tasks
try:
    from rdflive_stores.spark import mirror
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_only_what_runs_on_spark_needs_it() -> None:
    """An import of `mirror` fails as such, with the command that installs PySpark."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("SparkNotFoundError Spark needs pyspark: ")
    assert "[spark]" in run.stdout
