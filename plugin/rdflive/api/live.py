"""`subscribe`, `batch` and `explain`, as functions and as methods of graphs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Unpack

import rdflib

from rdflive.api.options import Options, complete, shows_options
from rdflive.api.prepared import Prepared, check_graph, may_share
from rdflive.api.stream import Stream
from rdflive.delivery.subscription import Subscription
from rdflive.delivery.unheld import unheld_notes
from rdflive.errors import MissingExtraError, UnsupportedStoreError
from rdflive.extras import install_command
from rdflive.model import Delta
from rdflive.plugins import manager
from rdflive.query.explain import Explanation
from rdflive.query.given import read_query
from rdflive.query.segment import Algorithm
from rdflive.store import GraphLike, looks_up

if TYPE_CHECKING:
    import pyoxigraph

__all__ = ["LiveDataset", "LiveGraph", "LiveStore", "batch", "explain", "install", "subscribe"]


@shows_options(Options)
def subscribe(
    graph: GraphLike | Stream,
    query: str | os.PathLike[str],
    callback: Callable[[Delta], object] | None = None,
    *,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - the names of rdflib's Graph.query
    initBindings: Mapping[str, Any] | None = None,  # noqa: N803
    **options: Unpack[Options],
) -> Subscription:
    """Keep the answer of a query up to date: every change of the graph calls back with the changed solutions.

    The callback runs in the writing thread before the write returns. Its exceptions are kept as `last_error`
    and treated by `on_error`. Without a callback, the deltas wait for `subscription.deltas()`. After
    `rdflive.install()`, `graph.subscribe(query, callback)` is the same.

    Args:
        graph: An `rdflib.Graph` or `Dataset` over a store with an adapter, a `LiveStore`, or a `Stream`.
        query: SPARQL text, or the `pathlib.Path` of a file with it.
        callback: A function of a delta, also an `async def` function.
        initNs: Prefixes for the query, beside those that are bound on the graph.
        initBindings: Terms for variables of the query, as in `Graph.query`.

    An `async def` callback is awaited in the event loop that is running when `subscribe` is called, one delta
    after the other; the write does not wait for it. If the loop is closed or the `executor` shut down, the
    subscription closes and `on_error` gets the error. Closing drops the deltas that wait for the callback;
    with `resume` they come after the restart.

    With `resume`, the first delta holds all changes since the last delivered one, from any program; there is
    none without changes. `delta.sequence` then counts the subscriber's deltas, 1, 2, 3 … across restarts. A
    delta whose delivery was cut off by the end of the program comes again, with the same number.

    With a `Stream` in place of the graph the query is answered over the content of a `window` of the stream,
    merged with the graph beside the stream. Each delta has the `time` of the report, and separates `expired`
    from `retracted` solutions.

    A query may compare times with NOW(), as in `FILTER(?seen > NOW() - "P1D"^^xsd:dayTimeDuration)`. Then
    time also changes the answer: a timer thread adds and removes rows at the exact instants. `delta.time` is
    the value of NOW().

    Names in the query that the graph lacks are logged once, each with the nearest name in the graph; see
    `Explanation.notes`.

    Raises RuntimeError for an `async def` callback without a running event loop. Raises `QuerySyntaxError`,
    `UnsupportedQueryError`, `UnsupportedStoreError`, `PlanError`, `SchemaError` or `RuleError` before
    anything is changed; `BudgetError`; and `ResumeError` if the file does not belong to this query and name.

    >>> graph = rdflib.Graph()
    >>> subscription = subscribe(graph, "SELECT ?s { ?s a <http://e/Train> }", initial=False)
    >>> _ = graph.update("INSERT DATA { <http://e/IC5> a <http://e/Train> }")
    >>> next(subscription.deltas()).added[0].s
    rdflib.term.URIRef('http://e/IC5')
    >>> subscription.close()
    """
    beside = graph.graph if isinstance(graph, Stream) else graph
    prepared = Prepared(read_query(query), initNs, graph=beside)
    (subscription,) = prepared.open(
        graph, callback, [initBindings or {}], complete(Options, options, "subscribe")
    )
    return subscription


def batch(graph: GraphLike) -> AbstractContextManager[object]:
    """Make all changes inside the block one commit, with one net delta per subscription.

    Other threads that write to the store wait until the block ends. After an exception the changes so far are
    delivered, because the store keeps them. Raises RuntimeError if a thread other than the entering one
    leaves the block, and `WaitError` if two threads with batches would wait for each other.

    >>> graph = rdflib.Graph()
    >>> with batch(graph):
    ...     _ = graph.add((rdflib.BNode(), rdflib.RDF.type, rdflib.RDFS.Class))
    """
    if isinstance(graph, Stream):
        raise TypeError(f"batch needs a graph: give the graph beside the stream, its .graph, got {graph!r}")
    return manager.batch(manager.store_of(graph))


def explain(
    query: str | os.PathLike[str],
    graph: GraphLike | None = None,
    *,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - the names of rdflib's Graph.query
    initBindings: Mapping[str, Any] | None = None,  # noqa: N803
    algorithm: Algorithm = "auto",
) -> Explanation:
    """Show the plan of a query, without any data.

    With the algorithm of one class of patterns, a query shares its plan with no other and may keep less. With
    `graph`, the query may use its prefixes, and `notes` also lists the predicates, classes and graphs of the
    query that the graph lacks, each with the nearest name. With rules, and with entailment in windows,
    patterns keep all their matches: `algorithm="whole"` shows that plan.

    >>> print(explain("ASK { <http://e/a> <http://e/p> <http://e/b> }").pattern_class)
    ground
    """
    given = read_query(query)
    if graph is not None:
        check_graph(graph)
    with given.naming():
        prepared, row = Prepared(given, initNs, graph=graph), initBindings or {}
        plan = prepared.find(row, algorithm).plan
        shared = prepared.find(row, algorithm, family=may_share(algorithm))
    if graph is None:
        return Explanation(plan, shared=shared)
    with manager.locked(manager.store_of(graph)) as adapter:
        notes = unheld_notes(adapter, graph, plan, None)
        is_whole = algorithm != "demand" and not looks_up(adapter)
    # without the lock, because `tuple` searches the nearest names
    return Explanation(plan, notes=tuple(notes), shared=shared, is_whole=is_whole)


def LiveStore(store: pyoxigraph.Store | None = None) -> pyoxigraph.Store:  # noqa: N802 - used as the class it stands for
    """Return a stand-in for a `pyoxigraph.Store` that can be subscribed to; use it instead of the store.

    It has every method of the store. Direct writes to the store are not seen (`Subscription.resync` reads
    them). Without `store` it is a new store in memory.
    """
    try:
        # imported here, because it is an extra
        import pyoxigraph
    except ImportError as error:
        message = f"LiveStore needs pyoxigraph: {install_command('oxigraph')}"
        raise MissingExtraError(message, name=error.name) from error
    native = pyoxigraph.Store() if store is None else store
    stand_in: pyoxigraph.Store | None = manager.plugin_manager().hook.rdflive_wrap(store=native)
    if stand_in is None:
        raise UnsupportedStoreError(f"LiveStore takes a pyoxigraph.Store, got {store!r}")
    return stand_in


def install() -> None:
    """Give every rdflib graph the methods `subscribe` and `batch`.

    Type checkers do not see them; use `LiveGraph`, `LiveDataset` or the functions there.

    >>> install()
    >>> rdflib.Graph().subscribe("ASK { ?s ?p ?o }").answers()
    <Answers: false>
    """
    for method in (subscribe, batch):
        setattr(rdflib.Graph, method.__name__, method)


class _LiveMethods:
    """The methods `subscribe` and `batch`, the same as those of `install`."""

    subscribe = subscribe

    def batch(self: GraphLike) -> AbstractContextManager[object]:
        """Make all changes inside the block one commit; see `rdflive.batch`."""
        return batch(self)


class LiveGraph(_LiveMethods, rdflib.Graph):
    """An `rdflib.Graph` with the methods `subscribe` and `batch`."""


class LiveDataset(_LiveMethods, rdflib.Dataset):
    """An `rdflib.Dataset` with the methods `subscribe` and `batch`."""
