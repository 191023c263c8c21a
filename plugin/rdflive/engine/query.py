"""One maintained query, or family of queries: basic graph patterns at its leaves, and operators above them.

A family is one plan with parameters. Its members differ in the terms that they ask for, and a row of the last
operator belongs to the members that ask for what it has in the places of the parameters. A query without
parameters is a family too, whose members all ask for the empty tuple.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from heapq import heappop, heappush, nsmallest
from itertools import islice, product
from operator import itemgetter
from typing import Any, Final, TypeAlias, TypeVar

from rdflive.engine.asking import Asking
from rdflive.engine.build import Sorter, make_operator, make_sorter
from rdflive.engine.demand import Demand
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.kernel import SegmentState
from rdflive.engine.leaf import AskedLeaf, Leaf
from rdflive.engine.lone import Tell, is_lone, make_tell
from rdflive.engine.multiset import Row, TermWeights, Weights, add_up
from rdflive.engine.operators import ClockedOperator, Operator
from rdflive.engine.present import Present
from rdflive.engine.relation import Relation
from rdflive.engine.steps import line_of
from rdflive.engine.straight import Straight, make_straight
from rdflive.engine.terms import TermTable
from rdflive.errors import BudgetError
from rdflive.model import Term, Terms
from rdflive.query import algebra
from rdflive.query.bgp import Variable
from rdflive.query.budget import Budget, Meter
from rdflive.query.plan import Plan, Step

__all__ = ["Answers", "Found", "QueryState", "Take", "Use"]

Result = TypeVar("Result")

_MANY: Final = 16
"""A plan of more steps is large: to ask each whether its inputs changed would take longer than the rest."""
_ROWS: Final = 64
"""Rows that are turned into terms column by column."""
Take: TypeAlias = Callable[[int, Sequence[Weights]], Weights]
Answers: TypeAlias = dict[Row, TermWeights] | None
"""The answers of a query by what is asked for, without empty ones; None where they were not computed."""
Found: TypeAlias = tuple[dict[Row, TermWeights], bool]
"""The deltas of a query by what is asked for, and whether they are the whole answers."""


class Use(ABC):
    """One subscription of a query: what it asks for, and how it is told."""

    # a store may have a million of them
    __slots__ = ("asked", "budget", "query")

    query: QueryState
    """Set when it is added, as are `asked` and `budget`."""
    asked: Row
    """The ids of the terms that stand for the parameters of the plan."""
    budget: Budget | None
    """What it may cost."""

    @property
    @abstractmethod
    def terms(self) -> Sequence[Any]:
        """A term of the user's library for each parameter."""

    @abstractmethod
    def emit(self, weights: TermWeights, sequence: int, initial: bool, expired: TermWeights, /) -> None:
        """Take a delta, the number of its commit, whether it is the whole answer (an initial delta), and the
        solutions that were removed because time passed, each with its count. Called under the store's lock.
        """

    @staticmethod
    def emit_together(uses: Sequence[Use], weights: TermWeights, sequence: int, /) -> Sequence[Use]:  # noqa: ARG004
        """Queue one delta for subscriptions with the same parameters; gives those that need their own."""
        return uses

    def end(self, error: BudgetError) -> None:
        """End the subscription, because it would exceed its budget. Called under the store's lock.

        Raises the error for a subscription without a budget, which no commit can exceed.
        """
        raise error


class QueryState:
    """The leaves and operators of one query, one per step of its plan, and the subscriptions that use it."""

    __slots__ = (
        "_clocked", "_demand", "_dictionary", "_leaf", "_line", "_pick", "_readers", "_relations",
        "_sorter", "_straight", "_terms", "_uses", "asking", "changed", "every", "family", "is_large",
        "is_lone", "leaves", "meter", "operators", "plan", "present", "preset", "sample", "view_of", "views",
    )  # fmt: skip

    def __init__(
        self,
        plan: Plan,
        dictionary: Dictionary,
        terms: TermTable,
        to_native: Callable[[Any], Term],
        demand: Demand,
    ) -> None:
        self.plan = plan
        self._demand = demand
        self.sample: Row = ()
        """What some member asks for, set before the query begins."""
        self.view_of: Callable[[Any], Any] | None = None
        """Gives the view that a pattern looks at, by the graph that the pattern names."""
        self.views: list[Any] = []
        """The views that it looks at."""
        self.family: Hashable = None
        """What it is registered by, where others may share it."""
        self.every = False
        """Whether every report of its windows is told, also one without a change."""
        self._uses: dict[Row, Use | tuple[Use, ...]] = {}
        """By what they ask for: a lone use bare."""
        self.present: Present | None = None
        """What NOW() is; set before the query begins, where it has it."""
        self._clocked = plan.clocked
        self._line = line_of(plan) if dictionary.meter is None else ()
        """The steps from its only leaf on, where each is of the one before; none where a budget counts."""
        self.meter: Meter | None = None
        """Counts what the query costs, where it has a budget."""
        self._dictionary = dictionary
        self._terms = terms
        preset = {name: to_native(term) for name, term in plan.query.preset.items()}
        self.preset = tuple(preset.get(name) for name in plan.query.names)
        """Per projected variable, the term that the caller gave for it, if any."""
        self._pick = _picker(plan)
        self.is_large = len(plan.steps) > _MANY and not plan.parameters
        """Whether a commit looks at the steps that it reaches, and at no others."""
        self._readers: list[list[int]] = [[] for _ in plan.steps] if self.is_large else []
        """Of a large plan, per step those that read it."""
        if self.is_large:
            for number, step in enumerate(plan.steps):
                for below in dict.fromkeys((*step.inputs, *([] if step.asks is None else step.asks[:1]))):
                    self._readers[below].append(number)
        self.changed: set[int] = set()
        """The leaves of a large plan that have something to be drained."""
        self.renew()
        self._sorter: Sorter | None = make_sorter(plan, terms)
        first = self.leaves[0]
        self.is_lone = self._sorter is None and isinstance(first, Leaf) and is_lone(plan, first)
        """Whether its solutions are made of the terms of a triple; see `rdflive.engine.lone`."""

    def renew(self) -> None:
        """Start with new leaves and operators; the old ones may be half-way through a change."""
        steps = self.plan.steps
        self._relations: dict[tuple[Variable, ...], Relation] = {}
        self.leaves = [self._make_leaf(step) for step in steps]
        self.asking = Asking(self.plan, self.leaves, self._dictionary, self._demand)
        """What rows of other steps ask of the leaves."""
        leaf = self.leaves[0] if len(self.leaves) == 1 else None
        self._leaf = leaf if isinstance(leaf, Leaf) else None
        self.operators: list[Operator | None] = [None] * len(steps)
        self._straight: Straight | None = None
        """Takes one solution to what is told; made when it is first needed."""

    def _make_leaf(self, step: Step) -> Leaf | AskedLeaf | None:
        if isinstance(step.node, algebra.Parameters):
            return AskedLeaf(self.relation(step.node.columns))
        return None if step.basic is None else Leaf(step.basic, self._dictionary)

    def relation(self, columns: tuple[Variable, ...]) -> Relation:
        """Give what is asked for of some parameters."""
        found = self._relations.get(columns)
        if found is None:
            found = self._relations[columns] = Relation(columns, self.plan.parameters, self._demand)
        if self.sample:
            found.sample = found.part(self.sample)
        return found

    @property
    def uses(self) -> list[Use]:
        """The subscriptions of the query."""
        return [use for asked in self._uses for use in self.uses_of(asked)]

    @property
    def asked(self) -> list[Row]:
        """The distinct parameters of its subscriptions."""
        return list(self._uses)

    @property
    def members(self) -> int:
        """How many distinct parameters its subscriptions have; 1 where a plan has none."""
        return len(self._uses)

    def forget_uses(self) -> None:
        """Take all subscriptions out."""
        for asked in filter(None, self._uses):
            self._dictionary.drop(asked)
        self._uses.clear()

    def uses_of(self, asked: Row) -> tuple[Use, ...]:
        """Give the subscriptions with these parameters."""
        found = self._uses.get(asked, ())
        return (found,) if isinstance(found, Use) else found

    @property
    def is_used(self) -> bool:
        """True while the query has a subscription."""
        return bool(self._uses)

    def put(self, use: Use) -> bool:
        """Add a subscription; true for the first with its parameters."""
        found = self._uses.get(use.asked)
        if found is None:
            if use.asked:
                self._dictionary.hold(use.asked)
            self._uses[use.asked] = use
        else:
            self._uses[use.asked] = (*self.uses_of(use.asked), use)
        return found is None

    def remove(self, use: Use) -> bool:
        """Undo `put`; true for the last with its parameters."""
        left = tuple(other for other in self.uses_of(use.asked) if other is not use)
        if left:
            self._uses[use.asked] = left if len(left) > 1 else left[0]
        elif use.asked in self._uses:
            del self._uses[use.asked]
            if use.asked:
                self._dictionary.drop(use.asked)
            return True
        return False

    @property
    def is_stopped(self) -> bool:
        """True while nothing is maintained, as for a query that failed twice."""
        leaves = (leaf for leaf in self.leaves if isinstance(leaf, Leaf))
        return any(len(leaf.states) < len(leaf.plan.segments) for leaf in leaves)

    def has(self, use: Use) -> bool:
        """Tell whether a subscription is still there."""
        return use in self.uses_of(use.asked)

    @property
    def _keeps(self) -> bool:
        """True where the answers of members are kept, so that their rows must be put in and taken out."""
        return not self.is_lone and (self._leaf is None or bool(self._leaf.answers))

    def ask(self, asked: Sequence[Row], *, answer: bool = True) -> None:
        """Begin to maintain the answers for some parameters; `drain` gives them, unless `answer` is false.

        Where the store cannot be read, nothing changes.
        """
        walk = answer or self._keeps
        relations = self._relations.values()
        lists = [state.added for state in self.states] + [relation.added for relation in relations]
        before = [len(rows) for rows in lists]
        done: list[tuple[Row, Relation]] = []
        try:
            with self._reading(len(asked) if walk else 0):
                for row, relation in product(asked, relations):
                    relation.ask(row, walk=walk)
                    done.append((row, relation))
        except BaseException:
            for row, relation in reversed(done):
                relation.take_back(row)
            for rows, length in zip(lists, before, strict=True):
                del rows[length:]
            raise

    @contextmanager
    def _reading(self, members: int) -> Iterator[None]:
        """Have what lists the graph for members read it once for all of them."""
        with ExitStack() as stack:
            for state in self.states if members > 1 else ():
                asked = state.plan.asked
                for scan in () if asked is None else asked.scans:
                    stack.enter_context(scan)
            yield

    def tell(self, number: int, state: SegmentState, view: Any) -> Tell:
        """Make the function that takes what the terms of a triple bring to a segment of a leaf."""
        leaf = self.leaves[number]
        assert isinstance(leaf, Leaf)  # noqa: S101 - it has segments
        return make_tell(self, leaf, state, view, self._terms)

    def ask_again(self, asked: Row) -> TermWeights:
        """Give the answer for some parameters: all that was held for them is taken out and put back.

        So it costs what it touches, whereas `current` reads all that the patterns match. Until it returns the
        members with these parameters are not maintained.
        """
        self.leave(asked)
        self.ask([asked])
        return self.drain().get(asked, {})

    def leave(self, asked: Row) -> None:
        """Undo `ask` for some parameters, without reporting the rows that go."""
        for relation in self._relations.values():
            relation.leave(asked, walk=self._keeps)
        self.drain()

    @property
    def is_leaf(self) -> bool:
        """True when the query is one basic graph pattern, with nothing above it."""
        return self._leaf is not None

    @property
    def states(self) -> list[SegmentState]:
        """The segments of all leaves."""
        return [state for leaf in self.leaves if isinstance(leaf, Leaf) for state in leaf.states]

    def open(self, fill: Callable[[], Answers]) -> Answers:
        """Run `fill`, which starts the query; a query with a budget overrides this, and `join`."""
        return fill()

    def join(self, work: Callable[[], Result], use: Use) -> Result:  # noqa: ARG002
        """Run `work`, which adds a member."""
        return work()

    def exceeded(self) -> dict[Budget, BudgetError]:
        """Give the budgets of members that what the present commit cost exceeds."""
        return {}

    def load(self, solutions: Callable[[SegmentState], Iterable[Row]]) -> TermWeights:
        """Fill the operators from the whole answers of the leaves, and give the answer of the query."""
        self.operators, self._straight = self._make(), None
        current = partial(_current, solutions=solutions)
        rows = self._run(self.operators, partial(self.asking.take, take=current), first=True)
        self._note_due()
        return self._name(rows)

    def drain(self) -> dict[Row, TermWeights]:
        """Take the solutions that the segments found since the last commit, and what the present changes;
        gives deltas by parameters.
        """
        if self._line:
            found = self._drain_one(self._line)
            if found is not None:
                return found
        if self._leaf is not None:
            rows = self._leaf.drain()
        elif self.is_large:
            rows = self._run_changed()
        else:
            rows = self._run(self.operators, partial(self.asking.take, take=_drained), first=False)
        for relation in self._relations.values():
            relation.added.clear()
            relation.removed.clear()
        self._note_due()
        return self._by_use(rows)

    def _drain_one(self, line: tuple[int, ...]) -> dict[Row, TermWeights] | None:
        """Take the only solution that was found, as most commits bring one; None where there are others."""
        leaf = self.leaves[line[0]]
        assert isinstance(leaf, Leaf)  # noqa: S101 - a line begins with one
        if len(leaf.states) != 1:
            return None
        added, removed = leaf.states[0].added, leaf.states[0].removed
        if len(added) + len(removed) != 1:
            return None
        straight = self._straight
        if straight is None:
            straight = self._straight = make_straight(
                self.plan, leaf, self.operators, self._dictionary, self.preset
            )
        self.changed.clear()
        for relation in self._relations.values():
            relation.added.clear()
            relation.removed.clear()
        return straight(added.pop(), 1) if added else straight(removed.pop(), -1)

    def _by_use(self, rows: Weights) -> dict[Row, TermWeights]:
        """Turn rows into solutions, by what is asked for."""
        if not rows:
            return {}
        if not self.plan.parameters:
            named = self._name(rows)
            return {(): named} if named else {}
        parts: dict[Row, Weights] = {}
        for row, weight in rows.items():
            parts.setdefault(tuple(row[place] for place in self.plan.member), {})[row] = weight
        named_parts = {asked: self._name(part) for asked, part in parts.items()}
        return {asked: named for asked, named in named_parts.items() if named}

    def feed(self, leaves: list[Weights | None], *, first: bool) -> TermWeights:
        """Take the answers of the leaves from elsewhere: the `first` time whole, then deltas."""
        if first:
            self.operators, self._straight = self._make(), None
        return self._name(self._run(self.operators, lambda number, _: leaves[number] or {}, first=first))

    def current(
        self,
        solutions: Callable[..., Iterable[Row]],
        most: int | None = None,
        asked: Row = (),
        budget: Budget | None = None,  # noqa: ARG002 - of the member, for a query with one
    ) -> list[tuple[Terms, int]]:
        """List the whole answer with weights, in order where the query has one; of a family, one member's.

        With `most` only its first rows, so many if there are. Terms are looked up for these alone, and the
        solutions of one pattern without DISTINCT are searched for until there are enough.

        It is read from the last operator if that keeps its output. Otherwise the query is evaluated once
        more, with new operators, since those of the query must not see rows twice.
        """
        # Distinct, Group, Slice and Closure keep their output, which is that of all members.
        rows = getattr(self.operators[-1], "rows", None)
        # Where every pattern is one of the family's, a member's part is found without looking at the others.
        if rows is not None and not (asked and self._finds_members):
            kept = rows()
            if asked:
                places = self.plan.member
                kept = {row: kept[row] for row in kept if tuple([row[at] for at in places]) == asked}
            return self._list(self._cut(kept, most))
        solutions = partial(solutions, asked=asked)
        if self._leaf is not None:
            # which rows are the first shows only when all are there
            some = solutions if most is None or self._sorter else partial(solutions, most=most)
            return self._list(self._cut(_current(self._leaf, some, asked), most))
        operators = self._make()

        def current(number: int, _: Sequence[Weights]) -> Weights:
            leaf = self.leaves[number]
            return {} if leaf is None else _current(leaf, solutions, asked)

        try:
            return self._list(self._cut(self._run(operators, current, first=True), most))
        finally:
            _clear(operators)

    @property
    def _finds_members(self) -> bool:
        """Whether all patterns are joined with what members ask for, so that none is read whole for one."""
        return all(state.relation is not None for state in self.states)

    def _cut(self, rows: Weights, most: int | None) -> Weights:
        """Keep the first rows, in the order of the query."""
        if most is None or len(rows) <= most:
            return rows
        first = islice(rows, most) if self._sorter is None else nsmallest(most, rows, key=self._sorter)
        return {row: rows[row] for row in first}

    def clear(self) -> None:
        """Forget what the leaves and operators keep."""
        for leaf in self.leaves:
            if isinstance(leaf, Leaf):
                leaf.states.clear()
                for answer in leaf.answers:
                    answer.clear()
        for relation in self._relations.values():
            relation.reset()
        self.asking.clear()
        _clear(self.operators)

    def containers(self) -> list[Any]:
        """List the containers that cache something for this query, for measuring."""
        kept = [leaf.containers() for leaf in self.leaves if isinstance(leaf, Leaf)]
        kept += [operator.containers() for operator in self.operators if operator is not None]
        return [container for containers in kept for container in containers]

    def hits(self) -> int:
        """Count the matches of updates with patterns of this query, from before it began."""
        return sum(p.hits for p in dict.fromkeys(p for state in self.states for p in state.patterns))

    def _note_due(self) -> None:
        """Say when time changes the next row."""
        if self.present is not None and self._clocked:
            dues = [due for at in self._clocked if (due := self._due(self.operators[at])) is not None]
            self.present.note(self, min(dues, default=None))

    def _due(self, operator: Operator | None) -> int | None:
        return operator.due if isinstance(operator, ClockedOperator) else None

    def _late(self, operators: list[Operator | None]) -> list[int]:
        """List the steps that have rows which the present changes."""
        if self.present is None:
            return []
        now = self.present.now
        return [at for at in self._clocked if (due := self._due(operators[at])) is not None and due <= now]

    def _make(self) -> list[Operator | None]:
        return [
            None
            if leaf is not None
            else make_operator(step, self.plan, self._dictionary, self._terms, self.present)
            for step, leaf in zip(self.plan.steps, self.leaves, strict=True)
        ]

    def _run(self, operators: list[Operator | None], take: Take, *, first: bool) -> Weights:
        """Run every step whose inputs changed, or which time changes; the first time all of them.

        `take` gives the rows of a leaf, by its number and the rows of the steps before it.
        """
        results: list[Weights] = []
        late = self._late(operators)
        for number, (step, operator) in enumerate(zip(self.plan.steps, operators, strict=True)):
            if operator is None:
                results.append(take(number, results))
                continue
            inputs = [results[i] for i in step.inputs]
            # the first time also without a row: VALUES gives its rows, COUNT(*) a 0
            is_run = first or any(inputs) or number in late
            results.append(self._update(number, operators, inputs) if is_run else {})
        return results[-1]

    def _update(
        self, number: int, operators: Sequence[Operator | None], inputs: Sequence[Weights]
    ) -> Weights:
        """Run a step; those of an evaluation beside the query read what is asked for already."""
        operator = operators[number]
        assert operator is not None  # noqa: S101 - it is no leaf
        is_own = operators is self.operators
        return self.asking.update(number, operators, inputs) if is_own else operator.update(*inputs)

    def _run_changed(self) -> Weights:
        """Run the steps that the leaves which changed and the steps that time changes reach, inputs first."""
        results: dict[int, Weights] = {}
        queued = {*self.changed, *self._late(self.operators)}
        self.changed.clear()
        waiting = sorted(queued)
        steps, nothing = self.plan.steps, dict[Row, int]()
        while waiting:
            number = heappop(waiting)
            leaf, source = self.leaves[number], self.asking.source(number)
            if self.operators[number] is not None:
                inputs = [results.get(below, nothing) for below in steps[number].inputs]
                rows = self._update(number, self.operators, inputs)
            elif source is not None:
                rows = self.asking.follow(number, results.get(source, nothing))
            else:
                rows = leaf.drain() if leaf is not None else nothing
            if rows:
                results[number] = rows
                for reader in self._readers[number]:
                    if reader not in queued:
                        queued.add(reader)
                        heappush(waiting, reader)
        return results.get(len(steps) - 1, {})

    def _name(self, weights: Weights) -> TermWeights:
        """Turn rows into solutions; rows that differ only in columns that are not shown become one."""
        listed = self._list(weights)
        # Each row is one solution if all columns are shown.
        return dict(listed) if self._pick is not None else add_up(listed)

    def _list(self, weights: Weights) -> list[tuple[Terms, int]]:
        """Replace ids by terms and put the columns in the order of the projection, row by row."""
        rows = weights if self._sorter is None else sorted(weights, key=self._sorter)
        if self._pick is not None:
            term, pick = self._dictionary.terms.__getitem__, self._pick
            if len(weights) >= _ROWS and self.plan.places:  # by columns
                columns = [map(term, column) for column in zip(*map(pick, rows), strict=True)]
                return list(zip(zip(*columns, strict=True), map(weights.__getitem__, rows), strict=True))
            return [(tuple(map(term, pick(row))), weights[row]) for row in rows]
        terms = self._dictionary.terms
        shown = tuple(zip(self.plan.places, self.preset, strict=True))
        return [
            (tuple(fixed if place is None else terms[row[place]] for place, fixed in shown), weights[row])
            for row in rows
        ]


def _picker(plan: Plan) -> Callable[[Row], Iterable[int]] | None:
    """Make the function that puts a row in the order of the projection, if each column is shown once; else
    None.
    """
    places = [place for place in plan.places if place is not None]
    if len(places) != len(plan.places) or sorted(places) != list(range(len(plan.steps[-1].columns))):
        return None
    # one column or none comes here too; `itemgetter` would give a bare id, or refuse
    if places == sorted(places):
        return lambda row: row
    return itemgetter(*places)


def _current(
    leaf: Leaf | AskedLeaf, solutions: Callable[[SegmentState], Iterable[Row]], asked: Row = ()
) -> Weights:
    """Give the rows of a leaf; of a family's, those of one member, or of all."""
    if isinstance(leaf, Leaf):
        return leaf.current(solutions, kept=not asked)
    return {leaf.relation.part(asked): 1} if asked else dict.fromkeys(leaf.relation, 1)


def _drained(leaf: Leaf | AskedLeaf) -> Weights:
    return leaf.drain()


def _clear(operators: Iterable[Operator | None]) -> None:
    for operator in operators:
        if operator is not None:
            operator.clear()
