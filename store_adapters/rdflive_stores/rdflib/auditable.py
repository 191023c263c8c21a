"""The adapter of rdflib's AuditableStore: it hooks the store inside, where the changes happen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
        known.unhook()  # the inner store was unhooked, and hooked again, by subscriptions of its own
        known = None
    return known or AuditableAdapter(store, inner)


class AuditableAdapter:
    """Passes everything on to the inner store's adapter; the outer class only opens batches."""

    def __init__(self, store: Any, inner: Adapter) -> None:
        self.store = store
        self.inner = inner
        self.capture: Capture = inner.capture
        self._plain: Any = plain_class(store)
        self._reverse: list[Any] = []
        """What a rollback would have done when the open batch began."""
        hook(store, self, _live_class(self._plain))

    def graph_key(self, graph: Any) -> GraphKey:
        """Name a graph as the inner adapter does."""
        return self.inner.graph_key(graph)

    def triples(self, key: GraphKey, pattern: TermPattern) -> Iterator[Triple]:
        """List what the inner store holds."""
        return self.inner.triples(key, pattern)

    def quads(self, pattern: TermPattern) -> Iterator[QuadTerms]:
        """List what the inner store holds."""
        return self.inner.quads(pattern)

    def default_graph(self, graph: Any) -> GraphKey:
        """Name the one that both rdflib, which evaluates queries here, and the inner store leave out."""
        key = self.inner.default_graph(graph)
        if self.inner.graph_key(Graph(self.store, default_graph(graph))) != key:
            raise UnsupportedStoreError(
                f"the default graph of this {type(graph).__name__} is a named graph of the store inside its "
                f"{self._plain.__name__}: subscribe to an rdflib.Dataset over that store"
            )
        return key

    def to_native(self, term: Any) -> Term:
        """Convert as the inner adapter does."""
        return self.inner.to_native(term)

    def from_native(self) -> Callable[[Term], Any] | None:
        """Convert as the inner adapter does."""
        return self.inner.from_native()

    def to_rdflib(self) -> Callable[[Term], Any] | None:
        """Convert as the inner adapter does."""
        return self.inner.to_rdflib()

    def to_value(self) -> Callable[[Term], Any] | None:
        """Convert as the inner adapter does."""
        return value_of(self.inner)

    def write(self, graph: Any, transaction: Transaction) -> None:
        """Write to the store inside: a rollback leaves the entries of a feed and its cursor together."""
        target = updatable(graph, self.store.store) if transaction.updates else graph
        self._writable().write(target, transaction)

    def kept(self, name: str) -> dict[str, str]:
        """Give what is kept with the store inside."""
        return self._writable().kept(name)

    def _writable(self) -> Writable:
        if not isinstance(self.inner, Writable):
            raise UnsupportedStoreError(
                f"the store inside the {self._plain.__name__} cannot be written by a feed: its adapter, "
                f"{type(self.inner).__name__}, has no method write"
            )
        return self.inner

    def begin(self) -> None:
        """Note what a rollback would do, and have the store inside note what it needs to undo a batch."""
        self._reverse = list(self.store.reverseOps)
        self._guardable().begin()

    def undo(self, changes: Changes) -> None:
        """Undo the open batch in the store inside, and what a rollback would do."""
        self._guardable().undo(changes)
        self.store.reverseOps = self._reverse

    def stay(self) -> None:
        """Forget how to undo the batch."""
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
        """Give the outer store its own class back."""
        if vars(self.store).get(ADAPTER, self) is self:
            vars(self.store).pop(ADAPTER, None)
            self.store.__class__ = self._plain


@cache
def _live_class(plain: Any) -> Any:
    """Make the class of a watched `AuditableStore`: its larger operations are one batch each."""

    class LiveAuditableStore(plain):  # type: ignore[misc]  # the class is known at run time only
        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            adapter = self.__dict__.get(ADAPTER)
            if adapter is None or adapter.capture.judge is None:
                plain.add(self, triple, context, quoted)
            else:  # a batch, as it first notes what a rollback would do, and then the store inside may refuse
                in_batch(self, plain.add, self, triple, context, quoted)

        def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
            in_batch(self, plain.addN, self, quads)

        def remove(self, spo: Any, context: Any = None) -> None:
            in_batch(self, plain.remove, self, spo, context)

        def rollback(self) -> None:
            # it takes the operations back one by one
            in_batch(self, plain.rollback, self)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return reduce_as(plain, self, protocol)

    return live_class(plain, LiveAuditableStore)
