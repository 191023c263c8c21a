"""The walks of a basic graph pattern, from one update to the solutions that it adds or removes: Algorithms 6
and 7 of Gergatsoulis and Damigos.

A walk starts at one pattern with the triple that matched it. It binds the other variables in the order that
the planner fixed for that pattern (its ordered array, Proposition 5) and appends one projected tuple per
solution. The patterns' access paths supply the neighbours. A centre whose triple match state is not full ends
the walk at once, because some pattern has no match there (Section 6.5).

A triple that matches several patterns of one query must yield each solution once. Example: the patterns `?a
:knows ?b . ?b :knows ?c` and the insert of `(x, knows, x)`. The triple is stored first, so the walk from
pattern 0 sees it for pattern 1 too and finds (x, x, x). The walk from pattern 1 finds the same solution and
skips it, because pattern 0 is mapped to the triple that the walk started with. A delete walks before it
discards the triple, so that both walks still see it.

The code of a walk is generated once for each shape. Queries that differ only in constants and variable names
share the code and have containers of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, MutableMapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final, TypeAlias

from rdflive.engine.pattern import PatternState, Walk, arguments, each
from rdflive.engine.relation import AskedPaths
from rdflive.engine.source import FunctionSource, bind
from rdflive.errors import BudgetError
from rdflive.query.bgp import Asked, TriplePattern, Variable
from rdflive.query.budget import Meter
from rdflive.query.decompose import OrderedArray

__all__ = ["WalkPlan", "compile_walk", "intersect"]


@dataclass(frozen=True, slots=True)
class WalkPlan:
    """The inputs of a walk: patterns over ids, their states, masks by centre, and the projection."""

    patterns: Sequence[TriplePattern | Asked]
    states: Sequence[PatternState]
    masks: dict[Variable | None, tuple[MutableMapping[Any, int], int]]
    projection: Sequence[Variable]
    conditions: Sequence[tuple[Sequence[Variable], Callable[[tuple[int, ...]], bool]]]
    """Filters over several variables. Each runs once the last of its variables is bound (SPECTRA, Definition
    3.2).
    """
    path: Callable[[int, tuple[int, ...]], Any]
    """Return the access path of a pattern from some of its slots; create it if it is missing."""
    meter: Meter | None = None
    """Counts the rows that a walk reads, for a budget; None without one."""
    asked: AskedPaths | None = None
    """For a family: look-ups in its relation, which follows the patterns."""
    written: Written = field(init=False)
    """The generated walks for plans of this shape, by the pattern that they start at and, for walks of many
    triples, the earlier places of that pattern.
    """

    def __post_init__(self) -> None:
        if len(_written) >= _MOST:
            _written.clear()
        object.__setattr__(self, "written", _written.setdefault(_shape(self), {}))


Need: TypeAlias = Callable[[WalkPlan], object]
"""Returns the object that a name in the code of a walk stands for."""
Written: TypeAlias = dict[tuple[int, tuple[int, ...] | None], tuple[CodeType, tuple[Need, ...]]]
_MOST: Final = 1024
"""Shapes whose walks are kept; beyond that all are discarded."""
_written: Final[dict[tuple[Any, ...], Written]] = {}


def intersect(found: list[Any]) -> Collection[Any]:
    """Intersect the values of several access paths, smallest first; a single neighbour is a bare value."""
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


def _least(found: list[Any]) -> int:
    """Return the size of the smallest set to intersect; 0 if a bare value leaves nothing to do."""
    return min((len(values) if type(values) is set else 0 for values in found), default=0)


def compile_walk(plan: WalkPlan, array: OrderedArray, *, many: bool = False) -> Walk:
    """Generate and compile the walk of one ordered array.

    It skips solutions that map an earlier pattern to the same triple, because the walk of that pattern finds
    them.

    With `many` the walk takes triples that were inserted or deleted together, the list that collects
    solutions, and the set of these triples; see `batch`. It skips solutions that have a triple of the set
    where an earlier walk starts. A full evaluation starts from one pattern only, so it needs all and passes
    an empty set.
    """
    states = plan.states
    # the earlier places at which the same pattern occurs
    same = tuple(j for j in range(array.seed) if states[j] is states[array.seed]) if many else None
    key = array.seed, same
    found = plan.written.get(key)
    if found is None:
        found = plan.written[key] = _Writer(plan, array, same).write()
    code, needs = found
    return bind(code, [need(plan) for need in needs])


def _shape(plan: WalkPlan) -> tuple[Any, ...]:
    """Return all that the code of walks depends on."""
    numbers: dict[Any, int] = {}

    def number(term: Any) -> int:
        return numbers.setdefault(term, len(numbers))

    # variables first, so that their numbers distinguish them from constants
    variables = [v for pattern in plan.patterns for v in pattern.variables]
    count = len({number(v) for v in variables})
    comparisons = () if plan.asked is None else plan.asked.comparisons
    return (
        count,
        tuple([(type(pattern) is Asked, *map(number, pattern)) for pattern in plan.patterns]),
        tuple([-1 if centre is None else number(centre) for centre in plan.masks]),
        tuple([number(v) for v in plan.projection]),
        tuple([tuple(map(number, read)) for read, _ in plan.conditions]),
        plan.meter is not None,
        plan.asked is not None,
        plan.asked is not None and plan.asked.lister is not None,
        tuple([(number(one), operator, number(other)) for one, operator, other in comparisons]),
    )


class _Writer:
    def __init__(self, plan: WalkPlan, array: OrderedArray, same: tuple[int, ...] | None) -> None:
        self.plan = plan
        self.array = array
        self.same = same
        self.arguments = arguments(len(tuple(plan.patterns[array.seed])))
        given = (*self.arguments, "out") if same is None else ("triples", "out", "together")
        self.source = FunctionSource(f"def walk({', '.join(given)}):")
        self._relations = sum(isinstance(pattern, Asked) for pattern in plan.patterns)
        """Number of trailing patterns that are relations of requested values."""
        self.needs: list[Need] = []
        # distinct variables: for `?x :p ?x` the pattern's guard compares the two before any walk
        self.slots = [pattern.variables for pattern in plan.patterns]
        self.conditions = list(enumerate(variables for variables, _ in plan.conditions))
        # How the generated code skips: the innermost loop continues, and before the first loop the function
        # returns.
        self.fail = "return"
        self.found: dict[int, str] = {}
        """Pattern number → the local variable with the result of the pattern's access path."""
        seed = plan.patterns[array.seed]
        self.names: dict[Variable, str] = {}
        for argument, term in zip(self.arguments, seed, strict=True):
            if isinstance(term, Variable):
                self.names.setdefault(term, argument)

    def write(self) -> tuple[CodeType, tuple[Need, ...]]:
        if self.plan.meter is not None:
            self.source.enter("try:")
        if self.same is not None:
            self.source.enter(f"for {', '.join(self.arguments)} in triples:")
            self.fail = "continue"
        if self.plan.meter is not None:
            self._count("1")
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
        for j in range(self.array.seed):
            self._leave_to(j)
        row = "".join(f"{self.names[v]}, " for v in self.plan.projection)
        self.source.line(f"out.append(({row}))")
        if self.plan.meter is not None:
            # an update runs the walks of all plans in turn, and a stopped walk must not stop the others
            self.source.leave()
            error = self._name(lambda _: BudgetError)
            with self.source.block(f"except {error} as error:"):
                self.source.line(f"{self._name(_put_off)}(error)")
        return self.source.code, tuple(self.needs)

    def _name(self, need: Need) -> str:
        """Name an object that each plan has for itself."""
        self.needs.append(need)
        return self.source.name(None)

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
        asked = self.plan.asked
        # a walk from a member looks up by the parameters, which no other walk does
        if (
            asked is not None
            and self.plan.states[self.array.seed] is asked.relation.pattern
            and j < len(self.plan.patterns) - self._relations
            and bound
            and set(self.plan.patterns[self.array.seed]).issuperset(bound)
        ):
            return self._name(lambda plan: plan.asked.listed(plan.states[j], key))  # type: ignore[union-attr]
        return self._name(lambda plan: plan.path(j, key))

    def _demand_full(self, centres: Sequence[Variable | None]) -> None:
        """Skip unless the match state of each of these centres is full."""
        for centre in centres:
            if centre in self.plan.masks:
                at = list(self.plan.masks).index(centre)
                mask, full = self._name(_mask(at)), self._name(_full(at))
                # A ground pattern set has no centre; its star has one entry, under the empty tuple.
                value = "()" if centre is None else self.names[centre]
                # A pattern held by demand has no bits, and may be the only one with a value. The mask may
                # have bits of other stars too.
                self.source.line(f"if {mask}.get({value}, 0) & {full} != {full}: {self.fail}")

    def _loop(self, target: str, values: str) -> None:
        """Open a loop over `values`; the rest of the function is inside it."""
        self.source.enter(f"for {target} in {values}:")
        self.fail = "continue"

    def _count(self, rows: str, condition: str = "") -> None:
        """Count the rows that are read next, if there is a budget."""
        if self.plan.meter is not None:
            spend = f"{self._name(_spend)}({rows})"
            self.source.line(f"if {condition}: {spend}" if condition else spend)

    def _scan(self, j: int) -> None:
        """Bind variables that are not linked to bound ones, by listing every match of pattern j."""
        if self._fit(j):
            return
        slots = self.slots[j]
        if self._is_scanned(j):
            scan = self._name(lambda plan: plan.asked.scan(plan.states[j]))  # type: ignore[union-attr]
            self._loop(self._bind(slots), scan)
            self._count("1")
            return
        path = self._path(j, slots)
        self._count(f"len({path})")
        self._loop(self._bind(slots), path)

    def _is_scanned(self, j: int) -> bool:
        """Return True if walks list the graph for a member, so that matches of the pattern are not kept."""
        asked = self.plan.asked
        # an inserted triple finds the members by their comparison, and reads no other triple
        is_only = len(self.plan.patterns) == 2 and not isinstance(self.plan.patterns[j], Asked)
        return asked is not None and asked.lister is not None and is_only

    def _lookup(self, j: int) -> tuple[str, list[Variable]]:
        """Return the expression that looks up pattern j by its bound variables, and the variables that it
        binds.
        """
        slots = self.slots[j]
        bound = [v for v in slots if v in self.names]
        return f"{self._path(j, bound)}.get({self._tuple(bound)})", [v for v in slots if v not in bound]

    def _look_ahead(self) -> None:
        """Look up every path whose key is bound by now.

        A missing neighbour then ends the walk before it enters the loops of other patterns. Otherwise a walk
        would list all values of `?b` before it finds that `?c` has none.
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
        """Bind the open variables of pattern j, the only pattern that links them to bound ones."""
        if self._fit(j):
            return
        _, offered = self._lookup(j)
        # An access path holds a lone neighbour bare and several in a set, see `pattern.Neighbours`.
        found = self.found[j]
        self._count(f"len({found})", f"type({found}) is set")
        self._loop(self._bind(offered), f"({found} if type({found}) is set else ({found},))")

    def _fit(self, j: int) -> bool:
        """Bind ordered parameters by a comparison with a bound variable; return False if there is none."""
        asked = self.plan.asked
        if asked is None or self.plan.states[j] is not asked.relation.pattern:
            return False
        given = [v for v in self.slots[j] if v not in self.names]
        found = asked.fitting(
            given,
            self.names,
            lambda need: self._name(lambda plan: need(plan.asked)),  # type: ignore[arg-type]
            lambda asked: asked.place,
        )
        if found is None:
            return False
        ordered, values = found
        target = "(" + "".join(f"{self._bind((v,))}, " for v in ordered) + ")"
        self._loop(target, values)
        self._count("1")
        return True

    def _meet(self, variable: Variable, links: Sequence[int]) -> None:
        """Bind a variable that several patterns link to bound ones: intersect their neighbours."""
        names = [self.found[j] for j in links]
        # two patterns are the common case, so their intersection is inlined
        if len(names) == 2:
            a, b = names
            self._count(f"min(len({a}), len({b}))", f"type({a}) is set and type({b}) is set")
            lone = f"(({a},) if ({a} in {b} if type({b}) is set else {a} == {b}) else ())"
            both = f"({a} & {b} if type({b}) is set else ({b},) if {b} in {a} else ())"
            self._loop(self._bind((variable,)), f"({both} if type({a}) is set else {lone})")
            return
        lookups = ", ".join(names)
        self._count(f"{self._name(lambda _: _least)}([{lookups}])")
        helper = self._name(_intersect)
        self._loop(self._bind((variable,)), f"{helper}([{lookups}])")

    def _check(self, j: int) -> None:
        """Test a pattern whose variables are all bound."""
        slots = self.slots[j]
        asked = self.plan.asked
        if (
            len(slots) == 1
            and asked is not None
            and self.plan.states[j] is asked.relation.pattern
            and not isinstance(self.plan.patterns[self.array.seed], Asked)
            and any(slots[0] in pattern.variables for pattern in self.plan.patterns[: -self._relations])
        ):
            return  # triples with a value that no member requests are not routed here
        if len(slots) < 2 and (slots[0] if slots else None) in self.plan.masks:
            return  # implied by the full mask of its only variable, or of the ground pattern
        if len(slots) == 2:
            lookup = f"{self._path(j, slots[:1])}.get({self.names[slots[0]]})"
            offered = f"{self._name(_each)}({lookup})"
            self.source.line(f"if {self.names[slots[1]]} not in {offered}: {self.fail}")
        else:
            row = self._tuple(slots) if slots else "()"
            self.source.line(f"if {row} not in {self._path(j, slots)}: {self.fail}")

    def _filter(self) -> None:
        """Run the filters whose variables are all bound by now."""
        for number, variables in tuple(self.conditions):
            if all(v in self.names for v in variables):
                self.conditions.remove((number, variables))
                row = "".join(f"{self.names[v]}, " for v in variables)
                self.source.line(f"if not {self._name(_test(number))}(({row})): {self.fail}")

    def _leave_to(self, j: int) -> None:
        """Skip a solution that maps the earlier pattern j to this walk's triple: the walk of j finds it."""
        if isinstance(self.plan.patterns[self.array.seed], Asked):
            return  # it started from a member, not a triple
        if self.same is not None:
            # another pattern stores its own triples before or after this one, see `batch`
            if j in self.same:
                written = zip(self.arguments, self.plan.patterns[j], strict=True)
                names = [self.names[term] if isinstance(term, Variable) else given for given, term in written]
                self.source.line(f"if ({', '.join(names)}) in together: {self.fail}")
            return
        tests = []
        places = zip(self.arguments, self.plan.patterns[j], self.plan.patterns[self.array.seed], strict=True)
        for place, (argument, term, seeded) in enumerate(places):
            if isinstance(term, Variable):
                tests.append(f"{self.names[term]} == {argument}")
            elif isinstance(seeded, Variable):
                tests.append(f"{argument} == {self._name(_term(j, place))}")
            elif term != seeded:
                return  # two constants that differ: no triple matches both
        # A comparison of a name with itself is always true.
        tests = [test for test in tests if len(set(test.split(" == "))) > 1]
        self.source.line(f"if {' and '.join(tests) or 'True'}: {self.fail}")


# The functions for names. They take the plan as an argument, because plans of one shape share the code.


def _mask(at: int) -> Need:
    return lambda plan: list(plan.masks.values())[at][0]


def _full(at: int) -> Need:
    return lambda plan: list(plan.masks.values())[at][1]


def _test(number: int) -> Need:
    return lambda plan: plan.conditions[number][1]


def _term(j: int, place: int) -> Need:
    return lambda plan: tuple(plan.patterns[j])[place]


def _each(_: WalkPlan) -> object:
    return each


def _intersect(_: WalkPlan) -> object:
    return intersect


def _put_off(plan: WalkPlan) -> object:
    assert plan.meter is not None  # noqa: S101 - it is in the shape
    return plan.meter.put_off


def _spend(plan: WalkPlan) -> object:
    return plan.meter.spend  # type: ignore[union-attr]  # plans with a budget have one
