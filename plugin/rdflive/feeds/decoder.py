"""What a format of change feeds must know: which lines belong together, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from rdflive.feeds.lines import Line
from rdflive.model import Change

__all__ = ["Decoded", "Decoder", "Frame", "StatelessDecoder", "meaningful"]

Frame: TypeAlias = tuple[Line, ...]
"""The lines of one atomic unit of a feed, such as a transaction; never empty."""


class Decoded(NamedTuple):
    """What a frame does to a graph, as one commit: first the updates, then the changes."""

    changes: tuple[Change, ...]
    """In order, in rdflib's terms; the default graph is None."""
    updates: tuple[str, ...] = ()
    """SPARQL update requests, for the store to evaluate."""
    kept: Mapping[str, str | None] = {}
    """What the decoder must be told again when the feed is resumed; None forgets a key."""


class Decoder(Protocol):
    """Decodes one feed; made anew for each reading of it."""

    def restore(self, kept: Mapping[str, str]) -> None:
        """Take up what `Decoded.kept` of earlier readings summed up to; called once, first of all."""

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Group lines into frames, each as soon as its last line is there.

        Every line that means something is in exactly one frame, in order. A frame that the feed does not
        end is given too, for `decode` to refuse.
        """
        ...

    def decode(self, frame: Frame) -> Decoded | None:
        """Say what a frame does; None for nothing at all, such as an aborted transaction.

        Raises `RowError` where it is malformed, and has then changed nothing of its own state.
        """
        ...


class StatelessDecoder:
    """The part of a decoder that has nothing to remember and whose frames are single lines."""

    def restore(self, kept: Mapping[str, str]) -> None:
        """Remember nothing."""

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Give each line that is neither empty nor a comment."""
        return ((line,) for line in meaningful(lines))


def meaningful(lines: Iterable[Line]) -> Iterator[Line]:
    """Leave out empty lines and comments (`#`); a line that is no text stays, to be refused.

    >>> [line.text for line in meaningful([Line("# why", 1), Line("", 2), Line("A", 3)])]
    ['A']
    """
    for line in lines:
        text = line.text.lstrip(" \t")
        if line.fault or (text and not text.startswith("#")):
            yield line
