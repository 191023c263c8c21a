"""From a basic graph pattern to the segments that the engine maintains, and by which algorithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from rdflive.errors import PlanError
from rdflive.query.bgp import BGP, PatternClass, Term, TriplePattern, Variable, classify
from rdflive.query.decompose import (
    OrderedArray,
    connected_variable_decomposition,
    connected_variable_partition,
    ordered_array,
)
from rdflive.query.parse import ParsedQuery

__all__ = ["ALGORITHMS", "Algorithm", "Plan", "Segment", "SegmentAlgorithm", "make_plan", "make_segment"]

SegmentAlgorithm: TypeAlias = Literal["ground", "star", "connected", "join"]
Algorithm: TypeAlias = Literal["auto", "ground", "star", "product", "connected", "join"]
ALGORITHMS: Final[tuple[Algorithm, ...]] = get_args(Algorithm)


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a query that is maintained by itself: no variable is shared with other segments."""

    algorithm: SegmentAlgorithm
    patterns: tuple[TriplePattern, ...]
    variables: tuple[Variable, ...]
    projection: tuple[Variable, ...]
    centres: tuple[Variable | None, ...]
    """The centres that keep a triple match state; None is the state of a ground segment."""
    arrays: tuple[OrderedArray, ...]
    """One ordered array per pattern."""

    def bind(self, number: Callable[[Term], int]) -> Segment:
        """Replace every constant by its id."""
        patterns = tuple(
            TriplePattern(*(t if isinstance(t, Variable) else number(t) for t in pattern))
            for pattern in self.patterns
        )
        return Segment(self.algorithm, patterns, self.variables, self.projection, self.centres, self.arrays)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is maintained: its class, its segments, and where each output value comes from."""

    query: ParsedQuery
    pattern_class: PatternClass
    algorithm: Algorithm
    """What runs: the one segment's algorithm, or `product` over several."""
    segments: tuple[Segment, ...]
    columns: tuple[tuple[int, int] | None, ...]
    """Per projected variable the segment and place it comes from; None for one no pattern binds."""


def make_plan(query: ParsedQuery, algorithm: Algorithm = "auto") -> Plan:
    """Decompose a query and choose its algorithms; a forced one must fit the query's class.

    `auto` takes the smallest algorithm per segment of the connected-variable decomposition. `product`
    asks for the same by name. `join` maintains the whole pattern as one plain delta join without match
    states, `ground`, `star` and `connected` force one segment to run as such.
    """
    if algorithm not in ALGORITHMS:
        raise PlanError(f"unknown algorithm {algorithm!r}; choose one of {', '.join(ALGORITHMS)}")
    bgp = query.bgp
    partition = connected_variable_partition(bgp)
    pattern_class = classify(bgp, partition)
    names = query.names
    projected = tuple(v for v in bgp.variables if v.distinguished and v.name in names)
    if algorithm == "auto" or algorithm == "product":
        parts = connected_variable_decomposition(bgp)
        groups = [*([parts.ground] if parts.ground else []), *parts.segments]
        segments = tuple(
            make_segment(group, tuple(v for v in projected if v in BGP(group).variables)) for group in groups
        )
    else:
        _demand(algorithm, bgp, pattern_class)
        segments = (make_segment(bgp.patterns, projected, algorithm),)
    used: Algorithm = "product"
    if algorithm != "product" and len(segments) < 2:
        used = segments[0].algorithm if segments else "ground"
    return Plan(query, pattern_class, used, segments, _columns(names, segments))


def _demand(algorithm: SegmentAlgorithm, bgp: BGP, pattern_class: PatternClass) -> None:
    """Refuse an algorithm that the class of the query does not admit."""
    fits = {
        "ground": pattern_class == "ground" and bool(bgp.patterns),
        "star": pattern_class == "simple var-centric star",
        "connected": pattern_class in ("simple var-centric star", "var-connected"),
        "join": bool(bgp.patterns),
    }
    if not fits[algorithm]:
        possible = ", ".join(["product", *(name for name, fit in fits.items() if fit)])
        raise PlanError(
            f"algorithm {algorithm!r} does not apply to a {pattern_class} pattern; possible here: {possible}"
        )


def _columns(names: tuple[str, ...], segments: tuple[Segment, ...]) -> tuple[tuple[int, int] | None, ...]:
    places = {
        variable.name: (i, j)
        for i, segment in enumerate(segments)
        for j, variable in enumerate(segment.projection)
    }
    return tuple(places.get(name) for name in names)


def make_segment(
    patterns: tuple[TriplePattern, ...],
    projection: tuple[Variable, ...],
    algorithm: SegmentAlgorithm | None = None,
) -> Segment:
    """Plan one segment; without `algorithm` the smallest that fits its class is taken.

    `connected` keeps a match state for every centre of several patterns when it is forced. Left to
    itself it keeps one only where a walk could otherwise run through the neighbours in one open pattern
    before it finds that another has none: from three open patterns on. With fewer the first look-up
    tells as much, and the states cost 5 to 30 % (see docs/benchmarks.md).
    """
    variables = BGP(patterns).variables
    forced = algorithm is not None
    if algorithm is None:
        algorithm = "ground" if not variables else "star" if len(variables) == 1 else "connected"
    centres: tuple[Variable | None, ...] = ()
    if algorithm == "ground":
        centres = (None,)
    elif algorithm == "star":
        centres = variables
    elif algorithm == "connected":
        centres = tuple(v for v in variables if _keeps_state(v, patterns, forced=forced))
    arrays = tuple(ordered_array(patterns, seed) for seed in range(len(patterns)))
    return Segment(algorithm, patterns, variables, projection, centres, arrays)


def _keeps_state(centre: Variable, patterns: tuple[TriplePattern, ...], *, forced: bool) -> bool:
    """Decide whether a centre keeps a match state, by its patterns and those that are open."""
    star = [pattern for pattern in patterns if centre in pattern.variables]
    if forced:
        return len(star) > 1
    return sum(len(pattern.variables) > 1 for pattern in star) > 2
