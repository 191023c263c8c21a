"""Joins subscriptions to the engine of their store, and removes them.

A store has one engine, which exists while a subscription or `saturate` needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, Literal

from rdflib import RDFS
from rdflib.term import Node

from rdflive.delivery.question import Question
from rdflive.engine.multiset import TermWeights
from rdflive.engine.present import Present
from rdflive.engine.query import Use
from rdflive.engine.store_state import StoreState
from rdflive.engine.view import QuadView, State, View
from rdflive.entail.entailment import Regime
from rdflive.entail.rdfs import Rdfs
from rdflive.entail.rules import Program, RuleRegime, load_program
from rdflive.entail.view import EntailedView
from rdflive.errors import UnsupportedQueryError
from rdflive.model import Term
from rdflive.query.algebra import CLASSIFIED
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.budget import Budget
from rdflive.store import NAMED, Adapter, GraphKey, Listener, content_of, looks_up, value_of
from rdflive.store.snapshot import committed_quads, committed_triples
from rdflive.time.clock import Clock
from rdflive.time.expiry import Expiry
from rdflive.time.opening import Windowing, WindowSource, open_view
from rdflive.time.ticker import Ticker

__all__ = [
    "SUBCLASSES",
    "desaturate",
    "holds",
    "join",
    "leave",
    "patterns",
    "reload",
    "saturate",
    "uncounted",
    "with_subclasses",
]

SUBCLASSES: Final = Rdfs(only_classes=True)
"""The regime that makes an instance of a class an instance of its superclasses, and entails nothing else."""
_OF_SUBCLASSES: Final = frozenset({"rdfs9", "cax-sco"})
"""The names of the rule below in the built-in rule sets."""
_RULE: Final = f"{{ ?x a ?c . ?c <{RDFS.subClassOf}> ?d }} => {{ ?x a ?d }} ."
_ANY: Final = TriplePattern(Variable("s"), Variable("p"), Variable("o"))


class _SeveralViews:
    """The views of one graph: its own triples, and its entailed triples by regime."""

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        self.state = views[0].state
        # the engine's methods: one commit serves all views of a store, and a second does nothing
        self.commit, self.renew = self.state.commit, self.state.renew

    def apply(self, sign: Literal[1, -1], change: tuple[Term, ...], /) -> bool:
        matched = False
        for view in self.views:  # not `any`, which would stop at the first match
            matched = view.apply(sign, change) or matched
        return matched

    def apply_all(self, changes: Sequence[tuple[Literal[1, -1], tuple[Term, ...]]]) -> bool:
        matched = False
        for view in self.views:
            matched = view.apply_all(changes) or matched
        return matched

    def wanted(self) -> set[Term] | None:
        """Return the predicates that some view needs; None if a view needs all."""
        found: set[Term] = set()
        for view in self.views:
            predicates = view.wanted()
            if predicates is None:
                return None
            found |= predicates
        return found

    def pass_by(self, count: int) -> None:
        """Make all views count changes that none of them needs."""
        for view in self.views:
            view.pass_by(count)


@dataclass(frozen=True, slots=True)
class _WindowsKey:
    """The key of a view of windows. It takes the place of a regime, and of a graph if there is none."""

    sources: tuple[WindowSource, ...]
    regime: Regime | None
    expiry: Expiry
    beside: bool
    every: bool


def with_subclasses(regime: Regime | None) -> Regime:
    """Return a regime extended by superclasses of instances; the same regime if it entails these already."""
    if regime is None:
        return SUBCLASSES
    if isinstance(regime, RuleRegime) and _OF_SUBCLASSES.isdisjoint(r.name for r in regime.program.rules):
        return _with_rule(regime)
    return regime


@lru_cache(maxsize=32)  # so that equal regimes are one object
def _with_rule(regime: RuleRegime) -> RuleRegime:
    return RuleRegime(Program.union([regime.program, load_program(_RULE)]))


def holds(adapter: Adapter, terms: Iterable[Node]) -> bool:
    """True if a store can hold all of the terms. A term that it cannot hold may still stand in a filter."""
    try:
        for term in terms:
            adapter.to_native(term)
    except ValueError:
        return False
    return True


def join(
    adapter: Adapter,
    target: Any,
    question: Question,
    uses: Sequence[Use],
    budget: Budget | None = None,
    *,
    answer: bool = True,
) -> tuple[StoreState, list[TermWeights | None]]:
    """Maintain a question over a graph for several uses, with terms that the store can hold.

    Returns the store's engine, and the answer for each use: None if starting did not compute it, or if
    `answer` is false. The first subscription starts the engine. Called under the store's lock.
    """
    plan, windowed = question.plan, question.windowed
    windowing = Windowing() if windowed is None else windowed.windowing
    # first: a query with a term that the store cannot hold is refused
    _check(adapter, plan.constants)
    state = _state(adapter)
    present = _present(adapter, state, question.clock) if plan.clocked else None
    with adapter.capture.changing():
        try:
            view_of = partial(_view, adapter, target, state, question.regime, windowing)
            family = None
            # no family with provenance, because origins are traced per subscription
            if not question.provenance:
                windows = None if windowed is None else windowing.identity
                # equal texts have the same plan
                shape = (plan.query.shape, plan.algorithm) if plan.parameters else (plan,)
                clock = None if present is None else question.clock
                key = adapter.graph_key(target)
                shared = None if budget is None else budget.shared
                family = *shape, key, question.regime, windows, clock, budget is None, shared
            answers = state.add(
                plan,
                view_of,
                uses,
                family=family,
                answer=answer,
                every=windowing.every,
                budget=budget,
                present=present,
            )
            try:
                # only after the start of the query is it known which schema and windows it reads
                query = uses[0].query
                for view in state.watched(query):
                    for use in uses:
                        view.check(query.states, use.asked)
            except BaseException:
                for use in uses:
                    state.remove(use)
                raise
        except BaseException:
            _release_unused(adapter, state)
            raise
    return state, answers


def saturate(adapter: Adapter, target: Any, regime: Regime) -> EntailedView:
    """Maintain all entailed triples of a graph, without a query; see `desaturate`."""
    state = _state(adapter)
    with adapter.capture.changing():
        view = _view(adapter, target, state, regime, Windowing(), None)
        assert isinstance(view, EntailedView)  # noqa: S101 - there is a regime, and one graph
        try:
            view.want_all()
            # counted last: a view that failed above has no queries, and is released below
            view.queries += 1
        finally:
            _release_unused(adapter, state)
    return view


def desaturate(adapter: Adapter, view: EntailedView) -> None:
    """Undo one call of `saturate`."""
    with adapter.capture.changing():
        view.queries -= 1
        try:
            view.unwant_all()
        finally:
            if isinstance(view.state, StoreState):
                _release_unused(adapter, view.state)


def reload(adapter: Adapter, state: State) -> None:
    """Read the graphs of a store again, for everything that is maintained on it."""
    if isinstance(state, StoreState):
        with adapter.capture.changing():
            state.reload(adapter.capture.sequence)


def leave(adapter: Adapter, state: StoreState, use: Use) -> None:
    """Stop maintaining a query, and stop listening to graphs that no other query reads. May be repeated."""
    with adapter.capture.changing():
        try:
            state.remove(use)
        finally:
            _release_unused(adapter, state)


@contextmanager
def uncounted(adapter: Adapter) -> Iterator[None]:
    """Restore the counters of a store's engine after the block."""
    kept = [state.keep_counts() for state in set(_states(adapter))]
    try:
        yield
    finally:
        for set_back in kept:
            set_back()


def patterns(adapter: Adapter) -> Iterator[tuple[GraphKey, TriplePattern]]:
    """List the patterns maintained on a store, each with the key of its graph.

    A graph with entailment is listed with the pattern that matches anything, because the entailed triples may
    depend on any triple.
    """
    for state in set(_states(adapter)):
        for (key, regime), pattern in state.patterns():
            entailed = regime.regime if isinstance(regime, _WindowsKey) else regime
            if not isinstance(key, _WindowsKey):
                yield key, pattern if entailed is None else _ANY
        for (key, _), view in state.views.items():
            if isinstance(view, EntailedView) and view.wants_all:
                yield key, _ANY


def _state(adapter: Adapter) -> StoreState:
    """Return the engine of a store, or make it."""
    known = next(_states(adapter), None)
    if known is not None:
        return known
    return StoreState(adapter.capture, adapter.to_native, value_of(adapter), content_of(adapter))


def _present(adapter: Adapter, state: StoreState, clock: Clock) -> Present:
    """Return the value of NOW() by a clock, up to date with the clock."""
    present = state.presents.get(clock)
    if present is None:
        present = state.presents[clock] = Ticker(clock, adapter.capture, state.commit).present
    else:
        present.clockwork.catch_up()
    return present


def _states(adapter: Adapter) -> Iterator[StoreState]:
    for listener in adapter.capture.listeners.values():
        state = _state_of(listener)
        if state is not None:
            yield state


def _state_of(listener: Listener) -> StoreState | None:
    state = listener.state if isinstance(listener, View | _SeveralViews) else None
    return state if isinstance(state, StoreState) else None


def _view(
    adapter: Adapter, target: Any, state: StoreState, regime: Regime | None, windowing: Windowing, graph: Any
) -> View:
    """Return the view that a pattern reads; the first use makes it and listens to the graph."""
    if graph is CLASSIFIED:
        graph, regime = None, with_subclasses(regime)
    sources = windowing.default if graph is None else windowing.named.get(graph, ())
    if sources:
        return _window_view(adapter, target, state, regime, windowing, sources, merged=graph is None)
    key: GraphKey = adapter.graph_key(target)
    if graph is not None:
        default = adapter.default_graph(target)  # raises for a target without named graphs
        key = NAMED if isinstance(graph, Variable) else adapter.to_native(graph)
    view = state.views.get((key, regime))
    if view is None:
        if key is NAMED:
            view = QuadView(state, committed_quads(adapter), default)
        elif regime is None:
            view = View(state, committed_triples(adapter, key))
        else:
            view = EntailedView(state, committed_triples(adapter, key), regime)
        view.looks_up = looks_up(adapter)
        state.views[key, regime] = view
        _listen(adapter, state, key)
    return view


def _window_view(
    adapter: Adapter,
    target: Any,
    state: StoreState,
    regime: Regime | None,
    windowing: Windowing,
    sources: tuple[WindowSource, ...],
    *,
    merged: bool,
) -> View:
    """Return the view of some windows. It includes the background graph if that graph is merged with them, or
    if it may hold a schema.
    """
    beside = windowing.beside is not False and (merged or regime is not None)
    kind = _WindowsKey(sources, regime, windowing.expiry, beside, windowing.every)
    # Without a graph beside the windows, no quad is recorded under the key. The view is still a listener: it
    # is renewed after an interruption, and keeps the store hooked.
    key: GraphKey = kind
    if beside and windowing.beside is True:
        key = adapter.graph_key(target)
    elif beside:
        adapter.default_graph(target)  # raises for a target without named graphs
        key = adapter.to_native(windowing.beside)
    view = state.views.get((key, kind))
    if view is None:
        background = committed_triples(adapter, key) if beside else None
        view = open_view(state, sources, background, regime, windowing, beside=key if beside else None)
        state.views[key, kind] = view
        _listen(adapter, state, key)
    return view


def _listen(adapter: Adapter, state: StoreState, key: GraphKey) -> None:
    """Pass changes of a graph on to its views, if it has any."""
    views = [view for (of, _), view in state.views.items() if of == key]
    if views:
        adapter.capture.listeners[key] = views[0] if len(views) == 1 else _SeveralViews(views)
    else:
        del adapter.capture.listeners[key]


def _release_unused(adapter: Adapter, state: StoreState) -> None:
    for clock, present in tuple(state.presents.items()):
        if not present.queries:
            present.clockwork.stop()
            del state.presents[clock]
    for (key, regime), view in tuple(state.views.items()):
        if not view.queries:
            view.release()
            del state.views[key, regime]
    for key, listener in tuple(adapter.capture.listeners.items()):
        if _state_of(listener) is state:
            _listen(adapter, state, key)


def _check(adapter: Adapter, terms: Iterable[Any]) -> None:
    """Raise UnsupportedQueryError for a term of a query that the store cannot hold."""
    for term in terms:
        try:
            adapter.to_native(term)
        except ValueError as error:
            raise UnsupportedQueryError(
                f"this store cannot hold {term!r}, a term of the query: {error}", construct="a term"
            ) from error
