"""A query whose answer Spark keeps up to date, as a stream of signed solutions."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
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
    """Evaluate a query continuously on Spark, over a graph that is nothing but its changes.

    `changes` is a streaming DataFrame with the columns `op` ("A" or "D"), `s`, `p`, `o` and perhaps `g`:
    terms in N-Triples as `rdflive.feeds` writes them, NULL for the default graph. Within a micro-batch the
    last operation on a quad counts, by the columns `file`, `offset`, `part`, or `topic`, `partition`,
    `offset`, or `offset` alone: without them a micro-batch must not both insert and delete a quad.

    The graph begins empty, or as `initial`: a DataFrame that is no stream, with the columns `s`, `p`, `o` and
    perhaps `g`. Then the changes must begin where it was taken, or before: to apply a change that it has
    already does nothing. It counts for the first start of a checkpoint only.

    With a `window`, which is `rdflive.Sliding`, `Tumbling` or `Landmark`, `changes` is a stream of elements,
    and the graph is what the window holds of them. Each has its time in the column `time`, of type timestamp;
    what has "A" in `op`, or no `op`, comes in, and "D" takes a quad out early. The watermark is the largest
    time of all micro-batches before, less `delay`: an element before it is late and dropped, and the window
    is as of its last report in front of it. Column and delay are those of `withWatermark`, unless given.

    `query` is a query, or a dictionary of several by name: then the deltas have the name in the column
    `query`, and NULL in those of variables that the query does not have. Several share one pass over the
    changes, the live quads, and the arrangements of patterns that are equal. CONSTRUCT gives the columns `s`,
    `p` and `o`; ASK has no column: its weight is 1 where the answer becomes true, and -1 where it becomes
    false.

    The folder `checkpoint` holds Spark's checkpoint and the subscription's own state; it must be a path that
    all executors see, or a location in an object store. `partitions` are the parts of the state, by default
    `spark.sql.shuffle.partitions`; `rebuild` changes them later. Nothing runs before `start`.

    `types` gives columns of variables a type of Spark: an XSD type such as `rdflib.XSD.integer`, or
    `rdflib.RDFS.Resource` for IRIs without brackets. A value of another type ends the query. Different terms
    of one value, such as "1" and "01", are rows of their own.

    `salted` are predicates of which few objects have many subjects, as classes have instances. Where a query
    joins at such an object, its subjects are spread over 16 partitions of the state, and what else is known
    of the object is kept in each of them.

    `parameters` gives terms to variables of the query, which is answered for each row of them: a query over
    the same graph, or a mapping to terms, or several, as in `Prepared.subscribe`; or a DataFrame whose
    columns are the variables, of terms in N-Triples. If that is a stream, rows come and go as changes do:
    `op` is "A" or "D", or all come.

    With `entailment="rdfs"` queries are answered over what their graph entails, as by `rdflive.subscribe`:
    its schema, of subclasses, subproperties, domains and ranges, is a part of it and comes with the changes.
    A property below one of RDFS's own four is passed over, and logged by the executors.

    With `rules`, as of `rdflive.subscribe`, they are answered over what their graph entails by these: each
    pattern of a query becomes the union of all that leads to it. Recursive rules are refused.

    `path_steps` is how many steps the paths of `*` and `+` may have, 50 at most; without it they are refused.
    Steps are counted from the constant, or the bound end, that the plan starts from. Each is a shuffle more
    from a constant, else two, and keeps the edges once more. A longer path ends the query with an error:
    then `rebuild` takes more, or a start, where no micro-batch is done yet.

    A variable that no pattern binds is noted in the log, with the nearest that one does.

    Raises `UnsupportedQueryError` for queries that one process must maintain, `RuleError` for rules that
    cannot be used, and `LocationError` for a checkpoint that cannot be reached.
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
        raise ValueError("initial= does not go with a window: what it holds has no times")
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
            raise ValueError("initial must be a DataFrame that is no stream: use spark.read")
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
        raise StateError(f"a start with initial= in {place.folder} was interrupted: give it again")
    flow = Flow(plan, partitions, column_types(plan.names, types or {}))
    return SparkSubscription(sources, flow, place, initial if held is None else None)


class SparkSubscription:
    """A subscription on Spark; made by `subscribe`."""

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
        """The changes of the answer as a streaming DataFrame: a column per variable, by default terms in
        N-Triples (NULL is unbound), and `weight`, by how much more often the solution is there: net, and at
        most one row per solution and micro-batch. Run again after a failure, a micro-batch gives the same
        rows. In a `foreachBatch` of your own, read each micro-batch to the end, or the next one is refused;
        with `initial`, begin with `start`."""

    @property
    def partitions(self) -> int:
        """The parts that the state is in."""
        return self._flow.partitions

    @property
    def state_size(self) -> int:
        """The bytes of the state on disk; it is in proportion to the quads that match the patterns now."""
        return sum(self._checkpoint.root.sizes())

    def explain(self) -> str:
        """Say how the query is evaluated: the stars that changes visit, what is kept, what is shuffled."""
        return explain(self._flow.plan, self.partitions)

    def start(
        self, sink: Sink, *, trigger: Mapping[str, Any] | None = None, **options: Any
    ) -> StreamingQuery:
        """Run the query; `sink` takes the deltas: `"console"`, or a function of a DataFrame and a number.

        A function gets a micro-batch again, with its number, where it failed half-way; it need not read all
        of it. The answer of `initial` comes first, as number -1, before this returns; a format, which gets no
        number, may get it twice where that was interrupted, and Spark's formats of files cannot take it. To
        `"rdf_patch"` go queries with SELECT DISTINCT. `trigger` are the
        arguments of Spark's own, such as `{"availableNow": True}`; `options` those of the format. Waiting for
        the query raises `DataflowError` where its changes cannot be read.

        Raises `StateError` if the checkpoint is that of another query or of other partitions.
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
                "a graph has a triple once, and without DISTINCT a solution may count twice: SELECT DISTINCT"
            )
        if self._initial is not None:
            # not the name of an attempt that failed, whose tasks may still write
            generation = next_generation(self._checkpoint.home.generation)
            begin(self._initial, self._flow, self._checkpoint, generation, sink, options)
            self._initial = None
        self._move_home()  # another subscription may have made it the present one
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
        """Merge the files of the state, between two micro-batches; they are merged as they grow anyway.

        A query that runs is stopped, which ends its handle, and started again: gives the new handle, None
        where none ran. A query that was started from `deltas` must be stopped before, and `deltas` is another
        DataFrame afterwards. Raises `StateError` as `start` does.
        """
        if self._is_giving:
            raise RdfliveError("a sink cannot compact the state that its own micro-batch is written to")
        was_running = self._running is not None and self._running.isActive
        # what a micro-batch under way writes would be lost
        self.stop()
        compact(self._flow, self._checkpoint, self._spark)
        self._move_home()
        if not was_running or self._restart is None:
            return None
        self._running = self._restart()
        return self._running

    def stop(self) -> None:
        """Stop the query, if it runs; `start` goes on where it stopped."""
        if self._running is not None:
            self._running.stop()

    def _give(self, sink: Callable[[DataFrame, int], None], deltas: DataFrame, batch: int) -> None:
        """Let a function take a micro-batch; what it did not read must run all the same, for the state."""
        self._is_giving = True
        try:
            sink(deltas, batch)
        finally:
            self._is_giving = False
        state = self._checkpoint.state
        if state and not tasks.is_done(TaskMoment(state / self._home.generation, batch), self.partitions):
            # runs every task, and writes nothing
            deltas.write.format("noop").mode("overwrite").save()

    def _check_state(self) -> None:
        state = self._checkpoint.state
        if state is None:
            return
        folder, mine = state / self._home.generation, describe(self._flow.plan, self.partitions)
        is_done = self._checkpoint.committed is not None or not is_unmade(self._home.generation)
        # Spark's notes of what is done may be lost, and then the state must not be
        if is_done or tasks.is_past_first(folder):
            check(folder, mine)
        elif known(folder) is not None:
            # nothing counts yet, and the first micro-batch may have failed because of the query
            succeed(state, renewed())
            self._move_home()

    def _move_home(self) -> None:
        """Go on with the present generation of the state."""
        if self._home != self._checkpoint.home:
            self._home = self._checkpoint.home
            self.deltas = lay_out(self._changes, self._flow, self._home)
