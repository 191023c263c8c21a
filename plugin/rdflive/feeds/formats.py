"""Change-feed formats by name and by file ending, as the plugins offer them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rdflive.errors import RdfliveError
from rdflive.manager import plugin_manager
from rdflive.model import Batch

__all__ = ["Decode", "FeedFormat", "FeedFormatError", "feed_format", "feed_format_of", "feed_formats"]

Decode: TypeAlias = Callable[[Iterable[str], str], Iterator[Batch]]
"""From lines of text and the name of their source to batches, each as soon as its last line is there.

The first bad record raises `FeedError`; what was complete before it has been yielded.
"""


class FeedFormatError(RdfliveError, LookupError):
    """No plugin offers the format, or several do."""


@dataclass(frozen=True, slots=True)
class FeedFormat:
    """A change-feed format: its name, the endings of its files (with the dot), and its decoder."""

    name: str
    endings: tuple[str, ...]
    decode: Decode


def feed_formats() -> dict[str, FeedFormat]:
    """List the formats that plugins offer, by name.

    >>> sorted(feed_formats())
    ['nquads', 'rdf-patch']
    """
    formats: dict[str, FeedFormat] = {}
    for offered in plugin_manager().hook.rdflive_feed_formats():
        for given in offered:
            other = formats.setdefault(given.name, given)
            if other is not given:
                raise FeedFormatError(
                    f"two plugins offer the change-feed format {given.name!r}: {other.decode.__module__} "
                    f"and {given.decode.__module__}; rename one or uninstall it"
                )
    return formats


def feed_format(name: str) -> FeedFormat:
    """Find a format by its name."""
    formats = feed_formats()
    if name not in formats:
        raise FeedFormatError(f"unknown change-feed format {name!r}; offered: {_offered(formats)}")
    return formats[name]


def feed_format_of(path: str) -> FeedFormat:
    """Find the format of a file by its ending; a `.gz` behind it does not count.

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
    return ", ".join(f"{name} ({', '.join(formats[name].endings)})" for name in sorted(formats)) or "none"
