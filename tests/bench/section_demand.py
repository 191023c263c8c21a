"""(ae) Queries about one thing, in graphs of several kinds and sizes, beside Oxigraph."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from time import process_time
from typing import Any, Final

from rdflib import Graph, URIRef

import rdflive
from bench.child import apart
from bench.clock import middle, quiet, timed
from bench.demands import WORLDS, Asked, Triple
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import FULL, Sizes
from bench.worlds import EX

__all__ = ["run"]

ROUNDS: Final = 200
"""Adds of each kind in one measurement, each taken back."""
_LARGE: Final = 1_500_000
"""Triples up to which a graph is held by rdflib too, and patterns whole for comparison."""
BARE: Final = "unasked"
"""A predicate that no query has."""

PAGE = Page(
    "ae",
    "Queries about one thing, in graphs of 100,000 to 10,000,000 triples",
    "A query about one thing opens on a `LiveStore` of 8 to 10 million triples; pyoxigraph lists the same "
    "answer once.",
    "Opening depends on the answer and not on the graph.",
    "query open once share relevant",
    lambda row: row["store"] == "LiveStore" and row["triples"] > FULL.demand[-1] // 2,
)


def run(sizes: Sizes) -> Section:
    """Subscribe to each query, in a process for each graph."""
    section = Section(
        "demand",
        "Queries about one thing: a subscription, and pyoxigraph once and after each change",
        sizes.demand[-1],
        "store | triples | query | rows | used: triples of solutions | entries | over: entries / used | "
        "size: kB of containers | open: ms to subscribe, with the answer | once: ms, pyoxigraph once | "
        "times: subscribe / pyoxigraph | whole: ms to subscribe, patterns whole | "
        "irrelevant: µs per irrelevant add | miss: µs per add that no query reads | "
        "share: irrelevant / miss | "
        "relevant: µs per relevant add and remove | again: µs per add and pyoxigraph after it | close: ms",
        repeat=sizes.repeat,
    )
    for store in ("Memory", "LiveStore"):
        for count in sizes.demand:
            for world in WORLDS if store == "LiveStore" or count <= _LARGE else ():
                section.rows += apart(_measure, store=store, count=count, world=world, repeat=sizes.repeat)
    return section


class _Graph:
    """A graph of rdflib or a `LiveStore`, and the same triples in a bare store of Oxigraph."""

    def __init__(self, store: str, triples: Iterable[Triple]) -> None:
        import pyoxigraph as ox

        self._ox = ox
        self.is_native = store == "LiveStore"
        self.bare = ox.Store()
        self.graph: Any = rdflive.LiveStore(self.bare) if self.is_native else Graph()
        quads = [self.quad(triple) for triple in dict.fromkeys(triples)]
        self.bare.bulk_extend(quads)
        self.count = len(quads)
        if not self.is_native:
            for quad in quads:
                self.graph.add(tuple(URIRef(term.value) for term in quad.triple))

    def native(self, triple: Triple) -> Any:
        """Give the terms of pyoxigraph."""
        return tuple(self._ox.NamedNode(EX + name) for name in triple)

    def quad(self, triple: Triple) -> Any:
        """Give what a store of pyoxigraph takes."""
        return self._ox.Quad(*self.native(triple))

    def triple(self, triple: Triple) -> Any:
        """Give what `add` takes."""
        if self.is_native:
            return self.quad(triple)
        return tuple(URIRef(EX + name) for name in triple)

    def used(self, asked: Asked) -> int:
        """Count the triples that solutions are made of."""
        patterns = asked.used.replace("OPTIONAL", "").replace("{", ".").replace("}", ".")
        template = _written_out(patterns)
        text = f"PREFIX : <{EX}> CONSTRUCT {{ {template} }} WHERE {{ {asked.used} }}"
        return len(set(self.bare.query(text)))


def _written_out(patterns: str) -> str:
    """Leave out paths, which a template cannot have, and dots without a pattern."""
    parts = [part.strip() for part in patterns.split(" .")]
    return " . ".join(part.strip(". ") for part in parts if part.strip(". ") and "*" not in part)


def _measure(store: str, count: int, world: str, repeat: int) -> list[dict[str, Cell]]:
    kind = WORLDS[world]
    graph = _Graph(store, kind.triples(count))
    gc.freeze()  # else each collection would go through all of its terms
    warm = kind.queries[0]
    rdflive.subscribe(
        graph.graph, warm.text.replace("1 ", "2 "), _ignore
    ).close()  # loads what is loaded once
    # a path to most of a very large graph is not about one thing
    queries = [asked for asked in kind.queries if asked.few or graph.count <= _LARGE]
    return [_row(graph, store, world, asked, repeat) for asked in queries]


def _row(graph: _Graph, store: str, world: str, asked: Asked, repeat: int) -> dict[str, Cell]:
    opened: list[float] = []
    once: list[float] = []
    whole: list[float] = []
    closed: list[float] = []
    rows = 0
    for _ in range(repeat):
        seconds, solutions = timed(lambda: list(graph.bare.query(asked.text)), process_time)
        once.append(seconds)
        rows = len(solutions)
        gc.collect()
        seconds, subscription = timed(
            lambda: rdflive.subscribe(graph.graph, asked.text, _ignore), process_time
        )
        opened.append(seconds)
        if len(subscription.answers()) != rows:
            raise AssertionError(f"{asked.name} has {rows} rows, not {len(subscription.answers())}")
        seconds, _ = timed(subscription.close, process_time)
        closed.append(seconds)
        if graph.count <= _LARGE:
            gc.collect()
            seconds, subscription = timed(
                lambda: rdflive.subscribe(graph.graph, asked.text, _ignore, algorithm="whole"), process_time
            )
            whole.append(seconds)
            subscription.close()
    if graph.quad(asked.relevant) in graph.bare:
        raise AssertionError(f"{asked.relevant} is there already")
    predicate, other = WORLDS[world].irrelevant
    subscription = rdflive.subscribe(graph.graph, asked.text, _ignore)
    stats = subscription.stats
    misses = [(f"x{i}", BARE, other) for i in range(ROUNDS)]
    irrelevant = [(f"x{i}", predicate, other) for i in range(ROUNDS)]
    adds: dict[str, list[float]] = {"miss": [], "irrelevant": [], "relevant": []}
    for _ in range(repeat):
        adds["miss"].append(_adds(graph, misses))
        adds["irrelevant"].append(_adds(graph, irrelevant))
    # last, for a pattern whose values come and go so often may be held whole then
    for _ in range(repeat):
        # a path to most of the graph may take seconds
        adds["relevant"].append(_toggles(graph, asked.relevant, ROUNDS if asked.few else 3))
    figures = {name: middle(seconds) * 1e6 for name, seconds in adds.items() if seconds}
    subscription.close()
    used = graph.used(asked)
    return cells(
        store=store,
        triples=graph.count,
        query=f"{world}: {asked.name}",
        rows=rows,
        used=used,
        entries=stats.entries,
        over=stats.entries / max(used, 1),
        size=stats.size / 1000,
        open=middle(opened) * 1e3,
        once=middle(once) * 1e3,
        times=middle(opened) / middle(once),
        whole=middle(whole) * 1e3 if whole else None,
        share=figures["irrelevant"] / figures["miss"],
        again=_again(graph, asked) * 1e6,
        close=middle(closed) * 1e3,
        **figures,
    )


def _adds(graph: _Graph, triples: list[Triple]) -> float:
    """Give the seconds per add; the triples are taken back."""
    made = [graph.triple(triple) for triple in triples]
    with quiet():
        start = process_time()
        for triple in made:
            graph.graph.add(triple)
        seconds = process_time() - start
    for triple in made:
        graph.graph.remove(triple)
    return seconds / len(made)


def _toggles(graph: _Graph, triple: Triple, rounds: int) -> float:
    made = graph.triple(triple)
    with quiet():
        start = process_time()
        for _ in range(rounds):
            graph.graph.add(made)
            graph.graph.remove(made)
        return (process_time() - start) / rounds


def _again(graph: _Graph, asked: Asked) -> float:
    """Add to the bare store and ask after it, a few times."""
    quad = graph.quad(asked.relevant)
    times = 5
    start = process_time()
    for _ in range(times):
        graph.bare.add(quad)
        list(graph.bare.query(asked.text))
        graph.bare.remove(quad)
    return (process_time() - start) / times


def _ignore(delta: rdflive.Delta) -> None:
    """Take a delta."""
