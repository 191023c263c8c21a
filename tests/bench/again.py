"""The two ways to keep an answer right that (c), (h) and (i) compare: deltas added up, and asking again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

from pyoxigraph import Quad, Store
from rdflib import Graph

import rdflive
from bench.histories import Changes

__all__ = ["Asked", "Watched", "fail", "to_native", "to_quad"]

Answer: TypeAlias = Counter[frozenset[tuple[str, str]]]


def to_native(term: Any) -> Any:
    """Write a term of rdflib as Oxigraph does."""
    from oxrdflib._converter import to_ox  # here, because tests of the documentation import the sections

    return to_ox(term)


def to_quad(triple: Iterable[Any]) -> Quad:
    """Write a triple of rdflib as Oxigraph does."""
    return Quad(*map(to_native, triple))


def fail(subscription: rdflive.Subscription, error: Exception) -> None:
    """Let an error of a callback end the measurement."""
    raise error


class Asked:
    """A pyoxigraph store that is asked again."""

    def __init__(self, triples: Iterable[Any]) -> None:
        self.store = Store()
        self.store.bulk_extend(map(to_quad, triples))

    def change(self, sign: int, triple: Iterable[Any]) -> None:
        """Insert (+1) or delete (-1) a triple."""
        (self.store.add if sign > 0 else self.store.remove)(to_quad(triple))

    def evaluate(self, query: str) -> int:
        """List the solutions, and count them."""
        solutions: Any = self.store.query(query)
        return len(list(solutions))

    def answer(self, query: str) -> Answer:
        """Give the solutions."""
        found: Any = self.store.query(query)
        names = [variable.value for variable in found.variables]
        return Counter(
            frozenset((n, term.value) for n, term in zip(names, row, strict=True) if term is not None)
            for row in found
        )


class Watched:
    """An rdflib graph on which some queries are subscribed, or none."""

    def __init__(self, graph: Graph, queries: Mapping[str, str], *, reads: bool) -> None:
        self.graph = graph
        self.deltas: dict[str, list[rdflive.Delta]] = {name: [] for name in queries}
        self._reads = reads
        self._kept = [
            rdflive.subscribe(graph, query, partial(self._take, name), on_error=fail)
            for name, query in queries.items()
        ]

    def _take(self, name: str, delta: rdflive.Delta) -> None:
        self.deltas[name].append(delta)
        if self._reads:
            sum(1 for _ in (*delta.added, *delta.removed))

    def replay(self, changes: list[Changes]) -> float:
        """Make the changes, several at once as a batch, and give their seconds."""
        graph = self.graph
        operations = [
            [(graph.add if sign > 0 else graph.remove, triple) for sign, triple in batch] for batch in changes
        ]
        start = perf_counter()
        for batch in operations:
            if len(batch) == 1:
                operation, triple = batch[0]
                operation(triple)
                continue
            # where nothing is subscribed a batch would hook the store for nothing
            with rdflive.batch(graph) if self._kept else nullcontext():
                for operation, triple in batch:
                    operation(triple)
        return perf_counter() - start

    def answer(self, name: str) -> Answer:
        """Add the deltas up."""
        total: Answer = Counter()
        for delta in self.deltas[name]:
            for solutions, weight in ((delta.added, 1), (delta.removed, -1)):
                for solution in solutions:
                    total[frozenset((key, str(term)) for key, term in solution.asdict().items())] += weight
        return +total
