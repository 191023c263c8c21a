"""Long and broad hierarchies of classes and properties, few of which have instances."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
from typing import Any, Final

from rdflib import RDF, RDFS, Graph, URIRef

import rdflive
from bench.clock import timed
from bench.worlds import EX

__all__ = ["measure"]

USED: Final = 50
"""How many classes or properties have an instance."""


def name(kind: str, number: int) -> URIRef:
    return URIRef(f"{EX}{kind}{number}")


def hierarchy(word: URIRef, above: Iterable[int]) -> list[Any]:
    """Put each name below another, with an instance of every so manieth."""
    parents = list(above)
    schema = [(name("C", i), word, name("C", parent)) for i, parent in enumerate(parents)]
    some = range(0, len(parents), max(1, len(parents) // USED))
    if word == RDFS.subClassOf:
        return [*schema, *((name("x", i), RDF.type, name("C", i)) for i in some)]
    return [*schema, *((name("x", i), name("C", i), name("y", i)) for i in some)]


def shapes(size: int) -> Iterable[tuple[str, list[Any], str]]:
    """Give each shape with the query for its top, and that for all."""
    top = f"SELECT * {{ ?x a <{name('C', size)}> }}"
    yield f"chain of {size:,} classes", hierarchy(RDFS.subClassOf, range(1, size + 1)), top
    ring = [*range(1, size), 0]
    yield (
        f"ring of {size:,} classes",
        hierarchy(RDFS.subClassOf, ring),
        f"SELECT * {{ ?x a <{name('C', 0)}> }}",
    )
    # the first is the root, below none but itself
    tree = [0, *((i - 1) // 10 for i in range(1, size * 10))]
    yield (
        f"tree of {size * 10:,} classes",
        hierarchy(RDFS.subClassOf, tree),
        f"SELECT * {{ ?x a <{name('C', 0)}> }}",
    )
    chain = hierarchy(RDFS.subPropertyOf, range(1, size + 1))
    yield f"chain of {size:,} properties", chain, f"SELECT * {{ ?x <{name('C', size)}> ?y }}"


def measure(size: int, repeat: int) -> list[dict[str, Any]]:
    """Time subscribing, and a schema triple in the middle that goes and comes back; medians."""
    rows = []
    for shape, triples, top in shapes(size):
        for what, query in (("its top", top), ("all classes", "SELECT * { ?x a ?c }")):
            if what == "all classes" and "properties" in shape:
                continue
            found: dict[str, list[float]] = {}
            for _ in range(repeat):
                graph = Graph()
                for triple in triples:
                    graph.add(triple)
                seconds, subscription = timed(
                    lambda g=graph, q=query: rdflive.subscribe(g, q, entailment="rdfs")
                )
                found.setdefault("subscribe", []).append(seconds)
                middle = triples[size // 2]
                changes: tuple[tuple[str, Callable[[Any], Any]], ...] = (
                    ("schema delete", graph.remove),
                    ("schema insert", graph.add),
                )
                for change, write in changes:
                    found.setdefault(change, []).append(timed(lambda w=write, t=middle: w(t))[0])
                subscription.close()
            for action, times in found.items():
                row = {"what": f"{shape}, {what}: {action}", "triples": len(triples), "unit": "ms"}
                rows.append({**row, "rdflive": median(times) * 1e3})
    return rows
