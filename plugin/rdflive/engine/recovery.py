"""How views and queries start anew after a failure or an interruption, so that nobody misses a change."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any
from weakref import proxy

from rdflive.engine.multiset import Row
from rdflive.engine.query import Found, QueryState, TermWeights
from rdflive.engine.view import View
from rdflive.errors import BudgetError, is_interruption

__all__ = ["Recovery"]

log = logging.getLogger("rdflive")


class Recovery:
    """Starts what failed anew, and has everybody told the whole answer who may have missed a change.

    The write has happened, whatever a query makes of it, and no query may harm another. A query that fails
    twice has no answer until the graph is read again.
    """

    def __init__(self, state: Any) -> None:
        # not a circle, so that the last close frees all at once
        self._state: Any = proxy(state)
        self.broken: dict[View, None] = {}
        """The views that have failed half-way."""
        self._stopped: dict[QueryState, None] = {}
        """Queries that were interrupted while they were started anew, perhaps half-way through a kernel."""

    def give_up(self, view: View) -> None:
        """Start a view and its queries again at the next commit, because the view failed half-way."""
        self.broken[view] = None

    def forget_query(self, query: QueryState) -> None:
        """Forget a query that nobody uses any more."""
        self._stopped.pop(query, None)

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
                log.exception("a view failed on an update; it and its queries are started anew")
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

    def drain(self, query: QueryState) -> Found:
        """Give the deltas of a query. A query that fails is started again, and the whole answer is told."""
        try:
            return query.drain(), False
        except BudgetError as error:
            self.end(query, error)
            return {}, False
        except Exception:
            log.exception("a query failed on an update and is started anew: %s", query.plan.query.text)
        self._state.stop(query)
        answers = self._restart(query)
        return ({}, False) if answers is None else (answers, True)

    def end(self, query: QueryState, error: BudgetError) -> None:
        """Stop a query that would exceed its budget, and say so. It stays here until it is removed."""
        assert query.meter is not None  # noqa: S101 - who else would raise that
        query.forget_uses()
        self._state.commits.forget_query(query)
        self._state.stop(query)
        query.meter.fail(error)

    def reload(self, sequence: int) -> None:
        """Forget what is cached, read the store again, and hand everybody the whole answer."""
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
        """Start everything again after an interruption, and hand everybody the whole answer.

        The interruption may have come at any line, so nothing that a change writes is trusted. Only the
        contents of windows are kept, as no store could give them again.
        """
        state = self._state
        state.dictionary.keep_all()
        for query in self._used():
            state.commits.owe_query(query)
        given_up: set[QueryState] = set()
        while not self._begin_anew(sequence, given_up):
            for query in self._stopped:
                log.error("a query failed for good: %s", query.plan.query.text)
            given_up.update(self._stopped)
        state.capture.mended()
        state.dictionary.sweep()

    def _begin_anew(self, sequence: int, given_up: set[QueryState]) -> bool:
        """Begin anew with all queries but some; false where one was interrupted, so that none is sure."""
        state, queries = self._state, self._used()
        state.owners.clear()
        state.commits.begin_anew()
        self.broken.clear()
        self._stopped.clear()
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
            self.end(query, error)
        except Exception as error:
            text = query.plan.query.text
            if is_interruption(error):
                log.exception("a query could not be started anew; it is tried once more: %s", text)
                self._stopped[query] = None
                self._state.capture.tear()
            else:
                log.exception("a query failed for good: %s", text)
            self._state.stop(query)
        return None
