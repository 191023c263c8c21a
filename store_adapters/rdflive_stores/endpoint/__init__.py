"""A SPARQL endpoint as a feed: the hook behind the public function `rdflive.endpoint`.

`feed` polls an endpoint or follows its change log, and `blank_nodes` matches the blank nodes of successive
answers. The plugin manager loads this module even if SPARQLWrapper is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any

from rdflive.errors import MissingExtraError
from rdflive.extras import install_command
from rdflive.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from rdflive.feeds import Feed

__all__ = ["rdflive_endpoint"]


@hookimpl
def rdflive_endpoint(url: str, options: Mapping[str, Any]) -> Feed | None:
    """Return the feed of an http(s) URL; the options are those of `EndpointFeed`."""
    if not url.lower().startswith(("http://", "https://")):
        return None
    if find_spec("SPARQLWrapper") is None:
        from rdflive.http import without_query  # imports urllib3

        message = f"{without_query(url)}: endpoints need SPARQLWrapper: {install_command('endpoint')}"
        raise MissingExtraError(message, name="SPARQLWrapper")
    from rdflive_stores.endpoint.feed import EndpointFeed

    known = [name for name in signature(EndpointFeed).parameters if name not in ("url", "patterns")]
    unknown = options.keys() - {*known, "patterns"}
    if unknown:
        raise TypeError(
            f"an endpoint has no option {min(unknown)!r}; it has: queries, initNs, {', '.join(known)}"
        )
    return EndpointFeed(url, **options)
