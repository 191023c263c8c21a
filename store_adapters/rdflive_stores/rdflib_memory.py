"""The adapter of rdflib's in-memory stores: the store's class is swapped in place while it is watched.

rdflib's own events cannot serve: they fire before the change, also for what does not change, and never
for removals. A subclass of Graph cannot either: parsers and other graphs over the store bypass it.

Another thread may be on its way into a method while the store is unhooked. So the methods of a live class
name the plain class they stand for, and do without an adapter that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any, Literal

from rdflib.graph import Graph
from rdflib.plugins.stores.memory import Memory, SimpleMemory
from rdflib.term import BNode, URIRef

from rdflive.errors import UnsupportedStoreError
from rdflive.hookspecs import hookimpl
from rdflive.store import UNION, Adapter, GraphKey, QuadTerms, Triple, WriteRefusedError
from rdflive_stores.rdflib_graphs import (
    ADAPTER,
    batch_of_store,
    capture_of,
    default_graph,
    graph_key,
    open_batches,
    put_away,
    reduce_as,
)
from rdflive_stores.rdflib_update import run_update
from rdflive_stores.rdflib_writes import (
    apply_changes,
    check_terms,
    keep_entries,
    kept_entries,
    restoring_graphs,
    updatable,
)

__all__ = ["MemoryAdapter", "SimpleMemoryAdapter", "live_memory", "live_simple_memory", "rdflive_attach"]


@hookimpl
def rdflive_attach(store: Any) -> Adapter | None:
    """Watch a `Memory` or `SimpleMemory` store, or a subclass of one."""
    if not isinstance(store, Memory | SimpleMemory):
        return None
    known: Adapter | None = vars(store).get(ADAPTER)
    if known is None:
        _refuse_own_writes(store)
        if isinstance(store, Memory) and not hasattr(store, "_Memory__contextTriples"):
            raise UnsupportedStoreError(
                f"this rdflib's {type(store).__name__} is built in a way that rdflive does not know; "
                "install rdflib 7"
            )
        open_batches()
        known = (MemoryAdapter if isinstance(store, Memory) else SimpleMemoryAdapter)(store)
    return known


def _refuse_own_writes(store: Any) -> None:
    """Refuse a subclass with writes of its own: what they do beside rdflib's could not be seen."""
    base: Any = Memory if isinstance(store, Memory) else SimpleMemory
    for name in ("add", "addN", "remove", "remove_graph"):
        if getattr(type(store), name) is not getattr(base, name):
            raise UnsupportedStoreError(
                f"{type(store).__qualname__} overrides {name} of rdflib's {base.__name__}, so its changes "
                "cannot be followed exactly; write an adapter for it (see docs/adapters.md)"
            )


class SimpleMemoryAdapter:
    """Watches a store that holds a single graph, whatever the graphs over it are called."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.capture = capture_of(store)
        self._plain: Any = type(store)
        setattr(store, ADAPTER, self)
        store.__class__ = self._live_class(self._plain)

    def graph_key(self, graph: Any) -> GraphKey:
        """Name the only graph there is."""
        graph_key(graph)  # refuses what is no graph of its own
        return None

    def triples(self, key: GraphKey, pattern: Triple) -> Iterator[Triple]:  # noqa: ARG002 - there is one graph
        """List the store's triples that match."""
        return (triple for triple, _ in self.store.triples(pattern))

    def quads(self, pattern: Triple) -> Iterator[QuadTerms]:
        """List the store's triples that match, as quads of the only graph."""
        return ((s, p, o, None) for (s, p, o), _ in self.store.triples(pattern))

    def default_graph(self, graph: Any) -> GraphKey:
        """Refuse to name one: the store knows no other graph."""
        raise UnsupportedStoreError(
            f"GRAPH and FROM need named graphs, and the {self._plain.__name__} store of {graph!r} holds a "
            "single graph: subscribe to an rdflib.Dataset over a store of several"
        )

    def to_native(self, term: Any) -> Any:
        """Keep rdflib's terms: the store compares them as rdflib does."""
        return term

    def from_native(self) -> Callable[[Any], Any] | None:
        """Say that the store's terms are the user's."""
        return None

    def to_rdflib(self) -> Callable[[Any], Any] | None:
        """Say that the store's terms are rdflib's."""
        return None

    def write(
        self,
        graph: Any,
        changes: Mapping[QuadTerms, Literal[1, -1]],
        *,
        updates: Sequence[str] = (),
        name: str,
        keep: Mapping[str, str | None],
    ) -> None:
        """Apply one entry of a feed; if an update raises, what was done before it is undone."""
        check_terms(changes)
        contexts = {key: self._context(key) for key in {quad[3] for quad in changes}}
        with ExitStack() as stack:
            stack.enter_context(self.capture)
            if updates:
                self._restore_graphs(stack)
            stack.enter_context(self.capture.undoing(self._undo))
            for text in updates:
                run_update(updatable(graph, self.store), text)
            apply_changes(self.store, changes, contexts.__getitem__)
            keep_entries(self.store, name, keep)

    def kept(self, name: str) -> dict[str, str]:
        """Give what is kept on the store object under the name."""
        with self.capture.lock:
            return kept_entries(self.store, name)

    def detach(self) -> None:
        """Give the store its own class back."""
        if vars(self.store).pop(ADAPTER, None) is not None:
            self.store.__class__ = self._plain
            put_away(self.store, self.capture)

    def _undo(self, changes: Mapping[QuadTerms, Literal[1, -1]]) -> None:
        apply_changes(self.store, changes, self._context, direction=-1)

    def _context(self, key: GraphKey) -> Any:
        """Give what the store takes for the graph of a key."""
        if key is not None:
            raise WriteRefusedError(
                f"the graph {key!r} cannot be written: the store {self._plain.__name__} holds a single graph "
                "without a name; use an rdflib.Dataset over a store of several"
            )

    def _restore_graphs(self, stack: ExitStack) -> None:
        """Have a failing entry leave the store's names of graphs alone; this one has none."""

    def _live_class(self, plain: Any) -> type[Any]:
        return live_simple_memory(plain)


class MemoryAdapter(SimpleMemoryAdapter):
    """Watches a store of several graphs, and their union."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.names: dict[Any, str | None] = {None: None}
        """How `Memory` calls each graph in its own dictionaries."""

    def graph_key(self, graph: Any) -> GraphKey:
        """Name a graph by its identifier."""
        return graph_key(graph)

    def triples(self, key: GraphKey, pattern: Triple) -> Iterator[Triple]:
        """List the triples of one graph, or of the union, that match."""
        if pattern[0] is None and pattern[1] is not None and self._holds_everything(key):
            return self._by_predicate(*pattern[1:])
        context = None if key is UNION else Graph(self.store, key)  # type: ignore[arg-type]  # an identifier
        return (triple for triple, _ in self.store.triples(pattern, context))

    def _holds_everything(self, key: GraphKey) -> bool:
        """Tell whether `Memory` knows without looking that a graph holds every triple of the store."""
        store = self.store
        everywhere = store._Memory__defaultContexts or ()
        return not store._Memory__tripleContexts and self.name(None if key is UNION else key) in everywhere

    def _by_predicate(self, predicate: Any, wanted: Any) -> Iterator[Triple]:
        """List the triples of a predicate, ten times as fast as `Memory`, which asks each for its graphs."""
        objects = self.store._Memory__pos.get(predicate, {})
        for value in tuple(objects) if wanted is None else (wanted,):
            for subject in tuple(objects.get(value, ())):
                yield subject, predicate, value

    def quads(self, pattern: Triple) -> Iterator[QuadTerms]:
        """List the quads of all graphs that match; a formula is no graph."""
        for (s, p, o), contexts in self.store.triples(pattern):
            for context in contexts:
                yield s, p, o, getattr(context, "identifier", context)

    def default_graph(self, graph: Any) -> GraphKey:
        """Name the default graph of a dataset by its identifier."""
        return default_graph(graph)

    def name(self, identifier: Any) -> str | None:
        """Name a graph as `Memory` does."""
        name = self.names.get(identifier)
        if name is None and identifier is not None:
            name = self.names[identifier] = f"{type(identifier).__name__}:{identifier}"
        return name

    def _context(self, key: GraphKey) -> Any:
        if not isinstance(key, URIRef | BNode):
            raise WriteRefusedError(f"{key!r} names no graph: give an IRI or a blank node of rdflib")
        return Graph(self.store, key)

    def _restore_graphs(self, stack: ExitStack) -> None:
        stack.enter_context(restoring_graphs(self.store._Memory__all_contexts))

    def _live_class(self, plain: Any) -> type[Any]:
        return live_memory(plain)


@cache
def live_simple_memory(plain: Any) -> type[Any]:
    """Make the class of a watched `SimpleMemory`: it records what each operation changed."""

    def holds(store: Any, triple: Triple) -> bool:
        return next(iter(store.triples(triple)), None) is not None

    class LiveSimpleMemory(plain):  # type: ignore[misc]  # the class is known at run time only
        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            with batch_of_store(self) as capture:
                known = capture is None or holds(self, triple)
                plain.add(self, triple, context, quoted)
                if not known:
                    s, p, o = triple
                    capture.record(1, s, p, o, None)

        def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
            with batch_of_store(self):
                plain.addN(self, quads)

        def remove(self, triple: Any, context: Any = None) -> None:
            with batch_of_store(self) as capture:
                found = [] if capture is None else [held for held, _ in self.triples(triple)]
                plain.remove(self, triple, context)
                for s, p, o in found:
                    if not holds(self, (s, p, o)):
                        capture.record(-1, s, p, o, None)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return reduce_as(plain, self, protocol)

    LiveSimpleMemory.__name__ = f"Live{plain.__name__}"
    return LiveSimpleMemory


@cache
def live_memory(plain: Any) -> type[Any]:
    """Make the class of a watched `Memory`: it records changes of each graph and of the union.

    `Memory` keeps the set of triples of each graph, and of the union under None; comparing their sizes
    around an operation on one triple is the cheapest exact test.
    """

    class LiveMemory(plain):  # type: ignore[misc]  # the class is known at run time only
        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            adapter: MemoryAdapter | None = self.__dict__.get(ADAPTER)
            if adapter is None or quoted:  # a formula's statement is in no graph that can be subscribed to
                plain.add(self, triple, context, quoted)
                return
            capture = adapter.capture
            wants_union = UNION in capture.listeners
            with capture if wants_union else capture.lock:
                graphs = self._Memory__contextTriples
                identifier = getattr(context, "identifier", context)
                name = adapter.names.get(identifier) or adapter.name(identifier)
                own = graphs.get(name)
                held = 0 if own is None else len(own)
                union = len(graphs[None]) if wants_union else 0
                plain.add(self, triple, context)
                if own is None or len(own) != held:
                    s, p, o = triple
                    if identifier is not None:  # else written past every graph: the union alone has it
                        capture.record(1, s, p, o, identifier)
                    if wants_union and len(graphs[None]) != union:
                        capture.record(1, s, p, o, UNION)
            if capture.deliveries:
                capture.deliver()

        def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
            with batch_of_store(self):
                plain.addN(self, quads)

        def remove(self, triple: Any, context: Any = None) -> None:
            adapter: MemoryAdapter | None = self.__dict__.get(ADAPTER)
            if adapter is None:
                plain.remove(self, triple, context)
                return
            with adapter.capture as capture:
                found = [
                    (held, (context,) if context is not None else tuple(contexts))
                    for held, contexts in self.triples(triple, context)
                ]
                plain.remove(self, triple, context)
                graphs = self._Memory__contextTriples
                for held, contexts in found:
                    s, p, o = held
                    for graph in contexts:
                        identifier = getattr(graph, "identifier", graph)
                        if held not in graphs.get(adapter.name(identifier), ()):
                            capture.record(-1, s, p, o, identifier)
                    if UNION in capture.listeners and held not in graphs[None]:
                        capture.record(-1, s, p, o, UNION)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return reduce_as(plain, self, protocol)

    LiveMemory.__name__ = f"Live{plain.__name__}"
    return LiveMemory
