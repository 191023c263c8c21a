"""Everything that is maintained on one store: the views of its graphs, and the queries over them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
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
from rdflive.store.capture import Capture
from rdflive.store.garbage_collection import uncollected
from rdflive.values import Value

__all__ = ["StoreState", "ViewOf"]

log = logging.getLogger("rdflive")

ViewOf: TypeAlias = Callable[[Any], View]
"""Gives the view that a pattern of a query looks at, by the graph that the pattern names."""


class StoreState:
    """Registers the queries on one store and their subscriptions. All methods are called under its lock.

    Its views share one dictionary, so that rows of several graphs can be joined. `commits` keeps the queries
    up to date, `recovery` starts again what failed.
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
        """The views in use, by whatever key the caller chose."""
        self.queries: dict[QueryState, None] = {}
        self.every: dict[QueryState, None] = {}
        """Those that are told every report of their windows."""
        self.presents: dict[Hashable, Present] = {}
        """What NOW() is, by the clock that queries go by."""
        self._families: dict[Hashable, QueryState] = {}
        self.owners: dict[SegmentState, tuple[QueryState, View, int]] = {}
        """Per segment its query, its view, and the number of its leaf."""
        self.recovery = Recovery(self)
        self.commits = Commits(self, self.recovery)
        # what views and the capture call
        self.commit, self.await_flush = self.commits.run, self.commits.await_flush
        self.news, self.touched = self.commits.news, self.commits.touched
        self.renew, self.give_up = self.recovery.renew, self.recovery.give_up

    @property
    def seconds(self) -> float:
        """Time spent above the segments."""
        return self.commits.seconds

    def keep_counts(self) -> Callable[[], None]:
        """Give a function that sets what was counted so far back to what it is now."""
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
        """Start maintaining a query on what the store holds now, for some subscriptions.

        Subscriptions with the same `family` share the query; the store can hold the terms of each. Returns
        the answer of each, or None in its place if starting did not compute it. With `every` each report of
        its windows is handed on, also one that changes nothing. With a `budget`, each subscription ends when
        the query costs more; raises `BudgetError` where the answer does already.
        `present` is what NOW() is, where the plan has it.
        """
        query = self._families.get(family)
        if query is not None and not query.is_used:  # its close was interrupted
            self._end(query)
            query = None
        if query is not None and query.is_stopped:  # it failed twice, and a new one may not
            query = None
        whole: Answers = None
        if query is None:
            # views that are new come into use below
            may = plan.algorithm == "demand" or all(view_of(b.graph).is_by_demand for b in plan.basics)
            held = by_demand(plan) if may else whole_state(plan)
            query = self._make(held, view_of, present, every=every, budget=budget)
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
            use.budget = budget
        answers: list[TermWeights | None] = [None if whole is None else whole.get((), {})] * len(uses)
        is_asked = False

        def enter(uses: Sequence[Use], is_first: Sequence[bool]) -> list[TermWeights | None]:
            nonlocal is_asked
            query.ask([use.asked for use in compress(uses, is_first)], answer=answer)
            is_asked = True
            found = query.drain()
            # a query that starts again may have these tuples already, and then finds nothing new
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
            elif is_asked:  # the parameters that were added are forgotten as the query starts again
                self.commits.owe_query(query)
                if isinstance(error, BudgetError):
                    self.recovery.restart(query)
            raise
        self.sweep()
        return answers

    def _asked(self, use: Use) -> tuple[int, ...]:
        """Give the ids of the terms that a subscription asks for."""
        intern, to_native = self.dictionary.intern, self.to_native
        return tuple([intern(to_native(term)) for term in use.terms])

    def _answer_again(self, use: Use) -> TermWeights:
        """Give the answer of one more subscription with parameters that another one has."""
        query = use.query
        # of what is put back, but was not told yet, the others would never be told
        if query.is_leaf or self.commits.owes(query) or any(view.lags for view in query.views):
            return self.answer(use)
        # noted first: without what is taken out, the others would miss rows
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
    ) -> QueryState:
        if budget is None:
            query = QueryState(plan, self.dictionary, self.terms, self.to_native, self.demand)
        else:
            meter = Meter(budget, self.capture)
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
        """Give some subscriptions of a query one of their own, which is to be started."""
        own = self._make(query.plan, query.view_of, query.present, every=query.every, budget=uses[0].budget)
        own.sample = uses[0].asked
        self._register(own)
        for use in uses:
            self._take_out(use)
            use.query = own
            own.put(use)
        return own

    @uncollected
    def answers(self, use: Use, most: int | None = None) -> list[tuple[Terms, int]]:
        """List the whole current answer of a subscription with weights, in order where it has one.

        With `most` only its first rows, so many if there are.
        """
        listed = use.query.current(self.solutions, most, use.asked, use.budget)
        if not self.capture.is_used:
            self.sweep()
        return listed

    def answer(self, use: Use) -> TermWeights:
        """Give the whole current answer of a subscription."""
        return self.answer_to(use.query, use.asked, use.budget)

    @uncollected
    def answer_to(
        self, query: QueryState, asked: tuple[int, ...], budget: Budget | None = None
    ) -> TermWeights:
        """Give the whole current answer for the parameters of one member, within its budget."""
        answer = add_up(query.current(self.solutions, None, asked, budget))
        if not self.capture.is_used:
            self.sweep()
        return answer

    def remove(self, use: Use) -> None:
        """Remove a subscription, and free what only it needed; views may be left without queries."""
        query = use.query
        self._take_out(use)
        if not query.is_used:
            self._end(query)
        self.sweep()

    def _take_out(self, use: Use) -> None:
        """Take a subscription out of a query, which forgets what only that subscription asked for."""
        query = use.query
        self.commits.forget(use)
        if query.remove(use) and query.plan.parameters and query.is_used and not query.is_stopped:
            try:
                query.leave(use.asked)
            except Exception:
                log.exception(
                    "the parameters of a subscription could not be removed; the query is started again"
                )
                self.commits.owe_query(query)

    def _end(self, query: QueryState) -> None:
        """Stop maintaining a query without subscriptions."""
        try:
            self.stop(query)
        finally:
            query.views = []  # an interruption before had them counted again, without this query
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
        """Forget what is cached, read the store again, and give every subscription its whole answer."""
        self.recovery.reload(sequence)

    def watched(self, query: QueryState) -> list[View]:
        """List the views that a query looks at."""
        return query.views

    def located(self, query: QueryState) -> Iterator[tuple[View, TriplePattern]]:
        """List the patterns of a query as they were written, each with the view that it looks at."""
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
        """List the patterns that are held by demand, as they were written: for which of their variables, how
        many values it has now, and whether the pattern is held whole all the same.
        """
        query = use.query
        terms = dict(zip(query.plan.parameters, map(self.terms.value, use.asked), strict=True))
        for leaf in [leaf for leaf in query.leaves if isinstance(leaf, Leaf)]:
            for state, segment in zip(leaf.states, leaf.plan.segments, strict=False):
                for written, pattern in zip(segment.patterns, state.patterns, strict=True):
                    parts: list[Any] = [terms.get(part, part) for part in written]  # type: ignore[call-overload]
                    for fed in pattern.feeds[:1]:
                        # not what members ask for, by themselves or through rows
                        if not fed.is_member and tuple(written)[fed.place] not in terms:
                            variable: Any = parts[fed.place]
                            yield TriplePattern(*parts), variable, len(fed.link.wanted), fed.is_wide

    def start(self, query: QueryState) -> Answers:
        """Start maintaining a query on what the store holds now, for all its subscriptions."""
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
                # a budget counts the rows of segments, but for solutions that are told at once
                if takes_terms(segment) and (query.is_lone or query.meter is None):
                    view.lone[state] = partial(query.tell, number, state, view)
                self.owners[state] = query, view, number
                if leaf.answers:
                    # as if all solutions were inserted now; the answers take them, and the delta is not told
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
        """Stop maintaining a query, until it is started again."""
        try:
            self._disown(query)
        finally:
            # first: an interruption has the views counted again
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

        A commit releases them at its end: until then other queries may have to tell of them. A write may have
        numbered terms that nothing holds yet, and a signal handler may ask for answers or close a
        subscription in the middle of it.
        """
        if not self.commits.is_telling and not self.capture.is_written:
            self.demand.sweep()
            self.dictionary.sweep()

    def solutions(
        self, state: SegmentState, most: int | None = None, asked: tuple[int, ...] = ()
    ) -> Iterable[tuple[int, ...]]:
        """List the current solutions of a segment, or those for what one member of a family asks for."""
        view = self.owners[state][1]
        if asked and state.relation is not None:
            return view.kernel.solutions_of(state, state.relation, [state.relation.part(asked)])
        return view.solutions(state, most)
