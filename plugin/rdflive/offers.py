"""What plugins offer, for layers below the plugin manager: feed formats and rule sets."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["offers"]


def offers(hook: str) -> list[Any]:
    """Call a hook of all plugins, and return their results.

    >>> sorted(name for sets in offers("rdflive_rule_sets") for name in sets)
    ['owl-rl', 'rdfs', 'rdfs-plus']
    """
    # by name, at the call: the manager's module imports the layers that ask
    manager = import_module("rdflive.plugins.manager").plugin_manager()
    results: list[Any] = getattr(manager.hook, hook)()
    return results
