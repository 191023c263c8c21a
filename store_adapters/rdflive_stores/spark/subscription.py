"""Subscriptions on Spark: the answer to a query as a stream of signed solutions."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.streaming.query import StreamingQuery
from rdflib import RDF, URIRef

from rdflive.entail.reasoning import Rules
from rdflive.errors import RdfliveError
from rdflive.feeds.terms import write_term
from rdflive.query.planning import query_notes
from rdflive.time.instants import DurationLike
from rdflive_stores.spark.checkpoint import Checkpoint
from rdflive_stores.spark.dataflow import tasks
from rdflive_stores.spark.dataflow.event_time import TimeWindow
from rdflive_stores.spark.dataflow.explanation import explain
from rdflive_stores.spark.dataflow.identity import (
    check,
    describe,
    is_unmade,
    known,
    next_generation,
    renewed,
    succeed,
)
from rdflive_stores.spark.dataflow.query_plan import Given, plan_queries
from rdflive_stores.spark.dataflow.state import Home, StateError, TaskMoment
from rdflive_stores.spark.dataflow.types import column_types
from rdflive_stores.spark.element_times import event_window
from rdflive_stores.spark.parameters import Rows, as_changes, as_query
from rdflive_stores.spark.running import readable
from rdflive_stores.spark.snapshots import begin, compact
from rdflive_stores.spark.stages import Flow, Sink, check_columns, check_sink, lay_out

__all__ = ["Sink", "SparkSubscription", "subscribe"]

_PLACES: Final = ("s", "p", "o", "g")

log: Final = logging.getLogger("rdflive")


def subscribe(
    changes: DataFrame,
    query: Given | Mapping[str, Given],
    *,
    checkpoint: str | os.PathLike[str],
    initial: DataFrame | None = None,
    window: TimeWindow | None = None,
    time: str | None = None,
    delay: DurationLike | None = None,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - rdflib's name
    partitions: int | None = None,
    types: Mapping[str, Any] | None = None,
    salted: Iterable[str] = (RDF.type,),
    parameters: DataFrame | Given | Rows | None = None,
    entailment: str | None = None,
    rules: Rules | None = None,
    path_steps: int | None = None,
) -> SparkSubscription:
    """Evaluate a query continuously on Spark, over a graph given as a stream of changes.

    `changes` is a streaming DataFrame with the columns `op` ("A" or "D"), `s`, `p`, `o` and optionally `g`.
    Terms are in N-Triples, as `rdflive.feeds` writes them; NULL in `g` is the default graph. Within a
    micro-batch the last operation on a quad counts, in the order of the columns `file`, `offset`, `part`, of
    `topic`, `partition`, `offset`, or of `offset` alone. Without these columns a micro-batch must not both
    insert and delete a quad.

    The graph starts empty, or with the quads of `initial`: a DataFrame that does not stream, with the columns
    `s`, `p`, `o` and optionally `g`. The changes must then start at this snapshot or earlier; a change that
    the snapshot already contains has no effect. Only the first start of a checkpoint uses `initial`.

    With a `window` (`rdflive.Sliding`, `Tumbling` or `Landmark`), `changes` is a stream of elements, and the
    graph holds the elements in the window. The column `time`, of type timestamp, has the time of an element.
    An element with "A" in `op`, or without `op`, enters the window; "D" removes a quad early. The watermark
    is the largest time of all earlier micro-batches, minus `delay`. An element before it is late and dropped,
    and the answer is that of the window's last report before it. `time` and `delay` default to those of
    `withWatermark`.

    `query` is a query, or a dictionary of queries by name. With a dictionary, the column `query` of the
    deltas has the name, and variables that a query lacks are NULL. The queries share one pass over the
    changes, the live quads, and the arrangements of equal patterns. CONSTRUCT has the columns `s`, `p` and
    `o`. ASK has only a weight: 1 when the answer becomes true, and -1 when it becomes false.

    The folder `checkpoint` holds Spark's checkpoint and the subscription's own state. It must be a path that
    all executors see, or a location in an object store. `partitions` is the number of partitions of the
    state, by default `spark.sql.shuffle.partitions`; `rebuild` changes it later. Nothing runs before `start`.

    `types` sets the Spark types of variables' columns: an XSD type such as `rdflib.XSD.integer`, or
    `rdflib.RDFS.Resource` for IRIs without brackets. A value of another type ends the query. Different terms
    with one value, such as "1" and "01", remain separate rows.

    `salted` lists predicates with few objects that have many subjects each, such as `rdf:type`. Where a query
    joins at such an object, its subjects are spread over 16 partitions of the state, and each of these
    partitions keeps a copy of the object's other matches.

    `parameters` binds variables of the query, which is answered for each row of bindings. It is a query over
    the same graph; a mapping of variables to terms, or several, as in `Prepared.subscribe`; or a DataFrame
    with a column of N-Triples terms per variable. A streaming DataFrame inserts and deletes rows by `op`
    ("A" or "D"); without `op` it only inserts.

    With `entailment="rdfs"` queries are answered over the triples that the graph entails, as by
    `rdflive.subscribe`. The schema (subclasses, subproperties, domains and ranges) is a part of the graph and
    arrives with the changes. The executors ignore, and log, a subproperty of one of RDFS's own four.

    With `rules`, as of `rdflive.subscribe`, queries are answered over the triples that the rules entail: each
    pattern of a query becomes the union of all patterns that entail it. Recursive rules are refused.

    `path_steps` is the largest number of steps of `*` and `+` paths, at most 50; without it such paths are
    refused. Steps count from the constant, or the bound end, at which the plan starts. Each step adds one
    shuffle from a constant, else two, and another copy of the edges. A longer path ends the query with an
    error. Then allow more steps with `rebuild`, or with a new start if no micro-batch is committed yet.

    The log warns of a variable that no pattern binds, and names the most similar bound one.

    Raises `UnsupportedQueryError` for queries that only a single process can maintain, `RuleError` for
    unusable rules, and `LocationError` for an unreachable checkpoint.
    """
    if not changes.isStreaming:
        raise ValueError("changes must be a streaming DataFrame: use spark.readStream")
    given = parameters if isinstance(parameters, str | os.PathLike | None) else as_query(parameters)
    terms = [write_term(URIRef(predicate)) for predicate in salted]
    plan = plan_queries(query, initNs, terms, given, entailment, rules, path_steps)
    for one in plan.queries:
        for note in query_notes(one.plan):
            log.warning("%s; the query is %.200r", note, one.plan.query.text)
    plan = replace(plan, window=event_window(changes, window, time, delay))
    if plan.window is not None and initial is not None:
        raise ValueError("initial= does not go with a window: its quads have no times")
    if plan.window is not None and entailment is not None:
        raise ValueError("entailment= does not go with a window on Spark: subscribe to it in one process")
    check_columns(changes, plan)
    sources = [changes]
    if isinstance(parameters, DataFrame) and parameters.isStreaming:
        if plan.window is not None:
            raise ValueError("a stream of parameters does not go with a window: give a query or a table")
        sources.append(as_changes(parameters))
    if initial is not None:
        if initial.isStreaming:
            raise ValueError("initial must not be a streaming DataFrame: use spark.read")
        initial = initial.select(F.lit("A").alias("op"), *(n for n in _PLACES if n in initial.columns))
        check_columns(initial, plan)
    place = Checkpoint(checkpoint, changes.sparkSession)
    held = place.held
    if partitions is None:
        configured = changes.sparkSession.conf.get("spark.sql.shuffle.partitions")
        partitions = int(held["partitions"] if held else configured or 1)
    if partitions < 1:
        raise ValueError(f"partitions must be 1 or more, got {partitions!r}")
    if initial is None and place.is_half_begun:
        raise StateError(f"a start with initial= in {place.folder} was interrupted: pass initial= again")
    flow = Flow(plan, partitions, column_types(plan.names, types or {}))
    return SparkSubscription(sources, flow, place, initial if held is None else None)


class SparkSubscription:
    """A subscription on Spark, as `subscribe` returns it."""

    def __init__(
        self, changes: Sequence[DataFrame], flow: Flow, checkpoint: Checkpoint, initial: DataFrame | None
    ) -> None:
        self._flow = flow
        self._spark = changes[0].sparkSession
        self._checkpoint = checkpoint
        self._initial = initial
        self._changes = changes
        self._running: StreamingQuery | None = None
        self._is_giving = False
        self._restart: Callable[[], StreamingQuery] | None = None
        home = checkpoint.home
        if initial is not None:
            home = Home(home.root, next_generation(home.generation))
        self._home = home
        self.deltas: DataFrame = lay_out(changes, flow, home)
        """The changes of the answer, as a streaming DataFrame.

        It has a column per variable (by default terms in N-Triples, NULL if unbound) and `weight`, the net
        change of the solution's multiplicity. A micro-batch has at most one row per solution, and the same
        rows when it runs again after a failure. In a `foreachBatch` of your own, read each micro-batch to the
        end, or the next one is refused. With `initial`, use `start` first."""

    @property
    def partitions(self) -> int:
        """Number of partitions of the state."""
        return self._flow.partitions

    @property
    def state_size(self) -> int:
        """Bytes of the state on disk, in proportion to the quads that match the patterns now."""
        return sum(self._checkpoint.root.sizes())

    def explain(self) -> str:
        """Return a description of the evaluation: stars that changes visit, stored matches, shuffles."""
        return explain(self._flow.plan, self.partitions)

    def start(
        self, sink: Sink, *, trigger: Mapping[str, Any] | None = None, **options: Any
    ) -> StreamingQuery:
        """Run the query and return Spark's handle.

        `sink` receives the deltas: a Spark format such as `"console"`, or a function of a DataFrame and the
        micro-batch's number. If a micro-batch fails half-way, Spark calls the function again with the same
        number. The function need not read the whole DataFrame. The answer of `initial` comes first, as number
        -1, before this method returns. A format gets no number, so it may receive this answer twice after an
        interruption; Spark's file formats cannot take it. `"rdf_patch"` takes SELECT DISTINCT queries only.
        `trigger` has the arguments of Spark's own, such as `{"availableNow": True}`; `options` has those of
        the format. Waiting for the query raises `DataflowError` if its changes cannot be read.

        Raises `StateError` if the checkpoint belongs to another query or has other partitions.
        """
        if callable(sink) and type(self._spark).__module__.startswith("pyspark.sql.connect"):
            raise RdfliveError(
                "with Spark Connect a function would run in the server, not in this process: name a format "
                "of Spark as the sink"
            )
        check_sink(sink)
        if self._running is not None and self._running.isActive:
            raise RdfliveError("the subscription runs already; stop it first, or subscribe once more")
        if sink == "rdf_patch" and not all(query.is_set for query in self._flow.plan.queries):
            raise ValueError(
                "a graph has a triple once, but without DISTINCT a solution may count twice: SELECT DISTINCT"
            )
        if self._initial is not None:
            # a new name, since tasks of a failed attempt may still write
            generation = next_generation(self._checkpoint.home.generation)
            begin(self._initial, self._flow, self._checkpoint, generation, sink, options)
            self._initial = None
        self._move_home()  # another subscription may have changed the generation
        self._check_state()

        def start() -> StreamingQuery:
            writer = self.deltas.writeStream.options(**options)
            writer = writer.option("checkpointLocation", self._checkpoint.location)
            writer = writer.foreachBatch(partial(self._give, sink)) if callable(sink) else writer.format(sink)
            query = writer.trigger(**trigger).start() if trigger else writer.start()
            return readable(query)

        self._restart = start
        self._running = start()
        return self._running

    def compact(self) -> StreamingQuery | None:
        """Merge the files of the state between two micro-batches; the state also merges them as it grows.

        This stops a running query, which ends its handle, and restarts it. Returns the new handle, or None if
        no query ran. Stop a query that was started from `deltas` before; `deltas` is another DataFrame
        afterwards. Raises `StateError` as `start` does.
        """
        if self._is_giving:
            raise RdfliveError("a sink cannot compact the state that its own micro-batch is written to")
        was_running = self._running is not None and self._running.isActive
        # a micro-batch under way would lose its writes
        self.stop()
        compact(self._flow, self._checkpoint, self._spark)
        self._move_home()
        if not was_running or self._restart is None:
            return None
        self._running = self._restart()
        return self._running

    def stop(self) -> None:
        """Stop the query if it runs; `start` continues from there."""
        if self._running is not None:
            self._running.stop()

    def _give(self, sink: Callable[[DataFrame, int], None], deltas: DataFrame, batch: int) -> None:
        """Call a function with a micro-batch, then run the tasks that it did not, to update the state."""
        self._is_giving = True
        try:
            sink(deltas, batch)
        finally:
            self._is_giving = False
        state = self._checkpoint.state
        if state and not tasks.is_done(TaskMoment(state / self._home.generation, batch), self.partitions):
            # runs every task and writes nothing
            deltas.write.format("noop").mode("overwrite").save()

    def _check_state(self) -> None:
        state = self._checkpoint.state
        if state is None:
            return
        folder, mine = state / self._home.generation, describe(self._flow.plan, self.partitions)
        is_done = self._checkpoint.committed is not None or not is_unmade(self._home.generation)
        # the state must survive the loss of Spark's commit log
        if is_done or tasks.is_past_first(folder):
            check(folder, mine)
        elif known(folder) is not None:
            # no micro-batch counts yet, and the first one may have failed because of the query
            succeed(state, renewed())
            self._move_home()

    def _move_home(self) -> None:
        """Continue with the present generation of the state."""
        if self._home != self._checkpoint.home:
            self._home = self._checkpoint.home
            self.deltas = lay_out(self._changes, self._flow, self._home)
