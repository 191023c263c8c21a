"""The plugin with rdflive's own change-feed formats and rule sets."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from rdflive.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from rdflive.feeds import FeedFormat

__all__ = ["rdflive_feed_formats", "rdflive_rule_sets"]


@hookimpl
def rdflive_feed_formats() -> tuple[FeedFormat, ...]:
    """Return the formats that rdflive decodes."""
    # imported here, because every subscription loads this plugin and few programs read feeds
    from rdflive.feeds.neptune import NEPTUNE
    from rdflive.feeds.nquads import NQUADS
    from rdflive.feeds.rdf_patch import RDF_PATCH
    from rdflive.feeds.sparql_update import SPARQL_UPDATE
    from rdflive.feeds.tables import DEBEZIUM, DELTA_LAKE
    from rdflive.feeds.wikidata import WIKIDATA

    return DEBEZIUM, DELTA_LAKE, NEPTUNE, NQUADS, RDF_PATCH, SPARQL_UPDATE, WIKIDATA


@hookimpl
def rdflive_rule_sets() -> dict[str, str]:
    """Return the rule sets that rdflive ships."""
    return _shipped()


# every look-up of a name calls the hook
@cache
def _shipped() -> dict[str, str]:
    folder = files("rdflive.entail.rules").joinpath("sets")
    texts = (entry for entry in folder.iterdir() if entry.name.endswith(".n3"))
    return {entry.name.removesuffix(".n3"): entry.read_text(encoding="utf-8") for entry in texts}
