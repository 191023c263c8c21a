"""`rdflive.guard`: refuses commits that would violate the shapes of a graph."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from rdflib import URIRef
from rdflib.namespace import SH

from rdflive.api.prepared import check_graph
from rdflive.api.validation import (
    Nodes,
    Shapes,
    graphs_of_shapes,
    selection_of,
    start_validation,
    with_rules,
)
from rdflive.delivery.guarding import Guards, Refusal
from rdflive.delivery.question import Question
from rdflive.delivery.relay import Receiver
from rdflive.delivery.subscription import Subscription, start
from rdflive.entail.entailment import Regime
from rdflive.entail.regimes import Rules, refuse_quads, regime_of
from rdflive.errors import UnsupportedQueryError, ValidationError
from rdflive.model import Answers, Delta, Header, Solution, TermWriter
from rdflive.plugins import manager
from rdflive.query import algebra
from rdflive.query.given import namespaces, read_query
from rdflive.query.known import find_plan
from rdflive.shacl import LiveValidation
from rdflive.store import Adapter, GraphLike
from rdflive.syntax.prefixes import Prefixes

__all__ = ["Guard", "guard"]

_SEVERITIES: Final = (SH.Info, SH.Warning, SH.Violation)
_QUERY: Final = re.compile(
    r"(?:\s+|#[^\n]*(?:\n|$)|(?:PREFIX\s+\S*|BASE)\s*<[^>]*>)*(SELECT|ASK|CONSTRUCT|DESCRIBE)\b(?!:)",
    re.IGNORECASE,
)
"""The start of a query, which distinguishes it from Turtle."""
_SHOWN: Final = 5
"""Number of rows in the text of an error."""


class Guard:
    """Refuses commits, until it is closed. Made by `rdflive.guard`; it is a context manager."""

    def __init__(self, adapter: Adapter, guards: Guards, followed: Subscription, refusal: Refusal) -> None:
        self._adapter = adapter
        self._guards = guards
        self._followed = followed
        guards.refusals[followed] = refusal

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._followed.closed

    def answers(self) -> Answers[Solution]:
        """List the present violations: results of shapes, or rows of the query. They do not block commits."""
        return self._followed.answers()

    def close(self) -> None:
        """Stop refusing commits. May be repeated."""
        adapter, guards = self._adapter, self._guards
        with adapter.capture.reading():
            guards.refusals.pop(self._followed, None)
            self._followed.close()
            if not guards.refusals and adapter.capture.judge is guards:
                adapter.capture.judge = None
                manager.release(adapter)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def guard(
    graph: GraphLike,
    shapes: Shapes = None,
    *,
    focus_nodes: Nodes = None,
    use_shapes: Nodes = None,
    severity: str | URIRef = "violation",
    entailment: str | None = None,
    rules: Rules | None = None,
) -> Guard:
    """Refuse every commit that would add a validation result: undo it, and raise `ValidationError`.

    A commit is one add or remove, an `addN`, a batch, a SPARQL update, a parse, a bulk load or an entry of a
    feed. `shapes` are those of `rdflive.validate`, or a query: a SELECT must stay empty, an ASK must stay
    false. Pre-existing results do not block a commit; new results do. `severity` is the lowest severity that
    is refused: "violation", "warning" or "info"; or the IRI of another severity, which alone is refused.
    `focus_nodes` and `use_shapes` are those of `rdflive.validate`, `entailment` and `rules` those of
    `rdflive.subscribe`.

    Subscriptions, journals and plugins never see a refused commit. Changes of the shapes are not refused.
    Raises `ShapesError`, the errors of `rdflive.subscribe` for a query, `UnsupportedStoreError` for a store
    that cannot be guarded, and RuntimeError inside an open batch.

    >>> import rdflib
    >>> shapes = '''@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
    ... :T a sh:NodeShape ; sh:targetClass :Train ; sh:property [ sh:path :line ; sh:minCount 1 ] .'''
    >>> graph = rdflib.Graph()
    >>> guarded = guard(graph, shapes)
    >>> graph.update("PREFIX : <http://e/> INSERT DATA { :IC5 a :Train }")
    Traceback (most recent call last):
    rdflive.errors.ValidationError: the commit is refused, because it would add 1 result:
      :IC5  Violation  :line: 1 value at least  (MinCount)
    >>> len(graph), guarded.close()
    (0, None)
    """
    check_graph(graph)
    severities = _severities(severity)
    receiver = Receiver.checked(None, initial=False, name=None, on_error="log")
    is_query = _is_query(shapes)
    if is_query and (focus_nodes is not None or use_shapes is not None):
        raise ValueError("focus_nodes and use_shapes go with shapes, not with a query")
    given = [] if is_query else graphs_of_shapes(graph, shapes)
    selection = selection_of(graph, given, focus_nodes, use_shapes)
    regime = regime_of(entailment, with_rules(given, rules, selection), "auto", None)
    question = _question(graph, shapes, regime) if is_query else None
    with ExitStack() as undo:
        with manager.locked(manager.store_of(graph)) as adapter:
            if adapter.capture.is_open:
                raise RuntimeError("a guard cannot start inside an open batch: end the batch first")
            guards = Guards.of(adapter)
            if question is not None:
                followed = _start_query(guards.shadow, graph, question, receiver)
                refusal = partial(_refused_rows, question)
            else:
                followed = start_validation(guards.shadow, graph, given, selection, regime, receiver)
                refusal = partial(_refused_results, followed, severities)
            made = Guard(adapter, guards, followed, refusal)
            adapter.capture.judge = guards
            undo.callback(made.close)
        if isinstance(followed, LiveValidation):
            followed.begin()
        undo.pop_all()
    return made


def _severities(severity: str | URIRef) -> frozenset[str]:
    """Return the IRIs of the refused severities."""
    names = [str(each).rpartition("#")[2].lower() for each in _SEVERITIES]
    if not isinstance(severity, str):
        raise TypeError(f"severity must be one of {names}, or the IRI of a severity, got {severity!r}")
    if severity.lower() in names:
        return frozenset(map(str, _SEVERITIES[names.index(severity.lower()) :]))
    if ":" not in severity:
        raise ValueError(f"severity must be one of {names}, or the IRI of a severity, got {severity!r}")
    standard = [str(each) for each in _SEVERITIES]
    iri = str(severity)  # an IRI of rdflib never equals a str
    return frozenset(standard[standard.index(iri) :] if iri in standard else [iri])


def _is_query(shapes: Any) -> bool:
    """True for a query in place of shapes."""
    if isinstance(shapes, os.PathLike):
        return os.fsdecode(shapes).endswith((".rq", ".sparql"))
    return isinstance(shapes, str) and _QUERY.match(shapes) is not None


def _question(graph: GraphLike, query: Any, regime: Regime | None) -> Question:
    given = read_query(query)
    with given.naming():
        plan = find_plan(given.text, init_ns=namespaces(graph, None)).plan
    form = plan.query.form
    if form not in ("SELECT", "ASK"):
        raise UnsupportedQueryError(
            f"a guard is a SELECT that must stay empty, or an ASK that must stay false, got {form}",
            construct=form,
        )
    if any(isinstance(step.node, algebra.Slice) for step in plan.steps):
        raise UnsupportedQueryError(
            "a guard with LIMIT or OFFSET would miss rows: leave them out",
            construct="LIMIT",
        )
    if regime is not None:
        refuse_quads(plan)
    return Question(given.text, plan, regime, prefixes=Prefixes(given.text, None, graph))


def _start_query(adapter: Adapter, graph: GraphLike, question: Question, receiver: Receiver) -> Subscription:
    query = question.plan.query
    header = Header(query.form, query.names, convert=adapter.from_native(), prefixes=question.prefixes)
    followed = Subscription(adapter, graph, question, (), header, receiver)
    start([followed])
    return followed


def _refused_results(
    validation: LiveValidation, severities: frozenset[str], delta: Delta
) -> ValidationError | None:
    rows = tuple(row for row in delta.added if _iri(row.severity) in severities)
    if not rows:
        return None
    text = _refused(len(rows), "result", validation.lines(rows[:_SHOWN]))
    return ValidationError(text, rows, (partial(validation.graph_of, rows),))


def _refused_rows(question: Question, delta: Delta) -> ValidationError | None:
    rows = tuple(delta.added)
    if not rows:
        return None
    if question.plan.query.form == "ASK":
        text = f"the commit is refused, because this query would be true:\n  {_short(question.text)}"
        return ValidationError(text, rows)
    write = TermWriter(question.prefixes())
    lines = [
        ", ".join(f"?{name} = {write(term)}" for name, term in row.asdict().items() if term is not None)
        for row in rows[:_SHOWN]
    ]
    return ValidationError(f"{_refused(len(rows), 'row', lines)}\nof the query {_short(question.text)}", rows)


def _refused(count: int, noun: str, lines: Iterable[str]) -> str:
    listed = [f"  {line}" for line in lines]
    if count > _SHOWN:
        listed.append(f"  and {count - _SHOWN:,} more")
    head = f"the commit is refused, because it would add {count:,} {noun}{'s' * (count != 1)}:"
    return "\n".join([head, *listed])


def _iri(term: Any) -> str:
    """Return the text of an IRI of rdflib or pyoxigraph."""
    return str(getattr(term, "value", term))


def _short(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= 200 else f"{joined[:200]}…"
