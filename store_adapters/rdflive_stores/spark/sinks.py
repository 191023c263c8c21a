"""Who takes the deltas of a subscription on Spark: a format, or a function of each micro-batch."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, signature
from typing import Any, Final, TypeAlias

from pyspark.sql import DataFrame

__all__ = ["FILES", "Sink", "check_sink"]

Sink: TypeAlias = "str | Callable[[DataFrame, int], None]"
"""The name of one of Spark's formats, or a function of each micro-batch's deltas and its number."""
FILES: Final = ("avro", "csv", "json", "orc", "parquet", "text", "xml")
"""Spark's formats of files. A stream into a folder lists its files there, and readers pass over others."""
_RUNS_LATER: Final = (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction)
"""Tell of functions that do nothing when they are called."""


def check_sink(sink: Any) -> None:
    """Raise TypeError for what takes no micro-batches: Spark would say so by a traceback of the JVM."""
    taken = "the name of a format of Spark, or a function of a DataFrame and the number of its micro-batch"
    if isinstance(sink, str):
        return
    if not callable(sink) or any(runs_later(sink) for runs_later in _RUNS_LATER):
        raise TypeError(f"sink must be {taken}, got {type(sink).__name__}: {sink!r}")
    try:
        called = signature(sink)
    except ValueError:  # some functions in C do not tell
        return
    try:
        called.bind(None, 0)
    except TypeError as error:
        raise TypeError(f"sink must be {taken}, and {sink!r} cannot be called so: {error}") from error
