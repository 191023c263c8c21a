"""Stores of every kind, written quad by quad, and the sums of their subscriptions' deltas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import rdflib
from rdflib import URIRef

import rdflive
from support.oracle import comparable
from support.queries import Quad
from support.solutions import Row, folded_row, row
from support.worlds import KINDS

__all__ = ["DATASETS", "Store", "Sum", "rows_of"]

DATASETS = ("dataset", "dataset union", "oxigraph dataset", "oxigraph union", "live store")
"""The kinds that have named graphs."""


class Store:
    """One graph or dataset, and the quads in it; None is the default graph."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.graph = KINDS[kind]()
        self.union = "union" in kind
        self.native = not isinstance(self.graph, rdflib.Graph)
        self.quads: set[Quad] = set()

    def write(self, write: tuple[int, Quad]) -> None:
        """Add or remove one quad."""
        sign, quad = write
        (self.quads.add if sign > 0 else self.quads.discard)(quad)
        target, change = (self.graph, _native(quad)) if self.native else (self._graph(quad[3]), quad[:3])
        (target.add if sign > 0 else target.remove)(change)

    def _graph(self, name: Any) -> Any:
        if name is not None:
            return self.graph.get_context(name)
        return self.graph.default_graph if isinstance(self.graph, rdflib.Dataset) else self.graph

    def commit(self, writes: Iterable[tuple[int, Quad]]) -> None:
        """Make writes as one commit."""
        writes = list(writes)
        if len(writes) == 1:
            self.write(writes[0])
            return
        with rdflive.batch(self.graph):
            for write in writes:
                self.write(write)


def _native(quad: Quad) -> Any:
    import pyoxigraph as ox

    def term(one: Any) -> Any:
        if one is None:
            return ox.DefaultGraph()
        return ox.NamedNode(str(one)) if isinstance(one, URIRef) else ox.Literal(one.value)

    return ox.Quad(*map(term, quad))


class Sum:
    """A subscription whose deltas are added up."""

    def __init__(self, store: Store, text: str, *, given: str | None = None, **options: Any) -> None:
        self._native = store.native
        self.text = text
        self.weights: Counter[Row] = Counter()
        self.answer: bool | None = None
        self.deltas = 0
        self.most = 0
        """Maximal number of solutions."""
        options["on_error"] = self._fail
        self._ordered = given is None
        if given is None:
            self.subscription = rdflive.subscribe(store.graph, text, self._take, **options)
        else:
            self.subscription = rdflive.prepare(text).subscribe(store.graph, self._take, given, **options)

    def _take(self, delta: rdflive.Delta) -> None:
        assert delta.initial or delta
        self.deltas += 1
        if delta.answer is not None:
            self.answer = delta.answer
            self.most = max(self.most, int(self.answer))
            return
        for solution, weight in delta.weights().items():
            self.weights[self._row(solution)] += weight
        assert min(self.weights.values(), default=0) >= 0
        self.weights = +self.weights
        self.most = max(self.most, len(self.weights))

    def _fail(self, subscription: Any, error: Exception) -> None:
        raise error

    def _row(self, solution: Any) -> Row:
        items = solution.asdict().items()
        return comparable(items) if self._native else folded_row(row(items))

    def check(self, expected: list[dict[Any, Any]] | bool) -> None:
        """Compare the sum of the deltas, and `answers()`, with an evaluation."""
        if self.subscription.last_error is not None:
            raise self.subscription.last_error
        if isinstance(expected, bool):
            assert self.answer is expected, self.text
            return
        wanted = rows_of(expected)
        assert self.weights == Counter(wanted), self.text
        answers = [self._row(solution) for solution in self.subscription.answers()]
        assert Counter(answers) == self.weights, self.text
        if self._ordered and self.subscription._question.plan.query.order:
            assert answers == wanted, self.text


def rows_of(solutions: Iterable[dict[Any, Any]]) -> list[Row]:
    """Make solutions comparable."""
    return [folded_row(row(solution.items())) for solution in solutions]
