"""The plugin that offers the change-feed formats built into rdflive."""

from __future__ import annotations

from typing import Final

from rdflive.feeds.formats import FeedFormat
from rdflive.feeds.nquads import decode_nquads
from rdflive.feeds.rdf_patch import decode_rdf_patch
from rdflive.hookspecs import hookimpl

__all__ = ["rdflive_feed_formats"]

_FORMATS: Final = (
    FeedFormat("nquads", (".nq", ".nquads"), decode_nquads),
    FeedFormat("rdf-patch", (".rdfp", ".patch"), decode_rdf_patch),
)


@hookimpl
def rdflive_feed_formats() -> tuple[FeedFormat, ...]:
    """Offer RDF Patch and signed N-Quads."""
    return _FORMATS
