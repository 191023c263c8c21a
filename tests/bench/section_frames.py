"""(r) An answer as a pandas DataFrame, beside one made of the result of `graph.query`."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from rdflib import Graph, Literal, URIRef

import rdflive
from bench.child import apart, resident
from bench.clock import timed
from bench.page import Page
from bench.report import Section, cells
from bench.sizes import Sizes
from bench.worlds import EX, STORES

QUERY: Final = f"SELECT ?train ?delay {{ ?train <{EX}delay> ?delay }}"
WAYS: Final = {
    "answers().to_pandas()": "ours",
    "DataFrame(graph.query(…))": "graph.query",
}

PAGE = Page(
    "r",
    "Answers as DataFrames",
    "The answer of one pattern with a million rows becomes a pandas DataFrame.",
    "The ratio divides by the time of `graph.query` on the same store.",
    "store way seconds ratio peak",
)


def run(sizes: Sizes) -> Section:
    """Make the frame in a fresh process per way, so that the peak of its memory is its own."""
    section = Section(
        "frames",
        f"A DataFrame of {sizes.rows:,} rows: an IRI and an integer",
        sizes.rows,
        "store | way | seconds | ratio: of graph.query | peak: MiB more at the peak | "
        "dtypes: types of the columns",
    )
    if find_spec("pandas") is None or find_spec("pyarrow") is None:
        section.notes.append("pandas and pyarrow are not installed, so nothing was measured.")
        return section
    for store in STORES:
        found = {name: apart(_measure, store=store, way=way, count=sizes.rows) for name, way in WAYS.items()}
        base = found["DataFrame(graph.query(…))"]["seconds"]
        for name, row in found.items():
            section.add(store=store, way=name, **row, ratio=row["seconds"] / base)
    return section


def _measure(store: str, way: str, count: int) -> dict[str, Any]:
    import pandas as pd

    graph = STORES[store]()
    delay = URIRef(f"{EX}delay")
    graph.addN((URIRef(f"{EX}train{i}"), delay, Literal(i % 600), graph) for i in range(count))
    make: Callable[[], Any]
    if way == "ours":
        subscription = rdflive.subscribe(graph, QUERY, initial=False)
        make = lambda: subscription.answers().to_pandas()  # noqa: E731 - one of two
        rdflive.subscribe(Graph(), QUERY).answers().to_pandas()  # loads what is loaded once
    else:
        make = lambda: pd.DataFrame(graph.query(QUERY), columns=["train", "delay"])  # noqa: E731
        pd.DataFrame(Graph().query(QUERY))
    gc.collect()
    before = _reset_peak()
    seconds, frame = timed(make)
    if frame.shape != (count, 2):
        raise AssertionError(f"{store}, {way}: {frame.shape}")
    return cells(seconds=seconds, peak=(_peak() - before) / 2**20, dtypes=", ".join(map(str, frame.dtypes)))


def _reset_peak() -> int:
    """Reset the kernel's peak of the resident memory, and return the resident bytes."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return resident()


def _peak() -> int:
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
        return int(found[1]) * 1024 if found else 0
    return 0
