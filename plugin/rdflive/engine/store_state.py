"""Everything that is maintained on one store: the views of its graphs, and the queries over them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.kernel import SegmentState
from rdflive.engine.metered import MeteredQuery
from rdflive.engine.query import QueryState, TermWeights, add_up, common_losses
from rdflive.engine.terms import TermTable
from rdflive.engine.view import View
from rdflive.errors import BudgetError, is_interruption
from rdflive.model import Term, Terms
from rdflive.query.bgp import TriplePattern
from rdflive.query.budget import Meter
from rdflive.query.plan import Plan
from rdflive.store.capture import Capture

__all__ = ["Emit", "StoreState", "ViewOf"]

log = logging.getLogger("rdflive")

Emit: TypeAlias = Callable[[TermWeights, int, bool, TermWeights], None]
"""Takes a delta, the number of its commit, whether it is the whole answer (an initial delta), and the
solutions that were removed because time passed, each with its count.
"""
Found: TypeAlias = tuple[TermWeights, bool]
"""A delta, and whether it is the whole answer."""
ViewOf: TypeAlias = Callable[[Any], View]
"""Gives the view that a pattern of a query looks at, by the graph that the pattern names."""


class StoreState:
    """Keeps the queries on one store up to date; all methods are called under the store's lock.

    Its views share one dictionary, so that rows of several graphs can be joined.
    """

    def __init__(
        self, capture: Capture, to_native: Callable[[Any], Term], to_value: Callable[[Term], Any] | None
    ) -> None:
        self._capture = capture
        self.to_native = to_native
        self.dictionary = Dictionary()
        self.terms = TermTable(self.dictionary, to_native, to_value)
        self.views: dict[Any, View] = {}
        """The views in use, by whatever key the caller chose."""
        self._emits: dict[QueryState, Emit] = {}
        self._owners: dict[SegmentState, tuple[QueryState, View]] = {}
        self._views: dict[QueryState, list[View]] = {}
        self._view_of: dict[QueryState, ViewOf] = {}
        self._unflushed: dict[View, None] = {}
        self._broken: dict[View, None] = {}
        self._stopped: dict[QueryState, None] = {}
        """Queries that were interrupted while they were started anew, perhaps half-way through a kernel."""
        self._untimed: dict[QueryState, Found] | None = None
        """The deltas of this commit that the writes caused, where time changes something too; otherwise None.

        Windows move in the same commit that brings a write. The two kinds of deltas are computed one after
        the other so that a subscription can be told which solutions only expired.
        """
        self._every: set[QueryState] = set()
        """The queries that are told every report of their windows, also one without a change."""
        self._reported: set[View] = set()
        self._owed: dict[QueryState, None] = {}
        """The queries with a delta that was not handed on yet. One that is still here after a failure is told
        its whole answer.
        """
        self._commits = False
        """True while a commit has terms to tell of that may have no reference any more."""
        self.seconds = 0.0
        """Time spent above the segments."""

    def commit(self, sequence: int) -> None:
        """Hand the net delta of each changed query to its subscription. A second call does nothing."""
        start = perf_counter()
        # The solutions of a delete are read by their ids, so nothing may sweep the dictionary until all
        # deltas are terms.
        self._commits, self._untimed = True, None
        try:
            if self._unflushed or self._broken or self._owed:
                self._flush(sequence)
            deltas = self._deltas()
        finally:
            self._commits = False
        untimed, self._untimed = self._untimed, None
        self.seconds += perf_counter() - start
        if untimed is not None:
            self._emit_timed(sequence, untimed, deltas)
        elif self._reported:
            self._emit_timed(sequence, deltas, {})
        else:
            for query, found in deltas.items():
                self._tell(query, sequence, found, {})
        self.dictionary.sweep()

    def _deltas(self) -> dict[QueryState, Found]:
        """Take the deltas of the queries whose segments have solutions to be taken."""
        changed: dict[QueryState, None] = {}
        for view in self.views.values():
            if view.kernel.dirty:
                for state in view.kernel.dirty:
                    owner = self._owners.get(state)
                    if owner is not None:
                        changed[owner[0]] = None
                # Noted before anything is taken: whatever interrupts from here on, the query is told its
                # whole answer.
                self._owed.update(changed)
                view.kernel.dirty.clear()
        return {query: self._drain(query) for query in changed}

    def _emit_timed(
        self, sequence: int, untimed: dict[QueryState, Found], timed: dict[QueryState, Found]
    ) -> None:
        """Hand on deltas of which some were caused by time alone."""
        reported, self._reported = self._reported, set()
        every = [query for query in self._every if not reported.isdisjoint(self._views[query])]
        for query in dict.fromkeys((*untimed, *timed, *every)):
            changed, began = untimed.get(query, ({}, False))
            passed, begins = timed.get(query, ({}, False))
            net = passed if begins else add_up((*changed.items(), *passed.items()))
            initial = began or begins
            expired = {} if initial else common_losses(net, passed)
            self._tell(query, sequence, (net, initial), expired, always=query in every)

    def _tell(
        self, query: QueryState, sequence: int, found: Found, expired: TermWeights, *, always: bool = False
    ) -> None:
        """Hand on a delta that has something to say. If that fails, no other query is affected."""
        delta, initial = found
        # A query that is told every report is told nothing between two reports.
        if initial or always or (delta and query not in self._every):
            self._owed[query] = None
            try:
                # the query stays among those that are owed until this has returned
                self._emits[query](delta, sequence, initial, expired)
            except Exception as error:
                log.exception("a delta could not be made; the next is initial: %s", query.plan.query.text)
                if is_interruption(error):
                    self._capture.owe()
                return
        self._owed.pop(query, None)

    def await_flush(self, view: View) -> None:
        """Call a view's `flush` at the beginning of the next commit."""
        self._unflushed[view] = None

    def owe(self, query: QueryState) -> None:
        """Hand on a query's whole answer at the next commit."""
        self._owed[query] = None

    def give_up(self, view: View) -> None:
        """Start a view and its queries again at the next commit, because the view failed half-way."""
        self._broken[view] = None

    def _flush(self, sequence: int) -> None:
        """Have views take the changes that they put off; start a view that fails, and its queries, again."""
        missed = set(self._owed)
        waiting, self._unflushed = self._unflushed, {}
        interrupt = self._each(waiting, lambda view: view.flush())
        moved = [view for view in waiting if view.expires and view not in self._broken]
        if self._every:
            self._reported.update(view for view in waiting if view.reports)
        # What the writes changed is taken before time moves on, so that the two can be told apart.
        if moved:
            self._untimed = self._deltas()
            interrupt = self._each(moved, lambda view: view.expire()) or interrupt
        for query in tuple(self._owed):
            if query.meter is not None and query.meter.error is not None:
                self._end(query, query.meter.error)
        if self._broken or missed:
            self._mend(sequence, missed)
        # Ctrl-C is raised only now, when every view is whole again.
        if interrupt is not None:
            raise interrupt

    def _each(self, views: Iterable[View], act: Callable[[View], None]) -> BaseException | None:
        """Have each view act, and note which failed half-way. Gives the interruption to raise at the end."""
        interrupt: BaseException | None = None
        for view in views:
            known = view in self._broken
            # Noted before it acts, so that an interruption at any line leaves the note.
            self._broken[view] = None
            try:
                act(view)
            except Exception:
                log.exception("a view failed on an update; it and its queries are started anew")
            except BaseException as error:  # noqa: BLE001 - raised when nothing is left half done
                interrupt = error
            else:
                if not known:
                    del self._broken[view]
        return interrupt

    def _mend(self, sequence: int, missed: set[QueryState]) -> None:
        """Start views that failed and their queries again, and queries that missed a delta."""
        broken = [view for view in self._broken if view in self.views.values()]
        on_broken = {query for query, views in self._views.items() if any(view in broken for view in views)}
        queries = [query for query in self._emits if query in missed or query in on_broken]
        self._broken.clear()
        self._owed.update(dict.fromkeys(queries))
        for view in broken:
            view.reset()
        for query in queries:
            self._stop(query)
        for view in broken:
            self._reload(view)
        for query in queries:
            if self._untimed is not None:
                self._untimed.pop(query, None)
            self._tell_anew(query, sequence)

    def _reload(self, view: View) -> None:
        try:
            view.reload()
        except Exception as error:
            log.exception("a view failed for good")
            if is_interruption(error):
                self._capture.tear()

    def _drain(self, query: QueryState) -> Found:
        """Give the delta of a query. A query that fails is started again and gives its whole answer.

        The write has happened, whatever a query makes of it, and no query may harm another. A query that
        fails twice has no answer until the graph is read again.
        """
        try:
            return query.drain(), False
        except BudgetError as error:
            self._end(query, error)
            return {}, False
        except Exception:
            log.exception("a query failed on an update and is started anew: %s", query.plan.query.text)
        self._stop(query)
        answer = self._restart(query)
        return answer, query in self._emits and query not in self._stopped

    def _tell_anew(self, query: QueryState, sequence: int) -> None:
        """Start a stopped query again and hand on its whole answer."""
        answer = self._restart(query)
        if query in self._emits and query not in self._stopped:
            self._tell(query, sequence, (answer, True), {})

    def _end(self, query: QueryState, error: BudgetError) -> None:
        """Stop a query that would exceed its budget, and say so. It stays here until it is removed."""
        assert query.meter is not None  # noqa: S101 - who else would raise that
        self._emits.pop(query)
        self._every.discard(query)
        self._owed.pop(query, None)
        self._stop(query)
        # The subscription asks for its views until it is closed.
        self._views[query] = []
        query.meter.fail(error)

    def _restart(self, query: QueryState) -> TermWeights:
        """Start a stopped query again and give its answer; an empty one if that fails."""
        try:
            answer = self._start(query)
            return self.answer(query) if answer is None else answer
        except BudgetError as error:
            self._end(query, error)
            return {}
        except Exception as error:
            text = query.plan.query.text
            if is_interruption(error):
                log.exception("a query could not be started anew; it is tried once more: %s", text)
                self._stopped[query] = None
                self._capture.tear()
            else:
                log.exception("a query failed for good: %s", text)
            self._stop(query)
            self._views[query] = []
            return {}

    def add(
        self, plan: Plan, view_of: ViewOf, emit: Emit, *, every: bool = False, meter: Meter | None = None
    ) -> tuple[QueryState, TermWeights | None]:
        """Start maintaining a query on what the store holds now.

        Returns the query and its answer, or None in place of the answer if starting did not compute it. With
        `every` each report of its windows is handed on, also one that changes nothing. With a meter the query
        ends when it costs too much.
        """
        if meter is None:
            query = QueryState(plan, self.dictionary, self.terms, self.to_native)
        else:
            query = MeteredQuery(plan, self.dictionary, self.terms, self.to_native, meter)
            meter.owe = partial(self.owe, query)
        self._view_of[query] = view_of
        try:
            answer = self._start(query)
            self._emits[query] = emit
            if every:
                self._every.add(query)
            return query, answer
        except BaseException:
            self.remove(query)
            raise

    def answers(self, query: QueryState, most: int | None = None) -> list[tuple[Terms, int]]:
        """List the whole current answer of a query with weights, in order where it has one.

        With `most` only its first rows, so many if there are.
        """
        listed = query.current(self._solutions, most)
        if not self._capture.is_used:
            self._sweep()
        return listed

    def answer(self, query: QueryState) -> TermWeights:
        """Give the whole current answer of a query."""
        return add_up(self.answers(query))

    def remove(self, query: QueryState) -> None:
        """Stop maintaining a query and free what only it used; views may be left without queries."""
        try:
            self._stop(query)
        finally:
            self._emits.pop(query, None)
            self._view_of.pop(query, None)
            self._every.discard(query)
            self._owed.pop(query, None)
            self._stopped.pop(query, None)

    def reload(self, sequence: int) -> None:
        """Forget what is cached, read the store again, and hand every query its whole answer."""
        self._owed.update(dict.fromkeys(self._emits))
        for query in self._emits:
            self._stop(query)
        for view in self.views.values():
            self._reload(view)
        for query in tuple(self._emits):
            self._tell_anew(query, sequence)

    def renew(self, sequence: int) -> None:
        """Start everything again after an interruption, and hand every query its whole answer.

        The interruption may have come at any line, so nothing that a change writes is trusted. Only the
        contents of windows are kept, as no store could give them again.
        """
        self.dictionary.keep_all()
        self._owed.update(dict.fromkeys(self._emits))
        given_up: set[QueryState] = set()
        while not self._begin_anew(sequence, given_up):
            for query in self._stopped:
                log.error("a query failed for good: %s", query.plan.query.text)
            given_up.update(self._stopped)
        self._capture.mended()
        self.dictionary.sweep()

    def _begin_anew(self, sequence: int, given_up: set[QueryState]) -> bool:
        """Begin anew with all queries but some; false where one was interrupted, so that none is sure."""
        for kept in (
            self._owners, self._views, self._unflushed, self._broken, self._reported, self._stopped,
        ):  # fmt: skip
            kept.clear()
        self._untimed, self._commits = None, False
        for view in self.views.values():
            view.forget()
        for query in self._emits:
            query.renew()
        for view in self.views.values():
            self._reload(view)
        for query in tuple(self._emits):
            if query in given_up:
                self._views[query] = []
                self._owed.pop(query, None)
            else:
                self._tell_anew(query, sequence)
        return not self._stopped

    def watched(self, query: QueryState) -> list[View]:
        """List the views that a query looks at."""
        return self._views[query]

    def located(self, query: QueryState) -> Iterator[tuple[View, TriplePattern]]:
        """List the patterns of a query as they were written, each with the view that it looks at."""
        for leaf in query.leaves:
            if leaf is not None:
                for state, segment in zip(leaf.states, leaf.plan.segments, strict=True):
                    yield from ((self._owners[state][1], pattern) for pattern in segment.patterns)

    def patterns(self) -> Iterator[tuple[Any, TriplePattern]]:
        """List the patterns of all queries as they were written, each with the key of its view."""
        keys = {view: key for key, view in self.views.items()}
        for query in self._emits:
            yield from ((keys[view], pattern) for view, pattern in self.located(query))

    def _start(self, query: QueryState) -> TermWeights | None:
        return query.open(partial(self._fill, query))

    def _fill(self, query: QueryState) -> TermWeights | None:
        views: dict[View, None] = {}
        self._views[query] = []
        for leaf in query.leaves:
            if leaf is None:
                continue
            view = self._view_of[query](leaf.plan.graph)
            if view not in views:
                views[view] = None
                view.queries += 1
                self._views[query].append(view)
            for segment in leaf.plan.segments:
                state = view.add(segment)
                leaf.states.append(state)
                self._owners[state] = query, view
                if leaf.answers:
                    # as if all solutions were inserted now; the answers take them, and the delta is not told
                    state.added.extend(view.solutions(state))
            if leaf.answers:
                leaf.drain()
        answer = None if query.is_leaf else query.load(self._solutions)
        self._sweep()
        return answer

    def _stop(self, query: QueryState) -> None:
        try:
            for state in query.states:
                owner = self._owners.pop(state, None)
                if owner is not None:
                    owner[1].remove(state)
        finally:
            query.clear()
            for view in self._views.pop(query, []):
                view.queries -= 1
            self._sweep()

    def _sweep(self) -> None:
        """Release terms without references, unless a commit or a write is under way.

        A commit releases them at its end: until then other queries may have to tell of them. A write may have
        numbered terms that nobody holds yet, and a signal handler may ask for answers or close a subscription
        in the middle of it.
        """
        if not self._commits and not self._capture.is_written:
            self.dictionary.sweep()

    def _solutions(self, state: SegmentState, most: int | None = None) -> list[tuple[int, ...]]:
        return self._owners[state][1].solutions(state, most)
