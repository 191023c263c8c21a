"""The peer of (k) that runs on Flink: the same changes joined by Flink SQL, in its own interpreter."""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final, TypeAlias

from bench.child import call_module
from bench.spark_stream import QUERIES, Update, updates

__all__ = ["PYTHON", "WAYS", "measure"]

PYTHON: Final = "RDFLIVE_FLINK_PYTHON"
"""Names the interpreter that has apache-flink."""
Row: TypeAlias = tuple[str, ...]

_FILES: Final = 2
"""One for each reader. A triple is always in the same file, so that its changes stay in their order."""
_MINI_BATCH: Final = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "5 s",
    "table.exec.mini-batch.size": "5000",
}
_ROCKSDB: Final = {"state.backend.type": "rocksdb"}
WAYS: Final[dict[str, dict[str, Any]]] = {
    "hashmap": {"options": {}, "normaliser": False},
    "hashmap, mini-batch": {"options": _MINI_BATCH, "normaliser": False},
    "RocksDB": {"options": _ROCKSDB, "normaliser": False},
    "RocksDB, mini-batch": {"options": {**_ROCKSDB, **_MINI_BATCH}, "normaliser": False},
    "hashmap, set semantics": {"options": {}, "normaliser": True},
    "RocksDB, set semantics": {"options": _ROCKSDB, "normaliser": True},
}


def measure(count: int, load: int, repeat: int = 2) -> list[dict[str, Any]]:
    """Join so many updates in each of the ways, and measure all but the first ones.

    Raises AssertionError where the signed rows that Flink put out do not add up to the answer.
    """
    with tempfile.TemporaryDirectory() as folder:
        rows = list(updates(count))
        source = Path(folder, "changes")
        _write(source, rows, load)
        jobs: list[dict[str, Any]] = []
        for query in QUERIES:
            for way, each in WAYS.items():
                files = {"source": str(source), "files": _FILES, "answer": str(Path(folder, str(len(jobs))))}
                jobs.append({"query": query, "way": way, "updates": count, "load": load, **each, **files})
        task = {"jobs": jobs, "repeat": repeat}
        out = call_module("bench.flink_child", task, python=os.environ[PYTHON])
        found: list[dict[str, Any]] = out["answers"]
        answers = {query: _answer(query, rows) for query in QUERIES}
        for figures in found:
            net, signs = _net(Path(figures["answer"]))
            assert net == answers[figures["query"]], figures
            figures |= {"answers": sum(net.values()), "signs": signs}
        return found


def _write(folder: Path, rows: list[Update], load: int) -> None:
    """Write the changes, and marks where the measured ones begin and end."""
    folder.mkdir()
    files = [(folder / f"{number}.csv").open("w", encoding="utf-8") for number in range(_FILES)]
    for place, row in enumerate(rows):
        if place == load:
            _mark(files, "begin")
        files[zlib.crc32("".join(row[1:]).encode()) % _FILES].write(",".join(row) + "\n")
    _mark(files, "end")
    for file in files:
        file.close()


def _mark(files: list[Any], name: str) -> None:
    for number, file in enumerate(files):
        file.write(f"A,{name}/{number},mark,{number}\n")


def _answer(query: str, rows: list[Update]) -> Counter[Row]:
    """Join what is there in the end, in Python."""
    live: dict[tuple[str, str, str], None] = {}
    for op, *triple in rows:
        s, p, o = triple
        if op == "A":
            live[s, p, o] = None
        else:
            del live[s, p, o]
    words = QUERIES[query].split("{ ")[1].removesuffix(" }").split(" . ")
    (_, first, _), (_, second, _), (_, third, _) = (pattern.split() for pattern in words)
    ahead: dict[tuple[str, str], list[str]] = defaultdict(list)
    for s, p, o in live:
        ahead[s, p].append(o)
    found: list[Row] = []
    for s, p, o in live:
        if p == first:
            for c in ahead.get((s if query == "star" else o, second), ()):
                ends = ahead.get((s if query == "star" else c, third), ())
                if query == "triangle":
                    found += [(s, o, c) for d in ends if d == s]
                else:
                    found += [(s, o, c, d) for d in ends]
    return Counter(found)


def _net(folder: Path) -> tuple[Counter[Row], Counter[str]]:
    """Add up the signed rows, and count their signs."""
    net: Counter[Row] = Counter()
    signs: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file():
            for line in path.open(encoding="utf-8"):
                change = json.loads(line)
                signs[change["op"]] += 1
                added = change["op"] == "c"
                net[tuple(change["after" if added else "before"].values())] += 1 if added else -1
    assert min(net.values(), default=0) >= 0
    return +net, signs
