"""The Spark plan of a subscription: shuffled stages from changes to signed solutions, and the sink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, signature
from typing import Any, Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rdflive.entail.reasoning import SCHEMA_WORDS, TYPE
from rdflive.errors import UnsupportedQueryError
from rdflive_stores.spark.change_rows import StreamColumns, is_one_stream, stream_columns
from rdflive_stores.spark.dataflow import tasks
from rdflive_stores.spark.dataflow.event_time import EventWindow
from rdflive_stores.spark.dataflow.matching import CANONICAL
from rdflive_stores.spark.dataflow.packing import PACKETS
from rdflive_stores.spark.dataflow.plan import DEFAULT_GRAPH, Pattern
from rdflive_stores.spark.dataflow.query_plan import JointPlan
from rdflive_stores.spark.dataflow.state import Home
from rdflive_stores.spark.dataflow.types import TEXT, ColumnTypes
from rdflive_stores.spark.element_times import quoted

__all__ = ["FILES", "OBSERVED", "Flow", "Sink", "check_columns", "check_sink", "lay_out"]

OBSERVED: Final = "rdflive"
"""The name under which Spark's progress of a query reports the size of the state."""
_WEIGHT: Final = "weight"
_PLACES: Final = ("s", "p", "o", "g")


@dataclass(frozen=True, slots=True)
class Flow:
    """A query, the number of partitions of its state, and the types of its columns."""

    plan: JointPlan
    partitions: int
    types: ColumnTypes


def lay_out(changes: Sequence[DataFrame], flow: Flow, home: Home) -> DataFrame:
    """Return the signed solutions of each micro-batch; changes that do not stream are one micro-batch."""
    plan, buckets, types = flow.plan, flow.partitions, flow.types
    quads = reduce(DataFrame.unionByName, (_positioned(each, plan.window) for each in changes))
    is_wanted = _may_match(plan.kept)
    rows = quads.where(is_wanted) if plan.window is None else _thinned(quads, is_wanted)
    rows = _bucketed(_hashed(rows), buckets)
    if plan.entailment is not None:
        rows = _with_schema_everywhere(rows, buckets)
    rows = _shuffle(rows, buckets).mapInArrow(partial(tasks.match, plan, home, buckets), PACKETS)
    if plan.entailment is not None:
        rows = _shuffle(rows, buckets).mapInArrow(partial(tasks.count, plan, home, buckets), PACKETS)
    for number in range(plan.matching.rounds):
        task = partial(tasks.walk, plan, home, buckets, number)
        rows = _shuffle(rows, buckets).mapInArrow(task, PACKETS)
    columns = [*(f"`{name}` {types.get(name, TEXT).sql}" for name in plan.columns), f"{_WEIGHT} long"]
    solutions = ", ".join([*columns, *(f"`{name}` long" for name in tasks.MEASURES)])
    for number in range(plan.stages):
        task = partial(tasks.finish, plan, home, buckets, number, types)
        is_last = number == plan.stages - 1
        rows = _shuffle(rows, buckets).mapInArrow(task, solutions if is_last else PACKETS)
    sums = [F.sum(f"`{name}`").alias(name.replace(" ", "_")) for name in tasks.MEASURES]
    measured = rows.observe(OBSERVED, *sums).where(F.col(_WEIGHT).isNotNull())
    return measured.drop(*tasks.MEASURES)


def check_columns(changes: DataFrame, plan: JointPlan) -> None:
    """Raise for missing or mistyped columns, and for variables that are one column to Spark."""
    needed = ("op", "s", "p", "o") if plan.window is None else ("s", "p", "o")
    missing = [name for name in needed if name not in changes.columns]
    if missing:
        raise ValueError(
            f"changes lacks the column {missing[0]!r}; it has {', '.join(changes.columns)}, and must have "
            f"{', '.join(needed)} and optionally g, as in the format rdf_patch"
        )
    for name, kind in changes.dtypes:
        if name in ("op", "s", "p", "o", "g") and kind != "string":
            raise ValueError(
                f"the column {name!r} of changes must hold strings, not {kind}: terms in N-Triples"
            )
    seen: dict[str, str] = {_WEIGHT: _WEIGHT}
    for name in plan.columns:
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise UnsupportedQueryError(
                f"?{name} would be a column of the same name as {other!r}, because Spark ignores case; "
                "rename the variable",
                construct=f"?{name}",
            )


def _positioned(changes: DataFrame, window: EventWindow | None) -> DataFrame:
    """Select columns and position of a change, and its time with a window; a NULL graph is the default."""
    alone = F.col("offset") if "offset" in changes.columns else F.lit(0)
    found = stream_columns(changes)
    place = found or StreamColumns(F.lit(""), alone, F.lit(0))
    graph = F.coalesce(F.col("g"), F.lit(DEFAULT_GRAPH)) if "g" in changes.columns else F.lit(DEFAULT_GRAPH)
    # elements without an operation are inserts
    op = F.col("op") if "op" in changes.columns else F.lit("A").alias("op")
    times = [] if window is None else [F.unix_micros(quoted(window.column)).alias("time")]
    return changes.select(
        op,
        "s",
        "p",
        "o",
        graph.alias("g"),
        place.stream.alias("stream"),
        place.offset.cast("long").alias("offset"),
        place.part.cast("long").alias("part"),
        F.lit(found is not None and not is_one_stream(changes)).alias("is_apart"),
        *times,
    )


def _may_match(patterns: tuple[Pattern, ...]) -> Column:
    """Return a filter for changes that a pattern may match, or that a later stage refuses as malformed."""

    def is_there(place: str, name: str) -> Column:
        column = F.col(name)
        is_odd = ~column.rlike(CANONICAL) if place != DEFAULT_GRAPH else F.lit(False)
        return (column == F.lit(place)) | is_odd | column.isNull()

    wanted = F.lit(False)
    for pattern in patterns:
        places = zip(pattern.places, _PLACES, strict=True)
        fits = F.lit(True)
        for place, name in places:
            if isinstance(place, str):
                fits = fits & is_there(place, name)
        wanted = wanted | fits
    return wanted | ~F.col("op").isin("A", "D", "+", "-") | F.col("op").isNull()


def _thinned(rows: DataFrame, is_wanted: Column) -> DataFrame:
    """Reduce elements that no pattern can match to their times, since the watermark follows all elements."""
    rows = rows.withColumn("is_wanted", is_wanted)
    texts = {name: F.when(F.col("is_wanted"), F.col(name)) for name in ("op", *_PLACES, "stream")}
    return rows.withColumns(texts)


def _bucketed(rows: DataFrame, buckets: int) -> DataFrame:
    decides: Column = F.col("hash")
    if "is_wanted" in rows.columns:
        # elements without a quad are spread by time
        decides = F.when(F.col("is_wanted"), decides).otherwise(F.xxhash64("time"))
    return rows.withColumn("bucket", F.pmod(decides, F.lit(buckets)).cast("int"))


def _hashed(rows: DataFrame) -> DataFrame:
    hashes = [F.xxhash64(name).alias(f"h{name}") for name in _PLACES]
    return rows.select("*", *hashes, F.xxhash64(*_PLACES).alias("hash"))


def _with_schema_everywhere(rows: DataFrame, buckets: int) -> DataFrame:
    """Send changes of the schema to every bucket, and add the hash of `rdf:type`."""
    every = F.sequence(F.lit(0), F.lit(buckets - 1))
    bucket = F.explode(F.when(F.col("p").isin(*SCHEMA_WORDS), every).otherwise(F.array("bucket")))
    return rows.withColumns({"bucket": bucket, "htype": F.xxhash64(F.lit(TYPE))})


def _shuffle(rows: DataFrame, buckets: int) -> DataFrame:
    # the bucket is the partition's number, by which tasks find their part of the state
    return rows.repartitionById(buckets, "bucket")


Sink: TypeAlias = "str | Callable[[DataFrame, int], None]"
"""A Spark format, or a function of each micro-batch's deltas and its number."""
FILES: Final = ("avro", "csv", "json", "orc", "parquet", "text", "xml")
"""Spark's file formats. A stream lists its files in the folder, and readers ignore other files."""
_RUNS_LATER: Final = (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction)
"""Predicates for functions whose call runs nothing yet."""


def check_sink(sink: Any) -> None:
    """Raise TypeError unless `sink` can take micro-batches; Spark would raise a traceback of the JVM."""
    taken = "the name of a Spark format, or a function of a DataFrame and the number of its micro-batch"
    if isinstance(sink, str):
        return
    if not callable(sink) or any(runs_later(sink) for runs_later in _RUNS_LATER):
        raise TypeError(f"sink must be {taken}, got {type(sink).__name__}: {sink!r}")
    try:
        called = signature(sink)
    except ValueError:  # some functions in C have no signature
        return
    try:
        called.bind(None, 0)
    except TypeError as error:
        raise TypeError(f"sink must be {taken}, and {sink!r} cannot be called with these: {error}") from error
