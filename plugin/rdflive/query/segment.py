"""The plan of a basic graph pattern: its segments, and the algorithm of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, Final, Literal, TypeAlias, get_args

from rdflive.errors import PlanError
from rdflive.query.algebra import Basic, Condition, Graph, reads
from rdflive.query.bgp import BGP, Asked, PatternClass, TriplePattern, Variable, VarOrTerm, classify
from rdflive.query.budget import Meter
from rdflive.query.decompose import (
    OrderedArray,
    connected_variable_decomposition,
    connected_variable_partition,
    ordered_array,
)

__all__ = [
    "ALGORITHMS", "Algorithm", "BasicPlan", "Segment", "SegmentAlgorithm", "make_segment", "plan_basic",
    "with_parameters",
]  # fmt: skip

SegmentAlgorithm: TypeAlias = Literal["ground", "star", "connected", "join"]
Algorithm: TypeAlias = Literal["auto", "demand", "whole", "ground", "star", "product", "connected", "join"]
State: TypeAlias = Literal["auto", "demand", "whole"]
ALGORITHMS: Final[tuple[Algorithm, ...]] = get_args(Algorithm)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a query that is maintained by itself; it shares no variable with other segments."""

    algorithm: SegmentAlgorithm
    patterns: tuple[TriplePattern, ...]
    variables: tuple[Variable, ...]
    projection: tuple[Variable, ...]
    centres: tuple[Variable | None, ...]
    """The centres that keep a triple match state; None is the state of a ground segment."""
    arrays: tuple[OrderedArray, ...]
    """One ordered array per pattern."""
    filters: tuple[tuple[Any, ...], ...]
    """Per pattern, the conditions over its variables only. They run before anything is stored.

    The engine replaces them by tests when it starts to maintain the segment.
    """
    conditions: tuple[Any, ...]
    """The other conditions. Each runs once the last of its variables is bound."""
    meter: Meter | None = None
    """Counts the costs of a plan with a budget."""
    asked: tuple[Variable, ...] = ()
    """The parameters of a family in this segment.

    If there are any, their relation is one more pattern, after the others, and has the last of the arrays.
    """
    rows: tuple[Variable, ...] = ()
    """The variables for which the rows of another step have values: the segment is joined with these, as with
    the parameters of members, and has the last of the arrays for them.
    """
    state: State = "auto"
    """`demand`: patterns hold only triples in demand (see `query.demand`); `whole`: all matches; `auto`:
    whichever costs less.
    """

    @property
    def joined(self) -> tuple[TriplePattern | Asked, ...]:
        """The patterns that walks go through, with the relations of parameters and of another step's rows."""
        return (*self.patterns, *(Asked(columns) for columns in (self.asked, self.rows) if columns))


@dataclass(frozen=True, slots=True)
class BasicPlan:
    """The plan of one basic graph pattern: its class, its segments, and the source of each column."""

    graph: Graph
    pattern_class: PatternClass
    algorithm: Algorithm
    """The algorithm that runs: the one segment's, or `product` over several."""
    segments: tuple[Segment, ...]
    columns: tuple[tuple[int, int], ...]
    """Per output column, the segment and the position in its projection."""
    distinct: bool
    """True if each row is needed only once."""
    residual: tuple[Condition, ...]
    """Filters over several segments, which must run above them."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithm of each segment, after `product` if segments are combined."""
        names = tuple(segment.algorithm for segment in self.segments)
        return ("product", *names) if self.algorithm == "product" else names


def with_parameters(
    basic: Basic, iris: frozenset[Variable]
) -> tuple[Basic, tuple[tuple[Variable, Variable], ...], tuple[Condition, ...]]:
    """Replace variables that filters compare with parameters by `=` by these parameters.

    If a parameter stands for an IRI, `?t = :T101` holds for that term only, so the members of `{ ?t :line ?l
    FILTER(?t = :T101) }` keep the same state as those of `{ :T101 :line ?l }`. Returns the pattern, the
    parameter of each replaced variable, and the other filters that read these.
    """
    # with a parameter as predicate, triples could not be routed to the members that they concern
    predicates = {pattern.predicate for pattern in basic.patterns}
    ends = {v.name: v for v in BGP(basic.patterns).variables if v.readable and v not in predicates}
    parameters = {v.name: v for v in basic.asked if v in iris}
    same: dict[VarOrTerm, Variable] = {}
    others: list[Condition] = []
    for condition in basic.conditions:
        _, operator, _ = getattr(condition, "relation", None) or ("", "", "")
        for end, parameter in permutations(condition.variables if operator == "=" else (), 2):
            if end in ends and parameter in parameters and ends[end] not in same:
                same[ends[end]] = parameters[parameter]
                break
        else:
            others.append(condition)
    patterns = tuple(
        replace(p, subject=same.get(p.subject, p.subject), object=same.get(p.object, p.object))
        for p in basic.patterns
    )
    kept = tuple(c for c in others if not any(ends[name] in same for name in c.variables if name in ends))
    above = tuple(c for c in others if c not in kept)
    renamed = tuple((v, same[v]) for v in ends.values() if v in same)
    return (replace(basic, patterns=patterns, conditions=kept) if same else basic), renamed, above


def plan_basic(
    basic: Basic, wanted: frozenset[Variable], algorithm: Algorithm = "auto", *, distinct: bool = False
) -> BasicPlan:
    """Decompose a basic graph pattern and choose its algorithms; a forced one must fit its class.

    `auto` uses the simplest algorithm for each segment of the connected-variable decomposition, and `product`
    requests the same by name. `join` maintains the whole pattern as one delta join without match states.
    `ground`, `star` and `connected` force one segment of that kind; with these and `join`, patterns hold all
    matches. `demand` and `whole` are `auto` with that `Segment.state`.
    """
    if algorithm not in ALGORITHMS:
        raise PlanError(f"unknown algorithm {algorithm!r}; choose one of {', '.join(ALGORITHMS)}")
    bgp = BGP(basic.patterns)
    partition = connected_variable_partition(bgp)
    pattern_class = classify(bgp, partition)
    forced: SegmentAlgorithm | None = None
    state: State = "auto"
    if algorithm == "auto" or algorithm == "product" or algorithm == "demand" or algorithm == "whole":
        state = "auto" if algorithm == "product" else algorithm
        parts = connected_variable_decomposition(bgp, partition)
        groups = [*([parts.ground] if parts.ground else []), *parts.segments]
    else:
        _demand(algorithm, bgp, pattern_class)
        groups, forced = [bgp.patterns], algorithm
    asked: list[tuple[Variable, ...]] = [()] * len(groups)
    if basic.asked:
        groups, asked = _linked(groups, basic.asked)
    variables = [_variables(group, of) for group, of in zip(groups, asked, strict=True)]
    names = [{v.name for v in own if v.readable} for own in variables]
    # a filter over two segments can only run on their product
    residual = tuple(c for c in basic.conditions if not any(have.issuperset(c.variables) for have in names))
    # so the segments must keep the columns that it reads
    wanted = wanted.union(*(reads(condition, basic.columns) for condition in residual))
    segments = tuple(
        make_segment(
            group,
            tuple(v for v in own if v in wanted),
            forced,
            [c for c in basic.conditions if c not in residual and have.issuperset(c.variables)],
            of,
            state,
        )
        for group, own, have, of in zip(groups, variables, names, asked, strict=True)
    )
    # if requested by name, over a single segment too
    used: Algorithm = "product"
    if algorithm != "product" and len(segments) < 2:
        used = segments[0].algorithm
    columns = tuple((i, j) for i, segment in enumerate(segments) for j in range(len(segment.projection)))
    return BasicPlan(basic.graph, pattern_class, used, segments, columns, distinct, residual)


def _linked(
    groups: Sequence[tuple[TriplePattern, ...]], asked: tuple[Variable, ...]
) -> tuple[list[tuple[TriplePattern, ...]], list[tuple[Variable, ...]]]:
    """Merge the patterns that the parameters link into one group, the last; return the parameters of each
    group.

    If they link none, they go to a group with variables, if there is one: its walks then list the members.
    """
    linked = [group for group in groups if not set(asked).isdisjoint(BGP(group).variables)]
    linked = linked or [group for group in groups if BGP(group).variables][:1]
    rest = [group for group in groups if group not in linked]
    return [*rest, tuple(p for group in linked for p in group)], [*([()] * len(rest)), asked]


def _variables(patterns: tuple[TriplePattern, ...], asked: tuple[Variable, ...]) -> tuple[Variable, ...]:
    return tuple(dict.fromkeys((*BGP(patterns).variables, *asked)))


def _demand(algorithm: SegmentAlgorithm, bgp: BGP, pattern_class: PatternClass) -> None:
    """Refuse an algorithm that cannot run a pattern of this class."""
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


def make_segment(
    patterns: tuple[TriplePattern, ...],
    projection: tuple[Variable, ...],
    algorithm: SegmentAlgorithm | None = None,
    conditions: Sequence[Condition] = (),
    asked: tuple[Variable, ...] = (),
    state: State = "auto",
) -> Segment:
    """Plan one segment, without `algorithm` by the simplest one that fits.

    Parameters of a family (`asked`) count as the constants that they stand for.

    A condition is pushed to every pattern that has all of its variables (SPECTRA, Definition 3.2).

    If forced, `connected` keeps a match state for every centre of several patterns. Otherwise it keeps one
    only from three open patterns on, where a walk could run through the neighbours in one pattern before it
    finds that another has none. With fewer, the first look-up finds this, and the states would cost 5 to 30 %
    (see docs/benchmarks.md).
    """
    variables = _variables(patterns, asked)
    free = tuple(v for v in variables if v not in asked)
    forced = algorithm is not None
    if algorithm is None:
        algorithm = "ground" if not free else "star" if len(free) == 1 else "connected"
    centres: tuple[Variable | None, ...] = ()
    if algorithm == "connected":
        centres = tuple(v for v in free if _keeps_state(v, patterns, forced=forced))
    elif algorithm != "join" and not asked:
        centres = (None,) if algorithm == "ground" else free
    filters = tuple(
        tuple(c for c in conditions if reads(c, p.variables) == reads(c, variables)) for p in patterns
    )
    left = tuple(c for c in conditions if not any(c in pushed for pushed in filters))
    segment = Segment(
        algorithm, patterns, variables, projection, centres, (), filters, left, asked=asked,
        state="whole" if forced else state,
    )  # fmt: skip
    arrays = tuple(ordered_array(segment.joined, seed) for seed in range(len(segment.joined)))
    return replace(segment, arrays=arrays)


def _keeps_state(centre: Variable, patterns: tuple[TriplePattern, ...], *, forced: bool) -> bool:
    """Return True if a centre keeps a match state, by the number of its patterns that have another
    variable.
    """
    star = [pattern for pattern in patterns if centre in pattern.variables]
    if forced:
        return len(star) > 1
    return sum(len(pattern.variables) > 1 for pattern in star) > 2
