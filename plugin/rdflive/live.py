"""How a user meets rdflive: `subscribe`, `batch` and `explain`, as functions and as methods of graphs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import rdflib

from rdflive import manager
from rdflive.entail.regimes import Counts, Rules, Strategy, regime_of
from rdflive.entail.scope import refuse_quads
from rdflive.errors import RdfliveError, UnsupportedStoreError
from rdflive.model import Delta
from rdflive.query.explain import Explanation
from rdflive.query.parse import ParsedQuery, parse_query
from rdflive.query.plan import make_plan
from rdflive.query.segment import Algorithm
from rdflive.resume import Journal, ResumeError, query_identity
from rdflive.subscription import OnError, Subscription

if TYPE_CHECKING:
    import pyoxigraph

__all__ = ["LiveDataset", "LiveGraph", "LiveStore", "batch", "explain", "install", "subscribe"]


def subscribe(
    graph: Any,
    query: str,
    callback: Callable[[Delta], object] | None = None,
    *,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - the names of rdflib's Graph.query
    initBindings: Mapping[str, Any] | None = None,  # noqa: N803
    initial: bool = True,
    name: str | None = None,
    resume: str | os.PathLike[str] | None = None,
    on_error: OnError = "log",
    algorithm: Algorithm = "auto",
    entailment: str | None = None,
    rules: Rules | None = None,
    strategy: Strategy = "auto",
    counts: Counts | None = None,
    provenance: bool = False,
) -> Subscription:
    """Keep the answer of a query up to date: every change of the graph calls back with what it changed.

    `graph` is an `rdflib.Graph` or `Dataset` over a store that some adapter can watch, or a `LiveStore`.
    `query` is SPARQL; the prefixes bound on the graph and those of `initNs` may be used, and
    `initBindings` fixes variables, as in `Graph.query`. `callback(delta)` runs in the writing thread
    before the write returns; what it raises is kept as `last_error` and treated as `on_error` says
    ("log", "ignore", or a function of the subscription and the exception). The first delta holds the
    current answers (`initial=False` leaves it out). `algorithm` forces one of `rdflive.ALGORITHMS`.

    With `resume`, the path of a file that is made when it is not there, the subscriber called `name`
    goes on where it was: the first delta is what changed since the last that it got, whoever changed it,
    and none where nothing did. `delta.sequence` is then the subscriber's own number, 1, 2, 3 … across
    restarts. A delta that was being delivered when the program ended comes again, with its number.

    With `entailment="rdfs"` the query is answered over all that the graph entails by subclasses,
    subproperties, domains and ranges, while data and schema change. `strategy` says how: "saturate" stores
    the entailed triples that the query can see, with their supports, "reformulate" asks the graph, "auto"
    decides per class and property by what it costs. `counts="paths"` counts derivations in place of
    supports, which needs a schema without cycles. With `rules` it is answered over what these entail: the
    name of a rule set ("rdfs", "rdfs-plus", "owl-rl"), N3 text, the path of a file, or several of them.
    With `provenance` each solution of a delta has an `origin`: whether it was inferred when it appeared,
    and by which rules; this needs a SELECT of one basic graph pattern.

    Raises `QuerySyntaxError`, `UnsupportedQueryError`, `UnsupportedStoreError`, `PlanError`, `SchemaError`
    or `RuleError`, before anything is changed, and `ResumeError` when the file is not one of this query and
    name.

    >>> graph = rdflib.Graph()
    >>> subscription = subscribe(graph, "SELECT ?s { ?s a <http://e/Train> }", initial=False)
    >>> _ = graph.update("INSERT DATA { <http://e/IC5> a <http://e/Train> }")
    >>> next(subscription.deltas()).added[0].s
    rdflib.term.URIRef('http://e/IC5')
    >>> subscription.close()
    """
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    if on_error not in ("log", "ignore") and not callable(on_error):
        raise ValueError(f"on_error must be 'log', 'ignore' or a function, got {on_error!r}")
    if resume is not None and not (name and isinstance(name, str)):
        raise ValueError(f"resume needs the name of the subscriber in the file {resume!r}, got name={name!r}")
    regime = regime_of(entailment, rules, strategy, counts)
    if provenance and (regime is None or resume is not None):
        raise ValueError("provenance needs entailment= or rules=, and does not go together with resume=")
    parsed = _parse(graph, query, initNs, initBindings)
    plan = make_plan(parsed, algorithm)
    if regime is not None:
        refuse_quads(plan)
    with ExitStack() as undo:
        journal = None
        if resume is not None:
            identity = query_identity(parsed, _namespaces(graph, initNs))
            if regime is not None:
                identity += f" # entailment: {regime.identity}"
            journal = Journal(resume, str(name), identity)
            undo.callback(journal.close)
        with manager.locked(manager.store_of(graph)) as adapter:
            subscription = Subscription(
                adapter,
                graph,
                plan,
                callback=callback,
                initial=initial,
                name=name,
                on_error=on_error,
                journal=journal,
                regime=regime,
                provenance=provenance,
            )
            undo.callback(subscription.close)
            if manager.listens("rdflive_batch"):
                adapter.capture.on_batch = partial(_announce, manager.store_of(graph))
        adapter.capture.deliver()
        if isinstance(subscription.last_error, ResumeError) and subscription.closed:
            raise subscription.last_error
        undo.pop_all()
    return subscription


@contextmanager
def batch(graph: Any) -> Iterator[None]:
    """Make all changes inside the block one commit, with one net delta per subscription.

    Other threads that write to the store wait until the block ends. After an exception the changes made
    so far are delivered: a store keeps them.

    >>> graph = rdflib.Graph()
    >>> with batch(graph):
    ...     _ = graph.add((rdflib.BNode(), rdflib.RDF.type, rdflib.RDFS.Class))
    """
    with manager.batch(manager.store_of(graph)):
        yield


def explain(
    query: str,
    *,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - the names of rdflib's Graph.query
    initBindings: Mapping[str, Any] | None = None,  # noqa: N803
    algorithm: Algorithm = "auto",
) -> Explanation:
    """Show how a query would be maintained, without any data.

    >>> print(explain("ASK { <http://e/a> <http://e/p> <http://e/b> }").pattern_class)
    ground
    """
    return Explanation(make_plan(_parse(None, query, initNs, initBindings), algorithm))


def LiveStore(store: pyoxigraph.Store | None = None) -> Any:  # noqa: N802 - used as the class it stands for
    """Make a stand-in for a `pyoxigraph.Store` that can be subscribed to; use it instead of the store.

    It has every method of the store. What is written through the store itself, past the stand-in, is
    not seen (`Subscription.resync` reads it again). Without a store a new one in memory is made.
    """
    try:
        import pyoxigraph
    except ImportError as error:
        raise RdfliveError("LiveStore needs pyoxigraph: pip install 'rdflive[oxigraph]'") from error
    native = pyoxigraph.Store() if store is None else store
    stand_in = manager.plugin_manager().hook.rdflive_wrap(store=native)
    if stand_in is None:
        raise UnsupportedStoreError(f"LiveStore takes a pyoxigraph.Store, got {store!r}")
    return stand_in


def install() -> None:
    """Give every rdflib graph the methods `subscribe` and `batch`.

    >>> install()
    >>> rdflib.Graph().subscribe("ASK { ?s ?p ?o }").answers()
    []
    """
    for method in (subscribe, batch):
        setattr(rdflib.Graph, method.__name__, method)


class _LiveMethods:
    """The methods `subscribe` and `batch`, as `install` gives them to every graph."""

    subscribe = subscribe

    def batch(self) -> AbstractContextManager[None]:
        """Make all changes inside the block one commit; see `rdflive.batch`."""
        return batch(self)


class LiveGraph(_LiveMethods, rdflib.Graph):
    """An `rdflib.Graph` with the methods `subscribe` and `batch`."""


class LiveDataset(_LiveMethods, rdflib.Dataset):
    """An `rdflib.Dataset` with the methods `subscribe` and `batch`."""


def _parse(
    graph: Any, query: str, init_ns: Mapping[str, Any] | None, init_bindings: Mapping[str, Any] | None
) -> ParsedQuery:
    return parse_query(query, init_ns=_namespaces(graph, init_ns), init_bindings=init_bindings)


def _namespaces(graph: Any, init_ns: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give the prefixes bound on the graph, and those of `init_ns` before them."""
    bound: dict[str, Any] = dict(graph.namespaces()) if isinstance(graph, rdflib.Graph) else {}
    return {**bound, **(init_ns or {})}


def _announce(store: Any, captured: Any) -> None:
    manager.call_safely("rdflive_batch", store=store, batch=captured)
