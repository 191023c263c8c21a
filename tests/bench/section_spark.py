"""(k) What Spark costs and gives: feeds into a graph, and queries that Spark keeps up to date."""

from __future__ import annotations

import os
from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Any, Final

import rdflib

import rdflive
from bench import peer_flink
from bench.child import call_module
from bench.page import Page
from bench.report import Section, cells
from bench.sizes import Sizes
from bench.spark_stream import LUBM, LUBM_LOAD, LUBM_SMALL, QUERIES, Update, updates

STORES: Final = ("Memory", "Oxigraph in memory", "Oxigraph on disk")
SUBSCRIPTIONS: Final = (0, 1, 100)
_MB: Final = 1e6
_NO_FLINK: Final = f"No Flink: {peer_flink.PYTHON} names no interpreter with apache-flink."

_PATTERNS = {
    f"{name}, {what}"
    for name in ("star", "triangle")
    for what in ("batches of 50,000", "a stream of 300,000")
}
_SHOWN = (
    "subscribe, local[2]", "Flink SQL, hashmap", "Flink SQL, hashmap, set semantics",
    "Flink SQL, RocksDB, set semantics",
)  # fmt: skip
"""What the page shows."""
PAGE = Page(
    "k",
    "Spark: patterns kept up to date, and Flink",
    "Two cores keep patterns up to date over micro-batches of 50,000 changes; peers are Spark's "
    "stream-stream joins, rdflive in one process and Flink SQL.",
    "A ratio divides the rate of its row by the rate that it names; of Flink's rows only *set semantics* "
    "does the work of rdflive.",
    "what way rate ratio",
    lambda row: row["way"] in _SHOWN and row["what"] in _PATTERNS,
)


def run(sizes: Sizes) -> Section:
    """Measure in two sessions, of one and of two cores, and in this process."""
    section = Section(
        "spark",
        "Spark: micro-batches of changes into a graph, and three patterns kept up to date",
        sizes.spark,
        "what | way | rate: changes/s | latency: s per micro-batch | worst: longest | "
        "ratio: times the rate of | written: MB written | state: state, MB | "
        "checkpoint: checkpoint, MB | rss: memory, MB",
    )
    one = call_module("bench.spark_child", {"cores": 1, "jobs": _jobs(sizes, few=True)})["answers"]
    two = call_module("bench.spark_child", {"cores": 2, "jobs": _jobs(sizes, few=False)})["answers"]
    rates = {(a["kind"], a.get("query"), a["batch"], a["cores"]): a["rate"] for a in one + two if "rate" in a}
    alone = {name: _one_process(sizes, name) for name in QUERIES}
    answers = {(a["query"], a["updates"]): a["answers"] for a in two if a["kind"] == "joins"}
    for figures in one + two:
        if figures["kind"] == "continuous" and (figures["query"], figures["updates"]) in answers:
            assert figures["answers"] == answers[figures["query"], figures["updates"]], figures
        section.rows += _lubm_rows(figures) if figures["kind"] == "lubm" else [_row(figures, rates, alone)]
    section.rows += [
        {"what": f"{name}, batches of 10,000", "way": "rdflive in one process, rdflib graph", "rate": rate}
        for name, rate in alone.items()
    ]
    section.rows += _flink(sizes, rates)
    if not LUBM.exists():
        section.notes.append(f"No LUBM: {LUBM} is absent (set RDFLIVE_SHARED).")
    if not os.environ.get(peer_flink.PYTHON):
        section.notes.append(_NO_FLINK)
    return section


def _jobs(sizes: Sizes, *, few: bool) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    batches = [sizes.spark // 20, sizes.spark // 4] if few else [
        sizes.spark // 200, sizes.spark // 20, sizes.spark // 4, sizes.spark // 2
    ]  # fmt: skip
    for query in QUERIES:
        for batch in batches:
            count = min(max(6 * batch, sizes.spark), 20 * batch)
            jobs.append({"kind": "continuous", "query": query, "batch": batch, "updates": count})
    if few:
        return jobs
    for query in QUERIES:
        for batch in batches[1:3]:
            count = min(max(6 * batch, sizes.spark), 20 * batch)
            jobs.append({"kind": "joins", "query": query, "batch": batch, "updates": count})
    batch = sizes.spark // 10
    jobs.append(
        {"kind": "mirror", "store": "driver only", "subscriptions": 0, "batch": batch, "updates": sizes.spark}
    )
    for store in STORES:
        each = {"kind": "mirror", "store": store, "batch": batch, "updates": sizes.spark}
        jobs += [{**each, "subscriptions": subscriptions} for subscriptions in SUBSCRIPTIONS]
    jobs += [{"kind": "hub", "query": query, "batch": 2, "updates": 5 * sizes.spark} for query in QUERIES]
    jobs.append({"kind": "churn", "query": "star", "batch": 0, "updates": sizes.spark})
    for size in (sizes.spark // 2, 10 * sizes.spark):
        for batch in (sizes.spark // 200, sizes.spark // 4):
            jobs.append({"kind": "growth", "query": "path", "batch": batch, "updates": size, "batches": 14})
    for batch in (sizes.spark // 200, sizes.spark // 20):
        few_triples = {"batch": batch, "updates": 3 * sizes.spark // 10, "batches": 5}
        jobs += [{"kind": kind, "query": "path", **few_triples} for kind in ("growth", "processor")]
    classes = {"kind": "classes", "batch": sizes.spark // 4, "updates": 5 * sizes.spark, "batches": 8}
    jobs += [{**classes, "plain": plain} for plain in (False, True)]
    if LUBM.exists():
        jobs += [
            {"kind": "lubm", "batch": 0, "updates": 0, "copies": copies} for copies in sizes.universities
        ]
    return jobs


def _row(figures: dict[str, Any], rates: dict[Any, float], alone: dict[str, float]) -> dict[str, Any]:
    kind, cores = figures["kind"], figures["cores"]
    row: dict[str, Any] = {key: figures.get(key) for key in ("rate", "latency", "worst")}
    for key in ("written", "state", "checkpoint", "rss"):
        if figures.get(key):
            row[key] = figures[key] / _MB
    if kind == "mirror":
        count = figures["subscriptions"]
        row["what"] = f"mirror rdf_patch, batches of {figures['batch']:,}"
        row["way"] = (
            f"{figures['store']}, {count} subscriptions" if figures["store"] in STORES else "driver only"
        )
        return row
    if kind == "classes":
        row["what"] = f"a class of most of {figures['updates']:,} instances, batches of {figures['batch']:,}"
        row["way"] = f"{'not salted' if figures['plain'] else 'salted'}, local[{cores}]"
        row["ratio"] = f"the largest of 8 partitions has {figures['largest']:.0%} of the rows"
        return row
    if kind in ("growth", "processor"):
        over = f"{figures['updates']:,} triples, batches of {figures['batch']:,}"
        row["what"] = f"{figures['query']} over {over}"
        row["way"] = f"{'transformWithState' if kind == 'processor' else 'subscribe'}, local[{cores}]"
        return row
    if kind == "churn":
        row["what"] = f"star, {figures['changes']:,} changes of {figures['live']:,} live triples"
        row["way"] = f"local[{cores}]"
        row["ratio"] = f"{figures['state'] / figures['once']:.2f} × the state of inserting them once"
        return row
    row["way"] = f"{'stream-stream joins' if kind == 'joins' else 'subscribe'}, local[{cores}]"
    if kind == "hub":
        row["what"] = f"{figures['query']}, a hub of {figures['updates']:,} neighbours"
        return row
    query, batch = figures["query"], figures["batch"]
    row["what"] = f"{query}, batches of {batch:,}"
    peer, single = rates.get(("joins", query, batch, cores)), rates.get((kind, query, batch, 1))
    if kind == "continuous" and cores > 1:
        ratios = [(peer, "joins"), (single, "one core"), (alone[query], "one process")]
        row["ratio"] = ", ".join(f"{figures['rate'] / base:.2f} {name}" for base, name in ratios if base)
    return row


def _lubm_rows(figures: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Write the figures as rows of the section."""
    what, way = f"LUBM by RDFS, {figures['triples']:,} triples", f"subscribe, local[{figures['cores']}]"
    state, memory = figures["state"] / 1e6, figures["rss"] / 1e6
    yield cells(
        what=f"{what}, batches of {LUBM_LOAD:,}",
        way=way,
        rate=figures["rate"],
        state=state,
        ratio=f"loaded in {figures['load']:.1f} s",
        rss=memory,
    )
    for kind, name in (("small", f"batches of {LUBM_SMALL:,}"), ("schema", "a triple of the schema")):
        seconds = figures[kind]
        yield {"what": f"{what}, {name}", "way": way, "latency": median(seconds), "worst": max(seconds)}


def _flink(sizes: Sizes, rates: dict[Any, float]) -> list[dict[str, Any]]:
    """Give the rows of Flink, which joins what micro-batches of a quarter have, without their first two."""
    if not os.environ.get(peer_flink.PYTHON):
        print(_NO_FLINK)
        return []
    batch = sizes.spark // 4
    rows = []
    for figures in peer_flink.measure(6 * batch, 2 * batch):
        rate, ours = figures["rate"], rates["continuous", figures["query"], batch, 2]
        rows.append(
            cells(
                what=f"{figures['query']}, a stream of {figures['updates']:,}",
                way=f"Flink SQL, {figures['way']}",
                rate=rate,
                ratio=f"{rate / ours:.2f} subscribe",
                state=figures["state"] / _MB,
                rss=figures["rss"] / _MB,
            )
        )
    return rows


def _one_process(sizes: Sizes, query: str) -> float:
    """Keep the query fresh in this process; gives changes per second."""
    graph = rdflib.Graph()
    rows = list(updates(sizes.spark))
    batch = max(sizes.spark // 20, 1)
    terms = [_terms(row) for row in rows]
    with rdflive.subscribe(graph, QUERIES[query], lambda delta: None):
        start = perf_counter()
        for begin in range(0, len(rows), batch):
            with rdflive.batch(graph):
                for row, triple in zip(
                    rows[begin : begin + batch], terms[begin : begin + batch], strict=True
                ):
                    (graph.add if row[0] == "A" else graph.remove)(triple)
        return len(rows) / (perf_counter() - start)


def _terms(row: Update) -> tuple[rdflib.URIRef, rdflib.URIRef, rdflib.URIRef]:
    s, p, o = (rdflib.URIRef(text[1:-1]) for text in row[1:])
    return s, p, o
