"""The adapters of Oxigraph: one for a `LiveStore`, one for an `OxigraphStore`."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from pyoxigraph import DefaultGraph, Literal, Store
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from rdflive.errors import ClosedError, UnsupportedStoreError
from rdflive.model import Term, TermPattern, Triple
from rdflive.store import UNION, Adapter, Changes, GraphKey, History, QuadTerms, StoredLog, Transaction
from rdflive.store.rdflib_graphs import (
    ADAPTER,
    adapter_of,
    capture_of,
    default_graph,
    graph_key,
    hook,
    in_batch,
    live_class,
    open_batches,
    plain_class,
    put_away,
    reduce_as,
)
from rdflive_stores.oxigraph.kept import has_kept
from rdflive_stores.oxigraph.numbered import kept_number, read_changes
from rdflive_stores.oxigraph.store import LiveStore
from rdflive_stores.oxigraph.terms import is_possible, to_native, to_parts, to_rdflib, to_value

if TYPE_CHECKING:
    from oxrdflib import OxigraphStore

__all__ = ["LiveStoreAdapter", "OxigraphStoreAdapter", "attach"]

_swap: Final = threading.RLock()
"""Held while a store is hooked or unhooked; taken after the capture's lock if both are needed."""


def attach(store: Any) -> Adapter | None:
    """Watch a store of pyoxigraph or oxrdflib; returns the same adapter while the store is watched."""
    if isinstance(store, Store):
        raise UnsupportedStoreError(
            f"{store!r} cannot be watched from outside: wrap it once, live = rdflive.LiveStore(store), "
            "and use live instead of store from then on"
        )
    if type(store).__qualname__ == "LiveStore" and not isinstance(store, LiveStore):
        raise UnsupportedStoreError(
            f"{store!r} was made by an earlier import of rdflive: make it again, "
            "live = rdflive.LiveStore(live.native), and use that from then on"
        )
    with _swap:
        if isinstance(store, LiveStore):
            if store.adapter is None:
                store.adapter = LiveStoreAdapter(store)
            return store.adapter
        return _attach_oxrdflib(store)


def _attach_oxrdflib(store: Any) -> Adapter | None:
    try:
        from oxrdflib import OxigraphStore
    except ImportError:
        return None
    if not isinstance(store, OxigraphStore):
        return None
    adapter = adapter_of(store, OxigraphStoreAdapter)
    if adapter is None:
        open_batches()
        adapter = OxigraphStoreAdapter(store)
    return adapter


_triple: Final = attrgetter("subject", "predicate", "object")


class LiveStoreAdapter:
    """Watches a `LiveStore`: its users have pyoxigraph's terms, and its queries read the default graph."""

    def __init__(self, live: LiveStore) -> None:
        self.capture = live.capture
        self._live: LiveStore | None = live

    def graph_key(self, graph: Any) -> GraphKey:
        """Return the key of the default graph, which queries on the store read."""
        if not isinstance(graph, LiveStore):
            raise UnsupportedStoreError(f"expected a LiveStore, got {graph!r}")
        return DefaultGraph()

    def triples(self, key: GraphKey, pattern: TermPattern) -> Iterator[Triple]:
        """List the triples of one graph, or of the union, that match."""
        if key is not UNION:
            return map(_triple, self._matching(pattern, key))
        return self._united(pattern)

    def _united(self, pattern: TermPattern) -> Iterator[Triple]:
        # the store returns a triple once for each graph that holds it
        seen = set()
        for quad in self._matching(pattern, None):
            triple = quad.triple
            if triple not in seen:
                seen.add(triple)
                yield triple.subject, triple.predicate, triple.object

    def quads(self, pattern: TermPattern) -> Iterator[QuadTerms]:
        """List the quads of all graphs that match."""
        quads: Iterator[QuadTerms] = map(tuple, self._matching(pattern, None))
        return quads

    def default_graph(self, graph: Any) -> GraphKey:
        """Return the key of the store's default graph."""
        return self.graph_key(graph)

    def _matching(self, pattern: TermPattern, graph: Any) -> Iterable[Any]:
        live = self._open()
        # pyoxigraph raises TypeError for a literal as subject or graph, but such a pattern has no match
        is_some = is_possible(*pattern) and not isinstance(graph, Literal)
        matching: Iterable[Any] = live.quads_for_pattern(*pattern, graph) if is_some else ()
        return matching

    def _open(self) -> LiveStore:
        if self._live is None:
            raise ClosedError("the store was closed: open it again and subscribe to a graph over that")
        return self._live

    to_native = staticmethod(to_native)

    def from_native(self) -> Callable[[Term], Any] | None:
        """Return None: the store's terms are the user's."""
        return None

    def to_rdflib(self) -> Callable[[Term], Any] | None:
        """Return the exact conversion to rdflib's terms."""
        return to_rdflib

    def to_value(self) -> Callable[[Term], Any] | None:
        """Return the conversion that includes strings with a direction, and triples."""
        return to_value

    def to_parts(self) -> Callable[[Term], tuple[str, str] | None]:
        """Return the function from a literal to its parts."""
        return to_parts

    def write(self, graph: Any, transaction: Transaction) -> None:
        """Apply one entry of a feed, with the kept texts, in one native transaction."""
        updates = transaction.updates
        self._open().write(transaction, self._prefixes(graph, updates) if updates else None)

    def _prefixes(self, graph: Any, updates: Sequence[str]) -> dict[str, str] | None:  # noqa: ARG002
        """Return the prefixes of a graph that updates use; a native store has none."""
        return None

    def kept(self, name: str) -> dict[str, str]:
        """Return the texts kept under the name."""
        with self.capture.reading():
            return self._open().kept(name)

    def begin(self) -> None:
        """Start to record the changes of a batch."""
        self._open().undoing.begin()

    def undo(self, changes: Changes) -> None:
        """Undo the open batch in one native transaction."""
        self._open().undo(changes)

    def stay(self) -> None:
        """Discard the recorded changes of the batch, on disk too."""
        live = self._open()
        if live.numbered is None:  # else it does so with the number of the commit
            live.undoing.stay()

    def kept_number(self) -> int:
        """Return the number of the store's last commit; 0 for a store without one."""
        return kept_number(self._open().native)

    def write_ahead(self, log: StoredLog, history: History) -> None:
        """Write each commit into a log first, and its number into the store with it."""
        self._open().write_ahead(log, history)

    def read_changes(self, content: bytes) -> Changes:
        """Read the changes of an entry of the log."""
        return read_changes(content)

    def flush(self) -> None:
        """Write all data of the store to the disk."""
        self._open().native.flush()

    def detach(self) -> None:
        """Release the stand-in. Without listeners it passes all operations on."""
        with _swap:
            live, self._live = self._live, None
            if live is not None and live.adapter is self:
                live.adapter = None


class OxigraphStoreAdapter(LiveStoreAdapter):
    """Watches an `OxigraphStore`: a `LiveStore` replaces the native store inside it.

    All of oxrdflib uses the native store through that one attribute, including its parsers and other graphs
    over the store. Attach before other threads write: a write that has already started bypasses the stand-in.
    """

    def __init__(self, store: OxigraphStore) -> None:
        from rdflive_stores.oxigraph.reading import read  # it imports oxrdflib, which is installed

        self._read = read
        try:
            self._inner: Any = store._inner
        except AttributeError:
            raise UnsupportedStoreError(
                f"{store!r} was closed: open a new store and subscribe to a graph over that"
            ) from None
        live = (
            self._inner if isinstance(self._inner, LiveStore) else LiveStore(self._inner, capture_of(store))
        )
        super().__init__(live)
        self._store = weakref.ref(store)  # weak, because the store refers to its adapter
        self._plain: Any = plain_class(store)
        vars(store)["_store"] = live
        hook(store, self, _watched_class(self._plain))

    def graph_key(self, graph: Any) -> GraphKey:
        """Return the key of the graph that queries on an rdflib graph read: pyoxigraph's term."""
        key = graph_key(graph)
        if key is UNION:
            return UNION
        if key == DATASET_DEFAULT_GRAPH_ID:
            return DefaultGraph()
        try:
            name: GraphKey = to_native(key)
        except ValueError as error:
            raise UnsupportedStoreError(
                f"{key!r} cannot name a graph in Oxigraph ({error}): give the graph an absolute IRI or a "
                "blank node as identifier"
            ) from error
        return name

    def _prefixes(self, graph: Any, updates: Sequence[str]) -> dict[str, str]:
        if self.graph_key(graph) != DefaultGraph():
            raise UnsupportedStoreError(
                f"Oxigraph runs updates on its whole dataset, and this {type(graph).__name__} is another "
                "graph: mirror the feed into an rdflib.Dataset over the store, without default_union"
            )
        text = "\n".join(updates)
        return {
            prefix: str(namespace)
            for prefix, namespace in graph.store.namespaces()  # from the store, which makes no terms
            if f"{prefix}:" in text
        }

    def default_graph(self, graph: Any) -> GraphKey:
        """Return the key of the native default graph, the only one that Oxigraph's `GRAPH ?g` leaves out."""
        default_graph(graph)  # raises for an object that is no dataset
        return DefaultGraph()

    def from_native(self) -> Callable[[Term], Any] | None:
        """Return a faster form of oxrdflib's conversion to rdflib's terms."""
        return self._read

    def detach(self) -> None:
        """Restore the store's class and its native store. May be repeated.

        A store with the cursor of a feed stays hooked, so that queries do not see the reserved graph.
        """
        with self.capture.lock:
            if self._live is None or not has_kept(self._live.native):
                self._unhook()

    def _unhook(self) -> None:
        with self.capture.lock, _swap:
            store = self._store()
            if store is None or vars(store).get(ADAPTER) is not self:
                return
            del vars(store)[ADAPTER]
            vars(store)["_store"] = self._inner
            store.__class__ = self._plain
            put_away(store, self.capture)
            self._live = self._inner = None

    def release(self) -> None:
        """Release the native store, so that closing a store on disk unlocks its directory."""
        live = self._live
        self._unhook()
        if live is not None:  # the log refers to the native store
            live.numbered = self.capture.history = self.capture.ahead = None
        self._live = self._inner = None


@cache
def _watched_class(plain: Any) -> Any:
    """Return the class of a watched store: operations with several native writes become one batch.

    Of oxrdflib's own operations only `remove` is one; methods that a subclass overrides may be others.
    """
    from oxrdflib import OxigraphStore

    operations = {
        name: _batched(getattr(plain, name))
        for name in ("add", "addN", "remove", "remove_graph", "update")
        if name == "remove" or getattr(plain, name) is not getattr(OxigraphStore, name)
    }

    def close(store: Any, *args: Any, **options: Any) -> None:
        adapter = vars(store).get(ADAPTER)  # None if another thread has unhooked the store
        if adapter is not None:
            adapter.release()
        plain.close(store, *args, **options)

    def reduce_plain(store: Any, protocol: Any) -> Any:
        return reduce_as(plain, store, protocol)

    namespace = {"__module__": plain.__module__, "__reduce_ex__": reduce_plain, "close": close}
    return live_class(plain, type(plain)("Live", (plain,), namespace | operations))


def _batched(operation: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(operation)
    def watched(store: Any, *args: Any, **options: Any) -> Any:
        return in_batch(store, operation, store, *args, **options)

    return watched
