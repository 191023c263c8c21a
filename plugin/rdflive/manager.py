"""The one plugin manager: loads plugins once and knows which hooks anybody implements."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Any

import pluggy

from rdflive import hookspecs, trace
from rdflive.errors import UnsupportedStoreError
from rdflive.store import Adapter

__all__ = ["attach", "call_safely", "listens", "plugin_manager", "register_plugin", "unregister_plugin"]

log = logging.getLogger("rdflive")


@cache
def plugin_manager() -> pluggy.PluginManager:
    """Make the manager and load every plugin of the entry-point group `rdflive`."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    if os.environ.get("RDFLIVE_TRACE", "0") not in ("", "0"):
        manager.register(trace)
    manager.load_setuptools_entrypoints(hookspecs.PROJECT)
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
    return bool(getattr(plugin_manager().hook, hook).get_hookimpls())


def attach(store: Any) -> Adapter:
    """Ask the plugins for the adapter of a store."""
    adapter: Adapter | None = plugin_manager().hook.rdflive_attach(store=store, attach=attach)
    if adapter is None:
        names = ", ".join(name for name, _ in plugin_manager().list_name_plugin())
        raise UnsupportedStoreError(
            f"no adapter can watch {type(store).__module__}.{type(store).__qualname__}; asked: {names}. "
            "An adapter is a plugin that implements rdflive_attach (see docs/adapters.md)."
        )
    return adapter


def call_safely(hook: str, **arguments: Any) -> None:
    """Call an observing hook by name; what it raises is logged and changes nothing."""
    try:
        getattr(plugin_manager().hook, hook)(**arguments)
    except Exception:
        log.exception("a plugin failed in hook %s", hook)
