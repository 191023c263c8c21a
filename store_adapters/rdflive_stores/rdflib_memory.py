"""The adapter of rdflib's in-memory stores: the store's class is swapped in place while it is watched.

rdflib's own events cannot serve: they fire before the change, also for what does not change, and never
for removals. A subclass of Graph cannot either: parsers and other graphs over the store bypass it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from rdflib.graph import Graph
from rdflib.plugins.stores.memory import Memory, SimpleMemory
from rdflib.store import Store

from rdflive.errors import UnsupportedStoreError
from rdflive.hookspecs import hookimpl
from rdflive.store import UNION, Adapter, Capture, GraphKey, Triple
from rdflive_stores.rdflib_graphs import ADAPTER, graph_key, open_batches

__all__ = ["MemoryAdapter", "SimpleMemoryAdapter", "rdflive_attach"]


@hookimpl
def rdflive_attach(store: Any) -> Adapter | None:
    """Watch a `Memory` or `SimpleMemory` store, or a subclass of one."""
    if not isinstance(store, Memory | SimpleMemory):
        return None
    known: Adapter | None = getattr(store, ADAPTER, None)
    if known is None:
        adapter, live = (
            (MemoryAdapter, LiveMemory)
            if isinstance(store, Memory)
            else (SimpleMemoryAdapter, LiveSimpleMemory)
        )
        if adapter is MemoryAdapter and not hasattr(store, "_Memory__contextTriples"):
            raise UnsupportedStoreError(
                f"this rdflib's {type(store).__name__} is built in a way that rdflive does not know; "
                "install rdflib 7"
            )
        open_batches()
        known = adapter(store)
        setattr(store, ADAPTER, known)
        store.__class__ = _live_class(live, type(store))  # type: ignore[arg-type]  # classes are hashable
    return known


@cache
def _live_class(live: Any, plain: Any) -> type[Any]:
    return type(f"Live{plain.__name__}", (live, plain), {"__module__": plain.__module__})


class SimpleMemoryAdapter:
    """Watches a store that holds a single graph, whatever the graphs over it are called."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.capture = Capture()

    def graph_key(self, graph: Any) -> GraphKey:
        """Name the only graph there is."""
        graph_key(graph)  # refuses what is no graph of its own
        return None

    def triples(self, key: GraphKey, pattern: Triple) -> Iterator[Triple]:  # noqa: ARG002 - there is one graph
        """List the store's triples that match."""
        return (triple for triple, _ in self.store.triples(pattern))

    def to_native(self, term: Any) -> Any:
        """Keep rdflib's terms: the store compares them as rdflib does."""
        return term

    def from_native(self) -> Callable[[Any], Any] | None:
        """Say that the store's terms are the user's."""
        return None

    def detach(self) -> None:
        """Give the store its own class back."""
        if isinstance(self.store, _Live):
            delattr(self.store, ADAPTER)
            self.store.__class__ = type(self.store).__bases__[1]


class MemoryAdapter(SimpleMemoryAdapter):
    """Watches a store of several graphs, and their union."""

    def graph_key(self, graph: Any) -> GraphKey:
        """Name a graph by its identifier."""
        return graph_key(graph)

    def triples(self, key: GraphKey, pattern: Triple) -> Iterator[Triple]:
        """List the triples of one graph, or of the union, that match."""
        context = None if key is UNION else Graph(self.store, key)  # type: ignore[arg-type]  # an identifier
        return (triple for triple, _ in self.store.triples(pattern, context))


class _Live(Store):
    """What both live stores share: one batch per rdflib operation, and leaving no trace when copied."""

    _rdflive: SimpleMemoryAdapter

    def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
        with self._rdflive.capture:
            super().addN(quads)

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = {name: value for name, value in self.__dict__.items() if name != ADAPTER}
        return object.__new__, (type(self).__bases__[1],), state


class LiveSimpleMemory(_Live):
    """A `SimpleMemory` that records what each operation changed."""

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
        capture = self._rdflive.capture
        with capture.lock:
            known = self._holds(triple)
            super().add(triple, context, quoted)
            if not known:
                s, p, o = triple
                capture.record(1, s, p, o, None)
        if capture.deliveries:
            capture.deliver()

    def remove(self, triple: Any, context: Any = None) -> None:
        with self._rdflive.capture as capture:
            found = [held for held, _ in self.triples(triple)]
            super().remove(triple, context)
            for s, p, o in found:
                if not self._holds((s, p, o)):
                    capture.record(-1, s, p, o, None)

    def _holds(self, triple: Any) -> bool:
        return next(iter(self.triples(triple)), None) is not None


class LiveMemory(_Live):
    """A `Memory` that records what each operation changed, in each graph and in the union.

    `Memory` keeps the set of triples of each graph, and of the union under None; comparing their sizes
    around an operation on one triple is the cheapest exact test.
    """

    _Memory__contextTriples: dict[str | None, set[Triple]]

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
        if quoted:  # a formula's statement belongs to no graph that can be subscribed to
            super().add(triple, context, quoted)
            return
        capture = self._rdflive.capture
        with capture if capture.wants_union else capture.lock:
            graphs = self._Memory__contextTriples
            name = _name(context)
            held, union = len(graphs.get(name, ())), len(graphs[None])
            super().add(triple, context)
            s, p, o = triple
            if len(graphs[name]) > held:
                capture.record(1, s, p, o, _identifier(context))
            if capture.wants_union and len(graphs[None]) > union:
                capture.record(1, s, p, o, UNION)
        if capture.deliveries:
            capture.deliver()

    def remove(self, triple: Any, context: Any = None) -> None:
        with self._rdflive.capture as capture:
            found = [
                (held, (context,) if context is not None else tuple(contexts))
                for held, contexts in self.triples(triple, context)
            ]
            super().remove(triple, context)
            graphs = self._Memory__contextTriples
            for held, contexts in found:
                s, p, o = held
                for graph in contexts:
                    if held not in graphs.get(_name(graph), ()):
                        capture.record(-1, s, p, o, _identifier(graph))
                if capture.wants_union and held not in graphs[None]:
                    capture.record(-1, s, p, o, UNION)


def _identifier(context: Any) -> Any:
    return getattr(context, "identifier", context)


def _name(context: Any) -> str | None:
    """Name a graph as `Memory` does in its own dictionaries."""
    if context is None:
        return None
    identifier = _identifier(context)
    return f"{type(identifier).__name__}:{identifier}"
