"""The interface of feeds, which a mirror follows, and the view that a feed has of the target graph."""

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
"""Stands for any named graph in the graph position of a pattern."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A full state of the source, and the cursor from which the feed continues."""

    quads: tuple[Quad, ...]
    cursor: str
    kept: Mapping[str, str] = field(default_factory=dict)


class Target(Protocol):
    """The graph that a feed is mirrored into, as far as a feed may inspect it."""

    def quads(self) -> Iterator[Quad]:
        """Yield the current quads, with rdflib terms; the default graph is None."""
        ...

    def spelled(self, quads: Iterable[Quad]) -> list[Quad]:
        """Return quads, each once, in the terms of `quads`; unchanged if the store cannot hold them."""
        ...

    def patterns(self) -> list[Quad]:
        """Return the quad patterns that the open subscriptions read; None matches any term.

        In the graph position, None is the default graph, and `NAMED_GRAPHS` stands for all others.
        """
        ...


@runtime_checkable
class Feed(Protocol):
    """A source of changes that can be resumed from a cursor.

    For `rdflive.BackgroundMirror.lag`, a feed may also have `seen_until`, a `time.monotonic()`: every entry
    that the source held at that time has been yielded and consumed; None before the first.
    """

    source: str
    """Name of the feed in messages; also the default name under which the mirror stores its cursor."""

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        """Yield the entries after the cursor, or all entries without one.

        Raises `FeedError` for malformed input and `ResyncNeeded` if the feed cannot continue from the
        cursor. An endless feed blocks; closing the iterator ends it.
        """
        ...

    def snapshot(self, target: Target) -> Snapshot | None:
        """Return the current full state; None if the feed has only changes."""
        ...

    def close(self) -> None:
        """End `entries`, from any thread; later calls of it yield nothing. May be repeated.

        A wait for more input ends at once. The creator of the feed closes it; a mirror does when it is
        stopped in the background or cancelled, but not at its end.
        """
        ...


class EndpointOptions(TypedDict, total=False):
    """The options of `rdflive.endpoint` for an http or https URL."""

    every: float | None
    """Seconds between polls, default 5; None polls once."""
    page: int
    """Rows per request, default 10,000; a larger state is read in several requests, and twice."""
    log: str | None
    """URL of a change log to follow instead of polling."""
    headers: Mapping[str, str] | None
    """Sent with each request to the endpoint and to its log."""
    auth: tuple[str, str] | None
    """User and password, sent with each request."""
    timeout: float
    """Seconds that a server may be silent, default 30."""
    tries: int
    """Number of attempts at a request before it fails, default 6."""
    backoff: float
    """Seconds before the second attempt, default 0.5."""
    stable_labels: bool
    """True if the endpoint gives a blank node the same label in every answer and in its log."""


def is_number(given: object) -> TypeGuard[float]:
    """Return True for a number that is neither a boolean nor NaN.

    >>> is_number(1), is_number(0.5), is_number("1"), is_number(True), is_number(float("nan"))
    (True, True, False, False, False)
    """
    return isinstance(given, int | float) and not isinstance(given, bool) and given == given
