"""The plugin manager: loads plugins once, calls hooks, and attaches adapters to stores."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from types import TracebackType
from typing import Any, Final

import pluggy
from rdflib import Graph

from rdflive.errors import UnsupportedStoreError
from rdflive.plugins import hookspecs, trace
from rdflive.store import Adapter, Capture

__all__ = [
    "attach",
    "batch",
    "call_safely",
    "hooked",
    "listens",
    "locked",
    "plugin_manager",
    "register_plugin",
    "release",
    "store_of",
    "unregister_plugin",
]

log = logging.getLogger("rdflive")


def store_of(graph: Any) -> Any:
    """Return the store of an rdflib graph; any other object is a store itself, such as a `LiveStore`."""
    return graph.store if isinstance(graph, Graph) else graph


@contextmanager
def locked(store: Any) -> Iterator[Adapter]:
    """Hold the lock of a watched store; unhook the store at the end if it has no listeners."""
    while True:
        adapter = attach(store)
        with adapter.capture.reading():
            known, adapter = adapter, attach(store)
            if adapter.capture is not known.capture:
                continue  # another thread closed the last subscription between the two lines
            try:
                yield adapter
            finally:
                release(adapter)
            return


class _User:
    """Keeps a store hooked while it exists: it is held weakly, so an interruption leaves none behind."""

    __slots__ = ("__weakref__",)


@contextmanager
def hooked(store: Any) -> Iterator[Adapter]:
    """Keep a store hooked inside the block, so that it has the same adapter throughout.

    Inside the block the lock of the adapter's capture replaces `locked`.
    """
    user, adapter = _User(), None
    try:
        with locked(store) as adapter:
            adapter.capture.users.add(user)
        yield adapter
    finally:
        if adapter is not None:
            with adapter.capture.reading():
                adapter.capture.users.discard(user)
                release(adapter)


def release(adapter: Adapter) -> None:
    """Unhook a store without listeners and users; called under its capture's lock."""
    capture = adapter.capture
    if capture.idle:
        capture.on_batch = None
        if not capture.users:
            with _hooking:
                adapter.detach()


class batch(AbstractContextManager[Adapter]):  # noqa: N801 - it is used as a function
    """Make all changes of a store inside the block one commit; the block gets the store's adapter.

    The thread that entered the block must leave it.
    """

    def __init__(self, store: Any) -> None:
        self._batch = _batch(store)
        self._thread = 0

    def __enter__(self) -> Adapter:
        self._thread = threading.get_ident()
        return self._batch.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        if threading.get_ident() != self._thread:
            raise RuntimeError("a batch must be left by the thread that entered it, while it is open")
        return self._batch.__exit__(kind, error, traceback)


@contextmanager
def _batch(store: Any) -> Iterator[Adapter]:
    with locked(store) as adapter, adapter.capture.batch():
        yield adapter


@cache
def plugin_manager() -> pluggy.PluginManager:
    """Make the manager and load every plugin of the entry-point group `rdflive`."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    if os.environ.get("RDFLIVE_TRACE", "0") not in ("", "0"):
        # only on request: with a plugin for batches every write builds a `Batch`
        manager.register(trace)
    manager.load_setuptools_entrypoints(hookspecs.PROJECT)
    # refuses implementations of unknown hooks, such as a misspelt one
    manager.check_pending()
    return manager


def register_plugin(plugin: object, name: str | None = None) -> None:
    """Add a plugin: any module or object whose functions are marked with `rdflive.hookimpl`."""
    manager = plugin_manager()
    manager.register(plugin, name)
    manager.check_pending()


def unregister_plugin(plugin: object) -> None:
    """Remove a plugin."""
    plugin_manager().unregister(plugin)


def listens(hook: str) -> bool:
    """Return True if a plugin implements the hook."""
    return bool(_implementations(hook)())


@cache
def _implementations(hook: str) -> Callable[[], list[Any]]:
    """Return the function that lists the implementations of a hook, cached as every delta calls it."""
    listed: Callable[[], list[Any]] = getattr(plugin_manager().hook, hook).get_hookimpls
    return listed


_hooking: Final = threading.RLock()
"""Held while a store is hooked or unhooked; a thread that needs both takes the capture's lock first."""
# no fork may happen while another thread holds it
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_hooking.acquire, after_in_parent=_hooking.release, after_in_child=_hooking.release
    )


def attach(store: Any) -> Adapter:
    """Return the adapter of a store from the plugins.

    Until the caller locks its capture, another thread may detach the adapter again: see `locked`.
    """
    with _hooking:
        adapter: Adapter | None = plugin_manager().hook.rdflive_attach(store=store, attach=attach)
    if adapter is None and type(store).__module__ == "builtins":
        raise UnsupportedStoreError(
            f"no adapter can watch {type(store).__name__} {repr(store)[:100]}: the graph must be an rdflib "
            "Graph or Dataset, or a LiveStore"
        )
    if adapter is None:
        names = ", ".join(name for name, _ in plugin_manager().list_name_plugin())
        raise UnsupportedStoreError(
            f"no adapter can watch {type(store).__module__}.{type(store).__qualname__}; asked: {names}. "
            "An adapter is a plugin that implements rdflive_attach (see docs/adapters.md)."
        )
    if not isinstance(adapter.capture, Capture):
        raise UnsupportedStoreError(
            f"{type(adapter).__module__} belongs to an earlier import of rdflive: import it again too, for "
            "example after removing it from sys.modules"
        )
    return adapter


def call_safely(hook: str, **arguments: Any) -> None:
    """Call an observing hook by name, and log its errors instead of raising them."""
    try:
        getattr(plugin_manager().hook, hook)(**arguments)
    except Exception:
        log.exception("a plugin failed in hook %s", hook)
