"""(e) How long a subscription on a large graph takes to open."""

from __future__ import annotations

from typing import Any, Final

from rdflib import Graph

import rdflive
from bench.child import apart
from bench.clock import timed
from bench.page import Page
from bench.report import Section, cells
from bench.sizes import Sizes
from bench.worlds import EX, STORES, chain, fill

QUERIES: Final = {
    "path of 3": f"SELECT * {{ ?a <{EX}1> ?b . ?b <{EX}2> ?c . ?c <{EX}3> ?d }}",
    "single pattern": f"SELECT * {{ ?a <{EX}1> ?b }}",
}

PAGE = Page(
    "e",
    "Initial load of a subscription on a full graph",
    "A subscription to a path of three patterns opens on a graph whose triples all match one of them, and "
    "lists its answer.",
    "The last column is one evaluation by the store itself.",
    "store triples load answer micros native",
    lambda row: row["query"] == "path of 3",
)


def run(sizes: Sizes) -> Section:
    """Subscribe to a full graph, in a fresh process per graph."""
    section = Section(
        "load",
        "Initial load of a subscription on a full graph",
        max(sizes.loads),
        "store | triples | query | matched: triples that match | load: load, s | "
        "answer: first answer, s | solutions | micros: µs per matching triple, both | "
        "native: one evaluation by the store, s",
    )
    for store in STORES:
        for count in sizes.loads:
            section.rows += apart(_measure, store=store, count=count)
    return section


def _measure(store: str, count: int) -> list[dict[str, Any]]:
    """A third of the triples matches each pattern, so a path matches them all and has many solutions."""
    edges = chain(count, levels=3)
    graph = fill(store, edges)
    for query in QUERIES.values():
        rdflive.subscribe(Graph(), query).close()  # loads and compiles what is needed once
    rows = []
    for name, query in QUERIES.items():
        matched = count if name == "path of 3" else sum(p == 1 for _, p, _ in edges)
        load, subscription = timed(lambda: rdflive.subscribe(graph, query, initial=False))  # noqa: B023
        answer, solutions = timed(subscription.answers)
        native = None
        if store == "Oxigraph" or count <= 200_000:
            native, found = timed(lambda: list(graph.query(query)))  # noqa: B023 - called at once
            if len(found) != len(solutions):
                raise AssertionError(
                    f"{store}, {name}: {len(solutions)} solutions, the store has {len(found)}"
                )
        rows.append(
            cells(
                store=store,
                triples=count,
                query=name,
                matched=matched,
                load=load,
                answer=answer,
                solutions=len(solutions),
                micros=(load + answer) / matched * 1e6,
                native=native,
            )
        )
        subscription.close()
    return rows
