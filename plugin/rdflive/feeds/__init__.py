"""Change feeds: decoders from text to batches, and the formats that plugins offer."""

from __future__ import annotations

from rdflive.feeds.formats import (
    Decode,
    FeedFormat,
    FeedFormatError,
    feed_format,
    feed_format_of,
    feed_formats,
)
from rdflive.feeds.lines import STDIN, open_lines, to_lines
from rdflive.feeds.nquads import decode_nquads, read_nquads
from rdflive.feeds.rdf_patch import decode_rdf_patch

__all__ = [
    "STDIN",
    "Decode",
    "FeedFormat",
    "FeedFormatError",
    "decode_nquads",
    "decode_rdf_patch",
    "feed_format",
    "feed_format_of",
    "feed_formats",
    "open_lines",
    "read_nquads",
    "to_lines",
]
