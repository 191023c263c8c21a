"""The graph of a W3C test, the answer of its engine, and that of a subscription."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

import rdflib
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.sparql import Query

import rdflive
from support.solutions import Row, State, row_of, rows, state_of
from support.w3c import FROM, Case, Quad
from support.w3c_exceptions import ENGINE_IS_WRONG
from support.worlds import KINDS

ENGINES = {"memory": ("graph", "dataset"), "oxigraph": ("oxigraph graph", "oxigraph dataset")}
"""The kinds of each engine's graph and dataset in `worlds.KINDS`."""


class World:
    """The data of one test in a graph, or in a dataset if the test needs one."""

    def __init__(self, case: Case, engine: str) -> None:
        self.case, self.engine = case, engine
        self._kind = ENGINES[engine][case.needs_dataset]
        self.graph = KINDS[self._kind]()

    def write(self, sign: int, quad: Quad) -> None:
        """Add or remove one quad."""
        *terms, name = quad
        graph = self.graph if name is None else self.graph.get_context(name)
        if graph is self.graph and isinstance(graph, rdflib.Dataset):
            graph = graph.default_graph  # a dataset would remove from all its graphs
        (graph.add if sign > 0 else graph.remove)(tuple(terms))

    def evaluate(self) -> State:
        """Run the query in full with the graph's own engine, around its known traps."""
        text = self.case.query.replace("REDUCED", "")  # an engine may drop any duplicates
        graph = self.graph
        if self.case.dataset_clause:  # rdflib would read FROM from the web, oxrdflib overrides it
            graph, text = self._chosen(), FROM.sub("", text)
        state = state_of(graph.query(_prepared(text) if self.engine == "memory" else text))
        spurious = self.engine == "memory" and self.case.groups and state == Counter([frozenset()])
        return Counter() if spurious else state  # rdflib returns one group for no solutions

    def _chosen(self) -> Any:
        """Copy the graphs of FROM into the default graph of a new dataset, those of FROM NAMED beside it."""
        chosen = KINDS[self._kind]()
        for named, name in self.case.dataset_clause:
            target = chosen.get_context(name) if named else chosen
            for terms in self.graph.get_context(name):
                target.add(terms)
        return chosen


@lru_cache(maxsize=64)
def _prepared(text: str) -> Query:
    return prepareQuery(text)


class Sum:
    """Adds up the deltas of a subscription: rows of SELECT, triples of CONSTRUCT, the answer of ASK."""

    def __init__(self, graph: Any, query: str, **options: Any) -> None:
        self.weights: Counter[Row] = Counter()
        self.answer: bool | None = None
        self.deltas = 0
        self.subscription = rdflive.subscribe(graph, query, self._take, on_error=self._fail, **options)

    def _take(self, delta: rdflive.Delta) -> None:
        self.deltas += 1
        assert delta.initial or delta
        if delta.answer is not None:
            self.answer = delta.answer
            return
        for one in delta.added:
            self.weights[row_of(one)] += 1
        for one in delta.removed:
            self.weights[row_of(one)] -= 1
            assert self.weights[row_of(one)] >= 0, f"{one} was removed but never added"
        self.weights += Counter()  # removes zeros

    def _fail(self, subscription: Any, error: Exception) -> None:
        raise error

    @property
    def state(self) -> State:
        """The sum of the deltas."""
        if self.subscription.last_error is not None:
            raise self.subscription.last_error
        if self.answer is not None:
            return self.answer
        graph = getattr(self.subscription, "graph", None)
        if isinstance(graph, rdflib.Graph):
            assert rows(graph) == self.weights
        return self.weights

    def answers(self) -> list[Row]:
        """List the current solutions, in the order of the query."""
        return [row_of(solution) for solution in self.subscription.answers()]

    def close(self) -> None:
        self.subscription.close()


def fresh(world: World) -> tuple[State, list[Row]]:
    """Return the initial answer of a new subscription, as a state and in order."""
    follower = Sum(world.graph, world.case.query)
    state, answers = follower.state, follower.answers()
    follower.close()
    return state, answers


def full(world: World) -> State:
    """Return the answer over the current data: the engine's, or that of a new subscription.

    Engines disagree on untrusted tests, so these use the subscription.
    """
    if world.case.trusted and (world.case.id, world.engine) not in ENGINE_IS_WRONG:
        return world.evaluate()
    return fresh(world)[0]
