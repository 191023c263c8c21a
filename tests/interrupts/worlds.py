"""Watched stores, operations on them, and checks of their subscribers."""

from __future__ import annotations

import io
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from typing import Any, Final

import rdflib
from rdflib import RDFS, Literal, URIRef

import rdflive
from interrupts.lines import LineRun, lines_of

__all__ = ["OPERATIONS", "World", "lines_run", "world"]

E: Final = "http://e/"
PREFIX: Final = f"PREFIX : <{E}> "
QUERIES: Final = {
    "pattern": "SELECT ?s ?o { ?s :p ?o }",
    "twin": "SELECT ?s ?o { ?s :p ?o }",
    "join": "SELECT ?s ?t { ?s :p ?o . ?o :q ?t }",
    "optional": "SELECT ?s ?t { ?s :p ?o OPTIONAL { ?o :q ?t } }",
    "count": "SELECT ?s (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s",
    "named": "SELECT ?g ?s { GRAPH ?g { ?s :p ?o } }",
    "construct": "CONSTRUCT { ?t :r ?s } { ?s :p ?o . ?o :q ?t }",
    "bind": "SELECT ?s ?x { ?s :p ?o BIND(IRI(CONCAT(STR(?s), STR(?o))) AS ?x) FILTER(STRLEN(STR(?x)) > 1) }",
    "metered": "SELECT ?s (COUNT(*) AS ?n) { ?s :p+ ?o . ?o :q ?t } GROUP BY ?s",
}
BUDGETS: Final[Mapping[str, rdflive.Budget]] = {"metered": rdflive.Budget(seconds=60)}
RULES: Final = f"""
@prefix : <{E}> .
{{ ?x :p ?y . ?y :p ?z }} => {{ ?x :p ?z }} .
{{ ?x :q ?y }} => {{ ?y :q ?x }} .
"""
REGIMES: Final[Mapping[str, Mapping[str, Any]]] = {
    "none": {},
    "rdfs": {"entailment": "rdfs"},
    "rules": {"rules": RULES},
}


def node(name: str) -> URIRef:
    return URIRef(E + name)


class Follower:
    """Records deltas and adds them up later, as errors of a callback itself are not repaired."""

    def __init__(self) -> None:
        self.told: list[rdflive.Delta] = []

    @property
    def answer(self) -> Counter[Any]:
        """The sum of all deltas; an initial one replaces those before it."""
        answer: Counter[Any] = Counter()
        for delta in self.told:
            if delta.initial:
                answer.clear()
            for row, weight in delta.weights().items():
                answer[row] += weight
        return Counter({row: weight for row, weight in answer.items() if weight})


@lru_cache(maxsize=256)
def _answer(name: str, quads: frozenset[Any], options: tuple[tuple[str, Any], ...]) -> Counter[Any]:
    """Compute the answer of a query by a subscription to a new dataset of the same quads."""
    dataset = rdflib.Dataset()
    for s, p, o, graph in quads:
        dataset.add((s, p, o, graph))
    with rdflive.subscribe(dataset, PREFIX + QUERIES[name], **dict(options)) as fresh:
        return Counter(fresh.answers())


class World:
    """A dataset with a few subscriptions, one of them read by an iterator."""

    def __init__(self, dataset: rdflib.Dataset, regime: str) -> None:
        self.dataset = dataset
        self.options = REGIMES[regime]
        self.graph = dataset.default_graph
        for text in ("a p b", "b q c", "c p d", "d q a", "b p a"):
            self.graph.add(self.triple(text))
        names = [name for name in QUERIES if regime == "none" or name != "named"]
        self.subscriptions = {}
        self.followers = {name: Follower() for name in names}
        for name, follower in self.followers.items():
            take = None if name == "join" else follower.told.append
            self.subscriptions[name] = rdflive.subscribe(
                dataset, PREFIX + QUERIES[name], take, budget=BUDGETS.get(name), **self.options
            )
        self.deltas = self.subscriptions["join"].deltas(5.0)
        self.followers["join"].told.append(next(self.deltas))

    @staticmethod
    def triple(text: str) -> Any:
        """Make a triple of three short names."""
        return tuple(map(node, text.split()))

    def check(self) -> list[str]:
        """Write in another thread and in this one, and list the wrong answers of subscribers."""
        writer = threading.Thread(target=self.graph.add, args=(self.triple("x p y"),), daemon=True)
        writer.start()
        writer.join(30)
        if writer.is_alive():
            return ["another thread cannot write"]
        with rdflive.batch(self.dataset):
            for text in ("y q z", "e p y", "y p a"):
                self.graph.add(self.triple(text))
        wrong = []
        for name, follower in self.followers.items():
            expected = _answer(name, frozenset(self.dataset.quads()), tuple(self.options.items()))
            if Counter(self.subscriptions[name].answers()) != expected:
                wrong.append(f"the answers of {name}")
            if name == "join":
                follower.told.append(next(self.deltas))
                with suppress(TimeoutError):
                    while True:
                        follower.told.append(self.subscriptions[name].next(timeout=0))
            if follower.answer != expected:
                wrong.append(f"the deltas of {name}: {follower.answer} instead of {expected}")
        return wrong

    def close(self) -> None:
        """End the subscriptions."""
        for subscription in self.subscriptions.values():
            subscription.close()


@contextmanager
def world(store: str, regime: str) -> Iterator[World]:
    """Make a world on the store with a name in rdflib."""
    made = World(rdflib.Dataset(store), regime)
    try:
        yield made
    finally:
        made.close()


def _batch(world: World) -> None:
    with rdflive.batch(world.dataset):
        world.graph.add(world.triple("d p b"))
        world.graph.remove(world.triple("b q c"))
        world.dataset.graph(node("g")).add(world.triple("a p b"))


def _entry(world: World) -> None:
    feed = f"TX .\nA <{E}d> <{E}p> <{E}b> .\nD <{E}b> <{E}q> <{E}c> .\nTC .\n"
    rdflive.mirror(world.dataset, io.BytesIO(feed.encode()), "rdf-patch")


def _subscribe(world: World) -> None:
    query = PREFIX + "SELECT ?s ?o { ?s :p ?o . ?o :p ?s }"
    rdflive.subscribe(world.dataset, query, **world.options).close()


UPDATE: Final = PREFIX + "DELETE { ?s :p ?o } INSERT { ?o :p ?s } WHERE { ?s :p ?o }"
TURTLE: Final = PREFIX + ":d :p :b, :e . :e :q :f ."
OPERATIONS: Final[Mapping[str, Callable[[World], object]]] = {
    "add": lambda world: world.graph.add(world.triple("d p b")),
    "add what is there": lambda world: world.graph.add(world.triple("a p b")),
    "remove": lambda world: world.graph.remove(world.triple("a p b")),
    "remove all that match": lambda world: world.dataset.remove((None, node("p"), None, None)),
    "set": lambda world: world.graph.set((node("a"), node("p"), Literal(5))),
    "batch": _batch,
    "update": lambda world: world.dataset.update(UPDATE),
    "parse": lambda world: world.dataset.parse(data=TURTLE, format="turtle"),
    "entry of a feed": _entry,
    "schema": lambda world: world.graph.add((node("q"), RDFS.subPropertyOf, node("p"))),
    "subscribe and close": _subscribe,
    "resync": lambda world: world.subscriptions["count"].resync(),
    "saturate and close": lambda world: rdflive.saturate(world.dataset).close(),
}


@cache
def lines_run(operation: str, store: str, regime: str) -> list[LineRun]:
    """List the lines that an operation runs."""
    with world(store, regime) as made:
        return lines_of(lambda: OPERATIONS[operation](made))
