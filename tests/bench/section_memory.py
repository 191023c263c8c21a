"""(d) The memory of the engine's state, per triple that it keeps."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any, Final

from rdflib import Graph

import rdflive
from bench.child import apart, resident
from bench.page import Page
from bench.report import Section, cells
from bench.sizes import Sizes
from bench.worlds import EX, STORES, Edge, chain, fill

QUERIES: Final = {
    "path of 3": f"SELECT * {{ ?a <{EX}1> ?b . ?b <{EX}2> ?c . ?c <{EX}3> ?d }}",
    "star of 3": f"SELECT * {{ ?a <{EX}1> ?b . ?a <{EX}2> ?c . ?a <{EX}3> ?d }}",
}

PAGE = Page(
    "d",
    "Memory for 100,000 triples that all match a pattern of the query",
    "A subscription opens on a graph whose triples all match, and its memory is divided by their number.",
    "tracemalloc counts Python objects; the growth of the process includes what opening needed for a moment.",
    "store query all rss",
    lambda row: row["algorithm"] == "connected",
)


def run(sizes: Sizes) -> Section:
    """Subscribe in a fresh process per figure and see what that takes."""
    section = Section(
        "memory",
        f"Memory for {sizes.cached:,} triples that all match a pattern of the query",
        sizes.cached,
        "store | query | algorithm | indexes: index bytes per triple | "
        "all: all bytes per triple (tracemalloc) | dictionary: of which dictionary | "
        "rss: RSS growth, bytes per triple | terms: terms in the dictionary",
    )
    for store in STORES:
        for query in QUERIES:
            for algorithm in ("auto", "join") if query == "path of 3" else ("auto",):
                task = cells(store=store, query=query, algorithm=algorithm, count=sizes.cached)
                traced, plain = (apart(_measure, **task, trace=trace) for trace in (True, False))
                section.add(store=store, query=query, **{**traced, **plain})
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
    before = resident()
    subscription = rdflive.subscribe(graph, QUERIES[query], initial=False, algorithm=algorithm)
    gc.collect()
    result: dict[str, Any] = {"rss": max(0, resident() - before) / len(graph)}
    if trace:
        state: Any = subscription._state
        snapshot = tracemalloc.take_snapshot()
        tracemalloc.stop()
        own = snapshot.filter_traces([tracemalloc.Filter(True, "*rdflive/engine/dictionary.py")])
        stats = subscription.stats
        result |= cells(
            algorithm=stats.algorithms[0],
            indexes=stats.size / len(graph),
            terms=len(state.dictionary),
            all=sum(s.size for s in snapshot.statistics("filename")) / len(graph),
            dictionary=sum(s.size for s in own.statistics("filename")) / len(graph),
        )
    return result
