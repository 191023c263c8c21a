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
    """Watch a store: return its adapter, or None when it is not one you know.

    Called in the subscribing thread at every subscription and batch. The same adapter must come back
    while the store is watched. `attach` gives the adapter of another store, for stores that wrap one.
    The first result that is not None wins; an exception reaches the subscriber.
    """


@hookspec(firstresult=True)
def rdflive_wrap(store: Any) -> Any:
    """Make the stand-in of a store that cannot be hooked in place, or None when it is not one of yours.

    Called in the calling thread by `rdflive.LiveStore`. The stand-in must be one that `rdflive_attach`
    knows. The first result that is not None wins.
    """


@hookspec
def rdflive_feed_formats() -> Iterable[FeedFormat]:  # type: ignore[empty-body]  # a specification
    """Name the change-feed formats that you can decode.

    Called in the calling thread whenever a format is looked up by name or file ending. All results
    together are offered; two formats of one name are an error.
    """


@hookspec
def rdflive_rule_sets() -> Mapping[str, str]:  # type: ignore[empty-body]  # a specification
    """Name the rule sets that you offer, each with its rules in Notation3.

    Called in the calling thread whenever `rules=` is looked up by name. All results together are offered;
    two rule sets of one name are an error.
    """


@hookspec(firstresult=True)
def rdflive_endpoint(url: str, options: Mapping[str, Any]) -> Feed | None:
    """Make the feed of a SPARQL endpoint, or None for a URL that is not yours.

    Called in the calling thread by `rdflive.endpoint`, with its options; nothing is asked of the endpoint
    yet. The first result that is not None wins; an exception reaches the caller.
    """


@hookspec
def rdflive_batch(store: Any, batch: Batch) -> None:
    """See every captured batch of a watched store.

    Called in the writing thread under the store's lock, in commit order, once per batch and before any
    subscriber; do not write to the store here. The result is ignored. An exception is logged.
    """


@hookspec
def rdflive_delta(subscription: Any, delta: Delta) -> None:
    """See every delta of an `rdflive.Subscription` before its subscriber does.

    Called in the writing thread outside the store's lock, in commit order. The result is ignored. An
    exception is logged and does not keep the delta from the subscriber.
    """
