"""The interface of change-feed decoders: they group lines into units and decode each unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from rdflive.feeds.lines import Line
from rdflive.model import Change

__all__ = ["Decoded", "Decoder", "Frame", "StatelessDecoder", "meaningful"]

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
