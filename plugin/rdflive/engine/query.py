"""One maintained query, or family of queries: basic graph patterns as leaves, and operators above them.

A family is one plan with parameters. Its members differ in the terms that they have for the parameters. A row
of the last operator belongs to the members whose terms equal its values in the parameter columns. A query
without parameters is a family too, whose members all have the empty tuple.
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
from rdflive.engine.straight import Straight, line_of, make_straight
from rdflive.engine.terms import TermTable
from rdflive.errors import BudgetError
from rdflive.model import Term, Terms
from rdflive.query import algebra
from rdflive.query.bgp import Variable
from rdflive.query.budget import Budget, Meter
from rdflive.query.plan import Plan, Step
from rdflive.query.shared_budget import Account

__all__ = ["Answers", "Found", "QueryState", "Take", "Use"]

Result = TypeVar("Result")

_MANY: Final = 16
"""A plan of more steps is large: checking the inputs of each step would cost more than the rest."""
_ROWS: Final = 64
"""Least number of rows that are turned into terms column by column."""
Take: TypeAlias = Callable[[int, Sequence[Weights]], Weights]
Answers: TypeAlias = dict[Row, TermWeights] | None
"""The answers of a query by parameters, without empty ones; None if they were not computed."""
Found: TypeAlias = tuple[dict[Row, TermWeights], bool]
"""The deltas of a query by parameters, and true if they are full answers."""


class Use(ABC):
    """One subscription to a query: its parameters, and how it is notified."""

    # a store may have a million of them
    __slots__ = ("account", "asked", "budget", "query")

    query: QueryState
    """Set when the subscription is added, as are the others."""
    asked: Row
    """The ids of the terms for the parameters of the plan."""
    budget: Budget | None
    """The limits of its costs, without the account."""
    account: Account | None
    """The account of a shared budget."""

    @property
    @abstractmethod
    def terms(self) -> Sequence[Any]:
        """A term of the user's library for each parameter."""

    @abstractmethod
    def emit(self, weights: TermWeights, sequence: int, initial: bool, expired: TermWeights, /) -> None:
        """Deliver a delta. `sequence` is the number of its commit, and `initial` is true for the full answer.
        `expired` are the solutions that were removed because time passed, each with its count. Called under
        the store's lock.
        """

    @staticmethod
    def emit_together(uses: Sequence[Use], weights: TermWeights, sequence: int, /) -> Sequence[Use]:  # noqa: ARG004
        """Queue one delta for subscriptions with the same parameters; return those that need their own."""
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
        """The parameters of some member, set before the query starts."""
        self.view_of: Callable[[Any], Any] | None = None
        """Returns the view that a pattern reads, by the graph of the pattern."""
        self.views: list[Any] = []
        """The views that it reads."""
        self.family: Hashable = None
        """The key under which other subscriptions may share it."""
        self.every = False
        """True if every report of its windows is delivered, also those without a change."""
        self._uses: dict[Row, Use | tuple[Use, ...]] = {}
        """The subscriptions by their parameters: a single one without a tuple."""
        self.present: Present | None = None
        """The time of NOW(); set before the query starts, if it reads it."""
        self._clocked = plan.clocked
        self._line = line_of(plan) if dictionary.meter is None else ()
        """The steps from its only leaf on, if each reads the one before; empty with a budget."""
        self.meter: Meter | None = None
        """Counts the costs of the query, if it has a budget."""
        self._dictionary = dictionary
        self._terms = terms
        preset = {name: to_native(term) for name, term in plan.query.preset.items()}
        self.preset = tuple(preset.get(name) for name in plan.query.names)
        """Per projected variable, the term that the caller gave for it, if any."""
        self._pick = _picker(plan)
        self.is_large = len(plan.steps) > _MANY and not plan.parameters
        """True if a commit visits only the steps that it reaches."""
        self._readers: list[list[int]] = [[] for _ in plan.steps] if self.is_large else []
        """For a large plan, per step the steps that read it."""
        if self.is_large:
            for number, step in enumerate(plan.steps):
                for below in dict.fromkeys((*step.inputs, *([] if step.asks is None else step.asks[:1]))):
                    self._readers[below].append(number)
        self.changed: set[int] = set()
        """The leaves of a large plan with new solutions."""
        self.renew()
        self._sorter: Sorter | None = make_sorter(plan, terms)
        first = self.leaves[0]
        self.is_lone = self._sorter is None and isinstance(first, Leaf) and is_lone(plan, first)
        """True if its solutions are made from the terms of a triple; see `rdflive.engine.lone`."""

    def renew(self) -> None:
        """Start with new leaves and operators; the old ones may be half-way through a change."""
        steps = self.plan.steps
        self._relations: dict[tuple[Variable, ...], Relation] = {}
        self.leaves = [self._make_leaf(step) for step in steps]
        self.asking = Asking(self.plan, self.leaves, self._dictionary, self._demand)
        """The values that rows of other steps request from the leaves."""
        leaf = self.leaves[0] if len(self.leaves) == 1 else None
        self._leaf = leaf if isinstance(leaf, Leaf) else None
        self.operators: list[Operator | None] = [None] * len(steps)
        self._straight: Straight | None = None
        """Turns one solution into its delta; generated on first use."""

    def _make_leaf(self, step: Step) -> Leaf | AskedLeaf | None:
        if isinstance(step.node, algebra.Parameters):
            return AskedLeaf(self.relation(step.node.columns))
        return None if step.basic is None else Leaf(step.basic, self._dictionary)

    def relation(self, columns: tuple[Variable, ...]) -> Relation:
        """Return the relation of some parameters."""
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
        """Number of distinct parameter tuples of its subscriptions; 1 for a plan without parameters."""
        return len(self._uses)

    def forget_uses(self) -> None:
        """Remove all subscriptions."""
        for asked in filter(None, self._uses):
            self._dictionary.drop(asked)
        self._uses.clear()

    def uses_of(self, asked: Row) -> tuple[Use, ...]:
        """Return the subscriptions with these parameters."""
        found = self._uses.get(asked, ())
        return (found,) if isinstance(found, Use) else found

    @property
    def is_used(self) -> bool:
        """True while the query has a subscription."""
        return bool(self._uses)

    def put(self, use: Use) -> bool:
        """Add a subscription; return True for the first with its parameters."""
        found = self._uses.get(use.asked)
        if found is None:
            if use.asked:
                self._dictionary.hold(use.asked)
            self._uses[use.asked] = use
        else:
            self._uses[use.asked] = (*self.uses_of(use.asked), use)
        return found is None

    def remove(self, use: Use) -> bool:
        """Undo `put`; return True for the last with its parameters."""
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
        """Return True if a subscription is still present."""
        return use in self.uses_of(use.asked)

    @property
    def _keeps(self) -> bool:
        """True if the answers of members are kept, so that their rows must be added and removed."""
        return not self.is_lone and (self._leaf is None or bool(self._leaf.answers))

    def ask(self, asked: Sequence[Row], *, answer: bool = True) -> None:
        """Start maintaining the answers for some parameters; `drain` returns them, unless `answer` is false.

        If the store cannot be read, nothing changes.
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
        """Read the graph once for all members, in the scans that list it for members."""
        with ExitStack() as stack:
            for state in self.states if members > 1 else ():
                asked = state.plan.asked
                for scan in () if asked is None else asked.scans:
                    stack.enter_context(scan)
            yield

    def tell(self, number: int, state: SegmentState, view: Any) -> Tell:
        """Make the function that applies the terms of a triple to a segment of a leaf."""
        leaf = self.leaves[number]
        assert isinstance(leaf, Leaf)  # noqa: S101 - it has segments
        return make_tell(self, leaf, state, view, self._terms)

    def ask_again(self, asked: Row) -> TermWeights:
        """Return the answer for some parameters by removing all their state and adding it again.

        The cost depends on that state only, whereas `current` reads all matches of the patterns. Until it
        returns, the members with these parameters are not maintained.
        """
        self.leave(asked)
        self.ask([asked])
        return self.drain().get(asked, {})

    def leave(self, asked: Row) -> None:
        """Undo `ask` for some parameters without reporting the removed rows."""
        for relation in self._relations.values():
            relation.leave(asked, walk=self._keeps)
        self.drain()

    @property
    def is_leaf(self) -> bool:
        """True if the query is one basic graph pattern without operators above it."""
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
        """Return the budgets of members that the present commit exceeds, with the errors."""
        return {}

    def load(self, solutions: Callable[[SegmentState], Iterable[Row]]) -> TermWeights:
        """Fill the operators from the full answers of the leaves, and return the answer of the query."""
        self.operators, self._straight = self._make(), None
        current = partial(_current, solutions=solutions)
        rows = self._run(self.operators, partial(self.asking.take, take=current), first=True)
        self._note_due()
        return self._name(rows)

    def drain(self) -> dict[Row, TermWeights]:
        """Return the deltas by parameters: new solutions of the segments, and changes by time."""
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
        """Handle a commit with a single solution, the common case; return None for others."""
        leaf = self.leaves[line[0]]
        assert isinstance(leaf, Leaf)  # noqa: S101 - a line starts with one
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
        """Turn rows into solutions, by parameters."""
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
        """Take the answers of the leaves from the caller: full answers the `first` time, then deltas."""
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
        """List the full answer with weights, in the order of the query if it has one. For a family, list one
        member's.

        `most` limits the rows, and terms are looked up for these alone. A single pattern without DISTINCT
        stops searching at that number.

        The answer is read from the last operator if that keeps its output. Otherwise the query is evaluated
        again with new operators, since those of the query must not see rows twice.
        """
        # Distinct, Group, Slice and Closure keep their output, which is that of all members
        rows = getattr(self.operators[-1], "rows", None)
        # if every pattern is joined with the parameters, a member's part is found without reading the others
        if rows is not None and not (asked and self._finds_members):
            kept = rows()
            if asked:
                places = self.plan.member
                kept = {row: kept[row] for row in kept if tuple([row[at] for at in places]) == asked}
            return self._list(self._cut(kept, most))
        solutions = partial(solutions, asked=asked)
        if self._leaf is not None:
            # the first rows are known only when all are there
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
        """True if all patterns are joined with the parameters, so that no pattern is read in full for one
        member.
        """
        return all(state.relation is not None for state in self.states)

    def _cut(self, rows: Weights, most: int | None) -> Weights:
        """Keep the first rows, in the order of the query."""
        if most is None or len(rows) <= most:
            return rows
        first = islice(rows, most) if self._sorter is None else nsmallest(most, rows, key=self._sorter)
        return {row: rows[row] for row in first}

    def clear(self) -> None:
        """Discard the state of the leaves and operators."""
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
        """List the containers that hold state for this query, for measuring."""
        kept = [leaf.containers() for leaf in self.leaves if isinstance(leaf, Leaf)]
        kept += [operator.containers() for operator in self.operators if operator is not None]
        return [container for containers in kept for container in containers]

    def hits(self) -> int:
        """Count the updates that matched patterns of this query, also before it started."""
        return sum(p.hits for p in dict.fromkeys(p for state in self.states for p in state.patterns))

    def _note_due(self) -> None:
        """Record when time changes the next row."""
        if self.present is not None and self._clocked:
            dues = [due for at in self._clocked if (due := self._due(self.operators[at])) is not None]
            self.present.note(self, min(dues, default=None))

    def _due(self, operator: Operator | None) -> int | None:
        return operator.due if isinstance(operator, ClockedOperator) else None

    def _late(self, operators: list[Operator | None]) -> list[int]:
        """List the steps that have rows which NOW() changes."""
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
        """Run every step whose inputs or time changed, or all of them the first time.

        `take` returns the rows of a leaf, by its number and the rows of the steps before it.
        """
        results: list[Weights] = []
        late = self._late(operators)
        for number, (step, operator) in enumerate(zip(self.plan.steps, operators, strict=True)):
            if operator is None:
                results.append(take(number, results))
                continue
            inputs = [results[i] for i in step.inputs]
            # the first time also without rows: VALUES returns its rows, COUNT(*) a 0
            is_run = first or any(inputs) or number in late
            results.append(self._update(number, operators, inputs) if is_run else {})
        return results[-1]

    def _update(
        self, number: int, operators: Sequence[Operator | None], inputs: Sequence[Weights]
    ) -> Weights:
        """Run a step. Operators of a separate evaluation make no requests, because all values are in
        demand.
        """
        operator = operators[number]
        assert operator is not None  # noqa: S101 - it is no leaf
        is_own = operators is self.operators
        return self.asking.update(number, operators, inputs) if is_own else operator.update(*inputs)

    def _run_changed(self) -> Weights:
        """Run the steps that the changed leaves and the steps changed by time lead to, inputs first."""
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
        """Turn rows into solutions; rows that differ only in hidden columns become one."""
        listed = self._list(weights)
        # each row is one solution if all columns are projected
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
    """Make the function that puts a row in the order of the projection, or None unless each column is
    projected once.
    """
    places = [place for place in plan.places if place is not None]
    if len(places) != len(plan.places) or sorted(places) != list(range(len(plan.steps[-1].columns))):
        return None
    # also for one column or none, for which `itemgetter` would return a bare id, or raise
    if places == sorted(places):
        return lambda row: row
    return itemgetter(*places)


def _current(
    leaf: Leaf | AskedLeaf, solutions: Callable[[SegmentState], Iterable[Row]], asked: Row = ()
) -> Weights:
    """Return the rows of a leaf; in a family, those of one member, or of all."""
    if isinstance(leaf, Leaf):
        return leaf.current(solutions, kept=not asked)
    return {leaf.relation.part(asked): 1} if asked else dict.fromkeys(leaf.relation, 1)


def _drained(leaf: Leaf | AskedLeaf) -> Weights:
    return leaf.drain()


def _clear(operators: Iterable[Operator | None]) -> None:
    for operator in operators:
        if operator is not None:
            operator.clear()
