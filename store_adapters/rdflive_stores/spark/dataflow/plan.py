"""Matching of a basic graph pattern on Spark: per triple pattern, the way of its changes along the stars.

The decomposition is that of `star_decomposition`. A change of a pattern goes from star to star (Definition
13) along the overlapping-subqueries graph (Section 6.5). At the centre of a star it is joined with all
patterns of the star at once. Patterns that no variable links (Definition 10) are joined in every bucket.

Example: `?t :delay ?m ; :nextStop ?s . ?s :city ?c`. A change of :delay goes to the bucket of ?t, where it is
joined with :nextStop, and then to the bucket of ?s, where it is joined with :city. A change of :city visits
the stars of ?s and then ?t.

A few classes may be the objects of all `rdf:type` triples. So a star at such an object is salted: 16 buckets
share the quads of that pattern by their subject, and each of them has all quads of the star's other patterns.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from rdflive.feeds.terms import write_term
from rdflive.query.planning import (
    BasicPlan,
    Columns,
    Condition,
    TriplePattern,
    Variable,
    overlapping_subqueries_graph,
    reads,
    star_decomposition,
)

__all__ = [
    "DEFAULT_GRAPH",
    "Arrangement",
    "MatchPlan",
    "MatchRoute",
    "MetPattern",
    "Pattern",
    "Shown",
    "SolutionTarget",
    "TermOrVariable",
    "Visit",
    "Way",
    "combine",
    "plan_matching",
    "whole_graphs",
]

TermOrVariable: TypeAlias = "str | int"
"""A constant as N-Triples text, or the number of a variable."""
DEFAULT_GRAPH: Final = ""
"""The text that represents the default graph."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A quad pattern: its four terms, and the filters over its variables alone."""

    places: tuple[TermOrVariable, TermOrVariable, TermOrVariable, TermOrVariable]
    filters: tuple[Condition, ...]

    @property
    def variables(self) -> tuple[int, ...]:
        """Its distinct variables, in order."""
        return tuple(dict.fromkeys(place for place in self.places if isinstance(place, int)))

    def place_of(self, variable: int) -> int:
        """Return the first position of a variable: 0 for the subject, up to 3 for the graph."""
        return self.places.index(variable)


@dataclass(frozen=True, slots=True, order=True)
class Arrangement:
    """The quads that a pattern matches, stored by the values of one variable; equal patterns share it.

    Its identity does not depend on the names and the order of one planning of the query.
    """

    match: tuple[str, ...]
    """The constants, and the variables numbered by position, as `?0`; then the filters."""
    key: int
    """The number of that variable; -1 if the quads are spread by their hash and joined in every bucket."""
    salt: str = ""
    """In a salted star, the variable that determines the bucket, or `*` for quads in each bucket."""


@dataclass(frozen=True, slots=True)
class MetPattern:
    """One pattern that rows are joined with at a centre."""

    pattern: int
    arrangement: int
    is_open: bool
    """True if it binds variables, False if it is only a test."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One star on the way of a change: the variable at its centre; None for a join in every bucket."""

    centre: int | None
    joins: tuple[MetPattern, ...]
    conditions: tuple[Condition, ...]
    """The filters whose last variable is bound here."""
    detour: int | None = None
    """The number of the way that rows with too many partners here take instead, before being joined."""


@dataclass(frozen=True, slots=True)
class Way:
    """The stars that changes of one pattern visit, in order."""

    seed: int
    """The pattern whose changes go this way."""
    visits: tuple[Visit, ...]


@dataclass(frozen=True, slots=True)
class MatchRoute:
    """The first destination of a pattern's matches."""

    pattern: int
    centre: int | None
    arrangement: int | None
    """The arrangement that they are added to there."""
    walks: bool
    """True if they start their way there."""


@dataclass(frozen=True, slots=True)
class SolutionTarget:
    """The destination of a basic graph pattern's solutions."""

    port: int
    spread: tuple[int | None, ...]
    """The positions of the columns that determine the bucket; None for a column that is unbound there."""
    is_alone: bool
    """True if no other rows go there, so that the hashes of the rows themselves can determine the bucket."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of a basic graph pattern's matches that is sent on."""

    columns: tuple[int, ...]
    """The variables of its solutions."""
    targets: tuple[SolutionTarget, ...] = ()


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """The plan of some basic graph patterns, each with its own variables."""

    names: tuple[str, ...]
    """The variables by number, as conditions read them. A blank node, which no condition reads, is `_:…`."""
    salts: tuple[int | None, ...]
    """For each variable, the one that salts the star at its centre; None if it is not salted."""
    patterns: tuple[Pattern, ...]
    ways: tuple[Way, ...]
    """The way of each pattern, then the detours."""
    arrangements: tuple[Arrangement, ...]
    routes: tuple[MatchRoute, ...]
    leaves: tuple[int, ...]
    """The basic graph pattern of each quad pattern."""
    shown: tuple[Shown, ...]
    """The solutions of each basic graph pattern."""

    def bound(self, way: int, number: int) -> tuple[int, ...]:
        """Return the variables that rows have bound before visit `number` of their way."""
        visits = self.ways[way].visits[:number]
        met = [self.ways[way].seed, *(join.pattern for visit in visits for join in visit.joins)]
        return tuple(dict.fromkeys(v for pattern in met for v in self.patterns[pattern].variables))

    @property
    def rounds(self) -> int:
        """The largest number of times that a row is sent on."""
        return max((len(way.visits) for way in self.ways), default=0)


def plan_matching(basic: BasicPlan, salted: Container[str] = ()) -> MatchPlan:
    """Plan a basic graph pattern; its solutions have the columns of the plan's segments.

    `salted` are predicates with few objects that have many subjects.
    """
    triples = [triple for segment in basic.segments for triple in segment.patterns]
    variables = tuple(dict.fromkeys(v for triple in triples for v in triple.variables))
    filters = [conditions for segment in basic.segments for conditions in segment.filters]
    patterns = tuple(
        _pattern(triple, basic.graph, conditions, variables)
        for triple, conditions in zip(triples, filters, strict=True)
    )
    later = [condition for segment in basic.segments for condition in segment.conditions]
    salts = {centre: salt for centre in variables if (salt := _salt(centre, triples, salted)) is not None}
    drafts = _Stars(triples, variables, later, salts).ways()
    salt_of = tuple(variables.index(salts[v]) if v in salts else None for v in variables)
    shapes = {
        (number, stop.centre): _arrangement(patterns[number], stop.centre, variables, salt_of)
        for _, stops in drafts
        for stop in stops
        for number, _ in stop.met
    }
    arrangements = tuple(sorted(set(shapes.values())))
    numbers = {key: arrangements.index(shape) for key, shape in shapes.items()}
    ways = tuple(Way(seed, tuple(stop.to_visit(numbers) for stop in stops)) for seed, stops in drafts)
    columns = tuple(variables.index(v) for segment in basic.segments for v in segment.projection)
    return MatchPlan(
        tuple(variable.name if variable.readable else str(variable) for variable in variables),
        salt_of,
        patterns,
        ways,
        arrangements,
        tuple(_routes(ways[: len(patterns)], numbers)),
        (0,) * len(patterns),
        (Shown(columns),),
    )


def whole_graphs(patterns: Iterable[Pattern]) -> tuple[Pattern, ...]:
    """Return, for each graph of some patterns, a pattern that matches all of its quads."""
    graphs = dict.fromkeys(pattern.places[3] for pattern in patterns)
    return tuple(Pattern((0, 1, 2, graph), ()) for graph in graphs)


def combine(plans: Sequence[MatchPlan]) -> MatchPlan:
    """Combine the plans of several patterns; equal patterns with equal filters share an arrangement."""
    if len(plans) == 1:
        return plans[0]
    arrangements = tuple(sorted({shape for plan in plans for shape in plan.arrangements}))
    names: list[str] = []
    salts: list[int | None] = []
    patterns: list[Pattern] = []
    leaves: list[int] = []
    shown: list[Shown] = []
    ways: list[Way] = []
    detours: list[Way] = []
    for leaf, plan in enumerate(plans):
        moved = _Moved(
            len(names),
            len(patterns),
            tuple(map(arrangements.index, plan.arrangements)),
            # detours follow the ways of all quad patterns
            sum(len(each.patterns) for each in plans) + len(detours) - len(plan.patterns),
        )
        patterns += map(moved.pattern, plan.patterns)
        leaves += [leaf] * len(plan.patterns)
        shown += [Shown(tuple(map(moved.variable, one.columns))) for one in plan.shown]
        own = [moved.way(way) for way in plan.ways]
        ways += own[: len(plan.patterns)]
        detours += own[len(plan.patterns) :]
        names += plan.names
        salts += [None if salt is None else moved.variable(salt) for salt in plan.salts]
    numbers = {
        (join.pattern, visit.centre): join.arrangement
        for way in (*ways, *detours)
        for visit in way.visits
        for join in visit.joins
    }
    return MatchPlan(
        tuple(names),
        tuple(salts),
        tuple(patterns),
        (*ways, *detours),
        arrangements,
        tuple(_routes(ways, numbers)),
        tuple(leaves),
        tuple(shown),
    )


class _Moved(NamedTuple):
    """The offsets of a plan's numbers within a plan of several patterns."""

    variables: int
    patterns: int
    arrangements: tuple[int, ...]
    detours: int

    def variable(self, number: int) -> int:
        return number + self.variables

    def pattern(self, pattern: Pattern) -> Pattern:
        s, p, o, g = (p + self.variables if isinstance(p, int) else p for p in pattern.places)
        return Pattern((s, p, o, g), pattern.filters)

    def way(self, way: Way) -> Way:
        return Way(way.seed + self.patterns, tuple(map(self._visit, way.visits)))

    def _visit(self, visit: Visit) -> Visit:
        joins = tuple(
            MetPattern(join.pattern + self.patterns, self.arrangements[join.arrangement], join.is_open)
            for join in visit.joins
        )
        centre = None if visit.centre is None else self.variable(visit.centre)
        detour = None if visit.detour is None else visit.detour + self.detours
        return Visit(centre, joins, visit.conditions, detour)


class _Front(NamedTuple):
    """The progress of a way: the bound variables, and the remaining patterns and filters."""

    bound: tuple[Variable, ...]
    waiting: tuple[int, ...]
    conditions: tuple[Condition, ...]


class _Stop(NamedTuple):
    """A visit before its arrangements are numbered."""

    centre: int | None
    met: tuple[tuple[int, bool], ...]
    """The patterns, each with True if it binds a variable."""
    conditions: tuple[Condition, ...]
    front: _Front
    """The progress of the way before the visit."""
    other: Variable | None = None
    """Another star that could be visited first."""
    detour: int | None = None

    def to_visit(self, numbers: Mapping[tuple[int, int | None], int]) -> Visit:
        joins = tuple(MetPattern(m, numbers[m, self.centre], is_open) for m, is_open in self.met)
        return Visit(self.centre, joins, self.conditions, self.detour)


class _Stars:
    """The stars of a pattern and how they overlap."""

    def __init__(
        self,
        triples: Sequence[TriplePattern],
        variables: Columns,
        conditions: Sequence[Condition],
        salts: Mapping[Variable, Variable],
    ) -> None:
        stars = star_decomposition(triples)
        self._triples = triples
        self._variables = variables
        self._conditions = tuple(conditions)
        self._salts = salts
        self._stars = {star.centre: star.patterns for star in stars}
        self._links = overlapping_subqueries_graph(stars)

    def ways(self) -> list[tuple[int, list[_Stop]]]:
        """Return the way of each pattern's changes, then the detours.

        Rows with too many partners at one star visit another star first. There they may have no partner at
        all or, in a cycle of patterns, fewer. Then that star binds the variables, and this one only tests.
        """
        ways = []
        for seed, triple in enumerate(self._triples):
            waiting = tuple(number for number in range(len(self._triples)) if number != seed)
            ways.append((seed, list(self._stops(_Front(triple.variables, waiting, self._conditions)))))
        # a copy: detours have no detours of their own
        for seed, stops in tuple(ways):
            for number, stop in enumerate(stops):
                if stop.other is not None:
                    stops[number] = stop._replace(detour=len(ways))
                    # joins nothing: rows change over at this visit, and continue with the next one
                    passed = stop._replace(met=(), conditions=())
                    ways.append((seed, [*stops[:number], passed, *self._stops(stop.front, stop.other)]))
        return ways

    def _stops(self, front: _Front, first: Variable | None = None) -> Iterator[_Stop]:
        """Yield the stars that rows visit from here, in order, with the patterns to join."""
        while front.waiting:
            centre = self._next(front) if first is None else first
            first = None
            bound, marked = list(front.bound), []
            for number in self._met(centre, front):
                new = [v for v in self._triples[number].variables if v not in bound]
                marked.append((number, bool(new)))
                bound.extend(new)
            met = {number for number, _ in marked}
            waiting = tuple(number for number in front.waiting if number not in met)
            due = tuple(c for c in front.conditions if reads(c, self._variables).issubset(bound))
            behind = _Front(tuple(bound), waiting, tuple(c for c in front.conditions if c not in due))
            place = None if centre is None else self._variables.index(centre)
            # a row that visits several buckets has partners in each, and no bucket knows all of them
            other = None if self._is_in_all(centre, front) else self._other(centre, front, behind)
            yield _Stop(place, tuple(marked), due, front, other)
            front = behind

    def _is_in_all(self, centre: Variable | None, front: _Front) -> bool:
        """True if a row visits all buckets of a salted star, because the salt is not bound yet."""
        salt = None if centre is None else self._salts.get(centre)
        return salt is not None and salt not in front.bound

    def _other(self, centre: Variable | None, front: _Front, behind: _Front) -> Variable | None:
        """Return another star that could be visited first, preferably one that binds the same variables."""
        new = set(behind.bound) - set(front.bound)
        waiting = sorted(behind.waiting, key=lambda i: new.isdisjoint(self._triples[i].variables))
        stars = (v for i in waiting for v in self._triples[i].variables if v in front.bound)
        return next((star for star in stars if star != centre), None)

    def _met(self, centre: Variable | None, front: _Front) -> list[int]:
        """Return the patterns of a star, tests first; without a linked star, the one that binds least."""

        def new(number: int) -> int:
            return sum(v not in front.bound for v in self._triples[number].variables)

        if centre is None:
            return [min(front.waiting, key=new)]
        # tests come first, since they only drop rows
        return sorted((i for i in front.waiting if self._triples[i] in self._stars[centre]), key=new)

    def _next(self, front: _Front) -> Variable | None:
        """Return the star with the most tests, then the most patterns, then the most neighbours.

        Stars that a row visits in several buckets come last.
        """

        def rank(centre: Variable) -> tuple[int, ...]:
            met = self._met(centre, front)
            tests = sum(all(v in front.bound for v in self._triples[i].variables) for i in met)
            return not self._is_in_all(centre, front), tests, len(met), len(self._links[centre])

        return max((v for v in front.bound if self._met(v, front)), key=rank, default=None)


def _pattern(
    triple: TriplePattern, graph: Any, filters: tuple[Condition, ...], variables: Columns
) -> Pattern:
    def place(term: Any) -> TermOrVariable:
        if isinstance(term, Variable):
            return variables.index(term)
        return DEFAULT_GRAPH if term is None else write_term(term)

    s, p, o = map(place, (triple.subject, triple.predicate, triple.object))
    return Pattern((s, p, o, place(graph if triple.graph is None else triple.graph)), filters)


def _salt(centre: Variable, triples: Sequence[TriplePattern], salted: Container[str]) -> Variable | None:
    """Return the variable that salts the star at a centre: the subject of its only salted pattern."""
    subjects = {
        triple.subject
        for triple in triples
        if triple.object == centre != triple.subject
        and isinstance(triple.subject, Variable)
        and not isinstance(triple.predicate, Variable)
        and write_term(triple.predicate) in salted
    }
    return subjects.pop() if len(subjects) == 1 else None


def _arrangement(
    pattern: Pattern, centre: int | None, variables: Columns, salts: Sequence[int | None]
) -> Arrangement:
    local = {variable: f"?{number}" for number, variable in enumerate(pattern.variables)}
    match = [local[place] if isinstance(place, int) else place for place in pattern.places]
    if pattern.filters:
        # the text of a filter has names of variables, so these belong to the identity
        match += [variables[v].name for v in pattern.variables]
        match += [condition.text for condition in pattern.filters]
    if centre is None:
        return Arrangement(tuple(match), -1)
    salt = salts[centre]
    salted = "" if salt is None else local.get(salt, "*")
    return Arrangement(tuple(match), pattern.variables.index(centre), salted)


def _routes(ways: Sequence[Way], numbers: Mapping[tuple[int, int | None], int]) -> Iterator[MatchRoute]:
    """Send matches of a pattern to its first star and to its arrangements, each fed by one pattern."""
    # equal patterns share an arrangement, which must receive each match once
    fed: set[int] = set()
    for pattern, way in enumerate(ways):
        feeds = {
            centre: number for (m, centre), number in numbers.items() if m == pattern and number not in fed
        }
        fed.update(feeds.values())
        starts = {way.visits[0].centre} if way.visits else set()
        # as texts, because one of them may be None
        for centre in sorted(feeds.keys() | starts, key=str):
            walks = centre in starts
            if centre is None and walks and None in feeds:  # stored in one bucket, but joined in every one
                yield MatchRoute(pattern, None, feeds[None], walks=False)
                yield MatchRoute(pattern, None, None, walks=True)
            else:
                yield MatchRoute(pattern, centre, feeds.get(centre), walks)
