"""The state of a query's patterns in the plan that runs.

An explanation shows the plan of one query, with its constants. Queries that differ only in constants share a
plan (`rdflive.query.family`), which runs instead and may keep more. Example: `?t :line ?l ; :delay ?m
FILTER(?m > 5)` by itself keeps the delays above 5. Together with `FILTER(?m > 7)` all delays are kept,
because a later query may have a lower limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from rdflib import URIRef
from rdflib.term import Variable as SparqlVariable

from rdflive.query.algebra import Graph
from rdflive.query.bgp import Asked, TriplePattern, Variable, VarOrTerm
from rdflive.query.decompose import OrderedArray
from rdflive.query.demand import by_demand, whole
from rdflive.query.expressions import Expression
from rdflive.query.plan import Plan
from rdflive.query.segment import Segment

__all__ = ["Kept", "Running", "as_run"]

Kept: TypeAlias = Literal["neighbours", "matches"]
"""The contents of a pattern's access paths: neighbours by some of its variables, or only full matches."""


@dataclass(frozen=True, slots=True)
class Running:
    """The plan of one query as it runs, with its actual match states and filters."""

    plan: Plan
    kept: Mapping[tuple[Graph, TriplePattern], Kept]
    """The patterns that keep state beside match states."""


def as_run(
    plan: Plan,
    shared: Plan,
    terms: Sequence[VarOrTerm],
    *,
    lags: bool = False,
    is_whole: bool = False,
) -> Running:
    """Return the plan of one query with the state of the running `shared` one, whose parameters have these
    terms. With `lags` the plan is over windows, whose contents may be ahead of delivery. With `is_whole` no
    pattern is held by demand.
    """
    way = whole if is_whole else by_demand
    plan, shared = way(plan), way(shared)
    values = dict(zip(shared.parameters, terms, strict=True))
    others = [(basic.graph, segment) for basic in shared.basics for segment in basic.segments]
    kept: dict[tuple[Graph, TriplePattern], Kept] = {}
    steps = []
    for step in plan.steps:
        if step.basic is not None:
            segments = []
            for segment in step.basic.segments:
                found = _Counterpart.of(step.basic.graph, segment, others, values)
                segments.append(found.as_run())
                kept |= {(step.basic.graph, pattern): what for pattern, what in found.kept(lags=lags)}
            step = replace(step, basic=replace(step.basic, segments=tuple(segments)))
        steps.append(step)
    return Running(replace(plan, steps=tuple(steps)), kept)


@dataclass(frozen=True, slots=True)
class _Counterpart:
    """A segment of a query, and the segment of the shared plan with its patterns, perhaps among others."""

    segment: Segment
    other: Segment
    places: tuple[int, ...]
    """For each pattern of the segment, the number of its counterpart."""
    values: Mapping[Variable, VarOrTerm]
    """The constants of the other segment's parameters."""

    @classmethod
    def of(
        cls,
        graph: Graph,
        segment: Segment,
        others: list[tuple[Graph, Segment]],
        values: Mapping[Variable, VarOrTerm],
    ) -> _Counterpart:
        """Find the counterpart; the segment itself if the plan is not shared."""
        predicates = {getattr(pattern.predicate, "name", None) for pattern in segment.patterns}
        equal = {name: term for name, term in _equal(segment).items() if name not in predicates}
        for number, (its_graph, other) in enumerate(others if values else ()):
            places = _places(segment, other, values, equal) if _same(graph, its_graph, values) else None
            if places is not None:
                others.append(others.pop(number))  # of two with the same patterns each is found once
                return cls(segment, other, places, values)
        return cls(segment, segment, tuple(range(len(segment.patterns))), values)

    def as_run(self) -> Segment:
        """Return the segment with the match states of its counterpart, and with filters where it tests
        them.
        """
        early = tuple(
            tuple(condition for condition in filters if self._is_early(condition, place))
            for place, filters in zip(self.places, self.segment.filters, strict=True)
        )
        pushed = dict.fromkeys(condition for filters in self.segment.filters for condition in filters)
        late = tuple(condition for condition in pushed if not any(condition in left for left in early))
        centres = tuple(v for v in (None, *self.segment.variables) if self._keeps_state(v))
        conditions = (*late, *self.segment.conditions)
        return replace(self.segment, centres=centres, filters=early, conditions=conditions)

    def kept(self, *, lags: bool) -> Iterator[tuple[TriplePattern, Kept]]:
        """List the patterns with state, and its kind."""
        looked_up = set(_looked_up(self.other, lags=lags))
        for pattern, place in zip(self.segment.patterns, self.places, strict=True):
            if (place, False) in looked_up:
                yield pattern, "neighbours"
            elif (place, True) in looked_up:
                yield pattern, "matches"

    def _keeps_state(self, centre: Variable | None) -> bool:
        if centre is None:
            return None in self.other.centres
        pairs = (
            pair
            for pattern, place in zip(self.segment.patterns, self.places, strict=True)
            for pair in zip(pattern, self.other.patterns[place], strict=True)
        )
        return any(term == centre and its_term in self.other.centres for term, its_term in pairs)

    def _is_early(self, condition: Any, place: int) -> bool:
        """Return True if a filter runs before anything is kept: not if a parameter comes from elsewhere."""
        relation = condition.relation if isinstance(condition, Expression) else None
        if relation is None:
            return True
        own = self.other.patterns[place].variables
        return not any(value in relation[::2] and v not in own for v, value in self.values.items())


def _equal(segment: Segment) -> dict[str, VarOrTerm]:
    """List the variables that filters equate with an IRI: a shared plan has a parameter in their place."""
    found: dict[str, VarOrTerm] = {}
    for condition in (*chain.from_iterable(segment.filters), *segment.conditions):
        relation = condition.relation if isinstance(condition, Expression) else None
        one, operator, other = relation or ("", "", "")
        for variable, term in ((one, other), (other, one)) if operator == "=" else ():
            if isinstance(variable, SparqlVariable) and isinstance(term, URIRef):
                found[str(variable)] = term
    return found


def _places(
    segment: Segment,
    other: Segment,
    values: Mapping[Variable, VarOrTerm],
    equal: Mapping[str, VarOrTerm],
) -> tuple[int, ...] | None:
    """Find the patterns of a segment among those of another one; None if some are missing."""
    left = list(range(len(other.patterns)))
    places = []
    for pattern in segment.patterns:
        for place in left:
            pairs = zip(pattern, other.patterns[place], strict=True)
            if all(_same(term, its_term, values, equal) for term, its_term in pairs):
                left.remove(place)
                places.append(place)
                break
        else:
            return None
    return tuple(places)


def _same(
    term: VarOrTerm,
    its_term: VarOrTerm,
    values: Mapping[Variable, VarOrTerm],
    equal: Mapping[str, VarOrTerm] = MappingProxyType({}),
) -> bool:
    """Return True if a term of a shared plan is that of the query; variables without a name may differ."""
    its_term = values.get(its_term, its_term) if isinstance(its_term, Variable) else its_term
    if isinstance(term, Variable) and isinstance(its_term, Variable):
        return term == its_term or not (term.distinguished or its_term.distinguished)
    return term == its_term or (isinstance(term, Variable) and equal.get(term.name) == its_term)


def _looked_up(segment: Segment, *, lags: bool) -> Iterator[tuple[int, bool]]:
    """List the look-ups in the state of patterns: the number of the pattern, and true if all of its variables
    are bound.
    """
    for array in segment.arrays:
        seed = segment.joined[array.seed]
        # values of parameters are read from the graph itself when a member is added or removed
        is_member = isinstance(seed, Asked) and seed.variables == segment.asked
        unkept = frozenset(seed.variables if is_member else ())
        # and so are the matches of the only pattern
        if is_member and len(segment.joined) == 2 and not lags:
            continue
        for j, by in _look_ups(segment, array):
            if j < len(segment.patterns) and not (by and unkept.issuperset(by)):
                yield j, len(by) == len(segment.patterns[j].variables)
    for centre in segment.centres:
        for j, pattern in enumerate(segment.patterns):
            if centre in pattern.variables and len(pattern.variables) > 1:
                yield j, False


def _look_ups(segment: Segment, array: OrderedArray) -> Iterator[tuple[int, Sequence[Variable]]]:
    """List the look-ups of one walk, as `rdflive.engine.connected` writes them: the pattern, and its key."""
    bound = set(segment.joined[array.seed].variables)
    yield from _tests(segment, array.checks)
    for step in array.steps:
        for j in step.links:
            variables = segment.joined[j].variables
            yield j, variables if step.scan else [v for v in variables if v in bound]
        bound.update(step.binds)
        yield from _tests(segment, step.checks)


def _tests(segment: Segment, patterns: Sequence[int]) -> Iterator[tuple[int, Sequence[Variable]]]:
    for j in patterns:
        variables = segment.joined[j].variables
        # otherwise implied by the match state of its only variable
        if len(variables) > 1 or next(iter(variables), None) not in segment.centres:
            yield j, variables[:1] if len(variables) == 2 else variables
