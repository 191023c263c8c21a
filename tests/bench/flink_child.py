"""Measures jobs of (k) in Flink SQL: JSON with `jobs` and `repeat` in, a list of figures out.

It runs in an interpreter of its own that has apache-flink, and so imports nothing else of the benchmarks.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import urllib.request
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Any

from py4j.protocol import Py4JJavaError
from pyflink.common import Configuration
from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableEnvironment

_ENDS = {"star": ("ab", "ac", "ad"), "path": ("ab", "bc", "cd"), "triangle": ("ab", "bc", "ca")}
_DEADLINE = 300
_POLL = 0.1

_CHANGES = """CREATE TABLE changes (op STRING, s STRING, p STRING, o STRING, ts AS PROCTIME()) WITH (
    'connector' = 'filesystem', 'format' = 'csv', 'path' = '{}', 'source.monitor-interval' = '1 s')"""
_LIVE = {
    False: """CREATE VIEW live AS SELECT s, p, o FROM FROM_CHANGELOG(input => TABLE changes,
        op => DESCRIPTOR(op), op_mapping => MAP['A', 'INSERT', 'D', 'DELETE'])""",
    True: """CREATE VIEW live AS SELECT s, p, o FROM (SELECT op, s, p, o,
        ROW_NUMBER() OVER (PARTITION BY s, p, o ORDER BY ts DESC) AS place FROM changes)
        WHERE place = 1 AND op = 'A'""",
}
"""The changes as a table that changes: taken as they are, or with the set semantics that rdflive gives.

The latter is Flink's own pattern for duplicates: the last row of each triple counts.
"""
_FILE = "'connector' = 'filesystem', 'format' = 'debezium-json', 'path' = '{}'"


def main() -> None:
    """Run the jobs."""
    task = json.load(sys.stdin)
    answers = []
    for job in task["jobs"]:
        runs = [_run(job, job["answer"])]  # also compiles, so that it warms up the others
        runs += [_run(job, None) for _ in range(task["repeat"])]
        rates = [run["rate"] for run in runs[1:]]
        figures = {"rate": median(rates), "rates": rates, "state": runs[-1]["state"], "rss": _rss()}
        answers.append({**job, **figures})
    print(json.dumps({"answers": answers}))


def _run(job: dict[str, Any], answer: str | None) -> dict[str, float]:
    """Join the whole stream once: into files of signed rows, or into nothing.

    The changes hold rows that mark where the measured ones begin and end in each file. The time at which
    they are read is written; as Flink reads no faster than it joins, that is the time of the joins too.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        table = _environment(job, port, scratch)
        columns, query = _query(job["query"])
        sink = _FILE.format(answer) if answer else "'connector' = 'blackhole'"
        table.execute_sql(f"CREATE TABLE answer ({columns}) WITH ({sink})")
        table.execute_sql(
            f"CREATE TABLE marks (s STRING, seen STRING) WITH ({_FILE.format(scratch + '/marks')})"
        )
        both = table.create_statement_set()
        both.add_insert_sql(f"INSERT INTO answer {query}")
        both.add_insert_sql(
            "INSERT INTO marks SELECT s, CAST(CURRENT_TIMESTAMP AS STRING) FROM live WHERE p = 'mark'"
        )
        client = both.execute().get_job_client()
        url = f"http://127.0.0.1:{port}/jobs/{client.get_job_id()}/checkpoints"
        seen = _wait(Path(scratch, "marks"), 2 * job["files"], url, client)
        state = _wait_checkpoint(url, client)
        client.cancel().result()
        with suppress(Py4JJavaError):  # which tells that it was cancelled
            client.get_job_execution_result().result()
    seconds = max(max(seen["end"]) - min(seen["begin"]), 1e-3)
    return {"rate": (job["updates"] - job["load"]) / seconds, "state": state}


def _environment(job: dict[str, Any], port: int, scratch: str) -> TableEnvironment:
    options = {
        "parallelism.default": "2",
        "rest.bind-port": str(port),
        "web.refresh-interval": "100 ms",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": f"file://{scratch}/checkpoints",
        **job["options"],
    }
    config = Configuration()
    for name, value in options.items():
        config.set_string(name, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(config).build()
    table = TableEnvironment.create(settings)
    table.execute_sql(_CHANGES.format(job["source"]))
    table.execute_sql(_LIVE[job["normaliser"]])
    return table


def _query(name: str) -> tuple[str, str]:
    """Give the columns and the join of three patterns."""
    places: dict[str, str] = {}
    text = ""
    for number, ends in enumerate(_ENDS[name]):
        side = f"(SELECT s, o FROM live WHERE p = '<http://example.org/predicate/{number}>') AS t{number}"
        same = []
        for end, column in zip(ends, ("s", "o"), strict=True):
            place = f"t{number}.{column}"
            if places.setdefault(end, place) != place:
                same.append(f"{places[end]} = {place}")
        text += f" JOIN {side} ON {' AND '.join(same)}" if number else f" FROM {side}"
    columns = ", ".join(f"{name} STRING" for name in places)
    return columns, "SELECT " + ", ".join(f"{place} AS {name}" for name, place in places.items()) + text


def _wait(folder: Path, count: int, url: str, client: Any) -> dict[str, list[float]]:
    """Wait until the marks are written, which they are at checkpoints; gives when they were read."""
    end = monotonic() + _DEADLINE
    while monotonic() < end:
        rows = [json.loads(line)["after"] for file in _files(folder) for line in file.open()]
        if len(rows) == count:
            seen: dict[str, list[float]] = {"begin": [], "end": []}
            for row in rows:
                seen[row["s"].split("/")[0]].append(datetime.fromisoformat(row["seen"]).timestamp())
            return seen
        _alive(client)
        sleep(_POLL)
    raise TimeoutError(url)


def _wait_checkpoint(url: str, client: Any) -> int:
    """Wait for a checkpoint that began after this call, so of all changes; gives its bytes."""
    first = None
    end = monotonic() + _DEADLINE
    while monotonic() < end:
        with urllib.request.urlopen(url) as response:
            latest = json.load(response)["latest"]["completed"] or {"id": 0}
        first = latest["id"] if first is None else first
        if latest["id"] > first + 1:  # the next one may have begun already
            size: int = latest["state_size"]
            return size
        _alive(client)
        sleep(_POLL)
    raise TimeoutError(url)


def _alive(client: Any) -> None:
    status = client.get_job_status().result()
    if status.name not in ("CREATED", "INITIALIZING", "RUNNING"):
        raise RuntimeError(f"the job is {status.name}")


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []


def _rss() -> int:
    """Give the most memory that the JVM and this process have had so far."""
    java = get_gateway().jvm.java.lang.ProcessHandle.current().pid()
    lines = [Path(f"/proc/{pid}/status").read_text() for pid in (java, os.getpid())]
    return sum(1024 * int(text.partition("VmHWM:")[2].split()[0]) for text in lines)


if __name__ == "__main__":
    main()
