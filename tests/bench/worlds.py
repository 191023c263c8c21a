"""The graphs that are measured: empty ones by store, and a chain of four predicates."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from rdflib import Graph, URIRef

from bench.stream import SEED

__all__ = ["EX", "STORES", "Edge", "chain", "chain_edge", "fill", "iri"]

EX: Final = "http://example.org/"

Edge = tuple[int, int, int]
"""Subject, predicate and object as numbers of IRIs."""


def _oxigraph() -> Graph:
    return Graph(store="Oxigraph")


STORES: Final[dict[str, Callable[[], Graph]]] = {"Memory": Graph, "Oxigraph": _oxigraph}


def iri(number: int | str) -> URIRef:
    """Name a node or predicate."""
    return URIRef(f"{EX}{number}")


def fill(store: str, edges: list[Edge]) -> Graph:
    """Make a graph of these edges, as fast as the store can."""
    graph = STORES[store]()
    if store == "Oxigraph":
        from pyoxigraph import DefaultGraph, NamedNode, Quad

        inner: Any = graph.store
        name = _graph_name(graph)
        inner._inner.bulk_extend(
            Quad(NamedNode(f"{EX}{s}"), NamedNode(f"{EX}{p}"), NamedNode(f"{EX}{o}"), name or DefaultGraph())
            for s, p, o in edges
        )
        return graph
    known: dict[int, URIRef] = {}

    def term(number: int) -> URIRef:
        found = known.get(number)
        return found if found is not None else known.setdefault(number, iri(number))

    for s, p, o in edges:
        graph.add((term(s), term(p), term(o)))
    return graph


def _graph_name(graph: Graph) -> Any:
    """Name a graph as oxrdflib does in the native store."""
    from oxrdflib._converter import to_ox

    return to_ox(graph.identifier)


def chain_edge(rng: random.Random, width: int, level: int, ends: int) -> Edge:
    """Make a random edge of one level of the chain a → b → c → d → e; few e, `width` of the others."""
    s = 10 + level * width + rng.randrange(width)
    o = 10 + (level + 1) * width + rng.randrange(ends if level == 3 else width)
    return s, 1 + level, o


def chain(count: int, *, levels: int = 4, width: int | None = None, seed: int = SEED) -> list[Edge]:
    """Make `count` distinct edges, as many per level; with a larger `width` fewer chains are whole."""
    rng = random.Random(seed)
    width = width or count // levels
    edges: dict[Edge, None] = {}
    while len(edges) < count:
        edges[chain_edge(rng, width, len(edges) % levels, 100)] = None
    return list(edges)
