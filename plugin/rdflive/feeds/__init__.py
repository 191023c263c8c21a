"""Change feeds: decoders from bytes to batches, and the formats that plugins offer."""

from __future__ import annotations

from rdflive.feeds.bindings import read_bindings
from rdflive.feeds.entries import Entry, decode, read_entries
from rdflive.feeds.feed import NAMED_GRAPHS, EndpointOptions, Feed, Snapshot, Target
from rdflive.feeds.formats import (
    Decoded,
    Decoder,
    FeedFormat,
    FeedFormatError,
    Frame,
    StatelessDecoder,
    feed_format,
    feed_format_of,
    feed_formats,
    meaningful,
)
from rdflive.feeds.lines import STDIN, Line, open_bytes, open_lines, to_lines
from rdflive.feeds.nquads import read_nquads
from rdflive.feeds.tables import MappingError, RowMapping, debezium, delta_lake, read_mapping
from rdflive.feeds.terms import RowError, UnwritableError

__all__ = [
    "NAMED_GRAPHS",
    "STDIN",
    "Decoded",
    "Decoder",
    "EndpointOptions",
    "Entry",
    "Feed",
    "FeedFormat",
    "FeedFormatError",
    "Frame",
    "Line",
    "MappingError",
    "RowError",
    "RowMapping",
    "Snapshot",
    "StatelessDecoder",
    "Target",
    "UnwritableError",
    "debezium",
    "decode",
    "delta_lake",
    "feed_format",
    "feed_format_of",
    "feed_formats",
    "meaningful",
    "open_bytes",
    "open_lines",
    "read_bindings",
    "read_entries",
    "read_mapping",
    "read_nquads",
    "to_lines",
]
