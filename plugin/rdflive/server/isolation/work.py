"""The kinds of work of child processes, and the preparation before a fork."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from time import process_time
from typing import Any

import rdflib
import re2  # noqa: F401 - subscriptions import it late: see cli/served_feed.py
from rdflib.term import Node

from rdflive.api.live import explain, subscribe
from rdflive.delivery.audit import AuditedAnswer
from rdflive.model import rows_unread
from rdflive.plugins import manager
from rdflive.query.budget import Budget
from rdflive.server.failures import Problem
from rdflive.server.isolation.frames import Frames
from rdflive.server.sparql.answering import answer
from rdflive.server.sparql.operations import ProtocolOperation
from rdflive.server.sparql.updating import run_update
from rdflive.sinks.ndjson import TRIPLE

__all__ = ["AnswerQuery", "AuditAnswer", "ExplainQuery", "OpenSubscription", "RunUpdate", "warm_up"]


@dataclass(frozen=True, slots=True)
class AnswerQuery:
    """A query to answer."""

    operation: ProtocolOperation
    accept: str

    def __call__(self, dataset: rdflib.Dataset, frames: Frames) -> None:
        """Write the answer."""
        answer(dataset, self.operation, self.accept, frames)


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """A checked update, to be tried in a child and then run in the server."""

    text: str

    def __call__(self, dataset: rdflib.Dataset, frames: Frames) -> None:
        """Try the update, without an answer."""
        self.run(dataset)
        frames.begin("")

    def run(self, dataset: rdflib.Dataset) -> int:
        """Run the update, and return the number of a commit that includes it."""
        # the child and the server must run the same code
        return run_update(dataset, self.text)


@dataclass(frozen=True, slots=True)
class OpenSubscription:
    """A trial opening of a subscription, to check the limits."""

    query: str
    entailed: Mapping[str, Any]
    """The options of entailment."""
    bindings: Mapping[str, Node]
    rows: int
    budget: Budget

    def __call__(self, dataset: rdflib.Dataset, frames: Frames) -> None:
        """Raise an error if the limits are exceeded."""
        with (
            rows_unread(),
            subscribe(
                dataset,
                self.query,
                initBindings=self.bindings,
                **self.entailed,
                initial=False,
                budget=self.budget,
            ) as subscription,
        ):
            rows = len(subscription.answers())
        if rows > self.rows:
            raise Problem(403, f"the answer has more than {self.rows:,} solutions, the limit of this server")
        frames.begin("")


@dataclass(frozen=True, slots=True)
class AuditAnswer:
    """The comparison of the answer that a subscription keeps with evaluations on the same state."""

    taken: AuditedAnswer

    def __call__(self, dataset: rdflib.Dataset, frames: Frames) -> None:
        """Write the audit as JSON, with `is_stale` if reading the graph again gives another answer, and the
        processor time as `seconds`.
        """
        taken = self.taken
        with manager.locked(dataset.store) as adapter:
            listed = taken.plan.begin(adapter, dataset)
        found = listed()
        audit = now = None if found is None else taken.compared(found)
        if not audit:
            query, bindings = taken.plan.query, taken.plan.bindings
            with rows_unread(), subscribe(dataset, query, initBindings=bindings, initial=False) as again:
                now = taken.compared(again._audited().answers[0])
            audit = now if audit is None else taken.plan.judged(audit, now)
        frames.begin("application/json")
        told = {"audit": asdict(audit), "is_stale": now is not None and not now, "seconds": process_time()}
        frames.write(json.dumps(told).encode())


@dataclass(frozen=True, slots=True)
class ExplainQuery:
    """A query to explain, which may take long to parse and plan."""

    query: str
    entailment: str | None
    bindings: Mapping[str, Node]

    def __call__(self, dataset: rdflib.Dataset, frames: Frames) -> None:
        """Write the explanation as JSON."""
        graph = dataset if self.entailment is None else None  # entailed triples are not computed here
        explanation = explain(
            self.query,
            graph=graph,
            initNs=dict(dataset.namespaces()),
            initBindings=self.bindings,
        )
        shown = {
            "form": explanation.form,
            "vars": TRIPLE if explanation.form == "CONSTRUCT" else explanation.names,
            "key": explanation.key,
            "algorithms": explanation.algorithms,
            "notes": explanation.notes,
            "text": str(explanation),
            "svg": explanation.svg(),
        }
        frames.begin("application/json")
        frames.write(json.dumps(shown).encode())


# functions would import these late
for package in ("elementpath", "pyoxigraph"):
    if find_spec(package):
        import_module(package)

_QUERY = "SELECT ?s { ?s ?p ?o FILTER(?o > 1) }"
_PATTERN = r'SELECT ?s { ?s ?p ?o FILTER(REGEX(?o, "\\p{Lu}", "i")) }'
"""A query with REGEX, which loads RE2 (a child cannot open its files) and prepares the Unicode classes."""


def warm_up() -> None:
    """Answer and follow a query, so that modules are imported and the SPARQL parser is built.

    >>> warm_up()
    """
    dataset = rdflib.Dataset()
    answer(dataset, ProtocolOperation(_QUERY), "", _Nowhere())
    for query, entailment in ((_PATTERN, None), (_QUERY, "rdfs")):
        subscribe(dataset, query, initial=False, entailment=entailment, budget=Budget()).close()


class _Nowhere:
    def begin(self, content_type: str) -> None:
        pass

    def write(self, piece: bytes) -> int:
        return len(piece)
