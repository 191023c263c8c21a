"""(c) An answer that is fresh after every update: subscriptions beside asking again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Final, TypeAlias

from pyoxigraph import NamedNode, Quad, Store
from rdflib import Graph

import rdflive
from bench.clock import middle, quiet, ratio
from bench.report import Cell, Section
from bench.sizes import Sizes
from bench.stream import SEED
from bench.worlds import EX, STORES, Edge, chain, chain_edge, fill, iri

__all__ = ["run"]

Change: TypeAlias = tuple[int, Edge]
Answer: TypeAlias = Counter[tuple[str, ...]]
NAMES: Final = ("a", "b", "c", "d", "e")


def run(sizes: Sizes) -> Section:
    """Keep two queries fresh over the same changes, by subscription and by evaluation."""
    width = sizes.triples // 2
    edges = chain(sizes.triples, width=width)
    changes = _changes(edges, sizes.changes, width)
    section = Section(
        "fresh",
        f"Answer kept fresh on {sizes.triples:,} triples after each of {sizes.changes:,} matching updates",
        sizes.changes,
        SEED,
        sizes.repeat,
        {
            "query": "query",
            "way": "way",
            "update": "ms per update, the bare update included",
            "fresh": "ms per update without the bare update",
            "measured": "evaluations measured per repeat",
            "over_memory": "× subscription on Memory",
            "over_oxigraph": "× subscription on Oxigraph",
        },
    )
    city = 10 + 4 * width + 7
    for name, end in (("join of 4, no constants", "?e"), ("join of 4, one constant", f"<{EX}{city}>")):
        body = f"?a <{EX}1> ?b . ?b <{EX}2> ?c . ?c <{EX}3> ?d . ?d <{EX}4> {end}"
        section.rows += _compare(name, f"SELECT * {{ {body} }}", edges, changes, sizes)
    section.notes += [
        "Evaluations are spread evenly over the updates; their sum is extrapolated to one after each update. "
        "They list every solution and compare nothing: who needs the difference pays more.",
        "The last two columns compare what freshness costs beside the bare update.",
        "The answers added up from the deltas equal a final evaluation by pyoxigraph and by rdflib.",
    ]
    return section


def _changes(edges: list[Edge], count: int, width: int) -> list[Change]:
    """Make inserts of absent and deletes of present edges, about as many of each."""
    rng = random.Random(SEED)
    present, listed = set(edges), list(edges)
    changes: list[Change] = []
    while len(changes) < count:
        edge = listed[rng.randrange(len(listed))]
        if len(changes) % 2:
            edge = chain_edge(rng, width, rng.randrange(4), 100)
        if (edge in present) == bool(len(changes) % 2):
            continue
        changes.append((-1 if edge in present else 1, edge))
        present ^= {edge}
    return changes


class _Graph:
    """An rdflib graph, with or without a subscription that collects deltas."""

    def __init__(self, store: str, edges: list[Edge], query: str | None) -> None:
        self.graph = fill(store, edges)
        self.deltas: list[rdflive.Delta] = []
        self.solutions = 0
        if query is not None:
            rdflive.subscribe(self.graph, query, self._take)

    def _take(self, delta: rdflive.Delta) -> None:
        self.deltas.append(delta)
        self.solutions += len(delta.added) + len(delta.removed)

    def replay(self, changes: list[Change]) -> float:
        operations = [
            (self.graph.add if sign > 0 else self.graph.remove, (iri(s), iri(p), iri(o)))
            for sign, (s, p, o) in changes
        ]
        start = perf_counter()
        for operation, triple in operations:
            operation(triple)
        return perf_counter() - start

    def answer(self) -> Answer:
        total: Answer = Counter()
        for delta in self.deltas:
            for solutions, weight in ((delta.added, 1), (delta.removed, -1)):
                for solution in solutions:
                    total[tuple(str(term) for term in solution if term is not None)] += weight
        return +total


class _Native:
    """A pyoxigraph store that is asked again."""

    def __init__(self, edges: list[Edge], query: str) -> None:
        self.store = Store()
        self.store.bulk_extend(_quad(edge) for edge in edges)
        self.query = query

    def evaluate(self) -> Answer:
        solutions: Any = self.store.query(self.query)
        names = [v.value for v in solutions.variables]
        return Counter(tuple(s[n].value for n in NAMES if n in names) for s in solutions)

    def replay(self, changes: list[Change], evaluations: int) -> tuple[float, float]:
        """Give the seconds of all updates, and of one evaluation on average."""

        def evaluate() -> None:
            for _ in self.store.query(self.query):  # type: ignore[union-attr]  # a SELECT
                pass

        operations = [
            (self.store.add if sign > 0 else self.store.remove, _quad(edge)) for sign, edge in changes
        ]
        return _asking(operations, evaluate, evaluations)


def _asking(
    operations: list[tuple[Any, Any]], evaluate: Callable[[], None], evaluations: int
) -> tuple[float, float]:
    every = max(1, len(operations) // max(1, evaluations))
    updating = asking = 0.0
    asked = 0
    for number, (operation, item) in enumerate(operations):
        start = perf_counter()
        operation(item)
        written = perf_counter()
        updating += written - start
        if number % every == 0 and asked < evaluations:
            evaluate()
            asking += perf_counter() - written
            asked += 1
    return updating, asking / max(1, asked)


def _quad(edge: Edge) -> Quad:
    s, p, o = (NamedNode(f"{EX}{number}") for number in edge)
    return Quad(s, p, o)


def _inverse(changes: list[Change]) -> list[Change]:
    return [(-sign, edge) for sign, edge in reversed(changes)]


def _compare(
    name: str, query: str, edges: list[Edge], changes: list[Change], sizes: Sizes
) -> Iterator[dict[str, Cell]]:
    bare = {store: _Graph(store, edges, None) for store in STORES}
    live = {store: _Graph(store, edges, query) for store in STORES}
    native = _Native(edges, query)
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
            updates, evaluation = native.replay(changes, sizes.evaluations[0])
        writing.append(updates)
        asking.append(evaluation * len(changes))
        if number == 0:
            _demand_agreement(name, live, native)
            by_rdflib = _evaluate_rdflib(bare["Memory"].graph, query, sizes.evaluations[1], native.evaluate())
        undo = _inverse(changes)
        for graph in (*bare.values(), *live.values()):
            graph.replay(undo)
        native.replay(undo, 0)
    extra = {
        store: [max(k - p, 1e-9) for k, p in zip(kept[store], plain[store], strict=True)] for store in STORES
    }
    per = 1000 / len(changes)
    for store in STORES:
        yield {
            "query": name,
            "way": f"subscription, {store}",
            "update": middle(kept[store]) * per,
            "fresh": middle(extra[store]) * per,
        }
    yield {
        "query": name,
        "way": "query again, pyoxigraph",
        "update": (middle(writing) + middle(asking)) * per,
        "fresh": middle(asking) * per,
        "measured": sizes.evaluations[0],
        "over_memory": ratio(asking, extra["Memory"]),
        "over_oxigraph": ratio(asking, extra["Oxigraph"]),
    }
    total = by_rdflib * len(changes)
    yield {
        "query": name,
        "way": "query again, rdflib",
        "update": (middle(plain["Memory"]) + total) * per,
        "fresh": total * per,
        "measured": sizes.evaluations[1],
        "over_memory": total / middle(extra["Memory"]),
        "over_oxigraph": total / middle(extra["Oxigraph"]),
    }


def _demand_agreement(name: str, live: dict[str, _Graph], native: _Native) -> None:
    expected = native.evaluate()
    for store, graph in live.items():
        if graph.answer() != expected:
            raise AssertionError(f"{name}: the deltas on {store} do not add up to the final evaluation")


def _evaluate_rdflib(graph: Graph, query: str, evaluations: int, expected: Answer) -> float:
    """Give the seconds of one evaluation by rdflib, on the state after all updates."""
    with quiet():
        start = perf_counter()
        for _ in range(evaluations):
            solutions = list(graph.query(query))
        seconds = (perf_counter() - start) / evaluations
    found = graph.query(query)
    names = [str(v) for v in found.vars or ()]
    rows: Any = solutions
    order = [names.index(n) for n in NAMES if n in names]
    if Counter(tuple(str(row[i]) for i in order) for row in rows) != expected:
        raise AssertionError("rdflib and pyoxigraph disagree on the final answer")
    return seconds
