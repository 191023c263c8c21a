"""A subscription: one query on one graph, and the ways to follow its answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain, repeat
from typing import Any, Literal, TypeAlias

from rdflib import RDF
from rdflib.term import Node

from rdflive.delivery import membership
from rdflive.delivery.base import BaseSubscription, Stats, size_of
from rdflive.delivery.calling import Callback, call, failed
from rdflive.delivery.constructed import ConstructedGraph
from rdflive.delivery.delta_maker import DeltaMaker
from rdflive.delivery.mailbox import DeltaSource, Mailbox
from rdflive.delivery.question import Question
from rdflive.delivery.relay import Receiver
from rdflive.delivery.resume import Journal, Outbox, ResumeError
from rdflive.delivery.unheld import unheld_notes
from rdflive.engine.multiset import TermWeights
from rdflive.engine.query import QueryState, Use
from rdflive.engine.store_state import StoreState
from rdflive.engine.view import View
from rdflive.entail.provenance import Tracer
from rdflive.errors import BudgetError, ClosedError
from rdflive.model import Answers, Delta, Glimpse, Header, Solution, Terms
from rdflive.plugins import manager
from rdflive.query.demand import is_whole
from rdflive.query.explain import Explanation
from rdflive.query.known import KnownQuery
from rdflive.store import Adapter, GraphLike
from rdflive.store.deliveries import Delivering
from rdflive.time.ticker import describe

__all__ = ["OnError", "Subscription"]

OnError: TypeAlias = "Literal['log', 'ignore'] | Callable[[Subscription, Exception], object]"


class Subscription(BaseSubscription):
    """A query kept up to date. Close it, or use it as a context manager.

    Made by `subscribe`, under the store's lock, and begun by `start`. Follow it by callback, by iterating
    `deltas()`, by `async for delta in subscription`, or ask for its `answers()`. With `resume` there is one
    iterator at a time, and none beside a callback (`ResumeError`); it acknowledges a delta when it is asked
    for the next.
    """

    __slots__ = (
        "_adapter", "_capture", "_closed", "_direct", "_exceeded", "_graph", "_header", "_hits", "_maker",
        "_outbox", "_question", "_seen", "_state", "_terms", "_use",
    )  # fmt: skip

    def __init__(
        self,
        adapter: Adapter,
        graph: GraphLike,
        question: Question,
        terms: tuple[Node, ...],
        header: Header,
        receiver: Receiver,
        journal: Journal | None = None,
    ) -> None:
        super().__init__(receiver)
        callback = receiver.callback
        self._exceeded: BudgetError | None = None
        self._adapter = adapter
        self._capture = adapter.capture
        self._graph = graph
        self._question = question
        self._terms = terms
        """What it asks for, where the query has parameters."""
        self._header = header
        self._maker: DeltaMaker | None = None
        """None where a delta is what the engine gives, and no more."""
        is_clocked = bool(question.plan.clocked)
        if question.provenance or question.windowed is not None or is_clocked:
            tracer = Tracer(question.plan, adapter.to_native) if question.provenance else None
            self._maker = DeltaMaker(header, terms, tracer, question.windowed)
        self._outbox: Outbox | None = None
        if journal is not None:
            sample = adapter.to_native(RDF.type)
            told = partial(call, self, callback) if self._elsewhere is None and callback is not None else None
            self._outbox = Outbox(
                journal,
                header,
                sample=sample,
                initial=receiver.initial,
                call=told,
                stop=self._stop,
                asked=terms,
            )
            if self._elsewhere is not None:
                # asking for the next delta acknowledges, and so does the callback by returning
                self._elsewhere.inbox = self._outbox.consumer()
        elif callback is None:
            # it needs every delta: the number of the first may be 0
            self._queue = Mailbox()
            self._followers = ((self._queue, -1),)
        self._direct = callback if receiver.elsewhere is None and journal is None else None
        """The callback that the thread that wrote calls with each delta itself; None if there is none."""
        self._closed = False
        self._state: StoreState | None = None
        self._use: Use
        """Set when it begins."""

    @property
    def query(self) -> str:
        """The text of the query."""
        return self._question.text

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._closed

    def answers(self) -> Answers[Solution]:
        """List the current answer, each solution as often as it occurs (ASK: one empty one if true).

        It is in the order of ORDER BY. CONSTRUCT gives triples. Where the query has NOW(), what time has
        changed is told first.
        """
        with self._capture.reading():
            listed = self._listed()
        return Answers(self._header, chain.from_iterable(repeat(terms, weight) for terms, weight in listed))

    def _glimpse(self) -> Glimpse:
        with self._capture.reading():
            return Glimpse(self._header, self._listed(Glimpse.most))

    def _listed(self, most: int | None = None) -> list[tuple[Terms, int]]:
        """List the current answer with weights, or its first rows."""
        state, present = self._live(), self._use.query.present
        if present is not None:
            present.clockwork.catch_up()
        return state.answers(self._use, most)

    def _answer(self) -> TermWeights:
        """Give the whole current answer."""
        return self._live().answer(self._use)

    def _queries(self) -> list[QueryState]:
        """List what the engine maintains for it."""
        return [self._use.query]

    def explain(self) -> Explanation:
        """Show the plan: its operators and patterns, what each keeps and what an update costs.

        Its `notes` say what the query names and the data do not hold now.
        With entailment, also how entailed triples are kept and what that has cost so far.
        When the graph has changed the last line has `updates`, `matched` and `entries` of `stats`.
        """
        with self._capture.reading():
            views = [] if self._state is None else self._state.watched(self._use.query)
            lines = [line for view in views for line in view.describe()]
            present = None if self._state is None else self._use.query.present
            clock = [] if present is None else describe(present)
            plan, question = self._question.readable(self._terms), self._question
            members = 1 if self._state is None else self._use.query.members
            shared = KnownQuery(question.plan, self._terms)
            counted = "" if self._state is None else self._counted()
            held = () if self._state is None else tuple(self._state.held(self._use))
            # a closed one says what its plan was
            whole = is_whole(self._use.query.plan)
            if question.windowed or self._state is None:
                return Explanation(
                    plan,
                    windows=lines,
                    members=members,
                    shared=shared,
                    counted=counted,
                    held=held,
                    is_whole=whole,
                )
            notes = unheld_notes(self._adapter, self._graph, plan, question.regime)
        return Explanation(
            plan,
            lines,
            clock=clock,
            notes=tuple(notes),
            members=members,
            shared=shared,
            counted=counted,
            held=held,
            is_whole=whole,
        )

    @property
    def stats(self) -> Stats:
        """Count what the subscription has seen and what it keeps."""
        with self._capture.reading():
            state, queries, containers = self._live(), self._queries(), self._containers()
            return Stats(
                algorithms=self._algorithms(),
                updates=self._updates(),
                matched=self._matched(),
                deltas=self._delivered if self._outbox is None else self._outbox.count,
                entries=sum(map(len, containers)),
                size=size_of(containers),
                seconds=state.seconds + sum(view.seconds for view in state.views.values()),
                callback_seconds=self._callback_seconds,
                members=sum(query.members for query in queries),
            )

    def _algorithms(self) -> tuple[str, ...]:
        plan = self._question.readable(self._terms)
        return tuple(name for basic in plan.basics for name in basic.algorithms)

    def _updates(self) -> int:
        return sum(view.seen for view in self._views()) - self._seen

    def _matched(self) -> int:
        return sum(query.hits() for query in self._queries()) - self._hits

    def _containers(self) -> list[Any]:
        """List what holds the entries that are kept."""
        own = [container for query in self._queries() for container in query.containers()]
        return [*own, *(container for view in self._views() for container in view.containers())]

    def _counted(self) -> str:
        """Write the counts, if there are any, without the sizes of sets, which take long to measure."""
        changes = self._updates()
        if not changes:
            return ""
        entries = sum(map(len, self._containers()))
        return f"changes {changes:,}, matches {self._matched():,}, entries kept {entries:,}"

    def _views(self) -> list[View]:
        """List the views that it looks at, each once."""
        return list(dict.fromkeys(view for query in self._queries() for view in query.views))

    def resync(self) -> None:
        """Read the graph again, after changes that were made behind rdflive's back.

        Every subscription on the graph gets a new initial delta, which replaces what it had; a resumed
        one gets the difference.
        """
        with self._capture.reading():
            membership.reload(self._adapter, self._live())

    def close(self) -> None:
        """Stop, free what only this subscription used, and let its iterators end. May be repeated.

        A delta that is still queued for the callback is dropped; with `resume` it comes after the restart.
        """
        capture = self._capture
        with capture.reading():
            # first, so that no delta that is queued reaches the callback, whatever interrupts the rest
            self._closed = True
            if capture.is_used:  # a finalizer or a signal handler called this in the middle of a write
                capture.enqueue(Delivering(self.close))
                return
            if self._state is not None:
                self._leave(self._state)
                manager.release(self._adapter)
                self._state = None  # last, so that the next call finishes what an interruption left
        if self._outbox is not None:
            self._outbox.close()
        self._end_delivery()

    def _begin(self) -> None:
        """Count updates and matches from here."""
        self._seen = sum(view.seen for view in self._views())
        self._hits = sum(query.hits() for query in self._queries())

    def _leave(self, state: StoreState) -> None:
        """Have nothing maintained any more."""
        membership.leave(self._adapter, state, self._use)

    def _live(self) -> StoreState:
        if self._state is None or self._closed or self._exceeded is not None:
            raise self._closed_error()
        return self._state

    def _closed_error(self) -> ClosedError:
        return super()._closed_error() if self._exceeded is None else self._exceeded

    @property
    def _shown(self) -> Header:
        return self._header

    def _reading(self) -> AbstractContextManager[object]:
        return self._capture.reading()

    def _construct(self) -> ConstructedGraph:
        now = self._plain(self._answer(), self._capture.sequence, True)
        shows_rdflib = self._adapter.from_native() is not None
        return ConstructedGraph(now, None if shows_rdflib else self._adapter.to_rdflib())

    def _now(self) -> int:
        self._live()
        return self._capture.sequence

    def _whole(self) -> Delta | None:
        state, sequence = self._live(), self._capture.sequence
        if self._maker is None:
            return self._plain(self._answer(), sequence, True)
        return self._maker.whole(state, self._use, sequence)

    def _open_source(self) -> tuple[DeltaSource, Callable[[], object]]:
        if self._outbox is None:
            return super()._open_source()
        self._live()
        consumer = self._outbox.consumer()
        return consumer, partial(self._outbox.release, consumer)

    def _plain(self, weights: TermWeights, sequence: int, initial: bool) -> Delta:
        return Delta(self._header, weights, sequence=sequence, initial=initial, asked=self._terms)

    def _call(self, callback: Callback, delta: Delta) -> None:
        # the step may be repeated after an interruption, or an earlier callback may have closed this
        if delta._is_told or self._closed:
            return
        try:
            delta._is_told = True
            call(self, callback, delta)
        except BaseException:
            self.doubt()
            raise

    def doubt(self) -> None:
        """Give the whole answer when the store is used next, because a callback was interrupted."""
        if self._outbox is None:
            self._owe()
        else:
            self._outbox.again()

    def _owe(self) -> None:
        with self._capture.lock:
            if self._state is not None and not self._closed:
                windowed = self._question.windowed
                # where only what went is reported, there is no whole answer, so what waits is told
                if windowed is None or windowed.has_whole:
                    self._doubted = self._capture.sequence
                self._owe_answer(self._state)
                self._capture.owe()

    def _owe_answer(self, state: StoreState) -> None:
        """Have the whole answer told with the next commit. Called under the store's lock."""
        state.commits.owe(self._use)

    def _exceed(self, error: BudgetError) -> None:
        """Note that the budget is used up, and queue the end after the deltas. Called under the
        store's lock.
        """
        self._exceeded = error.with_traceback(None)  # its frames would keep the rows that were too many
        self._capture.enqueue(Delivering(partial(self._end, error)))

    def _end(self, error: BudgetError) -> None:
        if not self.closed:
            failed(self, error, "subscription %r has ended")
            self.close()

    def _outbox_put(self, outbox: Outbox, delta: Delta) -> None:
        if self.closed:
            return
        try:
            outbox.put(delta)
        except ResumeError as error:
            failed(self, error)

    def _fail(self, error: ResumeError) -> None:
        """End, because what its streams were given cannot be written."""
        self._stop(error)
        failed(self, error)

    def _stop(self, error: BaseException) -> None:
        """Close, because the journal cannot be written. What is missed from now on can be resumed."""
        if isinstance(error, Exception):
            self.last_error = error
        self.close()
