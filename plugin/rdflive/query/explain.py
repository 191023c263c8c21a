"""What a plan is and costs, for people: text, Mermaid, and SVG in notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from rdflive.query.bgp import PatternClass, Term, TriplePattern, Variable, to_text
from rdflive.query.decompose import OrderedArray, overlapping_subqueries_graph, star_decomposition
from rdflive.query.picture import draw
from rdflive.query.plan import Plan
from rdflive.query.segment import Algorithm, Segment

__all__ = ["Explanation"]

_ALGORITHMS = {
    "ground": "ground (Algorithm 1)",
    "star": "simple var-centric star (Algorithm 2)",
    "connected": "connected stars (Algorithms 5-7, grouped)",
    "join": "plain delta join",
}
_COSTS = {
    "ground": "O(1): one bit, and one test of the match state",
    "star": "O(1) per pattern matched: one bit, and one test of the centre's match state",
    "connected": "one entry per access path; nothing more while a centre's match state is not full, "
    "else the walk of the pattern's ordered array: its solutions and the values it tries",
    "join": "one entry per access path, then the walk of the pattern's ordered array: its solutions and "
    "the values it tries",
}


class Explanation:
    """How a query is maintained. `str()` and `print` give text; a notebook shows the picture."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @property
    def pattern_class(self) -> PatternClass:
        """The class of the pattern in paper 001: ground, simple var-centric star, ..."""
        return self._plan.pattern_class

    @property
    def algorithm(self) -> Algorithm:
        """What maintains it: one segment's algorithm, or `product` of several."""
        return self._plan.algorithm

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return f"<Explanation: {self.pattern_class}, {self.algorithm}>"

    def mermaid(self) -> str:
        """Draw the decomposition as a Mermaid flowchart: one box per segment, edges are patterns."""
        lines = ["flowchart LR"]
        for number, segment in enumerate(self._plan.segments, 1):
            lines.append(f'  subgraph S{number}["{_ALGORITHMS[segment.algorithm]}"]')
            names: dict[Term, str] = {}
            for pattern in segment.patterns:
                ends = []
                for term in (pattern.subject, pattern.object):
                    if term not in names:
                        names[term] = f"s{number}n{len(names)}"
                        lines.append(f"    {names[term]}{_shape(term, segment)}")
                    ends.append(names[term])
                lines.append(f'    {ends[0]} -- "{_escape(pattern.predicate)}" --> {ends[1]}')
            lines.append("  end")
        return "\n".join(lines)

    def svg(self) -> str:
        """Draw the decomposition as an SVG image."""
        return draw(self._plan)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _lines(self) -> Iterator[str]:
        plan = self._plan
        query = plan.query
        shown = " ".join(f"?{name}" for name in query.names)
        distinct = "DISTINCT " if query.distinct else ""
        yield f"{query.form} {distinct}{shown}".rstrip()
        yield f"class: {plan.pattern_class}"
        if plan.algorithm == "product":
            count = len(plan.segments)
            yield f"algorithm: product of {count} segments (Algorithm 3), listed only for a delta"
        patterns = (pattern for segment in plan.segments for pattern in segment.patterns)
        numbers = {pattern: f"p{i}" for i, pattern in enumerate(patterns, 1)}
        for number, segment in enumerate(plan.segments, 1):
            yield f"segment {number}: {_ALGORITHMS[segment.algorithm]}"
            yield from _describe(segment, numbers)
        yield f"above the segments: {_above(plan)}"


Numbers: TypeAlias = dict[TriplePattern, str]


def _describe(segment: Segment, numbers: Numbers) -> Iterator[str]:
    for pattern in segment.patterns:
        yield f"  {numbers[pattern]}: {pattern}"
    stars = star_decomposition(segment.patterns)
    if len(stars) > 1:
        yield "  stars:"
        overlaps = overlapping_subqueries_graph(stars)
        for star in stars:
            state = "match state" if star.centre in segment.centres else "no match state"
            others = ", ".join(map(str, overlaps[star.centre]))
            members = " ".join(numbers[pattern] for pattern in star.patterns)
            yield f"    {star.centre}: {members} ({state}; overlaps {others})"
        yield "  ordered arrays, what an update of a pattern visits:"
        for array in segment.arrays:
            names = [numbers[pattern] for pattern in segment.patterns]
            yield f"    {names[array.seed]}: {_visits(array, names)}"
    yield f"  cached: {'; '.join(_cached(segment)) or 'nothing'}"
    walks_at_once = segment.algorithm == "connected" and not segment.centres
    yield f"  an update costs: {_COSTS['join' if walks_at_once else segment.algorithm]}"


def _visits(array: OrderedArray, names: list[str]) -> str:
    places = [f"test {names[j]}" for j in array.checks]
    for step in array.steps:
        how = "by a scan of" if step.scan else "by"
        place = f"{' '.join(map(str, step.binds))} {how} {' and '.join(names[j] for j in step.links)}"
        if step.checks:
            place += f", test {' '.join(names[j] for j in step.checks)}"
        places.append(place)
    return ", then ".join(places) or "nothing else"


def _cached(segment: Segment) -> Iterator[str]:
    if segment.algorithm == "ground":
        yield "one bit per pattern"
    elif segment.centres:
        yield "match states of " + ", ".join(map(str, segment.centres))
    followed = [p for p in segment.patterns if len(p.variables) > 1 and len(segment.patterns) > 1]
    if followed:
        yield f"neighbours in {len(followed)} patterns"
    elif segment.algorithm == "join" and len(segment.patterns) > 1:
        yield "the matches of each pattern"


def _above(plan: Plan) -> str:
    kept = "the rows of each segment are kept" if len(plan.segments) > 1 else "nothing is kept"
    if plan.query.form == "ASK":
        return "a count of solutions"
    repeats = any(len(s.projection) < len(s.variables) for s in plan.segments)
    if plan.query.distinct and repeats:
        return "the count of each distinct row is kept"
    return kept


def _shape(term: Term, segment: Segment) -> str:
    label = _escape(term)
    if term in segment.centres:
        return f'((("{label}")))'
    return f'(("{label}"))' if isinstance(term, Variable) else f'["{label}"]'


def _escape(term: Term) -> str:
    return to_text(term).replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
