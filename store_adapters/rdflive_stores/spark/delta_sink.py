"""Deltas of a subscription in this process as DataFrames, for any sink of Spark."""

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
    """Hands each delta to `write(rows, sequence)` as a DataFrame, and returns when that has.

    Its rows are signed solutions: `sequence` and `initial` of the delta, `weight` (positive where solutions
    appeared, negative where they went), and a column per variable with the term in N-Triples, NULL where it
    is unbound. A CONSTRUCT query has the columns `subject`, `predicate` and `object`, an ASK query none. An
    initial delta may have no rows; after `Subscription.resync` it replaces all that came before.

    Nothing is buffered, so that a delta counts as delivered only when it was written; each costs a job of
    Spark, so write large batches. With `resume` a delta that was being written when the program ended comes
    again with its number. A write that replaces what it wrote for a number makes it count once:

        def write(rows, sequence):
            rows.write.mode("overwrite").parquet(f"deltas/run={sequence}")

        rdflive.subscribe(graph, query, DeltaSink(spark, write), name="table", resume="deltas.sqlite")

    Raises what `write` raises, `UnwritableError` for a term that N-Triples cannot hold, and `RdfliveError`
    for variables that cannot be columns; of the delta nothing is written then.
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
        """Leave the session open: it is the caller's."""


def delta_rows(delta: Delta) -> pa.Table:
    """Give the signed solutions of a delta, each distinct one as a row.

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
                "variables, and to Spark the case of their letters is one; rename it with (… AS ?other)"
            )
