"""The state of one store: the views of its graphs, and the queries over them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any, TypeAlias

from rdflive.engine.commits import Commits
from rdflive.engine.demand import Demand
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.kernel import SegmentState
from rdflive.engine.leaf import Leaf
from rdflive.engine.lone import takes_terms
from rdflive.engine.metered import MeteredQuery
from rdflive.engine.multiset import TermWeights, add_up
from rdflive.engine.present import Present
from rdflive.engine.query import Answers, QueryState, Use
from rdflive.engine.recovery import Recovery
from rdflive.engine.terms import TermTable
from rdflive.engine.view import View
from rdflive.errors import BudgetError
from rdflive.model import Term, Terms
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.budget import Budget, Meter
from rdflive.query.demand import by_demand
from rdflive.query.demand import whole as whole_state
from rdflive.query.plan import Plan
from rdflive.query.shared_budget import Account
from rdflive.query.shared_meter import SharedMeter
from rdflive.store.capture import Capture
from rdflive.store.garbage_collection import uncollected
from rdflive.values import Value

__all__ = ["StoreState", "ViewOf"]

log = logging.getLogger("rdflive")

ViewOf: TypeAlias = Callable[[Any], View]
"""Returns the view that a pattern of a query reads, by the graph of the pattern."""


class StoreState:
    """Registers the queries on one store and their subscriptions. All methods are called under its lock.

    Its views share one dictionary, so that rows of several graphs can be joined. `commits` updates the
    queries, `recovery` restarts them after failures.
    """

    def __init__(
        self,
        capture: Capture,
        to_native: Callable[[Any], Term],
        to_value: Callable[[Term], Any] | None,
        to_content: Callable[[Term], Value | None],
    ) -> None:
        self.capture = capture
        self.to_native = to_native
        self.dictionary = Dictionary()
        self.demand = Demand()
        self.terms = TermTable(self.dictionary, to_native, to_value, to_content)
        self.views: dict[Any, View] = {}
        """The views in use, by a key that the caller chooses."""
        self.queries: dict[QueryState, None] = {}
        self.every: dict[QueryState, None] = {}
        """The queries for which every report of their windows is delivered."""
        self.presents: dict[Hashable, Present] = {}
        """The time of NOW(), by the clock that queries follow."""
        self._families: dict[Hashable, QueryState] = {}
        self.owners: dict[SegmentState, tuple[QueryState, View, int]] = {}
        """Per segment its query, its view, and the number of its leaf."""
        self.recovery = Recovery(self)
        self.commits = Commits(self, self.recovery)
        # called by views and the capture
        self.commit, self.await_flush = self.commits.run, self.commits.await_flush
        self.news, self.touched = self.commits.news, self.commits.touched
        self.renew, self.give_up = self.recovery.renew, self.recovery.give_up

    @property
    def seconds(self) -> float:
        """Time spent in operators and delivery, without the segments."""
        return self.commits.seconds

    def keep_counts(self) -> Callable[[], None]:
        """Return a function that resets the counts to their present values."""
        patterns = {p: p.hits for query in self.queries for state in query.states for p in state.patterns}
        views = {view: (view.seen, view.seconds) for view in self.views.values()}
        seconds = self.commits.seconds

        def set_back() -> None:
            for pattern, hits in patterns.items():
                pattern.hits = hits
            for view, (seen, spent) in views.items():
                view.seen, view.seconds = seen, spent
            self.commits.seconds = seconds

        return set_back

    def add(
        self,
        plan: Plan,
        view_of: ViewOf,
        uses: Sequence[Use],
        *,
        family: Hashable = None,
        answer: bool = True,
        every: bool = False,
        budget: Budget | None = None,
        present: Present | None = None,
    ) -> list[TermWeights | None]:
        """Start maintaining a query on the present contents of the store, for some subscriptions.

        Subscriptions with the same `family` share the query; the store must be able to hold the terms of
        each. Returns the answer of each, or None if starting did not compute it. With `every`, each report of
        its windows is delivered, also one without a change. With a `budget`, each subscription ends when the
        query costs more; raises `BudgetError` if the first answer does. `present` is the time of NOW(), if
        the plan reads it.
        """
        account = None if budget is None else budget.account
        limits = budget if account is None else replace(budget, account=None)  # type: ignore[type-var]  # not None
        if account is not None:
            account.shared.begin(self.capture.sequence)  # what the last commit has cost is no matter now
        query = self._families.get(family)
        if query is not None and not query.is_used:  # its close was interrupted
            self._end(query)
            query = None
        if query is not None and query.is_stopped:  # it failed twice, and a new one may not
            query = None
        whole: Answers = None
        if query is None:
            # new views are registered below
            may = plan.algorithm == "demand" or all(view_of(b.graph).is_by_demand for b in plan.basics)
            held = by_demand(plan) if may else whole_state(plan)
            query = self._make(held, view_of, present, every=every, budget=limits, account=account)
            try:
                if plan.parameters:
                    query.sample = self._asked(uses[0])
                whole = self.start(query)
                self._register(query)
            except BaseException:
                self._end(query)
                raise
            if family is not None:
                self._families[family] = query
                query.family = family
        for use in uses:
            use.query, use.asked = query, self._asked(use) if plan.parameters else ()
            use.budget, use.account = limits, account
        answers: list[TermWeights | None] = [None if whole is None else whole.get((), {})] * len(uses)
        is_asked = False

        def enter(uses: Sequence[Use], is_first: Sequence[bool]) -> list[TermWeights | None]:
            nonlocal is_asked
            query.ask([use.asked for use in compress(uses, is_first)], answer=answer)
            is_asked = True
            found = query.drain()
            # a restarted query may have these tuples already, and then finds nothing new
            owed = self.commits.owes(query)
            nothing: TermWeights = {}
            return [
                None
                if not answer
                else found.get(use.asked, nothing)
                if first and not owed
                else self._answer_again(use)
                for use, first in zip(uses, is_first, strict=True)
            ]

        try:
            # with a budget one by one, because each is charged its own opening
            groups = [uses] if budget is None else [[use] for use in uses]
            entered: list[TermWeights | None] = []
            for group in groups:
                is_first = [query.put(use) for use in group]
                entered += query.join(
                    partial(enter, group, is_first) if plan.parameters else list[TermWeights | None], group[0]
                )
            answers = entered or answers
        except BaseException as error:
            for use in uses:
                query.remove(use)
            if not query.is_used:
                self._end(query)
            elif is_asked:  # the added parameters are discarded as the query restarts
                self.commits.owe_query(query)
                if isinstance(error, BudgetError):
                    self.recovery.restart(query)
            raise
        self.sweep()
        return answers

    def _asked(self, use: Use) -> tuple[int, ...]:
        """Return the ids of a subscription's parameters."""
        intern, to_native = self.dictionary.intern, self.to_native
        return tuple([intern(to_native(term)) for term in use.terms])

    def _answer_again(self, use: Use) -> TermWeights:
        """Return the answer of one more subscription with parameters that another one has."""
        query = use.query
        # an undelivered change would be part of the state that is added again, and the others would miss it
        if query.is_leaf or self.commits.owes(query) or any(view.lags for view in query.views):
            return self.answer(use)
        # noted first: after an interruption the others would miss rows
        self.commits.owe_query(query)
        answer = query.ask_again(use.asked)
        self.commits.forget_query(query)
        return answer

    def _make(
        self,
        plan: Plan,
        view_of: ViewOf | None,
        present: Present | None,
        *,
        every: bool,
        budget: Budget | None,
        account: Account | None,
    ) -> QueryState:
        if budget is None:
            query = QueryState(plan, self.dictionary, self.terms, self.to_native, self.demand)
        else:
            meter = (
                Meter(budget, self.capture)
                if account is None
                else SharedMeter(budget, self.capture, account.shared)
            )
            query = MeteredQuery(plan, self.dictionary, self.terms, self.to_native, self.demand, meter)
            meter.owe = partial(self.recovery.exceed, query)
        query.view_of, query.every = view_of, every
        if present is not None:
            query.present, present.queries[query] = present, None
        return query

    def _register(self, query: QueryState) -> None:
        self.queries[query] = None
        if query.every:
            self.every[query] = None

    def part(self, query: QueryState, uses: Sequence[Use]) -> QueryState:
        """Move some subscriptions of a query to a new one, which the caller starts."""
        own = self._make(
            query.plan,
            query.view_of,
            query.present,
            every=query.every,
            budget=uses[0].budget,
            account=uses[0].account,
        )
        own.sample = uses[0].asked
        self._register(own)
        for use in uses:
            self._take_out(use)
            use.query = own
            own.put(use)
        return own

    @uncollected
    def answers(self, use: Use, most: int | None = None) -> list[tuple[Terms, int]]:
        """List the full current answer of a subscription with weights, in the order of the query if it has
        one.

        `most` limits the number of rows.
        """
        listed = use.query.current(self.solutions, most, use.asked, use.budget)
        if not self.capture.is_used:
            self.sweep()
        return listed

    def answer(self, use: Use) -> TermWeights:
        """Return the full current answer of a subscription."""
        return self.answer_to(use.query, use.asked, use.budget)

    @uncollected
    def answer_to(
        self, query: QueryState, asked: tuple[int, ...], budget: Budget | None = None
    ) -> TermWeights:
        """Return the full current answer for the parameters of one member, within its budget."""
        answer = add_up(query.current(self.solutions, None, asked, budget))
        if not self.capture.is_used:
            self.sweep()
        return answer

    def remove(self, use: Use) -> None:
        """Remove a subscription, and free the state that only it used; views may be left without queries."""
        query = use.query
        self._take_out(use)
        if not query.is_used:
            self._end(query)
        self.sweep()

    def _take_out(self, use: Use) -> None:
        """Remove a subscription from a query, with the state that only its parameters needed."""
        query = use.query
        self.commits.forget(use)
        if query.remove(use) and query.plan.parameters and query.is_used and not query.is_stopped:
            try:
                query.leave(use.asked)
            except Exception:
                log.exception("the parameters of a subscription could not be removed; the query restarts")
                self.commits.owe_query(query)

    def _end(self, query: QueryState) -> None:
        """Stop maintaining a query without subscriptions."""
        try:
            self.stop(query)
        finally:
            query.views = []  # an earlier interruption had them counted again, without this query
            self.queries.pop(query, None)
            self.every.pop(query, None)
            if self._families.get(query.family) is query:
                del self._families[query.family]
            self.commits.forget_query(query)
            self.recovery.forget_query(query)
            if query.present is not None:
                query.present.forget(query)
            query.view_of = None  # it refers to this state, and closed subscriptions refer to the query

    def reload(self, sequence: int) -> None:
        """Discard all state, read the store again, and deliver the full answer to every subscription."""
        self.recovery.reload(sequence)

    def watched(self, query: QueryState) -> list[View]:
        """List the views that a query reads."""
        return query.views

    def located(self, query: QueryState) -> Iterator[tuple[View, TriplePattern]]:
        """List the patterns of a query as they were written, each with the view that it reads."""
        for leaf in query.leaves:
            if isinstance(leaf, Leaf):
                for state, segment in zip(leaf.states, leaf.plan.segments, strict=True):
                    yield from ((self.owners[state][1], pattern) for pattern in segment.patterns)

    def patterns(self) -> Iterator[tuple[Any, TriplePattern]]:
        """List the patterns of all queries as they were written, each with the key of its view."""
        keys = {view: key for key, view in self.views.items()}
        for query in self.queries:
            for asked in query.asked:
                terms = dict(zip(query.plan.parameters, map(self.terms.value, asked), strict=True))
                for view, pattern in self.located(query):
                    parts: list[Any] = [terms.get(part, part) for part in pattern]  # type: ignore[call-overload]
                    yield keys[view], TriplePattern(*parts) if terms else pattern

    def held(self, use: Use) -> Iterator[tuple[TriplePattern, Variable, int, bool]]:
        """List the patterns held by demand, as they were written, each with the variable in demand, the
        number of its values now, and true if the pattern still holds all of its matches.
        """
        query = use.query
        terms = dict(zip(query.plan.parameters, map(self.terms.value, use.asked), strict=True))
        for leaf in [leaf for leaf in query.leaves if isinstance(leaf, Leaf)]:
            for state, segment in zip(leaf.states, leaf.plan.segments, strict=False):
                for written, pattern in zip(segment.patterns, state.patterns, strict=True):
                    parts: list[Any] = [terms.get(part, part) for part in written]  # type: ignore[call-overload]
                    for fed in pattern.feeds[:1]:
                        # not demand by members, neither direct nor through rows
                        if not fed.is_member and tuple(written)[fed.place] not in terms:
                            variable: Any = parts[fed.place]
                            yield TriplePattern(*parts), variable, len(fed.link.wanted), fed.is_wide

    def start(self, query: QueryState) -> Answers:
        """Start maintaining a query on the present contents of the store, for all its subscriptions."""
        return query.open(partial(self._fill, query))

    @uncollected
    def _fill(self, query: QueryState) -> Answers:
        query.views = []
        query.sample = next(iter(query.asked), query.sample)
        for number, leaf in enumerate(query.leaves):
            if not isinstance(leaf, Leaf):
                continue
            assert query.view_of is not None  # noqa: S101 - it has a subscription
            view = query.view_of(leaf.plan.graph)
            if view not in query.views:
                view.queries += 1
                query.views.append(view)
            for at, segment in enumerate(leaf.plan.segments):
                relation = query.relation(segment.asked) if segment.asked else None
                state = view.add(segment, relation, query.asking.relation(number, at))
                leaf.states.append(state)
                # a budget counts the rows of segments, but not solutions that are delivered directly
                if takes_terms(segment) and (query.is_lone or query.meter is None):
                    view.lone[state] = partial(query.tell, number, state, view)
                self.owners[state] = query, view, number
                if leaf.answers:
                    # as if all solutions were inserted now; the answers store them, and the delta is
                    # discarded
                    state.added.extend(view.solutions(state))
            if leaf.answers:
                leaf.drain()
        answer = None if query.is_leaf else query.load(self.solutions)
        answers: Answers = None if answer is None else {(): answer}
        if query.plan.parameters:
            query.ask(query.asked)
            answers = query.drain()
        self.sweep()
        return answers

    def stop(self, query: QueryState) -> None:
        """Stop maintaining a query until it restarts."""
        try:
            self._disown(query)
        finally:
            # first: after an interruption the views are counted again
            views, query.views = query.views, []
            query.clear()
            for view in views:
                view.queries -= 1
            self.sweep()

    def _disown(self, query: QueryState) -> None:
        for state in query.states:
            owner = self.owners.pop(state, None)
            if owner is not None:
                owner[1].remove(state)

    def sweep(self) -> None:
        """Release terms without references, unless a commit or a write is under way.

        A commit releases them at its end, because other queries may still have to read them. A write may have
        assigned ids that nothing holds yet, and a signal handler may request answers or close a subscription
        in the middle of it.
        """
        if not self.commits.is_telling and not self.capture.is_written:
            self.demand.sweep()
            self.dictionary.sweep()

    def solutions(
        self, state: SegmentState, most: int | None = None, asked: tuple[int, ...] = ()
    ) -> Iterable[tuple[int, ...]]:
        """List the current solutions of a segment, or those for the parameters of one member of a family."""
        view = self.owners[state][1]
        if asked and state.relation is not None:
            return view.kernel.solutions_of(state, state.relation, [state.relation.part(asked)])
        return view.solutions(state, most)
