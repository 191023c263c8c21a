"""(o) What a slide of a window costs, by how much changes and by how much the window contains."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from itertools import count
from statistics import median
from typing import Any, Final

import rdflib
from pyoxigraph import Store
from rdflib import URIRef

import rdflive
from bench.again import to_quad
from bench.child import apart
from bench.clock import timed
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import FULL, Sizes

EX: Final = "urn:example:"
CHANGES: Final = (10, 100, 1000)
"""Triples that come, and that go, at a slide."""
SLIDES: Final = 20
KINDS: Final = 100
"""The background says of each object of which of these kinds it is; the joined query asks for one."""
OBJECTS: Final = 1000
QUERIES: Final = {
    "plain": f"SELECT * {{ ?s <{EX}p> <{EX}o7> }}",
    "joined with a background": f"SELECT * {{ ?s <{EX}p> ?o . ?o <{EX}kind> <{EX}k7> }}",
    "counted in 1,000 groups": f"SELECT ?o (COUNT(?s) AS ?n) {{ ?s <{EX}p> ?o }} GROUP BY ?o",
}
SHARED: Final = 4
"""Windows of different ranges that look at one stream, or each at its own."""

PAGE = Page(
    "o",
    "A slide of a window, by how much changes and by how much it holds",
    "A window of 200,000 triples slides, with a subscribed query or with one that Oxigraph evaluates on a "
    "store that the program maintains.",
    "Below 1 the store is faster.",
    "what changed rdflive kept ratio_kept",
    lambda row: (
        row["what"].startswith("continuous") and row["held"] == FULL.windows[1] and row["changed"] != 100
    ),
)


def run(sizes: Sizes) -> Section:
    """Measure every size in a process of its own."""
    section = Section(
        "windows",
        "Windows over a stream: time per slide",
        max(sizes.windows),
        "what | held: triples in the window | changed: triples that come, and that go | "
        "rdflive: rdflive, ms | each: µs per triple that comes | "
        "kept: store maintained and queried, ms | rebuilt: store rebuilt and queried, ms | "
        "ratio_kept: times as fast as the maintained store | "
        "ratio_rebuilt: as the rebuilt store | memory: MB",
        repeat=SLIDES,
    )
    for held in sizes.windows:
        section.rows += apart(_measure, held=held)
    return section


def _triples() -> Iterator[tuple[URIRef, URIRef, URIRef]]:
    for number in count():
        yield URIRef(f"{EX}s{number}"), URIRef(EX + "p"), URIRef(f"{EX}o{number % OBJECTS}")


def _background() -> rdflib.Graph:
    graph = rdflib.Graph()
    for number in range(OBJECTS):
        graph.add((URIRef(f"{EX}o{number}"), URIRef(EX + "kind"), URIRef(f"{EX}k{number % KINDS}")))
    return graph


def _parts(held: int, changed: int) -> tuple[list[Any], list[list[Any]]]:
    """Give the elements that fill a window, with their instants, and those of the slides after it.

    The oldest are as small as those of the slides in which they expire; the rest comes at once.
    """
    triples = _triples()
    slides = min(SLIDES, held // changed // 2)
    filling = [(at, [next(triples) for _ in range(changed)]) for at in range(1, slides + 1)]
    filling.append((slides + 1, [next(triples) for _ in range(held - slides * changed)]))
    return filling, [[next(triples) for _ in range(changed)] for _ in range(slides)]


class _Window:
    """A stream that is seen through a window which is full."""

    def __init__(self, query: str, held: int, changed: int, step: int | None) -> None:
        graph = _background() if "kind" in query else None
        self.stream = rdflive.Stream(graph)
        self.weight = 0
        filling, self.coming = _parts(held, changed)
        self.now = size = len(self.coming) + 1
        self.stepped = step is not None
        window = rdflive.Sliding(size, step)
        self.subscription = rdflive.subscribe(self.stream, query, self._take, window=window)
        for at, triples in filling:
            self.stream.add(triples, at=at)
        self.stream.advance_to(self.now)

    def _take(self, delta: rdflive.Delta) -> None:
        self.weight += len(delta.added) - len(delta.removed)

    def slide(self, triples: list[Any]) -> None:
        """Add the new triples, and let the old ones expire."""
        self.now += 1
        self.stream.add(triples, at=self.now)
        if self.stepped:
            self.stream.advance_to(self.now)


class _Store:
    """The triples of a window, in a store that is queried."""

    def __init__(self, query: str, held: int, changed: int) -> None:
        self.query = query
        filling, coming = _parts(held, changed)
        self.going = [list(map(to_quad, triples)) for _, triples in filling[:-1]]
        self.coming = [list(map(to_quad, triples)) for triples in coming]
        held_first = [triple for _, triples in filling for triple in triples]
        self.all = list(map(to_quad, [*(_background() if "kind" in query else ()), *held_first]))
        self.store = Store()
        self.store.bulk_extend(self.all)

    def slide(self, number: int) -> int:
        """Keep the store up to date, and ask."""
        for quad in self.going[number]:
            self.store.remove(quad)
        self.store.extend(self.coming[number])
        return sum(1 for _ in self.store.query(self.query))

    def rebuild(self) -> int:
        """Fill a new store, and query it."""
        store = Store()
        store.bulk_extend(self.all)
        return len(list(store.query(self.query)))


def _row(what: str, held: int, changed: int, step: int | None) -> dict[str, Cell]:
    window, store = _Window(QUERIES[what], held, changed, step), _Store(QUERIES[what], held, changed)
    gc.collect()
    gc.freeze()
    ours, kept = [], []
    for number, triples in enumerate(window.coming):
        ours.append(timed(lambda triples=triples: window.slide(triples))[0])
        seconds, answers = timed(lambda number=number: store.slide(number))
        kept.append(seconds)
        if answers != window.weight:
            raise AssertionError(f"{answers} answers by the store, {window.weight} by rdflive: {what}")
    rebuilt, _ = timed(store.rebuild)
    window.subscription.close()
    gc.unfreeze()
    own = median(ours)
    return cells(
        what=f"{'continuous' if step is None else 'stepped'}, {what}",
        held=held,
        changed=changed,
        rdflive=own * 1e3,
        each=own / changed * 1e6,
        kept=median(kept) * 1e3,
        rebuilt=rebuilt * 1e3,
        ratio_kept=median(kept) / own,
        ratio_rebuilt=rebuilt / own,
    )


def _shared(held: int, changed: int, *, streams: int) -> dict[str, Cell]:
    """Measure windows of four ranges over one stream, or over four."""
    filling, coming = _parts(held, changed)
    size = len(coming) + 1
    tracemalloc.start()
    made = [rdflive.Stream() for _ in range(streams)]
    for number in range(SHARED):
        window = rdflive.Sliding(max(1, size * (number + 1) // SHARED))
        stream = made[number % streams]
        rdflive.subscribe(stream, QUERIES["plain"], lambda _: None, window=window)
    for at, triples in filling:
        for stream in made:
            stream.add(triples, at=at)
    memory = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    seconds = []
    for at, triples in enumerate(coming, size + 1):

        def slide(at: int = at, triples: list[Any] = triples) -> None:
            for stream in made:
                stream.add(triples, at=at)

        seconds.append(timed(slide)[0])
    return cells(
        what=f"{SHARED} windows over {'one stream' if streams == 1 else f'{streams} streams'}",
        held=held,
        changed=changed,
        rdflive=median(seconds) * 1e3,
        each=median(seconds) / changed * 1e6,
        memory=memory / 1e6,
    )


def _measure(held: int) -> list[dict[str, Cell]]:
    changes = [changed for changed in CHANGES if changed <= held // 4]
    rows = [_row(what, held, changed, step) for what in QUERIES for step in (None, 1) for changed in changes]
    rows += [_shared(held, changes[-1], streams=streams) for streams in (1, SHARED)]
    return rows
