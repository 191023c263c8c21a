"""The plugin that offers the change-feed formats built into rdflive."""

from __future__ import annotations

from typing import Final

from rdflive.feeds.formats import FeedFormat
from rdflive.feeds.neptune import NEPTUNE
from rdflive.feeds.nquads import NQUADS
from rdflive.feeds.rdf_patch import RDF_PATCH
from rdflive.feeds.sparql_update import SPARQL_UPDATE
from rdflive.feeds.tables import DEBEZIUM, DELTA_LAKE
from rdflive.feeds.wikidata import WIKIDATA
from rdflive.plugins.hookspecs import hookimpl

__all__ = ["rdflive_feed_formats"]

_FORMATS: Final = (DEBEZIUM, DELTA_LAKE, NEPTUNE, NQUADS, RDF_PATCH, SPARQL_UPDATE, WIKIDATA)


@hookimpl
def rdflive_feed_formats() -> tuple[FeedFormat, ...]:
    """Offer what rdflive decodes itself."""
    return _FORMATS
