"""The walks of a basic graph pattern, from one update to the solutions that it makes or ends: Algorithms 6
and 7 of Gergatsoulis and Damigos.

A walk starts at one pattern with the triple that matched it. It binds the other variables in the order that
the planner fixed for that pattern (its ordered array, Proposition 5) and appends one projected tuple per
solution. Neighbours come from the patterns' access paths. A centre whose triple match state is not full ends
the walk at once, because some pattern has no match there (Section 6.5).

A triple that matches several patterns of one query must yield each solution once. Example: the patterns `?a
:knows ?b . ?b :knows ?c` and the insert of `(x, knows, x)`. The triple is stored first, so the walk from
pattern 0 sees it for pattern 1 too and gives (x, x, x). The walk from pattern 1 finds the same solution and
skips it, because pattern 0 is mapped to the very triple that the walk began with. For a delete the order is
reversed, walk first and clear after, so that both walks still see the triple.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from rdflive.engine.pattern import PatternState, Walk, arguments, each
from rdflive.engine.ranges import Place
from rdflive.engine.relation import Lister, Relation
from rdflive.engine.source import Source
from rdflive.query.bgp import Asked, TriplePattern, Variable
from rdflive.query.budget import Meter
from rdflive.query.decompose import OrderedArray
from rdflive.query.expressions import TURNED, Expression
from rdflive.query.segment import Segment

__all__ = ["AskedPaths", "Scan", "WalkPlan", "comparisons_of", "compile_walk", "intersect"]


@dataclass(frozen=True, slots=True)
class AskedPaths:
    """What walks through a family's relation look up: in the relation, and in the graph itself."""

    relation: Relation
    place: Callable[[int], Place]
    """Gives the place of an id in the order of values."""
    comparisons: tuple[tuple[Variable, str, Variable], ...]
    """Parameters that are compared with variables, such as `?limit < ?minutes`: they are kept in order."""
    listed: Callable[[PatternState, tuple[int, ...]], Any]
    """Give a look-up in the graph, from slots that are parameters to the other slots of a pattern.

    Only a member that comes or goes needs it, so no path is kept for that.
    """
    lister: Lister | None
    """Lists the graph for members, in the place of an only pattern's matches, which are not kept either; None
    where the graph may be ahead of what the members know.
    """
    scans: list[Scan] = field(default_factory=list)
    """What lists the graph so."""

    def fitting(
        self,
        source: Source,
        given: Sequence[Variable],
        names: Mapping[Variable, str],
        place: Callable[[Any], Place],
    ) -> tuple[Sequence[Variable], str] | None:
        """Write what lists the tuples for which a comparison with a variable that has a name may hold.

        `place` gives the place of what has the name. Gives the order of the parameters with the text; None
        where there is no such comparison.
        """
        slots = self.relation.columns
        fitting = (c for c in self.comparisons if c[0] in given and c[2] in names)
        comparison = next(fitting, None)
        if comparison is None:
            return None
        parameter, operator, variable = comparison
        bound = [v for v in slots if v in names]
        given = sorted(given, key=lambda v: v != parameter)
        places = tuple(map(slots.index, bound)), tuple(map(slots.index, given))
        ranges = source.name(self.relation.ordered(*places, self.place))
        key = "(" + "".join(f"{names[v]}, " for v in bound) + ")"
        return given, f"{ranges}.fitting({key}, {operator!r}, {source.name(place)}, {names[variable]})"


class Scan:
    """Lists what the graph holds that matches a pattern, by its variables, for walks from members.

    Within a `with` block the graph is read once.
    """

    __slots__ = ("_listed", "_pattern", "_rows")

    def __init__(self, listed: Lister, pattern: PatternState) -> None:
        self._listed = listed
        self._pattern = pattern
        self._rows: list[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        rows = self._rows
        if rows is None:
            places = self._pattern.places
            # listed at once: what reads the rows may change the dictionary that a lister reads
            found = list(self._listed(self._pattern, {}))
            rows = list(map(itemgetter(*places), found))
        return iter(rows)

    def __enter__(self) -> None:
        self._rows = list(self)

    def __exit__(self, *_: object) -> None:
        self._rows = None


@dataclass(frozen=True, slots=True)
class WalkPlan:
    """What a walk needs: patterns over ids, their states, masks by centre, and the projection."""

    patterns: Sequence[TriplePattern | Asked]
    states: Sequence[PatternState]
    masks: dict[Variable | None, tuple[MutableMapping[Any, int], int]]
    projection: Sequence[Variable]
    conditions: Sequence[tuple[Sequence[Variable], Callable[[tuple[int, ...]], bool]]]
    """Filters over several variables: each runs where the last of its variables is bound (SPECTRA,
    Definition 3.2)."""
    path: Callable[[int, tuple[int, ...]], Any]
    """Give the access path of a pattern from some of its slots, making it where it is new."""
    meter: Meter | None = None
    """Is told of every row that a walk looks at."""
    asked: AskedPaths | None = None
    """For a family: its relation is the last of the patterns."""


def comparisons_of(segment: Segment) -> Iterator[tuple[Variable, str, Variable]]:
    """List the comparisons of a parameter with another variable, such as `?limit < ?minutes`."""
    columns = {v.name: v for v in segment.variables if v.readable}
    for condition in segment.conditions:
        found = condition.relation if isinstance(condition, Expression) else None
        if found is not None:
            operator = found[1]
            left, right = (columns.get(str(part)) for part in (found[0], found[2]))
            if left in segment.asked and right is not None:
                yield left, operator, right
            elif right in segment.asked and left is not None:
                yield right, TURNED[operator], left


def intersect(found: list[Any]) -> Collection[Any]:
    """Intersect what several access paths hold, smallest first; bare values stand for themselves."""
    sets = []
    bare: Any = None
    for values in found:
        if values is None:
            return ()
        if type(values) is set:
            sets.append(values)
        elif bare is None or bare == values:
            bare = values
        else:
            return ()
    if bare is not None:
        return (bare,) if all(bare in values for values in sets) else ()
    # The smallest set first: an intersection costs as many probes as its first operand has members.
    sets.sort(key=len)
    common: set[Any] = sets[0].intersection(*sets[1:])
    return common


def compile_walk(plan: WalkPlan, array: OrderedArray, *, once: bool = True) -> Walk:
    """Write and compile the walk of one ordered array.

    With `once`, solutions that map an earlier pattern to the same triple are skipped, because that pattern's
    own walk gives them. A full evaluation starts from one pattern only, so it needs all of them and passes
    False.
    """
    return _Writer(plan, array).write(once)


class _Writer:
    def __init__(self, plan: WalkPlan, array: OrderedArray) -> None:
        self.plan = plan
        self.array = array
        self.arguments = arguments(len(tuple(plan.patterns[array.seed])))
        self.source = Source(f"def walk({', '.join(self.arguments)}, out):")
        # distinct variables: in `?x :p ?x` the pattern's guard has compared the two before any walk
        self.slots = [pattern.variables for pattern in plan.patterns]
        self.conditions = list(plan.conditions)
        # How the generated code gives up: the innermost loop goes on with its next value, and before the
        # first loop the function returns.
        self.fail = "return"
        self.found: dict[int, str] = {}
        """Pattern number → the local variable that holds what the pattern's access path gave."""
        seed = plan.patterns[array.seed]
        self.names: dict[Variable, str] = {}
        for argument, term in zip(self.arguments, seed, strict=True):
            if isinstance(term, Variable):
                self.names.setdefault(term, argument)

    def write(self, once: bool) -> Walk:
        self._count()
        self._demand_full((None,) if None in self.plan.masks else tuple(self.names))
        for j in self.array.checks:
            self._check(j)
        self._look_ahead()
        self._filter()
        for step in self.array.steps:
            if step.scan:
                self._scan(step.links[0])
            elif len(step.links) == 1:
                self._follow(step.links[0])
            else:
                self._meet(step.binds[0], step.links)
            self._demand_full(step.binds)
            for j in step.checks:
                self._check(j)
            self._look_ahead()
            self._filter()
        if once:
            for j in range(self.array.seed):
                self._leave_to(j)
        row = "".join(f"{self.names[v]}, " for v in self.plan.projection)
        self.source.line(f"out.append(({row}))")
        walk: Walk = self.source.function("walk")
        return walk

    def _tuple(self, variables: Sequence[Variable]) -> str:
        names = [self.names[v] for v in variables]
        return names[0] if len(names) == 1 else "(" + ", ".join(names) + ")"

    def _bind(self, variables: Sequence[Variable]) -> str:
        for variable in variables:
            self.names[variable] = f"v{len(self.names)}"
        return self._tuple(variables)

    def _path(self, j: int, bound: Sequence[Variable]) -> str:
        slots = self.slots[j]
        key = tuple(slots.index(v) for v in bound)
        seed, asked = self.plan.patterns[self.array.seed], self.plan.asked
        # a walk from a member looks up what the parameters bind, which no other walk does
        if asked is not None and isinstance(seed, Asked) and bound and set(seed.variables).issuperset(bound):
            return self.source.name(asked.listed(self.plan.states[j], key))
        return self.source.name(self.plan.path(j, key))

    def _demand_full(self, centres: Sequence[Variable | None]) -> None:
        """Give up unless the match state of each of these centres is full."""
        for centre in centres:
            if centre in self.plan.masks:
                mask, full = map(self.source.name, self.plan.masks[centre])
                # A ground pattern set has no centre; its star has one entry, under the empty tuple.
                value = "()" if centre is None else self.names[centre]
                self.source.line(f"if {mask}[{value}] != {full}: {self.fail}")

    def _loop(self, target: str, values: str) -> None:
        """Write a loop over `values`; the rest of the function goes inside it."""
        self.source.enter(f"for {target} in {values}:")
        self.fail = "continue"
        self._count()

    def _count(self) -> None:
        if self.plan.meter is not None:
            self.source.line(f"{self.source.name(self.plan.meter.spend)}()")

    def _scan(self, j: int) -> None:
        """Bind variables that nothing bound so far is linked to, by listing every match of pattern j."""
        if self._fit(j):
            return
        slots = self.slots[j]
        self._loop(self._bind(slots), self._scanned(j) or self._path(j, slots))

    def _scanned(self, j: int) -> str:
        """Name what lists the graph for a member; empty where the matches of the pattern are kept."""
        asked = self.plan.asked
        # a triple that comes finds the members by what they compare with, and looks at no other triple
        is_only = len(self.plan.patterns) == 2 and not isinstance(self.plan.patterns[j], Asked)
        if asked is None or asked.lister is None or not is_only:
            return ""
        scan = Scan(asked.lister, self.plan.states[j])
        asked.scans.append(scan)
        return self.source.name(scan)

    def _lookup(self, j: int) -> tuple[str, list[Variable]]:
        """Give the expression that looks pattern j up by its bound variables, and the variables it then
        binds.
        """
        slots = self.slots[j]
        bound = [v for v in slots if v in self.names]
        return f"{self._path(j, bound)}.get({self._tuple(bound)})", [v for v in slots if v not in bound]

    def _look_ahead(self) -> None:
        """Look up every path whose key is bound by now.

        A missing neighbour then ends the walk before it enters the loops of other patterns. Without this, a
        walk would list all values of `?b` before it finds that `?c` has none.
        """
        will = set(self.names)
        for step in self.array.steps:
            if not step.scan:
                for j in step.links:
                    key = [v for v in self.slots[j] if v in will]
                    if j not in self.found and all(v in self.names for v in key):
                        lookup, _ = self._lookup(j)
                        name = self.found[j] = f"n{j}"
                        self.source.line(f"{name} = {lookup}")
                        self.source.line(f"if {name} is None: {self.fail}")
            will.update(step.binds)

    def _follow(self, j: int) -> None:
        """Bind the open variables of pattern j, the only pattern that links them to what is bound."""
        if self._fit(j):
            return
        _, offered = self._lookup(j)
        # An access path holds a lone neighbour bare and several in a set, see `pattern.Neighbours`.
        found = self.found[j]
        self._loop(self._bind(offered), f"({found} if type({found}) is set else ({found},))")

    def _fit(self, j: int) -> bool:
        """Bind parameters that are kept in order by a comparison with what is bound; false where none is."""
        asked = self.plan.asked
        if asked is None or not isinstance(self.plan.patterns[j], Asked):
            return False
        given = [v for v in self.slots[j] if v not in self.names]
        found = asked.fitting(self.source, given, self.names, asked.place)
        if found is None:
            return False
        ordered, values = found
        target = "(" + "".join(f"{self._bind((v,))}, " for v in ordered) + ")"
        self._loop(target, values)
        return True

    def _meet(self, variable: Variable, links: Sequence[int]) -> None:
        """Bind a variable that several patterns link to what is bound: their neighbours are intersected."""
        names = [self.found[j] for j in links]
        # Two patterns are the common case, so their intersection is written out instead of calling
        # `intersect`.
        if len(names) == 2:
            a, b = names
            lone = f"(({a},) if ({a} in {b} if type({b}) is set else {a} == {b}) else ())"
            both = f"({a} & {b} if type({b}) is set else ({b},) if {b} in {a} else ())"
            self._loop(self._bind((variable,)), f"({both} if type({a}) is set else {lone})")
            return
        lookups = ", ".join(names)
        helper = self.source.name(intersect)
        self._loop(self._bind((variable,)), f"{helper}([{lookups}])")

    def _check(self, j: int) -> None:
        """Test a pattern whose variables are all bound."""
        slots = self.slots[j]
        if len(slots) == 1 and isinstance(self.plan.patterns[j], Asked):
            return  # a triple with a value that nobody asks for is not routed here
        if len(slots) < 2 and (slots[0] if slots else None) in self.plan.masks:
            return  # the full mask of its only variable, or of the ground pattern, says so already
        if len(slots) == 2:
            lookup = f"{self._path(j, slots[:1])}.get({self.names[slots[0]]})"
            offered = f"{self.source.name(each)}({lookup})"
            self.source.line(f"if {self.names[slots[1]]} not in {offered}: {self.fail}")
        else:
            row = self._tuple(slots) if slots else "()"
            self.source.line(f"if {row} not in {self._path(j, slots)}: {self.fail}")

    def _filter(self) -> None:
        """Run the filters whose variables are all bound by now."""
        for variables, passes in tuple(self.conditions):
            if all(v in self.names for v in variables):
                self.conditions.remove((variables, passes))
                row = "".join(f"{self.names[v]}, " for v in variables)
                self.source.line(f"if not {self.source.name(passes)}(({row})): {self.fail}")

    def _leave_to(self, j: int) -> None:
        """Skip a solution that maps the earlier pattern j to this walk's triple: the walk of j gives it."""
        if isinstance(self.plan.patterns[self.array.seed], Asked):
            return  # it began with no triple
        tests = []
        for argument, term, seeded in zip(
            self.arguments, self.plan.patterns[j], self.plan.patterns[self.array.seed], strict=True
        ):
            if isinstance(term, Variable):
                tests.append(f"{self.names[term]} == {argument}")
            elif isinstance(seeded, Variable):
                tests.append(f"{argument} == {self.source.name(term)}")
            elif term != seeded:
                return  # two constants that differ: no triple matches both
        # A comparison of a name with itself is always true.
        tests = [test for test in tests if len(set(test.split(" == "))) > 1]
        self.source.line(f"if {' and '.join(tests) or 'True'}: {self.fail}")
