"""How a user meets rdflive: `subscribe`, `batch` and `explain`, as functions and as methods of graphs."""

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
from rdflive.errors import RdfliveError, UnsupportedStoreError
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
    """Keep the answer of a query up to date: every change of the graph calls back with what it changed.

    `graph` is an `rdflib.Graph` or `Dataset` over a store that some adapter can watch, or a `LiveStore`.
    `query` is SPARQL, or the path of a file that holds it as a `pathlib.Path`; the prefixes bound on the
    graph and those of `initNs` may be used, and
    `initBindings` fixes variables, as in `Graph.query`. `callback(delta)` runs in the writing thread
    before the write returns; what it raises is kept as `last_error` and treated as `on_error` says
    ("log", "ignore", or a function of the subscription and the exception). The first delta holds the
    current answers (`initial=False` leaves it out). `algorithm` forces one of `rdflive.ALGORITHMS`.

    An `async def` callback is awaited in the event loop that runs where `subscribe` is called, one delta
    after the other; the write does not wait for it. `executor` calls a plain function likewise in an
    executor of threads (`concurrent.futures`). With `throttle`, a duration such as "1s", deltas are merged
    for so long before the callback gets them, in a thread of their own if nothing else is said. Where the
    loop is closed or the executor shut down, `on_error` is told and the subscription closes. Closing it
    drops what still waits for the callback; with `resume` it comes after the restart.

    With `resume`, the path of a file that is made when it is not there, the subscriber called `name`
    goes on where it was: the first delta is what changed since the last that it got, whoever changed it,
    and none where nothing did. `delta.sequence` is then the subscriber's own number, 1, 2, 3 … across
    restarts. A delta that was being delivered when the program ended comes again, with its number.

    With `entailment="rdfs"` the query is answered over all that the graph entails by subclasses,
    subproperties, domains and ranges, while data and schema change. `rules="rdfs"` is RDFS with its axioms
    and `rdfs:Resource`, which entails more and costs more. `strategy` says how: "saturate" stores
    the entailed triples that the query can see, with their supports, "reformulate" asks the graph, "auto"
    decides per class and property by what it costs. `counts="paths"` counts derivations in place of
    supports, which needs a schema without cycles. With `rules` it is answered over what these entail: the
    name of a rule set ("rdfs", "rdfs-plus", "owl-rl"), N3 text, the path of a file, or several of them.
    With `provenance` each solution of a delta has an `origin`: whether it was inferred when it appeared,
    and by which rules; this needs a SELECT of one basic graph pattern.

    With a `Stream` in place of the graph the query is answered over what a `window` of it holds, together
    with the graph beside the stream; `window` is `Sliding`, `Tumbling`, `Count` or `Landmark`. Each delta
    has the `time` of the report, and says which solutions `expired` and which were `retracted`. `output` is
    "delta", "istream" (what came), "dstream" (what went) or "rstream" (at each report the whole answer).
    `expiry` says how what the window entails is taken back: "labels", "keep-all", "dred" or "recompute";
    answers are the same. With `expires` each solution that comes tells when it will go: `solution.expires`.

    With a `budget` a commit, or opening, that would take more time or memory than it allows ends the
    subscription in place of that: `on_error` is given the `BudgetError`, iterators end, and the write stands.
    Regular expressions must be constants then, and need google-re2.

    With a `key`, variables that SELECT shows, as `key=("train",)`, `delta.changed` pairs the row of a key
    that went with the row that came in its place, and `added` and `removed` have the rest. Where several
    rows of a key went or came, they are not paired.

    A query may compare times with NOW(), as in `FILTER(?seen > NOW() - "P1D"^^xsd:dayTimeDuration)`. Then
    time changes its answer too: rows come and go at their very instants, by a timer in a thread of its own.
    `delta.time` is what NOW() was. `clock` is what NOW() shows: a function that gives seconds since 1970, or
    a datetime with a time zone, such as a `ManualClock`.

    What the query names and the graph does not hold yet is noted once in the log, with the nearest name that
    it does hold; see `Explanation.notes`.

    Raises RuntimeError for an `async def` callback where no event loop runs.
    Raises `QuerySyntaxError`, `UnsupportedQueryError`, `UnsupportedStoreError`, `PlanError`, `SchemaError`
    or `RuleError`, before anything is changed, `BudgetError`, and `ResumeError` when the file is not one of
    this query and name.

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

    Other threads that write to the store wait until the block ends. After an exception the changes made
    so far are delivered: a store keeps them. Raises RuntimeError where another thread leaves the block than
    entered it, and `WaitError` where two threads with batches would wait for each other.

    >>> graph = rdflib.Graph()
    >>> with batch(graph):
    ...     _ = graph.add((rdflib.BNode(), rdflib.RDF.type, rdflib.RDFS.Class))
    """
    if isinstance(graph, Stream):
        raise TypeError(f"a batch is of a graph: give the one beside the stream, its .graph, got {graph!r}")
    return manager.batch(manager.store_of(graph))


def explain(
    query: str | os.PathLike[str],
    *,
    graph: GraphLike | None = None,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - the names of rdflib's Graph.query
    initBindings: Mapping[str, Any] | None = None,  # noqa: N803
    algorithm: Algorithm = "auto",
) -> Explanation:
    """Show how a query would be maintained, without any data.

    One with an algorithm of a class of patterns shares its plan with no others and may keep less.
    With a graph its prefixes may be used, and the `notes` also say which predicates, classes and graphs of
    the query it does not hold, each with the nearest that it does. Rules, and what windows entail, have
    patterns held whole: `algorithm="whole"` shows that.

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
    # without the lock: the nearest are searched
    return Explanation(plan, notes=tuple(notes), shared=shared, is_whole=is_whole)


def LiveStore(store: pyoxigraph.Store | None = None) -> pyoxigraph.Store:  # noqa: N802 - used as the class it stands for
    """Make a stand-in for a `pyoxigraph.Store` that can be subscribed to; use it instead of the store.

    It has every method of the store. What is written through the store itself, past the stand-in, is
    not seen (`Subscription.resync` reads it again). Without a store a new one in memory is made.
    """
    try:
        # imported here, because it is an extra
        import pyoxigraph
    except ImportError as error:
        raise RdfliveError(f"LiveStore needs pyoxigraph: {install_command('oxigraph')}") from error
    native = pyoxigraph.Store() if store is None else store
    stand_in: pyoxigraph.Store | None = manager.plugin_manager().hook.rdflive_wrap(store=native)
    if stand_in is None:
        raise UnsupportedStoreError(f"LiveStore takes a pyoxigraph.Store, got {store!r}")
    return stand_in


def install() -> None:
    """Give every rdflib graph the methods `subscribe` and `batch`.

    Type checkers do not see them: for these there are `LiveGraph`, `LiveDataset`, and the functions.

    >>> install()
    >>> rdflib.Graph().subscribe("ASK { ?s ?p ?o }").answers()
    <Answers: false>
    """
    for method in (subscribe, batch):
        setattr(rdflib.Graph, method.__name__, method)


class _LiveMethods:
    """The methods `subscribe` and `batch`, as `install` gives them to every graph."""

    subscribe = subscribe

    def batch(self: GraphLike) -> AbstractContextManager[object]:
        """Make all changes inside the block one commit; see `rdflive.batch`."""
        return batch(self)


class LiveGraph(_LiveMethods, rdflib.Graph):
    """An `rdflib.Graph` with the methods `subscribe` and `batch`."""


class LiveDataset(_LiveMethods, rdflib.Dataset):
    """An `rdflib.Dataset` with the methods `subscribe` and `batch`."""
