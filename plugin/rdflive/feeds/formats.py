"""Lookup of change-feed formats by name and by file ending."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

from rdflive.errors import RdfliveError
from rdflive.feeds.decoder import Decoder
from rdflive.model import Batch

__all__ = ["FeedFormat", "FeedFormatError", "add_source", "feed_format", "feed_format_of", "feed_formats"]


class FeedFormatError(RdfliveError, LookupError):
    """No plugin provides the format, or several do."""


@dataclass(frozen=True, slots=True)
class FeedFormat:
    """A change-feed format: its name, its file endings (with the dot) and its decoder."""

    name: str
    endings: tuple[str, ...]
    decoder: Callable[[], Decoder]
    """Creates a decoder for one reading of a feed."""
    encode: Callable[[Batch], str] | None = None
    """Writes a batch, ended by a newline; None for a read-only format."""
    replayable: bool = False
    """True if records are numbered, so that a file which repeats some can be read from its start."""


Source: TypeAlias = Callable[[], Iterable[FeedFormat]]

# the plugin layer lies above feeds, so the plugin manager registers its sources here
_sources: Final[list[Source]] = []


def add_source(source: Source) -> None:
    """Add a function that lists formats; the plugin manager registers its plugins' formats this way."""
    _sources.append(source)


def feed_formats() -> dict[str, FeedFormat]:
    """Return the formats that plugins provide, by name.

    >>> sorted(feed_formats())
    ['debezium', 'delta-lake', 'neptune', 'nquads', 'rdf-patch', 'sparql-update', 'wikidata']
    """
    formats: dict[str, FeedFormat] = {}
    for given in chain.from_iterable(source() for source in _sources):
        other = formats.setdefault(given.name, given)
        if other is not given:
            raise FeedFormatError(
                f"two plugins provide the change-feed format {given.name!r}: {other.decoder.__module__} "
                f"and {given.decoder.__module__}; rename one or uninstall it"
            )
    return formats


def feed_format(name: str) -> FeedFormat:
    """Return the format with a name; raises `FeedFormatError`."""
    formats = feed_formats()
    if name not in formats:
        raise FeedFormatError(f"unknown change-feed format {name!r}; offered: {_offered(formats)}")
    return formats[name]


def feed_format_of(path: str) -> FeedFormat:
    """Return the format of a file by its ending, ignoring a final `.gz`.

    >>> feed_format_of("changes.rdfp.gz").name
    'rdf-patch'
    """
    formats = feed_formats()
    ending = os.path.splitext(path.removesuffix(".gz"))[1].lower()
    for found in formats.values():
        if ending in found.endings:
            return found
    reason = f"no change-feed format ends in {ending!r}; name one of: {_offered(formats)}"
    raise FeedFormatError(f"{path}: {reason}")


def _offered(formats: dict[str, FeedFormat]) -> str:
    return ", ".join(" ".join([name, *form.endings]) for name, form in sorted(formats.items())) or "none"
