"""A subscription's deltas as DataFrames, for any Spark sink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from rdflive import Delta, RdfliveError
from rdflive.feeds.terms import write_term
from rdflive.sinks.sink import to_rdflib

__all__ = ["DeltaSink", "delta_rows"]

_PLACES: Final = [("sequence", pa.int64()), ("weight", pa.int64()), ("initial", pa.bool_())]
_TRIPLE: Final = ("subject", "predicate", "object")


class DeltaSink:
    """Callback that passes each delta to `write(rows, sequence)` as a DataFrame, and waits for it.

    The rows are signed solutions. They have the delta's `sequence` and `initial`, a `weight` (positive for
    solutions that appeared, negative for those that disappeared), and a column per variable with the term in
    N-Triples, NULL if unbound. A CONSTRUCT query has the columns `subject`, `predicate` and `object`, an ASK
    query none. An initial delta may have no rows; after `Subscription.resync` it replaces all earlier deltas.

    Nothing is buffered, so a delta counts as delivered only after it is written. Each delta costs a Spark
    job, so write large batches. With `resume`, a delta whose write was interrupted comes again with its
    number. A `write` that replaces its earlier output for a number makes each delta count once:

        def write(rows, sequence):
            rows.write.mode("overwrite").parquet(f"deltas/run={sequence}")

        rdflive.subscribe(graph, query, DeltaSink(spark, write), name="table", resume="deltas.sqlite")

    Raises the errors of `write`, `UnwritableError` for a term that N-Triples cannot hold, and `RdfliveError`
    for variables that cannot be columns; then nothing of the delta is written.
    """

    def __init__(self, spark: SparkSession, write: Callable[[DataFrame, int], object]) -> None:
        if not callable(write):
            raise TypeError(f"write must be a function of a DataFrame and a number, got {write!r}")
        self._spark = spark
        self._write = write

    def __call__(self, delta: Delta) -> None:
        """Write one delta."""
        self._write(self._spark.createDataFrame(delta_rows(delta)), delta.sequence)

    def close(self) -> None:
        """Do nothing: the caller owns the session."""


def delta_rows(delta: Delta) -> pa.Table:
    """Return the signed solutions of a delta, with a row per distinct solution.

    >>> from rdflib import Literal
    >>> from rdflive.model import Header
    >>> delta_rows(Delta(Header("SELECT", ("x",)), {(Literal(1),): -2}, sequence=7)).to_pylist()
    [{'sequence': 7, 'weight': -2, 'initial': False, 'x': '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'}]
    """
    # an ASK has no names either
    is_construct = not delta.names and delta.answer is None
    names = _TRIPLE if is_construct else delta.names
    _check_columns(names)
    weights = delta.native.weights()
    places = [[delta.sequence] * len(weights), list(weights.values()), [delta.initial] * len(weights)]
    terms = [[_text(row[place]) for row in weights] for place in range(len(names))]
    schema = pa.schema([*_PLACES, *((name, pa.string()) for name in names)])
    return pa.Table.from_pydict(dict(zip(schema.names, [*places, *terms], strict=True)), schema=schema)


def _text(term: Any) -> str | None:
    return None if term is None else write_term(to_rdflib(term))


def _check_columns(names: tuple[str, ...]) -> None:
    count = Counter(name.lower() for name in (*(name for name, _ in _PLACES), *names))
    for name in names:
        if count[name.lower()] > 1:
            raise RdfliveError(
                f"the variable ?{name} cannot be a column: the columns are sequence, weight, initial and the "
                "variables, and Spark ignores the case of their letters; rename it with (… AS ?other)"
            )
