"""How views and queries start again after a failure or an interruption, so that no change is missed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any
from weakref import proxy

from rdflive.engine.multiset import Row, TermWeights
from rdflive.engine.query import Found, QueryState, Use
from rdflive.engine.view import View
from rdflive.errors import BudgetError, is_interruption
from rdflive.query.budget import Budget

__all__ = ["Recovery"]

log = logging.getLogger("rdflive")


class Recovery:
    """Starts again what failed, and gives each subscription that may have missed a change its whole answer.

    The write has happened, whatever a query makes of it, and no query may harm another. A query that fails
    twice has no answer until the graph is read again.
    """

    def __init__(self, state: Any) -> None:
        # not a circle, so that the last close frees all at once
        self._state: Any = proxy(state)
        self.broken: dict[View, None] = {}
        """The views that have failed half-way."""
        self._stopped: dict[QueryState, None] = {}
        """Queries that were interrupted while they were started again, perhaps half-way through a kernel."""
        self.exceeding: dict[QueryState, None] = {}
        """Queries with a budget that this commit exceeds."""

    def give_up(self, view: View) -> None:
        """Start a view and its queries again at the next commit, because the view failed half-way."""
        self.broken[view] = None

    def forget_query(self, query: QueryState) -> None:
        """Forget a query without subscriptions."""
        self._stopped.pop(query, None)
        self.exceeding.pop(query, None)

    def exceed(self, query: QueryState) -> None:
        """Handle a query that exceeds a budget at the end of the commit; until then it computes nothing."""
        self.exceeding[query] = None

    def each(self, views: Iterable[View], act: Callable[[View], object]) -> BaseException | None:
        """Have each view act, and note which failed half-way. Gives the interruption to raise at the end."""
        interrupt: BaseException | None = None
        for view in views:
            known = view in self.broken
            # Noted before it acts, so that an interruption at any line leaves the note.
            self.broken[view] = None
            try:
                act(view)
            except Exception:
                log.exception("a view failed on an update; it and its queries are started again")
            except BaseException as error:  # noqa: BLE001 - raised when nothing is left half done
                interrupt = error
            else:
                if not known:
                    del self.broken[view]
        return interrupt

    def mend(self, sequence: int, missed: set[QueryState]) -> None:
        """Start views that failed and their queries again, and queries that missed a delta."""
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
            self._tell_anew(query, sequence)

    def drain(self, query: QueryState, told: int = 0) -> Found:
        """Give the deltas of a query, beside solutions that were told in terms, so many.

        A query that fails is started again, and the whole answer is told.
        """
        meter = query.meter
        try:
            found = query.drain()
            if meter is not None:
                if told:
                    meter.spend(told)
                if query.exceeded():
                    self.exceed(query)
            return found, False
        except BudgetError as error:
            assert meter is not None  # noqa: S101 - only a meter raises that
            meter.error = error
            self.exceed(query)
            return {}, False
        except Exception:
            log.exception("a query failed on an update and is started again: %s", query.plan.query.text)
        self._state.stop(query)
        answers = self._restart(query)
        return ({}, False) if answers is None else (answers, True)

    def restart(self, query: QueryState) -> None:
        """Start a query again that stopped half-way when a member came; no answer has changed."""
        self._state.stop(query)
        if self._restart(query) is not None:
            self._state.commits.forget_query(query)

    def settle(self, sequence: int) -> None:
        """Handle the queries that exceed a budget: end the members that cost too much, and keep the others.

        What the members cost together is charged to each, if they all ask for the same. If they do not, the
        part of each is not known, so they are divided. Those whose budget is too small have a query of their
        own from now on; where the largest budget is too small, one half of the members has. So a member that
        costs too much is soon alone.
        """
        while self.exceeding:
            query, _ = self.exceeding.popitem()
            error = None if query.meter is None else query.meter.error
            if error is None:
                self._part(query, query.exceeded(), sequence)
            elif query.members > 1:
                self._divide(query, sequence)
            else:
                self.end(query, error)

    def _part(self, query: QueryState, exceeded: dict[Budget, BudgetError], sequence: int) -> None:
        """Move members with small budgets to a plan of their own, or end the only member."""
        uses = [(use, exceeded[use.budget]) for use in query.uses if use.budget in exceeded]
        if query.members > 1 and len(uses) == len(query.uses):
            # each budget is exceeded in another of its limits, of which the query has the largest ones
            half = _half(query)
            uses = [(use, error) for use, error in uses if use.asked in half]
        if uses and query.members > 1:
            self._tell_anew(self._state.part(query, [use for use, _ in uses]), sequence)
            return
        for use, error in uses:
            self.end_use(use, error)

    def _divide(self, query: QueryState, sequence: int) -> None:
        """Start a query again that stopped half-way, without one half of the tuples that are asked for."""
        state = self._state
        state.commits.owe_query(query)
        state.stop(query)
        half = _half(query)
        own = state.part(query, [use for use in query.uses if use.asked in half])
        for one in (query, own):
            state.commits.mended(one)
            self._tell_anew(one, sequence)

    def end(self, query: QueryState, error: BudgetError) -> None:
        """Stop a query whose members all exceed their budgets, and say so. It stays here until these go."""
        assert query.meter is not None  # noqa: S101 - only a meter raises that
        meter = query.meter
        uses = [(use, (use.budget and meter.excess(use.budget)) or error) for use in query.uses]
        query.forget_uses()
        self._state.commits.forget_query(query)
        self._state.stop(query)
        for use, reason in uses:
            use.end(reason)

    def end_use(self, use: Use, error: BudgetError) -> None:
        """End the subscription of a member that exceeds its budget, and tell it why."""
        query = use.query
        self._state.commits.forget(use)
        query.remove(use)
        if not query.is_used:
            self._state.commits.forget_query(query)
            self._state.stop(query)
        use.end(error)

    def reload(self, sequence: int) -> None:
        """Forget what is cached, read the store again, and give every subscription its whole answer."""
        queries = self._used()
        for query in queries:
            self._state.commits.owe_query(query)
        for query in queries:
            self._state.stop(query)
        for view in self._state.views.values():
            self._reload(view)
        for query in queries:
            self._tell_anew(query, sequence)

    def renew(self, sequence: int) -> None:
        """Start everything again after an interruption, and give every subscription its whole answer.

        The interruption may have come at any line, so nothing that a change writes is trusted. Only the
        contents of windows are kept, as no store could give them again.
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
        """Start all queries but some; false where one was interrupted, so that none can be trusted."""
        state, queries = self._state, self._used()
        state.owners.clear()
        state.commits.reset()
        self.broken.clear()
        self._stopped.clear()
        self.exceeding.clear()
        for view in state.views.values():
            view.forget()
        # also of one whose close was interrupted
        for query in state.queries:
            query.renew()
            query.views = []
        for view in state.views.values():
            self._reload(view)
        for query in queries:
            if query in given_up:
                state.commits.forget_query(query)
            else:
                self._tell_anew(query, sequence)
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

    def _tell_anew(self, query: QueryState, sequence: int) -> None:
        """Start a stopped query again and hand on the whole answer."""
        answers = self._restart(query)
        if answers is not None:
            self._state.commits.tell(query, sequence, (answers, True))

    def _restart(self, query: QueryState) -> dict[Row, TermWeights] | None:
        """Start a stopped query again; gives the answers by what is asked for, None where that fails."""
        try:
            answers = self._state.start(query)
            return {(): self._state.answer_to(query, ())} if answers is None else answers
        except BudgetError as error:
            assert query.meter is not None  # noqa: S101 - only a meter raises that
            query.meter.error = error
            self._state.stop(query)
            self.exceed(query)
            self.settle(self._state.capture.sequence)
        except Exception as error:
            text = query.plan.query.text
            if is_interruption(error):
                log.exception("a query could not be started again; this is tried once more: %s", text)
                self._stopped[query] = None
                self._state.capture.tear()
            else:
                log.exception("a query failed for good: %s", text)
            self._state.stop(query)
        return None


def _half(query: QueryState) -> set[Row]:
    """Give one half of the tuples that members ask for."""
    return set(query.asked[query.members // 2 :])
