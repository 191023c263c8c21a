"""What a mirror can follow: a feed, and what a feed may ask of the graph it is mirrored into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol, TypedDict, TypeGuard, runtime_checkable

from rdflive.feeds.entries import Entry
from rdflive.model import Quad

__all__ = ["NAMED_GRAPHS", "EndpointOptions", "Feed", "Snapshot", "Target", "is_number"]


class _Any(Enum):
    NAMED_GRAPHS = "any named graph"


NAMED_GRAPHS: Final = _Any.NAMED_GRAPHS
"""In place of a graph's name in a pattern: any graph but the default one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole state, and where its feed goes on from there."""

    quads: tuple[Quad, ...]
    cursor: str
    kept: Mapping[str, str] = field(default_factory=dict)


class Target(Protocol):
    """The graph that a feed is mirrored into, for those feeds that need to know what it holds."""

    def quads(self) -> Iterator[Quad]:
        """List what the graph holds now, in rdflib's terms; the default graph is None."""
        ...

    def spelled(self, quads: Iterable[Quad]) -> list[Quad]:
        """Spell quads as `quads` would give them back, each once; one it cannot hold stays as it is."""
        ...

    def patterns(self) -> list[Quad]:
        """List the patterns that the open subscriptions need; None matches anything.

        As graph, None is the default graph, and `NAMED_GRAPHS` stands for all others.
        """
        ...


@runtime_checkable
class Feed(Protocol):
    """A source of changes with a place to go on from.

    A feed may also have `seen_until`, for `rdflive.BackgroundMirror.lag`: the `time.monotonic()` of its last
    look at the source of which all that was there has been given, and taken; None before the first.
    """

    source: str
    """What messages call it, and the name under which its cursor is kept by default."""

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        """Give what came behind the cursor, or everything there is without one.

        Raises `FeedError` for what is malformed and `ResyncNeeded` where it cannot go on from the cursor.
        An endless feed blocks; closing the iterator ends it.
        """
        ...

    def snapshot(self, target: Target) -> Snapshot | None:
        """Give the whole state as it is now; None where the feed has nothing but changes."""
        ...

    def close(self) -> None:
        """End `entries`, from any thread, and let later ones have nothing. May be repeated.

        A wait for more ends at once. Whoever made the feed closes it; a mirror does
        when it is stopped in the background, or cancelled, and not at its end.
        """
        ...


class EndpointOptions(TypedDict, total=False):
    """The options of `rdflive.endpoint` for a URL of http or https."""

    every: float | None
    """Seconds between polls, by default 5; None polls once."""
    page: int
    """Rows in a request, by default 10,000; larger states are read in several, and twice."""
    log: str | None
    """The URL of a change log, which is followed in place of polling."""
    headers: Mapping[str, str] | None
    """Sent with each request to the endpoint and to its log."""
    auth: tuple[str, str] | None
    """User and password, sent with each request."""
    timeout: float
    """Seconds that a server may be silent, by default 30."""
    tries: int
    """How often a request is made until an error comes of it, by default 6."""
    backoff: float
    """The first wait between two tries in seconds, by default 0.5."""
    stable_labels: bool
    """Whether the endpoint gives a blank node the same label in every answer, and in its log."""


def is_number(given: object) -> TypeGuard[float]:
    """Tell whether something is a number, which True and False are not meant to be.

    >>> is_number(1), is_number(0.5), is_number("1"), is_number(True), is_number(float("nan"))
    (True, True, False, False, False)
    """
    return isinstance(given, int | float) and not isinstance(given, bool) and given == given
