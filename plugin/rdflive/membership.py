"""How a subscription joins the engine of its store, and leaves it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from rdflive.engine.query import QueryState, TermWeights
from rdflive.engine.store_state import Emit, StoreState
from rdflive.engine.view import QuadView, View
from rdflive.errors import UnsupportedQueryError
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.plan import Plan
from rdflive.snapshot import committed_quads, committed_triples
from rdflive.store import NAMED, Adapter, GraphKey

__all__ = ["join", "leave", "patterns"]


def join(
    adapter: Adapter, target: Any, plan: Plan, emit: Emit
) -> tuple[StoreState, QueryState, TermWeights | None]:
    """Let the store's engine maintain a plan on a graph, starting the engine for the first one.

    Also gives the answer where starting had to work it out. Called under the store's lock.
    """
    _check_constants(adapter, plan)
    states = (view.state for view in adapter.capture.listeners.values() if isinstance(view, View))
    state = next((s for s in states if isinstance(s, StoreState)), None)
    if state is None:
        state = StoreState(adapter.to_native, adapter.to_rdflib())
    try:
        query, answer = state.add(plan, partial(_view, adapter, target, state), emit)
    except BaseException:
        _release_unused(adapter, state)
        raise
    return state, query, answer


def leave(adapter: Adapter, state: StoreState, query: QueryState) -> None:
    """Stop maintaining a query, and listening to the graphs that nobody else looks at."""
    state.remove(query)
    _release_unused(adapter, state)


def patterns(adapter: Adapter) -> Iterator[tuple[GraphKey, TriplePattern]]:
    """List the patterns maintained on a store, each with the key of the graph it is matched on."""
    states = {view.state for view in adapter.capture.listeners.values() if isinstance(view, View)}
    for state in states:
        if isinstance(state, StoreState):
            yield from state.patterns()


def _view(adapter: Adapter, target: Any, state: StoreState, graph: Any) -> View:
    """Give the view of the graph that a pattern names, listening to it from the first use on."""
    key: GraphKey = adapter.graph_key(target)
    if graph is not None:
        default = adapter.default_graph(target)  # refuses what has no named graphs
        key = NAMED if isinstance(graph, Variable) else adapter.to_native(graph)
    view = state.views.get(key)
    if view is None:
        if key is NAMED:
            view = QuadView(state, committed_quads(adapter), default)
        else:
            view = View(state, committed_triples(adapter, key))
        state.views[key] = adapter.capture.listeners[key] = view
    return view


def _release_unused(adapter: Adapter, state: StoreState) -> None:
    for key, view in tuple(state.views.items()):
        if not view.queries:
            view.release()
            del state.views[key], adapter.capture.listeners[key]


def _check_constants(adapter: Adapter, plan: Plan) -> None:
    for term in plan.constants:
        try:
            adapter.to_native(term)
        except ValueError as error:
            raise UnsupportedQueryError(
                f"{term!r} in the query can be no term of this store: {error}", construct="a term"
            ) from error
