"""A query whose answer Spark keeps up to date, as a stream of signed solutions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery

from rdflive.errors import RdfliveError, UnsupportedQueryError
from rdflive.query.planning import read_query
from rdflive_stores.spark.change_rows import StreamColumns, stream_columns
from rdflive_stores.spark.dataflow import tasks
from rdflive_stores.spark.dataflow.explanation import explain
from rdflive_stores.spark.dataflow.matching import CANONICAL
from rdflive_stores.spark.dataflow.packing import PACKETS
from rdflive_stores.spark.dataflow.plan import DEFAULT_GRAPH, Pattern
from rdflive_stores.spark.dataflow.query_plan import QueryPlan, plan_query
from rdflive_stores.spark.dataflow.state import Moment
from rdflive_stores.spark.dataflow.tasks import PLAN, StateError
from rdflive_stores.spark.running import RunningQuery

__all__ = ["Sink", "SparkSubscription", "subscribe"]

Sink: TypeAlias = "str | Callable[[DataFrame, int], None]"
"""The name of one of Spark's formats, or a function of each micro-batch's deltas and its number."""

_WEIGHT: Final = "weight"
_PLACES: Final = ("s", "p", "o", "g")


def subscribe(
    changes: DataFrame,
    query: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str],
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - rdflib's name
    partitions: int | None = None,
) -> SparkSubscription:
    """Evaluate a query continuously on Spark, over a graph that is nothing but its changes.

    `changes` is a streaming DataFrame with the columns `op` ("A" or "D"), `s`, `p`, `o` and perhaps `g`:
    terms in N-Triples as `rdflive.feeds` writes them, NULL for the default graph. It begins with the empty
    graph; within a micro-batch the last operation on a quad counts, by the columns `file`, `offset`, `part`,
    or `topic`, `partition`, `offset`, or `offset` alone: without them a micro-batch must not both insert and
    delete a quad.

    `query` is a SELECT query of one basic graph pattern with FILTER, BIND, DISTINCT and aggregates. The
    folder `checkpoint` holds Spark's checkpoint and the subscription's own state; it must be a path that
    all executors see. `partitions` are the parts of the state, by default `spark.sql.shuffle.partitions`;
    they cannot be changed later. Nothing runs before `start`.

    Raises `UnsupportedQueryError` for queries that one process must maintain.
    """
    if not changes.isStreaming:
        raise ValueError("changes must be a streaming DataFrame: use spark.readStream")
    given = read_query(query)
    with given.naming():
        plan = plan_query(given.text, initNs)
    _check_columns(changes, plan)
    return SparkSubscription(changes, plan, _local_path(checkpoint), partitions)


class SparkSubscription:
    """A subscription on Spark; made by `subscribe`."""

    def __init__(self, changes: DataFrame, plan: QueryPlan, checkpoint: str, partitions: int | None) -> None:
        self._plan = plan
        self._checkpoint = checkpoint
        self._root = os.path.join(checkpoint, "rdflive")
        self._spark = changes.sparkSession
        configured = int(self._spark.conf.get("spark.sql.shuffle.partitions") or 0)
        if partitions is not None and partitions < 1:
            raise ValueError(f"partitions must be 1 or more, got {partitions!r}")
        self._buckets = partitions or self._known_partitions() or configured
        self._running: StreamingQuery | None = None
        self._is_giving = False
        self._restart: Callable[[], StreamingQuery] | None = None
        self.deltas: DataFrame = self._dataflow(changes)
        """The changes of the answer as a streaming DataFrame: a string column per variable, in N-Triples
        (NULL is unbound), and `weight`, by how much more often the solution is there: net, and at most one
        row per solution and micro-batch. Run again after a failure, a micro-batch gives the same rows.
        In a `foreachBatch` of your own, read each micro-batch to the end, or the next one is refused."""

    @property
    def partitions(self) -> int:
        """The parts that the state is in."""
        return self._buckets

    @property
    def state_size(self) -> int:
        """The bytes of the state on disk; it is in proportion to the quads that match the patterns now."""
        return sum(map(_size, _files(self._root)))

    def explain(self) -> str:
        """Say how the query is evaluated: the stars that changes visit, what is kept, what is shuffled."""
        return explain(self._plan, self._buckets)

    def start(
        self, sink: Sink, *, trigger: Mapping[str, Any] | None = None, **options: Any
    ) -> StreamingQuery:
        """Run the query; `sink` takes the deltas: `"console"`, or a function of a DataFrame and a number.

        A function gets a micro-batch again, with its number, where it failed half-way; it need not read all
        of it. `trigger` are the arguments of Spark's own, such as `{"availableNow": True}`; `options` those
        of the format. Waiting for the query raises `DataflowError` where its changes cannot be read.

        Raises `StateError` if the checkpoint is that of another query or of other partitions.
        """
        if self._running is not None and self._running.isActive:
            raise RdfliveError("the subscription runs already; stop it first, or subscribe once more")
        self._check_state()

        def start() -> StreamingQuery:
            writer = self.deltas.writeStream.options(**options)
            # with its scheme, for the default file system of a cluster may be another
            writer = writer.option("checkpointLocation", f"file://{self._checkpoint}")
            writer = writer.foreachBatch(partial(self._give, sink)) if callable(sink) else writer.format(sink)
            query = writer.trigger(**trigger).start() if trigger else writer.start()
            return RunningQuery(query._jsq)

        self._restart = start
        self._running = start()
        return self._running

    def compact(self) -> StreamingQuery | None:
        """Merge the files of the state, between two micro-batches; they are merged as they grow anyway.

        A query that runs is stopped, which ends its handle, and started anew: gives the new handle, None
        where none ran. A query that was started from `deltas` must be stopped before.
        """
        if self._is_giving:
            raise RdfliveError("a sink cannot compact the state that its own micro-batch is written to")
        was_running = self._running is not None and self._running.isActive
        # merging removes files that a micro-batch under way may read
        self.stop()
        query, last = self._query_id(), self._last_committed()
        if query is not None and last is not None:
            numbers = self._spark.range(0, self._buckets, 1, self._buckets)
            task = partial(tasks.compact, self._plan, Moment(os.path.join(self._root, query), last))
            numbers.mapInArrow(task, "bucket long").write.format("noop").mode("overwrite").save()
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
        if not tasks.is_done(Moment(os.path.join(self._root, self._query_id() or ""), batch), self._buckets):
            # runs every task, and writes nothing
            deltas.write.format("noop").mode("overwrite").save()

    def _check_state(self) -> None:
        query = self._query_id()
        if query is not None and self._last_committed() is not None:
            tasks.check(os.path.join(self._root, query), tasks.signature(self._plan, self._buckets))

    def _dataflow(self, changes: DataFrame) -> DataFrame:
        """Lay the stages out: a shuffle in front of each."""
        plan, root, buckets = self._plan, self._root, self._buckets
        rows = _hashed(_positioned(changes).where(_may_match(plan.matching.patterns)))
        rows = rows.withColumn("bucket", F.pmod("hash", F.lit(buckets)).cast("int"))
        rows = _shuffle(rows, buckets).mapInArrow(partial(tasks.match, plan, root, buckets), PACKETS)
        for number in range(plan.matching.rounds):
            task = partial(tasks.walk, plan, root, buckets, number)
            rows = _shuffle(rows, buckets).mapInArrow(task, PACKETS)
        solutions = ", ".join([*(f"`{name}` string" for name in plan.names), f"{_WEIGHT} long"])
        for number in range(len(plan.stages)):
            task = partial(tasks.finish, plan, root, buckets, number)
            is_last = number == len(plan.stages) - 1
            rows = _shuffle(rows, buckets).mapInArrow(task, solutions if is_last else PACKETS)
        return rows

    def _query_id(self) -> str | None:
        """Read the id that Spark gave the query of this checkpoint; None before its first start."""
        try:
            with open(os.path.join(self._checkpoint, "metadata"), encoding="utf-8") as file:
                return str(json.load(file)["id"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(f"{self._checkpoint}/metadata is not what Spark writes: {error}") from error

    def _last_committed(self) -> int | None:
        """Find the last micro-batch that Spark noted as done."""
        try:
            names = os.listdir(os.path.join(self._checkpoint, "commits"))
        except FileNotFoundError:
            return None
        return max((int(name) for name in names if name.isdigit()), default=None)

    def _known_partitions(self) -> int | None:
        """Find how many parts the state has, where there is any."""
        query = self._query_id()
        try:
            with open(os.path.join(self._root, query or "", PLAN), encoding="utf-8") as file:
                return int(json.load(file)["partitions"])
        except FileNotFoundError:
            return None


def _check_columns(changes: DataFrame, plan: QueryPlan) -> None:
    missing = [name for name in ("op", "s", "p", "o") if name not in changes.columns]
    if missing:
        raise ValueError(
            f"changes lacks the column {missing[0]!r}; it has {', '.join(changes.columns)}, and must have "
            "op, s, p, o and perhaps g, as the format rdf_patch gives them"
        )
    for name, kind in changes.dtypes:
        if name in ("op", "s", "p", "o", "g") and kind != "string":
            raise ValueError(
                f"the column {name!r} of changes must hold strings, not {kind}: terms in N-Triples"
            )
    seen: dict[str, str] = {_WEIGHT: _WEIGHT}
    for name in plan.names:
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise UnsupportedQueryError(
                f"?{name} would be a column of the same name as {other!r}, because Spark does not tell "
                "capitals apart; rename the variable",
                construct=f"?{name}",
            )


def _local_path(checkpoint: str | os.PathLike[str]) -> str:
    text = os.fspath(checkpoint)
    parts = urlsplit(text)
    if parts.scheme == "file":
        return unquote(parts.path)
    if len(parts.scheme) > 1:
        raise ValueError(
            f"the checkpoint {text!r} must be a path in a file system that all executors see, such as a "
            "mounted share: the state of the subscription is kept there too"
        )
    return os.path.abspath(text)


def _positioned(changes: DataFrame) -> DataFrame:
    """Give the columns of a change and of its place; a graph that is NULL is the default one."""
    alone = F.col("offset") if "offset" in changes.columns else F.lit(0)
    place = stream_columns(changes) or StreamColumns(F.lit(""), alone, F.lit(0))
    graph = F.coalesce(F.col("g"), F.lit(DEFAULT_GRAPH)) if "g" in changes.columns else F.lit(DEFAULT_GRAPH)
    return changes.select(
        "op",
        "s",
        "p",
        "o",
        graph.alias("g"),
        place.stream.alias("stream"),
        place.offset.cast("long").alias("offset"),
        place.part.cast("long").alias("part"),
    )


def _may_match(patterns: tuple[Pattern, ...]) -> Column:
    """Let through what a pattern could match, and what is not spelt canonically, to be refused."""

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


def _hashed(rows: DataFrame) -> DataFrame:
    hashes = [F.xxhash64(name).alias(f"h{name}") for name in _PLACES]
    return rows.select("*", *hashes, F.xxhash64(*_PLACES).alias("hash"))


def _shuffle(rows: DataFrame, buckets: int) -> DataFrame:
    # the bucket is the number of the partition, which tasks take for their part of the state
    return rows.repartitionById(buckets, "bucket")


def _files(folder: str) -> Iterator[str]:
    return (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except FileNotFoundError:  # replaced since it was listed
        return 0
