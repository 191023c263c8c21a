"""The adapter of rdflib's AuditableStore: it hooks the store inside, where the changes happen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from rdflib.plugins.stores.auditable import AuditableStore

from rdflive.hookspecs import hookimpl
from rdflive.store import Adapter, Capture, GraphKey, Triple
from rdflive_stores.rdflib_graphs import ADAPTER

__all__ = ["AuditableAdapter", "rdflive_attach"]


@hookimpl
def rdflive_attach(store: Any, attach: Callable[[Any], Adapter]) -> Adapter | None:
    """Watch an `AuditableStore` over any store that can be watched."""
    if not isinstance(store, AuditableStore):
        return None
    known: Adapter | None = store.__dict__.get(ADAPTER)
    if known is None:
        known = AuditableAdapter(store, attach(store.store))
        setattr(store, ADAPTER, known)
        store.__class__ = _live_class(type(store))  # type: ignore[arg-type]  # classes are hashable
    return known


class AuditableAdapter:
    """Passes everything on to the inner store's adapter; the outer class only opens batches."""

    def __init__(self, store: Any, inner: Adapter) -> None:
        self.store = store
        self.inner = inner
        self.capture: Capture = inner.capture

    def graph_key(self, graph: Any) -> GraphKey:
        """Name a graph as the inner adapter does."""
        return self.inner.graph_key(graph)

    def triples(self, key: GraphKey, pattern: Triple) -> Iterator[Triple]:
        """List what the inner store holds."""
        return self.inner.triples(key, pattern)

    def to_native(self, term: Any) -> Any:
        """Convert as the inner adapter does."""
        return self.inner.to_native(term)

    def from_native(self) -> Callable[[Any], Any] | None:
        """Convert as the inner adapter does."""
        return self.inner.from_native()

    def detach(self) -> None:
        """Unhook both stores."""
        if self.store.__dict__.pop(ADAPTER, None) is not None:
            self.store.__class__ = type(self.store).__bases__[1]
        self.inner.detach()


class _LiveAuditable(AuditableStore):
    """An `AuditableStore` whose larger operations are one batch each."""

    _rdflive: AuditableAdapter

    def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
        with self._rdflive.capture:
            super().addN(quads)

    def remove(self, spo: Any, context: Any = None) -> None:
        with self._rdflive.capture:
            super().remove(spo, context)

    def rollback(self) -> None:
        with self._rdflive.capture:
            super().rollback()

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = {name: value for name, value in self.__dict__.items() if name != ADAPTER}
        return object.__new__, (type(self).__bases__[1],), state


@cache
def _live_class(plain: Any) -> type[Any]:
    return type(f"Live{plain.__name__}", (_LiveAuditable, plain), {"__module__": plain.__module__})
