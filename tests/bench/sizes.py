"""How much is measured: the full sizes of the issue, and small ones for a look and for the tests."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "QUICK", "Sizes"]


@dataclass(frozen=True, slots=True)
class Sizes:
    """One number per section, and how often each figure is measured."""

    updates: int
    """(a) Updates of the stream."""
    adds: int
    """(b) Triples added per repeat and variant."""
    silent: int
    """(b) Subscriptions that do not match."""
    triples: int
    """(c) Triples in the graph."""
    changes: int
    """(c) Updates after each of which the answer must be fresh."""
    evaluations: tuple[int, int]
    """(c) How often pyoxigraph and rdflib evaluate the query; the total is extrapolated."""
    cached: int
    """(d) Triples that match the query."""
    loads: tuple[int, ...]
    """(e) Triples in the graph."""
    items: tuple[int, int]
    """(g) Triples in the small and in the large graph."""
    toggles: int
    """(g) Deletes per round and operator, each undone by an insert."""
    faults: int
    """(h) Faults of each kind that are put into the railway."""
    sets: int
    """(h) Change sets of the social network, of 20."""
    nodes: int
    """(i) Nodes of the graphs that a path leads through."""
    edges: int
    """(i) Edges deleted per graph, each inserted again."""
    batches: int
    """(j) Batches of ten changes."""
    spark: int
    """(k) Changes in a stream."""
    entailed: tuple[int, ...]
    """(l) Instance triples in the graph."""
    expiring: int
    """(n) Triples that are background or pass through a window."""
    events: int
    """(p) Events of 10 to 15 triples."""
    event_triples: tuple[int, ...]
    """(p) Triples of one event."""
    windows: tuple[int, ...]
    """(o) Triples in a window."""
    window_triples: tuple[int, ...]
    """(p) Triples that pass through one window."""
    clients: int
    """(q) Clients of a server."""
    serving: float
    """(q) Seconds of updates."""
    repeat: int = 5


FULL = Sizes(
    updates=200_000,
    adds=50_000,
    silent=10_000,
    triples=100_000,
    changes=1_000,
    evaluations=(50, 3),
    cached=100_000,
    loads=(100_000, 1_000_000),
    items=(10_000, 1_000_000),
    toggles=500,
    faults=25,
    sets=20,
    nodes=10_000,
    edges=200,
    batches=3_000,
    spark=200_000,
    entailed=(100_000, 1_000_000),
    expiring=20_000,
    events=4_000,
    event_triples=(100, 1_000, 10_000, 100_000, 1_000_000),
    windows=(50_000, 200_000, 1_000_000),
    window_triples=(50_000, 200_000),
    clients=1_000,
    serving=60.0,
)
QUICK = Sizes(
    updates=4_000,
    adds=1_000,
    silent=40,
    triples=2_000,
    changes=50,
    evaluations=(5, 2),
    cached=1_000,
    loads=(1_000, 3_000),
    items=(600, 3_000),
    toggles=50,
    faults=2,
    sets=1,
    nodes=300,
    edges=20,
    batches=100,
    spark=2_000,
    entailed=(1_000, 3_000),
    expiring=2_000,
    events=200,
    event_triples=(100, 1_000, 10_000),
    windows=(1_000, 4_000),
    window_triples=(2_000,),
    clients=50,
    serving=2.0,
    repeat=2,
)
