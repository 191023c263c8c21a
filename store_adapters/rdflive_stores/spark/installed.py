"""Checks for the packages of the extra `spark`."""

from __future__ import annotations

import re
from importlib import import_module

from rdflive.errors import MissingExtraError
from rdflive.extras import install_command

__all__ = ["OLDEST", "SparkNotFoundError", "has_spark", "release", "require_spark"]

# The first Spark that calls `latestOffset(start, limit)` of streaming readers in Python.
OLDEST = (4, 2)


class SparkNotFoundError(MissingExtraError):
    """PySpark or PyArrow cannot be imported, or PySpark is too old."""


def require_spark() -> None:
    """Raise `SparkNotFoundError` unless PyArrow and a PySpark that is new enough can be imported."""
    try:
        # By import, not by metadata: clusters bring PySpark on the path, without any.
        pyspark, _ = import_module("pyspark"), import_module("pyarrow")
    except ImportError as error:
        message = f"Spark needs {error.name}: {install_command('spark')}"
        raise SparkNotFoundError(message, name=error.name) from error
    if release(pyspark.__version__) < OLDEST:
        raise SparkNotFoundError(
            f"pyspark {pyspark.__version__} is too old, rdflive needs {OLDEST[0]}.{OLDEST[1]} or newer: "
            f"{install_command('spark')}"
        )


def has_spark() -> bool:
    """True if PyArrow and a PySpark that is new enough can be imported."""
    try:
        require_spark()
    except SparkNotFoundError:
        return False
    return True


def release(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version.

    >>> release("4.3.0"), release("4.2.0.dev1"), release("4.10")
    ((4, 3), (4, 2), (4, 10))
    """
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])
