"""How much is measured: the full sizes of the issue, and small ones for a look and for the tests."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["FULL", "QUICK", "Sizes"]


def sized(full: Any, *, quick: Any) -> Any:
    """Make the field of a number in both sizes."""
    return field(default=full, metadata={"quick": quick})


@dataclass(frozen=True)
class Sizes:
    """One number per section, and how often each figure is measured."""

    updates: int = sized(200_000, quick=4_000)  # (a) Updates of the stream
    adds: int = sized(50_000, quick=1_000)  # (b) Triples added per repeat and variant
    bulk: int = sized(100_000, quick=1_000)  # (u) Triples of a bulk operation, and changes of a mirrored feed
    silent: int = sized(10_000, quick=40)  # (b) Subscriptions that do not match
    triples: int = sized(100_000, quick=2_000)  # (c) Triples in the graph
    changes: int = sized(1_000, quick=50)  # (c) Updates after each of which the answer must be fresh
    # (c) How often pyoxigraph and rdflib evaluate the query; the total is extrapolated
    evaluations: tuple[int, int] = sized((50, 3), quick=(5, 2))
    cached: int = sized(100_000, quick=1_000)  # (d) Triples that match the query
    loads: tuple[int, ...] = sized((100_000, 1_000_000), quick=(1_000, 3_000))  # (e) Triples in the graph
    # (g) Triples in the small and in the large graph
    items: tuple[int, int] = sized((10_000, 1_000_000), quick=(600, 3_000))
    toggles: int = sized(500, quick=50)  # (g) Deletes per round and operator, each undone by an insert
    faults: int = sized(25, quick=2)  # (h) Faults of each kind that are put into the railway
    sets: int = sized(20, quick=1)  # (h) Change sets of the social network, of 20
    models: tuple[str, ...] = sized(("railway-batch-1", "railway-inject-1"), quick=("railway-batch-1",))
    networks: tuple[str, ...] = sized(("s1", "s2"), quick=("s1",))  # (h) of TTC 2018
    nodes: int = sized(10_000, quick=300)  # (i) Nodes of the graphs that a path leads through
    edges: int = sized(200, quick=20)  # (i) Edges deleted per graph, each inserted again
    buildings: tuple[int, ...] = sized((1, 10, 100), quick=())  # (v) Buildings of 2,716 triples each
    longest: int = sized(600, quick=10)  # (v) Seconds that a peer may take
    guarded: int = sized(20_000, quick=200)  # (w) Adds of each kind
    # (v) Devices that have a shape of their own
    devices: tuple[int, ...] = sized((1, 10, 100, 1_000), quick=(10,))
    batches: int = sized(3_000, quick=100)  # (j) Batches of ten changes
    spark: int = sized(200_000, quick=2_000)  # (k) Changes in a stream
    universities: tuple[int, ...] = sized((1, 10), quick=(1,))  # (k) Universities of 100,543 triples each
    # (l) Instance triples in the graph
    entailed: tuple[int, ...] = sized((100_000, 1_000_000), quick=(1_000, 3_000))
    expiring: int = sized(20_000, quick=2_000)  # (n) Triples that are background or pass through a window
    events: int = sized(4_000, quick=200)  # (p) Events of 10 to 15 triples
    # (p) Triples of one event
    event_triples: tuple[int, ...] = sized(
        (100, 1_000, 10_000, 100_000, 1_000_000), quick=(100, 1_000, 10_000)
    )
    # (o) Triples in a window
    windows: tuple[int, ...] = sized((50_000, 200_000, 1_000_000), quick=(1_000, 4_000))
    # (p) Triples that pass through one window
    window_triples: tuple[int, ...] = sized((50_000, 200_000), quick=(2_000,))
    due: tuple[int, ...] = sized((100_000, 1_000_000), quick=(1_000,))  # (s) Rows with a time
    clients: int = sized(1_000, quick=50)  # (q) Clients of a server
    serving: float = sized(20.0, quick=1.0)  # (q) Seconds of updates
    rows: int = sized(1_000_000, quick=10_000)  # (r) Rows of a DataFrame
    # (t) Subscriptions
    standing: tuple[int, ...] = sized((1, 1_000, 10_000, 100_000, 1_000_000), quick=(1, 50))
    different: tuple[int, ...] = sized((1, 1_000, 10_000), quick=(1, 50))  # (ad) Different queries
    crowded: int = sized(20_000, quick=500)  # (ad) Half the edges of the graph
    # (ae) Triples of the graphs, by store; the largest only on Oxigraph
    demand: tuple[int, ...] = sized((100_000, 1_000_000, 10_000_000), quick=(1_000,))
    held: int = sized(1_000_000, quick=2_000)  # (af) Triples of the graphs
    latest: tuple[int, ...] = sized((1_000, 10_000, 100_000), quick=(200, 600))  # (z) Readings
    repeat: int = sized(5, quick=2)


FULL = Sizes()
QUICK = Sizes(**{each.name: each.metadata["quick"] for each in fields(Sizes)})
