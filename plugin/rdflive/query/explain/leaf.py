"""A maintained basic graph pattern in words: its segments, their state, and the visits of an update."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rdflive.query.algebra import Condition, Graph, reads
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.decompose import OrderedArray, overlapping_subqueries_graph, star_decomposition
from rdflive.query.explain.names import VariableNames
from rdflive.query.explain.running import Kept
from rdflive.query.segment import BasicPlan, Segment

__all__ = ["ALGORITHMS", "leaf_lines"]

ALGORITHMS: Final = {
    "ground": "ground (Algorithm 1)",
    "star": "simple var-centric star (Algorithm 2)",
    "connected": "connected stars (Algorithms 5-7, grouped)",
    "join": "plain delta join",
}
_COSTS: Final = {
    "ground": "O(1): one bit, and one test of the match state",
    "star": "O(1) per pattern matched: one bit, and one test of the centre's match state",
    "connected": "one entry per access path; nothing more while a centre's match state is not full, "
    "else the walk of the pattern's ordered array: its solutions and the values it tries",
    "join": "one entry per access path, then the walk of the pattern's ordered array: its solutions and "
    "the values it tries",
}
_COMPARED: Final = "a search for the queries of the plan whose constant fits"


def leaf_lines(
    plan: BasicPlan,
    names: VariableNames,
    first_pattern: int,
    kept: Mapping[tuple[Graph, TriplePattern], Kept],
) -> Iterator[str]:
    """Describe how a basic graph pattern is maintained; its patterns are numbered from `first_pattern`."""
    yield f"class: {plan.pattern_class}"
    if plan.algorithm == "product":
        count = len(plan.segments)
        yield f"algorithm: product of {count} segments (Algorithm 3), listed only for a delta"
    for number, segment in enumerate(plan.segments, 1):
        yield f"segment {number}: {ALGORITHMS[segment.algorithm]}"
        own = [kept.get((plan.graph, pattern)) for pattern in segment.patterns]
        for line in _Words(segment, names, first_pattern, own).lines():
            yield f"  {line}"
        first_pattern += len(segment.patterns)
    yield f"above the segments: {_above(plan)}"


class _Words:
    """Describes one segment."""

    def __init__(
        self, segment: Segment, names: VariableNames, first_pattern: int, kept: Sequence[Kept | None]
    ) -> None:
        self.segment = segment
        self.names = names
        self.kept = kept
        self.patterns = [f"p{first_pattern + i}" for i in range(len(segment.patterns))]
        self.joined = [
            *self.patterns,
            *(["the requested values"] * (len(segment.joined) - len(self.patterns))),
        ]

    def lines(self) -> Iterator[str]:
        segment = self.segment
        for number, pattern, filters in zip(self.patterns, segment.patterns, segment.filters, strict=True):
            yield f"{number}: {self.names.pattern(pattern)}"
            for condition in filters:
                yield f"  filter {self.names.text(condition.text)}, before anything is cached"
        for i, condition in enumerate(segment.conditions, 1):
            where = "where the last variable is bound"
            if self._is_late(condition):
                where += ": queries with other constants share the plan"
            yield f"f{i}: filter {self.names.text(condition.text)}, {where}"
        if len(segment.patterns) > 1 and len(segment.variables) > 1:
            yield from self._stars()
            yield "ordered arrays, the visits of an update of each pattern:"
            for array in segment.arrays[: len(self.patterns)]:
                yield f"  {self.patterns[array.seed]}: {self._visits(array)}"
        yield f"cached: {'; '.join(self._cached()) or 'nothing'}"
        yield f"an update costs: {self._costs()}"

    def _is_late(self, condition: Condition) -> bool:
        """Return True if one pattern has all variables of a filter, so that a query by itself tests it
        sooner.
        """
        return any(
            reads(condition, pattern.variables) == reads(condition, self.segment.variables)
            for pattern in self.segment.patterns
        )

    def _costs(self) -> str:
        if self.segment.centres:
            return _COSTS[self.segment.algorithm]
        # without a match state nothing could save the walk
        if len(self.patterns) > 1:
            return _COSTS["join"]
        if self.segment.conditions:
            return f"one entry, and {_COMPARED}" if any(self.kept) else _COMPARED
        return "O(1): a matching triple is a solution"

    def _stars(self) -> Iterator[str]:
        stars = star_decomposition(self.segment.patterns)
        yield "stars:"
        overlaps = overlapping_subqueries_graph(stars)
        number = dict(zip(self.segment.patterns, self.patterns, strict=True))
        for star in stars:
            state = "match state" if star.centre in self.segment.centres else "no match state"
            others = self.names.variables(overlaps[star.centre], ", ")
            members = " ".join(number[pattern] for pattern in star.patterns)
            yield f"  {self.names.variable(star.centre)}: {members} ({state}; overlaps {others})"

    def _visits(self, array: OrderedArray) -> str:
        """Describe the steps of an ordered array: the variables that each binds, by which patterns, and its
        tests.
        """
        bound = set(self.segment.patterns[array.seed].variables)
        places = [", ".join(self._tests(array.checks, set(), bound))]
        for step in array.steps:
            how = "by a scan of" if step.scan else "by"
            links = " and ".join(self.joined[j] for j in step.links)
            before = frozenset(bound)
            bound.update(step.binds)
            tests = self._tests(step.checks, before, bound)
            places.append(", ".join([f"{self.names.variables(step.binds)} {how} {links}", *tests]))
        return ", then ".join(filter(None, places)) or "nothing else"

    def _tests(
        self, checks: tuple[int, ...], before: set[Variable] | frozenset[Variable], bound: set[Variable]
    ) -> list[str]:
        """Name the patterns and filters that are tested once variables are bound."""
        old, new = ({v.name for v in variables} for variables in (before, bound))
        tests = [self.joined[j] for j in checks]
        for number, condition in enumerate(self.segment.conditions, 1):
            # tested once, in the step that binds the last of its variables
            if new.issuperset(condition.variables) and not old.issuperset(condition.variables):
                tests.append(f"f{number}")
        return [f"test {' '.join(tests)}"] if tests else []

    def _cached(self) -> Iterator[str]:
        segment = self.segment
        if None in segment.centres:
            yield "one bit per pattern"
        elif segment.centres:
            yield "match states of " + self.names.variables([v for v in segment.centres if v], ", ")
        if count := self.kept.count("neighbours"):
            yield f"neighbours in {count} {'patterns' if count > 1 else 'pattern'}"
        if "matches" in self.kept:
            listed = (name for name, what in zip(self.patterns, self.kept, strict=True) if what == "matches")
            yield f"the matches of {', '.join(listed)}"


def _above(plan: BasicPlan) -> str:
    # as `engine.leaf.Leaf` decides: rows with all variables are distinct anyway
    repeats = any(len(segment.projection) < len(segment.variables) for segment in plan.segments)
    if plan.distinct and not any(segment.projection for segment in plan.segments) and repeats:
        return "a count of solutions"
    if len(plan.segments) > 1:
        return "the rows of each segment are kept"
    return "the count of each distinct row is kept" if plan.distinct and repeats else "nothing is kept"
