"""The extension points of rdflive. A plugin is a module or object with functions marked `hookimpl`.

Plugins are found through the entry-point group `rdflive`, or registered with `rdflive.register_plugin`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import pluggy

if TYPE_CHECKING:
    from rdflive.feeds import Feed, FeedFormat
    from rdflive.model import Batch, Delta
    from rdflive.store import Adapter

__all__ = ["hookimpl", "hookspec"]

PROJECT: Final = "rdflive"
hookspec: Final = pluggy.HookspecMarker(PROJECT)
hookimpl: Final = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def rdflive_attach(store: Any, attach: Callable[[Any], Adapter]) -> Adapter | None:
    """Return the adapter of a store, or None for an unknown kind of store.

    Called in the subscribing thread at every subscription and batch. The hook must return the same adapter
    while the store is watched. `attach` returns the adapter of another store, for stores that wrap one.
    The first result that is not None wins; an exception reaches the subscriber.
    """


@hookspec(firstresult=True)
def rdflive_wrap(store: Any) -> Any:
    """Return a stand-in for a store that cannot be hooked in place, or None for an unknown kind of store.

    Called in the calling thread by `rdflive.LiveStore`. `rdflive_attach` must accept the stand-in. The
    first result that is not None wins.
    """


@hookspec
def rdflive_feed_formats() -> Iterable[FeedFormat]:  # type: ignore[empty-body]  # a specification
    """Return the change-feed formats that the plugin decodes.

    Called in the calling thread whenever a format is looked up by name or file ending. The
    results of all plugins are joined; two formats of one name are an error.
    """


@hookspec
def rdflive_rule_sets() -> Mapping[str, str]:  # type: ignore[empty-body]  # a specification
    """Return the rule sets of the plugin: names with rules in Notation3.

    Called in the calling thread whenever `rules=` is looked up by name. The results of all plugins are
    joined; two rule sets of one name are an error.
    """


@hookspec
def rdflive_sinks() -> Iterable[Any]:  # type: ignore[empty-body]  # a specification
    """Return the sinks that the plugin adds to `rdflive watch --to`, as `rdflive.sinks.SinkChoice`.

    Called when the command line starts. The results of all plugins are joined. Two sinks of one name, or an
    exception, end `rdflive watch` with an error that names the plugin; other commands go on.
    """


@hookspec(firstresult=True)
def rdflive_endpoint(url: str, options: Mapping[str, Any]) -> Feed | None:
    """Return the feed of a SPARQL endpoint, or None for another plugin's URL.

    Called in the calling thread by `rdflive.endpoint`, with its options; send no request to the endpoint
    yet. The first result that is not None wins; an exception reaches the caller.
    """


@hookspec
def rdflive_batch(store: Any, batch: Batch) -> None:
    """Observe a captured batch of a watched store.

    Called in the writing thread under the store's lock, in commit order, once per batch and before any
    subscriber; do not write to the store here. The result is ignored. An exception is logged.
    """


@hookspec
def rdflive_delta(subscription: Any, delta: Delta) -> None:
    """Observe a delta of an `rdflive.Subscription` before its subscriber does.

    Called in the writing thread outside the store's lock, in commit order. The result is ignored. An
    exception is logged and does not keep the delta from the subscriber.
    """
