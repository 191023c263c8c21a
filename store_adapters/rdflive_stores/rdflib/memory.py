"""The adapter of rdflib's in-memory stores, which changes the class of a store while it is watched.

rdflib's own events are no alternative: they fire before a change, also without a change, and never for
removals. A subclass of Graph is none either: parsers and other graphs over the store bypass it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Literal

from rdflib.graph import Graph
from rdflib.plugins.stores.memory import Memory, SimpleMemory
from rdflib.term import BNode, URIRef

from rdflive.errors import UnsupportedStoreError
from rdflive.model import Term, TermPattern, Triple
from rdflive.plugins.hookspecs import hookimpl
from rdflive.store import UNION, Adapter, Changes, GraphKey, QuadTerms, Transaction, WriteRefusedError
from rdflive.store.rdflib_graphs import (
    ADAPTER,
    adapter_of,
    capture_of,
    default_graph,
    graph_key,
    hook,
    open_batches,
    plain_class,
    put_away,
)
from rdflive_stores.rdflib.evaluation import evaluate
from rdflive_stores.rdflib.live_memory import live_memory, live_simple_memory
from rdflive_stores.rdflib.update import run_update
from rdflive_stores.rdflib.writes import (
    KEPT,
    apply_changes,
    check_terms,
    keep_entries,
    kept_entries,
    restore_entries,
    restoring_graphs,
    updatable,
)

__all__ = ["MemoryAdapter", "SimpleMemoryAdapter", "rdflive_attach"]


@hookimpl
def rdflive_attach(store: Any) -> Adapter | None:
    """Watch a `Memory` or `SimpleMemory` store, or a subclass of one."""
    if not isinstance(store, Memory | SimpleMemory):
        return None
    known = adapter_of(store, SimpleMemoryAdapter)
    if known is None:
        _refuse_own_writes(store)
        if isinstance(store, Memory) and not hasattr(store, "_Memory__contextTriples"):
            raise UnsupportedStoreError(
                f"rdflive does not support the {type(store).__name__} of this rdflib; install rdflib 7"
            )
        open_batches()
        known = (MemoryAdapter if isinstance(store, Memory) else SimpleMemoryAdapter)(store)
    return known


def _refuse_own_writes(store: Any) -> None:
    """Raise UnsupportedStoreError for a subclass that overrides writes, whose own changes would be missed."""
    base: Any = Memory if isinstance(store, Memory) else SimpleMemory
    for name in ("add", "addN", "remove", "remove_graph"):
        if getattr(plain_class(store), name) is not getattr(base, name):
            raise UnsupportedStoreError(
                f"{type(store).__qualname__} overrides {name} of rdflib's {base.__name__}, so its changes "
                "cannot be followed exactly; write an adapter for it (see docs/adapters.md)"
            )


class SimpleMemoryAdapter:
    """Watches a store that holds a single graph, regardless of the names of graphs over it."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self._kept: Any = None
        """The kept texts at the start of the open batch."""
        self.capture = capture_of(store)
        self._plain: Any = plain_class(store)
        hook(store, self, self._live_class(self._plain))

    def graph_key(self, graph: Any) -> GraphKey:
        """Return the key of the only graph."""
        graph_key(graph)  # raises for objects that are no graph of their own
        return None

    def triples(self, key: GraphKey, pattern: TermPattern) -> Iterator[Triple]:  # noqa: ARG002 - there is one graph
        """List the store's triples that match."""
        return (triple for triple, _ in self.store.triples(pattern))

    def quads(self, pattern: TermPattern) -> Iterator[QuadTerms]:
        """List the store's triples that match, as quads of the only graph."""
        return ((s, p, o, None) for (s, p, o), _ in self.store.triples(pattern))

    def default_graph(self, graph: Any) -> GraphKey:
        """Raise UnsupportedStoreError: the store has a single graph."""
        raise UnsupportedStoreError(
            f"GRAPH and FROM need named graphs, and the {self._plain.__name__} store of {graph!r} holds a "
            "single graph: subscribe to an rdflib.Dataset over a store of several"
        )

    def to_native(self, term: Any) -> Term:
        """Return the term: the store uses rdflib's terms."""
        return term

    def from_native(self) -> Callable[[Term], Any] | None:
        """Return None: the store's terms are the user's."""
        return None

    def to_rdflib(self) -> Callable[[Term], Any] | None:
        """Return None: the store's terms are rdflib's."""
        return None

    evaluate = staticmethod(evaluate)

    def write(self, graph: Any, transaction: Transaction) -> None:
        """Apply one entry of a feed; if an update raises, the changes before it are undone."""
        changes, updates = transaction.changes, transaction.updates
        check_terms(changes)
        # before the first write, because it raises for invalid names of graphs
        contexts = {key: self._context(key) for key in {quad[3] for quad in changes}}

        asks = self.capture.asks

        def write() -> None:
            with ExitStack() as stack:
                if updates:
                    # entered first and so left last, because undoing changes adds graphs too
                    self._restore_graphs(stack)
                stack.enter_context(self.capture.undoing(self._undo))
                for text in updates:
                    run_update(updatable(graph, self.store), text)
                apply_changes(self.store, changes, contexts.__getitem__)
                if asks:
                    self.capture.permit_all()
                keep_entries(self.store, transaction.name, transaction.keep)

        self.capture.run(write)

    def kept(self, name: str) -> dict[str, str]:
        """Return the texts kept under the name."""
        with self.capture.reading():
            return kept_entries(self.store, name)

    def begin(self) -> None:
        """Record the kept texts. The changes of a batch are enough to undo the rest."""
        self._kept = vars(self.store).get(KEPT)

    def undo(self, changes: Changes) -> None:
        """Make the opposite of each change of the open batch, and restore the kept texts."""
        self._undo({quad: sign for quad, sign in changes.items() if quad[3] is not UNION})
        restore_entries(self.store, self._kept)

    def stay(self) -> None:
        """Discard the recorded texts."""
        self._kept = None

    def detach(self) -> None:
        """Restore the class of the store."""
        if vars(self.store).get(ADAPTER, self) is self:
            vars(self.store).pop(ADAPTER, None)
            self.store.__class__ = self._plain
            put_away(self.store, self.capture)

    def _undo(self, changes: Mapping[QuadTerms, Literal[1, -1]]) -> None:
        apply_changes(self.store, changes, self._context, direction=-1)

    def _context(self, key: GraphKey) -> Any:
        """Return the context that the store takes for the graph of a key."""
        if key is not None:
            raise WriteRefusedError(
                f"the graph {key!r} cannot be written: the store {self._plain.__name__} holds a single graph "
                "without a name; use an rdflib.Dataset over a store of several"
            )

    def _restore_graphs(self, stack: ExitStack) -> None:
        """Restore the store's names of graphs after a failed entry; this store has none."""

    def _live_class(self, plain: Any) -> type[Any]:
        return live_simple_memory(plain)


class MemoryAdapter(SimpleMemoryAdapter):
    """Watches a store of several graphs, and their union."""

    def __init__(self, store: Any) -> None:
        self.names: dict[Any, str | None] = {None: None}
        """The name of each graph in `Memory`'s dictionaries."""
        self._graphs: set[Any] = set()
        """The graphs at the start of the open batch."""
        super().__init__(store)  # last: it hooks the store, which then uses `names`

    def graph_key(self, graph: Any) -> GraphKey:
        """Return the key of a graph: its identifier or the union."""
        return graph_key(graph)

    def triples(self, key: GraphKey, pattern: TermPattern) -> Iterator[Triple]:
        """List the triples of one graph, or of the union, that match."""
        subject, predicate, wanted = pattern
        if predicate is not None and (subject is None or wanted is None) and self._holds_everything(key):
            return self._by_predicate(*pattern)
        context = None if key is UNION else Graph(self.store, key)  # type: ignore[arg-type]  # an identifier
        return (triple for triple, _ in self.store.triples(pattern, context))

    def _holds_everything(self, key: GraphKey) -> bool:
        """True if `Memory` knows without a search that a graph holds every triple of the store."""
        store = self.store
        everywhere = store._Memory__defaultContexts or ()
        return not store._Memory__tripleContexts and self.name(None if key is UNION else key) in everywhere

    def _by_predicate(self, subject: Any, predicate: Any, wanted: Any) -> Iterator[Triple]:
        """List the triples of a predicate, ten times as fast as `Memory`, which looks up their graphs."""
        if subject is not None:
            for value in tuple(self.store._Memory__spo.get(subject, {}).get(predicate, ())):
                yield subject, predicate, value
            return
        objects = self.store._Memory__pos.get(predicate, {})
        for value in tuple(objects) if wanted is None else (wanted,):
            for subject in tuple(objects.get(value, ())):
                yield subject, predicate, value

    def quads(self, pattern: TermPattern) -> Iterator[QuadTerms]:
        """List the quads of all graphs that match, without formulas."""
        for (s, p, o), contexts in self.store.triples(pattern):
            for context in contexts:
                yield s, p, o, getattr(context, "identifier", context)

    def default_graph(self, graph: Any) -> GraphKey:
        """Return the key of a dataset's default graph: its identifier."""
        return default_graph(graph)

    def name(self, identifier: Any) -> str | None:
        """Return the name of a graph inside `Memory`."""
        name = self.names.get(identifier)
        if name is None and identifier is not None:
            name = self.names[identifier] = f"{type(identifier).__name__}:{identifier}"
        return name

    def begin(self) -> None:
        """Record the names of graphs too, because a batch may add empty graphs."""
        super().begin()
        self._graphs = set(self.store._Memory__all_contexts)

    def undo(self, changes: Changes) -> None:
        """Make the opposite of each change of the open batch, and restore the names of graphs."""
        super().undo(changes)
        graphs = self.store._Memory__all_contexts
        graphs.clear()
        graphs.update(self._graphs)

    def stay(self) -> None:
        """Discard the recorded names of graphs too."""
        super().stay()
        self._graphs = set()

    def _context(self, key: GraphKey) -> Any:
        if not isinstance(key, URIRef | BNode):
            raise WriteRefusedError(f"{key!r} is no name of a graph: give an IRI or a blank node of rdflib")
        return Graph(self.store, key)

    def _restore_graphs(self, stack: ExitStack) -> None:
        stack.enter_context(restoring_graphs(self.store._Memory__all_contexts))

    def _live_class(self, plain: Any) -> type[Any]:
        return live_memory(plain)
