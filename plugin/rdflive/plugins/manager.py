"""The one plugin manager: loads plugins once and knows which hooks anybody implements."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import chain
from types import TracebackType
from typing import Any, Final

import pluggy
from rdflib import Graph

from rdflive.entail.rules import load as rules
from rdflive.errors import UnsupportedStoreError
from rdflive.feeds import formats
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
    """Give the store of an rdflib graph; anything else is a store itself, such as a `LiveStore`."""
    return graph.store if isinstance(graph, Graph) else graph


@contextmanager
def locked(store: Any) -> Iterator[Adapter]:
    """Hold the lock of a watched store; it is unhooked at the end if nobody listens."""
    while True:
        adapter = attach(store)
        with adapter.capture.reading():
            known, adapter = adapter, attach(store)
            if adapter.capture is not known.capture:
                continue  # between the two lines another thread closed the last subscription
            try:
                yield adapter
            finally:
                release(adapter)
            return


class _User:
    """Needs a store to stay hooked, for as long as it exists: so an interruption leaves none behind."""

    __slots__ = ("__weakref__",)


@contextmanager
def hooked(store: Any) -> Iterator[Adapter]:
    """Keep a store hooked inside the block, so that it has the same adapter from beginning to end.

    Whoever has it needs no `locked` to find it again: the lock of its capture is enough.
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
    """Unhook a store that nobody listens to and nobody uses; called under its capture's lock."""
    capture = adapter.capture
    if capture.idle:
        capture.on_batch = None
        if not capture.users:
            with _hooking:
                adapter.detach()


class batch(AbstractContextManager[Adapter]):  # noqa: N801 - it is used as a function
    """Make all changes of a store inside the block one commit; gives its adapter.

    It must be left by the thread that entered it.
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
            raise RuntimeError("a batch must be left by the thread that entered it, where it is still open")
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
        # only then: with a plugin for batches every write makes a `Batch`
        manager.register(trace)
    manager.load_setuptools_entrypoints(hookspecs.PROJECT)
    # refuses an implementation of a hook that is not there, such as one that is misspelt
    manager.check_pending()
    return manager


def register_plugin(plugin: object, name: str | None = None) -> None:
    """Add a plugin: any module or object whose functions are marked with `rdflive.hookimpl`."""
    manager = plugin_manager()
    manager.register(plugin, name)
    manager.check_pending()


def unregister_plugin(plugin: object) -> None:
    """Take a plugin out again."""
    plugin_manager().unregister(plugin)


def listens(hook: str) -> bool:
    """True when some plugin implements the hook."""
    return bool(_implementations(hook)())


@cache
def _implementations(hook: str) -> Callable[[], list[Any]]:
    """Give what lists the implementations of a hook; each delta asks whether there are any."""
    listed: Callable[[], list[Any]] = getattr(plugin_manager().hook, hook).get_hookimpls
    return listed


_hooking: Final = threading.RLock()
"""Held while a store is hooked or unhooked; taken inside a capture's lock where both are held."""
# no child of this process begins while another thread has it
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_hooking.acquire, after_in_parent=_hooking.release, after_in_child=_hooking.release
    )


def attach(store: Any) -> Adapter:
    """Ask the plugins for the adapter of a store.

    Until the adapter's capture is locked another thread may detach it again: see `locked`.
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
            f"{type(adapter).__module__} is of a copy of rdflive that was imported before: import it "
            "again too, as by removing it from sys.modules"
        )
    return adapter


def call_safely(hook: str, **arguments: Any) -> None:
    """Call an observing hook by name; what it raises is logged and changes nothing."""
    try:
        getattr(plugin_manager().hook, hook)(**arguments)
    except Exception:
        log.exception("a plugin failed in hook %s", hook)


# `feeds` and `entail` may not import this package, so they are given functions to call
formats.add_source(lambda: chain.from_iterable(plugin_manager().hook.rdflive_feed_formats()))
rules.add_source(lambda: plugin_manager().hook.rdflive_rule_sets())
