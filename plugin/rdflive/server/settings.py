"""What a server allows each of its clients."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one client; whoever has a name in the file of tokens is one, else an address is.

    >>> Limits(queries=2).queries
    2
    """

    request_bytes: int = 1_000_000
    """Size of a request's body, and of a message of a WebSocket."""
    query_seconds: float = 30.0
    """Time for a query and all of its result, for opening a subscription, and for an update's pattern."""
    query_bytes: int = 1 << 30
    """Memory that a query may take beside the data."""
    queries: int = 4
    """Queries at once."""
    subscriptions: int = 1000
    """Open subscriptions."""
    rows: int = 1_000_000
    """Solutions in the answer of a subscription."""
    header_seconds: float = 10.0
    """Time for the head of a request."""
    body_seconds: float = 30.0
    """Time for the body of a request."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise ValueError(f"{field.name} must be above zero, got {value!r}")
