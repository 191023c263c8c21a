"""Chooses which patterns hold only triples with values in demand, and the sources of the demand.

Example: in `:ann :knows ?y . ?y :likes ?t . ?t :in ?c` the first pattern is the *root*: it has a constant,
and holds all of its matches. Its values of ?y are the demand for the second, and the second's values of ?t
are the demand for the third.

In `:ann :knows ?y OPTIONAL { ?y :likes ?t }` the rows of the left side are the demand for the right side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import Final, TypeAlias

from rdflib.term import URIRef

from rdflive.query import algebra
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.decompose import ordered_array
from rdflive.query.plan import Plan, Step
from rdflive.query.segment import Segment

__all__ = ["ROWS", "Origin", "Origins", "by_demand", "chain", "is_whole", "whole"]

ROWS: Final = -1
"""The source of demand that is the rows of another step; see `Origin`."""
Given: TypeAlias = Mapping[Variable, int]
"""Columns of a step whose values are in demand, each with its place in the rows that request them."""
Origin: TypeAlias = tuple[int | None, int, int]
"""The source of the demand for a pattern: the number of another pattern of the segment, None for the
parameters of a family's members, or `ROWS`; the slot in the source (or the column); and the place of the
values in the triples of the pattern itself, 0 for the subject and 2 for the object.
"""
Origins: TypeAlias = Mapping[int, Sequence[Origin]]
"""By the number of a pattern, sources before the patterns that they feed. The first origin of a pattern finds
its triples, the others test them. Other patterns hold all of their matches.
"""


def chain(
    patterns: Sequence[TriplePattern],
    root: int | None,
    asked: Mapping[int, Sequence[Origin]],
    parameters: Collection[Variable] = (),
    rows: Sequence[Variable] = (),
) -> dict[int, list[Origin]]:
    """Propagate demand from the root to all patterns that share variables with it, directly or through
    others.

    Without a root it starts at the rows of another step, which have these columns. `asked` has the origins of
    the patterns that mention `parameters` of a family. Unreached patterns have only these origins.
    >>> x, y, z = map(Variable, "xyz")
    >>> chain([TriplePattern(y, "q", z), TriplePattern("a", "p", y), TriplePattern(z, "r", x)], 1, {})
    {0: [(1, 0, 0)], 2: [(0, 1, 0)]}
    """
    found: dict[int, list[Origin]] = {}
    bound: dict[Variable, tuple[int, int]] = {
        v: (ROWS, column) for column, v in enumerate(rows) if v not in parameters
    }

    def reach(j: int) -> None:
        if j in asked or j in found:
            found[j] = [*found.get(j, ()), *asked.get(j, ())]
        for slot, variable in enumerate(patterns[j].variables):
            if variable not in parameters:
                bound.setdefault(variable, (j, slot))

    if root is not None:
        reach(root)
    left = [j for j in range(len(patterns)) if j != root]
    while left:
        reached = {j: places for j in left if (places := _places(patterns[j], bound))}
        for j, places in reached.items():
            # one is enough: triples beyond the demand of the others do no harm
            variable, place = places[0]
            found[j] = [(*bound[variable], place)]
        # the parameters reach more patterns, if only a parameter is shared
        more = [*reached] or [j for j in left if j in asked][:1]
        if not more:
            break
        for j in more:
            reach(j)
        left = [j for j in left if j not in more]
    return found


def _places(pattern: TriplePattern, bound: Mapping[Variable, object]) -> list[tuple[Variable, int]]:
    """List the bound variables, and the places by which a store finds triples with them."""
    ends = ((pattern.subject, 0), (pattern.object, 2))
    return [(term, place) for term, place in ends if isinstance(term, Variable) and term in bound]


def whole(plan: Plan) -> Plan:
    """Let the patterns of a plan hold all of their matches, limited only by the parameters of members."""
    steps = tuple(
        step
        if step.basic is None
        else replace(
            step,
            basic=replace(
                step.basic,
                segments=tuple(replace(segment, state="whole") for segment in step.basic.segments),
            ),
        )
        for step in plan.steps
    )
    return replace(plan, steps=steps)


def is_whole(plan: Plan) -> bool:
    """Return True if the patterns of a plan hold all of their matches, limited only by parameters of
    members.
    """
    return all(segment.state == "whole" for basic in plan.basics for segment in basic.segments)


def by_demand(plan: Plan) -> Plan:
    """Let the rows of one input of a join, OPTIONAL, EXISTS or MINUS request those of the other.

    The requesting input has a constant, a parameter or VALUES, so its rows are few. The patterns of the other
    input are joined with the requested values, so that it has only these rows.
    """
    asking = _Asking(plan.steps)
    steps = [_without_states(step) for step in plan.steps]
    for number, step in enumerate(plan.steps):
        # `VALUES ?x { :a :b }` requests these terms, if no rows do
        rows = [values for segment in _segments(step) if (values := _values_in(segment)) is not None]
        if rows and number not in asking.found:
            asking.found[number] = len(steps), {rows[0].columns[0]: 0}
            steps.append(Step(rows[0], (), rows[0].columns))
    made = replace(plan, steps=tuple(steps))
    return _sorted(made, asking, len(plan.steps) - 1) if asking.found else made


class _Asking:
    """Finds the leaves of a plan whose rows other steps request."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._uses = Counter(below for step in steps for below in step.inputs)
        self._few: list[bool] = []
        """Per step, true if its rows are few, judged by constants."""
        for step in steps:
            self._few.append(self._has_few(step))
        self.found: dict[int, tuple[int, Given]] = {}
        """Per leaf, the requesting step, and the columns of its rows."""
        self.edges: set[int] = set()
        """The leaves whose rows a path above them requests."""
        # from above, because requested rows request others in turn
        for number in reversed(range(len(steps))):
            node, inputs = steps[number].node, steps[number].inputs
            if isinstance(node, algebra.Join | algebra.LeftJoin | algebra.Minus | algebra.Exists):
                left, right = inputs
                if self._few[left]:
                    self._ask(right, left, node.keys)
                elif self._few[right] and isinstance(node, algebra.Join):
                    self._ask(left, right, node.keys)
            elif isinstance(node, algebra.Closure) and len(inputs) > 1 and self._few[inputs[1]]:
                # reached nodes request the edges that lead on
                before = set(self.found)
                self._push(inputs[0], number, {node.source: 0})
                self.edges.update(set(self.found) - before)

    def _has_few(self, step: Step) -> bool:
        if step.basic is not None:
            return all(_has_constant(segment) or _values_in(segment) for segment in step.basic.segments)
        inputs = [self._few[below] for below in step.inputs]
        if not inputs or isinstance(step.node, algebra.Join):
            return not inputs or any(inputs)  # VALUES, and the parameters of members
        if isinstance(step.node, algebra.Union):
            return all(inputs)
        # of a path, the starts
        return inputs[-1 if isinstance(step.node, algebra.Closure) else 0]

    def _ask(self, number: int, source: int, columns: algebra.Columns) -> None:
        """Request the rows of a step by some columns of another, if no other step reads it."""
        of = self._steps[source].columns
        self._push(number, source, {v: of.index(v) for v in columns if v in of})

    def _push(self, number: int, source: int, given: Given) -> None:
        waiting: list[tuple[int, Given]] = [(number, given)]
        while waiting:
            number, given = waiting.pop()
            if not given or self._uses[number] > 1 or number in self.found:
                continue
            self._few[number] = True
            step = self._steps[number]
            if step.basic is not None:
                if any(_asked_of(segment, given) for segment in step.basic.segments):
                    self.found[number] = source, given
                continue
            waiting += zip(step.inputs, self._passed(step, given), strict=False)

    def _passed(self, step: Step, given: Given) -> list[Given]:
        """Return the columns that a step can request from its inputs, in order; nothing for later inputs."""
        node = step.node
        if isinstance(node, algebra.Project):
            sources = {v: node.source(v) for v in given}
            return [{old: given[v] for v, old in sources.items() if old is not None}]
        if isinstance(node, algebra.Join | algebra.Union):
            certain = [self._steps[below].node.certain for below in step.inputs]
            return [{v: at for v, at in given.items() if v in of} for of in certain]
        if isinstance(node, algebra.Slice | algebra.Closure | algebra.Construct):
            return []
        return [
            {v: at for v, at in given.items() if v in self._steps[below].columns} for below in step.inputs[:1]
        ]


def _has_constant(segment: Segment) -> bool:
    """Return True if a subject or an object is a constant or a parameter of a family."""
    ends = (end for pattern in segment.patterns for end in (pattern.subject, pattern.object))
    return any(not isinstance(end, Variable) or end in segment.asked for end in ends)


def _without_states(step: Step) -> Step:
    """Keep no match states for patterns held by demand, because most of their triples are in solutions."""
    if step.basic is None:
        return step
    segments = tuple(
        replace(segment, centres=())
        if segment.centres
        and len(segment.patterns) > 1
        and segment.state != "whole"
        and _has_constant(segment)
        else segment
        for segment in step.basic.segments
    )
    if segments == step.basic.segments:
        return step
    return replace(step, basic=replace(step.basic, segments=segments))


def _asked_of(segment: Segment, given: Given) -> algebra.Columns:
    """Return the variables of a segment that are given; none if a store finds no triples by them, or only by
    parameters of a family.
    """
    ends = {end for pattern in segment.patterns for end in (pattern.subject, pattern.object)}
    if segment.state == "whole" or (ends - {*segment.asked}).isdisjoint(given):
        return ()
    return tuple(v for v in segment.variables if v in given)


def _segments(step: Step) -> Sequence[Segment]:
    return () if step.basic is None else step.basic.segments


def _values_in(segment: Segment) -> algebra.Values | None:
    """Return the terms that a filter allows for a subject or an object, as rows."""
    if segment.state == "whole":
        return None
    for pattern, filters in zip(segment.patterns, segment.filters, strict=True):
        ends = {end.name: end for end in (pattern.subject, pattern.object) if isinstance(end, Variable)}
        for condition in filters:
            # exclusions are about predicates
            if not isinstance(condition, algebra.OneOf) or condition.name not in ends:
                continue
            # the store may write a literal in another way
            if all(isinstance(term, URIRef) for term in condition.terms):
                terms = sorted(condition.terms)
                return algebra.Values((ends[condition.name],), tuple((term,) for term in terms))
    return None


def _sorted(plan: Plan, asking: _Asking, last: int) -> Plan:
    """Sort the steps so that requesting steps come before the requested ones, except for paths."""
    found = asking.found
    below = {number: {*step.inputs} for number, step in enumerate(plan.steps)}
    for number in found.keys() - asking.edges:
        below[number].add(found[number][0])
    order = {number: at for at, number in enumerate(TopologicalSorter(below).static_order())}
    assert order[last] == len(plan.steps) - 1  # noqa: S101 - all others lead to it
    steps: list[Step] = []
    for number in order:
        step = plan.steps[number]
        step = replace(step, inputs=tuple(order[below] for below in step.inputs))
        if number in found:
            source, given = found[number]
            step = _with_rows(step, order[source], given)
        steps.append(step)
    return replace(plan, steps=tuple(steps))


def _with_rows(step: Step, source: int, given: Given) -> Step:
    assert step.basic is not None  # noqa: S101 - a leaf
    segments = []
    places = []
    for segment in step.basic.segments:
        rows = _asked_of(segment, given)
        places.append(tuple(given[v] for v in rows))
        if rows:
            joined = replace(segment, rows=rows, centres=())
            arrays = tuple(ordered_array(joined.joined, seed) for seed in range(len(joined.joined)))
            joined = replace(joined, arrays=arrays)
        segments.append(joined if rows else segment)
    return replace(step, basic=replace(step.basic, segments=tuple(segments)), asks=(source, tuple(places)))
