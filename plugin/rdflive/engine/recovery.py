"""Restarts views and queries after a failure or an interruption, so that no change is missed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import proxy

from rdflive.engine.multiset import Row, TermWeights
from rdflive.engine.query import Answers, Found, QueryState, Use
from rdflive.engine.view import View
from rdflive.errors import BudgetError, is_interruption
from rdflive.query.budget import Budget
from rdflive.query.shared_budget import Account
from rdflive.query.shared_meter import SharedMeter

__all__ = ["Recovery"]

log = logging.getLogger("rdflive")


class Recovery:
    """Restarts failed queries and resends the full answer to subscriptions that may have missed a change.

    The write has happened, whatever a query makes of it, and no query may harm another. A query that fails
    twice has no answer until the graph is read again.
    """

    def __init__(self, state: Any) -> None:
        # no reference cycle, so that the last close frees everything at once
        self._state: Any = proxy(state)
        self.broken: dict[View, None] = {}
        """The views that failed half-way."""
        self._stopped: dict[QueryState, None] = {}
        """Queries that were interrupted while they restarted, perhaps half-way through a kernel."""
        self.exceeding: dict[QueryState, None] = {}
        """Queries with a budget that this commit exceeds."""

    def give_up(self, view: View) -> None:
        """Restart a view and its queries at the next commit, because the view failed half-way."""
        self.broken[view] = None

    def forget_query(self, query: QueryState) -> None:
        """Discard a query without subscriptions."""
        self._stopped.pop(query, None)
        self.exceeding.pop(query, None)

    def exceed(self, query: QueryState) -> None:
        """Handle a query that exceeds a budget at the end of the commit; until then it computes nothing."""
        self.exceeding[query] = None

    def each(self, views: Iterable[View], act: Callable[[View], object]) -> BaseException | None:
        """Run `act` for each view, and note which failed half-way. Return the interruption to raise at the
        end.
        """
        interrupt: BaseException | None = None
        for view in views:
            known = view in self.broken
            # noted before the call, so that an interruption at any line leaves the note
            self.broken[view] = None
            try:
                act(view)
            except Exception:
                log.exception("a view failed on an update; it and its queries restart")
            except BaseException as error:  # noqa: BLE001 - raised when nothing is left half done
                interrupt = error
            else:
                if not known:
                    del self.broken[view]
        return interrupt

    def mend(self, sequence: int, missed: set[QueryState]) -> None:
        """Restart failed views and their queries, and queries that missed a delta."""
        state = self._state
        broken = [view for view in self.broken if view in state.views.values()]
        queries = [
            query
            for query in state.queries
            if query.is_used and (query in missed or any(view in broken for view in query.views))
        ]
        self.broken.clear()
        for query in queries:
            state.commits.owe_query(query)
        for view in broken:
            view.reset()
        for query in queries:
            state.stop(query)
        for view in broken:
            self._reload(view)
        for query in queries:
            state.commits.mended(query)
            self._redeliver(query, sequence)

    def drain(self, query: QueryState, in_terms: int = 0) -> Found:
        """Return the deltas of a query; `in_terms` is the number of solutions that came as terms.

        A query that fails restarts, and its full answer is returned.
        """
        meter = query.meter
        try:
            found = query.drain()
            if meter is not None:
                if in_terms:
                    meter.spend(in_terms)
                if query.exceeded():
                    self.exceed(query)
            return found, False
        except BudgetError as error:
            assert meter is not None  # noqa: S101 - only a meter raises that
            meter.error = error
            self.exceed(query)
            return {}, False
        except Exception:
            log.exception("a query failed on an update and restarts: %s", query.plan.query.text)
        self._state.stop(query)
        answers = self._restart(query)
        return ({}, False) if answers is None else (answers, True)

    def restart(self, query: QueryState) -> None:
        """Restart a query that stopped half-way while a member was added; no answer has changed."""
        self._state.stop(query)
        if self._restart(query) is not None:
            self._state.commits.forget_query(query)

    def settle(self, sequence: int) -> None:
        """Handle the queries that exceed a budget: end the members that cost too much, and keep the others.

        If a shared budget has no time left for a query, the subscriptions of each of its accounts move to a
        query of their own, and those that still cost too much end.

        If all members have the same parameters, each is charged the full cost. Otherwise the part of each is
        unknown, so they are divided. Members whose budgets are too small move to a query of their own. If the
        largest budget is too small, one half of the members moves. So a member that costs too much is soon
        alone.
        """
        while self.exceeding:
            query, _ = self.exceeding.popitem()
            meter = query.meter
            error = None if meter is None else meter.error
            if error is None:
                self._part(query, query.exceeded(), sequence)
            elif isinstance(meter, SharedMeter) and meter.refusal is not None:
                if len(meter.accounts) > 1 and not meter.shared.has_ended:
                    self._divide(query, _by_account(query), sequence)
                else:
                    self.end(query, error)
            elif query.members > 1:
                half = _half(query)
                self._divide(query, [[use for use in query.uses if use.asked in half]], sequence)
            else:
                self.end(query, error)

    def _part(self, query: QueryState, exceeded: dict[Budget, BudgetError], sequence: int) -> None:
        """Move members with small budgets to a plan of their own, or end the only member."""
        uses = [(use, exceeded[use.budget]) for use in query.uses if use.budget in exceeded]
        if query.members > 1 and len(uses) == len(query.uses):
            # Each budget is exceeded in another of its limits, and the query has the largest of each.
            half = _half(query)
            uses = [(use, error) for use, error in uses if use.asked in half]
        if uses and query.members > 1:
            self._redeliver(self._state.part(query, [use for use, _ in uses]), sequence)
            return
        for use, error in uses:
            self.end_use(use, error)

    def _divide(self, query: QueryState, parts: Iterable[Sequence[Use]], sequence: int) -> None:
        """Restart a query that stopped half-way, without these members, which get queries of their own."""
        state = self._state
        state.commits.owe_query(query)
        state.stop(query)
        for one in [query, *[state.part(query, uses) for uses in parts]]:
            state.commits.mended(one)
            self._redeliver(one, sequence)

    def end(self, query: QueryState, error: BudgetError) -> None:
        """Stop a query whose members all exceed their budgets, and end them. It stays here until they
        close.
        """
        assert query.meter is not None  # noqa: S101 - only a meter raises that
        meter = query.meter
        uses = [(use, (use.budget and meter.excess(use.budget)) or error) for use in query.uses]
        query.forget_uses()
        self._state.commits.forget_query(query)
        self._state.stop(query)
        for use, reason in uses:
            use.end(reason)

    def end_use(self, use: Use, error: BudgetError) -> None:
        """End the subscription of a member that exceeds its budget, with the error."""
        query = use.query
        self._state.commits.forget(use)
        query.remove(use)
        if not query.is_used:
            self._state.commits.forget_query(query)
            self._state.stop(query)
        use.end(error)

    def reload(self, sequence: int) -> None:
        """Discard all state, read the store again, and deliver the full answer to every subscription."""
        queries = self._used()
        for query in queries:
            self._state.commits.owe_query(query)
        for query in queries:
            self._state.stop(query)
        for view in self._state.views.values():
            self._reload(view)
        for query in queries:
            self._redeliver(query, sequence)

    def renew(self, sequence: int) -> None:
        """Restart everything after an interruption, and deliver the full answer to every subscription.

        The interruption may have come at any line, so no state that a change writes is reliable. Only the
        contents of windows are kept, as no store could supply them again.
        """
        state = self._state
        state.dictionary.keep_all()
        for query in self._used():
            state.commits.owe_query(query)
        given_up: set[QueryState] = set()
        while not self._start_all(sequence, given_up):
            for query in self._stopped:
                log.error("a query failed for good: %s", query.plan.query.text)
            given_up.update(self._stopped)
        state.capture.mended()
        state.dictionary.sweep()

    def _start_all(self, sequence: int, given_up: set[QueryState]) -> bool:
        """Start all queries but some; return False if one was interrupted, so that no state is reliable."""
        state, queries = self._state, self._used()
        state.owners.clear()
        state.commits.reset()
        self.broken.clear()
        self._stopped.clear()
        self.exceeding.clear()
        for view in state.views.values():
            view.forget()
        # also a query whose close was interrupted
        for query in state.queries:
            query.renew()
            query.views = []
        for view in state.views.values():
            self._reload(view)
        for query in queries:
            if query in given_up:
                state.commits.forget_query(query)
            else:
                self._redeliver(query, sequence)
        return not self._stopped

    def _used(self) -> list[QueryState]:
        return [query for query in self._state.queries if query.is_used]

    def _reload(self, view: View) -> None:
        try:
            view.reload()
        except Exception as error:
            log.exception("a view failed for good")
            if is_interruption(error):
                self._state.capture.tear()

    def _redeliver(self, query: QueryState, sequence: int) -> None:
        """Restart a stopped query and deliver the full answer."""
        answers = self._restart(query)
        if answers is not None:
            self._state.commits.tell(query, sequence, (answers, True))

    def _restart(self, query: QueryState) -> dict[Row, TermWeights] | None:
        """Restart a stopped query; return the answers by parameters, or None if that fails."""
        try:
            answers: Answers = self._state.start(query)
            if answers is None:
                answers = {(): self._state.answer_to(query, ())}
            if isinstance(query.meter, SharedMeter):
                query.meter.deliver(sum(len(answers.get(use.asked, ())) for use in query.uses))
            return answers
        except BudgetError as error:
            assert query.meter is not None  # noqa: S101 - only a meter raises that
            query.meter.error = error
            self._state.stop(query)
            self.exceed(query)
            self.settle(self._state.capture.sequence)
        except Exception as error:
            text = query.plan.query.text
            if is_interruption(error):
                log.exception("a query could not restart; this is tried once more: %s", text)
                self._stopped[query] = None
                self._state.capture.tear()
            else:
                log.exception("a query failed for good: %s", text)
            self._state.stop(query)
        return None


def _by_account(query: QueryState) -> list[list[Use]]:
    """Group the members by account, without the first account."""
    parts: dict[Account | None, list[Use]] = {}
    for use in query.uses:
        parts.setdefault(use.account, []).append(use)
    return list(parts.values())[1:]


def _half(query: QueryState) -> set[Row]:
    """Return one half of the parameter tuples."""
    return set(query.asked[query.members // 2 :])
