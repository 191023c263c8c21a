"""A subscription in one process, whose deltas are rows of texts like those on Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

import rdflive
from rdflive.entail.rules import Rules
from rdflive.feeds.terms import RowReader, write_term

__all__ = ["OneProcess", "Row", "added"]

Row: TypeAlias = "tuple[str | None, ...]"
"""A solution by the order of its variables, or a triple; the one row of ASK has no column."""


class OneProcess:
    """A subscription to a dataset that is empty at first."""

    def __init__(self, query: str, entailment: str | None = None, rules: Rules | None = None) -> None:
        self._dataset = rdflib.Dataset()
        self._net: Counter[Row] = Counter()
        self._is_true = False
        self._subscription = rdflive.subscribe(
            self._dataset, query, self._take, on_error=self._fail, entailment=entailment, rules=rules
        )

    def run(self, operations: Iterable[tuple[Any, ...]]) -> Counter[Row]:
        """Apply operations (op, s, p, o, g, …) as one commit, and return the net since the previous run.

        The first net includes the answer over no data, as that of the first micro-batch does.
        """
        with rdflive.batch(self._dataset):
            for op, s, p, o, graph in (operation[:5] for operation in operations):
                triple = (_term(s), _term(p), _term(o))
                # Dataset.remove itself would remove from all graphs
                target = self._dataset.graph(_term(graph) if graph else DATASET_DEFAULT_GRAPH_ID)
                (target.add if op in ("A", "+") else target.remove)(triple)
        net, self._net = self._net, Counter()
        return added(net)

    def close(self) -> None:
        """End the subscription."""
        self._subscription.close()

    def _take(self, delta: rdflive.Delta) -> None:
        if delta.answer is not None:
            self._net[()] += delta.answer - self._is_true
            self._is_true = delta.answer
            return
        for sign, rows in ((1, delta.added), (-1, delta.removed)):
            for row in rows:
                self._net[tuple(None if term is None else write_term(term) for term in row)] += sign

    def _fail(self, subscription: Any, error: Exception) -> None:
        raise error


def _term(text: str) -> Any:
    return RowReader(text).term("term")


def added(*nets: Counter[Row]) -> Counter[Row]:
    """Add nets up, without rows of weight 0."""
    total: Counter[Row] = Counter()
    for net in nets:
        total.update(net)
    return Counter({row: weight for row, weight in total.items() if weight})
