"""Graphs of every kind behind one interface, for tests that must hold on all of them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import rdflib
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.stores.auditable import AuditableStore

import rdflive

EX = "urn:example:"


def _conjunctive() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return rdflib.ConjunctiveGraph()


def _live_store() -> Any:
    pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    return rdflive.LiveStore()


def _oxigraph(make: Callable[..., Any], **options: Any) -> Callable[[], Any]:
    def build() -> Any:
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
        return make(store="Oxigraph", **options)

    return build


KINDS: dict[str, Callable[[], Any]] = {
    "graph": rdflib.Graph,
    "simple memory": lambda: rdflib.Graph(store="SimpleMemory"),
    "auditable": lambda: rdflib.Graph(AuditableStore(rdflib.Graph().store), rdflib.URIRef(EX + "g")),
    "dataset": rdflib.Dataset,
    "dataset union": lambda: rdflib.Dataset(default_union=True),
    "conjunctive graph": _conjunctive,
    "oxigraph graph": _oxigraph(rdflib.Graph, identifier=EX + "g"),
    "oxigraph dataset": _oxigraph(rdflib.Dataset),
    "oxigraph union": _oxigraph(rdflib.Dataset, default_union=True),
    "live store": _live_store,
}

PRIMARY = ("graph", "oxigraph graph", "live store")
"""The kinds that the gate tests in full, one per engine; it tests a sample of the others."""
PRIMARY_DATASETS = ("dataset", "oxigraph dataset", "live store")
"""The same among the kinds with named graphs."""


@dataclass
class Face:
    """Writes and full evaluation on one graph of any library."""

    graph: Any

    @property
    def native(self) -> bool:
        """True for a LiveStore, whose terms are pyoxigraph's."""
        return not isinstance(self.graph, rdflib.Graph)

    def write(self, sign: int, triple: tuple[str, str, str]) -> None:
        """Add or remove one triple of local names."""
        if self.native:
            import pyoxigraph as ox

            quad = ox.Quad(*(ox.NamedNode(EX + name) for name in triple))
            (self.graph.add if sign > 0 else self.graph.remove)(quad)
        else:
            terms = tuple(rdflib.URIRef(EX + name) for name in triple)
            (self.graph.add if sign > 0 else self.graph.remove)(terms)

    def update(self, text: str) -> None:
        """Run a SPARQL update, on the default graph of a dataset, as rdflib fails on the dataset itself."""
        graph = self.graph.default_graph if isinstance(self.graph, rdflib.Dataset) else self.graph
        graph.update(text)

    def clear(self) -> None:
        """Remove all triples."""
        if self.native:
            self.graph.clear()
        else:
            self.graph.remove((None, None, None))

    def evaluate(self, text: str) -> Counter[Any] | bool:
        """Evaluate a query with the graph's own engine to weights of rows, or to the answer of ASK."""
        if self.native:
            result = self.graph.query(text)
            if type(result).__name__ == "QueryBoolean":
                return bool(result)
            names = [variable.value for variable in result.variables]
            return Counter(_row(zip(names, solution, strict=True)) for solution in result)
        query = prepareQuery(text) if _is_memory(self.graph) else text
        result = self.graph.query(query)
        if result.type == "ASK":
            return bool(result.askAnswer)
        return Counter(_row(solution.items()) for solution in result.bindings)


def _is_memory(graph: Any) -> bool:
    return "Oxigraph" not in type(graph.store).__name__


def _row(items: Any) -> frozenset[tuple[str, Any]]:
    return frozenset((str(name), term) for name, term in items if term is not None)


class Follower:
    """Adds up the deltas of a subscription."""

    def __init__(self, face: Face, text: str, **options: Any) -> None:
        self.weights: Counter[Any] = Counter()
        self.answer: bool | None = None
        self.deltas: list[rdflive.Delta] = []
        self.subscription = rdflive.subscribe(face.graph, text, self._take, on_error=self._fail, **options)

    def _take(self, delta: rdflive.Delta) -> None:
        self.deltas.append(delta)
        assert delta.initial or delta
        if delta.answer is not None:
            self.answer = delta.answer
            return
        for solution, weight in delta.weights().items():
            self.weights[_row(solution.asdict().items())] += weight
        self.weights = Counter({row: weight for row, weight in self.weights.items() if weight})
        assert all(weight > 0 for weight in self.weights.values())

    def _fail(self, subscription: Any, error: Exception) -> None:
        raise error

    def state(self) -> Counter[Any] | bool:
        """Return the sum of the deltas in the form of `Face.evaluate`."""
        if self.subscription.last_error is not None:
            raise self.subscription.last_error
        return self.weights if self.answer is None else self.answer
