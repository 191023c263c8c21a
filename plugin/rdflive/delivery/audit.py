"""Audits: the answer that a subscription keeps, compared with an evaluation by the store's own engine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from time import process_time
from typing import Any, Final, Literal, TypeAlias

from rdflib.term import Node

from rdflive.delivery.question import Question
from rdflive.engine.multiset import TermWeights
from rdflive.query.auditing import agrees_exactly, why_not_audited
from rdflive.store import UNION, Adapter, Evaluating
from rdflive.syntax.reader import read_query
from rdflive.syntax.tree import Tree, too_deep

__all__ = [
    "Audit",
    "AuditPace",
    "AuditPlan",
    "AuditedAnswer",
    "Every",
    "Sample",
    "check_every",
    "compared",
    "why_not",
]

Every: TypeAlias = 'int | Literal["auto"]'
"""The number of commits between two audits; "auto" keeps their cost below a share of the processor time."""
_SHARE: Final = 0.02
_MOST: Final = 10
"""Solutions of each kind that a difference shows."""
_LONGEST: Final = 200
"""Characters of a term that are shown."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A number of solutions, and the first of them as text."""

    total: int = 0
    """The number of all solutions, with duplicates."""
    rows: tuple[str, ...] = ()
    """Up to ten different solutions, each with its terms in the order of the variables."""

    @classmethod
    def of(cls, weights: Mapping[Any, int]) -> Sample:
        """Take a sample, which does not depend on the order."""
        rows = nsmallest(_MOST, (_row_text(terms, weight) for terms, weight in weights.items()))
        return cls(sum(weights.values()), tuple(rows))

    def __str__(self) -> str:
        more = ["…"] if self.rows and len(self.rows) == _MOST else []
        return "\n".join([f"{self.total:,}", *(f"    {row}" for row in (*self.rows, *more))])


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit. `bool(audit)` is true if the kept answer is right."""

    query: str
    """The text of the query."""
    commit: int
    """The number of the commit whose answer was compared."""
    kept: Sample = field(default_factory=Sample)
    """The answer that the subscription kept."""
    expected: Sample = field(default_factory=Sample)
    """The answer that the query has on the same state."""
    missing: Sample = field(default_factory=Sample)
    """The solutions that the kept answer lacks."""
    surplus: Sample = field(default_factory=Sample)
    """The solutions that the kept answer has too much."""

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> Audit:
        """Return the audit with the members of `asdict`, as from JSON; raise KeyError and TypeError."""
        kept, expected, missing, surplus = (
            Sample(members[name]["total"], tuple(members[name]["rows"]))
            for name in ("kept", "expected", "missing", "surplus")
        )
        return cls(members["query"], members["commit"], kept, expected, missing, surplus)

    def __bool__(self) -> bool:
        return not (self.missing.total or self.surplus.total)

    def __str__(self) -> str:
        if self:
            solutions = "1 solution" if self.kept.total == 1 else f"{self.kept.total:,} solutions"
            return f"at commit {self.commit:,} the kept answer is right: {solutions}"
        return (
            f"at commit {self.commit:,} the kept answer is not the answer to the query\n{self.query}\n"
            f"missing: {self.missing}\ntoo much: {self.surplus}\n"
            f"kept answer: {self.kept}\nevaluated answer: {self.expected}"
        )


def compared(query: str, commit: int, kept: TermWeights, expected: TermWeights) -> Audit:
    """Compare two answers as multisets.

    >>> compared("ASK {}", 3, {(): 1}, {(): 1})
    Audit(query='ASK {}', commit=3, kept=Sample(total=1, rows=()), expected=Sample(total=1, rows=()), \
missing=Sample(total=0, rows=()), surplus=Sample(total=0, rows=()))
    """
    if kept == expected:
        total = Sample(sum(kept.values()))
        return Audit(query, commit, total, total)
    missing = {row: n - kept.get(row, 0) for row, n in expected.items() if n > kept.get(row, 0)}
    surplus = {row: n - expected.get(row, 0) for row, n in kept.items() if n > expected.get(row, 0)}
    return Audit(query, commit, *map(Sample.of, (kept, expected, missing, surplus)))


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What the store's engine needs to evaluate the query of a subscription. It can be pickled."""

    query: str
    tree: Tree
    names: tuple[str, ...]
    """The variables of a SELECT query."""
    bindings: Mapping[str, Node]
    """The terms of `initBindings`."""
    is_exact: bool
    """True if every difference is an error, because engines evaluate such a query alike. Otherwise rdflive
    must also find another answer when it reads the graph again.
    """

    @classmethod
    def of(cls, adapter: Adapter, graph: Any, question: Question, terms: tuple[Node, ...]) -> AuditPlan:
        """Return the plan for a question that can be audited: see `why_not`."""
        plan = question.plan
        bindings = {**plan.query.preset, **question.parameters(terms)}
        # engines disagree about triples that are in several graphs of a union
        is_exact = agrees_exactly(plan) and adapter.graph_key(graph) is not UNION
        tree = read_query(question.text, question.prefixes())
        is_exact = is_exact and not tree.query.datasetClause
        names = plan.query.names if plan.query.form == "SELECT" else ()
        return cls(question.text, tree, names, bindings, is_exact)

    def begin(self, adapter: Adapter, graph: Any) -> Callable[[], TermWeights | None]:
        """Begin the evaluation on the present state, under the store's lock.

        The same thread calls the result, without the lock, for the answer: None if the engine cannot evaluate
        the query.
        """
        # Oxigraph's parser could overflow its stack
        if not isinstance(adapter, Evaluating) or too_deep(self.tree) is not None:
            return lambda: None
        try:
            begun = adapter.evaluate(graph, self.tree, self.names, self.bindings)
        except Exception:  # noqa: BLE001 - each engine has errors of its own for what it cannot evaluate
            return lambda: None
        return lambda: self._listed(begun)

    def _listed(self, begun: Iterable[Sequence[Any]]) -> TermWeights | None:
        try:
            return self.comparable(Counter(map(tuple, begun)))
        except Exception:  # noqa: BLE001 - as in `begin`
            return None

    def judged(self, found: Audit, now: Audit) -> Audit:
        """Choose the result after a difference: the comparison with the store's engine, or `now` with rdflive
        reading the graph again, if engines may evaluate the query differently.
        """
        return found if self.is_exact else now

    def comparable(self, weights: Mapping[Any, int]) -> TermWeights:
        """Return an answer without the variables of `initBindings`, whose terms are known."""
        kept = [place for place, name in enumerate(self.names) if name not in self.bindings]
        if len(kept) == len(self.names) or not self.names:
            return dict(weights)
        found: Counter[Any] = Counter()
        for row, weight in weights.items():
            found[tuple([row[place] for place in kept])] += weight
        return dict(found)


@dataclass(frozen=True, slots=True)
class AuditedAnswer:
    """The answer that a subscription keeps after a commit, to be audited."""

    plan: AuditPlan
    commit: int
    answers: tuple[TermWeights, ...]
    """The answer by the state of the engine, and the sum of the deltas if that is another one."""

    def compared(self, expected: TermWeights) -> Audit:
        """Compare with an evaluation; the result is the first difference."""
        audits = [compared(self.plan.query, self.commit, kept, expected) for kept in self.answers]
        return next((audit for audit in audits if not audit), audits[0])


class _Share:
    """The share of the processor time that all audits at the pace "auto" have together."""

    free_at = 0.0
    """The processor time of this process at which the next audit may begin."""

    def take(self) -> bool:
        """True if an audit may begin; the next one then waits for `end`."""
        if process_time() < self.free_at:
            return False
        self.free_at = math.inf
        return True

    def end(self, seconds: float) -> None:
        """Record an audit that took so long."""
        self.free_at = process_time() + seconds / _SHARE


_share: Final = _Share()


class AuditPace:
    """Decides after which commits an audit is due.

    With "auto", an audit waits until this process has used 50 times the processor time of the last one,
    whichever subscription that was of.

    >>> pace = AuditPace(10, 3)
    >>> pace.is_due(12), pace.is_due(13)
    (False, True)
    >>> pace.done(15, 0.1)
    >>> pace.is_due(24)
    False
    """

    __slots__ = ("_every", "due")

    def __init__(self, every: Every, sequence: int) -> None:
        self._every = every
        self.due: float = sequence + (1 if every == "auto" else every)
        """The number of the commit after which an audit may be due."""

    def is_due(self, sequence: int) -> bool:
        """True if an audit is due after a commit; it must then be called off with `done`, once."""
        if sequence < self.due:
            return False
        if self._every == "auto" and not _share.take():
            return False
        self.due = math.inf
        return True

    def done(self, sequence: int, seconds: float) -> None:
        """Record the end of an audit that began after a commit and took `seconds` of processor time."""
        if self._every == "auto":
            _share.end(seconds)
            self.due = sequence + 1
        else:
            self.due = sequence + self._every


def check_every(audit: object) -> None:
    """Raise TypeError or ValueError for an option `audit=` that is no pace of audits.

    >>> check_every(0)
    Traceback (most recent call last):
    ValueError: audit must be a number of commits from 1, or 'auto', got 0
    """
    if audit is None or audit == "auto":
        return
    message = f"audit must be a number of commits from 1, or 'auto', got {audit!r}"
    if not isinstance(audit, int) or isinstance(audit, bool):
        raise TypeError(message)
    if audit < 1:
        raise ValueError(message)


def why_not(adapter: Adapter, question: Question) -> str:
    """Return the reason why a question cannot be audited; empty if it can."""
    if question.windowed is not None:
        return "its answer depends on windows, and the store's engine knows only the graph"
    if question.regime is not None:
        return "the store's engine does not entail triples"
    if not isinstance(adapter, Evaluating):
        return f"{type(adapter).__name__} has no method evaluate, by which the store answers queries"
    return why_not_audited(question.plan)


def _row_text(terms: Sequence[Any], weight: int) -> str:
    text = " ".join(map(_term_text, terms)) or "true"
    return text if weight == 1 else f"{text} ({weight:,} times)"


def _term_text(term: Any) -> str:
    text = "UNDEF" if term is None else term.n3() if isinstance(term, Node) else str(term)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
