"""The adapter of Oxigraph: rdflib graphs over oxrdflib's `OxigraphStore`, and pyoxigraph stores.

`LiveStore` is public: the stand-in for a `pyoxigraph.Store`. The plugin manager loads this module for its two
hooks, which import the others when they need them: neither pyoxigraph nor oxrdflib need be installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdflive.plugins.hookspecs import hookimpl
from rdflive.store import Adapter

if TYPE_CHECKING:
    from rdflive_stores.oxigraph.store import LiveStore

__all__ = ["LiveStore", "rdflive_attach", "rdflive_wrap"]


@hookimpl
def rdflive_attach(store: Any) -> Adapter | None:
    """Watch an `OxigraphStore`, a subclass of it or a `LiveStore`; refuse a bare `pyoxigraph.Store`."""
    if not _is_known(store):
        return None
    from rdflive_stores.oxigraph.adapter import attach

    return attach(store)


@hookimpl
def rdflive_wrap(store: Any) -> LiveStore | None:
    """Make the stand-in of a `pyoxigraph.Store`."""
    if not _is_known(store):
        return None
    from pyoxigraph import Store

    from rdflive_stores.oxigraph.store import LiveStore

    return LiveStore(store) if isinstance(store, Store) else None


def _is_known(store: Any) -> bool:
    """Tell by module names, so that nothing is imported that may not be installed."""
    modules = ("oxrdflib", "pyoxigraph", "rdflive_stores.oxigraph")
    return any(kind.__module__.startswith(modules) for kind in type(store).__mro__)


def __getattr__(name: str) -> Any:
    if name == "LiveStore":
        from rdflive_stores.oxigraph import store

        return store.LiveStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
