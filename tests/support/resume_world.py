"""A graph and a subscriber that is restarted and killed, for random histories."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import rdflib
from hypothesis import strategies as st
from rdflib import BNode, Literal

import rdflive
from support.resume import POINTS, Ledger, killed_at, node

NODES = [node("a"), node("b"), BNode("c"), BNode("d")]
WRITES = st.tuples(
    st.sampled_from([1, 1, -1]),
    st.sampled_from(NODES),
    st.sampled_from([node("p"), node("q")]),
    st.sampled_from([*NODES, Literal("x"), Literal(1)]),
)
BATCHES = st.lists(WRITES, min_size=1, max_size=4)
STEPS = st.one_of(
    BATCHES.map(lambda writes: ("commit", writes)),
    BATCHES.map(lambda writes: ("missed", writes)),
    st.tuples(st.sampled_from(POINTS), BATCHES),
    st.tuples(st.just("restart"), st.sampled_from(POINTS), BATCHES),
)
QUERIES = st.sampled_from(
    [
        "SELECT ?x { ?x <urn:example:p> ?y }",
        "SELECT ?x ?z { ?x <urn:example:p> ?y OPTIONAL { ?y <urn:example:q> ?z } }",
        "SELECT ?y ?z { <urn:example:a> <urn:example:p> ?y . ?y <urn:example:q> ?z }",
        "SELECT ?y ?z { <urn:example:a> <urn:example:p>+ ?y OPTIONAL { ?y <urn:example:q> ?z } }",
        "SELECT DISTINCT ?y { ?x ?p ?y } ORDER BY ?y LIMIT 3",
        "SELECT ?x (COUNT(?y) AS ?n) { ?x ?p ?y } GROUP BY ?x",
        "ASK { ?x <urn:example:p>/<urn:example:q> ?z }",
        "CONSTRUCT { ?y <urn:example:r> ?x } { ?x <urn:example:p> ?y FILTER(!isLiteral(?y)) }",
    ]
)


class World:
    """A graph, a subscriber that is restarted, and the ledger of its deltas."""

    def __init__(self, kind: str, folder: Path, query: str, by: str) -> None:
        self.kind, self.folder, self.query, self.by = kind, folder, query, by
        self.graph: Any = rdflib.Graph()
        self.ledger = Ledger()
        self.subscription: Any = None
        self.open()

    def open(self) -> None:
        if self.kind == "Oxigraph":
            self.graph = rdflib.Dataset(store="Oxigraph")
            self.graph.open(str(self.folder / "store"))

    def close(self) -> None:
        """Simulate the end of the process."""
        if self.subscription is not None:
            self.subscription.close()
        self.subscription = self.deltas = None
        if self.kind == "Oxigraph":
            self.graph.close()
            gc.collect()  # closed subscriptions keep the native store, which locks its folder, in cycles

    def write(self, writes: Any) -> None:
        with rdflive.batch(self.graph):
            for sign, *triple in writes:
                (self.graph.add if sign > 0 else self.graph.remove)(tuple(triple))

    def subscribe(self) -> None:
        callback = self.ledger.take if self.by == "callback" else None
        self.subscription = rdflive.subscribe(
            self.graph, self.query, callback, name="n", resume=self.folder / "file.db"
        )
        self.deltas = None if callback else self.subscription.deltas(timeout=0)
        self.drain()

    def drain(self) -> None:
        if self.deltas is not None:
            try:
                for delta in self.deltas:
                    self.ledger.take(delta)
            except TimeoutError:
                pass

    def run(self, step: Any) -> None:
        if step[0] == "commit":
            if self.subscription is None:
                self.subscribe()
            self.write(step[1])
            self.drain()
        elif step[0] == "missed":
            self.restart()
            self.write(step[1])
        elif step[0] == "restart":
            self.restart()
            self.write(step[2])
            with killed_at(step[1], self.ledger):
                self.subscribe()
            self.restart()
        else:
            if self.subscription is None:
                self.subscribe()
            with killed_at(step[0], self.ledger):
                self.write(step[1])
                self.drain()
            self.restart()

    def restart(self) -> None:
        self.close()
        self.open()
