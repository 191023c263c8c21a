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
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyoxigraph
import rdflib
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import StatefulProcessor

import rdflive
from bench import spark_lubm
from bench.spark_stream import FAMILY, OPERATORS, QUERIES, RULED, RULES, WINDOW, Update, updates
from bench.stream import SEED
from rdflive_stores.spark import inspect, mirror, session, subscribe
from rdflive_stores.spark.mirroring.formats import shape_of

CLASS = "<http://example.org/class/{}>"
TYPE = f"<{rdflib.RDF.type}>"
HUB = "<http://example.org/hub>"
_FILES = 2
"""Files per micro-batch, so that two cores read."""
_LOADED = 500_000
"""The triples that one micro-batch loads."""
_WARM_UP = 2
"""Micro-batches at the beginning that are not measured: code is compiled and workers start."""


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


def _continuous(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Keep a query up to date with `subscribe`."""
    changes = _changes(spark, folder, job)
    found = subscribe(changes, QUERIES[job["query"]], checkpoint=folder / "checkpoint")
    total, sink = _counting(lambda deltas: deltas)
    query = found.start(sink, trigger={"availableNow": True})
    query.awaitTermination()
    size = _size(folder / "checkpoint")
    return {
        **_progress(query),
        "answers": total[0],
        "state": found.state_size,
        "checkpoint": size,
    }


def _joins(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Do the same by Spark's own stream-stream joins of signed rows; the stream needs no normaliser."""
    signed = _changes(spark, folder, job).withColumn("w", F.when(F.col("op") == "A", 1).otherwise(-1))
    sides = [signed.where(F.col("p") == f"<http://example.org/predicate/{number}>") for number in range(3)]
    ends = {"star": ("ab", "ac", "ad"), "path": ("ab", "bc", "cd"), "triangle": ("ab", "bc", "ca")}[
        job["query"]
    ]
    parts = [
        side.select(F.col("s").alias(s), F.col("o").alias(o), F.col("w").alias(f"w{number}"))
        for number, (side, (s, o)) in enumerate(zip(sides, ends, strict=True))
    ]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.join(part, sorted(set(joined.columns) & set(part.columns)))
    rows = joined.withColumn("weight", F.col("w0") * F.col("w1") * F.col("w2")).drop("w0", "w1", "w2")
    names = [name for name in rows.columns if name != "weight"]
    total, sink = _counting(
        lambda batch: batch.groupBy(*names).agg(F.sum("weight").alias("weight")).where("weight != 0")
    )
    writer = rows.writeStream.foreachBatch(sink).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    size = _size(folder / "checkpoint")
    return {
        **_progress(query, scans=3),
        "answers": total[0],
        "state": _size(folder / "checkpoint" / "state"),
        "checkpoint": size,
    }


def _mirror(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Mirror a log into a graph, or only into the driver."""
    rows = list(updates(job["updates"]))
    _write_log(folder / "log.rdfp", rows)
    limit = -(-(folder / "log.rdfp").stat().st_size * job["batch"] // len(rows))
    changes = spark.readStream.format("rdf_patch").option("maxBytesPerTrigger", limit)
    stream = changes.load(str(folder / "log.rdfp"))
    if job["store"] == "driver only":
        shape = shape_of(stream, None)

        def take(batch: DataFrame, number: int) -> None:
            shape.read(batch, _refuse, repeats=False)

        writer = stream.writeStream.foreachBatch(take).option(
            "checkpointLocation", str(folder / "checkpoint")
        )
        query = writer.trigger(availableNow=True).start()
    else:
        graph = _graph(job["store"], folder)
        for number in range(job["subscriptions"]):
            node = f"<http://example.org/node/{number}>"
            text = QUERIES["star"] if not number else f"SELECT ?p ?o {{ {node} ?p ?o }}"
            rdflive.subscribe(graph, text, lambda delta: None)
        query = mirror(stream, graph, checkpoint=folder / "checkpoint", trigger={"availableNow": True})
    query.awaitTermination()
    return _progress(query)


def _hub(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Change single triples at a node with very many neighbours."""
    edge = QUERIES[job["query"]].split()[4]
    others = [edge.replace("/0>", f"/{number}>") for number in (1, 2)]
    leaf = "<http://example.org/leaf/{}>".format
    if job["query"] == "star":  # 10^6 leaves by the first predicate; the third is always missing
        load = [("A", HUB, edge, leaf(number)) for number in range(job["updates"])]
        single = [("A", HUB, others[0], leaf(number)) for number in range(20)]
    elif job["query"] == "path":  # 10^6 leaves lead to the hub, and nothing leads on from its neighbours
        load = [("A", leaf(number), edge, HUB) for number in range(job["updates"])]
        single = [("A", HUB, others[0], leaf(number)) for number in range(20)]
    else:  # edges into a hub that 10^6 edges leave, where the other end has three
        load = [("A", HUB, others[0], leaf(number)) for number in range(job["updates"])]
        load += [("A", leaf(number), others[1], leaf(1_000_000 + number % 20)) for number in range(60)]
        single = [("A", leaf(1_000_000 + number), edge, HUB) for number in range(20)]
    batch = max(job["updates"] // 4, 1)
    _write_batches(folder / "changes", load, batch)
    files = sorted((folder / "changes").iterdir())
    _write_batches(folder / "more", single, 2)
    for number, file in enumerate(sorted((folder / "more").iterdir())):
        file.rename(folder / "changes" / f"{len(files) + number:06d}.parquet")
    changes = _read(spark, folder, 2)
    found = subscribe(changes, QUERIES[job["query"]], checkpoint=folder / "checkpoint")
    total, sink = _counting(lambda deltas: deltas)
    query = found.start(sink, trigger={"availableNow": True})
    query.awaitTermination()
    seconds = [
        entry.durationMs["triggerExecution"] / 1e3 for entry in query.recentProgress if entry.numInputRows
    ][-8:]
    return {"latency": median(seconds), "worst": max(seconds), "answers": total[0], "state": found.state_size}


def _churn(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Insert triples, then delete and insert them over and over, ten updates per live triple."""
    rows = list(updates(job["updates"], nodes=10 * job["updates"]))
    inserts = [row for row in rows if row[0] == "A"][: job["updates"] // 11]
    history = [*inserts]
    for _ in range(5):
        history += [("D", *row[1:]) for row in inserts] + inserts
    once = {**job, "rows": inserts, "batch": len(inserts)}
    many = {**job, "rows": history, "batch": len(inserts)}
    sizes = []
    for number, part in enumerate((once, many)):
        figures = _continuous(spark, folder / str(number), part)
        sizes.append(figures["state"])
    return {"state": sizes[1], "once": sizes[0], "live": len(inserts), "changes": len(history)}


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
    loads = _write_growth(folder, job["updates"], [job["batch"]] * job["batches"])
    rows = _read(spark, folder, 1).withColumn("bucket", F.pmod(F.xxhash64("s", "p", "o"), F.lit(16)))
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
    writer = found.writeStream.format("noop").outputMode("append")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return _grown(query, loads) | {"state": _size(folder / "checkpoint" / "state")}


def _growth(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Load a graph, then change a little of it again and again: half inserts, half deletes.

    Gives the seconds of those micro-batches and the bytes that each has written.
    """
    loads = _write_growth(folder, job["updates"], [job["batch"]] * job["batches"])
    changes = _read(spark, folder, 1)
    found = subscribe(changes, QUERIES[job["query"]], checkpoint=folder / "checkpoint")
    query = found.start("noop", trigger={"availableNow": True})
    query.awaitTermination()
    return _grown(query, loads) | {"state": found.state_size}


def _operators(spark: SparkSession, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Load a graph, then change it in micro-batches of one size and of another; gives the median of each.

    A window has so many elements, one each second; with each of its micro-batches as many come as go.
    """
    each, size, name = job["each"] + _WARM_UP, job["updates"], job["query"]
    has_graphs, has_times = "GRAPH" in OPERATORS[name], name == WINDOW
    batches = [batch for batch in job["batch"] for _ in range(each)]
    loads = _write_growth(folder, size, batches, has_graphs=has_graphs, has_times=has_times)
    changes = _read(spark, folder, 1, ", g string" * has_graphs + ", at timestamp" * has_times)
    options: dict[str, Any] = {}
    if name == RULED:
        options["rules"] = RULES
    if name == FAMILY:
        options["parameters"] = [
            {"a": rdflib.URIRef(f"http://example.org/node/{number}")} for number in range(1000)
        ]
    if has_times:
        options = {"window": rdflive.Sliding(f"{size}s", step="60s"), "time": "at", "delay": "0s"}
    found = subscribe(changes, OPERATORS[name], checkpoint=folder / "checkpoint", **options)
    query = found.start("noop", trigger={"availableNow": True})
    query.awaitTermination()
    seconds = [p.durationMs["triggerExecution"] / 1e3 for p in query.recentProgress if p.numInputRows]
    behind = [loads + number * each + _WARM_UP for number in range(len(job["batch"]))]
    return {
        "latency": [median(seconds[begin : begin + job["each"]]) for begin in behind],
        "state": found.state_size,
    }


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
    (folder / "changes").mkdir(parents=True)
    start = 0
    for number, part in enumerate(parts):
        columns = dict(zip(("op", "s", "p", "o"), map(list, zip(*part, strict=True)), strict=True))
        offsets = pa.array(range(start, start + len(part)), pa.int64())
        pq.write_table(pa.table(columns | {"offset": offsets}), folder / "changes" / f"{number:06d}.parquet")
        start += len(part)
    query = f"SELECT * {{ ?s {TYPE} ?c . ?c <http://example.org/label> ?l }}"
    salted = {"salted": ()} if job["plain"] else {}
    found = subscribe(
        _read(spark, folder, 1), query, checkpoint=folder / "checkpoint", partitions=8, **salted
    )
    running = found.start("noop", trigger={"availableNow": True})
    running.awaitTermination()
    arranged = [
        part.held.rows for part in inspect(folder / "checkpoint", spark).parts if part.folder == "arranged"
    ]
    return _grown(running, 1) | {"largest": max(arranged) / sum(arranged), "state": found.state_size}


def _write_growth(
    folder: Path, size: int, batches: list[int], *, has_graphs: bool = False, has_times: bool = False
) -> int:
    """Write the micro-batches, one file each; gives how many of them load the graph."""
    rng = np.random.default_rng(SEED)
    kinds = [("node", max(size // 6, 1)), ("predicate", 3), ("node", max(size // 6, 1))]
    kinds += [("graph", 2)] * has_graphs

    def made(count: int) -> list[Any]:
        return [
            pc.binary_join_element_wise(
                f"<http://example.org/{name}/",
                pa.array(rng.integers(most, size=count)).cast("string"),
                ">",
                "",
            )
            for name, most in kinds
        ]

    (folder / "changes").mkdir(parents=True)
    parts = [made(min(_LOADED, size - start)) for start in range(0, size, _LOADED)]
    files = [(["A"] * len(part[0]), part) for part in parts]
    gone_by = 0
    for half in (batch // 2 for batch in batches):
        begin = gone_by % max(len(parts[0][0]) - half, 1)
        gone_by += half
        gone = [column.slice(begin, half) for column in parts[0]]
        come = made(half)
        if has_times:  # what goes is not written
            files.append((["A"] * half, come))
            continue
        both = [pa.concat_arrays(pair) for pair in zip(gone, come, strict=True)]
        files.append((["D"] * half + ["A"] * half, both))
    names = ["op", "s", "p", "o", *["g"] * has_graphs]
    start = 0
    for number, (ops, columns) in enumerate(files):
        offsets = pa.array(range(start, start + len(ops)), pa.int64())
        table = pa.Table.from_arrays([pa.array(ops), *columns, offsets], [*names, "offset"])
        if has_times:
            table = table.append_column("at", offsets.cast(pa.timestamp("s", "UTC")))
        pq.write_table(table, folder / "changes" / f"{number:06d}.parquet")
        start += len(ops)
    return len(parts)


def _grown(query: Any, loads: int) -> dict[str, Any]:
    """Give the figures of the micro-batches behind the load."""
    entries = [entry for entry in query.recentProgress if entry.numInputRows][loads + _WARM_UP :]
    seconds = [entry.durationMs["triggerExecution"] / 1e3 for entry in entries]
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
    "processor": _processor, "lubm": lambda *job: spark_lubm.measure(*job[:2], job[2]["copies"], _read),
}  # fmt: skip


def _write_batches(folder: Path, rows: list[Update], batch: int) -> int:
    """Write micro-batches as Parquet files in the order of their names; gives the files per micro-batch."""
    folder.mkdir(parents=True)
    share = -(-batch // _FILES)
    for number, start in enumerate(range(0, len(rows), share)):
        part = rows[start : start + share]
        columns = dict(zip(("op", "s", "p", "o"), map(list, zip(*part, strict=True)), strict=True))
        offsets = pa.array(range(start, start + len(part)), pa.int64())
        pq.write_table(pa.table(columns | {"offset": offsets}), folder / f"{number:06d}.parquet")
    return _FILES


def _write_log(path: Path, rows: list[Update], size: int = 10) -> None:
    """Write RDF Patch with so many rows in a transaction."""
    with path.open("w", encoding="utf-8") as log:
        for start in range(0, len(rows), size):
            lines = "".join(f"{' '.join(row)} .\n" for row in rows[start : start + size])
            log.write(f"TX .\n{lines}TC .\n")


def _changes(spark: SparkSession, folder: Path, job: dict[str, Any]) -> DataFrame:
    rows = job.get("rows") or list(updates(job["updates"]))
    return _read(spark, folder, _write_batches(folder / "changes", list(map(tuple, rows)), job["batch"]))


def _read(spark: SparkSession, folder: Path, files: int, more: str = "") -> DataFrame:
    for number, file in enumerate(sorted((folder / "changes").iterdir())):
        os.utime(file, (number + 1, number + 1))  # Spark takes files by their age
    reader = spark.readStream.schema(f"op string, s string, p string, o string, offset long{more}")
    return reader.option("maxFilesPerTrigger", files).parquet(str(folder / "changes"))


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
    measured = entries[_WARM_UP:] or entries
    seconds = [entry.durationMs["triggerExecution"] / 1e3 for entry in measured]
    rows = sum(entry.numInputRows for entry in measured) // scans
    return {
        "rate": rows / sum(seconds),
        "latency": median(seconds),
        "worst": max(seconds),
        "measured": len(seconds),
    }


def _graph(store: str, folder: Path) -> Any:
    if store == "Memory":
        return rdflib.Graph()
    if store == "Oxigraph in memory":
        return rdflive.LiveStore()
    return rdflive.LiveStore(pyoxigraph.Store(str(folder / "store")))


def _refuse(place: Any, fault: Any) -> None:
    raise AssertionError(f"{place}: {fault}")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@contextmanager
def _peak() -> Iterator[list[int]]:
    """Watch the memory of this process and all that it started: the JVM and its Python workers."""
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            peak[0] = max(peak[0], sum(map(_resident, _family())))

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


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    start = perf_counter()
    main()
