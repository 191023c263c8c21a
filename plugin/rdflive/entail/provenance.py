"""The origin of a query's solutions: the explicit triples of the graph, or rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from rdflive.entail.entailment import Proof
from rdflive.errors import UnsupportedQueryError
from rdflive.model import Origin, TermPattern, Terms, Triple
from rdflive.query import algebra
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.plan import Plan

__all__ = ["Traced", "Tracer", "refuse_hidden"]

List: TypeAlias = Callable[[TermPattern], Iterable[tuple[Any, ...]]]
Bindings: TypeAlias = dict[str, Any]


class Traced(Protocol):
    """The source of matches: a graph or windows, with the entailed triples."""

    def explicit(self, pattern: TermPattern, /) -> Iterable[tuple[Any, ...]]:
        """List the explicit triples that match."""

    def entailed(self, pattern: TermPattern, /) -> Iterable[tuple[Any, ...]]:
        """List the triples that match a wanted pattern, explicit ones too."""

    def why(self, triple: Triple, /) -> list[Proof]:
        """Return proofs of a triple, the shortest first."""


class Tracer:
    """Finds the origin of each solution when it appears, and keeps it until the solution disappears.

    A solution is inferred if the explicit triples have no match for it. Its rules are then those of one match
    among the entailed triples. The origin is kept because the triples may be gone when the solution
    disappears.
    """

    def __init__(self, plan: Plan, to_native: Callable[[Any], Any]) -> None:
        _check(plan)
        self._names = plan.query.names
        self._patterns = [_native(pattern, to_native) for pattern in _patterns(plan)]
        self._preset = {name: to_native(term) for name, term in plan.query.preset.items()}
        self._known: dict[Terms, tuple[int, Origin]] = {}

    def trace(self, view: Traced, weights: Mapping[Terms, int], *, initial: bool) -> dict[Terms, Origin]:
        """Return the origin of each solution of a delta. The caller holds the store's lock.

        The first call must be for an initial delta, even if that delta is not delivered.
        """
        # An initial delta replaces the answer.
        if initial:
            self._known.clear()
        origins = {}
        for terms, weight in weights.items():
            count, origin = self._known.get(terms) or (0, self._origin(view, terms))
            origins[terms] = origin
            if count + weight:
                self._known[terms] = count + weight, origin
            else:
                self._known.pop(terms, None)
        return origins

    def origins(self) -> dict[Terms, Origin]:
        """Return the origin of each solution of the present answer."""
        return {terms: origin for terms, (_, origin) in self._known.items()}

    def _origin(self, view: Traced, terms: Terms) -> Origin:
        bound = zip(self._names, terms, strict=True)
        bindings = {**self._preset, **{name: term for name, term in bound if term is not None}}
        if next(_matches(self._patterns, bindings, view.explicit), None) is not None:
            return Origin(inferred=False)
        match = next(_matches(self._patterns, bindings, view.entailed), ())
        # A match may contain explicit triples, which have no rules.
        implied = [triple for triple in match if next(iter(view.explicit(triple)), None) is None]
        proofs = [view.why(triple)[:1] for triple in implied]
        rules = dict.fromkeys(rule for found in proofs for proof in found for rule in proof.rules)
        return Origin(inferred=True, rules=tuple(rules))


def _patterns(plan: Plan) -> Sequence[TriplePattern]:
    return [pattern for basic in plan.basics for segment in basic.segments for pattern in segment.patterns]


def _check(plan: Plan) -> None:
    """Raise UnsupportedQueryError unless each solution of the query is a match of one basic graph pattern."""
    row_wise = (algebra.Filter, algebra.Clocked, algebra.Extend, algebra.Project)
    passing = (algebra.Basic, *row_wise, algebra.Distinct)
    plain = all(isinstance(step.node, passing) for step in plan.steps) and len(plan.basics) == 1
    if plan.query.form != "SELECT" or not plain:
        raise UnsupportedQueryError(
            "provenance=True needs a SELECT of one basic graph pattern, with FILTER, BIND and DISTINCT",
            construct="provenance",
        )
    refuse_hidden(plan, "provenance")


def refuse_hidden(plan: Plan, option: str) -> None:
    """Raise UnsupportedQueryError if the query filters on a variable that it does not select.

    Matches are found again from the selected variables alone, so such a filter could not be applied to them.
    """
    shown = {*plan.query.names, *plan.query.preset}
    conditions = [c for basic in plan.basics for c in (*basic.residual, *_conditions(basic.segments))]
    read = {name for condition in conditions for name in condition.variables}
    read |= {name for step in plan.steps for e in step.node.expressions for name in e.variables}
    if hidden := sorted(read - shown):
        raise UnsupportedQueryError(
            f"{option}=True needs a query that selects every filtered variable; ?{hidden[0]} is not selected",
            construct=option,
        )


def _conditions(segments: Iterable[Any]) -> Iterator[Any]:
    for segment in segments:
        yield from segment.conditions
        for tests in segment.filters:
            yield from tests


def _native(pattern: TriplePattern, to_native: Callable[[Any], Any]) -> tuple[Any, ...]:
    return tuple(term if isinstance(term, Variable) else to_native(term) for term in pattern)


def _matches(
    patterns: Sequence[tuple[Any, ...]], bindings: Bindings, listed: List
) -> Iterator[tuple[Triple, ...]]:
    """List the matches of patterns that agree with the bindings, as triples. The pattern with most bound
    terms is matched first.
    """
    if not patterns:
        yield ()
        return

    def value(term: Any) -> Any:
        return bindings.get(term.name) if isinstance(term, Variable) else term

    first = min(patterns, key=lambda pattern: sum(value(term) is None for term in pattern))
    rest = [pattern for pattern in patterns if pattern is not first]
    s, p, o = map(value, first)
    for triple in listed((s, p, o)):
        found = dict(bindings)
        fits = True
        for term, part in zip(first, triple, strict=True):
            if isinstance(term, Variable):
                # a variable may occur twice, as in `?x :knows ?x`
                fits &= found.setdefault(term.name, part) == part
        if fits:
            head: Any = tuple(triple)
            for tail in _matches(rest, found, listed):
                yield (head, *tail)
