"""Shared code of the adapters of rdflib stores: graph keys, and batches around rdflib's own loops.

rdflib's parsers and its SPARQL engine write triple by triple, so a store does not see where a `parse` or
`update` starts and ends. So once a store is watched, rdflive wraps the parsers and the update processor in
rdflib's plugin registry: the wrappers open a batch first. For unwatched stores they do nothing else.
"""

from __future__ import annotations

import copyreg
import logging
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

from rdflib import plugin
from rdflib.graph import ConjunctiveGraph, Dataset, Graph, QuotedGraph, ReadOnlyGraphAggregate
from rdflib.parser import Parser
from rdflib.plugins.sparql.processor import SPARQLUpdateProcessor
from rdflib.query import UpdateProcessor
from rdflib.term import BNode, URIRef

from rdflive.errors import UnsupportedStoreError
from rdflive.store import UNION, Capture, GraphKey
from rdflive.syntax.rdflib_algebra import to_rdflib_update
from rdflive.syntax.reader import read_update

__all__ = [
    "ADAPTER",
    "adapter_of",
    "capture_of",
    "capture_of_watched",
    "default_graph",
    "graph_key",
    "hook",
    "in_batch",
    "live_class",
    "open_batches",
    "plain_class",
    "put_away",
    "reduce_as",
]

log = logging.getLogger("rdflive")

Known = TypeVar("Known")

ADAPTER: Final = "_rdflive"
"""The attribute of a watched store that holds its adapter."""

_PLAIN: Final = "_rdflive_plain"

_new: Final[Any] = vars(copyreg)["__newobj__"]  # pickle's default function to make an object


def graph_key(graph: Any) -> GraphKey:
    """Return the key of the graph that rdflib's queries on this object read: its identifier, or the union."""
    if isinstance(graph, QuotedGraph | ReadOnlyGraphAggregate):
        raise UnsupportedStoreError(
            f"cannot subscribe to a {type(graph).__name__}: its triples are not asserted in a store of its "
            "own; subscribe to the Graph or Dataset that holds the data"
        )
    if isinstance(graph, Dataset):
        return UNION if graph.default_union else graph.default_graph.identifier
    if isinstance(graph, ConjunctiveGraph):
        return UNION if graph.default_union else graph.default_context.identifier
    if isinstance(graph, Graph):
        return graph.identifier
    raise UnsupportedStoreError(f"expected an rdflib Graph or Dataset, got {graph!r}")


def default_graph(graph: Any) -> URIRef | BNode:
    """Return the default graph of a dataset: the one that rdflib's evaluation of `GRAPH ?g` skips.

    For a `ConjunctiveGraph` it is its own default graph, not the one that datasets over the store share.
    """
    graph_key(graph)  # raises for objects that are no graph of their own
    if isinstance(graph, ConjunctiveGraph):
        default = graph.default_graph if isinstance(graph, Dataset) else graph.default_context
        identifier: URIRef | BNode = default.identifier
        return identifier
    raise UnsupportedStoreError(
        f"GRAPH and FROM need a dataset, and {graph!r} is a single graph: subscribe to the Dataset that "
        "holds the named graphs"
    )


def hook(store: Any, adapter: Any, live: type[Any]) -> None:
    """Give a store its adapter and the class of a watched store, both or neither."""
    try:
        # After a change of class, Python finds attributes slowly if the object's dictionary shares its keys
        # with other objects. So the store gets a new dictionary.
        store.__dict__ = {**vars(store), ADAPTER: adapter}
        store.__class__ = live
    except BaseException:
        vars(store).pop(ADAPTER, None)
        raise


def adapter_of(store: Any, kind: type[Known]) -> Known | None:
    """Return the adapter of a watched store; None if it is not watched.

    If the modules of rdflive were imported again, as notebooks and test runners do, the adapter may belong to
    the earlier copy. It is unhooked with a warning, because the copies cannot work together.
    """
    known = vars(store).get(ADAPTER)
    if known is None or isinstance(known, kind):
        return known
    is_heard = bool(known.capture.listeners)
    with known.capture.lock:
        # `detach` of some adapters keeps the store hooked, and their `release` does not
        getattr(known, "release", known.detach)()
    if is_heard:
        log.warning(
            "a %s was watched by a copy of rdflive that was imported before this one: the subscriptions of "
            "that copy get no more deltas; close them, and subscribe again",
            plain_class(store).__name__,
        )
    return None


def plain_class(store: Any) -> Any:
    """Return the class of a store when it is not watched.

    An unwatched store may still have another class, after an interrupted `detach`.
    """
    return vars(type(store)).get(_PLAIN, type(store))


def live_class(plain: type[Any], live: type[Any]) -> type[Any]:
    """Mark a class as that of watched stores of a plain class."""
    live.__name__ = f"Live{plain.__name__}"
    setattr(live, _PLAIN, plain)
    return live


def capture_of_watched(store: Any) -> Capture | None:
    """Return the capture of a store; None if it is not watched."""
    adapter = vars(store).get(ADAPTER)
    return None if adapter is None else adapter.capture


def in_batch(store: Any, operation: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Run an operation as one batch of the store, or of the store inside it, if either is watched."""
    while store is not None and not hasattr(store, ADAPTER):
        store = getattr(store, "store", None)  # a wrapper such as AuditableStore
    capture = None if store is None else capture_of_watched(store)
    if capture is None:
        return operation(*arguments, **options)
    return capture.run(operation, *arguments, **options)


_captures: Final[weakref.WeakKeyDictionary[Any, Capture]] = weakref.WeakKeyDictionary()
"""The captures of stores that are no longer watched."""
_watching: Final[weakref.WeakKeyDictionary[Any, weakref.ref[Capture]]] = weakref.WeakKeyDictionary()
"""The captures of watched stores, as weak references: an adapter refers to its store, and this must not keep
the store alive.
"""


def capture_of(store: Any) -> Capture:
    """Return the capture of a store, the same object as long as the store lives.

    It is reused, because a write may wait for its lock while the last subscription ends and a new one starts.
    """
    kept, known = _captures.pop(store, None), _watching.get(store)
    capture = kept or (None if known is None else known()) or Capture()
    _watching[store] = weakref.ref(capture)
    return capture


def put_away(store: Any, capture: Capture) -> None:
    """Keep the capture of a store that is no longer watched."""
    _captures[store] = capture


def reduce_as(plain: Any, store: Any, protocol: Any) -> Any:
    """Copy and pickle a watched store like the plain store."""
    twin = object.__new__(plain)
    vars(twin).update({name: value for name, value in vars(store).items() if name != ADAPTER})
    make, *rest = twin.__reduce_ex__(protocol)
    # pickle requires that __newobj__ makes the class of the pickled object
    return (object.__new__ if make is _new else make, *rest)


_wrapped: dict[str, type[Any]] = {}
"""The wrappers, by the name under which rdflib's registry loads them from this module."""


def open_batches() -> None:
    """Wrap the registered parsers and the update processor, once each."""
    wanted: Any = ((None, Parser, _batching_parser), ("sparql", UpdateProcessor, _batching_processor))
    for format_name, kind, wrap in wanted:
        for entry in list(plugin.plugins(format_name, kind)):
            # unless it is wrapped already
            if getattr(entry, "module_path", None) != __name__:
                name = f"{kind.__name__} {entry.name}"
                _wrapped[name] = wrap(entry)
                plugin.register(entry.name, kind, __name__, name)
                # loaded now, because after another import of rdflive the module has other wrappers
                for made in plugin.plugins(entry.name, kind):
                    made.getClass()


def _batching_parser(entry: Any) -> type[Parser]:
    class BatchingParser(Parser):
        """Runs the wrapped parser inside one batch of the graph's store."""

        def __init__(self) -> None:
            self._parser = entry.getClass()()

        def parse(self, source: Any, sink: Graph, *args: Any, **options: Any) -> Any:
            return in_batch(sink, self._parser.parse, source, sink, *args, **options)

    return BatchingParser


def _batching_processor(entry: Any) -> type[UpdateProcessor]:
    class BatchingUpdateProcessor(UpdateProcessor):
        """Runs an update request inside one batch of the graph's store."""

        def __init__(self, graph: Graph) -> None:
            self._graph = graph
            self._processor = entry.getClass()(graph)

        def update(
            self,
            strOrQuery: Any,  # noqa: N803 - rdflib's names
            initBindings: Any = None,  # noqa: N803
            initNs: Any = None,  # noqa: N803
            **options: Any,
        ) -> Any:
            request = strOrQuery
            if isinstance(request, str) and isinstance(self._processor, SPARQLUpdateProcessor):
                request = to_rdflib_update(read_update(request, initNs))
            return in_batch(self._graph, self._processor.update, request, initBindings, initNs, **options)

    return BatchingUpdateProcessor


def __getattr__(name: str) -> type[Any]:
    try:
        return _wrapped[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
