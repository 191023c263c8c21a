"""The adapter of rdflib's AuditableStore. It hooks the inner store, which makes the changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from rdflib.graph import Graph
from rdflib.plugins.stores.auditable import AuditableStore

from rdflive.errors import UnsupportedStoreError
from rdflive.model import Term, TermPattern, Triple
from rdflive.plugins.hookspecs import hookimpl
from rdflive.store import (
    Adapter,
    Capture,
    Changes,
    Evaluating,
    GraphKey,
    Guardable,
    QuadTerms,
    Transaction,
    Writable,
    value_of,
)
from rdflive.store.rdflib_graphs import (
    ADAPTER,
    adapter_of,
    default_graph,
    hook,
    in_batch,
    live_class,
    plain_class,
    reduce_as,
)
from rdflive.syntax.tree import Tree
from rdflive_stores.rdflib.writes import updatable

__all__ = ["AuditableAdapter", "rdflive_attach"]


@hookimpl
def rdflive_attach(store: Any, attach: Callable[[Any], Adapter]) -> Adapter | None:
    """Watch an `AuditableStore` over any store that can be watched."""
    if not isinstance(store, AuditableStore):
        return None
    known = adapter_of(store, AuditableAdapter)
    inner = attach(store.store)
    if known is not None and known.inner is not inner:
        known.unhook()  # subscriptions of the inner store have unhooked it and hooked it again
        known = None
    return known or AuditableAdapter(store, inner)


class AuditableAdapter:
    """Delegates to the inner store's adapter; the class of the outer store only opens batches."""

    def __init__(self, store: Any, inner: Adapter) -> None:
        self.store = store
        self.inner = inner
        self.capture: Capture = inner.capture
        self._plain: Any = plain_class(store)
        self._reverse: list[Any] = []
        """The rollback operations at the start of the open batch."""
        hook(store, self, _live_class(self._plain))

    def graph_key(self, graph: Any) -> GraphKey:
        """Return the key of a graph, from the inner adapter."""
        return self.inner.graph_key(graph)

    def triples(self, key: GraphKey, pattern: TermPattern) -> Iterator[Triple]:
        """List from the inner adapter."""
        return self.inner.triples(key, pattern)

    def quads(self, pattern: TermPattern) -> Iterator[QuadTerms]:
        """List from the inner adapter."""
        return self.inner.quads(pattern)

    def default_graph(self, graph: Any) -> GraphKey:
        """Return the default graph, which must be the same for rdflib and for the inner store."""
        key = self.inner.default_graph(graph)
        if self.inner.graph_key(Graph(self.store, default_graph(graph))) != key:
            raise UnsupportedStoreError(
                f"the default graph of this {type(graph).__name__} is a named graph of the store inside its "
                f"{self._plain.__name__}: subscribe to an rdflib.Dataset over that store"
            )
        return key

    def to_native(self, term: Any) -> Term:
        """Convert a term by the inner adapter."""
        return self.inner.to_native(term)

    def from_native(self) -> Callable[[Term], Any] | None:
        """Return the inner adapter's conversion."""
        return self.inner.from_native()

    def to_rdflib(self) -> Callable[[Term], Any] | None:
        """Return the inner adapter's conversion."""
        return self.inner.to_rdflib()

    def to_value(self) -> Callable[[Term], Any] | None:
        """Return the inner adapter's conversion."""
        return value_of(self.inner)

    def evaluate(
        self, graph: Any, query: Tree, names: Sequence[str], bindings: Mapping[str, Any]
    ) -> Iterable[tuple[Term | None, ...]]:
        """Begin the evaluation by the inner store's engine."""
        if not isinstance(self.inner, Evaluating):
            raise UnsupportedStoreError(
                f"the store inside the {self._plain.__name__} has no engine for SPARQL"
            )
        return self.inner.evaluate(graph, query, names, bindings)

    def write(self, graph: Any, transaction: Transaction) -> None:
        """Write to the inner store, so that a rollback keeps the entries and the cursor of a feed."""
        target = updatable(graph, self.store.store) if transaction.updates else graph
        self._writable().write(target, transaction)

    def kept(self, name: str) -> dict[str, str]:
        """Return the texts kept with the inner store."""
        return self._writable().kept(name)

    def _writable(self) -> Writable:
        if not isinstance(self.inner, Writable):
            raise UnsupportedStoreError(
                f"a feed cannot write to the store inside the {self._plain.__name__}: its adapter, "
                f"{type(self.inner).__name__}, has no method write"
            )
        return self.inner

    def begin(self) -> None:
        """Record the rollback operations, and prepare the inner store to undo a batch."""
        self._reverse = list(self.store.reverseOps)
        self._guardable().begin()

    def undo(self, changes: Changes) -> None:
        """Undo the open batch in the inner store, and restore the rollback operations."""
        self._guardable().undo(changes)
        self.store.reverseOps = self._reverse

    def stay(self) -> None:
        """Discard the data for `undo`."""
        self._reverse = []
        self._guardable().stay()

    def _guardable(self) -> Guardable:
        if not isinstance(self.inner, Guardable):
            raise UnsupportedStoreError(
                f"the store inside the {self._plain.__name__} cannot be guarded: its adapter, "
                f"{type(self.inner).__name__}, cannot undo a commit"
            )
        return self.inner

    def detach(self) -> None:
        """Unhook both stores."""
        self.unhook()
        self.inner.detach()

    def unhook(self) -> None:
        """Restore the class of the outer store."""
        if vars(self.store).get(ADAPTER, self) is self:
            vars(self.store).pop(ADAPTER, None)
            self.store.__class__ = self._plain


@cache
def _live_class(plain: Any) -> Any:
    """Return the class of a watched `AuditableStore`, whose larger operations are one batch each."""

    class LiveAuditableStore(plain):  # type: ignore[misc]  # the base is known only at run time
        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            adapter = self.__dict__.get(ADAPTER)
            if adapter is None or adapter.capture.judge is None:
                plain.add(self, triple, context, quoted)
            else:  # a batch, because it records a rollback operation before the inner store may refuse
                in_batch(self, plain.add, self, triple, context, quoted)

        def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
            in_batch(self, plain.addN, self, quads)

        def remove(self, spo: Any, context: Any = None) -> None:
            in_batch(self, plain.remove, self, spo, context)

        def rollback(self) -> None:
            # it undoes the operations one by one
            in_batch(self, plain.rollback, self)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return reduce_as(plain, self, protocol)

    return live_class(plain, LiveAuditableStore)
