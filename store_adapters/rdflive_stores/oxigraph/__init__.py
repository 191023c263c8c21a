"""The adapter of Oxigraph, for rdflib graphs over oxrdflib's `OxigraphStore`, and for pyoxigraph stores.

`LiveStore`, the stand-in for a `pyoxigraph.Store`, is public. The plugin manager loads this module for its
two hooks. They import the other modules on use, so pyoxigraph and oxrdflib need not be installed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rdflive.errors import MissingExtraError
from rdflive.extras import install_command
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
    """Return the stand-in for a `pyoxigraph.Store`."""
    if not _is_known(store):
        return None
    from pyoxigraph import Store

    from rdflive_stores.oxigraph.store import LiveStore

    return LiveStore(store) if isinstance(store, Store) else None


def _is_known(store: object) -> bool:
    """Recognize a store by module names, without importing libraries that may be missing."""
    return _is_known_class(type(store))  # type: ignore[arg-type]  # mypy takes no class for hashable


@lru_cache(maxsize=64)
def _is_known_class(store: type[object]) -> bool:
    modules = ("oxrdflib", "pyoxigraph", "rdflive_stores.oxigraph")
    return any(kind.__module__.startswith(modules) for kind in store.__mro__)


def __getattr__(name: str) -> Any:
    if name == "LiveStore":
        try:
            from rdflive_stores.oxigraph import store
        except ImportError as error:
            message = f"LiveStore needs {error.name}: {install_command('oxigraph')}"
            raise MissingExtraError(message, name=error.name) from error
        return store.LiveStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
