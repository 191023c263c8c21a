"""(b) What subscriptions cost whoever writes: `graph.add` beside the bare store."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from time import perf_counter

import rdflib
from rdflib import Graph, Literal, URIRef

import rdflive
from bench.clock import middle, quiet, ratio
from bench.report import Cell, Section, cells
from bench.sizes import Sizes
from bench.stream import SEED
from bench.worlds import EX, STORES

CHUNKS = 20
"""Pieces per repeat after which the variants take turns."""

Triples = list[tuple[rdflib.term.Node, rdflib.term.Node, rdflib.term.Node]]


def run(sizes: Sizes) -> Section:
    """Add the same fresh triples to graphs that differ in their subscriptions only."""
    section = Section(
        "adds",
        f"graph.add, {sizes.adds:,} fresh triples per repeat, one predicate",
        sizes.adds,
        "store | subscriptions | micros: µs per add | ratio: of the bare store",
        repeat=sizes.repeat,
    )
    for store in STORES:
        section.rows += _store(store, sizes)
    return section


def _store(store: str, sizes: Sizes) -> Iterable[dict[str, Cell]]:
    seen = [0]

    def count(delta: rdflive.Delta) -> None:
        seen[0] += len(delta.added)

    def read_attributes(delta: rdflive.Delta) -> None:
        for row in delta.added:
            seen[0] += row.s is not row.o

    def read_names(delta: rdflive.Delta) -> None:
        for row in delta.added:
            seen[0] += row["s"] is not row["o"]

    matching = f"SELECT * {{ ?s <{EX}p> ?o }}"
    variants: dict[str, Callable[[Graph], object]] = {
        "none": lambda graph: None,
        "1 without a match": lambda graph: _silent(graph, 1, ("object",)),
        f"{sizes.silent:,} without a match": lambda graph: _silent(
            graph, sizes.silent, ("object", "predicate", "subject", "predicate")
        ),
        f"{sizes.silent:,} without a match, some of any predicate": lambda graph: _silent(
            graph, sizes.silent, ("object", "predicate", "subject", "any predicate")
        ),
        "1 that stores each triple (star of 2), no delta": lambda graph: rdflive.subscribe(
            graph, f"SELECT * {{ ?s <{EX}p> ?o . ?s <{EX}never> ?x }}", count
        ),
        "1 that matches each triple, counting callback": lambda graph: rdflive.subscribe(
            graph, matching, count
        ),
        "1 that matches each triple, reads row.s": lambda graph: rdflive.subscribe(
            graph, matching, read_attributes
        ),
        "1 that matches each triple, reads row['s']": lambda graph: rdflive.subscribe(
            graph, matching, read_names
        ),
    }
    graphs = {name: STORES[store]() for name in variants}
    kept = [prepare(graphs[name]) for name, prepare in variants.items()]
    seconds = _measure(graphs, sizes)
    total = sizes.adds * sizes.repeat
    if seen[0] != 3 * total or any(len(graph) != total for graph in graphs.values()):
        raise AssertionError(f"{store}: {seen[0]} deltas for 3 × {total} adds")
    del kept
    base = seconds["none"]
    for name, found in seconds.items():
        yield cells(
            store=store, subscriptions=name, micros=middle(found) / sizes.adds * 1e6, ratio=ratio(found, base)
        )


def _measure(graphs: dict[str, Graph], sizes: Sizes) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in graphs}
    names = list(graphs)
    for number in range(sizes.repeat):
        triples = _fresh(number, sizes.adds)
        size = max(1, sizes.adds // CHUNKS)
        spent = dict.fromkeys(graphs, 0.0)
        with quiet():
            for turn, start in enumerate(range(0, sizes.adds, size)):
                chunk = triples[start : start + size]
                place = turn % len(names)
                for name in names[place:] + names[:place]:
                    spent[name] += _add(graphs[name], chunk)
        for name, found in spent.items():
            seconds[name].append(found)
    return seconds


def _add(graph: Graph, triples: Triples) -> float:
    add = graph.add
    start = perf_counter()
    for triple in triples:
        add(triple)
    return perf_counter() - start


def _fresh(number: int, count: int) -> Triples:
    """Make triples that no earlier repeat had: many subjects, objects IRIs and literals."""
    rng = random.Random(SEED + number)
    predicate = URIRef(f"{EX}p")
    return [
        (
            URIRef(f"{EX}s{rng.randrange(count)}"),
            predicate,
            Literal(f"{number} {i}") if i % 2 else URIRef(f"{EX}o{number}/{i}"),
        )
        for i in range(count)
    ]


def _silent(graph: Graph, count: int, shapes: tuple[str, ...]) -> list[rdflive.Subscription]:
    queries = {
        "object": "SELECT ?s {{ ?s <{e}p> <{e}other{i}> }}",
        "subject": "SELECT ?o {{ <{e}other{i}> <{e}p> ?o }}",
        "predicate": "SELECT * {{ ?s <{e}other{i}> ?o }}",
        "any predicate": "SELECT * {{ <{e}other{i}> ?p ?o }}",
    }
    return [
        rdflive.subscribe(graph, queries[shapes[i % len(shapes)]].format(e=EX, i=i), _never)
        for i in range(count)
    ]


def _never(delta: rdflive.Delta) -> None:
    if not delta.initial:
        raise AssertionError("a silent subscription was called")
