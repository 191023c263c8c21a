"""(b) What subscriptions cost the writer: `graph.add` beside the bare store."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from time import process_time
from typing import Any, Final

from rdflib import Graph, Literal, URIRef

import rdflive
from bench.clock import middle, quiet, ratio
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import FULL, Sizes
from bench.stream import SEED
from bench.worlds import EX, STORES

CHUNKS = 20
"""Pieces per repeat after which the variants take turns."""

SUBJECTS = 1_000
"""Subjects of the triples that are added above one pattern; each has one other triple, for joins."""
WAYS: Final = {
    "a match": ("SELECT * { ?s :p ?o }", ""),
    "a match, FILTER(?o > 5)": ("SELECT * { ?s :p ?o FILTER(?o > 5) }", "a match"),
    "a match, FILTER(?o != 5)": ("SELECT * { ?s :p ?o FILTER(?o != 5) }", "a match"),
    "a match, BIND(?o + 1 AS ?x)": ("SELECT * { ?s :p ?o BIND(?o + 1 AS ?x) }", "a match"),
    "a match, DISTINCT ?o": ("SELECT DISTINCT ?o { ?s :p ?o }", "a match"),
    "a match, COUNT per ?s": ("SELECT ?s (COUNT(?o) AS ?n) { ?s :p ?o } GROUP BY ?s", "a match"),
    "a match, SUM per ?s": ("SELECT ?s (SUM(?o) AS ?n) { ?s :p ?o } GROUP BY ?s", "a match"),
    "a match, MAX per ?s": ("SELECT ?s (MAX(?o) AS ?n) { ?s :p ?o } GROUP BY ?s", "a match"),
    "a match, OPTIONAL without one": ("SELECT * { ?s :p ?o OPTIONAL { ?s :r ?x } }", "a match"),
    "join of two": ("SELECT * { ?s :p ?o ; :q ?x }", ""),
    "join of two, FILTER(?o > 5)": ("SELECT * { ?s :p ?o ; :q ?x FILTER(?o > 5) }", "join of two"),
    "join of two, COUNT per ?x": (
        "SELECT ?x (COUNT(?o) AS ?n) { ?s :p ?o ; :q ?x } GROUP BY ?x", "join of two",
    ),
}  # fmt: skip
"""Queries of which each add brings one solution, and which of the others each is compared with."""

Triples = list[Any]

_BARE = f"none, {SUBJECTS:,} subjects"
_SHOWN = ("none", f"{FULL.silent:,} without a match", "1 that matches each triple, counting callback")
_OPERATORS = (_BARE, "a match", "a match, FILTER(?o > 5)", "a match, COUNT per ?s", "a match, SUM per ?s")
"""What the page shows, of graphs of rdflib and of `LiveStore`."""
PAGE = Page(
    "b",
    "graph.add, 50,000 fresh triples per repeat, one predicate",
    "Graphs take turns at `add`: without a subscription, with subscriptions that do not match, and with "
    "one that matches.",
    "The last column divides by the same store without a subscription.",
    "store subscriptions micros ratio",
    lambda row: row["subscriptions"] in (_OPERATORS if row["store"] == "LiveStore" else _SHOWN),
)


def run(sizes: Sizes) -> Section:
    """Add the same fresh triples to graphs that differ in their subscriptions only."""
    section = Section(
        "adds",
        f"graph.add, {sizes.adds:,} fresh triples per repeat, one predicate",
        sizes.adds,
        "store | subscriptions | micros: µs per add | ratio: of the bare store | "
        "above: of the same query up to the comma",
        repeat=sizes.repeat,
    )
    for store in STORES:
        section.rows += _store(store, sizes)
    few = replace(sizes, adds=sizes.adds // 5)  # there are more graphs
    for store in ("Memory", "LiveStore"):
        section.rows += _ways(store, few)
    section.notes.append(f"Rows with a match or a join are of {few.adds:,} triples per repeat.")
    return section


def _ways(store: str, sizes: Sizes) -> Iterable[dict[str, Cell]]:
    """Add integers to graphs with one query each, which differ in the operators above a match."""
    seen = [0]

    def count(_: rdflive.Delta) -> None:
        seen[0] += 1

    def prepared(query: str) -> Any:
        graph: Any = Graph() if store == "Memory" else rdflive.LiveStore()
        for name in ("p", "r"):
            graph.add(*_terms(store, name, [(SUBJECTS, 9)]))
        for triple in _terms(store, "q", ((i, i % 50) for i in range(SUBJECTS))):
            graph.add(triple)
        kept.append(rdflive.subscribe(graph, f"PREFIX : <{EX}> {query}", count, initial=False))
        return graph

    kept: list[rdflive.Subscription] = []
    graphs = {_BARE: prepared("SELECT * { ?s :r ?o }")} | {
        name: prepared(query) for name, (query, _) in WAYS.items()
    }
    kept.pop(0).close()

    def fresh(number: int, size: int) -> Triples:
        start = 10 + number * size
        return _terms(store, "p", ((i % SUBJECTS, start + i) for i in range(size)))

    seconds = _measure(graphs, sizes, fresh)
    if seen[0] != len(WAYS) * sizes.adds * sizes.repeat:
        raise AssertionError(f"{store}: {seen[0]} deltas for {len(WAYS)} × {sizes.adds * sizes.repeat} adds")
    for name, found in seconds.items():
        below = WAYS[name][1] if name in WAYS else ""
        row = cells(
            store=store,
            subscriptions=name,
            micros=middle(found) / sizes.adds * 1e6,
            ratio=ratio(found, seconds[_BARE]),
        )
        yield row | ({"above": ratio(found, seconds[below])} if below else {})


def _terms(store: str, predicate: str, numbers: Iterable[tuple[int, int]]) -> Triples:
    """Make triples, or quads, of a numbered subject and an integer."""
    if store == "Memory":
        p = URIRef(EX + predicate)
        return [(URIRef(f"{EX}s{s}"), p, Literal(o)) for s, o in numbers]
    from pyoxigraph import Literal as Term
    from pyoxigraph import NamedNode, Quad

    name = NamedNode(EX + predicate)
    return [Quad(NamedNode(f"{EX}s{s}"), name, Term(o)) for s, o in numbers]


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
        f"{sizes.silent:,} without a match, some with a variable predicate": lambda graph: _silent(
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
    seconds = _measure(graphs, sizes, _fresh)
    total = sizes.adds * sizes.repeat
    if seen[0] != 3 * total or any(len(graph) != total for graph in graphs.values()):
        raise AssertionError(f"{store}: {seen[0]} deltas for 3 × {total} adds")
    del kept
    base = seconds["none"]
    for name, found in seconds.items():
        yield cells(
            store=store, subscriptions=name, micros=middle(found) / sizes.adds * 1e6, ratio=ratio(found, base)
        )


def _measure(
    graphs: dict[str, Any], sizes: Sizes, fresh: Callable[[int, int], Triples]
) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in graphs}
    names = list(graphs)
    for number in range(sizes.repeat):
        triples = fresh(number, sizes.adds)
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


def _add(graph: Any, triples: Triples) -> float:
    add = graph.add
    start = process_time()
    for triple in triples:
        add(triple)
    return process_time() - start


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
