"""(x) What each operator costs on Spark, beside the join of two patterns."""

from __future__ import annotations

from bench.child import call_module
from bench.page import Page
from bench.report import Section
from bench.sizes import Sizes
from bench.spark_stream import OPERATORS

_BASE = "two patterns"
_EACH = 4
_MB = 1e6

_SHOWN = (
    "one pattern",
    "two patterns",
    "OPTIONAL",
    "GROUP BY, HAVING",
    "8 steps of a constant at most",
    "window",
)
"""What the page shows."""
PAGE = Page(
    "x",
    "Spark: the seconds of a micro-batch, by operator",
    "Micro-batches of 1,000 and 50,000 changes reach one operator over 2,000,000 triples on two cores; "
    "figures are seconds.",
    "Small micro-batches show the fixed cost, and large ones the operator's.",
    "operator large_0 large_1 state",
    lambda row: row["operator"] in _SHOWN,
)


def run(sizes: Sizes) -> Section:
    """Change a small and a large graph in small and large micro-batches, a query at a time."""
    triples = sizes.spark // 2, 10 * sizes.spark
    batches = sizes.spark // 200, sizes.spark // 4
    names = {
        (size, batch): f"{key}_{place}"
        for size, key in zip(triples, ("small", "large"), strict=True)
        for place, batch in enumerate(batches)
    }
    changes = " | ".join(f"{name}: {batch:,} changes of {size:,}" for (size, batch), name in names.items())
    ratios = " | ".join(f"ratio_{name}: times two patterns" for name in names.values())
    section = Section(
        "spark-operators",
        "Spark: the seconds of a micro-batch, by operator",
        sizes.spark,
        f"operator | {changes} | {ratios} | state: state of the large graph, MB",
    )
    job = {"kind": "operators", "batch": batches, "each": _EACH}
    jobs = [{**job, "query": query, "updates": size} for size in triples for query in OPERATORS]
    found: dict[str, dict[str, float]] = {query: {} for query in OPERATORS}
    # the first one is run twice, because the JVM compiles what it runs meanwhile
    task = {"cores": 2, "jobs": [jobs[0], *jobs]}
    for figures in call_module("bench.spark_child", task)["answers"][1:]:
        row = found[figures["query"]]
        for batch, seconds in zip(batches, figures["latency"], strict=True):
            row[names[figures["updates"], batch]] = seconds
        row["state"] = figures["state"] / _MB
    for query, row in found.items():
        times = {f"ratio_{name}": row[name] / found[_BASE][name] for name in names.values()}
        section.rows.append({"operator": query, **row, **times})
    return section
