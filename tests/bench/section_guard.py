"""(w) Guards: what an add costs that a guard permits, checks or refuses."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from rdflib import RDF, Graph, Literal, URIRef
from rdflib.term import Node

import rdflive
from bench.clock import quiet
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.section_validate import RDF4J, shacl_sail
from bench.sizes import Sizes
from bench.validate_data import VERSION, Case, buildings
from bench.worlds import EX

STORES: Final = ("Memory", "Oxigraph", "Oxigraph on disk")
SHAPES: Final = f"""
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <{EX}> .
:Sensor a sh:NodeShape ; sh:targetClass :Device ;
  sh:property [ sh:path :room ; sh:minCount 1 ] , [ sh:path :value ; sh:datatype xsd:integer ] .
"""
DEVICES: Final = 1_000
CHUNKS: Final = 20
"""Pieces after which the ways take turns."""
BRICK: Final = {
    "untouched": "an add that no shape reads",
    "point": "a sensor more",
    "link": "a relation more",
    "broken": "a relation that breaks a shape, refused",
}

Make = Callable[[int], tuple[Node, URIRef, Node]]

_SHOWN = (
    "guarded add that no shape reads", "guarded add that a shape reads",
    "Brick: a sensor more", "Brick: a relation that breaks a shape, refused",
)  # fmt: skip
"""What the page shows."""
PAGE = Page(
    "w",
    "Guarded adds",
    "Triples are added one by one to guarded graphs, and to a building that Brick's shapes guard.",
    "An add that no shape reads costs as much as with a subscription in place of the guard; ShaclSail is "
    "RDF4J's.",
    "store what micros over_bare",
    lambda row: (
        row["what"] in _SHOWN and (row["store"] in ("Memory", "ShaclSail") or "Brick" not in row["what"])
    ),
)


def run(sizes: Sizes) -> Section:
    """Add the same triples to graphs that are bare, watched and guarded, and to guarded buildings."""
    section = Section(
        "guard",
        f"Guards: adds one by one, and to buildings by the shapes of Brick {VERSION}",
        sizes.guarded,
        "store | what | micros: µs, median | tail: µs, 99th percentile | over_bare: of the bare add | "
        "over_watched: of the watched add",
    )
    for store in STORES:
        section.rows += _adds(store, sizes.guarded)
    if find_spec("brickschema") is None:
        section.notes.append("brickschema is not installed, so no building was guarded.")
    elif sizes.buildings:
        case = buildings(1)
        for store in STORES:
            section.rows += _brick(store, case, sizes.guarded)
        if os.environ.get(RDF4J):
            found = shacl_sail("buildings", 1, longest=sizes.longest) or {}
            section.rows += [
                {"store": "ShaclSail", "what": f"Brick: {what}", "micros": found[kind] * 1e6}
                for kind, what in BRICK.items()
                if kind in found
            ]
    if not os.environ.get(RDF4J):
        section.notes.append(f"No ShaclSail: {RDF4J} names no folder with RDF4J.")
    return section


@contextmanager
def _graph(store: str) -> Iterator[Graph]:
    graph = Graph(store=store.split()[0])
    if "disk" not in store:
        yield graph
        return
    with tempfile.TemporaryDirectory() as folder:
        graph.open(str(Path(folder) / "store"))
        yield graph
        graph.close()


def _adds(store: str, count: int) -> Iterator[dict[str, Cell]]:
    """Add to bare, watched and guarded graphs; the last are compared to the first two."""
    never, query = Literal("never"), f"SELECT ?s {{ ?s <{EX}never> ?o }}"
    note, value = URIRef(f"{EX}note"), URIRef(f"{EX}value")
    watch: Callable[[Graph], Any] = lambda graph: rdflive.subscribe(graph, query, print, initial=False)  # noqa: E731
    guard: Callable[[Graph], Any] = lambda graph: rdflive.guard(graph, SHAPES)  # noqa: E731
    aside: Make = lambda n: (_device(n), note, Literal(n))  # noqa: E731
    ways: dict[str, tuple[Callable[[Graph], Any], Make]] = {
        "bare add": (lambda graph: None, aside),
        "watched add": (watch, aside),
        "guarded add that no shape reads": (guard, aside),
        "guarded add that a shape reads": (guard, lambda n: (_device(n), value, Literal(n))),
        "guarded add that is refused": (guard, lambda n: (_device(n), value, Literal(f"{never} {n}"))),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    with ExitStack() as stack:
        graphs = {way: stack.enter_context(_graph(store)) for way in ways}
        kept = []
        for way, (prepare, _) in ways.items():
            for number in range(DEVICES):
                graphs[way].add((_device(number), RDF.type, URIRef(f"{EX}Device")))
                graphs[way].add((_device(number), URIRef(f"{EX}room"), _device(number + 1)))
            kept.append(prepare(graphs[way]))
        with quiet():
            for start in range(0, count, max(1, count // CHUNKS)):
                for way, (_, make) in ways.items():
                    numbers = range(start, min(count, start + max(1, count // CHUNKS)))
                    times[way] += _timed(graphs[way], [make(number) for number in numbers])
        for way, graph in graphs.items():
            if len(graph) != 2 * DEVICES + count * ("refused" not in way):
                raise AssertionError(f"{store}: {way}: {len(graph)} triples")
        for each in filter(None, kept):
            each.close()
    yield from _rows(store, times)


def _device(number: int) -> URIRef:
    return URIRef(f"{EX}d{number % DEVICES}")


def _brick(store: str, case: Case, count: int) -> Iterator[dict[str, Cell]]:
    times: dict[str, list[float]] = {}
    with _graph(store) as graph:
        graph.addN((*each, graph) for each in case.data)
        with rdflive.guard(graph, case.shapes):
            for kind, what in BRICK.items():
                triples = [triple for batch in case.changes[kind] for _, triple in batch][:count]
                with quiet():
                    times[f"Brick: {what}"] = _timed(graph, triples)
    yield from _rows(store, times)


def _rows(store: str, times: dict[str, list[float]]) -> Iterator[dict[str, Cell]]:
    compared = {
        key: median(times[way])
        for key, way in (("over_bare", "bare add"), ("over_watched", "watched add"))
        if way in times
    }
    for way, found in times.items():
        yield cells(
            store=store,
            what=way,
            micros=median(found) * 1e6,
            tail=sorted(found)[len(found) * 99 // 100] * 1e6,
            **{key: median(found) / base for key, base in compared.items()},
        )


def _timed(graph: Graph, triples: list[Any]) -> list[float]:
    """Return the seconds of each add; the first tenth are not timed."""
    seconds = []
    for triple in triples:
        start = perf_counter()
        with suppress(rdflive.ValidationError):
            graph.add(triple)
        seconds.append(perf_counter() - start)
    return seconds[len(seconds) // 10 :]
