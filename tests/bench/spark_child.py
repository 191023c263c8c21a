"""Measures jobs of (k) in one Spark session: JSON with `cores` and `jobs` in, a list of figures out."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyoxigraph
import rdflib
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import StatefulProcessor

import rdflive
from bench import spark_lubm
from bench.child import resident
from bench.spark_files import FILES, parts_of, read, size_of, to_table, write, write_growth, write_log
from bench.spark_stream import ENDS, FAMILY, OPERATORS, QUERIES, RULED, RULES, WINDOW, Update, updates
from bench.stream import SEED
from rdflive_stores.spark import inspect, mirror, session, subscribe
from rdflive_stores.spark.mirroring.formats import shape_of

CLASS = "<http://example.org/class/{}>"
TYPE = f"<{rdflib.RDF.type}>"
HUB = "<http://example.org/hub>"
_WARM_UP = 2
"""Micro-batches at the beginning that are not measured: code is compiled and workers start."""
_NOW = {"availableNow": True}


def main() -> None:
    """Run the jobs."""
    task = json.load(sys.stdin)
    config = {"spark.sql.streaming.numRecentProgressUpdates": 10_000, "spark.driver.memory": "6g"}
    spark = session(f"local[{task['cores']}]", config=config)
    answers = []
    for job in task["jobs"]:
        with tempfile.TemporaryDirectory() as folder, _peak() as peak:
            figures = JOBS[job["kind"]](spark, Path(folder), job)
        answers.append({**job, "cores": task["cores"], **figures, "rss": peak[0]})
    spark.stop()
    print(json.dumps({"answers": answers}))


def _kept(changes: DataFrame, text: str, folder: Path, sink: Any = "noop", **options: Any) -> Any:
    """Keep a query up to date over all changes; gives what was subscribed, and the query that ran."""
    found = subscribe(changes, text, checkpoint=folder / "checkpoint", **options)
    query = found.start(sink, trigger=_NOW)
    query.awaitTermination()
    return found, query


def _ran(writer: Any, folder: Path) -> Any:
    """Run a stream to its end."""
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(**_NOW).start()
    query.awaitTermination()
    return query


def _seconds(query: Any) -> list[float]:
    """List the seconds of the micro-batches that had rows."""
    return [p.durationMs["triggerExecution"] / 1e3 for p in query.recentProgress if p.numInputRows]


def _continuous(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Keep a query up to date with `subscribe`."""
    total, sink = _counting(lambda deltas: deltas)
    found, query = _kept(_changes(spark, folder, job), QUERIES[job["query"]], folder, sink)
    size = size_of(folder / "checkpoint")
    return {**_progress(query), "answers": total[0], "state": found.state_size, "checkpoint": size}


def _joins(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Do the same by Spark's own stream-stream joins of signed rows; the stream needs no normaliser."""
    signed = _changes(spark, folder, job).withColumn("w", F.when(F.col("op") == "A", 1).otherwise(-1))
    joined = None
    for number, (s, o) in enumerate(ENDS[job["query"]]):
        side = signed.where(F.col("p") == f"<http://example.org/predicate/{number}>")
        part = side.select(F.col("s").alias(s), F.col("o").alias(o), F.col("w").alias(f"w{number}"))
        joined = part if joined is None else joined.join(part, sorted({*joined.columns} & {*part.columns}))
    assert joined is not None
    rows = joined.withColumn("weight", F.col("w0") * F.col("w1") * F.col("w2")).drop("w0", "w1", "w2")
    names = [name for name in rows.columns if name != "weight"]
    total, sink = _counting(
        lambda batch: batch.groupBy(*names).agg(F.sum("weight").alias("weight")).where("weight != 0")
    )
    query = _ran(rows.writeStream.foreachBatch(sink), folder)
    sizes = {"state": size_of(folder / "checkpoint" / "state"), "checkpoint": size_of(folder / "checkpoint")}
    return {**_progress(query, scans=3), "answers": total[0], **sizes}


def _mirror(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Mirror a log into a graph, or only into the driver."""
    rows = list(updates(job["updates"]))
    write_log(folder / "log.rdfp", rows)
    limit = -(-(folder / "log.rdfp").stat().st_size * job["batch"] // len(rows))
    changes = spark.readStream.format("rdf_patch").option("maxBytesPerTrigger", limit)
    stream = changes.load(str(folder / "log.rdfp"))
    if job["store"] == "driver only":
        shape = shape_of(stream, None)

        def take(batch: DataFrame, number: int) -> None:
            shape.read(batch, _refuse, repeats=False)

        return _progress(_ran(stream.writeStream.foreachBatch(take), folder))
    graph = _graph(job["store"], folder)
    for number in range(job["subscriptions"]):
        node = f"<http://example.org/node/{number}>"
        text = QUERIES["star"] if not number else f"SELECT ?p ?o {{ {node} ?p ?o }}"
        rdflive.subscribe(graph, text, lambda delta: None)
    query = mirror(stream, graph, checkpoint=folder / "checkpoint", trigger=_NOW)
    query.awaitTermination()
    return _progress(query)


def _hub(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Change single triples at a node with very many neighbours."""
    edge = QUERIES[job["query"]].split()[4]
    others = [edge.replace("/0>", f"/{number}>") for number in (1, 2)]
    leaf = "<http://example.org/leaf/{}>".format
    single = [("A", HUB, others[0], leaf(number)) for number in range(20)]
    if job["query"] == "star":  # 10^6 leaves by the first predicate; the third is always missing
        load = [("A", HUB, edge, leaf(number)) for number in range(job["updates"])]
    elif job["query"] == "path":  # 10^6 leaves lead to the hub, and nothing leads on from its neighbours
        load = [("A", leaf(number), edge, HUB) for number in range(job["updates"])]
    else:  # edges into a hub that 10^6 edges leave, where the other end has three
        load = [("A", HUB, others[0], leaf(number)) for number in range(job["updates"])]
        load += [("A", leaf(number), others[1], leaf(1_000_000 + number % 20)) for number in range(60)]
        single = [("A", leaf(1_000_000 + number), edge, HUB) for number in range(20)]
    write(folder, [*parts_of(load, max(job["updates"] // 4, 1)), *parts_of(single, 2)])
    total, sink = _counting(lambda deltas: deltas)
    found, query = _kept(read(spark, folder, FILES), QUERIES[job["query"]], folder, sink)
    seconds = _seconds(query)[-8:]
    return {"latency": median(seconds), "worst": max(seconds), "answers": total[0], "state": found.state_size}


def _churn(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Insert triples, then delete and insert them over and over, ten updates per live triple."""
    rows = list(updates(job["updates"], nodes=10 * job["updates"]))
    inserts = [row for row in rows if row[0] == "A"][: job["updates"] // 11]
    history = inserts + 5 * ([("D", *row[1:]) for row in inserts] + inserts)
    once, many = (
        _continuous(spark, folder / str(len(part)), {**job, "rows": part, "batch": len(inserts)})["state"]
        for part in (inserts, history)
    )
    return {"state": many, "once": once, "live": len(inserts), "changes": len(history)}


class _Live(StatefulProcessor):
    """Set semantics by quad, as the first stage of a subscription has them: in Spark's state, by MapState."""

    def init(self, handle: Any) -> None:
        self._live = handle.getMapState("live", "s string, p string, o string", "there boolean")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timers: Any) -> Iterator[Any]:  # noqa: N802
        made: list[tuple[Any, ...]] = []
        for frame in rows:
            for op, s, p, o in zip(frame["op"], frame["s"], frame["p"], frame["o"], strict=True):
                quad = s, p, o
                is_there = self._live.containsKey(quad)
                if (op == "A") != is_there:
                    if op == "A":
                        self._live.updateValue(quad, (True,))
                    else:
                        self._live.removeKey(quad)
                    made.append((s, p, o, 1 if op == "A" else -1))
        yield pd.DataFrame(made, columns=["s", "p", "o", "weight"])

    def close(self) -> None:
        """Nothing is open."""


class _Join(StatefulProcessor):
    """A join of signed rows by one variable: what has come on each side is kept by key."""

    def init(self, handle: Any) -> None:
        self._sides = [handle.getMapState(side, "row string", "weight long") for side in ("left", "right")]

    def handleInputRows(self, key: Any, rows: Iterator[Any], timers: Any) -> Iterator[Any]:  # noqa: N802
        made: list[tuple[Any, ...]] = []
        for frame in rows:
            for side, row, weight in zip(frame["side"], frame["row"], frame["weight"], strict=True):
                other = self._sides[1 - side]
                for (partner,), (times,) in other.iterator():
                    pair = (row, partner) if side == 0 else (partner, row)
                    made.append((*pair, key[0], weight * times))
                held = self._sides[side]
                now = weight + (held.getValue((row,))[0] if held.containsKey((row,)) else 0)
                if now:
                    held.updateValue((row,), (now,))
                else:
                    held.removeKey((row,))
        yield pd.DataFrame(made, columns=["l", "r", "key", "weight"])

    def close(self) -> None:
        """Nothing is open."""


def _processor(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Keep the path up to date by three `transformWithState` of Python on Spark's RocksDB."""
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    loads = write_growth(folder, job["updates"], [job["batch"]] * job["batches"])
    rows = read(spark, folder, 1).withColumn("bucket", F.pmod(F.xxhash64("s", "p", "o"), F.lit(16)))
    live = rows.groupBy("bucket").transformWithStateInPandas(
        _Live(), "s string, p string, o string, weight long", "Append", "None"
    )
    first, second, third = (f"<http://example.org/predicate/{number}>" for number in range(3))
    joined = (
        live.where(F.col("p").isin(first, second))
        .select(
            F.when(F.col("p") == first, F.col("o")).otherwise(F.col("s")).alias("key"),
            F.when(F.col("p") == first, 0).otherwise(1).alias("side"),
            F.when(F.col("p") == first, F.col("s")).otherwise(F.col("o")).alias("row"),
            "weight",
        )
        .groupBy("key")
        .transformWithStateInPandas(_Join(), "l string, r string, key string, weight long", "Append", "None")
    )
    sides = joined.select(
        F.col("r").alias("key"), F.lit(0).alias("side"), F.concat_ws(" ", "l", "key").alias("row"), "weight"
    )
    ends = live.where(F.col("p") == third).select(
        F.col("s").alias("key"), F.lit(1).alias("side"), F.col("o").alias("row"), "weight"
    )
    found = (
        sides.unionAll(ends)
        .groupBy("key")
        .transformWithStateInPandas(_Join(), "l string, r string, key string, weight long", "Append", "None")
    )
    query = _ran(found.writeStream.format("noop").outputMode("append"), folder)
    return _grown(query, loads) | {"state": size_of(folder / "checkpoint" / "state")}


def _growth(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Load a graph, then change a little of it again and again: half inserts, half deletes.

    Gives the seconds of those micro-batches and the bytes that each has written.
    """
    loads = write_growth(folder, job["updates"], [job["batch"]] * job["batches"])
    found, query = _kept(read(spark, folder, 1), QUERIES[job["query"]], folder)
    return _grown(query, loads) | {"state": found.state_size}


def _operators(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Load a graph, then change it in micro-batches of one size and of another; gives the median of each.

    A window has so many elements, one each second; with each of its micro-batches as many come as go.
    """
    each, size, name = job["each"] + _WARM_UP, job["updates"], job["query"]
    has_graphs, has_times = "GRAPH" in OPERATORS[name], name == WINDOW
    batches = [batch for batch in job["batch"] for _ in range(each)]
    loads = write_growth(folder, size, batches, has_graphs=has_graphs, has_times=has_times)
    changes = read(spark, folder, 1, ", g string" * has_graphs + ", at timestamp" * has_times)
    nodes = (rdflib.URIRef(f"http://example.org/node/{number}") for number in range(1000))
    options: dict[str, dict[str, Any]] = {
        RULED: {"rules": RULES},
        FAMILY: {"parameters": [{"a": node} for node in nodes]},
        WINDOW: {"window": rdflive.Sliding(f"{size}s", step="60s"), "time": "at", "delay": "0s"},
    }
    found, query = _kept(changes, OPERATORS[name], folder, **options.get(name, {}))
    seconds = _seconds(query)
    behind = [loads + number * each + _WARM_UP for number in range(len(job["batch"]))]
    latency = [median(seconds[begin : begin + job["each"]]) for begin in behind]
    return {"latency": latency, "state": found.state_size}


def _classes(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Load instances of three classes, most of them of one, and change some again and again.

    Gives also how much of the state the largest partition has.
    """
    size, batch = job["updates"], job["batch"]
    rng = np.random.default_rng(SEED)

    def rows(op: str, numbers: Any) -> list[Update]:
        return [
            (op, f"<http://example.org/node/{n}>", TYPE, CLASS.format(0 if n % 10 else 1 + n // 10 % 2))
            for n in numbers.tolist()
        ]

    labels = [("A", CLASS.format(n), "<http://example.org/label>", f'"{n}"') for n in range(3)]
    parts = [labels + rows("A", np.arange(size))]
    gone = np.array_split(rng.permutation(size)[: job["batches"] * batch // 2], job["batches"])
    for number, some in enumerate(gone):
        parts.append(rows("D", some) + (rows("A", gone[number - 1]) if number else []))
    write(folder, map(to_table, parts))
    query = f"SELECT * {{ ?s {TYPE} ?c . ?c <http://example.org/label> ?l }}"
    salted = {"salted": ()} if job["plain"] else {}
    found, running = _kept(read(spark, folder, 1), query, folder, partitions=8, **salted)
    parts_kept = inspect(folder / "checkpoint", spark).parts
    arranged = [part.held.rows for part in parts_kept if part.folder == "arranged"]
    return _grown(running, 1) | {"largest": max(arranged) / sum(arranged), "state": found.state_size}


def _grown(query: Any, loads: int) -> dict[str, Any]:
    """Give the figures of the micro-batches behind the load."""
    entries = [entry for entry in query.recentProgress if entry.numInputRows][loads + _WARM_UP :]
    seconds = _seconds(query)[loads + _WARM_UP :]
    written = [entry.observedMetrics["rdflive"].state_written for entry in entries if entry.observedMetrics]
    return {
        "latency": median(seconds),
        "worst": max(seconds),
        "rate": sum(entry.numInputRows for entry in entries) / sum(seconds),
        "written": sum(written) / len(written) if written else None,
    }


JOBS: dict[str, Callable[[SparkSession, Path, dict[str, Any]], dict[str, Any]]] = {
    "continuous": _continuous, "joins": _joins, "mirror": _mirror, "hub": _hub, "churn": _churn,
    "growth": _growth, "operators": _operators, "classes": _classes,
    "processor": _processor, "lubm": lambda *job: spark_lubm.measure(*job[:2], job[2]["copies"]),
}  # fmt: skip


def _changes(spark: SparkSession, folder: Path, job: dict[str, Any]) -> DataFrame:
    write(folder, parts_of(job.get("rows") or list(updates(job["updates"])), job["batch"]))
    return read(spark, folder, FILES)


def _counting(
    net: Callable[[DataFrame], DataFrame],
) -> tuple[list[int], Callable[[DataFrame, int], None]]:
    """Make a sink that sums up weights on the executors: what the answer has in the end."""
    total = [0]

    def take(batch: DataFrame, number: int) -> None:
        (row,) = net(batch).agg(F.sum("weight").alias("weight")).collect()
        total[0] += row.weight or 0

    return total, take


def _progress(query: Any, scans: int = 1) -> dict[str, Any]:
    """Give updates per second and the seconds of a micro-batch, without the first ones.

    Spark counts a row as often as the query scans the source.
    """
    entries = [entry for entry in query.recentProgress if entry.numInputRows]
    behind = _WARM_UP if len(entries) > _WARM_UP else 0
    seconds = _seconds(query)[behind:]
    rate = sum(entry.numInputRows for entry in entries[behind:]) // scans / sum(seconds)
    return {"rate": rate, "latency": median(seconds), "worst": max(seconds)}


def _graph(store: str, folder: Path) -> Any:
    if store == "Memory":
        return rdflib.Graph()
    if store == "Oxigraph in memory":
        return rdflive.LiveStore()
    return rdflive.LiveStore(pyoxigraph.Store(str(folder / "store")))


def _refuse(place: Any, fault: Any) -> None:
    raise AssertionError(f"{place}: {fault}")


@contextmanager
def _peak() -> Iterator[list[int]]:
    """Watch the memory of this process and all that it started: the JVM and its Python workers."""
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            peak[0] = max(peak[0], sum(map(resident, _family())))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        over.set()
        watcher.join()


def _family() -> set[int]:
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    Path(entry.path, "stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:
                continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


if __name__ == "__main__":
    main()
