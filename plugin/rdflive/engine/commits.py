"""The commit of a store's queries, in phases: views apply deferred changes, queries compute their deltas, and
subscriptions are notified.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final
from weakref import proxy

from rdflive.engine.lone import News
from rdflive.engine.multiset import Row, TermWeights, add_up, add_weights, common_losses
from rdflive.engine.query import Found, QueryState, Use
from rdflive.engine.recovery import Recovery
from rdflive.engine.view import View
from rdflive.errors import BudgetError, is_interruption
from rdflive.model import Terms

__all__ = ["Commits"]

log = logging.getLogger("rdflive")

_NOTHING: Final[Found] = ({}, False)


class Commits:
    """Computes the deltas of a commit and delivers them."""

    def __init__(self, state: Any, recovery: Recovery) -> None:
        # no reference cycle, so that the last close frees everything at once
        self._state: Any = proxy(state)
        self._views, self._owners = state.views, state.owners
        self._dictionary, self._demand = state.dictionary, state.demand
        self._recovery = recovery
        self.news: News = []
        self.touched: dict[View, None] = {}
        self._unflushed: dict[View, None] = {}
        self._untimed: dict[QueryState, Found] | None = None
        """The deltas that the writes of this commit caused, if time changes something too; otherwise None.

        Windows and the clock move in the same commit as a write. The two kinds of deltas are computed one
        after the other, so that a subscription can report which solutions only expired.
        """
        self._passed: dict[QueryState, None] = {}
        """The queries with rows that the moved clock changes."""
        self._reported: set[View] = set()
        self._undelivered: dict[QueryState, None] = {}
        """The queries with an undelivered delta. After a failure, all subscriptions to a query that is still
        here get the full answer.
        """
        self._waiting_uses: dict[Use, None] = {}
        """Subscriptions that get their full answer although the state of their query is intact."""
        self._gathering: dict[Callable[[int], object], None] = {}
        """Functions that combine the deltas of several queries, called at the end of a commit."""
        self.is_telling = False
        """True while a commit reads terms that may have no reference any more."""
        self.seconds = 0.0
        """Time spent in operators and delivery, without the segments."""

    def run(self, sequence: int) -> None:
        """Deliver the net delta of each changed query to its subscriptions. A second call does nothing."""
        if not (
            self._unflushed
            or self._undelivered
            or self._waiting_uses
            or self._recovery.broken
            or self._recovery.exceeding
            or self._gathering
        ) and self._run_one(sequence):
            return
        start = perf_counter()
        # Deleted solutions are read by their ids, so nothing may sweep the dictionary until all deltas are
        # terms.
        self.is_telling, self._untimed = True, None
        try:
            if self._unflushed or self._recovery.broken or self._undelivered:
                self._flush(sequence)
            if self._state.presents:
                self._pass_time()
            deltas = self._deltas()
            self._recovery.settle(sequence)
        finally:
            self.is_telling = False
        untimed, self._untimed = self._untimed, None
        self.seconds += perf_counter() - start
        if untimed is not None:
            self._deliver_timed(sequence, untimed, deltas)
        elif self._reported:
            self._deliver_timed(sequence, deltas, {})
        else:
            for query, found in deltas.items():
                self.tell(query, sequence, found)
        self._end(sequence)

    def _run_one(self, sequence: int) -> bool:
        """Deliver a commit that concerns at most one query; return False for others.

        This is the common case: a commit writes one triple, and one query gains or loses a solution.
        """
        news, touched = self.news, self.touched
        if len(news) + len(touched) != 1:
            return False
        if news:  # of a query that needs no ids: nothing to drain
            query, asked, solution, sign = news.pop()
            self._deliver_to(query.uses_of(asked), sequence, {solution: sign})
            if self._gathering or self._waiting_uses:
                self._end(sequence)
            return True
        ((view, _),) = touched.items()
        dirty = view.kernel.dirty
        if len(dirty) > 1 or self._state.presents:
            return False
        owner = self._owners.get(next(iter(dirty), None))
        if owner is None:
            if dirty:
                return False
            touched.clear()
            self._demand.sweep()
            self._dictionary.sweep()
            return True
        start = perf_counter()
        query, _, leaf = owner
        if query.is_large:
            query.changed.add(leaf)
        # as in `_deltas`
        self._undelivered[query] = None
        dirty.clear()
        touched.clear()
        self.is_telling = True
        try:
            found = self._recovery.drain(query)
            self._recovery.settle(sequence)
        finally:
            self.is_telling = False
        self.seconds += perf_counter() - start
        self.tell(query, sequence, found)
        self._end(sequence)
        return True

    def _end(self, sequence: int) -> None:
        """Deliver pending full answers and gathered deltas; release unused terms."""
        for use in tuple(self._waiting_uses):
            self._deliver_full(use, sequence)
        for tell in tuple(self._gathering):
            tell(sequence)
            del self._gathering[tell]
        self._demand.sweep()
        self._dictionary.sweep()

    def gather(self, tell: Callable[[int], object]) -> None:
        """Call a function with the number of the commit after all deltas of the commit are delivered."""
        self._gathering[tell] = None

    def await_flush(self, view: View) -> None:
        """Call the view's `flush` at the start of the next commit."""
        self._unflushed[view] = None

    def owe(self, use: Use) -> None:
        """Deliver the full answer to a subscription at the next commit."""
        self._waiting_uses[use] = None

    def owe_query(self, query: QueryState) -> None:
        """Restart a query at the next commit, and deliver full answers."""
        self._undelivered[query] = None

    def owes(self, query: QueryState) -> bool:
        """Return True if a query is to be restarted."""
        return query in self._undelivered

    def forget(self, use: Use) -> None:
        """Cancel a subscription's pending full answer."""
        self._waiting_uses.pop(use, None)

    def forget_query(self, query: QueryState) -> None:
        """Cancel all pending work of a query."""
        self._undelivered.pop(query, None)
        self._passed.pop(query, None)

    def mended(self, query: QueryState) -> None:
        """Discard the deltas of a query in this commit, because the query was restarted."""
        self.news[:] = [entry for entry in self.news if entry[0] is not query]
        if self._untimed is not None:
            self._untimed.pop(query, None)

    def reset(self) -> None:
        """Discard all pending work, because everything restarts."""
        self._demand.clear()
        self.news.clear()
        self.touched.clear()
        self._unflushed.clear()
        self._reported.clear()
        self._passed.clear()
        self._untimed, self.is_telling = None, False

    def tell(self, query: QueryState, sequence: int, found: Found) -> None:
        """Deliver the deltas or the full answers of a query."""
        deltas, whole = found
        if whole:
            self._undelivered[query] = None
            for use in query.uses:
                self._deliver_one(use, sequence, deltas.get(use.asked, {}), {}, whole=True)
        # a subscription that receives every report receives nothing between two reports
        elif not query.every:
            for asked, delta in deltas.items():
                self._deliver_to(query.uses_of(asked), sequence, delta)
        self._undelivered.pop(query, None)

    def _deliver_timed(
        self, sequence: int, untimed: dict[QueryState, Found], timed: dict[QueryState, Found]
    ) -> None:
        """Deliver deltas, some of which time alone caused."""
        reported, self._reported = self._reported, set()
        every = {q: None for q in self._state.every if not reported.isdisjoint(q.views)}
        queries = dict.fromkeys((*untimed, *timed, *every))
        for query in queries:
            (changed, began), (passed, begins) = untimed.get(query, _NOTHING), timed.get(query, _NOTHING)
            if began or begins:
                whole = passed if begins else _sums(changed, passed)
                self.tell(query, sequence, (whole, True))
                continue
            self._undelivered[query] = None
            asked = (
                query.asked if query in every else () if query.every else dict.fromkeys((*changed, *passed))
            )
            nets = _sums(changed, passed)
            for parameters in asked:
                net = nets.get(parameters, {})
                if net or query in every:
                    expired = common_losses(net, passed.get(parameters, {}))
                    for use in query.uses_of(parameters):
                        self._deliver_one(use, sequence, net, expired)
            self._undelivered.pop(query, None)

    def _deliver_full(self, use: Use, sequence: int) -> None:
        """Deliver the full answer to a subscription."""
        try:
            use.emit(self._state.answer(use), sequence, True, {})
        except BudgetError as error:
            self._recovery.end_use(use, error)
        except Exception as error:  # noqa: BLE001 - logged; no other subscription is affected
            self._failed(use, error)
            return
        self._waiting_uses.pop(use, None)

    def _deliver_to(self, uses: Sequence[Use], sequence: int, delta: TermWeights) -> None:
        """Deliver one delta to subscriptions of a query that have the same parameters."""
        if len(uses) > 1 and not self._waiting_uses:
            try:
                uses = uses[0].emit_together(uses, delta, sequence)
            except Exception as error:  # noqa: BLE001 - logged; no other query is affected
                for use in uses:
                    self._waiting_uses[use] = None
                    self._failed(use, error)
                return
        for use in uses:
            self._deliver_one(use, sequence, delta, {})

    def _deliver_one(
        self, use: Use, sequence: int, delta: TermWeights, expired: TermWeights, *, whole: bool = False
    ) -> None:
        """Deliver a delta or the full answer. A failure affects no other subscription."""
        if whole:
            self._waiting_uses.pop(use, None)
        elif use in self._waiting_uses:
            return  # it gets its full answer
        try:
            use.emit(delta, sequence, whole, expired)
        except Exception as error:  # noqa: BLE001 - logged; no other subscription is affected
            self._waiting_uses[use] = None
            self._failed(use, error)

    def _failed(self, use: Use, error: Exception) -> None:
        log.exception("a delta could not be made; the next is initial: %s", use.query.plan.query.text)
        if is_interruption(error):
            self._state.capture.owe()

    def _deltas(self) -> dict[QueryState, Found]:
        """Return the deltas of the queries whose segments have new solutions."""
        changed: dict[QueryState, list[tuple[Row, Terms, int]]] = {}
        for query, asked, solution, sign in self.news:
            changed.setdefault(query, []).append((asked, solution, sign))
        for view in self.touched:
            for state in view.kernel.dirty:
                owner = self._owners.get(state)
                if owner is not None:
                    query, _, leaf = owner
                    changed.setdefault(query, [])
                    if query.is_large:
                        query.changed.add(leaf)
        for query in self._passed:
            changed.setdefault(query, [])
        # noted before anything is drained: after an interruption from here on, the full answer is delivered
        self._undelivered.update(dict.fromkeys(changed))
        self.news.clear()
        self._passed.clear()
        for view in self.touched:
            view.kernel.dirty.clear()
        self.touched.clear()
        return {query: self._found(query, news) for query, news in changed.items()}

    def _pass_time(self) -> None:
        """Move NOW() to the time of the clocks, after computing what the writes changed at the old time."""
        # A trial commit is rolled back, and changes by time would be lost.
        if self._state.capture.deliveries.aside is not None:
            return
        behind = [present for present in self._state.presents.values() if present.is_behind()]
        if behind:
            if self._untimed is None:
                self._untimed = self._deltas()
            for present in behind:
                self._passed.update(dict.fromkeys(present.move()))

    def _found(self, query: QueryState, news: list[tuple[Row, Terms, int]]) -> Found:
        """Return the deltas of a query, including solutions that came as terms."""
        found, is_whole = self._recovery.drain(query, len(news))
        if news and not is_whole:
            came: dict[Row, list[tuple[Terms, int]]] = {}
            for asked, solution, sign in news:
                came.setdefault(asked, []).append((solution, sign))
            nets = {a: add_up((*found.get(a, {}).items(), *own)) for a, own in came.items()}
            found = {a: net for a, net in (found | nets).items() if net}
        return found, is_whole

    def _flush(self, sequence: int) -> None:
        """Have views apply deferred changes; restart failed views and their queries."""
        missed = set(self._undelivered)
        waiting, self._unflushed = self._unflushed, {}
        self.touched.update(waiting)
        steps: dict[View, Callable[[], object]] = {}

        def flush(view: View) -> None:
            step = view.flush()
            if step is not None:
                steps[view] = step

        interrupt = self._recovery.each(waiting, flush)
        moved = [view for view in steps if view not in self._recovery.broken]
        if self._state.every:
            self._reported.update(view for view in waiting if view.reports)
        # changes by the writes are drained before the rest, to separate the two
        if moved:
            self._untimed = self._deltas()
            self.touched.update(dict.fromkeys(moved))
            interrupt = self._recovery.each(moved, lambda view: steps[view]()) or interrupt
        if self._recovery.broken or missed:
            self._recovery.mend(sequence, missed)
        # Ctrl-C is raised only now, when every view is consistent again
        if interrupt is not None:
            raise interrupt


def _sums(one: dict[Row, TermWeights], other: dict[Row, TermWeights]) -> dict[Row, TermWeights]:
    """Add the deltas for each tuple of parameters."""
    sums = {asked: dict(weights) for asked, weights in one.items()}
    for asked, weights in other.items():
        add_weights(sums.setdefault(asked, {}), weights.items())
    return sums
