"""(t) What many standing queries cost: to open, in memory, per change, and to close."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping
from time import process_time
from typing import Any, Final

from rdflib import RDF, Graph, Literal, URIRef
from rdflib.term import Node

import rdflive
from bench.child import apart, resident
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import FULL, Sizes
from bench.worlds import EX

Triple = tuple[Node, Node, Node]
SHAPES: Final = {
    "one pattern": f"SELECT ?x {{ ?x <{EX}p> ?c }}",
    "star": f"SELECT ?s {{ ?x a ?c . ?s <{EX}r> ?x }}",
    "three patterns, filter": (
        f"SELECT ?t ?m {{ ?t <{EX}line> ?c ; <{EX}stop> ?p ; <{EX}r> ?m FILTER(?m > ?d ) }}"
    ),
    "optional, count": f"SELECT (COUNT(?m) AS ?n) {{ ?t <{EX}line> ?c OPTIONAL {{ ?t <{EX}r> ?m }} }}",
}
"""The parameters are ?c, and ?d in the filter."""
DIFFERENT: Final = "different shapes"
FEW: Final = 500
"""How many are opened one by one, and how many adds of a kind are timed."""

PAGE = Page(
    "t",
    "Many queries that differ in constants",
    "A process opens a million subscriptions of one query, each with a constant of its own, or 1,000 of "
    "different shapes; times are CPU times.",
    "Bytes are the growth of the process, with the term and the row of each subscription.",
    "shape open bytes misses reaches",
    lambda row: row["count"] == FULL.standing[-1] or row["shape"] == "different shapes",
)


def run(sizes: Sizes) -> Section:
    """Open ever more subscriptions of a shape in a fresh process each."""
    section = Section(
        "standing",
        f"1 to {sizes.standing[-1]:,} standing queries that differ in constants",
        sizes.standing[-1],
        "shape: query | count: subscriptions | open: µs to open each, in one call | "
        "one: prepared, one by one | text: by the same text | "
        "constants: by a text with other constants | bytes: bytes each (RSS) | "
        "misses: µs per add that misses | shared: µs per add of the shared pattern, for no member | "
        "reaches: µs per add that reaches one | close: µs to close",
    )
    for shape in (*SHAPES, DIFFERENT):
        for count in sizes.standing if shape != DIFFERENT else sizes.standing[1:2]:
            found = apart(_measure, shape=shape, count=count)
            section.add(shape=shape, count=count, **found)
    return section


def _asked(shape: str, number: int | str) -> dict[str, Node]:
    asked: dict[str, Node] = {"c": URIRef(f"{EX}c{number}")}
    if "?d" in SHAPES[shape]:
        asked["d"] = Literal(number if isinstance(number, int) else 5)
    return asked


def _spelled(shape: str, number: int | str) -> str:
    text = SHAPES[shape]
    for name, term in _asked(shape, number).items():
        text = text.replace(f"?{name} ", f"{term.n3()} ")
    return text


def _open(graph: Graph, shape: str, count: int) -> Iterable[rdflive.Subscription]:
    if shape == DIFFERENT:
        texts = (f"SELECT ?x {{ ?x <{EX}p{i}> <{EX}c> . ?x <{EX}r> ?y }}" for i in range(count))
        return [rdflive.subscribe(graph, text, _ignore) for text in texts]
    rows = (_asked(shape, i) for i in range(count))
    return rdflive.prepare(SHAPES[shape]).subscribe(graph, _ignore, rows)


def _adds(shape: str, count: int) -> Mapping[str, tuple[list[Triple], Callable[[int], Triple]]]:
    """Give for each kind of add what must be there before, and the triples."""
    own = URIRef(f"{EX}c{count - 1}")
    p, r = URIRef(f"{EX}p"), URIRef(f"{EX}r")
    subjects = [URIRef(f"{EX}s{i}") for i in range(FEW)]
    other = URIRef(f"{EX}other")
    lines = {"star": RDF.type, "one pattern": p}.get(shape, URIRef(f"{EX}line"))
    known: list[Triple] = [(s, lines, own) for s in subjects] + [
        (s, URIRef(f"{EX}stop"), own) for s in subjects
    ]
    many = Literal(10**9)
    reaching: dict[str, Callable[[int], Triple]] = {
        "one pattern": lambda i: (subjects[i], p, own),
        "star": lambda i: (other, r, subjects[i]),
        DIFFERENT: lambda i: (subjects[i], URIRef(f"{EX}p{count - 1}"), URIRef(f"{EX}c")),
    }
    if shape == DIFFERENT:
        known = [(s, r, own) for s in subjects]
    elif shape == "one pattern":
        known = []
    return cells(
        misses=([], lambda i: (subjects[i], URIRef(f"{EX}unasked"), other)),
        shared=([], lambda i: (other, p if shape == "one pattern" else r, Literal(-1 - i))),
        reaches=(known, reaching.get(shape, lambda i: (subjects[i], r, many))),
    )


def _measure(shape: str, count: int) -> dict[str, Cell]:
    graph = Graph()
    # what a query names is there, or it would be looked for each time
    for name in ("p", "r", "line", "stop"):
        graph.add((URIRef(f"{EX}there"), URIRef(f"{EX}{name}"), URIRef(f"{EX}there")))
    _open(graph, shape, 1)  # parses what is parsed once
    gc.collect()
    before, start = resident(), process_time()
    opened = list(_open(graph, shape, count))
    found: dict[str, Cell] = {"open": (process_time() - start) / count * 1e6}
    gc.collect()
    found["bytes"] = max(0, resident() - before) / count
    gc.disable()
    for name, (known, triple) in _adds(shape, count).items():
        for each in known:
            graph.add(each)
        triples = [triple(i) for i in range(FEW)]
        start = process_time()
        for each in triples:
            graph.add(each)
        found[name] = (process_time() - start) / FEW * 1e6
        for each in (*triples, *known):
            graph.remove(each)
    if shape != DIFFERENT:
        prepared = rdflive.prepare(SHAPES[shape])
        text = _spelled(shape, "same")
        ways: dict[str, Callable[[int], Any]] = cells(
            one=lambda i: prepared.subscribe(graph, _ignore, _asked(shape, f"one{i}")),
            text=lambda i: rdflive.subscribe(graph, text, _ignore),
            constants=lambda i: rdflive.subscribe(graph, _spelled(shape, f"text{i}"), _ignore),
        )
        for name, way in ways.items():
            kept = [way(-1)]
            start = process_time()
            kept += [way(i) for i in range(FEW)]
            found[name] = (process_time() - start) / FEW * 1e6
    start = process_time()
    for subscription in opened[:FEW]:
        subscription.close()
    found["close"] = (process_time() - start) / min(FEW, count) * 1e6
    gc.enable()
    return found


def _ignore(delta: rdflive.Delta) -> None:
    """Take a delta and do nothing."""
