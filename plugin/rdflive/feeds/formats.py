"""The interface of change-feed decoders, and the formats by name and by file ending."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Protocol, TypeAlias

from rdflive.errors import RdfliveError
from rdflive.feeds.lines import Line
from rdflive.model import Batch, Change
from rdflive.offers import offers

__all__ = [
    "Decoded",
    "Decoder",
    "FeedFormat",
    "FeedFormatError",
    "Frame",
    "StatelessDecoder",
    "feed_format",
    "feed_format_of",
    "feed_formats",
    "meaningful",
]

Frame: TypeAlias = tuple[Line, ...]
"""The lines of one atomic unit of a feed, such as a transaction; never empty."""


class Decoded(NamedTuple):
    """The effect of a frame on a graph, as one commit: first the updates, then the changes."""

    changes: tuple[Change, ...]
    """Changes in order, with rdflib terms; the default graph is None."""
    updates: tuple[str, ...] = ()
    """SPARQL update requests that the store evaluates."""
    kept: Mapping[str, str | None] = {}
    """Decoder state to pass to `restore` when the feed is resumed; None removes a key."""


class Decoder(Protocol):
    """Decodes one feed; each reading of the feed uses a new decoder."""

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the merged `Decoded.kept` of earlier readings; called once, before any other method."""

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Group lines into frames; yield each when its last line arrives.

        Every line that is not empty and no comment is in exactly one frame, in order. A frame that the feed
        leaves unfinished is yielded too; `decode` refuses it.
        """
        ...

    def decode(self, frame: Frame) -> Decoded | None:
        """Return the effect of a frame; None if it has none, such as an aborted transaction.

        Raises `RowError` for a malformed frame and then leaves the decoder's state unchanged.
        """
        ...


class StatelessDecoder:
    """Base of decoders that keep no state; each line is a frame."""

    def restore(self, kept: Mapping[str, str]) -> None:
        """Do nothing: the decoder keeps no state."""

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Yield each line that is neither empty nor a comment."""
        return ((line,) for line in meaningful(lines))


def meaningful(lines: Iterable[Line]) -> Iterator[Line]:
    """Skip empty lines and comments (`#`); keep lines that are not UTF-8, which the decoder refuses.

    >>> [line.text for line in meaningful([Line("# why", 1), Line("", 2), Line("A", 3)])]
    ['A']
    """
    for line in lines:
        text = line.text.lstrip(" \t")
        if line.fault or (text and not text.startswith("#")):
            yield line


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


def feed_formats() -> dict[str, FeedFormat]:
    """Return the formats that plugins provide, by name.

    >>> sorted(feed_formats())
    ['debezium', 'delta-lake', 'neptune', 'nquads', 'rdf-patch', 'sparql-update', 'wikidata']
    """
    formats: dict[str, FeedFormat] = {}
    given: FeedFormat
    for given in chain.from_iterable(offers("rdflive_feed_formats")):
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
