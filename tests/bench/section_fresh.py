"""(c) An answer that is fresh after every update: subscriptions beside evaluating again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from rdflib import Graph

from bench.again import Asked, Watched, to_quad
from bench.clock import middle, quiet, ratio
from bench.histories import Changes
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import Sizes
from bench.stream import SEED
from bench.worlds import EX, STORES, Edge, chain, chain_edge, fill, iri

PAGE = Page(
    "c",
    "Answer kept fresh on 100,000 triples after each of 1,000 matching updates",
    "A subscription to a join of four patterns follows matching updates, or the query is evaluated again "
    "after each.",
    "The last column divides the cost of evaluating again by that of a subscription on Memory, both "
    "without the bare update.",
    "query way update over_memory",
)


def run(sizes: Sizes) -> Section:
    """Keep two queries fresh over the same changes, by subscription and by evaluation."""
    width = sizes.triples // 2
    edges = chain(sizes.triples, width=width)
    changes = _changes(edges, sizes.changes, width)
    section = Section(
        "fresh",
        f"Answer kept fresh on {sizes.triples:,} triples after each of {sizes.changes:,} matching updates",
        sizes.changes,
        "query | way | update: ms per update, the bare update included | "
        "fresh: ms per update without the bare update | measured: evaluations measured per repeat | "
        "over_memory: × subscription on Memory | over_oxigraph: × subscription on Oxigraph",
        repeat=sizes.repeat,
    )
    city = 10 + 4 * width + 7
    for name, end in (("join of 4, no constants", "?e"), ("join of 4, one constant", f"<{EX}{city}>")):
        body = f"?a <{EX}1> ?b . ?b <{EX}2> ?c . ?c <{EX}3> ?d . ?d <{EX}4> {end}"
        section.rows += _compare(name, f"SELECT * {{ {body} }}", edges, changes, sizes)
    return section


def _changes(edges: list[Edge], count: int, width: int) -> list[Changes]:
    """Make inserts of absent and deletes of present edges, about as many of each."""
    rng = random.Random(SEED)
    present, listed = set(edges), list(edges)
    changes: list[Changes] = []
    while len(changes) < count:
        edge = listed[rng.randrange(len(listed))]
        if len(changes) % 2:
            edge = chain_edge(rng, width, rng.randrange(4), 100)
        if (edge in present) == bool(len(changes) % 2):
            continue
        s, p, o = edge
        changes.append([(-1 if edge in present else 1, (iri(s), iri(p), iri(o)))])
        present ^= {edge}
    return changes


def _asked(native: Asked, query: str, changes: list[Changes], evaluations: int) -> tuple[float, float]:
    """Make the changes; give the seconds of all of them, and of one evaluation on average."""
    operations = [
        (native.store.add if sign > 0 else native.store.remove, to_quad(triple))
        for batch in changes
        for sign, triple in batch
    ]
    every = max(1, len(operations) // max(1, evaluations))
    updating = asking = 0.0
    asked = 0
    for number, (operation, item) in enumerate(operations):
        start = perf_counter()
        operation(item)
        written = perf_counter()
        updating += written - start
        if number % every == 0 and asked < evaluations:
            native.evaluate(query)
            asking += perf_counter() - written
            asked += 1
    return updating, asking / max(1, asked)


def _compare(
    name: str, query: str, edges: list[Edge], changes: list[Changes], sizes: Sizes
) -> Iterator[dict[str, Cell]]:
    bare = {store: Watched(fill(store, edges), {}, reads=False) for store in STORES}
    live = {store: Watched(fill(store, edges), {name: query}, reads=False) for store in STORES}
    native = Asked(tuple(map(iri, edge)) for edge in edges)
    plain: dict[str, list[float]] = {store: [] for store in STORES}
    kept: dict[str, list[float]] = {store: [] for store in STORES}
    writing: list[float] = []
    asking: list[float] = []
    by_rdflib = 0.0
    for number in range(sizes.repeat):
        with quiet():
            for store in STORES:
                plain[store].append(bare[store].replay(changes))
                kept[store].append(live[store].replay(changes))
            updates, evaluation = _asked(native, query, changes, sizes.evaluations[0])
        writing.append(updates)
        asking.append(evaluation * len(changes))
        if number == 0:
            expected = native.answer(query)
            if any(graph.answer(name) != expected for graph in live.values()):
                raise AssertionError(f"{name}: the deltas do not add up to the final evaluation")
            by_rdflib = _evaluate_rdflib(bare["Memory"].graph, query, sizes.evaluations[1], expected)
        undo = [[(-sign, triple)] for ((sign, triple),) in reversed(changes)]
        for graph in (*bare.values(), *live.values()):
            graph.replay(undo)
        _asked(native, query, undo, 0)
    extra = {
        store: [max(k - p, 1e-9) for k, p in zip(kept[store], plain[store], strict=True)] for store in STORES
    }
    per = 1000 / len(changes)
    for store in STORES:
        yield cells(
            query=name,
            way=f"subscription, {store}",
            update=middle(kept[store]) * per,
            fresh=middle(extra[store]) * per,
        )
    yield cells(
        query=name,
        way="query again, pyoxigraph",
        update=(middle(writing) + middle(asking)) * per,
        fresh=middle(asking) * per,
        measured=sizes.evaluations[0],
        over_memory=ratio(asking, extra["Memory"]),
        over_oxigraph=ratio(asking, extra["Oxigraph"]),
    )
    total = by_rdflib * len(changes)
    yield cells(
        query=name,
        way="query again, rdflib",
        update=(middle(plain["Memory"]) + total) * per,
        fresh=total * per,
        measured=sizes.evaluations[1],
        over_memory=total / middle(extra["Memory"]),
        over_oxigraph=total / middle(extra["Oxigraph"]),
    )


def _evaluate_rdflib(graph: Graph, query: str, evaluations: int, expected: object) -> float:
    """Give the seconds of one evaluation by rdflib, on the state after all updates."""
    with quiet():
        start = perf_counter()
        for _ in range(evaluations):
            solutions: Any = list(graph.query(query))
        seconds = (perf_counter() - start) / evaluations
    rows = (row.asdict().items() for row in solutions)
    if Counter(frozenset((name, str(term)) for name, term in row) for row in rows) != expected:
        raise AssertionError("rdflib and pyoxigraph disagree on the final answer")
    return seconds
