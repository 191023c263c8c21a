"""State from a snapshot (the quads of a DataFrame or of an earlier state), and merged state."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from rdflive.entail.reasoning import read_rules
from rdflive_stores.spark.checkpoint import Checkpoint
from rdflive_stores.spark.dataflow import tasks
from rdflive_stores.spark.dataflow.event_time import EventWindow
from rdflive_stores.spark.dataflow.explanation import show_pattern
from rdflive_stores.spark.dataflow.identity import (
    BEGIN_AGAIN,
    check,
    check_format,
    describe,
    missing,
    next_generation,
    succeed,
)
from rdflive_stores.spark.dataflow.query_plan import TYPE, Given, plan_queries
from rdflive_stores.spark.dataflow.state import Home, StateError, TaskMoment
from rdflive_stores.spark.dataflow.types import column_types
from rdflive_stores.spark.dataflow.windowing import carry
from rdflive_stores.spark.running import readable_errors
from rdflive_stores.spark.stages import FILES, Flow, Sink, check_sink, lay_out

__all__ = ["begin", "compact", "rebuild"]

_LISTED: Final = "_spark_metadata"
_QUADS: Final = "op string, s string, p string, o string, g string"
_ELEMENTS: Final = f"{_QUADS}, time timestamp, offset long"


def begin(
    quads: DataFrame,
    flow: Flow,
    checkpoint: Checkpoint,
    generation: str,
    sink: Sink,
    options: Mapping[str, Any],
) -> None:
    """Build the state before the first micro-batch, and send its answer to a sink as number -1.

    The state counts only when all of this is done; after an interruption, the next start repeats it.
    """
    if sink in (*FILES, "memory"):
        raise ValueError(
            f"with initial= the format {sink!r} would hide the answer of the snapshot, because no stream "
            "writes it: use a function, which receives it as number -1, or a table format such as delta"
        )
    state = checkpoint.begin()
    _make(quads, flow, TaskMoment(state / generation, -1), sink, options)
    succeed(state, generation)


def compact(flow: Flow, checkpoint: Checkpoint, spark: SparkSession) -> None:
    """Merge the files of a state into a new generation; do nothing if no micro-batch is committed.

    Raises `StateError` if the state belongs to another query or has other partitions.
    """
    state, last = checkpoint.state, checkpoint.committed
    if state is None or last is None:
        return
    generation = next_generation(checkpoint.home.generation)
    # the copy contains only the folders of this plan
    check(state / checkpoint.home.generation, describe(flow.plan, flow.partitions))
    old, new = TaskMoment(state / checkpoint.home.generation, last), TaskMoment(state / generation, last)
    _claim(flow, new, old)
    numbers = spark.range(0, flow.partitions, 1, flow.partitions)
    task = partial(tasks.compact, flow.plan, old, new)
    numbers.mapInArrow(task, "bucket long").write.format("noop").mode("overwrite").save()
    succeed(state, generation)


def rebuild(
    checkpoint: str | os.PathLike[str],
    query: Given | Mapping[str, Given] | None = None,
    *,
    spark: SparkSession,
    partitions: int | None = None,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - rdflib's name
    path_steps: int | None = None,
    types: Mapping[str, Any] | None = None,
    sink: Sink | None = None,
    **options: Any,
) -> None:
    """Rebuild the state of a stopped subscription from its own quads.

    `partitions` sets their number. `query` sets another query, or several, whose patterns must match no quads
    that the present patterns do not match. `path_steps` sets the largest number of path steps. Entailment and
    rules stay the same; with entailment the state holds all quads of the present queries' graphs. The answer
    goes to `sink`, with `options` for a Spark format and `types` as in `subscribe`. Consumers of another
    query's deltas must start again with this answer. The subscription continues with the changes that it has
    not read yet. A window stays the same and keeps its elements, its waiting changes, their times and its
    watermark.

    A folder for Spark's file formats must not exist yet, so that it holds the answer only once.

    The present state is kept until the new one is complete. A query that runs meanwhile fails at its next
    micro-batch. Raises `StateError` if there is no state, or if the query needs quads that it does not hold.
    """
    if sink is not None:
        check_sink(sink)
    if partitions is not None and partitions < 1:
        raise ValueError(f"partitions must be 1 or more, got {partitions!r}")
    place = Checkpoint(checkpoint, spark)
    state, held, last = place.state, place.held, place.committed
    if state is None or held is None or last is None:
        raise StateError(f"{place.folder} holds no state of a subscription with a committed micro-batch")
    check_format(place.folder, held)
    salted, entailment = held.get("salted", [TYPE]), held.get("entailment")
    rules = read_rules(held.get("rules") or "")
    if query is None:
        given, prefixes = held["query"], initNs or held.get("prefixes")
    else:
        given, prefixes = query, initNs
    steps = held.get("path steps") if path_steps is None else path_steps
    plan = plan_queries(given, prefixes, salted, held.get("parameters"), entailment, rules, steps)
    lacking = missing(plan, held)
    if lacking:
        if entailment is None:
            lacked = f"the quads of {show_pattern(plan.matching, lacking[0])}"
        else:
            lacked = f"all quads of {lacking[0].places[3] or 'the default graph'}"
        raise StateError(f"the state does not hold {lacked}; {BEGIN_AGAIN}, perhaps with initial=")
    old = TaskMoment(state / place.home.generation, last)
    numbers = spark.range(0, held["partitions"], 1, held["partitions"])
    if held.get("window"):
        plan = replace(plan, window=EventWindow.read(held["window"]))
        live = numbers.mapInArrow(partial(tasks.windowed, old), _ELEMENTS)
    else:
        live = numbers.mapInArrow(partial(tasks.live_quads, old), _QUADS)
    generation = next_generation(place.home.generation)
    flow = Flow(plan, partitions or held["partitions"], column_types(plan.names, types or {}))
    _make(live, flow, TaskMoment(state / generation, last), sink, options, old)
    succeed(state, generation)


def _make(
    quads: DataFrame,
    flow: Flow,
    new: TaskMoment,
    sink: Sink | None,
    options: Mapping[str, Any],
    old: TaskMoment | None = None,
) -> None:
    """Run all quads as one micro-batch into a new generation; `old` is the state that has them, if any."""
    path = options.get("path")
    if path is not None and os.path.exists(os.path.join(path, _LISTED)):
        raise ValueError(
            f"{path} holds the files of a stream, and readers would ignore others: use another folder"
        )
    _claim(flow, new, old)
    answer = lay_out([quads], flow, Home(new.folder, "", new))
    with readable_errors():
        if callable(sink):
            sink(answer, new.batch)
        elif sink is not None:
            mode = "errorifexists" if sink in FILES else "append"
            answer.write.format(sink).options(**options).mode(mode).save()
        if not tasks.is_done(new, flow.partitions):
            # runs every task and writes nothing
            answer.write.format("noop").mode("overwrite").save()


def _claim(flow: Flow, new: TaskMoment, old: TaskMoment | None) -> None:
    """Start a generation; a window continues from its position in the old one."""
    tasks.claim(flow.plan, new.folder, flow.partitions)
    if flow.plan.window is not None and old is not None:
        carry(old, new.folder)
