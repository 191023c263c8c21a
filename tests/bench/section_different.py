"""(ad) What different queries that begin alike cost: to open, in memory, per change, and to close."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from random import Random
from time import process_time
from typing import Final

from rdflib import Graph, URIRef

import rdflive
from bench.child import apart, resident
from bench.page import Page
from bench.report import Cell, Section
from bench.sizes import FULL, Sizes
from bench.stream import SEED
from bench.worlds import EX

Triple = tuple[URIRef, URIRef, URIRef]
CONSTANTS: Final = 200
"""Nodes that queries name."""
FEW: Final = 500
"""How many adds of a kind are timed, and how many subscriptions are opened and closed one by one."""

PAGE = Page(
    "ad",
    "Different queries that begin alike",
    "Queries of two to four patterns, no two alike, open one by one over 40,000 random triples, which "
    "then change.",
    "The fewer predicates the queries have, the more of them an added triple reaches.",
    "queries predicates known bytes adds",
    lambda row: row["queries"] > 1 and row["nodes"] < 2 * FULL.crowded,
)


def run(sizes: Sizes) -> Section:
    """Open ever more different queries over few predicates, or over as many, in a fresh process each."""
    section = Section(
        "different",
        f"1 to {sizes.different[-1]:,} queries of two to four patterns, all different",
        sizes.different[-1],
        "queries | predicates | nodes: nodes of the graph | known: µs to open one of a known shape | "
        "new: µs to open one of a new shape | bytes: bytes each (RSS) | misses: µs per add that misses | "
        "nothing: µs per add of a predicate of the queries, of new terms | adds: µs per add in the graph | "
        "deletes: µs per delete | rows: rows per add | close: µs to close",
    )
    for count in sizes.different:
        worlds = [(60, sizes.crowded * 2), (60, sizes.crowded // 2), (count, sizes.crowded)]
        for predicates, nodes in worlds if count > 60 else worlds[:2]:
            found = apart(_measure, count=count, predicates=predicates, nodes=nodes, edges=sizes.crowded * 2)
            section.add(queries=count, predicates=predicates, nodes=nodes, **found)
    return section


def queries(random: Random, predicates: int) -> Iterator[str]:
    """Make different paths, stars and trees of two to four patterns, with constants at some of their ends."""
    seen = set()
    while True:
        count = random.randint(2, 4)
        form = random.choice(("path", "star", "tree"))
        begins = {"path": range(count), "star": [0] * count}.get(form) or [
            random.randint(0, i) for i in range(count)
        ]
        ends = [f"?v{i + 1}" for i in range(count)]
        free = [i for i in range(count) if i + 1 not in begins]
        for i in random.sample(free, min(len(free), random.choice((0, 1, 1, 2)))):
            ends[i] = f"<{EX}c{random.randrange(CONSTANTS)}>"
        patterns = [
            f"?v{begin} <{EX}p{random.randrange(predicates)}> {end}"
            for begin, end in zip(begins, ends, strict=True)
        ]
        text = f"SELECT * {{ {' . '.join(patterns)} }}"
        if text not in seen:
            seen.add(text)
            yield text


def _triples(random: Random, predicates: int, nodes: int, count: int) -> list[Triple]:
    def node() -> URIRef:
        number = random.randrange(nodes)
        return URIRef(f"{EX}c{number}" if number < CONSTANTS else f"{EX}n{number}")

    return [(node(), URIRef(f"{EX}p{random.randrange(predicates)}"), node()) for _ in range(count)]


def _measure(count: int, predicates: int, nodes: int, edges: int) -> dict[str, Cell]:
    random = Random(SEED)
    graph = Graph()
    for triple in _triples(random, predicates, nodes, edges):
        graph.add(triple)
    rows = 0

    def take(delta: rdflive.Delta) -> None:
        nonlocal rows
        rows += len(delta.added) + len(delta.removed)

    texts = queries(random, predicates)
    few = min(FEW, count)
    opened = [rdflive.subscribe(graph, next(texts), take, initial=False)]  # parses what is parsed once
    gc.collect()
    before = resident()
    opened += [rdflive.subscribe(graph, next(texts), take, initial=False) for _ in range(count - 1)]
    gc.collect()
    found: dict[str, Cell] = {"bytes": max(0, resident() - before) / count}
    more = [next(texts) for _ in range(few)]
    # the same shapes, of which no plan was made
    renamed = [text.replace("?v", f"?w{number}x") for number, text in enumerate(more)]
    for name, asked in (("known", more), ("new", renamed)):
        start = process_time()
        kept = [rdflive.subscribe(graph, text, take, initial=False) for text in asked]
        found[name] = (process_time() - start) / few * 1e6
        for subscription in kept:
            subscription.close()
    gc.collect()
    gc.freeze()
    gc.disable()
    asked_predicates = [URIRef(f"{EX}p{random.randrange(predicates)}") for _ in range(FEW)]
    kinds: dict[str, list[Triple]] = {
        "misses": [(URIRef(f"{EX}a{i}"), URIRef(f"{EX}unasked"), URIRef(f"{EX}b{i}")) for i in range(FEW)],
        "nothing": [(URIRef(f"{EX}a{i}"), p, URIRef(f"{EX}b{i}")) for i, p in enumerate(asked_predicates)],
        "adds": list(dict.fromkeys(t for t in _triples(random, predicates, nodes, FEW) if t not in graph)),
    }
    for triples in kinds.values():  # what is written when it is first used
        _timed(graph.add, triples)
        _timed(graph.remove, triples)
    for name, triples in kinds.items():
        rows = 0
        found[name] = _timed(graph.add, triples)
        came = rows
        found["rows"] = came / len(triples)
        found["deletes"] = _timed(graph.remove, triples)
        if rows != 2 * came:
            raise AssertionError("what adds brought has not gone with the deletes")
    start = process_time()
    for subscription in opened[:few]:
        subscription.close()
    found["close"] = (process_time() - start) / few * 1e6
    gc.enable()
    gc.unfreeze()
    return found


def _timed(change: Callable[[Triple], object], triples: list[Triple]) -> float:
    start = process_time()
    for triple in triples:
        change(triple)
    return (process_time() - start) / len(triples) * 1e6
