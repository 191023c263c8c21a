"""(d) What the engine's caches take, per triple that they hold."""

from __future__ import annotations

import gc
import json
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any, Final

from rdflib import Graph

import rdflive
from bench.child import call_module
from bench.report import Cell, Section
from bench.sizes import Sizes
from bench.stream import SEED
from bench.worlds import EX, STORES, Edge, chain, fill

__all__ = ["run"]

QUERIES: Final = {
    "path of 3": f"SELECT * {{ ?a <{EX}1> ?b . ?b <{EX}2> ?c . ?c <{EX}3> ?d }}",
    "star of 3": f"SELECT * {{ ?a <{EX}1> ?b . ?a <{EX}2> ?c . ?a <{EX}3> ?d }}",
}


def run(sizes: Sizes) -> Section:
    """Subscribe in a fresh process per figure and see what that takes."""
    section = Section(
        "memory",
        f"Memory for {sizes.cached:,} triples that all match a pattern of the query",
        sizes.cached,
        SEED,
        1,
        {
            "store": "store",
            "query": "query",
            "algorithm": "algorithm",
            "indexes": "index bytes per triple",
            "all": "all bytes per triple (tracemalloc)",
            "dictionary": "of which dictionary",
            "rss": "RSS growth, bytes per triple",
            "terms": "terms in the dictionary",
        },
    )
    for store in STORES:
        for query in QUERIES:
            for algorithm in ("auto", "join") if query == "path of 3" else ("auto",):
                task = {"store": store, "query": query, "algorithm": algorithm, "count": sizes.cached}
                traced = call_module("bench.section_memory", {**task, "trace": True})
                plain = call_module("bench.section_memory", {**task, "trace": False})
                row: dict[str, Cell] = {"store": store, "query": query, "algorithm": traced["algorithm"]}
                row |= {key: traced[key] for key in ("indexes", "all", "dictionary", "terms")}
                section.rows.append({**row, "rss": plain["rss"]})
    section.notes += [
        "On Memory the dictionary points at the graph's own terms; terms read from Oxigraph are objects of "
        "its own and counted. RSS growth includes what the initial load needed for a moment, "
        "and leaves out what found room that filling the graph had left free.",
    ]
    return section


def _edges(query: str, count: int) -> list[Edge]:
    """Make edges of which every one matches: a chain, or stars of some 10 edges."""
    edges = chain(count, levels=3)
    if query == "path of 3":
        return edges
    centres = max(1, count // 10)
    return [(10 + i % centres, p, o) for i, (_, p, o) in enumerate(edges)]


def _measure(store: str, query: str, algorithm: Any, count: int, trace: bool) -> dict[str, Any]:
    graph = fill(store, _edges(query, count))
    rdflive.subscribe(Graph(), QUERIES[query]).close()  # loads what is loaded once
    gc.collect()
    if trace:
        tracemalloc.start()
    before = _rss()
    subscription = rdflive.subscribe(graph, QUERIES[query], initial=False, algorithm=algorithm)
    gc.collect()
    stats = subscription.stats
    matched = len(graph)
    result: dict[str, Any] = {
        "algorithm": stats.algorithms[0],
        "indexes": stats.size / matched,
        "rss": (_rss() - before) / matched,
    }
    if trace:
        state: Any = subscription._state
        result["terms"] = len(state.dictionary)
        snapshot = tracemalloc.take_snapshot()
        result["all"] = sum(s.size for s in snapshot.statistics("filename")) / matched
        own = snapshot.filter_traces([tracemalloc.Filter(True, "*rdflive/engine/dictionary.py")])
        result["dictionary"] = sum(s.size for s in own.statistics("filename")) / matched
    return result


def _rss() -> int:
    """Give the bytes of memory that the process occupies; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    print(json.dumps(_measure(**json.load(sys.stdin))))
